"""The number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.adding.sums import Moved, Noise, NoisySums, noisy, read_noise
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.inputs.rows import present
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size, require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Count", "count"]


@dataclass(frozen=True, slots=True, init=False)
class Count(NoisySums["Sequence[object] | NDArray[np.generic]", int]):
    """Release how many rows are not missing.

    Privacy. One unit owns one row. A row more or less moves the count by 1; a row exchanged for another by at most 1
    too, where one of the two is missing. Integer noise for a sensitivity of 1. Missing are
    None, NaN of any type, the nulls of pandas and Polars, and masked cells.

    Ghosh, Roughgarden & Sundararajan 2009 (arXiv:0811.2841).

    >>> Count(epsilon="0.1").error(confidence=0.95)
    30.0
    """

    kind: ClassVar[str] = "count"
    guarantee: ClassVar[str] = "A count, which one row moves by at most 1, with noise for 1, keeps the noise's promise."
    accuracy: ClassVar[str] = "the noise's own quantile"
    source: ClassVar[str] = "Ghosh, Roughgarden & Sundararajan 2009, arXiv:0811.2841"
    _assumes: ClassVar[tuple[str, ...]] = ("a unit owns one row.",)

    noise: Noise
    neighbors: Relation

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: Noise | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        size = group_size(require_relation(neighbors))
        moved = Moved(size, Fraction(size), 1)
        noise = read_noise(moved, neighbors, noise=noise, epsilon=epsilon, delta=delta, rho=rho)
        assign(self, noise=noise, neighbors=neighbors)

    def error(self, confidence: float = 0.95) -> float:
        """Return the noise's error."""
        return self.noise.error(confidence)

    def release(self, value: Sequence[object] | NDArray[np.generic], *, bits: BitSource = SYSTEM) -> Release[int]:
        """Return the private count; `value` holds the rows."""
        (count,) = noisy([present(value)], self.noise, bits)
        return Release(count, self)


def count(
    values: Sequence[object] | NDArray[np.generic],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[int]:
    """Release the number of rows that are not missing.

    >>> answer = count(range(1203), epsilon="0.1")
    >>> answer.error(confidence=0.95), isinstance(answer.value, int)
    (30.0, True)
    """
    return Count(epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors).release(values)
