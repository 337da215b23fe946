"""Streams of sums, one case for each factorization: an event that comes at the first step, where it moves most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.checks.audits.case import Case, in_cells
from discreet.checks.audits.laws import normal_above
from discreet.mechanisms.prefix import (
    Banded,
    BinaryTree,
    Buffered,
    EveryElement,
    EveryOutput,
    Factorization,
    KaryTree,
    SquareRoot,
    WeightedTree,
)
from discreet.mechanisms.release import Release
from discreet.methods.streaming import ContinualSum
from discreet.methods.streaming.elements import read_elements
from discreet.methods.streaming.prefix_sum import Running
from discreet.noise import SYSTEM
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.noise import BitSource
    from discreet.privacy import Curve

__all__ = ["Stream", "cases"]

_EDGES = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0)

Matrix = list[list[int]]


@dataclass(frozen=True)
class Stream:
    """A stream that is run from its first step to its last.

    >>> Stream(ContinualSum(3, 1, rho=10**6, grid=1)).release([1, 1, 1]).value.tolist()
    [1.0, 2.0, 3.0]
    """

    kind: ClassVar[str] = "continual_sum"

    promise: ContinualSum

    @property
    def privacy(self) -> Curve:
        """That of all sums."""
        return self.promise.privacy

    def release(self, value: Sequence[float], *, bits: BitSource = SYSTEM) -> Release[Any]:
        """Return all sums."""
        rows = read_elements(list(value), self.promise, many=True)
        sums = Running(self.promise).extend(rows, bits)[:, 0]
        return Release(sums, self.promise, MappingProxyType({"first": 1, "step": len(rows)}))


def _law(decoder: Matrix, per_noise: int) -> Callable[[Stream, Sequence[int]], dict[str, float]]:
    """Write the law of all sums with whole-number weights of Laplace noises of scale per_noise / epsilon."""

    def law(stream: Stream, elements: Sequence[int]) -> dict[str, float]:
        scale = per_noise / float(stream.promise.epsilon or 1)
        fall, reach = math.exp(-1 / scale), math.ceil(31 * scale)
        chances = [(z, (1 - fall) / (1 + fall) * fall ** abs(z)) for z in range(-reach, reach + 1)]
        found = {tuple(np.cumsum(elements).tolist()): 1.0}
        for column in zip(*decoder, strict=True):
            moved: dict[tuple[int, ...], float] = {}
            for sums, before in found.items():
                for z, chance in chances:
                    place = tuple(total + weight * z for total, weight in zip(sums, column, strict=True))
                    moved[place] = moved.get(place, 0.0) + before * chance
            found = moved
        return {str([float(total) for total in sums]): chance for sums, chance in found.items()}

    return law


def _cells(encoder: list[float], decoder: list[float]) -> Callable[[Stream, Sequence[float]], dict[int, float]]:
    """Write the law of the last sum in cells: normal, by the lengths of a column of C and a row of B."""

    def law(stream: Stream, elements: Sequence[float]) -> dict[int, float]:
        sigma = math.dist(encoder, [0] * len(encoder)) * math.dist(decoder, [0] * len(decoder))
        sigma /= math.sqrt(2 * float(stream.promise.rho or 1))
        below = [0.0, *(1 - _above((edge + 0.01 - sum(elements)) / sigma) for edge in _EDGES), 1.0]
        return {place: below[place + 1] - below[place] for place in range(len(below) - 1)}

    return law


def _above(x: float) -> float:
    return normal_above(x) if x >= 0 else 1 - normal_above(-x)


def _toeplitz(series: list[float]) -> tuple[list[float], list[float]]:
    """Return the first column of C, and the last row of A C^-1."""
    count = len(series)
    encoder = np.array([[series[i - j] if i >= j else 0.0 for j in range(count)] for i in range(count)])
    decoder = np.tril(np.ones((count, count))) @ np.linalg.inv(encoder)
    return series, decoder[-1].tolist()


def _buffered(factorization: Buffered) -> tuple[list[float], list[float]]:
    pairs = list(zip(factorization.filter.decays, factorization.filter.weights, strict=True))
    later = [float(sum(weight * decay**k for decay, weight in pairs)) for k in range(factorization.horizon - 1)]
    return _toeplitz([1.0, *later])


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    last = in_cells([edge + 0.01 for edge in _EDGES], lambda value: float(value[-1]))

    def whole(name: str, factorization: Factorization, decoder: Matrix, moved: int, **how: Any) -> Case:  # noqa: ANN401
        steps = factorization.horizon
        promise = ContinualSum(
            steps, 1, epsilon=2, grid=1, elements="totals", factorization=factorization, **{"events": None, **how}
        )
        elements = [1] * min(promise.events or 1, steps) + [0] * (steps - min(promise.events or 1, steps))
        return Case(name, Stream(promise), elements, [0] * steps, draw=_listed, law=_law(decoder, moved), draws=4_000)

    def fine(name: str, factorization: Factorization, rows: tuple[list[float], list[float]], **how: Any) -> Case:  # noqa: ANN401
        steps = factorization.horizon
        promise = ContinualSum(steps, 1, rho="1/2", factorization=factorization, **how)
        elements = [1.0] + [0.0] * (steps - 1)
        return Case(
            name,
            Stream(promise),
            elements,
            [0.0] * steps,
            draw=last,
            law=_cells(*rows),
            coarse=True,
            delta="1e-3",
            draws=4_000,
        )

    changed = {"neighbors": NeighborRelation.CHANGE_ONE}
    return (
        whole("every output", EveryOutput(2), [[1, 0], [0, 1]], 2),
        whole("every element", EveryElement(2), [[1, 0], [1, 1]], 1),
        whole("binary tree", BinaryTree(2), [[1, 0], [0, 1]], 2),
        whole("k-ary tree with subtraction", KaryTree(2, 3, 2), [[1, 0, 0], [0, 1, -1]], 2),
        whole("two events of a person", BinaryTree(2), [[1, 0], [0, 1]], 4, events=2),
        whole("an event exchanged", EveryElement(2), [[1, 0], [1, 1]], 2, **changed),
        fine("weighted tree", WeightedTree(2), ([1.0, 1.0], [2 / 3, 1 / 3, 1 / 3])),
        fine("square root", SquareRoot(4), _toeplitz([1.0, 0.5, 0.375, 0.3125])),
        fine("banded", Banded(4, 2), _toeplitz([1.0, 0.5, 0.0, 0.0])),
        fine("buffered", Buffered(6, 2), _buffered(Buffered(6, 2))),
    )


def _listed(mechanism: Any, value: Any, count: int, bits: BitSource) -> Any:  # noqa: ANN401  as Draw
    """Release so often: all sums, as text."""
    return np.array([str(mechanism.release(value, bits=bits).value.tolist()) for _ in range(count)])
