"""A stable value against the exponential mechanism: how often each tells the true winner, by the winner's lead."""

from __future__ import annotations

import math
from fractions import Fraction
from io import StringIO

from discreet.mechanisms import StableTopK

BLUE, ORANGE = "#2a6f97", "#d97706"


def pictures() -> dict[str, str]:
    """Draw it; the settings make the same bytes on every machine."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    made = StableTopK(range(10), 1, epsilon=1, delta=Fraction(1, 10**6))
    threshold, r = made.stable.test.threshold, math.exp(-1)

    def shown(gap: int) -> float:
        """Pr[gap - 1 + Z > threshold], the winner standing last, for two-sided geometric Z."""
        needed = threshold + 2 - gap
        return r**needed / (1 + r) if needed > 0 else 1 - r ** (1 - needed) / (1 + r)

    gaps = range(1, 31)
    with mpl.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(7.6, 2.8))
        axes = figure.add_axes((0.08, 0.19, 0.88, 0.75))
        axes.plot(gaps, [round(shown(gap), 6) for gap in gaps], ".-", color=BLUE, label="stable value, δ = 1e-6")
        exponential = [round(1 / (1 + 9 * math.exp(-gap)), 6) for gap in gaps]
        axes.plot(gaps, exponential, ".-", color=ORANGE, label="exponential mechanism, δ = 0")
        axes.set_xlabel("rows by which one of ten values leads, ε = 1")
        axes.legend(frameon=False, fontsize=7)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return {"stability.svg": out.getvalue()}
