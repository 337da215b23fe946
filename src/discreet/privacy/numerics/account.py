"""Choose how a composition is computed, by criteria that are proved, and return certified intervals.

1. nothing composed, or one mechanism once: its own formula;
2. Gaussian parts are merged (mu^2 adds), small finite parts are multiplied out exactly;
3. all losses on one lattice: the contour over one period;
4. a proved decay of the log-moment function within a bounded number of nodes: the plain contour;
5. few subsampled Gaussians: the convolution of laws above and below;
6. otherwise: the contour with the probe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.contour import (
    GAP,
    LOST,
    Inverse,
    Where,
    bend_height,
    chernoff_order,
    line_through,
    place,
    renyi_bound,
    search_order,
    with_probe,
)
from discreet.privacy.numerics.convolution import convolve_at, solve
from discreet.privacy.numerics.finite import FiniteLoss, combine
from discreet.privacy.numerics.gaussian import GaussianLoss
from discreet.privacy.numerics.jumps import sampled_only, without_jumps
from discreet.privacy.numerics.lattice import on_lattice
from discreet.privacy.numerics.loss import ULP, Direction, Loss, log_conversion
from discreet.privacy.numerics.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.search import minimize
from discreet.privacy.numerics.split import jump_guess, split_through

if TYPE_CHECKING:
    from collections.abc import Callable

SLACK = 2.0**-36
"""Relative error granted to a single mechanism's own formula; see Loss.delta."""

MOST_ATOMS = 1 << 13
"""Finite parts are multiplied out up to this many values."""

TRIM = 1e-9
"""The share of delta that may be spent on sending the largest losses to infinity."""

SEARCHED = 1e12
"""The order up to which moments are tame while the order is searched for: edges are sharper than any in use."""

USUAL_ORDER = 100.0
"""The order up to which moments are tame where hardly anything is trimmed."""

LOOSE = 1e-3
"""An interval of epsilon that is wider, relatively, is worth a line for every step towards the answer."""

FEW_NODES = 1500
"""A plain contour with more nodes than this is not tried before small and large losses are taken apart."""

FEW_USES = 3
"""With so few uses small losses are hardly smaller than large ones, and three times as many nodes are tried."""

LEAST_MOVING = 15.0
"""If most losses are nearly equal, the transform falls by about as many nats as there are others, at most."""

POWERS = np.append(np.arange(-60, 64), np.arange(64, 520, 8))
"""The powers of two among which a crossing is looked for first."""

NEARLY = 12.0
"""How far above log delta the Renyi bound of a direction may lie that is still worth a sum."""

COARSER = 16.0
"""How many nats below delta the errors of that sum are pushed."""

GRID = 48
"""Points of one grid on which a profile is looked at while its crossing is searched for."""

NEAR = 0.1
"""How far, relatively, the profile may be from its target where secants take over from grids."""

NUDGE = 1e-5
"""How far, relatively, a profile is followed to see how fast it falls."""

SMALLEST = 5e-324
"""What is positive but too small for a float is rounded up to this."""

Ends = tuple[float, float]


def simplify(direction: Direction) -> Direction:
    """Merge Gaussian parts into one and multiply out small finite parts."""
    if len(direction.parts) == 1 and direction.parts[0][1] == 1:
        return direction
    square = math.fsum(n * loss.mu * loss.mu for loss, n in direction.parts if isinstance(loss, GaussianLoss))
    rest = [(loss, n) for loss, n in direction.parts if not isinstance(loss, GaussianLoss)]
    rest = _multiply_out(rest)
    gaussians: list[tuple[Loss, int]] = [(GaussianLoss(math.sqrt(square)), 1)] if square else []
    return Direction((*gaussians, *rest))


def _multiply_out(parts: list[tuple[Loss, int]]) -> list[tuple[Loss, int]]:
    """Replace finite parts by their exact composition while it stays small, unless one lattice holds all of them."""
    finite = [(loss, n) for loss, n in parts if isinstance(loss, FiniteLoss)]
    if not finite or (len(finite) == len(parts) and _common_span(Direction(tuple(parts)))):
        return parts
    if math.fsum(n * math.log(max(len(loss.values), 1)) for loss, n in finite) > math.log(MOST_ATOMS):
        return parts
    others = [(loss, n) for loss, n in parts if not isinstance(loss, FiniteLoss)]
    if others:
        return parts
    product = finite[0][0]
    counts = [(finite[0][0], finite[0][1] - 1), *finite[1:]]
    for loss, n in counts:
        for _ in range(n):
            product = combine(product, loss)
    return [*others, (product, 1)]


def _common_span(direction: Direction) -> tuple[float, float] | None:
    """Return (span, offset) if all losses lie on one lattice."""
    spans = {loss.span for loss, _ in direction.parts}
    if len(spans) != 1 or 0.0 in spans:
        return None
    return spans.pop(), math.fsum(n * loss.offset for loss, n in direction.parts)


def epsilon_interval(direction: Direction, delta: float) -> Ends:
    """Return (lower, upper) around the smallest epsilon >= 0 with delta(epsilon) <= delta, in one direction."""
    direction = simplify(direction)
    if len(direction.parts) == 1 and direction.parts[0][1] == 1:
        alone = direction.parts[0][0].alone_epsilon(delta)
        if alone is not None:
            return alone
    below = direction.below()
    if direction.pairless:
        upper = _renyi_epsilon(direction, delta)
        return min(epsilon_interval(below, delta)[0], upper), upper
    lower, upper = _paired_epsilon(direction, delta)
    if below is direction:
        return lower, upper
    if math.isfinite(upper) and any(type(loss).renyi is not Loss.renyi for loss, _ in direction.parts):
        upper = min(upper, _renyi_epsilon(direction, delta))
    return min(epsilon_interval(below, delta)[0], upper), upper


def _renyi_epsilon(direction: Direction, delta: float) -> float:
    """Return the Renyi bound on epsilon (improved conversion), never more than the largest loss."""
    infinity = direction.infinity
    if infinity > delta:
        return math.inf
    if infinity * (1 + SLACK) >= delta:
        return direction.top
    target = math.log(delta - infinity) - 1e-12
    found = minimize(lambda order: (direction.renyi(order) + log_conversion(order) - target) / order)[1]
    return min(max(found * (1 + 1e-12), 0.0), direction.top)


def dominated(direction: Direction, epsilon: float, delta: float) -> bool:
    """Whether the Renyi bound alone proves delta(epsilon) <= delta, so that this direction need not be computed."""
    if epsilon >= direction.top:
        return direction.infinity * (1 + SLACK) <= delta
    room = delta - direction.infinity * (1 + SLACK)
    if room <= 0 or not math.isfinite(epsilon):
        return room > 0
    if _single(direction) and direction.parts[0][0].below() is direction.parts[0][0]:
        return _single_delta(direction.parts[0][0], epsilon)[1] <= delta
    target = math.log(room)
    order = 1.0 / max(epsilon, 1e-3)
    best = math.inf
    for _ in range(24):
        found = direction.rough(order) - order * epsilon + log_conversion(order)
        if found < target - 1e-2:
            return direction.renyi(order) - order * epsilon + log_conversion(order) < target - 1e-12
        if found > best:
            return best < target + NEARLY and _summed_within(direction, 0.5 * order, epsilon, delta)
        best = found
        order *= 2
    return False


def _summed_within(direction: Direction, order: float, epsilon: float, delta: float) -> bool:
    """Whether one sum along the contour proves delta(epsilon) <= delta, for subsampled Gaussians that were added.

    Every alias of the sum is positive, so its upper end holds for any step. A coarse one serves, as this direction is
    usually not the worse one.
    """
    if direction.pairless or not any(isinstance(loss, SampledGaussianLoss) and loss.add for loss, _ in direction.parts):
        return False
    log_delta = math.log(delta)
    real = chernoff_order(direction, epsilon, order)
    start = bend_height(direction, real, epsilon, log_delta - COARSER)
    where = Where(real, (COARSER - log_delta) / real, (), start, -COARSER)
    contour = line_through(direction, where, epsilon, log_delta, FEW_NODES)
    return contour is not None and contour.delta(epsilon)[1] <= delta


def _paired_epsilon(  # noqa: PLR0911  one return per case of the table above
    direction: Direction, delta: float
) -> Ends:
    """Answer from the pairs."""
    if not direction.parts:
        return 0.0, 0.0
    infinity = direction.infinity
    if infinity > delta:
        return math.inf, math.inf
    if delta == 0 or infinity * (1 + SLACK) >= delta:
        return _at_zero(direction)
    if _single(direction):
        return _invert(direction.parts[0][0], delta)
    if _total_variation_within(direction, delta):
        return 0.0, 0.0
    near = _near_top(direction, delta)
    if near is not None:
        return near
    room = delta - infinity
    # Half of delta is left to the largest losses while the order is looked for.
    trial = direction.trimmed(0.5 * room, SEARCHED)
    log_rest = math.log(delta - trial.infinity)
    order = search_order(trial, log_rest)
    guess = (trial.rough(order) + log_conversion(order) - log_rest) / order

    def bound() -> float:
        kept = direction.trimmed(0.5 * room, order)
        return renyi_bound(kept, order, math.log(delta - kept.infinity)) * (1 + 1e-12)

    if guess <= 0 and bound() <= 0:
        return 0.0, 0.0
    return _refine(direction.trimmed(TRIM * room, order), order, max(guess, 0.0), delta, bound)


def _refine(direction: Direction, order: float, guess: float, delta: float, bound: Callable[[], float]) -> Ends:
    """Solve on a line through the Renyi order; where that was far from the saddle, again on a better line.

    The guess need not be a bound; where no line gives a narrow interval, the Renyi bound is certified.
    """
    target = math.log(delta - direction.infinity)
    lower, upper = 0.0, direction.top
    near = jump_guess(direction, min(guess, upper), math.exp(target))
    for _ in range(3):
        line, order = _sharpen(direction, order, near, target)
        contour = _contour(line, order, near, target)
        if contour is None:
            break
        ends = contour.epsilon(delta, near)
        short = ends[1] > near  # a guess was too low
        gained = short or ends[1] < 0.98 * near
        lower, upper = _meet((lower, upper), ends)
        if not gained or not _wide(lower, upper):
            break
        if not math.isfinite(upper):
            upper = bound()
        order, near = _chernoff(direction, upper)[0], upper
    if _wide(lower, upper):  # heavy tails: no decay, or no digits left
        lower, upper = _meet((lower, upper), (0.0, bound()))
        lower, upper = _meet((lower, upper), solve(direction, upper, math.exp(target)))
    if _wide(lower, upper) and contour is None:
        probe = _probe(direction, order, upper, target)
        ends = probe.epsilon(delta, upper) if probe else (0.0, upper)  # else the Renyi bound stands
        lower, upper = _meet((lower, upper), ends)
    if upper - lower > LOOSE * upper:
        one_by_one = _Pointwise(direction, order, direction.top, direction.certain)
        lower, upper = _meet((lower, upper), one_by_one.epsilon(delta, upper))
    return lower, upper


@dataclass(frozen=True)
class _Pointwise(Inverse):
    """A profile for which a new line is drawn at every epsilon: the last resort, where one line does not serve."""

    direction: Direction
    real: float
    top: float
    certain: float
    valid: float = -math.inf

    def delta(self, epsilon: float) -> Ends:
        """Return the interval at this epsilon."""
        return _paired_delta(self.direction, epsilon)


def _meet(one: Ends, other: Ends) -> Ends:
    """Intersect two intervals around one number; should they contradict each other, which none may, take both."""
    lower, upper = max(one[0], other[0]), min(one[1], other[1])
    if lower <= upper * (1 + 1e-12):
        return min(lower, upper), upper
    return min(one[0], other[0]), max(one[1], other[1])


def _wide(lower: float, upper: float) -> bool:
    """Whether an interval is wider than promised."""
    return upper == math.inf or upper - lower > 1e-6 * max(upper, 1e-3)


def _sharpen(direction: Direction, order: float, epsilon: float, target: float) -> tuple[Direction, float]:
    """Take jumps out of the finite part where that helps, and look for the order again."""
    if not direction.infinity > direction.certain or not sampled_only(direction):
        return direction, order
    cut = without_jumps(direction, epsilon, math.exp(target), order)
    found = chernoff_order(cut, epsilon, order)
    if cut is direction or found < 1.3 * order:  # an edge that is sharper than it has to be does no harm
        return cut, found
    return without_jumps(direction, epsilon, math.exp(target), found), found


def _total_variation_within(direction: Direction, delta: float) -> bool:
    """Whether the sum of the parts' own delta(0), which bounds that of the composition, is at most delta."""
    total, zero = 0.0, np.zeros(1)
    for loss, n in direction.parts:
        if isinstance(loss, SampledGaussianLoss) and n * loss.rough_delta(0.0) > 1.01 * delta:
            return False  # mostly, and at once
        total += n * float(loss.delta(zero)[0]) * (1 + SLACK) if loss.closed else math.inf
        if total > delta:
            return False
    return True


def _single(direction: Direction) -> bool:
    """Whether one mechanism with a formula of its own runs once."""
    return len(direction.parts) == 1 and direction.parts[0][1] == 1 and direction.parts[0][0].closed


def _near_top(direction: Direction, delta: float) -> Ends | None:
    """Use the mass at the largest loss: delta(e) - infinity >= Pr[L = top] (1 - exp(e - top))."""
    top, peak = direction.top, direction.peak
    if math.isinf(top) or peak == -math.inf:
        return None
    share = math.log(delta - direction.infinity) - peak
    if share >= -1e-300 or -math.log1p(-math.exp(share)) > 1e-7 * top:
        return None
    return max(top + math.log1p(-math.exp(share)) - 1e-14 * top, 0.0), top


def _at_zero(direction: Direction) -> Ends:
    """Delta leaves nothing beyond the mass at infinity: epsilon is the largest finite loss."""
    top = direction.top
    if math.isinf(top):
        return math.inf, math.inf
    bottom = math.fsum(n * loss.top for loss, n in direction.parts)
    return max(bottom * (1 - 1e-13), 0.0), max(top, 0.0)


def _contour(direction: Direction, order: float, epsilon: float, log_delta: float) -> Inverse | None:
    """Pick lattice or plain contour; None if neither can be summed."""
    shared = _common_span(direction)
    if shared:
        lattice = on_lattice(direction, *shared, order, epsilon, log_delta)
        if lattice:
            return lattice
    where = place(direction, order, epsilon, log_delta)
    if not sampled_only(direction):
        return line_through(direction, where, epsilon, log_delta)
    few = FEW_NODES if sum(n for _, n in direction.parts) > FEW_USES else 3 * FEW_NODES
    if direction.rough(where.real) - where.real * epsilon - log_delta > 1.5 * LOST:  # the bulk would cost digits
        few = 0
    if few and _stuck(direction, where.real, few * where.step):
        few = 0
    return (
        line_through(direction, where, epsilon, log_delta, few)
        or split_through(direction, where, epsilon, log_delta)
        or line_through(direction, where, epsilon, log_delta)
    )


def _stuck(direction: Direction, real: float, height: float) -> bool:
    """Whether too few losses move at all up to this height for the transform to fall there, as far as a sketch tells.

    Only which line is tried first depends on it.
    """
    moving = [(loss.moving(real, height), n) for loss, n in direction.parts if isinstance(loss, SampledGaussianLoss)]
    return all(share < 0.2 for share, _ in moving) and math.fsum(n * share for share, n in moving) < LEAST_MOVING


def _probe(direction: Direction, order: float, epsilon: float, log_delta: float) -> Inverse | None:
    """Take the contour with the smallest probe that can be summed; None if even one unit of loss is too small."""
    probe = math.sqrt(GAP * max(epsilon, 1e-3) / (order + 1))
    where = place(direction, order, epsilon, log_delta)
    while probe <= 1:
        contour = with_probe(direction, where, epsilon, log_delta, probe)
        if contour is not None:
            return contour
        probe *= 2
    return None


def delta_interval(direction: Direction, epsilon: float) -> Ends:
    """Return (lower, upper) around delta at this epsilon >= 0, in one direction."""
    direction = simplify(direction)
    if len(direction.parts) == 1 and direction.parts[0][1] == 1:
        alone = direction.parts[0][0].alone_delta(epsilon)
        if alone is not None:
            return alone
    below = direction.below()
    if direction.pairless:
        upper = _renyi_delta(direction, epsilon)
        return min(delta_interval(below, epsilon)[0], upper), upper
    lower, upper = _paired_delta(direction, epsilon)
    if below is direction:
        return lower, upper
    if any(type(loss).renyi is not Loss.renyi for loss, _ in direction.parts):
        upper = min(upper, _renyi_delta(direction, epsilon))
    return min(delta_interval(below, epsilon)[0], upper), upper


def _renyi_delta(direction: Direction, epsilon: float) -> float:
    """Return the Renyi bound on delta."""
    if epsilon >= direction.top:
        return min(direction.infinity * (1 + SLACK), 1.0)
    found = minimize(lambda order: direction.renyi(order) - order * epsilon + log_conversion(order))[1]
    return min(direction.infinity * (1 + SLACK) + math.exp(min(found + 1e-12, 0.0)), 1.0)


def _paired_delta(direction: Direction, epsilon: float) -> Ends:
    """Answer from the pairs."""
    if not direction.parts:
        return 0.0, 0.0
    infinity = direction.infinity
    if epsilon >= direction.top:
        return abs(infinity) * (1 - SLACK), min(abs(infinity) * (1 + SLACK), 1.0)
    if _single(direction):
        return _single_delta(direction.parts[0][0], epsilon)
    order, log_bound = _chernoff(direction.trimmed(1e-290, USUAL_ORDER), epsilon)
    if log_bound < -740:
        return direction.certain * (1 - SLACK), max(direction.infinity * (1 + SLACK) + 1e-280, SMALLEST)
    direction = direction.trimmed(TRIM * 1e-3 * math.exp(min(log_bound, 0.0)), order)
    order, log_bound = _chernoff(direction, epsilon)
    if log_bound > -1:
        order = _raise(direction, order, epsilon)
    guess = min(log_bound - 3.0, -1.0)
    line, order = _sharpen(direction, order, epsilon, guess)
    contour = _contour(line, order, epsilon, guess)
    low, high = contour.delta(epsilon) if contour else (direction.certain * (1 - SLACK), 1.0)
    if high - low > 1e-6 * high:
        other: Inverse | None = convolve_at(direction, epsilon, math.exp(guess))
        if other is None and contour is None:
            other = _probe(direction, order, epsilon, guess)
        low, high = _meet((low, high), other.delta(epsilon) if other else (low, high))
    bound = direction.infinity + math.exp(min(log_bound, 0.0)) * (1 + 1e-9)
    high = max(min(high, bound, 1.0), SMALLEST)
    return min(low, high), high


def _blur(loss: Loss, epsilon: float) -> float:
    """Return how far rounding of epsilon and of the parameters can move a loss: four ulps of both."""
    return 4 * ULP * (epsilon + (loss.top if math.isfinite(loss.top) else epsilon))


def _single_delta(loss: Loss, epsilon: float) -> Ends:
    """Evaluate the formula a few ulps to either side of epsilon: near the largest loss it would cancel."""
    blur = _blur(loss, epsilon)
    high, low = np.abs(loss.delta(np.asarray([max(epsilon - blur, 0.0), epsilon + blur])))
    return float(low) * (1 - SLACK), max(min(float(high) * (1 + SLACK), 1.0), SMALLEST)


def _raise(direction: Direction, order: float, epsilon: float) -> float:
    """Lift the line where delta is near 1 and the saddle near 0: any order with a moderate exponent serves."""
    while order < 1e12 and direction.moment(2 * order) - 2 * order * epsilon < 1:
        order *= 2
    return order


def _chernoff(direction: Direction, epsilon: float) -> Ends:
    """Return the order that minimizes K(s) - s e + log_conversion(s), and the minimum."""
    order = chernoff_order(direction, epsilon)
    return order, direction.moment(order) - order * epsilon + log_conversion(order)


def _invert(loss: Loss, delta: float) -> Ends:
    """Solve loss.delta(e) = delta, then step outward to where both ends of its error interval agree.

    -d log(delta) / de decides how far the granted error reaches; an estimate serves, as each end is confirmed.
    """
    solved = loss.solve(delta)
    if solved is not None:
        here, rate = solved
        ends = _confirmed(loss, here, delta, rate)
        if ends is not None:
            return ends
    start = float(loss.delta(np.zeros(1))[0])
    if start * (1 + SLACK) <= delta:
        return 0.0, 0.0
    here = _scan(loss, delta)
    near, far = (float(value) for value in loss.delta(np.asarray([here, here * (1 + NUDGE)])))
    rate = math.log(max(near, 1e-320) / max(far, 1e-320)) / (NUDGE * max(here, 1e-300))
    ends = _confirmed(loss, here, delta, rate)
    if ends is not None:
        return ends

    def at(epsilon: float) -> float:
        return float(loss.delta(np.asarray([epsilon]))[0])

    width, blur = _reach(here, rate), _blur(loss, here)
    return max(_step(at, here, delta, -width) - blur, 0.0), min(_step(at, here, delta, width) + blur, loss.top)


def _reach(here: float, rate: float) -> float:
    """Return how far from the crossing the granted error reaches."""
    return max(2 * SLACK / rate if rate > 0 else 0.0, 4e-15 * max(here, 1e-12))


def _confirmed(loss: Loss, here: float, delta: float, rate: float) -> Ends | None:
    """Return both ends a little away from the crossing; None where the certified inequalities do not hold there."""
    width, blur = _reach(here, rate), _blur(loss, here)
    low, high = max(here - width, 0.0), here + width
    start, above, below = (float(value) for value in loss.delta(np.asarray([0.0, low, high])))
    if start * (1 + SLACK) <= delta:
        return 0.0, 0.0
    if not ((above * (1 - SLACK) >= delta or low == 0) and below * (1 + SLACK) <= delta):
        return None
    return max(low - blur, 0.0), min(high + blur, loss.top)


def _scan(loss: Loss, delta: float) -> float:
    """Find the crossing of a falling profile: by powers of two, ever finer grids, each evaluated at once, then secants.

    Nothing here is certified; whatever is returned, `_step` confirms both ends.
    """
    points = np.minimum(np.ldexp(1.0, POWERS), loss.top)
    for _ in range(10):
        excess = loss.delta(points) / delta - 1
        under = excess <= 0
        last = max(int(np.argmax(under)), 1) if under.any() else len(points) - 1
        low, high = float(points[last - 1]), float(points[last])
        at_low, at_high = float(excess[last - 1]), float(excess[last])
        if at_low < NEAR or high - low < 1e-14 * high:
            break
        points = np.linspace(low, high, GRID + 1)
    side = 0
    for _ in range(12):
        if not at_low > 0 > at_high:
            break
        middle = low + (high - low) * at_low / (at_low - at_high)
        value = float(loss.delta(np.asarray([middle]))[0]) / delta - 1
        if abs(value) < SLACK / 8:
            return middle
        # An end that stays twice is halved, so that the other side is reached as well (Illinois).
        if value > 0:
            low, at_low, at_high = middle, value, at_high * (0.5 if side > 0 else 1.0)
        else:
            high, at_high, at_low = middle, value, at_low * (0.5 if side < 0 else 1.0)
        side = 1 if value > 0 else -1
    return high


def _step(at: Callable[[float], float], here: float, delta: float, step: float) -> float:
    """Move from the crossing in the direction of the step until the certified inequality holds."""
    sign = 1 if step > 0 else -1
    for _ in range(80):
        point = max(here + step, 0.0)
        value = at(point) * (1 + sign * SLACK)
        if (value <= delta) if sign > 0 else (value >= delta or point == 0):
            return point
        step *= 2
    return math.inf if sign > 0 else 0.0
