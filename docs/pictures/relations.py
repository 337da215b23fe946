"""How mechanisms relate: the exponential mechanism on numbers, and noise by norm against noise by coordinate."""

from __future__ import annotations

import math
from io import StringIO

from discreet.mechanisms import DiscreteLaplace, Exponential

BLUE, ORANGE = "#2a6f97", "#d97706"


def pictures() -> dict[str, str]:
    """Draw both; the settings make the same bytes on every machine."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(7.6, 3.0))
        left, right = figure.add_axes((0.08, 0.17, 0.4, 0.75)), figure.add_axes((0.58, 0.17, 0.4, 0.75))
        points = range(-12, 13)
        ours, noise = Exponential(1, epsilon=1).scale, DiscreteLaplace(1, epsilon=1).scale
        for scale, label, color in ((ours, "exponential mechanism", ORANGE), (noise, "Laplace noise", BLUE)):
            r = math.exp(-1 / float(scale))
            left.plot(
                points, [round((1 - r) / (1 + r) * r ** abs(x), 6) for x in points], ".-", color=color, label=label
            )
        left.set_xlabel("released - true, both with ε = 1")
        left.legend(frameon=False, fontsize=7)
        dimensions = range(1, 33)
        right.plot(dimensions, [2 * d * d for d in dimensions], color=ORANGE, label="Laplace noise of scale √d on each")
        right.plot(dimensions, [d * (d + 1) for d in dimensions], color=BLUE, label="density exp(-|z|)")
        right.set_xlabel("dimensions d, squared error for a move of length 1")
        right.legend(frameon=False, fontsize=7)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return {"relations.svg": out.getvalue()}
