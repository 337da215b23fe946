"""A contingency table: a row more in one cell, and a row that goes from one cell to another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import convolved, discrete_law
from discreet.mechanisms import ContingencyTable
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

    Columns = tuple[Sequence[str], ...]

__all__ = ["cases"]


def _last(mechanism: ContingencyTable, columns: Columns, count: int, bits: BitSource) -> NDArray[np.int64]:
    """The last cell, in which a row is missing."""
    return np.array([int(np.ravel(mechanism.release(columns, bits=bits).value)[-1]) for _ in range(count)])


def _difference(mechanism: ContingencyTable, columns: Columns, count: int, bits: BitSource) -> NDArray[np.int64]:
    return np.array([int(np.diff(mechanism.release(columns, bits=bits).value)[0]) for _ in range(count)])


def _law(mechanism: ContingencyTable, columns: Columns) -> dict[int, float]:
    scale = 1 / mechanism.privacy.epsilon(0)
    held = sum(row == ("b", "d") for row in zip(*columns, strict=True))
    return discrete_law(lambda z: math.exp(-abs(z) / scale), held, -40, 40)


def _law_of_difference(mechanism: ContingencyTable, columns: Columns) -> dict[int, float]:
    """Two cells, of which one loses what the other wins, with noise for both on each."""
    scale = 2 / mechanism.privacy.epsilon(0)
    noise = convolved(discrete_law(lambda z: math.exp(-abs(z) / scale), 0, -60, 60), 2)
    off = sum(1 if value == "b" else -1 for value in columns[0])
    return {off + z: chance for z, chance in noise.items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    table = ContingencyTable(["ab", "cd"], epsilon=1)
    exchanged = ContingencyTable(["ab"], epsilon=2, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("a row more", table, (["a"], ["c"]), (["a", "b"], ["c", "d"]), _last, law=_law, tight=True),
        Case("a row in another cell", exchanged, (["a", "a"],), (["a", "b"],), _difference, law=_law_of_difference),
    )
