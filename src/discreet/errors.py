"""Every exception of the package, as one tree.

```text
DiscreetError
├── BudgetError                          a cost does not fit into what is left to spend
├── ParameterError (also a ValueError)   an argument is outside what is allowed
├── PrecisionError (also an ArithmeticError)   an enclosure is too wide for an operation; ask for more bits
└── SizeError (also a MemoryError)       a request would not fit into memory
```

A message names the argument, its value, what is allowed, and what to write instead. It never quotes
private data: the mere presence of an error that depends on a person's record is itself a release.
"""

from __future__ import annotations

__all__ = ["BudgetError", "DiscreetError", "ParameterError", "PrecisionError", "SizeError"]


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


class ParameterError(DiscreetError, ValueError):
    """An argument is outside what is allowed; the message says what to write instead.

    >>> from discreet.exact import rational
    >>> rational(float("nan"), name="scale")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: scale is nan; it must be a finite number, such as 10, "0.1" or Fraction(1, 3).
    """


class PrecisionError(DiscreetError, ArithmeticError):
    """An interval is too wide for an operation on it; the same at a higher precision will do.

    >>> from discreet.exact import Interval
    >>> Interval(-1, 1, precision=8).log()
    Traceback (most recent call last):
    ...
    discreet.errors.PrecisionError: the logarithm's interval reaches zero; ask for a higher precision.
    """


class SizeError(DiscreetError, MemoryError):
    """A request would need more memory than there is; nothing was allocated.

    >>> from discreet.noise import discrete_laplace
    >>> try:
    ...     discrete_laplace(1, size=10**18)
    ... except SizeError as error:
    ...     print(str(error)[:34])
    size is 1000000000000000000: 8e+18
    """
