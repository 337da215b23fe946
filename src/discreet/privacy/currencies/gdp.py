"""Gaussian differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, Self

from discreet.errors import ParameterError
from discreet.exact import Number, sqrt_lower, sqrt_upper
from discreet.privacy.currencies.currency import Currency
from discreet.privacy.enclosures import shortened
from discreet.privacy.readings import read_nonnegative
from discreet.privacy.relations import NeighborRelation, Relation, require_relation

if TYPE_CHECKING:
    from discreet.privacy.curve import Curve

__all__ = ["GDP"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class GDP(Currency):
    """Telling neighbors apart is at least as hard as telling N(0, 1) from N(mu, 1) by one draw.

    Mu-GDP of Dong, Roth & Su 2022 (numbers as in arXiv:1905.02383). Composition adds the squares (their
    Corollary 3.3), so the square is what is stored and the sum is exact.

    >>> GDP(0.3) + GDP(0.4)
    GDP(mu=0.5)
    >>> GDP(mu_squared=2)
    GDP(mu_squared=2)
    """

    kind: ClassVar[str] = "gdp"

    mu_squared: Fraction
    neighbors: Relation

    def __init__(
        self,
        mu: Number | None = None,
        *,
        mu_squared: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        if (mu is None) == (mu_squared is None):
            msg = "GDP takes exactly one of mu and mu_squared, such as GDP(mu=1) or GDP(mu_squared=2)."
            raise ParameterError(msg)
        if mu is not None:
            square = read_nonnegative(mu, "mu") ** 2
        else:
            square = read_nonnegative(mu_squared if mu_squared is not None else 0, "mu_squared")
        object.__setattr__(self, "mu_squared", square)
        object.__setattr__(self, "neighbors", require_relation(neighbors))

    @property
    def mu(self) -> Fraction:
        """The parameter: exact where the square has a rational root, else rounded up to a float.

        >>> GDP(mu_squared="9/4").mu
        Fraction(3, 2)
        """
        root = _rational_root(self.mu_squared)
        return sqrt_upper(self.mu_squared) if root is None else root

    def curve(self) -> Curve:
        """Return the curve of the Gaussian mechanism with sigma = 1/mu, rounded toward less noise.

        Dong, Roth & Su 2022 (arXiv:1905.02383), Theorem 2.7.
        """
        from discreet.privacy.curves import gaussian, pure

        if self.mu_squared == 0:
            return pure(0, neighbors=self.neighbors)
        square = shortened(self.mu_squared)
        root = _rational_root(square)
        sigma = sqrt_lower(1 / square) if root is None else 1 / root
        return gaussian(sigma, neighbors=self.neighbors)

    def fields(self) -> dict[str, Fraction | tuple[Fraction, ...]]:
        """Return the numbers that make the value."""
        root = _rational_root(self.mu_squared)
        return {"mu_squared": self.mu_squared} if root is None else {"mu": root}

    def _plus(self, other: Self) -> Self:
        total = self.mu_squared + other.mu_squared
        return type(self)(mu_squared=total, neighbors=self.neighbors)

    def _times(self, count: int) -> Self:
        return type(self)(mu_squared=count * self.mu_squared, neighbors=self.neighbors)


def _rational_root(square: Fraction) -> Fraction | None:
    """Return the square root if it is rational."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root * root == square else None
