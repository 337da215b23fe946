"""How wrong running sums are, step by step: the notes' tree beside what is taken instead."""

from __future__ import annotations

from io import StringIO

from discreet.mechanisms.prefix import BinaryTree, Buffered, KaryTree, SquareRoot, WeightedTree, draw_errors


def pictures() -> dict[str, str]:
    """Draw both prices; the settings make the same bytes on every machine."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(7.6, 3.2))
        left, right = figure.add_axes((0.08, 0.16, 0.4, 0.76)), figure.add_axes((0.58, 0.16, 0.4, 0.76))
        steps = 512
        trees = [BinaryTree(steps), WeightedTree(steps)]
        draw_errors([*trees, Buffered(steps, 2), SquareRoot(steps)], rho="1/2", axes=left)
        draw_errors([*trees, KaryTree(steps)], epsilon=1, axes=right)
        for axes, title in ((left, "ρ = 1/2"), (right, "ε = 1")):
            axes.set_title(title, fontsize=9)
            axes.legend(frameon=False, fontsize=7)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return {"running-sums.svg": out.getvalue()}
