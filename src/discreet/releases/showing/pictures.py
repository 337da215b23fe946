"""Answers as pictures; matplotlib is optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

__all__ = ["bars", "intervals"]

_MOST_LABELS = 40
_MOST_GROUPS = 10
_COLORS = ("#8fb3ca", "#e0a96d", "#9bc09a", "#c79bbf", "#d9c36a", "#9a9fd0", "#d08f8f", "#8cc7c3", "#b5a58f", "#b0b7bd")
_LONGEST_LABELS = 60  # characters of all labels that stand beside each other


def intervals(
    axes: Axes | None, labels: Sequence[str], values: Sequence[tuple[float, float | None]], title: str
) -> Axes:
    """Draw numbers under each other, the first on top, each with its ± as a bar.

    >>> drawn = intervals(None, ["a", "b"], [(3.0, 1.0), (5.0, None)], "n")
    >>> drawn.get_xlabel(), len(drawn.get_yticks())
    ('n', 2)
    """
    height = 0.8 + 0.3 * min(max(len(values), 1), _MOST_LABELS)
    drawn = _axes(axes, 6, height)
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


def bars(
    axes: Axes | None,
    bins: Sequence[str],
    groups: Mapping[str, Sequence[tuple[float, float | None]]],
    words: tuple[str, str],
) -> Axes:
    """Draw the counts of bins as bars with their ±, those of several groups side by side; `words` name the axes.

    >>> drawn = bars(None, ["0…9", "10…19"], {"": [(3.0, 1.0), (5.0, 1.0)]}, ("age", "n"))
    >>> drawn.get_xlabel(), len(drawn.patches)
    ('age', 2)
    """
    if len(groups) > _MOST_GROUPS:
        msg = f"bars of {len(groups)} groups cannot be told apart; ask for {_MOST_GROUPS} at most, such as by HAVING."
        raise ParameterError(msg)
    drawn = _axes(axes, max(6.0, min(16.0, 1.5 + 0.25 * len(bins) * max(len(groups), 2))), 4)
    width = 0.84 / max(len(groups), 1)
    for number, (group, values) in enumerate(groups.items()):
        middle = (number - (len(groups) - 1) / 2) * width
        drawn.bar(
            [place + middle for place in range(len(bins))],
            [value for value, _ in values],
            width=width,
            yerr=[0.0 if error is None else error for _, error in values],
            color=_COLORS[number % len(_COLORS)],
            ecolor="#1b3a50",
            capsize=3 if width > 0.2 else 1,
            label=group,
        )
    step = -(-len(bins) // _MOST_LABELS) or 1
    shown = list(bins)[::step]
    turned = sum(map(len, shown)) > _LONGEST_LABELS
    drawn.set_xticks(
        range(0, len(bins), step), labels=shown, rotation=45 if turned else 0, ha="right" if turned else "center"
    )
    drawn.axhline(0, color="#46545e", linewidth=0.8)
    drawn.set_xlabel(words[0])
    drawn.set_ylabel(words[1])
    if len(groups) > 1:
        drawn.legend(frameon=False)
    drawn.spines[["top", "right"]].set_visible(False)
    return drawn


def _axes(axes: Axes | None, width: float, height: float) -> Axes:
    """The axes that were given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        msg = "a picture needs matplotlib. Install it with: pip install 'discreet[plot]'."
        raise ParameterError(msg) from None
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if axes is None else axes
