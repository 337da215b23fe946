"""How large a question may be: public numbers, so that planning and running take a bounded time whatever is asked.

A question is counted as engines write it: as a tree, in which a column that is computed below and used twice stands
twice. `x + x` of a subquery with `x + x` doubles with every level; parts are counted as the question is put together,
in a time that grows with its text, and nothing larger is ever made.
"""

from __future__ import annotations

from discreet.plans.refusals import refuse

__all__ = [
    "DEEPEST",
    "MOST_CONDITIONS",
    "MOST_PARTS",
    "MOST_ROWS_JOINED",
    "MOST_STEPS",
    "MOST_STEPS_PER_ROW",
    "require_small",
]

MOST_PARTS = 5_000
"""So many parts has a question at most: tables, steps, columns, constants and operations, each as often as written."""

DEEPEST = 100
"""So many operations, or steps, stand within each other at most."""

MOST_CONDITIONS = 400
"""So many conditions are joined by AND at most: DuckDB compares them in pairs, and Spark nests them."""

MOST_ROWS_JOINED = 10**6
"""So many pairs of rows of one unit may come out of a join at most, by the public limits of its sides."""

MOST_STEPS = 10**7
"""So many steps may all rows of one unit take together at most (`discreet.plans.work`): hundredths of a second."""

MOST_STEPS_PER_ROW = 10**5
"""Units that have many rows by their public limit may take so many steps for each of them."""


def require_small(parts: int, depth: int) -> None:
    """Refuse what is too large to be planned, written or run.

    >>> require_small(5_000, 100)
    >>> require_small(5_001, 9)
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: the question: With every computed column written out where it is used, it has more \
than 5000 parts. Write instead: fewer steps that use a computed column several times, or several questions.
    """
    if depth > DEEPEST:
        refuse(
            "the question",
            why=f"More than {DEEPEST} operations or subqueries stand within each other; each term of a sum is one.",
            instead="a flatter question: (a + b) + (c + d) for a + b + c + d, one WHERE for several.",
        )
    if parts > MOST_PARTS:
        refuse(
            "the question",
            why=f"With every computed column written out where it is used, it has more than {MOST_PARTS} parts.",
            instead="fewer steps that use a computed column several times, or several questions.",
        )
