"""A short composition as one loss: Gaussian parts merged, few finite parts multiplied out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.privacy.numerics.account import simplify
from discreet.privacy.numerics.finite import FiniteLoss, combine

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Direction, Loss

MOST_VALUES = 1 << 10
"""Products are kept as lists of values up to this length."""


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
    found, *others = [loss for loss, count in finite for _ in range(count)]
    for loss in others:
        found = combine(found, loss)
    return found
