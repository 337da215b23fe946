"""Coarser pairs for losses beyond the range of floating point.

Tables of profiles hold exp(L). Where a mechanism adds so little noise that its losses pass a few hundred, that leaves
the range of floats, and a bound with a formula takes the table's place. Each is a dominating pair by a theorem:

- sampling never costs more than the mechanism itself (divergences are convex in the pair);
- an (e, d) box on a sample of rate q is a (log(1 + q (exp(e) - 1)), q d) box (Balle, Barthe & Gaboardi 2018,
  arXiv:1807.01647, Theorems 8 and 9);
- rho-zCDP for one unit is size^2 rho-zCDP for a group (Bun & Steinke 2016, arXiv:1605.02065).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.privacy.numerics.losses.finite import FiniteLoss, two_point
from discreet.privacy.numerics.losses.gaussian import GaussianLoss
from discreet.privacy.numerics.losses.loss import ULP, Direction, Loss
from discreet.privacy.numerics.losses.moments import ConcentratedLoss
from discreet.privacy.numerics.losses.profile import chain_reach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy.numerics.losses.loss import Complexes, Reals

FARTHEST = 300.0
"""Losses up to this are kept in tables: exp(300), squared and summed, is still a float."""

FARTHEST_CUT = 30.0
"""Profiles that are cut into cells: beyond it q (exp(-L) - 1) is -q in floating point, and cells would be empty."""

SMALLEST_MU, LARGEST_MU = 1e-6, 15.0
"""Between these the quadrature of the sampled Gaussian stays in range."""


@dataclass(frozen=True, eq=False)
class EnvelopedLoss(Loss):
    """A loss of which only an upper bound is computed: `whole` stands for it, and no lower end is claimed.

    A single use may have a formula of its own, `single`.
    """

    whole: Loss
    single: Loss | None = None
    endless: bool = False
    """Whether finite losses may lie beyond `top`, where a rest of a table was cut off."""
    attained = False

    def __post_init__(self) -> None:
        """Take over what the integrators look up."""
        for name in ("infinity", "top", "peak", "span", "offset", "closed", "pairless"):
            object.__setattr__(self, name, getattr(self.whole, name))

    @property
    def full_top(self) -> float:
        """The largest loss, where there is one."""
        return math.inf if self.endless else self.whole.full_top

    def delta(self, epsilon: Reals) -> Reals:
        """Return the bound's profile."""
        return self.whole.delta(epsilon)

    def slope(self, epsilon: Reals) -> Reals:
        """Return the bound's slope."""
        return self.whole.slope(epsilon)

    def moment(self, order: float) -> float:
        """Return the bound's K."""
        return self.whole.moment(order)

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """Return the bound's K."""
        return self.whole.line(real, heights)

    def tail(self, real: float, height: float) -> float:
        """Return the bound's decay."""
        return self.whole.tail(real, height)

    @property
    def worst_of(self) -> tuple[Direction, ...]:
        """The formula for a single use, where there is one."""
        return () if self.single is None else (Direction(((self.single, 1),)),)


def extent(direction: Direction) -> float:
    """Return how far the losses reach where that is known beforehand; 0 where it is not."""
    return math.fsum(count * _extent(loss) for loss, count in direction.parts)


def _extent(loss: Loss) -> float:
    if isinstance(loss, GaussianLoss):
        return 0.5 * loss.mu * loss.mu + 40 * loss.mu  # Pr[L > this] < 1e-300
    if isinstance(loss, ConcentratedLoss):
        return loss.rho + 40 * math.sqrt(2 * loss.rho)
    return loss.top if math.isfinite(loss.top) else 0.0


def sampled_envelope(remove: Loss, add: Loss, rate: float) -> tuple[EnvelopedLoss, EnvelopedLoss] | None:
    """Return bounds on the losses after sampling where a table would leave the range of floats; None where not.

    Both directions of the base are needed: the boxes below hold in either.
    """
    if isinstance(remove, GaussianLoss):
        return _gaussian_envelope(remove, rate)
    if isinstance(remove, EnvelopedLoss) and isinstance(add, EnvelopedLoss):
        return EnvelopedLoss(remove.whole, endless=remove.endless), EnvelopedLoss(add.whole, endless=add.endless)
    if max(_extent(remove), _extent(add)) <= (FARTHEST if isinstance(remove, FiniteLoss) else FARTHEST_CUT):
        return None
    if isinstance(remove, ConcentratedLoss):
        whole = EnvelopedLoss(remove)
        return whole, whole
    top, infinity = max(remove.top, add.top), max(remove.infinity, add.infinity)
    if math.isinf(top):
        raise ParameterError(_TOO_LITTLE_NOISE)
    # log(1 + q (exp(e) - 1)) = e + log(q + (1 - q) exp(-e)), rounded up
    epsilon = (top + math.log(rate + (1 - rate) * math.exp(-top))) * (1 + 8 * ULP)
    endless = math.isinf(max(remove.full_top, add.full_top))
    box = EnvelopedLoss(two_point(epsilon, rate * infinity * (1 + 8 * ULP)), endless=endless)
    return box, box


def _gaussian_envelope(loss: GaussianLoss, rate: float) -> tuple[EnvelopedLoss, EnvelopedLoss] | None:
    """Let the whole mechanism stand for a sampled Gaussian outside the range of its quadrature."""
    if SMALLEST_MU <= loss.mu <= LARGEST_MU:
        return None
    if loss.mu < SMALLEST_MU:
        whole = EnvelopedLoss(loss)
        return whole, whole
    from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss

    first, second = (EnvelopedLoss(loss, SampledGaussianLoss(1 / loss.mu, rate, add=side)) for side in (False, True))
    return first, second


def coarse_pair(rho: float | None, choices: Sequence[tuple[Direction, ...]]) -> tuple[Loss, Loss] | None:
    """Return one loss that bounds every choice where a table would leave the range of floats; None where not."""
    directions = [direction for both in choices for direction in both]
    if max(map(extent, directions), default=0.0) <= FARTHEST:
        return None
    top, infinity = max(direction.top for direction in directions), max(direction.infinity for direction in directions)
    return _box_or_rho(top, infinity, rho, endless=math.isinf(max(direction.full_top for direction in directions)))


def group_envelope(rho: float | None, forward: Loss, backward: Loss, size: int) -> tuple[Loss, Loss] | None:
    """Return a bound for chains of neighbors where a table would leave the range of floats; None where not.

    rho is that of the group; without one, losses of at most `top` add up to at most size times `top`.
    """
    near = size * max(_extent(forward), _extent(backward)) <= FARTHEST
    if near and max(chain_reach(forward, size), chain_reach(backward, size)) < math.inf:
        return None
    leaks = forward.infinity > 0 or backward.infinity > 0
    top = math.inf if leaks else size * max(forward.top, backward.top) * (1 + ULP)
    return _box_or_rho(top, 0.0, rho)


def _box_or_rho(top: float, infinity: float, rho: float | None, *, endless: bool = False) -> tuple[Loss, Loss]:
    """Return the pair of an (epsilon, delta) box, or the bound of a zCDP promise where there is no box."""
    if math.isfinite(top):
        bound = EnvelopedLoss(two_point(top, infinity), endless=endless)
    elif rho is not None:
        bound = EnvelopedLoss(ConcentratedLoss(rho))
    else:
        raise ParameterError(_TOO_LITTLE_NOISE)
    return bound, bound


_TOO_LITTLE_NOISE = (
    f"this mechanism adds so little noise that its privacy loss passes {FARTHEST:g}, beyond what its curve can be "
    "tabulated for. Add noise, or account for it without sampling, grouping or parallel parts."
)
