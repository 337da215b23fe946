"""What each composition theorem makes of 1,000 steps of DP-SGD."""

from __future__ import annotations

from io import StringIO

from discreet import privacy as p

STEP = p.gaussian(sigma=1).subsample(0.01)


def pictures() -> dict[str, str]:
    """Draw the comparison by the library's own plot; the settings make the same bytes on every machine."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(7.6, 3.0))
        axes = figure.add_axes((0.33, 0.17, 0.62, 0.8))
        p.compare(STEP, 1000, 1e-5).plot(axes)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return {"composition.svg": out.getvalue()}
