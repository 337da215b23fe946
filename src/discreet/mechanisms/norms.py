"""How far one unit moves a vector, in one norm and in another."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

from discreet.exact import sqrt_upper

__all__ = ["Norm", "converted"]


class Norm(Enum):
    """In which norm a sensitivity is stated.

    >>> Norm("l2")
    <Norm.L2: 'l2'>
    """

    L1 = "l1"
    """The sum of the coordinates' moves."""
    L2 = "l2"
    """The Euclidean length of the move."""
    LINF = "linf"
    """The largest move of a coordinate."""


def converted(sensitivity: Fraction, stated: Norm, wanted: Norm, dimensions: int) -> Fraction:
    """Bound a sensitivity in another norm, rounded up.

    For every v in d dimensions |v|_2 <= |v|_1 <= sqrt(d) |v|_2 (Cauchy and Schwarz), |v|_1 <= d |v|_inf and
    |v|_2 <= sqrt(d) |v|_inf; each is reached, the first by a unit vector, the others by (1, ..., 1).

    >>> converted(Fraction(3), Norm.L2, Norm.L1, 4), converted(Fraction(3), Norm.LINF, Norm.L2, 4)
    (Fraction(6, 1), Fraction(6, 1))
    """
    if stated is wanted or (stated, wanted) == (Norm.L1, Norm.L2):
        return sensitivity
    if (stated, wanted) == (Norm.LINF, Norm.L1):
        return sensitivity * dimensions
    return sensitivity * sqrt_upper(Fraction(dimensions))
