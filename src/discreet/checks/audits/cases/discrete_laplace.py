"""Discrete Laplace noise: neighbors a whole sensitivity apart, in one coordinate or spread over several."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import discrete_law
from discreet.mechanisms import DiscreteLaplace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]


def _law(mechanism: DiscreteLaplace, value: int) -> dict[int, float]:
    return discrete_law(lambda z: math.exp(-abs(z) / float(mechanism.scale)), value, -40, 40)


def _many(mechanism: DiscreteLaplace, value: int, count: int, bits: BitSource) -> NDArray[np.int64]:
    """One call for many counts, as a large histogram is released."""
    found = mechanism.release(np.full(count, value), bits=bits).value
    return np.asarray(found, dtype=np.int64)


def _totals(mechanism: DiscreteLaplace, value: list[int], count: int, bits: BitSource) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.asarray(mechanism.release(np.tile(value, (count, 1)), bits=bits).value).sum(axis=1)
    return found


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    return (
        Case("a count", DiscreteLaplace(1, epsilon=1), 0, 1, law=_law, tight=True),
        Case("many counts in one call", DiscreteLaplace(1, epsilon="1/2"), 7, 6, _many, law=_law, draws=20_000),
        Case("a sum of up to 3", DiscreteLaplace(3, epsilon=1), 0, 3, law=_law),
        Case("three counts moved at once", DiscreteLaplace(3, epsilon=2), [0, 0, 0], [1, 1, 1], _totals, draws=20_000),
    )
