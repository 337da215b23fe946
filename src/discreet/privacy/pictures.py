"""Pictures of curves (needs the extra `plot`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.privacy.curve import Curve

__all__ = ["draw_curve"]

POINTS = 60


def draw_curve(curve: Curve, axes: Axes | None = None) -> Axes:
    """Draw delta(epsilon), from epsilon 0 to where delta has fallen to 1e-12, with a logarithmic axis for delta.

    >>> draw_curve.__name__
    'draw_curve'
    """
    if axes is None:
        from matplotlib import pyplot as plt

        axes = plt.subplots()[1]
    end = curve.epsilon(1e-12)
    if not math.isfinite(end):
        end = 10.0
    places = [end * i / POINTS for i in range(POINTS + 1)]
    axes.semilogy(places, [max(curve.delta(place), 1e-300) for place in places])
    axes.set_xlabel("epsilon")
    axes.set_ylabel("delta (certified upper bound)")
    axes.set_ylim(bottom=1e-13)
    return axes
