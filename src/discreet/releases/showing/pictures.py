"""Answers as pictures; matplotlib is optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["intervals"]

_MOST_LABELS = 40


def intervals(
    axes: Axes | None, labels: Sequence[str], values: Sequence[tuple[float, float | None]], title: str
) -> Axes:
    """Draw numbers under each other, the first on top, each with its ± as a bar.

    >>> drawn = intervals(None, ["a", "b"], [(3.0, 1.0), (5.0, None)], "n")
    >>> drawn.get_xlabel(), len(drawn.get_yticks())
    ('n', 2)
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        msg = "a picture needs matplotlib. Install it with: pip install 'discreet[plot]'."
        raise ParameterError(msg) from None
    height = 0.8 + 0.3 * min(max(len(values), 1), _MOST_LABELS)
    drawn = plt.subplots(figsize=(6, height), layout="constrained")[1] if axes is None else axes
    places = range(len(values))
    drawn.errorbar(
        [value for value, _ in values],
        list(places),
        xerr=[0.0 if error is None else error for _, error in values] or None,
        fmt="o",
        color="#30688e",
        ecolor="#9db7c8",
        capsize=3,
    )
    step = -(-len(values) // _MOST_LABELS) or 1
    drawn.set_yticks(list(places)[::step], labels=list(labels)[::step])
    drawn.invert_yaxis()
    drawn.set_xlabel(title)
    drawn.spines[["top", "right"]].set_visible(False)
    return drawn
