"""Exact counts that a marginal can be taken of: all cells, records of codes, or marginals that an engine counted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.inputs.values import exact_integers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Cube", "Margins", "Records", "Tally", "tally", "whole"]

_SAFE = 1 << 36
"""Of so many rows no strategy measures more than 64 bits: its weights are at most 2**24."""


def whole(counts: Any) -> NDArray[Any]:  # noqa: ANN401 - whatever numpy reads as an array
    """Read whole numbers: 64-bit ones if no sum that a strategy makes of them overflows, else Python's.

    >>> whole([1, 2]).dtype.kind, whole([2**61, 2**61]).sum() == 2**62
    ('i', True)
    """
    cells = exact_integers(counts)
    return cells if float(np.abs(cells.astype(np.float64)).sum()) < _SAFE else cells.astype(object)


class Tally(Protocol):
    """Exact counts of a table, of which any marginal that a workload needs can be taken; private.

    >>> Cube(np.array([[1, 2], [3, 4]])).marginal((1,)).tolist()
    [4, 6]
    """

    def marginal(self, places: tuple[int, ...]) -> NDArray[Any]:
        """Count all combinations of the columns at these places."""


class Cube:
    """Counts of all cells, of any size.

    >>> Cube(np.array([[1, 2], [3, 4]])).marginal(()).tolist()
    10
    """

    def __init__(self, cells: NDArray[Any]) -> None:
        self._cells = cells

    def marginal(self, places: tuple[int, ...]) -> NDArray[Any]:
        """Sum over all other axes."""
        others = tuple(axis for axis in range(self._cells.ndim) if axis not in places)
        return np.asarray(self._cells.sum(axis=others))


class Records:
    """One row of codes for each record; marginals are counted when they are asked for.

    A record whose code in some column is not from 0 up to the size of the column is in no cell. `counted` marginals
    are kept, so that smaller ones are sums of larger ones.

    >>> Records((2, 3), [[0, 0], [1, 2], [1, 2]]).marginal((1,)).tolist()
    [1, 0, 2]
    """

    def __init__(self, sizes: Sequence[int], rows: Any) -> None:  # noqa: ANN401 - whatever numpy reads as an array
        codes = np.asarray(rows)
        if codes.ndim != 2 or codes.shape[1] != len(sizes) or codes.dtype.kind not in "iu":
            msg = f"rows must be whole numbers, one row for each record and {len(sizes)} columns."
            raise ParameterError(msg)
        inside = ((codes >= 0) & (codes < np.array(sizes))).all(axis=1)
        if not inside.all():
            codes = codes[inside]
        self._sizes = tuple(sizes)
        self._codes = [np.ascontiguousarray(column, dtype=np.int32) for column in codes.T]
        self._known: dict[tuple[int, ...], NDArray[np.int64]] = {}

    def marginal(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        """Count, or sum a larger marginal that was counted before."""
        known = self._known.get(places)
        if known is None:
            larger = min(
                (wide for wide in self._known if set(places) < set(wide)),
                key=lambda wide: self._known[wide].size,
                default=None,
            )
            known = self._counted(places) if larger is None else self._summed(places, larger)
            self._known[places] = known
        return known

    def _summed(self, places: tuple[int, ...], larger: tuple[int, ...]) -> NDArray[np.int64]:
        others = tuple(axis for axis, place in enumerate(larger) if place not in places)
        return np.asarray(self._known[larger].sum(axis=others), dtype=np.int64)

    def _counted(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        sizes = tuple(self._sizes[place] for place in places)
        if not places:
            return np.asarray(len(self._codes[0]), dtype=np.int64)
        flat = self._codes[places[0]].astype(np.int64) if math.prod(sizes) > 2**31 - 1 else self._codes[places[0]]
        for place in places[1:]:
            flat = flat * self._sizes[place] + self._codes[place]
        return np.bincount(flat, minlength=math.prod(sizes)).reshape(sizes).astype(np.int64)


class Margins:
    """Marginals that somebody else counted, each by its columns.

    >>> Margins({(0, 1): np.array([[1, 2], [3, 4]])}).marginal((0,)).tolist()
    [3, 7]
    """

    def __init__(self, counted: Mapping[tuple[int, ...], NDArray[np.int64]]) -> None:
        self._counted = dict(counted)

    def marginal(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        """Sum the smallest marginal that has all of these columns."""
        wide = [known for known in self._counted if set(places) <= set(known)]
        if not wide:
            msg = f"no marginal was counted that has the columns {shown(places)}."
            raise ParameterError(msg)
        best = min(wide, key=lambda known: self._counted[known].size)
        others = tuple(axis for axis, place in enumerate(best) if place not in places)
        return np.asarray(self._counted[best].sum(axis=others), dtype=np.int64)


def tally(counts: Any, shape: tuple[int, ...]) -> Tally:  # noqa: ANN401 - cells, or something that gives marginals
    """Read counts: a table that gives marginals as it is, and an array as counts of all cells.

    >>> tally([1, 2, 3], (3,)).marginal(()).tolist()
    6
    """
    if hasattr(counts, "marginal"):
        return counts  # type: ignore[no-any-return]  # it offers what a tally offers
    cells = whole(counts)
    if cells.size != math.prod(shape):
        msg = f"counts holds {cells.size} numbers; the domain has {math.prod(shape)} cells, of shape {shape}."
        raise ParameterError(msg)
    return Cube(cells.reshape(shape))
