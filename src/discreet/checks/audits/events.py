"""Which event to count: chosen on draws that are not counted afterwards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.audits.bounds import chance_at_least, chance_at_most
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Outputs = NDArray[Any]

__all__ = ["Event", "choose", "cut"]

CELLS = 64
"""Outputs with more distinct values than this are cut at their quantiles."""
FEWEST_CELLS, OUTPUTS_IN_A_CELL = 8, 60
"""Into so few cells at least; and into no more than that so many of the outputs lie in each: of emptier ones, chance
chooses."""


@dataclass(frozen=True)
class Cells:
    """A partition of all outputs into finitely many cells, fixed before anything is counted.

    `values` are single outputs with a cell of their own, and every other output shares one more cell; or, if there are
    too many of them, `edges` cut the line. What is no number (nan stands for "no answer") has the last cell.
    """

    values: NDArray[Any] | None
    edges: NDArray[np.float64]

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.edges if self.values is None else self.values) + 2

    def of(self, outputs: Outputs) -> NDArray[np.intp]:
        """Return the number of each output's cell."""
        if self.values is None:
            places = np.searchsorted(self.edges, outputs, side="right")
        else:
            places = np.minimum(np.searchsorted(self.values, outputs), len(self.values) - 1)
            places = np.where(self.values[places] == outputs, places, len(self.values))
        return np.where(_silent(outputs), self.count - 1, places)

    def describe(self, chosen: NDArray[np.bool_]) -> str:
        """Say which outputs the chosen cells hold."""
        words = ["no answer"] if chosen[-1] else []
        if self.values is not None:
            names = [f"{value.item()!r}" for value, inside in zip(self.values, chosen, strict=False) if inside]
            words = [", ".join(names)] * bool(names) + ["any other output"] * bool(chosen[-2]) + words
            return "output is " + " or ".join(words)
        ends = [-math.inf, *self.edges.tolist(), math.inf]
        pieces: list[list[float]] = []
        for cell in np.flatnonzero(chosen[:-1]):
            if pieces and pieces[-1][1] == ends[cell]:
                pieces[-1][1] = ends[cell + 1]
            else:
                pieces.append([ends[cell], ends[cell + 1]])
        return "output is " + " or ".join([f"in [{a:g}, {b:g})" for a, b in pieces] + words)


@dataclass(frozen=True)
class Event:
    """A set of outputs: the chosen cells of a partition."""

    cells: Cells
    chosen: NDArray[np.bool_]

    def hits(self, outputs: Outputs) -> int:
        """Count the outputs inside.

        >>> event = choose(np.array([0, 1, 1] * 99), np.array([0, 0, 1] * 99), delta=0.0, error=0.1)
        >>> event.hits(np.array([0, 1, 7, 1]))
        2
        """
        return int(self.chosen[self.cells.of(outputs)].sum())

    def __str__(self) -> str:
        return self.cells.describe(self.chosen)


def _silent(outputs: Outputs) -> NDArray[np.bool_]:
    """Tell which outputs are nan: a mechanism's way to say that it gives no answer."""
    silent: NDArray[np.bool_] = outputs != outputs  # noqa: PLR0124  nan alone differs from itself
    return silent


def cut(first: Outputs, second: Outputs) -> Cells:
    """Partition the outputs by what two samples of them show.

    >>> cut(np.array([1, 2]), np.array([2, 3])).values.tolist()
    [1, 2, 3]
    """
    for outputs in (first, second):
        if outputs.ndim != 1:
            msg = f"the outputs have {outputs.ndim} dimensions; an audit sees one number or text a release."
            raise ParameterError(msg)
    both = np.concatenate([first, second])
    values = np.unique(both[~_silent(both)])
    if len(values) <= CELLS or values.dtype.kind in "SU":
        return Cells(values if len(values) else np.zeros(1), np.zeros(0))
    places = both[~_silent(both)].astype(np.float64)
    count = min(max(len(places) // OUTPUTS_IN_A_CELL, FEWEST_CELLS), CELLS)
    # No interpolation: between infinities there is nothing.
    return Cells(None, np.unique(np.sort(places)[np.arange(1, count) * len(places) // count]))


def choose(over: Outputs, under: Outputs, *, delta: float, error: float, lines: bool = False) -> Event:
    """Choose the event that is likely for `over` and unlikely for `under`, so that counting it will prove most.

    By Neyman & Pearson the best events collect outcomes in the order of their likelihood ratio. So cells are ordered by
    their ratio in the sample, less its standard error, which keeps rare cells from coming first by luck; to the sets
    that begin this order come the half-lines, alone if the outputs are scores (`lines`). Taken is the set whose
    frequencies prove the largest epsilon.

    >>> str(choose(np.array([0, 1, 1] * 99), np.array([0, 0, 1] * 99), delta=0.0, error=0.1))
    'output is 1'
    """
    cells = cut(over, under)
    tops = np.bincount(cells.of(over), minlength=cells.count)
    lows = np.bincount(cells.of(under), minlength=cells.count)
    ratios = np.log(tops + 0.5) - np.log(lows + 0.5) - np.sqrt(1 / (tops + 0.5) + 1 / (lows + 0.5))
    line = np.arange(cells.count)
    best, taken = -math.inf, line[:1]
    by_ratio = () if lines else (np.argsort(-ratios, kind="stable"),)
    for order in (*by_ratio, line, line[::-1]):
        highs, counts = np.cumsum(tops[order]), np.cumsum(lows[order])
        for end in np.flatnonzero(tops[order]):
            proven = chance_at_least(int(highs[end]), len(over), error) - delta
            score = math.log(proven / chance_at_most(int(counts[end]), len(under), error)) if proven > 0 else -math.inf
            if score > best:
                best, taken = score, order[: end + 1]
    chosen = np.zeros(cells.count, dtype=bool)
    chosen[taken] = True
    return Event(cells, chosen)
