"""Approximate differential privacy, as its worst pair."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.exact.rational import read_delta, read_nonnegative
from discreet.privacy.curve import Curve
from discreet.privacy.enclosures import chain, round_up, shortened
from discreet.privacy.part import Part, Symmetric, as_float, require_size
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["ApproximateBound", "approximate"]

_HUGE = 1000  # beyond it delta times the exponential exceeds 1 for every delta that is a float


@dataclass(frozen=True, slots=True)
class ApproximateBound(Symmetric):
    """Any mechanism with this epsilon and delta: with probability delta everything is revealed, else +-epsilon.

    Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776), Theorem 3.3.
    """

    kind: ClassVar[str] = "approximate"

    epsilon: Fraction
    delta: Fraction

    def check(self) -> None:
        """An epsilon of at least 0 and a delta below 1."""
        require_size(self.epsilon, "epsilon")
        read_delta(require_size(self.delta, "delta"))

    def loss(self) -> Loss:
        """+-epsilon, and a mass at infinity."""
        from discreet.privacy.numerics.losses.finite import two_point

        return two_point(as_float(self.epsilon), as_float(self.delta))

    def pure(self) -> Fraction | None:
        """The stated epsilon, where nothing fails."""
        return None if self.delta else self.epsilon

    @property
    def failure(self) -> Fraction:
        """The stated delta."""
        return self.delta

    def kept(self) -> Part | None:
        """Randomized response: the worst pair is that with probability 1 - delta."""
        return ApproximateBound(self.epsilon, Fraction(0)) if self.epsilon else None

    def grouped(self, size: int) -> Part:
        """Chain the definition: (k e, d (1 + exp(e) + ... + exp((k-1) e))), rounded up; nothing from 1 on."""
        total = self.delta * chain(self.epsilon, size).upper if size * self.epsilon <= _HUGE else Fraction(1)
        if self.delta and total >= 1:
            msg = (
                f"size is {shown(size)}; for such a group delta reaches 1, so nothing is promised. Use a smaller delta "
                "or a smaller group."
            )
            raise ParameterError(msg)
        return ApproximateBound(shortened(self.epsilon * size), round_up(total) if self.delta else Fraction(0))


def approximate(epsilon: Number, delta: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the worst curve of any mechanism that is (epsilon, delta)-differentially private.

    >>> approximate(epsilon="0.1", delta="1e-8").epsilon(delta="1e-8")
    0.1
    """
    part = ApproximateBound(read_nonnegative(epsilon, "epsilon"), read_delta(delta))
    return Curve(((part, 1),), neighbors)
