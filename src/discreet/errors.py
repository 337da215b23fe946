"""Every exception of the package, as one tree.

```text
DiscreetError
├── BudgetError                          a cost does not fit into what is left to spend
├── EngineError                          an engine could not compute; it never says why in the data's words
│   └── TimeLimitError                   a question took longer than it may; what it cost stays spent
├── LedgerError                          a ledger cannot be read or written, or was tampered with
├── ParameterError (also a ValueError)   an argument is outside what is allowed
├── PolicyError (also a ValueError)      a policy does not say what it must, or says what it cannot
├── PrecisionError (also an ArithmeticError)   an enclosure is too wide for an operation; ask for more bits
├── QueryRefused                         a question that cannot be bounded or is not understood
└── SizeError (also a MemoryError)       a request would not fit into memory
ContradictionWarning (a RuntimeWarning)  two certified bounds on one number contradict each other: a bug, to be reported
```

A message names the argument, its value, what is allowed, and what to write instead. It never quotes
private data: the mere presence of an error that depends on a person's record is itself a release.
"""

from __future__ import annotations

__all__ = [
    "BudgetError",
    "ContradictionWarning",
    "DiscreetError",
    "EngineError",
    "LedgerError",
    "ParameterError",
    "PolicyError",
    "PrecisionError",
    "QueryRefused",
    "SizeError",
    "TimeLimitError",
]


class DiscreetError(Exception):
    """The root of all errors that Discreet raises on purpose.

    >>> issubclass(ParameterError, DiscreetError)
    True
    """


class BudgetError(DiscreetError):
    """A cost does not fit into what is left to spend; nothing was spent.

    >>> from discreet.privacy import Pure, PureFilter
    >>> PureFilter(Pure(1)).spend(Pure(2))
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetError: Pure(epsilon=2) does not fit: Pure(epsilon=1) is left of Pure(epsilon=1). Ask for less.
    """


class ContradictionWarning(RuntimeWarning):
    """Two certified bounds on one number contradict each other, so one of them is false: a bug in Discreet.

    What is returned is the larger cost. Please report the curve; a warning filter of "error" stops there instead.

    >>> issubclass(ContradictionWarning, Warning), issubclass(ContradictionWarning, DiscreetError)
    (True, False)
    """


class EngineError(DiscreetError):
    """An engine could not compute a question; the message is the same whatever the data hold.

    The engine's own message may quote private values, so it is dropped together with its trace.

    >>> issubclass(EngineError, DiscreetError)
    True
    """


class LedgerError(DiscreetError):
    """A ledger cannot be used: locked, damaged, cut, read-only, from a newer version; the message says what to do.

    >>> from discreet.ledgers import SQLiteLedger
    >>> SQLiteLedger("nowhere/hospital.ledger.sqlite")
    Traceback (most recent call last):
    ...
    discreet.errors.LedgerError: there is no ledger .../nowhere/hospital.ledger.sqlite; give a policy to create it.
    """


class ParameterError(DiscreetError, ValueError):
    """An argument is outside what is allowed; the message says what to write instead.

    >>> from discreet.exact import rational
    >>> rational(float("nan"), name="scale")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: scale is nan; it must be a finite number, such as 10, "0.1" or Fraction(1, 3).
    """


class PolicyError(DiscreetError, ValueError):
    r"""A policy is not understood; the message names the key, its line where there is one, and what is allowed.

    >>> from discreet.tables import Policy
    >>> Policy.from_toml("[tables.visits]\nunits = 'patient_id'")
    Traceback (most recent call last):
    ...
    discreet.errors.PolicyError: line 2: tables.visits.units is not a key of a table. Did you mean 'unit'?
    """


class PrecisionError(DiscreetError, ArithmeticError):
    """An interval is too wide for an operation on it; the same at a higher precision will do.

    >>> from discreet.exact import Interval
    >>> Interval(-1, 1, precision=8).log()
    Traceback (most recent call last):
    ...
    discreet.errors.PrecisionError: the logarithm's interval reaches zero; ask for a higher precision.
    """


class QueryRefused(DiscreetError):  # noqa: N818 - it is the answer, not a mistake of the program
    """A question is not answered, and no data was touched: which part, why, and what to write instead.

    The refusal depends on the question and the policy alone.

    >>> raise QueryRefused("ROW_NUMBER() OVER (...)", why="It looks at other units' rows.", instead="GROUP BY ward")
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: ROW_NUMBER() OVER (...): It looks at other units' rows. Write instead: GROUP BY ward
    """

    def __init__(self, part: str, *, why: str, instead: str) -> None:
        super().__init__(f"{part}: {why} Write instead: {instead}")
        self.part = part
        self.why = why
        self.instead = instead

    def __reduce__(self) -> tuple[object, ...]:
        return _refused, (self.part, self.why, self.instead)


def _refused(part: str, why: str, instead: str) -> QueryRefused:
    """Build a refusal again from its three parts; it may have crossed a process."""
    return QueryRefused(part, why=why, instead=instead)


class SizeError(DiscreetError, MemoryError):
    """A request would need more memory than there is; nothing was allocated.

    >>> from discreet.noise import discrete_laplace
    >>> try:
    ...     discrete_laplace(1, size=10**18)
    ... except SizeError as error:
    ...     print(str(error)[:34])
    size is 1000000000000000000: 8e+18
    """


class TimeLimitError(EngineError):
    """A question took longer than it may and was stopped; its cost stays spent, and the owner is told.

    How long a question takes can depend on private rows, so that it ended too late is a bit that no epsilon covers.

    >>> raise TimeLimitError(60)
    Traceback (most recent call last):
    ...
    discreet.errors.TimeLimitError: the question took longer than 60 seconds, which is the limit, and was stopped. ...
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"the question took longer than {seconds} seconds, which is the limit, and was stopped. What it cost stays "
            "spent, and the owner is told. Ask for less at once, or ask the owner for more time ([limits] seconds)."
        )
        self.seconds = seconds

    def __reduce__(self) -> tuple[object, ...]:
        return TimeLimitError, (self.seconds,)
