"""Choose how a composition is computed, by criteria that are proved, and return certified intervals.

1. nothing composed, or one mechanism once: its own formula;
2. Gaussian parts are merged (mu^2 adds), small finite parts are multiplied out exactly;
3. all losses on one lattice: the contour over one period;
4. losses with few values whose sums fill two lists at most: the sum over one of them of the profile of the other,
   or of that of one subsampled Gaussian;
5. a proved decay of the log-moment function within a bounded number of nodes: the plain contour;
6. subsampled Gaussians of which small and large losses count alike: a contour for each layer of losses;
7. few subsampled Gaussians, or other samples whose profile is a formula: the convolution of laws above and below;
8. otherwise: the contour with the probe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.loss import SLACK, Direction, Loss, log_conversion
from discreet.privacy.numerics.losses.product import common_span, simplify
from discreet.privacy.numerics.losses.sampled import CutLoss
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.search import minimize, polish
from discreet.privacy.numerics.solvers.beside import beside
from discreet.privacy.numerics.solvers.contour import (
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
from discreet.privacy.numerics.solvers.convolution import convolve_at, profiled, solve
from discreet.privacy.numerics.solvers.edges import at_zero, near_top
from discreet.privacy.numerics.solvers.enumerated import UNDERFLOW, enumerated
from discreet.privacy.numerics.solvers.jumps import sampled_only, without_jumps
from discreet.privacy.numerics.solvers.lattice import on_lattice
from discreet.privacy.numerics.solvers.layers import layers_through
from discreet.privacy.numerics.solvers.leaning import leaning, leaning_epsilon
from discreet.privacy.numerics.solvers.single import SMALLEST, Ends, invert, meet, ordered, single_delta
from discreet.privacy.numerics.solvers.split import jump_guess, split_through

if TYPE_CHECKING:
    from collections.abc import Callable

TRIM = 1e-9
"""The share of delta that may be spent on sending the largest losses to infinity."""

SEARCHED = 1e12
"""The order up to which moments are tame while the order is searched for: edges are sharper than any in use."""

FARTHEST = 1e4
"""An order times epsilon; where a larger one is best, no loss reaches epsilon, and edges need not be as sharp."""

ENORMOUS = 100.0
"""From this order on it is checked whether sums for a search have lost their digits."""

LOOSE = 1e-3
"""An interval of epsilon that is wider, relatively, is worth a line for every step towards the answer."""

FEW_NODES = 1500
"""A plain contour with more nodes than this is not tried before small and large losses are taken apart."""

MOST_PROFILES = 64
"""With more uses the rounding of fast transforms costs more than what pairs on cells give away."""

FEW_USES = 3
"""With so few uses small losses are hardly smaller than large ones, and three times as many nodes are tried."""

LEAST_MOVING = 15.0
"""If most losses are nearly equal, the transform falls by about as many nats as there are others, at most."""

NEARLY = 12.0
"""How far above log delta the Renyi bound of a direction may lie that is still worth a sum."""

COARSER = 16.0
"""How many nats below delta the errors of that sum are pushed."""

PROBES = 6
"""How often a smaller probe is tried."""

COARSE_PROBE = 16.0
"""How much larger the probe of a line may be that serves for many answers."""

DESCENTS = 30
"""How often less is cut off as delta turns out to be smaller."""

ORDER_ROUNDS = 40
"""Rounds of golden section by which the best order is found to eight digits."""

ROUNDS = 6
"""How often layers are laid around a better guess."""


def epsilon_interval(direction: Direction, delta: float) -> Ends:
    """Return (lower, upper) around the smallest epsilon >= 0 with delta(epsilon) <= delta, in one direction."""
    direction = simplify(direction)
    lower, upper = _known_epsilon(direction, delta)
    return ordered(epsilon_interval(direction.below(), delta)[0], upper) if _apart(direction) else (lower, upper)


def _known_epsilon(direction: Direction, delta: float) -> Ends:
    """Return an interval for the pairs, or the profiles, that stand for the mechanisms."""
    if len(direction.parts) == 1 and direction.parts[0][1] == 1:
        alone = direction.parts[0][0].alone_epsilon(delta)
        if alone is not None:
            return alone
    below = direction.below()
    if direction.pairless:
        upper = _renyi_epsilon(direction, delta)
        return ordered(epsilon_interval(below, delta)[0], upper)
    known = (0.0, math.inf)
    if _few_profiles(direction) and direction.infinity < delta:
        known = solve(direction, _renyi_epsilon(direction, delta), delta, delta)
        if not _wide(*known):
            return known
    lower, upper = _paired_epsilon(direction, delta)
    if direction.attained or _reached(direction):  # the formula holds for both ends
        return lower, upper
    if math.isfinite(upper) and any(type(loss).renyi is not Loss.renyi for loss, _ in direction.parts):
        upper = min(upper, _renyi_epsilon(direction, delta))
    return meet(known, ordered(leaning_epsilon(direction, upper, lambda pair: epsilon_interval(pair, delta)), upper))


def _few_profiles(direction: Direction) -> bool:
    """Whether convolving the profiles themselves is worth a try before the pairs that stand for them are composed."""
    return profiled(direction) and not _single(direction) and sum(n for _, n in direction.parts) <= MOST_PROFILES


def _renyi_epsilon(direction: Direction, delta: float) -> float:
    """Return the Renyi bound on epsilon (improved conversion), never more than the largest loss."""
    infinity = direction.infinity
    if infinity > delta:
        return math.inf
    if infinity * (1 + SLACK) >= delta:
        return direction.top
    target = math.log(delta - infinity) - 1e-12
    found = _least(direction, lambda order: (direction.renyi(order) + log_conversion(order) - target) / order)
    return min(max(found * (1 + 1e-12), 0.0), direction.top)


def _least(direction: Direction, bound: Callable[[float], float]) -> float:
    """Return the least of a bound that holds for every order: to the last digits where there is no other bound."""
    # listed orders make corners, where no parabola fits
    return minimize(bound, rounds=ORDER_ROUNDS)[1] if direction.pairless else polish(bound, *minimize(bound))


def dominated(direction: Direction, epsilon: float, delta: float) -> bool:
    """Whether the Renyi bound alone proves delta(epsilon) <= delta, so that this direction need not be computed."""
    if epsilon >= direction.top:
        return direction.infinity * (1 + SLACK) <= delta
    room = delta - direction.infinity * (1 + SLACK)
    if room <= 0 or not math.isfinite(epsilon):
        return room > 0
    if _single(direction) and direction.attained:
        return single_delta(direction.parts[0][0], epsilon)[1] <= delta
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
    if infinity * (1 + SLACK) >= delta:
        lower, upper = at_zero(direction)
        return lower if infinity == 0 else _beside_leak(direction, delta), math.inf if infinity > delta else upper
    if _single(direction):
        return invert(direction.parts[0][0], delta)
    if _total_variation_within(direction, delta):
        return 0.0, 0.0
    near = near_top(direction, delta)
    if near is not None:
        return near
    room = delta - infinity
    # Half of delta is left to the largest losses while the order is looked for.
    trial = direction.trimmed(0.5 * room, SEARCHED)
    log_rest = math.log(delta - trial.infinity)
    order = search_order(trial, log_rest)
    guess = (trial.rough(order) + log_conversion(order) - log_rest) / order
    listed = _enumerated_epsilon(direction, order, guess, delta)
    if not _wide(*listed):
        return listed

    def bound() -> float:
        kept = direction.trimmed(0.5 * room, order)
        return renyi_bound(kept, order, math.log(delta - kept.infinity)) * (1 + 1e-12)

    if guess <= 0 and bound() <= 0:
        return 0.0, 0.0
    return meet(listed, _refine(direction.trimmed(TRIM * room, order), order, max(guess, 0.0), delta, bound))


def _enumerated_epsilon(direction: Direction, order: float, guess: float, delta: float) -> Ends:
    """Answer by enumeration; everything from 0 to infinity where sums are too many, or better had on one lattice."""
    near = common_span(direction) or delta < direction.infinity + UNDERFLOW
    listed = None if near else enumerated(direction, order) or beside(direction, order)
    if listed is None:
        return 0.0, math.inf
    return (0.0, 0.0) if listed.delta(0.0)[1] <= delta else listed.epsilon(delta, max(guess, 0.0))


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
        lower, upper = meet((lower, upper), ends)
        if not gained or not _wide(lower, upper):
            break
        if not math.isfinite(upper):
            upper = bound()
        order, near = _chernoff(direction, upper)[0], upper
    if _wide(lower, upper):  # small and large losses count alike
        lower, upper = meet((lower, upper), (0.0, bound()))
        lower, upper = _by_layers(direction, (lower, upper), delta, target)
    if _wide(lower, upper) and not profiled(direction):  # heavy tails: no decay, or no digits left
        lower, upper = meet((lower, upper), solve(direction, upper, math.exp(target), delta))
    if _wide(lower, upper) and contour is None:
        lower, upper = _by_probes(direction, order, (lower, upper), delta, target)
    if upper - lower > LOOSE * upper:
        one_by_one = _Pointwise(direction, order, direction.top, direction.certain)
        lower, upper = meet((lower, upper), one_by_one.epsilon(delta, upper))
    return lower, upper


def _by_probes(direction: Direction, order: float, ends: Ends, delta: float, target: float) -> Ends:
    """Solve with a probe; with smaller ones where a value of the loss lies so near that it blurs the answer."""
    size = 1.0
    for _ in range(PROBES):
        probe = _probe(direction, order, ends[1], target, size)
        if probe is None:  # the Renyi bound stands
            break
        last, ends = ends, meet(ends, probe.epsilon(delta, ends[1]))
        if not _wide(*ends) or ends[1] - ends[0] > 0.9 * (last[1] - last[0]):
            break
        size *= 0.25
    return ends


def _by_layers(direction: Direction, ends: Ends, delta: float, target: float) -> Ends:
    """Solve with a line for each layer of losses, a few times: layers are laid around a guess of epsilon."""
    for _ in range(ROUNDS):
        near = ends[1] * (1 + 1e-4)
        layers = layers_through(direction, near, target)
        if layers is None:
            break
        last, ends = ends, meet(ends, layers.epsilon(delta, near))
        if not _wide(*ends) or ends[1] - ends[0] > 0.9 * (last[1] - last[0]):
            break
    return ends


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


def formula_alone(direction: Direction) -> bool:
    """Whether both `epsilon_interval` and `delta_interval` answer by one formula, so that one inverts the other."""
    return _single(direction) or (math.isinf(direction.top) and _single(simplify(direction)))


def _single(direction: Direction) -> bool:
    """Whether one mechanism with a formula of its own runs once."""
    return len(direction.parts) == 1 and direction.parts[0][1] == 1 and direction.parts[0][0].closed


def _reached(direction: Direction) -> bool:
    """Whether one mechanism runs once whose profile some mechanism with its promise has at every epsilon."""
    loss = direction.parts[0][0] if _single(direction) else None
    return loss is not None and (loss.leans or (isinstance(loss, CutLoss) and loss.reached))


def _apart(direction: Direction) -> bool:
    """Whether several uses reach less than the composition of what single uses do: lower ends come from elsewhere."""
    return not _single(direction) and any(loss.apart for loss, _ in direction.parts)


def _beside_leak(direction: Direction, delta: float) -> float:
    """Return a lower end where delta hardly differs from the mass at infinity, or is below it.

    A delta that may exceed that mass by rounding alone leaves room for rare losses: epsilon at a larger delta is below.
    """
    if direction.certain * (1 - SLACK) > delta:
        return math.inf
    infinity = direction.infinity
    more = infinity * (1 + 4 * SLACK)
    return _paired_epsilon(direction, more)[0] if infinity * (1 + SLACK) < more < 1 else 0.0


def _contour(direction: Direction, order: float, epsilon: float, log_delta: float) -> Inverse | None:
    """Pick lattice or plain contour; None if neither can be summed."""
    shared = common_span(direction)
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


def _probe(direction: Direction, order: float, epsilon: float, log_delta: float, size: float = 1.0) -> Inverse | None:
    """Take the contour with the smallest probe that can be summed; None if even one unit of loss is too small."""
    probe = size * math.sqrt(GAP * max(epsilon, 1e-3) / (order + 1))
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
    known, upper = _known_delta(direction, epsilon)
    if _apart(direction):
        return ordered(
            delta_interval(direction.below(), epsilon)[0], known[1] if upper is None else min(known[1], upper)
        )
    if upper is None:
        return known
    return meet(known, ordered(delta_interval(leaning(direction, epsilon), epsilon)[0], upper))


def delta_upper(direction: Direction, epsilon: float) -> float:
    """Return the upper end of `delta_interval` without looking for a lower one."""
    known, upper = _known_delta(simplify(direction), epsilon)
    return known[1] if upper is None else min(known[1], upper)


def _known_delta(direction: Direction, epsilon: float) -> tuple[Ends, float | None]:
    """Return an interval, and an upper end for which a lower one is still to be found; None if that is all."""
    if len(direction.parts) == 1 and direction.parts[0][1] == 1:
        alone = direction.parts[0][0].alone_delta(epsilon)
        if alone is not None:
            return alone, None
    known = (0.0, 1.0)
    if direction.pairless:
        return known, _renyi_delta(direction, epsilon)
    if _few_profiles(direction) and (bound := _renyi_delta(direction, epsilon)) > SMALLEST:  # not beyond all losses
        made = convolve_at(direction, epsilon, bound)
        known = made.delta(epsilon) if made else known
        if known[1] - known[0] <= 1e-6 * known[1]:
            return known, None
    lower, upper = _paired_delta(direction, epsilon)
    if direction.attained or _reached(direction):
        return (lower, upper), None
    if any(type(loss).renyi is not Loss.renyi for loss, _ in direction.parts):
        upper = min(upper, _renyi_delta(direction, epsilon))
    return known, upper


def _renyi_delta(direction: Direction, epsilon: float) -> float:
    """Return the Renyi bound on delta."""
    if epsilon >= direction.top:
        return min(direction.infinity * (1 + SLACK), 1.0)
    found = _least(direction, lambda order: direction.renyi(order) - order * epsilon + log_conversion(order))
    return min(direction.infinity * (1 + SLACK) + math.exp(min(found + 1e-12, 0.0)), 1.0)


def _paired_delta(direction: Direction, epsilon: float) -> Ends:
    """Answer from the pairs."""
    if epsilon >= direction.top:
        return direction.certain * (1 - SLACK), min(direction.infinity * (1 + SLACK), 1.0)
    if _single(direction):
        return single_delta(direction.parts[0][0], epsilon)
    listed = None if common_span(direction) else enumerated(direction) or beside(direction)
    known = listed.delta(epsilon) if listed else (0.0, 1.0)
    if known[1] - known[0] <= 1e-6 * known[1]:
        return known
    whole = direction
    direction, order, log_bound = _aimed_at(whole, epsilon)
    if log_bound < -740:
        return whole.certain * (1 - SLACK), max(whole.infinity * (1 + SLACK) + 1e-280, SMALLEST)
    bound = direction.infinity + math.exp(min(log_bound, 0.0)) * (1 + 1e-9)
    guess = min(log_bound - 3.0, -1.0)
    line, order = _sharpen(direction, order, epsilon, guess)
    contour = _contour(line, order, epsilon, guess)
    low, high = contour.delta(epsilon) if contour else (direction.certain * (1 - SLACK), 1.0)
    if high - low > 1e-6 * high:
        low, high = _delta_by_layers(whole, meet((low, high), (0.0, bound)), epsilon, order)
    if high - low > 1e-6 * high:
        other: Inverse | None = None if profiled(direction) else convolve_at(direction, epsilon, math.exp(guess))
        if other is None and contour is None:
            other = _probe(direction, order, epsilon, guess)
        low, high = meet((low, high), other.delta(epsilon) if other else (low, high))
    return meet(known, ordered(low, max(min(high, bound, 1.0), SMALLEST)))


def line_near(direction: Direction, epsilon: float) -> Inverse | None:
    """Return a contour that is certified everywhere and narrow near this epsilon; None where no line is to be had."""
    direction = simplify(direction)
    if direction.pairless or _single(direction) or not direction.attained or epsilon >= direction.top:
        return None
    direction, order, log_bound = _aimed_at(direction, epsilon)
    if not log_bound > -640:
        return None
    guess = min(log_bound - 3.0, -1.0)
    return _contour(direction, order, epsilon, guess) or _probe(direction, order, epsilon, guess, COARSE_PROBE)


def _aimed_at(whole: Direction, epsilon: float) -> tuple[Direction, float, float]:
    """Return what is left when a negligible share of delta was sent to infinity, the order for it, and a bound."""
    direction, order, log_bound = _trimmed_at(whole, epsilon, 1e-290)
    if log_bound < -740:
        return direction, order, log_bound
    for _ in range(DESCENTS):
        log_mass, last = min(log_bound, 0.0) + math.log(TRIM * 1e-3), log_bound
        direction, order, log_bound = _trimmed_at(whole, epsilon, math.exp(log_mass))
        log_bound = max(log_bound, log_mass)  # what is cut off counts as well
        if not -640 < log_bound < last - 1:
            break
    return direction, _raise(direction, order, epsilon) if log_bound > -1 else order, log_bound


def _trimmed_at(direction: Direction, epsilon: float, mass: float) -> tuple[Direction, float, float]:
    """Send at most this mass of the largest losses to infinity; also return the order and the minimum of `_chernoff`.

    How soft the edges are depends on the order, so it is looked for with the sharpest ones first.
    """
    trial = direction.trimmed(mass, SEARCHED)
    if trial is direction:
        return (direction, *_chernoff(direction, epsilon))
    order = min(chernoff_order(trial, epsilon), FARTHEST / max(epsilon, 1e-300))
    kept = direction.trimmed(mass, order)
    return (kept, *_chernoff(kept, epsilon, order))


def _delta_by_layers(whole: Direction, ends: Ends, epsilon: float, order: float) -> Ends:
    """Integrate each layer of losses by itself, a few times: what may be cut off depends on delta."""
    for _ in range(ROUNDS):
        size = max(ends[1] - whole.infinity, 1e-290)
        layers = layers_through(whole.trimmed(TRIM * size, order), epsilon, math.log(size))
        if layers is None:
            break
        last, ends = ends, meet(ends, layers.delta(epsilon))
        if ends[1] - ends[0] <= 1e-6 * ends[1] or ends[1] - ends[0] > 0.9 * (last[1] - last[0]):
            break
    return ends


def _raise(direction: Direction, order: float, epsilon: float) -> float:
    """Lift the line where delta is near 1 and the saddle near 0: any order with a moderate exponent serves."""
    while order < 1e12 and direction.moment(2 * order) - 2 * order * epsilon < 1:
        order *= 2
    return order


def _chernoff(direction: Direction, epsilon: float, start: float | None = None) -> Ends:
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
        found = certified(order)
        best = (order, found) if found < best[1] else best
    return best
