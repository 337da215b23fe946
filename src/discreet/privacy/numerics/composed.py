"""A whole composition, or the worst of several, as one loss: by certified points of its profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.account import delta_interval, epsilon_interval
from discreet.privacy.numerics.loss import Direction, Loss
from discreet.privacy.numerics.profile import hull

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy.numerics.finite import FiniteLoss
    from discreet.privacy.numerics.loss import Complexes, Reals

POINTS = 192
FLOOR = 1e-40
"""The mass beyond the last point is sent to infinity; it is at most this."""


@dataclass(frozen=True, eq=False)
class WorstLoss(Loss):
    """The largest of several compositions' profiles, in one direction; `mirror` holds the other direction of each."""

    choices: tuple[Direction, ...]
    mirror: tuple[Direction, ...]
    closed = False

    def __post_init__(self) -> None:
        """Find the points once."""
        above = self._table()
        object.__setattr__(self, "above", above)
        object.__setattr__(self, "infinity", above.infinity)
        object.__setattr__(self, "top", above.top if math.isfinite(max(c.top for c in self.choices)) else math.inf)

    above: FiniteLoss = None  # type: ignore[assignment]

    @property
    def leaks(self) -> bool:
        """Whether some composition leaks."""
        return any(loss.leaks for choice in self.choices for loss, _ in choice.parts)

    def _table(self) -> FiniteLoss:
        high = max(_reach(choice) for choice in self.choices)
        low = max(_reach(choice) for choice in self.mirror)
        edges = np.unique(np.concatenate([-_spaced(low)[::-1], _spaced(high)]))
        infinity = max(choice.infinity for choice in self.choices)
        return hull(edges, self.delta(edges), infinity)

    def delta(self, epsilon: Reals) -> Reals:
        """Certified upper bounds; below 0 by the mirrored direction."""
        return np.asarray([self._at(float(e)) for e in np.ravel(epsilon)]).reshape(np.shape(epsilon))

    def _at(self, epsilon: float) -> float:
        if epsilon >= 0:
            return max(delta_interval(choice, epsilon)[1] for choice in self.choices)
        other = max(delta_interval(choice, -epsilon)[1] for choice in self.mirror)
        return min(-math.expm1(epsilon) + math.exp(epsilon) * other, 1.0)

    def slope(self, epsilon: Reals) -> Reals:
        """The slope of the piecewise linear profile."""
        return self.above.slope(epsilon)

    def moment(self, order: float) -> float:
        """K of the dominating finite pair."""
        return self.above.moment(order)

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K of the dominating finite pair."""
        return self.above.line(real, heights)

    def renyi(self, order: float) -> float:
        """The largest of the compositions' own bounds."""
        return max(choice.renyi(order) for choice in self.choices)

    def alone_epsilon(self, delta: float) -> tuple[float, float]:
        """Take the worst composition's own interval."""
        found = [epsilon_interval(choice, delta) for choice in self.choices]
        return max(ends[0] for ends in found), max(ends[1] for ends in found)

    def alone_delta(self, epsilon: float) -> tuple[float, float]:
        """Take the worst composition's own interval."""
        found = [delta_interval(choice, epsilon) for choice in self.choices]
        return max(ends[0] for ends in found), max(ends[1] for ends in found)

    def full_renyi(self, order: float) -> float:
        """That of the worst composition."""
        return max(choice.full_renyi(order) for choice in self.choices)

    @property
    def full_top(self) -> float:
        """That of the worst composition."""
        return max(choice.full_top for choice in self.choices)

    def below(self) -> Loss | None:
        """Nothing better than 0 is known for compositions of this."""
        return None


def _reach(direction: Direction) -> float:
    """Return an epsilon beyond which nothing but the floor remains."""
    if math.isfinite(direction.top):
        return max(direction.top, 1e-12)
    return max(epsilon_interval(direction, direction.infinity * (1 + 1e-9) + FLOOR)[1], 1e-12)


def _spaced(high: float) -> Reals:
    """Points from 0 to high, denser near 0."""
    return np.asarray(high * np.linspace(0.0, 1.0, POINTS) ** 2)


def composed_pair(*directions: Direction) -> tuple[Loss, Loss]:
    """Return a composition's two losses."""
    return worst_pair([directions])


def worst_pair(choices: Sequence[tuple[Direction, ...]]) -> tuple[Loss, Loss]:
    """Return the losses of the worst of several compositions, each given by one or both directions."""
    forward = tuple(both[0] for both in choices)
    backward = tuple(both[-1] for both in choices)
    if forward == backward:
        loss = WorstLoss(forward, forward)
        return loss, loss
    return WorstLoss(forward, backward), WorstLoss(backward, forward)
