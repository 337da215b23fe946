"""A whole composition, or the worst of several, as one loss: by certified points of its profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.loss import Direction, Loss
from discreet.privacy.numerics.losses.profile import hull
from discreet.privacy.numerics.solvers.account import delta_interval, epsilon_interval
from discreet.privacy.numerics.solvers.ladder import line_near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy.numerics.losses.finite import FiniteLoss
    from discreet.privacy.numerics.losses.loss import Complexes, Reals

POINTS = 192
NARROW = 1e-4
"""How much of itself a bound on delta may be above its lower end, for a table."""

FLOOR = 1e-40
"""The mass beyond the last point is sent to infinity; it is at most this."""


@dataclass(frozen=True, eq=False)
class WorstLoss(Loss):
    """The largest of several compositions' profiles, in one direction; `mirror` holds the other direction of each."""

    choices: tuple[Direction, ...]
    mirror: tuple[Direction, ...]
    closed = False
    attained = False
    """Compositions are those of a table around the worst profile."""

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
        flat = np.ravel(np.asarray(epsilon, dtype=np.float64))
        bounds = np.empty(len(flat))
        for side, choices in ((flat >= 0, self.choices), (flat < 0, self.mirror)):
            if side.any():
                bounds[side] = np.max([_bounds(choice, np.abs(flat[side])) for choice in choices], axis=0)
        mirrored = np.minimum(np.exp(np.minimum(flat, 0.0)) * bounds - np.expm1(np.minimum(flat, 0.0)), 1.0)
        return np.where(flat < 0, mirrored, bounds).reshape(np.shape(epsilon))

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

    @property
    def worst_of(self) -> tuple[Direction, ...]:
        """All of them."""
        return self.choices

    def full_renyi(self, order: float) -> float:
        """That of the worst composition."""
        return max(choice.full_renyi(order) for choice in self.choices)

    @property
    def full_top(self) -> float:
        """That of the worst composition."""
        return max(choice.full_top for choice in self.choices)


def _bounds(direction: Direction, epsilons: Reals) -> Reals:
    """Return certified upper bounds of delta at many epsilons.

    A line holds for every epsilon and is narrow near its own: the next one is drawn where it no longer is.
    """
    bounds = np.empty(len(epsilons))
    line = None
    for place in np.argsort(epsilons):
        epsilon = float(epsilons[place])
        ends = line.delta(epsilon) if line is not None else (0.0, 1.0)
        if ends[1] - ends[0] > NARROW * ends[1]:
            line = line_near(direction, epsilon)
            ends = line.delta(epsilon) if line is not None else (0.0, 1.0)
        if ends[1] - ends[0] > NARROW * ends[1]:
            ends = delta_interval(direction, epsilon)
        bounds[place] = ends[1]
    return bounds


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
