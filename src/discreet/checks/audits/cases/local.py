"""The local model: two values of a tiny domain, and the law of all messages."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.audits.case import Case
from discreet.methods.local import (
    Direct,
    DistanceScores,
    Hadamard,
    LocalHashing,
    LocalMean,
    OptimizedUnary,
    PlanarLaplace,
    ProjectiveGeometry,
    SubsetSelection,
    Unary,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.local import Oracle, Randomizer
    from discreet.noise import BitSource

__all__ = ["cases", "messages"]


def messages(oracle: Oracle, item: int, count: int, bits: BitSource) -> NDArray[Any]:
    """Draw many reports of one item, bytes as one number."""
    sent = oracle.report(np.full(count, item), bits=bits).messages
    return sent if sent.ndim == 1 else (sent.astype(np.int64) @ 256 ** np.arange(sent.shape[1])[::-1]).astype(np.int64)


def _grown(oracle: Oracle) -> float:
    return math.exp(float(oracle.epsilon))


def _direct(oracle: Oracle, item: int) -> dict[int, float]:
    total = _grown(oracle) + oracle.items - 1
    return {answer: (_grown(oracle) if answer == item else 1) / total for answer in range(oracle.items)}


def _packed(bits: tuple[int, ...]) -> int:
    """The first item's bit is the highest of its byte."""
    return int("".join(map(str, bits)).ljust(8, "0"), 2)


def _unary(oracle: Oracle, item: int) -> dict[int, float]:
    grown = _grown(oracle)
    basic = type(oracle) is Unary
    one = math.sqrt(grown) / (1 + math.sqrt(grown)) if basic else 0.5
    other = 1 - one if basic else 1 / (1 + grown)
    law = {}
    for bits in itertools.product((0, 1), repeat=oracle.items):
        chances = [one if place == item else other for place in range(oracle.items)]
        law[_packed(bits)] = math.prod(c if bit else 1 - c for c, bit in zip(chances, bits, strict=True))
    return law


def _hashed(oracle: LocalHashing, item: int) -> dict[int, float]:
    """Matrices of one or two rows; the message is the matrix's digits, then the hash's."""
    base, rows = (2, 2) if oracle.hashes == 4 else (oracle.hashes, 1)
    places = next(t for t in itertools.count(1) if base**t >= oracle.items)
    vector = [item // base ** (places - 1 - at) % base for at in range(places)]
    law = {}
    for matrix in itertools.product(range(base), repeat=rows * places):
        true = [sum(matrix[r * places + at] * vector[at] for at in range(places)) % base for r in range(rows)]
        for told in itertools.product(range(base), repeat=rows):
            number = 0
            for digit in (*matrix, *told):
                number = number * base + digit
            weight = _grown(oracle) if list(told) == true else 1
            law[number] = weight / (_grown(oracle) + oracle.hashes - 1) / base ** (rows * places)
    return law


def _subsets(oracle: SubsetSelection, item: int) -> dict[int, float]:
    sets = list(itertools.combinations(range(oracle.items), oracle.size))
    weights = [_grown(oracle) if item in chosen else 1.0 for chosen in sets]
    codes = [_packed(tuple(int(place in chosen) for place in range(oracle.items))) for chosen in sets]
    return {code: weight / sum(weights) for code, weight in zip(codes, weights, strict=True)}


def _points(oracle: ProjectiveGeometry, item: int) -> dict[int, float]:
    """Points in the order of how many digits follow the first one, then of these."""
    places = next(t for t in itertools.count(2) if (oracle.field**t - 1) // (oracle.field - 1) >= oracle.items)
    points = [
        (0,) * (places - 1 - free) + (1, *rest)
        for free in range(places)
        for rest in itertools.product(range(oracle.field), repeat=free)
    ]
    on = [sum(a * b for a, b in zip(points[item], point, strict=True)) % oracle.field == 0 for point in points]
    weights = [_grown(oracle) if here else 1.0 for here in on]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


def _leaning(mean: LocalMean, value: int) -> dict[int, float]:
    """Ends of the bounds: of four steps two messages are near, of one step one; each coordinate is as likely."""
    near = {1: 1, 4: 2}[mean.steps]
    first, every = value * mean.steps, mean.steps + near
    weights = [math.exp(float(mean.epsilon)) if first <= told < first + near else 1.0 for told in range(every)]
    law = {told: weight / sum(weights) / mean.dimensions for told, weight in enumerate(weights)}
    return {which * every + told: chance for which in range(mean.dimensions) for told, chance in law.items()}


def _column(planar: PlanarLaplace, cell: tuple[int, int]) -> dict[int, float]:
    """Two cells: the noise passes half a cell with the tail of its marginal, l^2 |x| K_1(l |x|) / pi."""
    from scipy.integrate import quad
    from scipy.special import k1

    rate = float(planar.per_cell)
    beyond = quad(lambda x: rate**2 * x * k1(rate * x) / math.pi, 0.5, 60 / rate)[0]
    return {cell[0]: 1 - beyond, 1 - cell[0]: beyond}


def _near(scores: DistanceScores, cell: tuple[int, int]) -> dict[int, float]:
    """Every cell's weight falls with its distance, the largest of which takes half of epsilon."""
    every = list(itertools.product(range(scores.columns), range(scores.rows)))
    rate = float(scores.epsilon) / (2 * (scores.columns + scores.rows - 2))
    weights = [math.exp(-rate * (abs(x - cell[0]) + abs(y - cell[1]))) for x, y in every]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


def _values(randomizer: Randomizer, value: Any, count: int, bits: BitSource) -> NDArray[Any]:  # noqa: ANN401
    """Draw many reports of one value, or one row of coordinates."""
    size = getattr(randomizer, "dimensions", 2)
    rows = np.tile(np.asarray(value, dtype=np.float64), (count, size if np.ndim(value) == 0 else 1))
    return randomizer.report(rows, bits=bits).messages


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    rest: dict[str, Any] = {"draw": messages, "draws": 4_000}
    return (
        Case("three items", Direct(3, epsilon=1), 0, 2, law=_direct, tight=True, **rest),
        Case("three bits", Unary(3, epsilon=1), 0, 2, law=_unary, **rest),
        Case("three bits", OptimizedUnary(3, epsilon=1), 0, 2, law=_unary, **rest),
        Case("four hashes", LocalHashing(2, epsilon=1, hashes=4), 0, 1, law=_hashed, **rest),
        Case("two places", LocalHashing(5, epsilon=1, hashes=3), 1, 4, law=_hashed, **rest),
        Case("four items", Hadamard(4, epsilon=1), 0, 3, law=_hashed, **rest),
        Case("sets of two", SubsetSelection(4, epsilon=1, size=2), 0, 3, law=_subsets, **rest),
        Case("a plane of seven points", ProjectiveGeometry(7, epsilon=1, field=2), 0, 6, law=_points, **rest),
        Case("thirteen points", ProjectiveGeometry(13, epsilon=1, field=3), 4, 11, law=_points, **rest),
        Case("a coin", LocalMean(0, 1, epsilon=1, steps=1), 0, 1, _values, law=_leaning, draws=4_000),
        Case("four steps", LocalMean(0, 1, epsilon=1, steps=4), 0, 1, _values, law=_leaning, draws=4_000),
        Case("coordinates", LocalMean(0, 1, epsilon=1, dimensions=2), 0, 1, _values, law=_leaning, draws=4_000),
        Case("corners", DistanceScores(2, 3, epsilon=3), (0, 0), (1, 2), _values, law=_near, draws=4_000),
        Case("two cells", PlanarLaplace(2, 1, per_cell=2), (0, 0), (1, 0), _values, law=_column, draws=4_000),
    )
