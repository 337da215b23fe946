"""Ask what is known of a composition in turn, and return intervals that contain the truth.

1. one mechanism, once: what it says of itself;
2. Gaussian parts are merged (mu^2 adds), small finite parts are multiplied out exactly;
3. bounds on Renyi divergences alone: the improved conversion;
4. few samples whose profile is a formula: the convolution of the profiles;
5. otherwise the pairs, by the strategies of `ladder`.

Epsilon and delta are the same question, asked of the same profile; see `questions`. Where the pairs only dominate the
mechanisms, lower ends come from what these are known to reach.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.loss import SLACK, Direction, Loss, log_conversion
from discreet.privacy.numerics.losses.product import simplify
from discreet.privacy.numerics.losses.sampled import CutLoss
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.solvers.contour import Where, bend_height, chernoff_order, line_through
from discreet.privacy.numerics.solvers.convolution import profiled
from discreet.privacy.numerics.solvers.ladder import FEW_NODES, climb
from discreet.privacy.numerics.solvers.questions import DeltaAt, EpsilonAt, single
from discreet.privacy.numerics.solvers.single import meet, ordered, single_delta

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Reals
    from discreet.privacy.numerics.solvers.questions import Question
    from discreet.privacy.numerics.solvers.single import Ends

MOST_PROFILES = 64
"""With more uses the rounding of fast transforms costs more than what pairs on cells give away."""

NEARLY = 12.0
"""How far above log delta the Renyi bound of a direction may lie that is still worth a sum."""

COARSER = 16.0
"""How many nats below delta the errors of that sum are pushed."""


def epsilon_interval(direction: Direction, delta: float) -> Ends:
    """Return (lower, upper) around the smallest epsilon >= 0 with delta(epsilon) <= delta, in one direction."""
    return _interval(direction, EpsilonAt(delta))


def delta_interval(direction: Direction, epsilon: float) -> Ends:
    """Return (lower, upper) around delta at this epsilon >= 0, in one direction."""
    return _interval(direction, DeltaAt(epsilon))


def delta_upper(direction: Direction, epsilon: float) -> float:
    """Return the upper end of `delta_interval` without looking for a lower one."""
    known, upper = _known(simplify(direction), DeltaAt(epsilon))
    return known[1] if upper is None else min(known[1], upper)


def upper_profile(loss: Loss, epsilon: Reals) -> Reals:
    """Return the upper ends of delta at many epsilons, for a loss whose profile is no formula."""
    whole = Direction(((loss, 1),))
    return np.asarray([delta_interval(whole, float(e))[1] for e in np.ravel(epsilon)]).reshape(np.shape(epsilon))


def _interval(direction: Direction, question: Question) -> Ends:
    """Return both ends."""
    direction = simplify(direction)
    known, upper = _known(direction, question)
    if _apart(direction):
        most = known[1] if upper is None else min(known[1], upper)
        return ordered(_interval(direction.below(), question)[0], most)
    if upper is None:
        return known
    return meet(known, ordered(question.lower(direction, upper, lambda pair: _interval(pair, question)), upper))


def _known(direction: Direction, question: Question) -> tuple[Ends, float | None]:
    """Return an interval, and an upper end for which a lower one is still to be found; None if that is all."""
    if len(direction.parts) == 1 and direction.parts[0][1] == 1:
        choices = [_interval(choice, question) for choice in direction.parts[0][0].worst_of]
        if choices:
            return (max(ends[0] for ends in choices), max(ends[1] for ends in choices)), None
    known = question.nothing
    if direction.pairless:
        return known, question.renyi(direction)
    if _few_profiles(direction):
        known = question.of_profiles(direction)
        if not question.wide(known):
            return known, None
    ends = climb(direction, question)
    if direction.attained or _reached(direction):  # the formula holds for both ends
        return ends, None
    upper = ends[1]
    if math.isfinite(upper) and any(type(loss).renyi is not Loss.renyi for loss, _ in direction.parts):
        upper = min(upper, question.renyi(direction))
    return known, upper


def _few_profiles(direction: Direction) -> bool:
    """Whether convolving the profiles themselves is worth a try before the pairs that stand for them are composed."""
    return profiled(direction) and not single(direction) and sum(n for _, n in direction.parts) <= MOST_PROFILES


def _apart(direction: Direction) -> bool:
    """Whether several uses reach less than the composition of what single uses do: lower ends come from elsewhere."""
    return not single(direction) and any(loss.apart for loss, _ in direction.parts)


def _reached(direction: Direction) -> bool:
    """Whether one mechanism runs once whose profile some mechanism with its promise has at every epsilon."""
    loss = direction.parts[0][0] if single(direction) else None
    return loss is not None and (loss.leans or (isinstance(loss, CutLoss) and loss.reached))


def formula_alone(direction: Direction) -> bool:
    """Whether both `epsilon_interval` and `delta_interval` answer by one formula, so that one inverts the other."""
    return single(direction) or (math.isinf(direction.top) and single(simplify(direction)))


def dominated(direction: Direction, epsilon: float, delta: float) -> bool:
    """Whether the Renyi bound alone proves delta(epsilon) <= delta, so that this direction need not be computed."""
    if epsilon >= direction.top:
        return direction.infinity * (1 + SLACK) <= delta
    room = delta - direction.infinity * (1 + SLACK)
    if room <= 0 or not math.isfinite(epsilon):
        return room > 0
    if single(direction) and direction.attained:
        return single_delta(direction.parts[0][0], epsilon)[1] <= delta
    target = math.log(room)
    order = 1.0 / max(epsilon, 1e-3)
    best = math.inf
    for _ in range(24):
        exponent = direction.rough(order) - order * epsilon + log_conversion(order)
        if exponent < target - 1e-2:
            return direction.renyi(order) - order * epsilon + log_conversion(order) < target - 1e-12
        if exponent > best:
            return best < target + NEARLY and _summed_within(direction, 0.5 * order, epsilon, delta)
        best = exponent
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
