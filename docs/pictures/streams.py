"""How wrong running sums are, step by step; a year of them with its ±; and where a change is found."""

from __future__ import annotations

import math
from io import StringIO
from typing import TYPE_CHECKING, Any

from discreet.mechanisms.prefix import BinaryTree, Buffered, KaryTree, SquareRoot, WeightedTree, draw_errors
from discreet.methods.streaming import Bernoulli, ChangePoint, ContinualSum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GRAY = "#2a6f97", "#d97706", "#9aa0a6"


def written(figure: Figure) -> str:
    """Write a figure as SVG."""
    out = StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def errors(left: Axes, right: Axes) -> None:
    """Draw standard deviations for both prices."""
    steps = 512
    trees = [BinaryTree(steps), WeightedTree(steps)]
    draw_errors([*trees, Buffered(steps, 2), SquareRoot(steps)], rho="1/2", axes=left)
    draw_errors([*trees, KaryTree(steps)], epsilon=1, axes=right)
    for axes, title in ((left, "ρ = 1/2"), (right, "ε = 1")):
        axes.set_title(title, fontsize=9)
        axes.legend(frameon=False, fontsize=7)


def year(axes: Axes) -> None:
    """Draw a made-up year of visits with the ± of two factorizations."""
    days = range(1, 366)
    sums, total = [], 0
    for day in days:
        total += round(4 + 3 * math.sin(day / 58))
        sums.append(total)
    how: dict[str, Any] = {"epsilon": 1, "grid": 1, "elements": "totals", "events": 3}
    for factorization, color, alpha in ((BinaryTree(365), GRAY, 0.5), (KaryTree(365), ORANGE, 0.6)):
        promise = ContinualSum(365, 1, factorization=factorization, **how)
        bounds = [round(promise.error(0.95, step=day), 3) for day in days]
        low = [at - each for at, each in zip(sums, bounds, strict=True)]
        high = [at + each for at, each in zip(sums, bounds, strict=True)]
        axes.fill_between(
            days, low, high, color=color, alpha=alpha, linewidth=0, label=f"± of the {factorization.title}"
        )
    axes.plot(days, sums, color=BLUE, linewidth=1.2, label="visits since January, made up")
    axes.set_xlabel("day of the year; ε = 1, at most 3 visits of a patient")
    axes.legend(frameon=False, fontsize=7)


def change(axes: Axes) -> None:
    """Draw the scores of places in the series of the tutorial, and the ± of three prices."""
    days = [int(day % 10 == 0) for day in range(400)] + [int(day % 10 != 0) for day in range(200)]
    ratio, scores, total = math.log(9), [0.0] * 600, 0.0
    for place in range(599, -1, -1):
        total += ratio if days[place] else -ratio
        scores[place] = round(total, 3)
    for epsilon, shade in (("0.2", 0.15), ("0.5", 0.25), ("2", 0.5)):
        bound = ChangePoint(Bernoulli("0.1", "0.9"), epsilon=epsilon).error(0.95) or 0.0
        axes.axvspan(400 - bound, 400 + bound, color=ORANGE, alpha=shade, linewidth=0, label=f"± for ε = {epsilon}")
    axes.plot(range(600), scores, color=BLUE, linewidth=1.2, label="sum of log-likelihood ratios from here on")
    axes.set_xlabel("day; the change is at 400")
    axes.legend(frameon=False, fontsize=7)


def pictures() -> dict[str, str]:
    """Draw all; the settings make the same bytes on every machine."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    drawn = {}
    with mpl.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(7.6, 3.2))
        errors(figure.add_axes((0.08, 0.16, 0.4, 0.76)), figure.add_axes((0.58, 0.16, 0.4, 0.76)))
        drawn["running-sums.svg"] = written(figure)
        for name, draw in (("year-counter.svg", year), ("change-point.svg", change)):
            figure = Figure(figsize=(7.6, 3.2))
            draw(figure.add_axes((0.09, 0.16, 0.88, 0.78)))
            drawn[name] = written(figure)
    return drawn
