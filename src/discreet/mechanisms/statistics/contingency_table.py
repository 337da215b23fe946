"""Counts of all combinations of public categories."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import counted, shown
from discreet.mechanisms.adding.sums import Moved, Noise, NoisySums, noisy_counts, read_noise
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.inputs.rows import codes, listed, read_rows
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["ContingencyTable", "contingency_table"]

_MOST_CELLS = 10**8


@dataclass(frozen=True, slots=True, init=False)
class ContingencyTable(NoisySums["Sequence[Sequence[Hashable]]", "NDArray[np.int64]"]):
    """Release how many rows have each combination of public categories, one axis per column.

    Privacy. A row is in at most one cell: the sensitivities of a histogram, 1 under add/remove, and 2 (L1) or sqrt(2)
    (L2) under change-one. Every cell gets noise, empty ones too. Rows with a value that is no category are in no cell;
    the categories are public, never the distinct values of the rows.

    Barak, Chaudhuri, Dwork, Kale, McSherry & Talwar 2007 (doi:10.1145/1265530.1265569).

    >>> table = ContingencyTable([["f", "m"], [0, 1, 2]], epsilon=1)
    >>> table.release((["f", "m", "m"], [0, 2, 2])).value.shape, table.error(0.95)
    ((2, 3), 3.0)
    """

    kind: ClassVar[str] = "contingency_table"
    guarantee: ClassVar[str] = (
        "Counts of disjoint cells, which one row moves by 1 under add/remove and by 2 under change-one together, with "
        "noise for that on each, keep the noise's promise."
    )
    accuracy: ClassVar[str] = "the noise's own quantile, for each cell"
    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14"
    _assumes: ClassVar[tuple[str, ...]] = ("a unit owns one row.", "the categories were not read from the rows.")

    categories: tuple[tuple[Hashable, ...], ...]
    noise: Noise
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        categories: Sequence[Sequence[Hashable]],
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: Noise | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        try:
            axes = tuple(tuple(listed(values)) for values in categories)
            good = bool(axes) and all(axis and len(set(axis)) == len(axis) for axis in axes)
        except (ParameterError, TypeError):  # no lists, or categories that cannot be hashed
            good = False
        if not good:
            msg = f"categories is {shown(categories)}; give columns, each with at least one category, each once."
            raise ParameterError(msg)
        cells = math.prod(len(axis) for axis in axes)
        if cells > _MOST_CELLS:
            msg = f"categories make {cells} cells; at most {_MOST_CELLS} are released at once. Join some categories."
            raise ParameterError(msg)
        moved = Moved.by_row(1, cells, require_relation(neighbors))
        noise = read_noise(moved, neighbors, noise=noise, epsilon=epsilon, delta=delta, rho=rho)
        assign(self, categories=axes, noise=noise, neighbors=neighbors)

    def error(self, confidence: float = 0.95) -> float:
        """Return the noise's error, of each cell."""
        return self.noise.error(confidence)

    def release(self, value: Sequence[Sequence[Hashable]], *, bits: BitSource = SYSTEM) -> Release[NDArray[np.int64]]:
        """Return the private counts; `value` holds one sequence of rows per column."""
        shape = tuple(len(axis) for axis in self.categories)
        if not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0):
            msg = f"value is of type {type(value).__name__}; it must hold one sequence of rows per column."
            raise ParameterError(msg)
        columns = [_listed(column) for column in value]
        if len(columns) != len(shape) or len({len(column) for column in columns}) != 1:
            msg = f"the data must be {counted(len(shape), 'column')}, all with the same number of rows."
            raise ParameterError(msg)
        places = [codes(column, axis) for column, axis in zip(columns, self.categories, strict=True)]
        there = np.logical_and.reduce([coded >= 0 for coded in places])
        flat = np.ravel_multi_index([coded[there] for coded in places], shape)
        counts = np.bincount(flat, minlength=math.prod(shape)).reshape(shape)
        return Release(noisy_counts(counts.astype(np.int64), self.noise, bits), self)


def _listed(column: object) -> list[Any]:
    """Return a column as one object per row; a single text is no column."""
    rows = read_rows(column)
    return listed(rows) if isinstance(rows, np.ndarray) else rows


def contingency_table(  # noqa: PLR0913
    columns: Sequence[Sequence[Hashable]],
    *,
    categories: Sequence[Sequence[Hashable]],
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[NDArray[np.int64]]:
    """Release counts of all combinations of public categories, as an array with one axis per column.

    >>> answer = contingency_table((["f", "m"], [0, 1]), categories=[["f", "m"], [0, 1]], epsilon=1)
    >>> answer.value.shape, answer.mechanism.promise
    ((2, 2), 'ε = 1')
    """
    made = ContingencyTable(categories, epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors)
    return made.release(columns)
