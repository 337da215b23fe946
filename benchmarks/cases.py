"""What every noise library is asked for, and the law its answers are checked against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Batch = Callable[[int], object]
    Single = Callable[[], float]

GRID_EXPONENT = -10
"""Float noise is drawn on the multiples of 2**GRID_EXPONENT where a library lets the caller choose."""


class Family(Enum):
    """A family of noise."""

    DISCRETE_LAPLACE = "discrete Laplace"
    DISCRETE_GAUSSIAN = "discrete Gaussian"
    LAPLACE = "Laplace on floats"
    GAUSSIAN = "Gaussian on floats"


@dataclass(frozen=True, slots=True)
class Case:
    """A family at one scale (the Gaussians' standard deviation)."""

    family: Family
    scale: int

    def __str__(self) -> str:
        return f"{self.family.value}, scale {self.scale:g}"


BATCH_CASES = (
    *(Case(family, scale) for family in list(Family)[:2] for scale in (1, 10, 1_000, 1_000_000)),
    *(Case(family, scale) for family in list(Family)[2:] for scale in (1, 1_000)),
)
SINGLE_CASES = tuple(Case(family, 10) for family in Family)
LATENCY_CASES = tuple(Case(family, scale) for family in list(Family)[:2] for scale in (10, 1_000))


class Library(Protocol):
    """A module of `benchmarks.libraries`.

    `DISTRIBUTIONS` are the installed packages whose versions are reported; `batches` names each honest way of making
    many draws (none: the library has no such noise), `single` makes one draw a call, `references` names what is timed
    beside the noise: a floor below it or a cost around it.
    """

    DISTRIBUTIONS: tuple[str, ...]

    def batches(self, case: Case) -> Mapping[str, Batch]:
        """Return the ways to make n draws."""
        ...

    def single(self, case: Case) -> Single | None:
        """Return the fastest way to make one draw, if there is one."""
        ...

    def references(self) -> Mapping[str, Batch]:
        """Return what is no noise and is timed all the same."""
        ...


def expected_magnitude(case: Case) -> float:
    """Return the mean of |Z|, summed for discrete laws; far more digits than a sanity check needs.

    >>> round(expected_magnitude(Case(Family.DISCRETE_LAPLACE, 1)), 4)
    0.8509
    >>> round(expected_magnitude(Case(Family.DISCRETE_GAUSSIAN, 1)), 4)
    0.7276
    """
    scale = case.scale
    if case.family is Family.DISCRETE_LAPLACE:
        return 1 / math.sinh(1 / scale)  # sum of |z| p^|z| over sum of p^|z| = 2p / (1 - p^2), p = exp(-1/scale)
    if case.family is Family.LAPLACE:
        return float(scale)
    if case.family is Family.GAUSSIAN or scale > 100:  # noise is then far wider than the integers' spacing
        return scale * math.sqrt(2 / math.pi)
    weights = [math.exp(-(z * z) / (2 * scale * scale)) for z in range(1, 12 * scale)]
    return 2 * sum(z * weight for z, weight in enumerate(weights, start=1)) / (1 + 2 * sum(weights))
