r"""Integrate the log-moment function along a vertical line, with every error bounded.

For 0 < c below the explosion of the moment,

    delta(e) = Pr[L = inf] + (1 / 2 pi i) \int_{c - i inf}^{c + i inf} exp(K(s) - s e) / (s (s + 1)) ds,

because (1 - exp(-x))+ has the two-sided Laplace transform 1/(s (s + 1)). The trapezoidal rule with step h is not an
approximation but an identity (Poisson's summation formula): with X = 2 pi / h its value is

    sum over all integers j of  delta_finite(e + j X) exp(j c X),

whose terms are all nonnegative. So the sum over all nodes is never below the truth, and what it exceeds it by (alias)
is at most the terms j < 0, each at most exp(-|j| c X), plus the terms j > 0, each at most
exp(K(r) - r e + log_conversion(r) - (r - c) j X) for any r > c. The nodes above a height B (cut-off) weigh at most
exp(tail(c, B) - c e) / (pi B). Rounding is bounded node by node. See docs/proofs/privacy/contour.md.

Where no decay can be proved, a Gaussian mechanism with a tiny mu (the probe) is composed on top: that can only raise
delta, gives a proved decay exp(-mu^2 t^2 / 2), and the smoothed kernel minus mu^2 times a Gaussian bump is a minorant
of the true kernel, so the same nodes also give the lower end.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.privacy.numerics.losses.loss import ULP, Direction, log_conversion, log_conversions
from discreet.privacy.numerics.search import crossing, lowest_below, minimize_at_once
from discreet.privacy.numerics.solvers.single import ordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.losses.loss import Complexes, Reals

LOG_TOLERANCE = math.log(1e-9)
"""How far below delta the alias is pushed, and the cut-off at least."""

LOOSEST, SHARE = 1e-8, 1e-8
"""The cut-off may be larger, up to the first, where that moves epsilon by about the second share of itself at most."""

PLAIN_NODES = 1 << 16
"""The plain contour is used if it needs at most this many nodes, else the probe."""

MOST_NODES = 1 << 17
"""The largest number of nodes of one integral: 2^17 complex numbers are 2 MB."""

LOST = 12.0
"""How far above log delta the exponent on the line may lie: that many nats of the floats' 36 are spent."""

MODERATE = np.array([1.6, 2.5])
"""Orders for the alias from the right where moments grow moderately, relative to that of the line."""

LINES = np.array([1.0, 0.97, 0.93, 0.87, 0.8, 0.7, 0.6, 0.5, 0.4])
RIGHTS = np.array([0.8, 0.9, 1.0, 1.01, 1.04, 1.25, 1.6, 2.2, 3.5])
"""Lines and orders for that alias where they do not."""

NEIGHBORS = np.array([0.9, 1.0, 1.1])
"""Orders from which the bend of K is estimated, relative to that of the line."""

AROUND, ASIDE = np.append(MODERATE, NEIGHBORS), np.append(RIGHTS, LINES)
"""What is looked at together."""

FARTHEST = 1e6
"""An order times epsilon; where a larger one is best, no loss reaches epsilon."""

GAP = 3e-7
"""The width of the interval that the probe aims at, relative to epsilon."""


class Inverse(ABC):
    """Solve a certified profile for epsilon."""

    real: float
    """An order that epsilon is near to minimizing the Renyi bound at; it scales steps."""
    top: float
    certain: float
    valid: float
    """Up to this epsilon answers are sharp; -inf if all of them are."""

    @abstractmethod
    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a certified (lower, upper) around delta at this epsilon."""

    def epsilon(self, delta: float, guess: float) -> tuple[float, float]:
        """Return (lower, upper) with delta(lower) >= delta and delta(upper) <= delta, certified by evaluation."""
        if -math.inf < self.valid < guess and self.delta(self.valid)[1] <= delta:
            guess = self.valid
        here = self._solve(delta - self.certain, guess)
        low, high = self.delta(here)
        rate = self.rate(here, high)
        upper = self._outward(delta, here, rate, high, 1)
        lower = self._outward(delta, here, rate, low, -1)
        return ordered(lower, upper)

    def _solve(self, target: float, guess: float) -> float:
        """Solve log(delta) = log(target) for the upper end."""
        return self.solve_slowly(target, guess)

    def solve_slowly(self, target: float, guess: float) -> float:
        """Solve by values alone, which fall with epsilon."""

        def excess(epsilon: float) -> float:
            return math.log(max(self._middle(epsilon), 1e-320) / target)

        return crossing(excess, guess, self.real)

    def _middle(self, epsilon: float) -> float:
        """Return the sum alone, without its bounds."""
        return max(self.delta(epsilon)[1] - self.certain, 0.0)

    def rate(self, epsilon: float, delta: float) -> float:
        """Return an estimate of -d log(delta) / d epsilon, at least a tenth of the order of the line."""
        width = 1e-4 / (self.real + 1)
        value = delta - self.certain
        other = self._middle(epsilon + width)
        if other <= 0 or value <= other:
            return self.real
        return max(math.log(value / other) / width, 0.1 * self.real)

    def _outward(self, delta: float, epsilon: float, rate: float, value: float, sign: int) -> float:
        """Step from epsilon to where the certified end of delta is on the safe side of the target."""
        target = delta - self.certain
        finite = value - self.certain
        step = 1e-11 * max(epsilon, 1e-6)
        if finite > 0 and (finite > target) == (sign > 0):
            step += 1.05 * abs(math.log(finite / target)) / rate
        for _ in range(80):
            point = epsilon + sign * step
            if point <= 0 and sign < 0:
                return 0.0
            point = max(point, 0.0)
            low, high = self.delta(point)
            if high <= delta if sign > 0 else low >= delta:
                return point
            step *= 1.5
        return self.top if sign > 0 else 0.0


@dataclass(frozen=True)
class Contour(Inverse):
    """K on a line, and the constants that bound what the sum misses."""

    real: float
    step: float
    orders: Complexes
    values: Complexes
    errors: Reals
    weights: Complexes
    cut: float
    """log of the bound on |M| above the last node, probe included."""
    right: tuple[tuple[float, float], ...]
    """(order, K + log_conversion) used to bound the alias from the right."""
    top: float
    probe: float
    """mu of the probe; 0 without."""
    infinity: float
    certain: float
    missing: float
    valid: float
    doubt: float
    spare: tuple[float, float] = (0.0, -math.inf)
    """(r, v): compositions of small losses alone, where they were left out, add at most exp(v - r e); see `split`."""

    def outside(self, epsilon: float) -> tuple[float, float]:
        """Bound what compositions that were taken out of the finite part add to delta."""
        low, high = self.certain * (1 - 8 * ULP), self.infinity * (1 + 8 * ULP)
        order, value = self.spare
        slack = 1e-9 + 4 * ULP * (order * epsilon + (abs(value) if order else 0.0))
        small = math.exp(min(value - order * epsilon + slack, 1.0))
        if epsilon > self.valid:
            return low, high + small
        jumps, slack = self.infinity - math.exp(epsilon) * self.missing, 2.0**-38 * self.infinity
        return max(low, jumps - slack), min(high, jumps + slack + self.doubt) + small

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a certified (lower, upper) around delta at this epsilon."""
        if epsilon >= self.top:
            return self.outside(epsilon)
        exponents = self.values - self.orders * epsilon
        shift = float(exponents[0].real)
        waves = np.exp(exponents - shift)
        sizes = np.abs(waves)
        blur, slope, heights = self._sizes
        noise = blur + slope * epsilon
        scale = self.step / math.pi
        terms = waves * self.weights
        total = scale * float(terms.real.sum())
        heavy = sizes * heights
        rounding = scale * float((heavy * np.expm1(np.minimum(noise, 50.0))).sum())
        rounding += scale * ULP * math.log2(len(sizes) + 2) * float(heavy.sum())
        height = float(self.orders[-1].imag)
        cut = math.exp(min(self.cut - self.real * epsilon - shift, 600.0)) / (math.pi * height)
        upper = total + cut + rounding
        lower = total - cut - rounding - self._alias(epsilon, shift)
        if self.probe:
            lower -= self._bump(waves, sizes, noise, cut * height)
        size = math.exp(min(shift, 700.0))
        inflate = 1 + ULP * (4 + abs(shift))
        low, high = self.outside(epsilon)
        low += max(lower, 0.0) * size / inflate
        high += upper * size * inflate
        return min(low, 1.0), min(max(high, low), 1.0)

    @cached_property
    def _sizes(self) -> tuple[Reals, Reals, Reals]:
        """What every evaluation needs: the errors of K and of s e, this per unit of e, and |weights|."""
        blur = self.errors + ULP * (8 + 2 * np.abs(self.values))
        return blur, 2 * ULP * np.abs(self.orders), np.abs(self.weights)

    def _solve(self, target: float, guess: float) -> float:
        """Solve for the sum alone by Newton's steps, whose derivative the same waves give; else as any profile."""
        here, edge = guess, False
        for _ in range(8):
            exponents = self.values - self.orders * here
            shift = float(exponents[0].real)
            terms = np.exp(exponents - shift) * self.weights
            scale = (self.step / math.pi) * math.exp(min(shift, 700.0))
            outside = self.outside(here)[1] - self.certain
            total = scale * float(terms.real.sum()) + outside
            fall = scale * float((terms * self.orders).real.sum())
            if here <= self.valid:
                fall += math.exp(here) * self.missing
            if not (total > 0 and 0 < fall < math.inf):
                break
            move = math.log(total / target) * total / fall
            here = max(here + move, 0.0)
            if -math.inf < self.valid < here:
                if edge:
                    break
                here, edge = self.valid, True
                continue
            if abs(move) < 1e-12 * max(here, 1e-6):
                return here
        return self.solve_slowly(target, guess)

    def _alias(self, epsilon: float, shift: float) -> float:
        """Bound what the trapezoidal sum exceeds the integral by, in units of exp(shift)."""
        period = 2 * math.pi / self.step
        left = self.real * period
        bound = math.exp(min(-left - shift, 600.0)) / -math.expm1(-left)
        if epsilon + period >= self.top:
            return bound
        best = math.inf
        for order, value in self.right:
            fall = (order - self.real) * period
            log = value - order * epsilon - fall - shift
            if log < 600:
                best = min(best, math.exp(log) / -math.expm1(-fall))
        return bound + best

    def _bump(self, waves: Complexes, sizes: Reals, noise: Reals, cut: float) -> float:
        """Return an upper bound of E[bump], the excess of the smoothed kernel over the true one."""
        mu = self.probe
        factor = mu * mu * (1 + 1.3 * mu) * math.exp(mu * mu / 8)
        scale = self.step / math.pi
        total = scale * (float(waves.real.sum()) - 0.5 * float(waves[0].real))
        slack = scale * float((sizes * (np.expm1(np.minimum(noise, 50.0)) + 64 * ULP)).sum())
        height = float(self.orders[-1].imag)
        # int_B^inf exp(-mu^2 (t^2 - B^2) / 2) dt <= 1 / (mu^2 B); the trapezoidal sum of a decreasing function is below
        # the integral from one node earlier, and the next node is at most one step away.
        slack += cut * (1 / (mu * mu * height) + self.step)
        return factor * (total + slack)


def line_through(
    direction: Direction, where: Where, epsilon: float, log_delta: float, most: int = PLAIN_NODES
) -> Contour | None:
    """Build the contour on a line for answers near epsilon and delta, or None if it would need too many nodes."""
    nodes = nodes_up(lambda height: direction.tail(where.real, height), where, epsilon, log_delta, most)
    if nodes is None or not direction.affordable(where.real, float(nodes[0][-1])):
        return None
    heights, cut = nodes
    return integrand(direction, where, heights, direction.line(where.real, heights), cut)


def with_probe(direction: Direction, where: Where, epsilon: float, log_delta: float, probe: float) -> Contour | None:
    """Build the contour with a probe: its own decay suffices, and the parts' is not looked for."""
    real, level = where.real, direction.moment(where.real)

    def bound(height: float) -> float:
        return level + _probe_tail(probe, real, height)

    nodes = nodes_up(bound, where, epsilon, log_delta, MOST_NODES)
    if nodes is None or not direction.affordable(real, float(nodes[0][-1])):
        return None
    heights, cut = nodes
    values, errors = direction.line(real, heights)
    orders = real + 1j * heights
    values = values + (0.5 * probe * probe) * orders * (orders + 1)
    return integrand(direction, where, heights, (values, errors), cut, probe=probe)


def integrand(  # noqa: PLR0913  what makes one line
    direction: Direction,
    where: Where,
    heights: Reals,
    values: tuple[Complexes, Reals],
    cut: float,
    *,
    probe: float = 0.0,
    spare: tuple[float, float] = (0.0, -math.inf),
) -> Contour:
    """Put together the sum over the nodes at these heights, given the logarithm of the transform there."""
    orders = where.real + 1j * heights
    weights = 1 / (orders * (orders + 1))
    weights[0] *= 0.5
    top = direction.top + 40 * probe
    outside = direction.outside
    return Contour(where.real, where.step, orders, *values, weights, cut, where.right, top, probe, *outside, spare)


def _probe_tail(probe: float, real: float, height: float) -> float:
    """Return log |M| of the probe at this height, exactly."""
    return 0.5 * probe * probe * (real * (real + 1) - height * height)


@dataclass(frozen=True)
class Where:
    """A line, the period of its nodes' aliases, and (order, K + log_conversion) for the alias from the right."""

    real: float
    period: float
    right: tuple[tuple[float, float], ...]
    start: float
    """Roughly the height from which on the integrand is negligible, if it falls like a Gaussian's."""

    tolerance: float
    """log of what the cut-off may weigh, relative to delta."""

    @property
    def step(self) -> float:
        """The distance of the nodes."""
        return 2 * math.pi / self.period


class Moments(Protocol):
    """What a line is placed by: the real moments of a measure of mass at most 1."""

    @property
    def top(self) -> float:
        """The largest finite value."""

    def roughs(self, orders: Reals) -> Reals:
        """Return the logarithms of the moments at many orders well enough for a search."""

    def moment(self, order: float) -> float:
        """Return the logarithm of the moment, rounded up."""


def place(direction: Moments, order: float, epsilon: float, log_delta: float) -> Where:
    """Choose the line, the period X that pushes both aliases below the tolerance, and the order for the right one.

    The left alias wants c X large, the right one (r - c) X for some order r whose moment is still small; where moments
    explode beyond the saddle, the line moves left of it. That costs digits: at most exp(LOST) of them.
    """
    tolerance, floor = _tolerance(order, epsilon), log_delta + LOG_TOLERANCE

    def exponents(orders: Reals, moments: Reals) -> list[float]:
        values = moments + log_conversions(orders) - orders * epsilon
        return list(np.where(np.isfinite(values), values, math.inf))

    # Where moments grow moderately, the line through the order itself is as good as any.
    period, count = -floor / order, len(MODERATE)
    moments = direction.roughs(order * AROUND)
    for factor, value in zip(MODERATE.tolist(), exponents(order * MODERATE, moments[:count]), strict=True):
        if value - floor <= 1.2 * period * (factor - 1) * order:
            bound = direction.moment(factor * order) + log_conversion(factor * order)
            start = _bend(moments[count:], order, epsilon, floor)
            return Where(order, 1.2 * period, ((factor * order, bound),), start, tolerance)
    aside = exponents(order * ASIDE, direction.roughs(order * ASIDE))
    rights = list(zip((order * RIGHTS).tolist(), aside[: len(RIGHTS)], strict=True))
    best = (math.inf, order, order)
    for factor, value in zip(LINES.tolist(), aside[len(RIGHTS) :], strict=True):
        real = factor * order
        if factor < 1 and value > log_delta + LOST:
            continue
        wide = min(((value - floor) / (r - real), r) for r, value in rights if r > real)
        if direction.top - epsilon < wide[0]:
            wide = (max(direction.top - epsilon, 0.0), 0.0)
        best = min(best, (max(-floor / real, wide[0]), real, wide[1]))
    period, real, used = best
    right = tuple((r, direction.moment(r) + log_conversion(r)) for r in ([used] if used else []))
    return Where(real, period * (1 + 1e-6), right, bend_height(direction, real, epsilon, floor), tolerance)


def _tolerance(order: float, epsilon: float) -> float:
    """Return log of what may be cut off: -d log(delta) / d epsilon is about the order."""
    return math.log(min(max(SHARE * order * max(epsilon, 1e-3), math.exp(LOG_TOLERANCE)), LOOSEST))


def bend_height(direction: Moments, real: float, epsilon: float, floor: float) -> float:
    """Return the height at which exp(K(c) - K''(c) t^2 / 2 - c e) / (pi t) falls below the floor, roughly."""
    return _bend(direction.roughs(real * NEIGHBORS), real, epsilon, floor)


def _bend(moments: Reals, real: float, epsilon: float, floor: float) -> float:
    """Return that height, given K at the neighboring orders."""
    below, middle, above = moments.tolist()
    bend = (below - 2 * middle + above) / ((NEIGHBORS[2] - 1) * real) ** 2
    if not 0 < bend < math.inf:
        return 0.0
    room = middle - real * epsilon - floor
    height = math.sqrt(2 * max(room, 1.0) / bend)
    return 1.15 * math.sqrt(2 * max(room - math.log(math.pi * height), 1.0) / bend)


def nodes_up(
    bound: Callable[[float], float], where: Where, epsilon: float, log_delta: float, most: int
) -> tuple[Reals, float] | None:
    """Return the nodes up to where the rest weighs less than the tolerance, and the bound on log |M| above them.

    The proved bound alone decides. It falls with the height, so one that holds from some height on holds above the next
    node as well. The height is looked for in few steps, and may be a fifth too large. None if there were more than
    `most` nodes.
    """
    step = where.step
    limit = most * step
    if not 0 < limit < math.inf:
        return None
    bounds = {}

    def excess(height: float) -> float:
        bounds[height] = bound(height)
        return bounds[height] - where.real * epsilon - math.log(math.pi * height) - log_delta - where.tolerance

    height = lowest_below(excess, min(where.start, limit), 4 * step, limit)
    if height is None:
        return None
    return np.asarray(step * np.arange(max(math.ceil(height / step), 4) + 1)), bounds[height]


def search_order(direction: Direction, log_delta: float, start: float | None = None) -> float:
    """Return roughly the order of the Renyi bound, by a search from a start nearby, where there is one."""

    def bounds(orders: Reals) -> Reals:
        return (direction.roughs(orders) + log_conversions(orders) - log_delta) / orders

    return minimize_at_once(bounds, start)


def chernoff_order(direction: Direction, epsilon: float, start: float | None = None) -> float:
    """Return roughly the order s that minimizes K(s) - s e + log_conversion(s)."""
    order = minimize_at_once(lambda s: direction.roughs(s) - s * epsilon + log_conversions(s), start)
    return min(order, FARTHEST / max(epsilon, 1e-300))


def renyi_bound(direction: Direction, order: float, log_delta: float) -> float:
    """Return the epsilon of the Renyi bound at one order."""
    return (direction.moment(order) + log_conversion(order) - log_delta) / order
