"""Pictures of curves (needs the extra `plot`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

__all__ = ["draw_profile"]

POINTS = 60


def draw_profile(delta: Callable[[float], float], end: float, axes: Axes | None = None) -> Axes:
    """Draw delta(epsilon) from epsilon 0 to a given end, with a logarithmic axis for delta.

    >>> draw_profile.__name__
    'draw_profile'
    """
    if axes is None:
        from matplotlib import pyplot as plt

        axes = plt.subplots()[1]
    if not math.isfinite(end):
        end = 10.0
    places = [end * i / POINTS for i in range(POINTS + 1)]
    axes.semilogy(places, [max(delta(place), 1e-300) for place in places])
    axes.set_xlabel("epsilon")
    axes.set_ylabel("delta (certified upper bound)")
    axes.set_ylim(bottom=1e-13)
    return axes
