"""Results by columns: numbers as arrays, keys as lists, so that a million groups are read without a loop over cells."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from discreet.plans.nodes import GroupKey

__all__ = ["Columns", "Growing", "Row", "by_columns", "found_places", "known_places", "listed_rows", "whole_numbers"]

Columns: TypeAlias = "list[Sequence[object] | NDArray[np.int64]]"
"""The columns of a result, each of the same length: 64-bit integers as an array where an engine has them so."""

Row = tuple[object, ...]

_WHOLE = 2**63


def by_columns(rows: Sequence[Row], width: int) -> Columns:
    """Turn rows around."""
    return list(zip(*rows, strict=True)) if rows else [[] for _ in range(width)]


class Growing:
    """A column that is read in batches: an array while all its cells are 64-bit integers, a list from then on.

    >>> column = Growing()
    >>> column.extend([1, 2])
    >>> column.extend([3])
    >>> column.whole()
    array([1, 2, 3])
    >>> column.extend([None, True])
    >>> column.whole()
    [1, 2, 3, None, True]
    """

    __slots__ = ("_arrays", "_cells")

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.int64]] = []
        self._cells: list[object] | None = None

    def extend(self, cells: Sequence[object]) -> None:
        """Add a batch."""
        if self._cells is None and all(type(cell) is int and abs(cell) < _WHOLE for cell in cells):
            self._arrays.append(np.array(cells, dtype=np.int64))
            return
        if self._cells is None:
            self._cells = [cell for array in self._arrays for cell in array.tolist()]
            self._arrays = []
        self._cells.extend(cells)

    def whole(self) -> Sequence[object] | NDArray[np.int64]:
        """Give the column."""
        if self._cells is not None:
            return self._cells
        return np.concatenate(self._arrays) if self._arrays else []


def listed_rows(columns: Columns) -> Iterable[Row]:
    """Give rows of Python's own values again."""
    return zip(*(column.tolist() if isinstance(column, np.ndarray) else column for column in columns), strict=True)


def known_places(keys: tuple[GroupKey, ...], columns: Columns, count: int) -> NDArray[np.int64]:
    """Give the place of each row's group among the known ones, in the order of their product; -1 for others."""
    places = np.zeros(count, dtype=np.int64)
    there = np.ones(count, dtype=bool)
    for key, column in zip(keys, columns, strict=True):
        known = key.known or ()
        found = _places(known, column, count)
        there &= found >= 0
        places = places * len(known) + found
    return np.where(there, places, -1)


def found_places(groups: Columns, columns: Columns, count: int) -> NDArray[np.int64]:
    """Give the place of each row's group among those that were found, whose keys come column by column; -1 for others.

    >>> found_places([["b", "a"], [1, None]], [["a", "b", "b"], [None, 1, 2]], 3)
    array([ 1,  0, -1])
    """
    if len(groups) == 1 and isinstance(groups[0], np.ndarray) and isinstance(columns[0], np.ndarray):
        return _sorted_places(groups[0], columns[0])
    index = {group: place for place, group in enumerate(listed_rows(groups))}
    found = map(index.get, listed_rows(columns), itertools.repeat(-1))
    return np.fromiter(found, dtype=np.int64, count=count)


class _Recent:
    """The arrays of the last few tuples, told apart by being the same object.

    To compare a million keys takes as long as to make their array again. The tuples are held, so that none is mistaken
    for another at the same address.
    """

    def __init__(self, most: int) -> None:
        self._found: dict[int, tuple[tuple[object, ...], NDArray[np.int64] | None]] = {}
        self._most = most

    def of(self, known: tuple[object, ...]) -> NDArray[np.int64] | None:
        """Give the array of a tuple of whole numbers, None for another."""
        found = self._found.get(id(known))
        if found is None:
            found = known, np.array(known, dtype=np.int64) if all(type(key) is int for key in known) else None
            if len(self._found) >= self._most:
                self._found.clear()
            self._found[id(known)] = found
        return found[1]


_RECENT = _Recent(16)


def whole_numbers(known: tuple[object, ...]) -> NDArray[np.int64] | None:
    """Give keys as an array, if they are whole numbers of 64 bits and none is NULL.

    >>> whole_numbers((3, 1)), whole_numbers((True, False)), whole_numbers((1, None))
    (array([3, 1]), None, None)
    """
    return _RECENT.of(known)


def _places(known: tuple[object, ...], column: Sequence[object] | NDArray[np.int64], count: int) -> NDArray[np.int64]:
    order = whole_numbers(known) if isinstance(column, np.ndarray) and known else None
    if order is not None and isinstance(column, np.ndarray):
        if np.all(np.diff(order) == 1):
            found = column - order[0]
            return np.where((column >= order[0]) & (column <= order[-1]), found, -1)
        return _sorted_places(order, column)
    index = {key: place for place, key in enumerate(known)}
    cells = column.tolist() if isinstance(column, np.ndarray) else column
    return np.fromiter(map(index.get, cells, itertools.repeat(-1)), dtype=np.int64, count=count)


def _sorted_places(known: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find whole numbers among others by halving."""
    if not known.size:
        return np.full(column.size, -1)
    sorting = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[sorting], column), known.size - 1)
    return np.where(known[sorting[at]] == column, sorting[at], -1)
