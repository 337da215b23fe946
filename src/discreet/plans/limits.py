"""How large a question may be: public numbers, so that planning and running take a bounded time whatever is asked.

A question is counted as engines write it: as a tree, in which a column that is computed below and used twice stands
twice. `x + x` of a subquery with `x + x` doubles with every level; parts are counted as the question is put together,
in a time that grows with its text, and nothing larger is ever made.
"""

from __future__ import annotations

__all__ = [
    "DEEPEST",
    "MOST_CONDITIONS",
    "MOST_PARTS",
    "MOST_ROWS_JOINED",
    "MOST_STEPS",
    "MOST_STEPS_PER_ROW",
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
"""So many steps may all rows of one unit take together at most (`Node.steps_per_unit`): hundredths of a second."""

MOST_STEPS_PER_ROW = 10**5
"""Units that have many rows by their public limit may take so many steps for each of them."""
