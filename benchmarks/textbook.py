"""Numbers that lectures print about differential privacy, computed by the mechanisms of this package.

Some lectures print them wrongly; the page of corrections says which.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Direction, Figure, Target
from discreet import mechanisms as dp
from discreet.noise import SYSTEM, laplace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.noise import BitSource

EPSILON = Fraction(1, 2)
DRAWS = 200_000
PEOPLE = (100, 10_000)


@dataclass(frozen=True, slots=True)
class Number:
    """A printed number, what the package computes or draws for it, and how far apart they may be, relatively."""

    name: str
    printed: float
    found: float
    tolerance: float

    @property
    def off(self) -> float:
        """How far apart they are, relatively.

        >>> Number("one", 2.0, 3.0, 0.1).off
        0.5
        """
        return abs(self.found / self.printed - 1)


def squared(errors: NDArray[np.float64] | NDArray[np.int64]) -> float:
    """Add up the mean squares of several errors, in units of 1 / epsilon^2."""
    return float((np.asarray(errors, dtype=np.float64) ** 2).mean(axis=0).sum()) * float(EPSILON) ** 2


def four_counts(bits: BitSource) -> tuple[float, float]:
    """Answer four counts (men, men below, women, women below) in two ways, and return the total squared errors.

    The first gives each a quarter of epsilon: 4 * 2 (4 / epsilon)^2. The second asks for the four disjoint cells with
    all of epsilon, and adds: 2 / epsilon^2 for two cells and 4 / epsilon^2 for two sums. Real noise on a fine grid, as
    the printed numbers are those of real noise.
    """
    each = dp.Laplace(1, epsilon=EPSILON / 4)
    cells = dp.Laplace(1, epsilon=EPSILON)
    shape = DRAWS // 4, 4
    first = laplace(each.scale, each.grid, shape, bits)
    drawn = laplace(cells.scale, cells.grid, shape, bits)
    second = np.stack([drawn[:, 0], drawn[:, 0] + drawn[:, 1], drawn[:, 2], drawn[:, 2] + drawn[:, 3]], axis=1)
    return squared(first), squared(second)


def spread_of_counts(people: int, bits: BitSource) -> tuple[float, float]:
    """Return the standard deviation of a count of yeses: from randomized responses, and from one noisy count."""
    response, central = dp.RandomizedResponse(2, truth="3/4"), dp.DiscreteLaplace(1, epsilon=math.log(3))
    truth = np.arange(people) % 2
    runs = max(200, 2_000_000 // people)
    yes = np.array([np.sum(response.release(truth, bits=bits).value) for _ in range(runs)])
    counts = np.asarray(central.release(np.zeros(DRAWS, dtype=np.int64), bits=bits).value)
    return float(yes.std()) / (2 * 0.75 - 1), float(counts.std())


def numbers(bits: BitSource = SYSTEM) -> Iterator[Number]:
    """Compute them all."""
    hundred = dp.RandomizedResponse(100, epsilon=math.log(3))
    yield Number("chance of the true one of 100 places, ε = ln 3: 3/102", 3 / 102, hundred.keep, 1e-12)
    first, second = four_counts(bits)
    yield Number("four counts, a quarter of ε each: 128/ε², × ε²", 128, first, 0.05)
    yield Number("the same from disjoint cells: 12/ε², × ε²", 12, second, 0.05)
    yield Number("95 % of Laplace noise at ε = 0.1 within", 29.957, dp.Laplace(1, epsilon="0.1").error(0.95), 1e-4)
    chosen = dp.Exponential(1, epsilon=EPSILON)
    gap = chosen.score_gap(candidates=4, confidence=1 - math.exp(-3)) * float(EPSILON)
    yield Number("best of 4 nationalities: OPT − 2(ln 4 + 3)/ε, × ε", 8.7726, gap, 1e-4)
    spreads = [spread_of_counts(people, bits) for people in PEOPLE]
    local = spreads[1][0] / spreads[0][0]
    yield Number("local model: 100 × the people, √N times the error", math.sqrt(PEOPLE[1] / PEOPLE[0]), local, 0.15)
    yield Number("central model: the same error for any N", 1.0, spreads[1][1] / spreads[0][1], 0.05)


def figures() -> Iterator[Figure]:
    """List them, each with how far it is from what is printed."""
    for number in numbers():
        target = Target(Direction.AT_MOST, number.tolerance, "relative")
        note = f"printed {number.printed:.6g}, found {number.found:.6g}"
        yield Figure("Numbers of the textbooks", number.name, "discreet", number.off, "off", target=target, note=note)
