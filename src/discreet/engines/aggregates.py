"""Exact answers, in the only type that holds them: it shows nothing of itself."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.sealed import Sealed
from discreet.errors import ParameterError
from discreet.exact import integer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.plans.nodes import Aggregate
    from discreet.tables import Value

__all__ = ["Aggregates"]

_FITS = 2**62


class Aggregates(Sealed):
    """What an engine computed: for each group, each statistic as an exact integer, before any noise.

    There is no repr, no str, no iteration, no length, no equality and no pickling. Whoever adds noise calls
    `unprotected`; the word is there to be found in a review.

    >>> import inspect
    >>> [name for name, _ in inspect.getmembers(Aggregates, inspect.isfunction) if not name.startswith("_")]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['unprotected', 'unprotected_cells', 'unprotected_groups', 'unprotected_keys', 'unprotected_pooled',
     'unprotected_units']
    """

    __slots__ = ("_aggregate", "_keys", "_numbers", "_pooled", "_units")

    closed = "exact answers are not shown, copied, compared or stored; release them through a mechanism."

    def __init__(
        self,
        aggregate: Aggregate,
        keys: Sequence[Sequence[Value] | NDArray[np.int64]] | None,
        numbers: Sequence[
            Sequence[Sequence[int]] | Sequence[NDArray[np.int64]] | NDArray[np.int64] | NDArray[np.object_]
        ],
        units: Sequence[int] | NDArray[np.int64],
        pooled: Mapping[int, NDArray[np.int64]] | None = None,
    ) -> None:
        """Take the keys of all groups, column by column, or None for the known groups in their order.

        `numbers`: by statistic the numbers of each group. Groups that were found in the data come in any order: theirs
        is the engine's, and private.

        `pooled`: by the place of a statistic of cells the counts of its bins over all groups, where there are several.
        """
        self._aggregate = aggregate
        self._keys = keys
        self._numbers = numbers
        self._units = units
        self._pooled = pooled or {}

    @property
    def groups(self) -> tuple[tuple[Value, ...], ...]:
        """The known groups in their order; refused where groups were found in the data."""
        if not self._aggregate.known:
            msg = "the groups were found in the data; hand them to a mechanism that selects partitions privately."
            raise ParameterError(msg)
        return tuple(self.unprotected_groups())

    def unprotected(self, place: int, kept: NDArray[np.int64] | None = None) -> NDArray[np.int64] | NDArray[np.object_]:
        """Give a statistic by its place in the aggregate: one row per group, one column per number.

        With `kept`, the groups at these places alone, in this order. Integers of 64 bits where the public bounds say
        that they are enough for 2**36 rows, else Python's.
        """
        integer(place, name="place", least=0, most=len(self._numbers) - 1)
        statistic = self._aggregate.statistics[place]
        low, high = statistic.reach(self._aggregate.child.schema)
        wide = max(-low, high) * 2**36 > _FITS
        numbers = self._numbers[place]
        if kept is not None:
            numbers = numbers[kept] if isinstance(numbers, np.ndarray) else [numbers[each] for each in kept.tolist()]
        found = np.array(numbers, dtype=object if wide else np.int64)
        return found.reshape(len(numbers), statistic.size)

    def unprotected_cells(self, place: int, kept: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
        """Give the cells of a statistic near its ranks: for each group one row per cell, as the statistic says.

        With `kept`, those of the groups at these places, in this order.
        """
        integer(place, name="place", least=0, most=len(self._numbers) - 1)
        numbers = self._numbers[place]
        some = numbers if kept is None else [numbers[each] for each in kept.tolist()]
        return [np.array(cells, dtype=np.int64).reshape(-1, 4) for cells in some]

    def unprotected_pooled(self, place: int) -> NDArray[np.int64]:
        """Give the counts of the bins of a statistic of cells, over all groups together."""
        if place not in self._pooled:
            msg = f"statistic {integer(place, name='place')} has no counts over all groups: they are of known groups."
            raise ParameterError(msg)
        return np.array(self._pooled[place], dtype=np.int64)

    def unprotected_groups(self) -> list[tuple[Value, ...]]:
        """Give all groups; where they were found in the data, in the engine's order."""
        if self._keys is not None:
            return list(zip(*map(_listed, self._keys), strict=True))
        return list(itertools.product(*(key.known or () for key in self._aggregate.keys)))

    def unprotected_keys(self, kept: NDArray[np.int64]) -> list[list[Value] | NDArray[np.int64]]:
        """Give the keys of the groups at some places, column by column, for those that were selected privately."""
        if self._keys is None:
            msg = "the groups are known; keys are read only where groups are found in the data."
            raise ParameterError(msg)
        places = kept.tolist()
        return [
            column[kept] if isinstance(column, np.ndarray) else [column[place] for place in places]
            for column in self._keys
        ]

    def unprotected_units(self) -> NDArray[np.int64]:
        """Give the number of different units in each group that was found in the data."""
        if self._aggregate.known:
            msg = "the groups are known; units are counted only where groups are found in the data."
            raise ParameterError(msg)
        return np.array(self._units, dtype=np.int64)


def _listed(column: Sequence[Value] | NDArray[np.int64]) -> Sequence[Value]:
    """A column as Python's own values."""
    return column.tolist() if isinstance(column, np.ndarray) else column
