"""A short composition as one loss: Gaussian parts merged, few finite parts multiplied out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.privacy.numerics.losses.finite import FiniteLoss, combine
from discreet.privacy.numerics.losses.gaussian import GaussianLoss
from discreet.privacy.numerics.losses.loss import Direction

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Loss

MOST_ATOMS = 1 << 13
"""Finite parts are multiplied out up to this many values."""

MOST_VALUES = 1 << 10
"""Products are kept as lists of values up to this length."""


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
    if not all(loss.attained for loss, _ in finite):  # the product would forget that it holds from above only
        return parts
    if not finite or len(finite) < len(parts) or common_span(Direction(tuple(parts))):
        return parts
    if math.fsum(n * math.log(max(len(loss.values), 1)) for loss, n in finite) > math.log(MOST_ATOMS):
        return parts
    product = finite[0][0]
    counts = [(finite[0][0], finite[0][1] - 1), *finite[1:]]
    for loss, n in counts:
        for _ in range(n):
            product = combine(product, loss)
    return [(product, 1)]


def common_span(direction: Direction) -> tuple[float, float] | None:
    """Return (span, offset) if all losses lie on one lattice."""
    spans = {loss.span for loss, _ in direction.parts}
    if len(spans) != 1 or 0.0 in spans:
        return None
    return spans.pop(), math.fsum(n * loss.offset for loss, n in direction.parts)


def single_loss(direction: Direction) -> Loss | None:
    """Return the one loss that equals a composition, where it is short enough to be written down; None otherwise."""
    parts = simplify(direction).parts
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    finite = [(loss, count) for loss, count in parts if type(loss) is FiniteLoss]
    if len(finite) < len(parts) or not finite:
        return None
    if math.fsum(count * math.log(max(len(loss.values), 2)) for loss, count in finite) > math.log(MOST_VALUES):
        return None
    product, *others = [loss for loss, count in finite for _ in range(count)]
    for loss in others:
        product = combine(product, loss)
    return product
