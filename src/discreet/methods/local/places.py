"""A location that is told with noise, so that places near each other cannot be told apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, sqrt_upper
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.responses.randomized_response import require_local
from discreet.methods.local.randomizer import Randomizer, Reports
from discreet.noise import SYSTEM, BitSource
from discreet.noise import l2_laplace as planar
from discreet.privacy import NeighborRelation, Pure

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["PlanarLaplace", "read_cells"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PlanarLaplace(Randomizer):
    r"""Tell a cell of a grid with planar Laplace noise: geo-indistinguishability.

    Cells are (column, row), and a distance of 1 is the side of one. The noise has a density in proportion to
    $e^{-\lambda |z|}$, $\lambda$ = `per_cell`, and is rounded to cells; what falls beyond the grid is told as its
    nearest cell.

    Privacy. Two cells a distance d apart give one report with chances at most a factor $e^{\lambda d}$ apart, as the
    logarithm of the density moves by at most $\lambda d$; rounding and clamping see nothing but the report. This is a
    promise for each distance: `within(d)`. As a promise about *any* two cells, which is what `.claim` states and a
    ledger would charge, it is $\lambda$ times the diagonal. Where every cell of the grid is as bad to be told apart as
    any other, take a frequency oracle over the cells.

    Andrés, Bordenabe, Chatzikokolakis & Palamidessi 2013 (arXiv:1212.1984).

    >>> told = PlanarLaplace(100, 100, per_cell="0.1")
    >>> told.within(5), round(float(told.epsilon), 2)
    (Pure(epsilon=0.5, neighbors=change_one_ordered), 14.0)
    """

    kind: ClassVar[str] = "planar_laplace"
    guarantee: ClassVar[str] = (
        "A point with noise of density proportional to exp(-l |z|) is (l d)-private for points a distance d apart, and "
        "(l D)-locally private on a grid of diameter D."
    )
    accuracy: ClassVar[str] = "the noise is farther than r with chance (1 + l r) exp(-l r), besides rounding"
    source: ClassVar[str] = "Andrés, Bordenabe, Chatzikokolakis & Palamidessi 2013, arXiv:1212.1984"

    columns: int
    rows: int
    per_cell: Fraction

    def __init__(
        self,
        columns: SupportsIndex,
        rows: SupportsIndex,
        *,
        per_cell: Number,
        epsilon: Number | None = None,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        wide = integer(columns, name="columns", least=1, most=1 << 20)
        high = integer(rows, name="rows", least=1, most=1 << 20)
        if wide * high < 2:
            msg = "columns and rows make one cell; of one cell there is nothing to tell."
            raise ParameterError(msg)
        rate = read_positive(per_cell, "per_cell", zero="a report would tell nothing")
        assign(self, columns=wide, rows=high, per_cell=rate)
        whole = rate * sqrt_upper(Fraction((wide - 1) ** 2 + (high - 1) ** 2))
        if epsilon is not None and Fraction(epsilon) != whole:
            msg = f"epsilon follows from per_cell and the diagonal: {float(whole):.6g}. Leave it out."
            raise ParameterError(msg)
        assign(self, epsilon=whole, neighbors=require_local(neighbors))

    def __repr__(self) -> str:
        return f"PlanarLaplace({self.columns} × {self.rows}, ε = {float(self.per_cell):g} per cell)"

    def within(self, distance: Number) -> Pure:
        """What is promised about two cells at most so far apart."""
        return Pure(self.per_cell * Fraction(distance), neighbors=self.neighbors)

    def farther(self, distance: float) -> float:
        """Return the chance that the noise, before it is rounded, is longer than this.

        >>> round(PlanarLaplace(9, 9, per_cell=1).farther(3.0), 3)
        0.199
        """
        reach = float(self.per_cell) * distance
        return (1 + reach) * math.exp(-reach)

    @property
    def messages(self) -> int:
        """One for each cell."""
        return self.columns * self.rows

    def report(self, values: ArrayLike, *, bits: BitSource = SYSTEM) -> Reports:
        """Randomize cells, a pair (column, row) of each unit; one off the grid counts as its nearest cell."""
        inside = read_cells(values, self.columns, self.rows)
        noise = planar(1 / self.per_cell, 1, 2, size=len(inside), bits=bits)
        told = np.clip(inside + noise, 0, [self.columns - 1, self.rows - 1]).astype(np.int64)
        return Reports(self, told[:, 0] * self.rows + told[:, 1])

    def cells(self, reports: Reports) -> NDArray[np.int64]:
        """Return what was told: a column and a row of each report. It leans toward the inside at the grid's edge."""
        given = self.read_reports(reports)
        return np.stack(np.divmod(given.messages, self.rows), axis=1)


def read_cells(values: ArrayLike, columns: int, rows: int) -> NDArray[np.int64]:
    """Read a pair (column, row) of each unit; one off the grid counts as its nearest cell, a missing number as 0.

    >>> read_cells([(-3, 7), (float("nan"), 1)], 5, 5).tolist()
    [[0, 4], [0, 1]]
    """
    try:
        given = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    cells = given.reshape(1, -1) if given.ndim == 1 else given
    if cells.ndim != 2 or cells.shape[1] != 2:
        msg = f"values has the shape {given.shape}; give (column, row) of each unit, as numbers."
        raise ParameterError(msg)
    known = np.nan_to_num(cells, nan=0.0, posinf=2.0**31, neginf=-(2.0**31))
    return np.clip(np.rint(known), 0, [columns - 1, rows - 1]).astype(np.int64)
