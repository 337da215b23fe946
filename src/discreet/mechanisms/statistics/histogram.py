"""Counts of rows between public edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms.adding.sums import Moved, Noise, NoisySums, noisy_counts, read_noise
from discreet.mechanisms.inputs.columns import points_below, read_column, read_points
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.release import Release
from discreet.mechanisms.statistics.contingency_table import ContingencyTable
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Histogram", "histogram"]


@dataclass(frozen=True, slots=True, init=False)
class Histogram(NoisySums["ArrayLike", "NDArray[np.int64]"]):
    """Release how many rows lie between public edges.

    Privacy. A row is in at most one bin. A row more or less moves one count by 1: L1 and L2 sensitivity 1. A row
    exchanged for another lowers one count and raises another: 2 in L1, sqrt(2) in L2. Noise for that on every bin,
    empty ones too.

    Bins hold their left edge, the last bin also its right one; rows outside all bins and missing rows are in none.

    Dwork, McSherry, Nissim & Smith 2006 (doi:10.1007/11681878_14); Dwork & Roth 2014, Example 3.2.

    >>> Histogram([0, 10, 20], epsilon="0.1").error(confidence=0.95)
    30.0
    """

    kind: ClassVar[str] = "histogram"
    guarantee: ClassVar[str] = (
        "Counts of disjoint bins, which one row moves by 1 under add/remove and by 2 under change-one together, with "
        "noise for that on each, keep the noise's promise."
    )
    accuracy: ClassVar[str] = "the noise's own quantile, for each bin"
    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14, Example 1"
    _assumes: ClassVar[tuple[str, ...]] = ("a unit owns one row.", "the edges were not read from the rows.")

    edges: tuple[Fraction, ...]
    noise: Noise
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        edges: Sequence[Number],
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: Noise | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        points = read_points(edges, name="edges", least=2)
        moved = Moved.by_row(1, len(points) - 1, require_relation(neighbors))
        noise = read_noise(moved, neighbors, noise=noise, epsilon=epsilon, delta=delta, rho=rho)
        assign(self, edges=points, noise=noise, neighbors=neighbors)

    def error(self, confidence: float = 0.95) -> float:
        """Return the noise's error, of each bin."""
        return self.noise.error(confidence)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[NDArray[np.int64]]:
        """Return the private counts; `value` holds the rows."""
        column, bins = read_column(value), len(self.edges) - 1
        places = points_below(column, self.edges, at=True)
        last = (places == bins + 1) & (points_below(column, self.edges, at=False) <= bins)  # at the last edge
        places = np.where(last, bins, places)
        counts = np.bincount(places[(places > 0) & (places <= bins)] - 1, minlength=bins)
        return Release(noisy_counts(counts.astype(np.int64), self.noise, bits), self)


def histogram(  # noqa: PLR0913
    values: ArrayLike,
    *,
    edges: Sequence[Number] | None = None,
    categories: Sequence[Hashable] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[NDArray[np.int64]]:
    """Release counts of rows: between public edges, or of public categories.

    >>> answer = histogram([1, 1, 7], edges=[0, 5, 10], epsilon=1)
    >>> answer.value.shape, answer.error(0.95)
    ((2,), 3.0)
    >>> histogram(["a", "b", "b"], categories=["a", "b", "c"], epsilon=1).value.shape
    (3,)
    """
    if (edges is None) == (categories is None):
        msg = "give exactly one of edges and categories: they are public, and never read from the rows."
        raise ParameterError(msg)
    if edges is not None:
        return Histogram(edges, epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors).release(values)
    axes = [() if categories is None else categories]
    table = ContingencyTable(axes, epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors)
    return table.release((values,))  # type: ignore[arg-type]
