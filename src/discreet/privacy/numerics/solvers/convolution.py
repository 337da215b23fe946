"""Few uses of rarely sampled losses, or of profiles that are formulas: convolve two lattice laws around the truth.

Above. Between two points of y = exp(epsilon) a profile lies below its chord; the chords through nodes on a lattice
are the profile of a law on these nodes (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022, arXiv:2207.04380). Below.
A profile lies above its tangents; take the tangents at the nodes, and at one lattice point between each two nodes the
lower of both. The lines through these points stay below the tangents, hence below the profile, and are the profile of
a law on these points, once points above the chord of their neighbors are lowered to it. Profiles compose
monotonically, so the compositions enclose the truth; both miss it by the square of the distances between nodes.

What is enclosed is one number. Where the profiles of all losses are attained, and have formulas for their slopes, it is
that of these profiles. Where one of them is a bound itself, its slope is none and nothing is known from below: then it
is that of the pairs on cells that stand for the losses, as everywhere else.

The sum of n losses exceeds e only if one of them exceeds e / n. With B the law up to there (the bulk) and R the rest,
only (B + R)^n - B^n counts. It is kept as a number of its own while powers are formed, so its rounding errors are
relative to R: a loss that is nearly constant, as that of a rarely sampled record, costs no digits. Everything is
tilted by exp(cL) and folded onto a circle of length X; what lands there from outside is bounded as in `contour`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.finite import FiniteLoss
from discreet.privacy.numerics.losses.loss import ULP
from discreet.privacy.numerics.losses.profile import corner_points
from discreet.privacy.numerics.losses.sampled import CutLoss
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.solvers.contour import LOG_TOLERANCE, Inverse
from discreet.privacy.numerics.solvers.jumps import LOG_DOUBT, reserve, sampled_only
from discreet.privacy.numerics.solvers.single import meet, ordered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.privacy.numerics.losses.loss import Complexes, Direction, Reals

    Profiled = SampledGaussianLoss | FiniteLoss

ACCURACY = 2.0**-34
"""Relative error granted to a profile, its slope (see Loss.delta: 2^-40 would do) and the rounding of masses."""

ROUGH, FINE = 1e-3, 4e-7
"""The width that a first and a second attempt aim at, relative to epsilon."""

MOST_POINTS = 1 << 18
MOST_NODES = 1 << 14
MOST_USES = 1 << 14
MOST_LOST = 1e-3
"""Tables that send more than this share of delta to infinity are left to the contour."""

SKETCH = 400
"""Points in z of the rough picture by which nodes are placed."""

FARTHEST = 300.0
"""Up to this epsilon floats hold the Q-probability of jumps; beyond it they count in full, which is an upper bound."""

ROUNDING = 2e-11
"""How far slopes may be out of order for rounding alone; raising them by this is covered by ACCURACY."""

FFT = 8 * ULP
"""Error of a fast Fourier transform in the 2-norm, relative, per doubling of the length."""


@dataclass(frozen=True)
class LatticeLaw:
    """Masses under P at values offset + span * places; the P- and Q-probability of what lies beyond them."""

    offset: float
    span: float
    places: Reals
    masses: Reals
    beyond: tuple[float, float]

    @property
    def values(self) -> Reals:
        """The losses."""
        return self.offset + self.span * self.places


@dataclass(frozen=True)
class TransformPlan:
    """The choices for one convolution: none of them can make it wrong, only wide."""

    tilt: float
    right: float
    period: float
    points: int
    start: float
    """Answers are wanted from this epsilon on."""
    uses: int

    @property
    def span(self) -> float:
        """The lattice step."""
        return self.period / self.points

    @property
    def limit(self) -> float:
        """The largest loss of the bulk."""
        return self.start / self.uses


@dataclass(frozen=True)
class LatticeSum:
    """A composed law on one circle: suffix sums from which delta is read, and what they may miss."""

    plan: TransformPlan
    first: float
    """The value of index 0, the first above the start."""
    over: Reals
    """P-mass from each index on."""
    under: Reals
    """Q-mass from each index on, times exp(first): floats hold it at every epsilon."""
    log_noise: float
    """log of the bound on the error of one tilted mass."""
    log_right: float
    """log of the moment at the order plan.right."""
    log_mass: float
    """log of all P-mass that was folded."""

    def delta(self, epsilon: float) -> tuple[float, float, float]:
        """Return the sum, a bound on its error, and a bound on what was folded into it from elsewhere."""
        plan, c, h = self.plan, self.plan.tilt, self.plan.span
        index = min(max(math.floor((epsilon - self.first) / h) + 1, 0), len(self.over) - 1)
        over, under = float(self.over[index]), math.exp(epsilon - self.first) * float(self.under[index])
        # The errors of the masses above e, each weighed by exp(-cL) (1 - exp(e - L)), summed over the lattice.
        lattice = -1 / math.expm1(-c * h) + 1 / math.expm1(-(c + 1) * h)
        noise = math.exp(min(self.log_noise - c * epsilon, 700.0)) * lattice
        noise += ULP * (len(self.over) + 64) * (over + under)
        fall = (plan.right - c) * plan.period
        right = math.exp(min(self.log_right - plan.right * epsilon - fall, 700.0)) / -math.expm1(-fall)
        left = math.exp(self.log_mass - c * plan.period) / -math.expm1(-c * plan.period)
        beyond = math.exp(min(self.log_right - plan.right * (self.first + plan.period), 0.0))
        return over - under, noise + beyond, left + right


@dataclass(frozen=True)
class Convolution(Inverse):
    """The laws above and below, composed."""

    upper: LatticeSum
    lower: LatticeSum
    beyond: tuple[float, float]
    """The P- and Q-probability of compositions with a value beyond the law's."""
    valid: float
    """Up to this epsilon these count in full; see `jumps`."""
    top: float
    real: float
    certain: float = 0.0

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a certified (lower, upper) around delta; outside the plan nothing is known."""
        if not self.upper.plan.start <= epsilon < self.upper.first + self.upper.plan.period:
            return 0.0, 1.0
        over, under = self.beyond
        if epsilon >= self.top:
            return 0.0, over
        least, most = 0.0, over
        if epsilon <= min(self.valid, FARTHEST):
            jumps, slack = over - math.exp(epsilon) * under, 4 * ACCURACY * over
            least, most = (
                max(jumps - slack, 0.0),
                min(jumps + slack + math.exp(epsilon + LOG_DOUBT) * -math.log1p(-under), over),
            )
        value, error, _ = self.upper.delta(epsilon)
        high = min(max(value + error, 0.0) + most, 1.0)
        value, error, folded = self.lower.delta(epsilon)
        return ordered(max(value - error - folded, 0.0) + least, high)


def convolve_until(direction: Direction, upper: float, delta: float, whole: float) -> tuple[float, float]:
    """Return (lower, upper) around an epsilon, given an upper bound, in a few rounds of convolution.

    The upper end is that of `delta`, from which all that may be at infinity was taken, the lower end that of `whole`.
    """
    work = _work(direction, delta)
    known = upper
    if work is None or not upper > 0:
        return 0.0, known
    if upper >= direction.top:  # where to look; nothing is known of this point
        upper = direction.top * (1 - 1e-9)
    lower, start, goal, rate, left = 0.0, upper / 8, ROUGH, 0.0, 2
    for _ in range(12):
        made = work.convolve(upper, start, goal, rate)
        if made is None:
            break
        low, high = made.delta(start)
        if high <= delta:  # the answer lies below
            known = upper = start
            start /= 8
        elif low <= delta:  # too rough to tell
            goal /= 30
        else:
            ends = made.epsilon(delta, upper)
            below = ends[0] if whole == delta else made.epsilon(whole, upper)[0]
            lower, known = meet((lower, known), (below, ends[1]))
            upper = min(upper, known)
            left -= goal <= FINE
            if upper - lower <= 1e-6 * max(upper, 1e-3) or not left:
                break
            rate = made.rate(upper, delta)
            start, goal = max(start, 0.97 * lower), FINE if upper - lower < 0.02 * upper else goal / 30
    return lower, known


def convolve_at(direction: Direction, epsilon: float, delta: float) -> Convolution | None:
    """Build the convolution for the answer at this epsilon, given a bound on delta there; None if it does not apply."""
    if not 0 < epsilon < direction.top:
        return None
    finest, rate, delta = None, 0.0, max(delta, 1e-300)
    for goal in (ROUGH, 1e-5, FINE):
        work = _work(direction, delta)
        made = work.convolve(epsilon, 0.97 * epsilon, goal, rate) if work else None
        if made is None:
            break
        finest, delta = made, max(made.delta(epsilon)[1], 1e-300)
        rate = made.rate(epsilon, delta)
    return finest


def profiled(direction: Direction) -> bool:
    """Whether the profiles of all losses are formulas that the pairs of the losses themselves do not reach."""
    losses = [loss for loss, _ in direction.parts]
    known = (isinstance(loss, SampledGaussianLoss) or (isinstance(loss, CutLoss) and loss.exact) for loss in losses)
    return any(isinstance(loss, CutLoss) for loss in losses) and all(known)


def _work(direction: Direction, delta: float) -> _Work | None:
    """Sketch the losses, if they are few and their profiles, or the tables that stand for them, known."""
    losses: list[Profiled] = [loss for loss, _ in direction.parts if isinstance(loss, SampledGaussianLoss | CutLoss)]
    counts = [n for _, n in direction.parts]
    if len(losses) != len(direction.parts) or sum(counts) > MOST_USES:
        return None
    if not profiled(direction):  # a bound's slope is none: the tables are convolved, as they are integrated elsewhere
        if direction.infinity > MOST_LOST * delta:  # plans are made for losses that are finite
            return None
        losses = [loss.table if isinstance(loss, CutLoss) else loss for loss in losses]
    return _Work(direction, losses, counts, delta)


class _Work:
    """What several attempts share, and sketches of the losses for one."""

    def __init__(self, direction: Direction, losses: list[Profiled], counts: list[int], delta: float) -> None:
        self.losses = losses
        self.counts = counts
        self.delta = delta
        self.uses = sum(counts)
        self.direction = direction if sampled_only(direction) else None
        self.ends = [_end(loss, 1e-9 * delta / self.uses) for loss in losses]
        self.sketches: list[tuple[Reals, Reals]] = []

    def convolve(self, epsilon: float, start: float, goal: float, rate: float) -> Convolution | None:
        """Plan and carry out one convolution up to this epsilon, with an error near the goal (relative)."""
        level = epsilon * (1 + ROUGH) + (reserve(self.direction, epsilon) if self.direction else math.inf)
        cuts = [
            loss.z_of(level) if level < math.inf and isinstance(loss, SampledGaussianLoss) else math.inf
            for loss in self.losses
        ]
        jumps = all(cut < end for cut, end in zip(cuts, self.ends, strict=True))
        ends = cuts if jumps else self.ends
        self.sketches = [_sketch(loss, end) for loss, end in zip(self.losses, ends, strict=True)]
        plan = self._plan(epsilon, start, goal, rate)
        if plan is None:
            return None
        target = goal * max(epsilon, 1e-3) / max(rate, plan.tilt)
        pairs = [
            _laws(loss, plan, sketch, target, level if jumps else None)
            for loss, sketch in zip(self.losses, self.sketches, strict=True)
        ]
        upper, lower = (compose([pair[i] for pair in pairs], self.counts, plan) for i in (0, 1))
        if upper is None or lower is None:
            return None
        over, under = (
            -math.expm1(
                math.fsum(n * math.log1p(-pair[0].beyond[i]) for pair, n in zip(pairs, self.counts, strict=True))
            )
            for i in (0, 1)
        )
        tops = [loss.source.top if isinstance(loss, CutLoss) else loss.top for loss in self.losses]
        top = math.fsum(n * highest for highest, n in zip(tops, self.counts, strict=True)) * (1 + 4 * ULP)
        valid = epsilon * (1 + ROUGH) if jumps and all(pair[1].beyond[1] for pair in pairs) else -math.inf
        return Convolution(upper, lower, (over * (1 + ACCURACY), under), valid, top, plan.tilt)

    def _excess(self, orders: Reals, limit: float) -> Reals:
        """Return log of ((B + R)^n - B^n) at several orders, roughly."""
        whole, gap = np.zeros(len(orders)), np.zeros(len(orders))
        for (values, masses), n in zip(self.sketches, self.counts, strict=True):
            logs = orders[:, None] * values + np.log(masses)
            peak = logs.max(axis=1)
            sizes = np.exp(logs - peak[:, None])
            total, rare = sizes.sum(axis=1), sizes[:, values > limit].sum(axis=1)
            whole += n * (peak + np.log(total))
            gap += n * np.log1p(-np.minimum(rare / total, 1 - 1e-15))
        return np.asarray(whole + np.log(np.maximum(-np.expm1(gap), 1e-300)))

    def _plan(self, epsilon: float, start: float, goal: float, rate: float) -> TransformPlan | None:
        """Choose tilt, period and span."""
        floor = math.log(self.delta) + LOG_TOLERANCE
        orders = np.append(0.0, np.geomspace(0.05, 400.0, 48) / epsilon)
        logs = self._excess(orders, start / self.uses)
        gaps = orders[None, :] - orders[1:, None]
        right = np.where(gaps > 0, (logs - orders * start - floor)[None, :] / np.maximum(gaps, 1e-300), np.inf)
        periods = np.maximum((logs[0] - floor) / orders[1:], right.min(axis=1))
        best = int(np.argmin(np.where(periods > 0, periods, np.inf)))
        period = max(1.01 * float(periods[best]), 1.5 * (epsilon - start))
        tilt, far = float(orders[best + 1]), float(orders[int(np.argmin(right[best]))])
        if float(logs[best + 1]) - tilt * start > 600 or float(logs[best + 1]) - tilt * (start + period) < -690:
            return None
        points = 1 << 11
        slope = 0.5 * max(rate, tilt)
        while self._spread(period / points, tilt, start) * slope > 0.25 * goal * max(epsilon, 1e-3):
            points *= 2
            if points > MOST_POINTS and self._spread(period / MOST_POINTS, tilt, start) * slope > goal * max(
                epsilon, 1e-3
            ):
                return None
            if points > MOST_POINTS:
                points = MOST_POINTS
                break
        return TransformPlan(tilt, far, period, points, start, self.uses)

    def _spread(self, span: float, tilt: float, start: float) -> float:
        """Estimate the variance that rounding the bulk to the lattice adds to the sum."""
        total = 0.0
        for (values, masses), n in zip(self.sketches, self.counts, strict=True):
            bulk = values <= start / self.uses
            weights = masses[bulk] * np.exp(tilt * (values[bulk] - start))
            weights = weights / max(float(weights.sum()), 1e-300)
            off = np.abs(values[bulk] - float(values[bulk] @ weights))
            total += n * span * float(weights @ np.minimum(off, span / 6))
        return total


def _end(loss: Profiled, mass: float) -> float:
    """Return the z, or the value, beyond which at most this mass of the largest losses lies."""
    if isinstance(loss, SampledGaussianLoss):
        return loss.trimmed(mass, 1e4).cut
    beyond = np.cumsum(loss.masses[::-1])[::-1]
    return float(loss.values[min(int(np.searchsorted(-beyond, -mass)), len(beyond) - 1)])


def _sketch(loss: Profiled, reach: float) -> tuple[Reals, Reals]:
    """Return increasing values of the loss with rough masses, up to this z or value."""
    if isinstance(loss, FiniteLoss):
        count = int(np.searchsorted(loss.values, reach, side="right"))
        first = np.arange(0, count, max(count // SKETCH, 1))
        masses = np.add.reduceat(loss.masses[:count], first)
        middles = np.add.reduceat((loss.masses * loss.values)[:count], first) / np.maximum(masses, 1e-300)
        keep = masses > 1e-290
        return middles[keep], masses[keep]
    z = np.linspace(-11.0, min(reach, 38.0 + 1 / loss.sigma), SKETCH)
    ratio = loss.ratio(z)
    masses = np.exp(np.maximum((0.0 if loss.add else 1.0) * ratio - 0.5 * z * z, -690.0))
    masses = masses * ((z[1] - z[0]) / math.sqrt(2 * math.pi))
    return (-ratio[::-1], masses[::-1]) if loss.add else (ratio, masses)


def _laws(
    loss: Profiled, plan: TransformPlan, sketch: tuple[Reals, Reals], target: float, level: float | None
) -> tuple[LatticeLaw, LatticeLaw]:
    """Return the laws above and below, up to a level if one is given; a lattice point lies at the mean of the bulk."""
    near = np.asarray([1.5 * plan.span])
    slope = float(loss.slope(near)[0])
    over = float(loss.delta(near)[0]) + math.exp(1.5 * plan.span) * slope
    offset = 0.0  # where samples of fixed size have an atom
    if isinstance(loss, SampledGaussianLoss) and max(over, slope) < 1:
        offset = math.log1p(-over) - math.log1p(-slope)
    nodes = _nodes(plan, sketch, target, offset)
    if level is not None:
        last = math.ceil((level - offset) / plan.span)
        nodes = np.append(nodes[nodes < last], last)
    values = offset + plan.span * nodes
    profile, slopes = loss.delta(values), loss.slope(values)
    above = _above(offset, plan.span, nodes, profile, float(slopes[-1]) if level is not None else 0.0)
    return above, _below(offset, plan.span, nodes, profile, slopes, jumps=level is not None)


def _nodes(plan: TransformPlan, sketch: tuple[Reals, Reals], target: float, offset: float) -> Reals:
    """Place nodes with a density like the cube root of the tilted mass, which spends the error evenly.

    With weights w and cells of width H the variance added is sum w H^2 / 6; the best H give I^3 / (6 n^2), I the
    integral of the cube root. A jump happens about once, a step of the bulk at every use.
    """
    values, masses = sketch
    log = np.log(masses) + plan.tilt * values
    weights = np.exp(log - float(log.max()))
    jump = values > plan.limit
    rare, common = float(weights[jump].sum()), float(weights[~jump].sum())
    weights = np.where(jump, weights / max(rare, 1e-300), weights * (plan.uses / max(common, 1e-300)))
    # Where the moment of the order to the right has its mass, chords may not be so long as to blow it up.
    log = np.log(masses) + plan.right * values
    weights = weights + 0.01 * np.exp(log - float(log.max()))
    gaps = np.maximum(np.diff(values), 1e-300)
    measure = np.cbrt(np.maximum(0.5 * (weights[1:] + weights[:-1]), 1e-13) / gaps) * gaps
    total = float(measure.sum())
    count = int(min(max(math.sqrt(total**3 / (2 * target)), 300.0), MOST_NODES))
    spots = np.interp(np.linspace(0.0, total, count), np.append(0.0, np.cumsum(measure)), values)
    places = np.rint((spots - offset) / plan.span)
    low = math.floor((float(values[0]) - offset) / plan.span) - 1.0
    return np.unique(np.concatenate([places, np.arange(max(-8.0, low), 9.0), [low, float(places[-1]) + 1]]))


def _above(offset: float, span: float, nodes: Reals, profile: Reals, end: float) -> LatticeLaw:
    """Return the law of the chords; it ends with the slope `end`."""
    ratio = np.exp(offset + span * nodes)
    heights, falls = _convex(span * nodes, ratio, profile * (1 + ACCURACY), 1 + ACCURACY)
    masses = -np.diff(np.append(falls, min(end, float(falls[-1])))) * ratio * (1 + ACCURACY)
    return LatticeLaw(offset, span, nodes, masses, (float(heights[-1]) + end * float(ratio[-1]), end))


def _below(  # noqa: PLR0913  the tangents, and how they end
    offset: float, span: float, nodes: Reals, profile: Reals, slopes: Reals, *, jumps: bool
) -> LatticeLaw:
    """Return the law of the tangents, broken at lattice points; with jumps it ends with the slope of the last."""
    ratio = np.exp(offset + span * nodes)
    reach = (profile + slopes * ratio) * (1 - ACCURACY)  # each tangent's height at y = 0; the tangents are lowered
    slopes = slopes * (1 + ACCURACY)
    meet = (reach[:-1] - reach[1:]) / np.maximum(slopes[:-1] - slopes[1:], 1e-300)
    meet = np.clip(meet, ratio[:-1], ratio[1:])
    places = np.clip(np.rint((np.log(meet) - offset) / span), nodes[:-1], nodes[1:])
    # A point may serve several gaps; it must lie below the tangents at the nodes on both sides of all of them.
    places, first = np.unique(places, return_index=True)
    last = np.append(first[1:], len(nodes) - 1)
    at = np.exp(offset + span * places)
    heights = np.minimum(reach[first] - slopes[first] * at, reach[last] - slopes[last] * at)
    below = np.flatnonzero(heights <= 0)
    if len(below):
        jumps = False
        places, at, heights = places[: below[0]], at[: below[0]], heights[: below[0]].copy()
    if not len(places):
        return LatticeLaw(offset, span, np.zeros(1), np.zeros(1), (0.0, 0.0))
    end = float(slopes[-1]) if jumps else 0.0
    if not jumps:
        if not len(below) and slopes[-1] > 0:  # follow the last tangent to its node or to its zero, which is nearer
            far = min(math.floor((math.log(float(reach[-1] / slopes[-1])) - offset) / span), int(nodes[-1]))
            if far > places[-1]:
                places, at = np.append(places, far), np.append(at, math.exp(offset + span * far))
                heights = np.append(heights, 0.0)
        heights[-1] = 0.0
    _, falls = _convex(span * places, at, heights, float(reach[0]))
    masses = -np.diff(np.append(falls, min(end, float(falls[-1])))) * at * (1 - ACCURACY)
    return LatticeLaw(offset, span, places, masses, (0.0, end))


def _convex(losses: Reals, ratio: Reals, heights: Reals, start: float) -> tuple[Reals, Reals]:
    """Lower points above the chord of their neighbors until the slopes fall; return heights and slopes, from y = 0 on.

    A convex function below the points stays below, and lowering keeps a bound from below. Points that lie close
    together have differences that y = exp(loss) itself would round away, so they are formed from the losses.
    """
    x, y = np.append(0.0, ratio), np.append(start, heights)
    gaps = np.append(ratio[0], ratio[:-1] * np.expm1(np.diff(losses)))
    for reach in (16, 64, 256, len(x)):
        falls = -np.diff(y) / gaps
        bad = np.flatnonzero(falls[:-1] < falls[1:] * (1 - ROUNDING)) + 1
        if not len(bad):
            break
        for window in np.split(bad, np.flatnonzero(np.diff(bad) > reach) + 1):
            part = slice(max(int(window[0]) - reach, 0), int(window[-1]) + reach + 1)
            corners = corner_points(x[part], y[part])
            y[part] = np.interp(x[part], x[part][corners], y[part][corners])
    falls = -np.diff(y) / gaps
    return y[1:], np.maximum.accumulate(falls[::-1])[::-1]


def compose(laws: list[LatticeLaw], counts: list[int], plan: TransformPlan) -> LatticeSum | None:
    """Convolve the laws on one circle; None where floats do not reach.

    Transforms are normalized so that |B + R| <= 1 and |B| <= 1; their errors in the 2-norm are FFT log2(N) times the
    norm. R (sum of products of n - 1 factors) then has an error of n times R's and n^2/2 |R| times the factors', and no
    entry of the inverse transform is off by more than the 2-norm of all errors over sqrt(N).
    """
    ones = np.ones(plan.points // 2 + 1, dtype=np.complex128)
    total: Triple = (ones, ones, 0 * ones)
    scale = linear = square = 0.0
    for law, n in zip(laws, counts, strict=True):
        log, weights = _tilted(law, plan.tilt)
        rare = law.values > plan.limit
        b, r = _transform(law, weights, ~rare, plan), _transform(law, weights, rare, plan)
        total = _times(total, _power((b + r, b, r), n))
        scale += n * log
        linear += n * float(np.sqrt(weights[rare] @ weights[rare]))
        square += n * float(weights[rare].sum())
    if not scale - plan.tilt * plan.start < 690:
        return None
    noise = FFT * math.log2(plan.points) * (2 * linear + 0.5 * plan.uses * square)
    noise += 16 * ULP * math.log2(2 * plan.uses) * (linear + ULP)
    return _read(laws, counts, plan, np.fft.irfft(total[2], plan.points), scale, noise)


def _tilted(law: LatticeLaw, order: float) -> tuple[float, Reals]:
    """Return log E[exp(order L)] of a law, and the shares of its points in it."""
    with np.errstate(divide="ignore"):
        logs = order * law.values + np.log(law.masses)
    peak = float(logs.max())
    if peak == -math.inf:  # nothing is left of the law
        return -math.inf, np.zeros(len(logs))
    sizes = np.exp(logs - peak)
    total = float(sizes.sum())
    return peak + math.log(total), sizes / total


def _transform(law: LatticeLaw, weights: Reals, keep: NDArray[np.bool_], plan: TransformPlan) -> Complexes:
    """Fold some of the weights onto the circle and transform them."""
    places = law.places[keep].astype(np.int64) % plan.points
    return np.asarray(np.fft.rfft(np.bincount(places, weights=weights[keep], minlength=plan.points)))


Triple = tuple["Complexes", "Complexes", "Complexes"]


def _times(left: Triple, right: Triple) -> Triple:
    """Multiply (a, b, a - b) by (c, d, c - d), forming ac - bd = (a - b) c + b (c - d)."""
    return left[0] * right[0], left[1] * right[1], left[2] * right[0] + left[1] * right[2]


def _power(base: Triple, count: int) -> Triple:
    """Return the power by squaring."""
    result: Triple | None = None
    while count:
        if count & 1:
            result = base if result is None else _times(result, base)
        count >>= 1
        if count:
            base = _times(base, base)
    return result if result is not None else base


def _read(  # noqa: PLR0913, PLR0917  what the composition left
    laws: list[LatticeLaw], counts: list[int], plan: TransformPlan, tilted: Reals, scale: float, noise: float
) -> LatticeSum:
    """Undo the tilt from the first value above the start on."""
    base = math.fsum(n * law.offset for law, n in zip(laws, counts, strict=True))
    first = math.floor((plan.start - base) / plan.span) + 1
    values = base + plan.span * (first + np.arange(plan.points))
    masses = np.roll(tilted, -(first % plan.points)) * np.exp(scale - plan.tilt * values)
    over, under = (np.cumsum(terms[::-1])[::-1] for terms in (masses, masses * np.exp(values[0] - values)))
    right, mass = (_log_excess(laws, counts, order, plan.limit) for order in (plan.right, 0.0))
    return LatticeSum(plan, float(values[0]), over, under, math.log(noise + 5e-324) + scale, right, mass)


def _log_excess(laws: list[LatticeLaw], counts: list[int], order: float, limit: float) -> float:
    """Return log of ((B + R)^n - B^n) at a real order, rounded up."""
    whole = gap = 0.0
    for law, n in zip(laws, counts, strict=True):
        log, sizes = _tilted(law, order)
        whole += n * log
        gap += n * math.log1p(-min(float(sizes[law.values > limit].sum()), 1 - 1e-15))
    return whole + math.log(max(-math.expm1(gap), 5e-324)) + 1e-9
