r"""Losses in layers, each along a line of its own.

As in `split`, a soft edge divides the law of each use, M = S + R, and the compositions of n uses into S^n, those of
small losses alone, and M^n - S^n, those with a large one. Where small losses sum to epsilon about as often as a large
one exceeds it, neither is negligible, and no line serves both: the moments of large losses explode at orders where
those of small ones have their saddle. With several edges, one above the other,

    M_0 below the lowest edge, ..., M_m = M below none,    M^n = M_0^n + sum over k of (M_k^n - M_(k-1)^n),

and what belongs to a k are the compositions whose largest loss lies in the k-th layer. Each is the transform of a
nonnegative measure of mass at most 1 with moments of its own, at most n R_k M_k^(n - 1) for R_k = M_k - M_(k-1), so
each is integrated along its own line, with aliases and cut-offs bounded by its own moments, and the intervals add up.
Other mechanisms may be composed on top: their transform multiplies that of every layer.
Proof: docs/proofs/privacy/sampled.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.loss import ULP, Direction, log_conversion, log_conversions
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.losses.sampled_pair import SOFTEST
from discreet.privacy.numerics.search import minimize_at_once
from discreet.privacy.numerics.solvers.contour import (
    LOG_TOLERANCE,
    Contour,
    Inverse,
    integrand,
    line_through,
    nodes_up,
    place,
)
from discreet.privacy.numerics.solvers.split import decay, difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.privacy.numerics.losses.loss import Loss, Reals
    from discreet.privacy.numerics.solvers.split import Uses

LEVELS = tuple(0.8**k for k in range(40))
"""Shares of epsilon at which the lowest edge may lie."""

THICKNESS = 1.7
"""How much higher each edge is than the one below it."""

USUAL = 60.0
"""Orders of lines times the losses in their layers, about: edges should be sharp enough for these."""

WIDTH = 0.7 / math.sqrt(USUAL)
"""The widths of the edges in units of the root of sigma; see `SampledGaussianLoss.trimmed`."""

NEARER = 0.8
"""Layers are negligible if they are so at this share of the epsilon that one sets out from."""

SPENT = 2.0
"""How far above its least value, or above delta, the exponent of a layer may be."""

LOWEST = 1.0
"""Edges lie above this z."""

SHARPEST = 2e-3
"""Sharper edges take too many nodes."""

FARTHEST = 1e6
"""Where orders times epsilon are larger, nothing in the layer reaches epsilon."""

MOST_LAYERS = 24

MOST_NODES = 1 << 14
"""The largest number of nodes of one line."""

FIRST_NODES = 30
"""Nodes with which the search for their number begins."""

ROOM = 1.6
"""The moments of the lowest layer should be moderate up to this times the order of its line."""


@dataclass(frozen=True)
class Layers(Inverse):
    """The profiles of all layers; the first one, of the largest losses, knows what is at infinity."""

    contours: tuple[Contour, ...]
    spare: tuple[tuple[float, float], ...]
    """(r, v) of layers that are negligible: each adds at most exp(v - r e)."""
    real: float
    top: float
    certain: float
    valid: float

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Add the intervals."""
        intervals = [contour.delta(epsilon) for contour in self.contours]
        rest = [
            math.exp(min(value - order * epsilon + 1e-9 + 4 * ULP * (order * epsilon + abs(value)), 1.0))
            for order, value in self.spare
        ]
        low, high = math.fsum(ends[0] for ends in intervals), math.fsum((*(ends[1] for ends in intervals), *rest))
        return min(low * (1 - 2.0**-50), 1.0), min(high * (1 + 2.0**-50), 1.0)


@dataclass(frozen=True)
class _Layer:
    """The real moments of the compositions whose largest loss lies in one layer."""

    uses: tuple[tuple[SampledGaussianLoss, int], ...]
    rare: tuple[tuple[SampledGaussianLoss, int], ...]
    """The losses in the layer; none where it is the lowest, which holds all below its edge."""
    others: Direction
    """What else is composed."""
    top: float = math.inf

    def roughs(self, orders: Reals) -> Reals:
        """Return the logarithms at many orders well enough for a search."""
        whole = np.array([loss.roughs(orders) for loss, _ in self.uses])
        rare = np.array([loss.roughs(orders) for loss, _ in self.rare])
        bounds = [
            self._bound(list(moments), list(rare[:, i])) if len(rare) else self._bound(list(moments), [])
            for i, moments in enumerate(whole.T)
        ]
        return np.asarray(bounds) + self.others.roughs(orders)

    def rough(self, order: float) -> float:
        """Return the logarithm well enough for a search."""
        return float(self.roughs(np.array([order]))[0])

    def moment(self, order: float) -> float:
        """Return the logarithm, rounded up."""
        whole = [loss.moment(order) for loss, _ in self.uses]
        return self._bound(whole, [loss.moment(order) for loss, _ in self.rare]) + self.others.moment(order) + 1e-9

    def _bound(self, whole: list[float], rare: list[float]) -> float:
        """Return the logarithm of n R M^(n - 1), summed over the kinds of uses, and at most that of M^n."""
        total = math.fsum(n * value for (_, n), value in zip(self.uses, whole, strict=True))
        if not rare or not math.isfinite(total):
            return total
        shares = [math.log(n) + r - m for (_, n), r, m in zip(self.uses, rare, whole, strict=True)]
        return total + min(float(np.logaddexp.reduce(shares)), 0.0)


def layers_through(direction: Direction, epsilon: float, log_delta: float) -> Layers | None:
    """Build one line for each layer, for answers near epsilon and delta; None where some layer has none."""
    direction = Direction(tuple((_softened(loss), n) for loss, n in direction.parts))
    parts = direction.parts
    uses = [(loss, n) for loss, n in parts if isinstance(loss, SampledGaussianLoss) and not loss.add]
    others = Direction(tuple((loss, n) for loss, n in parts if not isinstance(loss, SampledGaussianLoss) or loss.add))
    if not uses or not epsilon > 0:
        return None

    def serves(level: float) -> bool:
        small = _Layer(tuple(_below(uses, level * epsilon)), (), others)
        order = _order(small, epsilon)
        far = ROOM * order
        return _negligible(small, order, epsilon, log_delta) or (
            small.rough(far) - far * epsilon <= -(log_delta + LOG_TOLERANCE) * (ROOM - 1)
        )

    lowest = next(filter(serves, (level for level in LEVELS if _large(uses, level * epsilon))), None)
    if lowest is None:
        return None
    contours: list[Contour] = []
    spare: list[tuple[float, float]] = []
    for whole, rare, top in _layers(uses, lowest * epsilon):
        moments = _Layer(tuple(whole), tuple(rare), others)
        order = _order(moments, epsilon)
        if contours and _negligible(moments, order, epsilon, log_delta):
            spare.append((order, moments.moment(order)))
            continue
        if order * epsilon > FARTHEST:
            return None
        order = _raise(moments, order, USUAL / -math.expm1(-top), epsilon, log_delta)
        contour = _line(direction, moments, order, epsilon, log_delta)
        if contour is None:
            return None
        contours.append(_bare(contour) if contours else contour)
    first = contours[0]
    return Layers(tuple(contours), tuple(spare), first.real, first.top, first.certain, first.valid)


def _layers(uses: Uses, lowest: float) -> Iterator[tuple[Uses, Uses, float]]:
    """Yield what lies below each edge, from the top, the part of it above the next, if there is one, and the edge."""
    edges = [lowest]
    highest = max(float(loss.ratio(np.asarray([loss.cut]))[0]) if loss.cut < math.inf else 0.0 for loss, _ in uses)
    while edges[-1] * THICKNESS**1.5 < highest and len(edges) < MOST_LAYERS:
        edges.append(edges[-1] * THICKNESS)
    whole, top = uses, max(highest, edges[-1])
    for edge in reversed(edges):
        below = _below(whole, edge)
        pairs = zip(whole, below, strict=True)
        yield whole, [(replace(loss, start=low.cut, rise=low.soft), n) for (loss, n), (low, _) in pairs], top
        whole, top = below, edge
    yield whole, [], top


def _below(uses: Uses, level: float) -> Uses:
    """Return the losses below a level."""
    return [
        (replace(loss, cut=loss.z_of(level), soft=_width(loss.sigma, level), higher=loss.ends), n) for loss, n in uses
    ]


def _width(sigma: float, level: float) -> float:
    """Choose how soft an edge at this level is.

    Beyond it the tilted integrand falls like exp(a L(z) - u^2 / (2 width^2)), u = z - edge, and L' = p / sigma with
    p <= p_0 exp(u / sigma), p <= 1. With a p_0 = USUAL its peak lies less than 0.7 beyond the edge if
    width <= 0.7 sqrt(sigma / USUAL), and no second one rises where p nears 1 if a width^2 < sigma^2 log(1 / p_0).
    """
    share = max(-math.expm1(-level), 1e-300)  # at level 0 the sharpest edge serves
    width = WIDTH * min(math.sqrt(sigma), sigma * math.sqrt(share * max(-math.log(share), 1.0)))
    return min(SOFTEST, max(width, SHARPEST))


def _softened(loss: Loss) -> Loss:
    """Trim the same mass by an edge that is as soft as the others: layers do without sharp ones."""
    if not isinstance(loss, SampledGaussianLoss) or math.isinf(loss.cut) or not loss.infinity > 0:
        return loss
    level = float(loss.ratio(np.asarray([loss.cut]))[0])
    return replace(loss, cut=math.inf).edged(loss.infinity, _width(loss.sigma, level))


def _large(uses: Uses, level: float) -> bool:
    """Whether a loss of this level is a large one: below it lies what a use costs most of the time."""
    return all(loss.z_of(level) >= LOWEST for loss, _ in uses)


def _bare(contour: Contour) -> Contour:
    """Leave out what lies beyond the edges: it is counted with the largest losses."""
    return replace(contour, infinity=0.0, certain=0.0, missing=0.0, valid=-math.inf, doubt=0.0)


def _exponent(moments: _Layer, order: float, epsilon: float) -> float:
    """Return the logarithm of a layer's Renyi bound, roughly."""
    return moments.rough(order) - order * epsilon + log_conversion(order)


def _order(moments: _Layer, epsilon: float) -> float:
    """Return the order at which a layer's Renyi bound is least."""
    return minimize_at_once(lambda orders: moments.roughs(orders) - orders * epsilon + log_conversions(orders))


def _negligible(moments: _Layer, order: float, epsilon: float, log_delta: float) -> bool:
    """Whether a layer adds nothing that counts, even at a somewhat smaller epsilon."""
    return moments.rough(order) - NEARER * order * epsilon < log_delta + LOG_TOLERANCE - 1


def _raise(moments: _Layer, order: float, highest: float, epsilon: float, log_delta: float) -> float:
    """Lift a line as long as the exponent stays moderate: higher lines have shorter periods."""
    most = max(_exponent(moments, order, epsilon), log_delta) + SPENT
    while order < highest and _exponent(moments, 1.25 * order, epsilon) < most:
        order *= 1.25
    return order


def _line(direction: Direction, moments: _Layer, order: float, epsilon: float, log_delta: float) -> Contour | None:
    """Integrate one layer along the line of this order; None where that takes too many nodes."""
    # Several layers add up, so each is cut off early.
    where = replace(place(moments, order, epsilon, log_delta), tolerance=LOG_TOLERANCE)
    whole, rare, others = list(moments.uses), list(moments.rare), moments.others
    if not rare:
        return line_through(Direction((*whole, *others.parts)), where, epsilon, log_delta, MOST_NODES)

    def bound(height: float) -> float:
        return decay(whole, rare, where.real, height, -math.inf) + others.tail(where.real, height)

    # What the bend of K says does not hold for the difference: a few nodes are tried first.
    nodes = nodes_up(bound, replace(where, start=FIRST_NODES * where.step), epsilon, log_delta, MOST_NODES)
    if nodes is None:
        return None
    heights, cut = nodes
    last = float(heights[-1])
    if not all(loss.affordable(where.real, last) for loss, _ in (*whole, *rare, *others.parts)):
        return None
    values, errors = difference(whole, rare, where.real, heights)
    more, blurs = others.line(where.real, heights)
    errors = errors + blurs + 2 * ULP * np.abs(more)
    if not np.isfinite(values).all():  # nothing is left of the layer in floating point
        return None
    return integrand(direction, where, heights, (values + more, errors), cut)
