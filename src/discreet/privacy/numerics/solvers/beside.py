"""One subsampled Gaussian beside losses with few values: the mean of its profile over their sums.

With independent A of values a and masses m, and p the chance that A is infinite,

    delta(e) = p + sum of m D(e - a),

where D(x) = E[(1 - exp(x - B))+] is the profile of the other loss B at any real x, a formula. All terms are positive,
and along no line does the transform of either loss fall. See docs/proofs/privacy/contour.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.privacy.numerics.losses.finite import FiniteLoss
from discreet.privacy.numerics.losses.loss import SLACK, ULP
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.solvers.enumerated import (
    FARTHEST,
    MOST_SUMMED,
    UNDERFLOW,
    Atoms,
    PositiveSum,
    cutoff_of,
    laws_of,
)

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Direction


@dataclass(frozen=True)
class Beside(PositiveSum):
    """The sums of the few values, and the other loss."""

    atoms: Atoms
    other: SampledGaussianLoss
    cutoff: float
    """The mass that may lie lower than it is counted."""
    certain: float
    top: float
    real: float
    valid: float = -math.inf

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a certified (lower, upper): a little below and above epsilon, by as much as values may be off."""
        blur = self.atoms.blur + 8 * ULP * (self.atoms.reach + abs(epsilon))
        # The formula is granted SLACK of itself, sums and products of positive terms their roundings.
        rounding = SLACK + ULP * (math.log2(len(self.atoms.values)) + 64)
        doubt = (1 + self.atoms.doubt) * (1 + rounding) - 1
        low = self._sum(epsilon + blur) * (1 - doubt) - UNDERFLOW - self.cutoff
        high = self._sum(epsilon - blur) * (1 + doubt) + UNDERFLOW
        low = max(low, self.certain * (1 - doubt), 0.0)
        return min(low, 1.0), min(max(high, low), 1.0)

    def _sum(self, epsilon: float) -> float:
        """Return the mass at infinity and the mean of the profile."""
        return self.atoms.infinity + float((self.atoms.masses * self.other.delta(epsilon - self.atoms.values)).sum())


def beside(direction: Direction, real: float = 1.0) -> Beside | None:
    """Return both losses; None unless one subsampled Gaussian is used once beside few values."""
    uses = [(loss, n) for loss, n in direction.parts if isinstance(loss, FiniteLoss) and loss.attained]
    rest = [(loss, n) for loss, n in direction.parts if not isinstance(loss, FiniteLoss) or not loss.attained]
    if len(rest) != 1 or not isinstance(rest[0][0], SampledGaussianLoss) or rest[0][1] > 1:
        return None
    other, laws = rest[0][0], laws_of(uses)
    if not laws or not other.whole:
        return None
    atoms = laws[0]
    for law in laws[1:]:
        if len(atoms.values) * len(law.values) > MOST_SUMMED:
            return None
        atoms = atoms.joined(law)
    if atoms.reach > FARTHEST or len(atoms.values) > MOST_SUMMED:
        return None
    return Beside(atoms, other, cutoff_of(uses), direction.certain, direction.top, real)
