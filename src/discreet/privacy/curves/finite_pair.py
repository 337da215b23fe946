"""An arbitrary pair of distributions on finitely many outcomes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import float_up, rational
from discreet.exact.rational import read_list, require_kind
from discreet.privacy.curve import Curve
from discreet.privacy.part import Part, require_probability
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["FinitePair", "finite_pair"]

_SMALLEST_RATIO = Fraction(1, 10**300)  # beyond it quotients leave the floats, and logarithms are large


@dataclass(frozen=True, slots=True)
class FinitePair(Part):
    """The law of the output with a unit (`present`) and without it (`absent`), outcome by outcome.

    An outcome that is possible under one law only has an infinite loss in that direction.
    """

    kind: ClassVar[str] = "finite_pair"

    present: tuple[Fraction, ...]
    absent: tuple[Fraction, ...]

    def check(self) -> None:
        """Two laws over the same outcomes."""
        for name, law in (("present", self.present), ("absent", self.absent)):
            masses = [require_probability(mass, name) for mass in require_kind(law, tuple, name)]
            if sum(masses) != 1:
                msg = f"the masses of {name} do not sum to exactly 1; fractions help ('1/3')."
                raise ParameterError(msg)
        if len(self.present) != len(self.absent):
            msg = (
                f"present has {len(self.present)} outcomes and absent {len(self.absent)}; "
                "both laws list the same outcomes."
            )
            raise ParameterError(msg)

    def losses(self) -> tuple[Loss, Loss]:
        """Both directions."""
        return _loss(self.present, self.absent), _loss(self.absent, self.present)

    def infinite(self, side: int) -> tuple[Fraction, Fraction]:
        """The mass of the outcomes that are impossible under the other law."""
        over, under = (self.present, self.absent) if side == 0 else (self.absent, self.present)
        mass = _alone(over, under)
        return mass, mass

    def rho(self) -> Fraction | None:
        """epsilon^2 / 2 with the largest loss of both directions, rounded up; None if some loss is infinite."""
        from discreet.exact import log_upper

        both = list(zip(self.present, self.absent, strict=True))
        if any((p == 0) != (q == 0) for p, q in both):
            return None
        largest = max((max(p / q, q / p) for p, q in both if p), default=Fraction(1))
        return log_upper(largest) ** 2 / 2 if largest > 1 else Fraction(0)


def _loss(over: tuple[Fraction, ...], under: tuple[Fraction, ...]) -> Loss:
    """Return the loss of `over` against `under`, outcomes with equal ratios joined."""
    import numpy as np

    from discreet.privacy.numerics.losses.finite import FiniteLoss

    masses: dict[Fraction, Fraction] = {}
    for p, q in zip(over, under, strict=True):
        if p and q:
            masses[p / q] = masses.get(p / q, Fraction(0)) + p
    ratios = sorted(masses)
    values = [_log(ratio) for ratio in ratios]
    infinity, floor = _alone(over, under), _alone(under, over)
    if not values:
        values, ratios, masses = [0.0], [Fraction(1)], {Fraction(1): Fraction(0)}
    gaps = {round(b - a, 15) for a, b in itertools.pairwise(values)}
    span = gaps.pop() if len(values) == 2 else 0.0
    span = values[1] - values[0] if span else 0.0
    # rounded up: a mass below the smallest float, above all one at infinity, must not vanish
    weights = np.array([float_up(masses[ratio]) for ratio in ratios])
    return FiniteLoss(np.array(values), weights, float_up(infinity), span, float_up(floor))


def _alone(over: tuple[Fraction, ...], under: tuple[Fraction, ...]) -> Fraction:
    """Return the mass of one law where the other has none."""
    return sum((p for p, q in zip(over, under, strict=True) if not q), start=Fraction(0))


def _log(ratio: Fraction) -> float:
    """Return log(ratio) with a small relative error, also near 1 and for numbers of thousands of digits."""
    from math import log, log1p

    near = ratio - 1
    if abs(near) < Fraction(1, 2):
        return log1p(float(near))
    if _SMALLEST_RATIO < ratio < 1 / _SMALLEST_RATIO:
        return log(ratio)  # the quotient is rounded once, and its logarithm is not small
    return log(ratio.numerator) - log(ratio.denominator)


def finite_pair(
    present: Sequence[Number], absent: Sequence[Number], *, neighbors: Relation = NeighborRelation.ADD_REMOVE
) -> Curve:
    """Return the curve of a mechanism whose worst neighbors give these two laws over the same outcomes.

    >>> finite_pair(["0.75", "0.25"], ["0.25", "0.75"]).delta(epsilon=0) >= 0.5
    True
    """
    laws = (
        tuple(rational(mass, name=name) for mass in read_list(law, name))
        for name, law in (("present", present), ("absent", absent))
    )
    return Curve(((FinitePair(*laws), 1),), neighbors)
