"""What may be asked of a composition: epsilon at a delta, or delta at an epsilon; each is the inverse of the other.

The ladder of `ladder` is climbed for both. A question says where a profile is wanted, reads its answer from it, and
knows when that is narrow enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.privacy.numerics.losses.loss import SLACK, Direction, log_conversion
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.search import minimize, polish
from discreet.privacy.numerics.solvers.contour import chernoff_order, renyi_bound, search_order
from discreet.privacy.numerics.solvers.convolution import convolve_at, convolve_until
from discreet.privacy.numerics.solvers.edges import at_zero, near_top
from discreet.privacy.numerics.solvers.leaning import leaning, leaning_epsilon
from discreet.privacy.numerics.solvers.single import SMALLEST, invert, meet, single_delta
from discreet.privacy.numerics.solvers.split import jump_guess

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.solvers.contour import Inverse
    from discreet.privacy.numerics.solvers.single import Ends

TRIM = 1e-9
"""The share of delta that may be spent on sending the largest losses to infinity."""

SEARCHED = 1e12
"""The order up to which moments are tame while the order is searched for: edges are sharper than any in use."""

FARTHEST = 1e4
"""An order times epsilon; where a larger one is best, no loss reaches epsilon, and edges need not be as sharp."""

ENORMOUS = 100.0
"""From this order on it is checked whether sums for a search have lost their digits."""

PROMISED = 1e-6
"""How wide an interval may be, relatively."""

NEGLIGIBLE = -740.0
"""The logarithm of a delta that floats hardly hold."""

DESCENTS = 30
"""How often less is cut off as delta turns out to be smaller."""

ORDER_ROUNDS = 40
"""Rounds of golden section by which the best order is found to eight digits."""


@dataclass(frozen=True, slots=True)
class Aim:
    """Where a profile is wanted, and what is known of the answer so far."""

    whole: Direction
    direction: Direction
    """What is left of it when a negligible share of delta was sent to infinity."""
    order: float
    epsilon: float
    log_delta: float
    """The logarithm of delta less the mass at infinity, or a guess of it."""
    ends: Ends
    searched: float = 1.0
    """The order that was found first."""
    lined: bool = True
    """Whether the profile could be summed along a line."""
    settled: bool = False
    """Whether no strategy would say more."""

    def met(self, ends: Ends) -> Aim:
        """Return the same with what another profile says."""
        return replace(self, ends=meet(self.ends, ends))


@dataclass(frozen=True, slots=True)
class EpsilonAt:
    """The smallest epsilon >= 0 with delta(epsilon) <= delta."""

    delta: float
    nothing: ClassVar[Ends] = (0.0, math.inf)
    """What is known before anything is computed."""
    probes: ClassVar[int] = 6
    """How often a smaller probe is tried."""

    def renyi(self, direction: Direction) -> float:
        """Return the Renyi bound (improved conversion), never more than the largest loss."""
        infinity = direction.infinity
        if infinity > self.delta:
            return math.inf
        if infinity * (1 + SLACK) >= self.delta:
            return direction.top
        target = math.log(self.delta - infinity) - 1e-12
        least = _least(direction, lambda order: (direction.renyi(order) + log_conversion(order) - target) / order)
        return min(max(least * (1 + 1e-12), 0.0), direction.top)

    def of_profiles(self, direction: Direction) -> Ends:
        """Convolve the losses' own profiles, where delta leaves room beyond the mass at infinity."""
        if direction.infinity >= self.delta:
            return self.nothing
        return convolve_until(direction, self.renyi(direction), self.delta, self.delta)

    def lower(self, direction: Direction, upper: float, ends: Callable[[Direction], Ends]) -> float:
        """Return what attained pairs reach that are chosen at the upper end, then again at what they gave."""
        return leaning_epsilon(direction, upper, ends)

    def edge(self, direction: Direction, climb: Callable[[Direction, Question], Ends]) -> Ends | None:
        """Answer by a formula, or where the largest losses alone decide; None where a composition must be summed."""
        if not direction.parts:
            return 0.0, 0.0
        infinity = direction.infinity
        if infinity * (1 + SLACK) >= self.delta:
            lower, upper = at_zero(direction)
            lower = lower if infinity == 0 else self._beside_leak(direction, climb)
            return lower, math.inf if infinity > self.delta else upper
        if single(direction):
            return invert(direction.parts[0][0], self.delta)
        if self._total_variation_within(direction):
            return 0.0, 0.0
        return near_top(direction, self.delta)

    def _beside_leak(self, direction: Direction, climb: Callable[[Direction, Question], Ends]) -> float:
        """Return a lower end where delta hardly differs from the mass at infinity, or is below it.

        A delta that may exceed that mass by rounding alone leaves room for rare losses: epsilon at a larger one is
        below.
        """
        if direction.certain * (1 - SLACK) > self.delta:
            return math.inf
        infinity = direction.infinity
        more = infinity * (1 + 4 * SLACK)
        return climb(direction, EpsilonAt(more))[0] if infinity * (1 + SLACK) < more < 1 else 0.0

    def _total_variation_within(self, direction: Direction) -> bool:
        """Whether the sum of the parts' own delta(0), which bounds that of the composition, is at most delta."""
        total, zero = 0.0, np.zeros(1)
        for loss, n in direction.parts:
            if isinstance(loss, SampledGaussianLoss) and n * loss.rough_delta(0.0) > 1.01 * self.delta:
                return False  # mostly, and at once
            total += n * float(loss.delta(zero)[0]) * (1 + SLACK) if loss.closed else math.inf
            if total > self.delta:
                return False
        return True

    def sketch(self, direction: Direction) -> Aim:
        """Aim roughly; half of delta is left to the largest losses while the order is looked for."""
        trial = direction.trimmed(0.5 * (self.delta - direction.infinity), SEARCHED)
        log_rest = math.log(self.delta - trial.infinity)
        order = search_order(trial, log_rest)
        guess = max((trial.rough(order) + log_conversion(order) - log_rest) / order, 0.0)
        return Aim(direction, direction, order, guess, log_rest, self.nothing, order)

    def trimmed(self, aim: Aim) -> Aim:
        """Send negligible losses to infinity, so that moments exist; the guess need not be a bound."""
        if aim.epsilon <= 0 and self.bound(aim) <= 0:
            return replace(aim, ends=(0.0, 0.0))
        direction = aim.whole.trimmed(TRIM * (self.delta - aim.whole.infinity), aim.order)
        target = math.log(self.delta - direction.infinity)
        near = jump_guess(direction, min(aim.epsilon, direction.top), math.exp(target))
        return replace(aim, direction=direction, epsilon=near, log_delta=target).met((0.0, direction.top))

    def bound(self, aim: Aim) -> float:
        """Return the certified Renyi bound at the order that was found first."""
        kept = aim.whole.trimmed(0.5 * (self.delta - aim.whole.infinity), aim.searched)
        return renyi_bound(kept, aim.searched, math.log(self.delta - kept.infinity)) * (1 + 1e-12)

    def read(self, profile: Inverse, epsilon: float) -> Ends:
        """Solve a profile that is narrow near this epsilon."""
        return profile.epsilon(self.delta, epsilon)

    def again(self, aim: Aim, ends: Ends) -> Aim | None:
        """Aim at the saddle of the new upper end, if the line was far from it: a guess too low, or much too high."""
        if aim.epsilon >= ends[1] >= 0.98 * aim.epsilon or not self.wide(aim.ends):
            return None
        upper = aim.ends[1] if math.isfinite(aim.ends[1]) else self.bound(aim)
        return replace(aim, order=chernoff(aim.direction, upper)[0], epsilon=upper, ends=(aim.ends[0], upper))

    def layered(self, aim: Aim) -> Aim:
        """Aim layers at the upper end."""
        return replace(aim, epsilon=aim.ends[1] * (1 + 1e-4))

    def point(self, aim: Aim) -> float:
        """Return where a profile is wanted: at the upper end."""
        return aim.ends[1]

    def convolved(self, aim: Aim) -> Ends:
        """Convolve laws above and below, from the upper end."""
        return convolve_until(aim.direction, aim.ends[1], math.exp(aim.log_delta), self.delta)

    def wide(self, ends: Ends) -> bool:
        """Whether an interval is wider than promised."""
        return ends[1] == math.inf or ends[1] - ends[0] > PROMISED * max(ends[1], 1e-3)


@dataclass(frozen=True, slots=True)
class DeltaAt:
    """Delta at an epsilon >= 0."""

    epsilon: float
    nothing: ClassVar[Ends] = (0.0, 1.0)
    probes: ClassVar[int] = 1

    def renyi(self, direction: Direction) -> float:
        """Return the Renyi bound (improved conversion)."""
        infinity = direction.infinity * (1 + SLACK)
        if self.epsilon >= direction.top:
            return min(infinity, 1.0)
        least = _least(direction, lambda s: direction.renyi(s) - s * self.epsilon + log_conversion(s))
        return min(infinity + math.exp(min(least + 1e-12, 0.0)), 1.0)

    def of_profiles(self, direction: Direction) -> Ends:
        """Convolve the losses' own profiles, unless epsilon is beyond all losses."""
        bound = self.renyi(direction)
        made = convolve_at(direction, self.epsilon, bound) if bound > SMALLEST else None
        return made.delta(self.epsilon) if made else self.nothing

    def lower(self, direction: Direction, upper: float, ends: Callable[[Direction], Ends]) -> float:
        """Return what attained pairs reach that are chosen at this epsilon."""
        del upper
        return ends(leaning(direction, self.epsilon))[0]

    def edge(self, direction: Direction, climb: Callable[[Direction, Question], Ends]) -> Ends | None:
        """Answer by a formula, or beyond the largest loss; None where a composition must be summed."""
        del climb
        if self.epsilon >= direction.top:
            return direction.certain * (1 - SLACK), min(direction.infinity * (1 + SLACK), 1.0)
        return single_delta(direction.parts[0][0], self.epsilon) if single(direction) else None

    def sketch(self, direction: Direction) -> Aim:
        """Aim roughly: sums of few values need no order."""
        return Aim(direction, direction, 1.0, self.epsilon, 0.0, self.nothing)

    def trimmed(self, aim: Aim) -> Aim:
        """Send negligible losses to infinity, so that moments exist; delta is guessed below the Renyi bound."""
        whole = aim.whole
        direction, order, log_bound = aimed_at(whole, self.epsilon)
        certain = whole.certain * (1 - SLACK)
        if log_bound < NEGLIGIBLE:
            return replace(aim, ends=(certain, max(whole.infinity * (1 + SLACK) + 1e-280, SMALLEST)), settled=True)
        bound = direction.infinity + math.exp(min(log_bound, 0.0)) * (1 + 1e-9)
        guess = min(log_bound - 3.0, -1.0)
        aim = replace(aim, direction=direction, order=order, log_delta=guess)
        return aim.met((certain, max(min(bound, 1.0), SMALLEST)))

    def read(self, profile: Inverse, epsilon: float) -> Ends:
        """Evaluate a profile."""
        del epsilon
        low, high = profile.delta(self.epsilon)
        return low, max(high, SMALLEST)

    def again(self, aim: Aim, ends: Ends) -> Aim | None:
        """No other line is better: this one went through the saddle."""
        del aim, ends
        return None

    def bound(self, aim: Aim) -> float:
        """Return the upper end, which began with the Renyi bound."""
        return aim.ends[1]

    def point(self, aim: Aim) -> float:
        """Return where a profile is wanted."""
        del aim
        return self.epsilon

    def layered(self, aim: Aim) -> Aim:
        """Aim layers at what the upper end leaves to be cut off."""
        size = max(aim.ends[1] - aim.whole.infinity, 1e-290)
        return replace(aim, direction=aim.whole.trimmed(TRIM * size, aim.order), log_delta=math.log(size))

    def convolved(self, aim: Aim) -> Ends:
        """Convolve laws above and below."""
        made = convolve_at(aim.direction, self.epsilon, math.exp(aim.log_delta))
        return made.delta(self.epsilon) if made else self.nothing

    def wide(self, ends: Ends) -> bool:
        """Whether an interval is wider than promised."""
        return ends[1] - ends[0] > PROMISED * ends[1]


Question = EpsilonAt | DeltaAt


def single(direction: Direction) -> bool:
    """Whether one mechanism with a formula of its own runs once."""
    return len(direction.parts) == 1 and direction.parts[0][1] == 1 and direction.parts[0][0].closed


def _least(direction: Direction, bound: Callable[[float], float]) -> float:
    """Return the least of a bound that holds for every order: to the last digits where there is no other bound."""
    # listed orders make corners, where no parabola fits
    return minimize(bound, rounds=ORDER_ROUNDS)[1] if direction.pairless else polish(bound, *minimize(bound))


def aimed_at(whole: Direction, epsilon: float) -> tuple[Direction, float, float]:
    """Return what is left when a negligible share of delta was sent to infinity, the order for it, and a bound."""
    direction, order, log_bound = _trimmed_at(whole, epsilon, 1e-290)
    if log_bound < NEGLIGIBLE:
        return direction, order, log_bound
    for _ in range(DESCENTS):
        log_mass, last = min(log_bound, 0.0) + math.log(TRIM * 1e-3), log_bound
        direction, order, log_bound = _trimmed_at(whole, epsilon, math.exp(log_mass))
        log_bound = max(log_bound, log_mass)  # what is cut off counts as well
        if not -640 < log_bound < last - 1:
            break
    return direction, _raise(direction, order, epsilon) if log_bound > -1 else order, log_bound


def _trimmed_at(direction: Direction, epsilon: float, mass: float) -> tuple[Direction, float, float]:
    """Send at most this mass of the largest losses to infinity; also return the order and the minimum of `chernoff`.

    How soft the edges are depends on the order, so it is looked for with the sharpest ones first.
    """
    trial = direction.trimmed(mass, SEARCHED)
    if trial is direction:
        return (direction, *chernoff(direction, epsilon))
    order = min(chernoff_order(trial, epsilon), FARTHEST / max(epsilon, 1e-300))
    kept = direction.trimmed(mass, order)
    return (kept, *chernoff(kept, epsilon, order))


def _raise(direction: Direction, order: float, epsilon: float) -> float:
    """Lift the line where delta is near 1 and the saddle near 0: any order with a moderate exponent serves."""
    while order < 1e12 and direction.moment(2 * order) - 2 * order * epsilon < 1:
        order *= 2
    return order


def chernoff(direction: Direction, epsilon: float, start: float | None = None) -> tuple[float, float]:
    """Return the order that minimizes K(s) - s e + log_conversion(s), and the minimum."""

    def certified(order: float) -> float:
        return direction.moment(order) - order * epsilon + log_conversion(order)

    def roughly(order: float) -> float:
        return direction.rough(order) - order * epsilon + log_conversion(order)

    order = chernoff_order(direction, epsilon, start)
    best = order, certified(order)
    # At enormous orders rounding eats the sums that `rough` looks at; every order gives a bound.
    while order > ENORMOUS and best[1] > roughly(order) + 1:
        order *= 0.25
        value = certified(order)
        best = (order, value) if value < best[1] else best
    return best
