"""The strategies that sum a composition, one after the other until the interval is narrow; the same for both questions.

1. few values: the sum over one list of the profile of the other, or of that of one subsampled Gaussian;
2. what is negligible is sent to infinity, so that moments exist;
3. a line: the contour over one period of a lattice, the plain contour where a decay is proved within a bounded number
   of nodes, or that of the compositions with a large loss;
4. the Renyi bound, certified;
5. layers: subsampled Gaussians of which small and large losses count alike, a contour for each layer of losses;
6. convolution: few subsampled Gaussians, or samples of which a table is known, by laws above and below;
7. a probe: the contour with a tiny Gaussian on top, where no decay could be proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.privacy.numerics.losses.product import common_span, simplify
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.solvers.beside import beside
from discreet.privacy.numerics.solvers.contour import GAP, LOST, chernoff_order, line_through, place, with_probe
from discreet.privacy.numerics.solvers.convolution import profiled
from discreet.privacy.numerics.solvers.enumerated import UNDERFLOW, enumerated
from discreet.privacy.numerics.solvers.jumps import sampled_only, without_jumps
from discreet.privacy.numerics.solvers.lattice import on_lattice
from discreet.privacy.numerics.solvers.layers import layers_through
from discreet.privacy.numerics.solvers.questions import aimed_at, single
from discreet.privacy.numerics.solvers.split import split_through

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.losses.loss import Direction
    from discreet.privacy.numerics.solvers.contour import Inverse
    from discreet.privacy.numerics.solvers.questions import Aim, Question
    from discreet.privacy.numerics.solvers.single import Ends

FEW_NODES = 1500
"""A plain contour with more nodes than this is not tried before small and large losses are taken apart."""

FEW_USES = 3
"""With so few uses small losses are hardly smaller than large ones, and three times as many nodes are tried."""

LEAST_MOVING = 15.0
"""If most losses are nearly equal, the transform falls by about as many nats as there are others, at most."""

LINES = 3
"""How often a better line is drawn."""

ROUNDS = 6
"""How often layers are laid around a better guess."""

FAINTEST = -640.0
"""The logarithm of a delta below which no line serves for many answers."""

COARSE_PROBE = 16.0
"""How much larger the probe of a line may be that serves for many answers."""


@dataclass(frozen=True, slots=True)
class Solver:
    """One way to a narrow interval."""

    applies: Callable[[Aim], bool]
    """Whether it is worth a try."""
    solve: Callable[[Aim, Question], Aim]
    """Return the aim with narrower ends, or as it was."""


def climb(direction: Direction, question: Question) -> Ends:
    """Answer from the pairs."""
    edge = question.edge(direction, climb)
    if edge is not None:
        return edge
    aim = question.sketch(direction)
    for strategy in STRATEGIES:
        if strategy.applies(aim):
            aim = strategy.solve(aim, question)
        if aim.settled or not question.wide(aim.ends):
            break
    return aim.ends


def _enumerable(aim: Aim) -> bool:
    """Whether sums may be listed: unless they are better had on one lattice, or delta is too small."""
    return not common_span(aim.direction) and aim.log_delta > math.log(UNDERFLOW)


def _enumerate(aim: Aim, question: Question) -> Aim:
    """List the sums of losses with few values."""
    profile = enumerated(aim.direction, aim.order) or beside(aim.direction, aim.order)
    return aim if profile is None else aim.met(question.read(profile, aim.epsilon))


def _draw_lines(aim: Aim, question: Question) -> Aim:
    """Integrate along a line through the order; where that was far from the saddle, along a better one."""
    for _ in range(LINES):
        line, order = _sharpen(aim.direction, aim.order, aim.epsilon, aim.log_delta)
        profile = _contour(line, order, aim.epsilon, aim.log_delta)
        aim = replace(aim, order=order, lined=profile is not None)
        if profile is None:
            break
        ends = question.read(profile, aim.epsilon)
        aim = aim.met(ends)
        better = question.again(aim, ends)
        if better is None:
            break
        aim = better
    return aim


def _lay_layers(aim: Aim, question: Question) -> Aim:
    """Integrate each layer of losses by itself, a few times: where they lie depends on the answer."""
    for _ in range(ROUNDS):
        at = question.layered(aim)
        profile = layers_through(at.direction, at.epsilon, at.log_delta)
        if profile is None:
            break
        last, aim = aim.ends, aim.met(question.read(profile, at.epsilon))
        if not question.wide(aim.ends) or _stalled(last, aim.ends):
            break
    return aim


def _probe_lines(aim: Aim, question: Question) -> Aim:
    """Put a probe on a line; smaller ones where a value of the loss lies so near that it blurs the answer."""
    size = 1.0
    for _ in range(question.probes):
        point = question.point(aim)
        profile = _probe(aim.direction, aim.order, point, aim.log_delta, size)
        if profile is None:
            break
        last, aim = aim.ends, aim.met(question.read(profile, point))
        if not question.wide(aim.ends) or _stalled(last, aim.ends):
            break
        size *= 0.25
    return aim


def _always(aim: Aim) -> bool:
    """Whether it applies is seen when it is tried."""
    del aim
    return True


STRATEGIES = (
    Solver(_enumerable, _enumerate),
    Solver(_always, lambda aim, question: question.trimmed(aim)),
    Solver(_always, _draw_lines),
    Solver(_always, lambda aim, question: aim.met((0.0, question.bound(aim)))),
    Solver(_always, _lay_layers),
    Solver(lambda aim: not profiled(aim.direction), lambda aim, question: aim.met(question.convolved(aim))),
    Solver(lambda aim: not aim.lined, _probe_lines),
)


def _stalled(before: Ends, after: Ends) -> bool:
    """Whether an interval hardly became narrower."""
    return after[1] - after[0] > 0.9 * (before[1] - before[0])


def line_near(direction: Direction, epsilon: float) -> Inverse | None:
    """Return a contour that is certified everywhere and narrow near this epsilon; None where no line is to be had."""
    direction = simplify(direction)
    if direction.pairless or single(direction) or not direction.attained or epsilon >= direction.top:
        return None
    direction, order, log_bound = aimed_at(direction, epsilon)
    if not log_bound > FAINTEST:
        return None
    guess = min(log_bound - 3.0, -1.0)
    return _contour(direction, order, epsilon, guess) or _probe(direction, order, epsilon, guess, COARSE_PROBE)


def _sharpen(direction: Direction, order: float, epsilon: float, target: float) -> tuple[Direction, float]:
    """Take jumps out of the finite part where that helps, and look for the order again."""
    if not direction.infinity > direction.certain or not sampled_only(direction):
        return direction, order
    cut = without_jumps(direction, epsilon, math.exp(target), order)
    better = chernoff_order(cut, epsilon, order)
    if cut is direction or better < 1.3 * order:  # an edge that is sharper than it has to be does no harm
        return cut, better
    return without_jumps(direction, epsilon, math.exp(target), better), better


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
