"""Deliberately broken mechanisms, each beside the right one that makes the same claim on the same neighbors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import noise
from discreet import privacy as p
from discreet.checks.audits import Canaries, audit
from discreet.mechanisms import DiscreteLaplace, Histogram, Laplace, NoisyMax, PartitionSelection, Sum
from tests.audits.counterexamples import SPARSE_PAIRS, VARIANTS
from tests.audits.test_float_attacks import porous, textbook

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.checks.audits import Audit, OneRun
    from discreet.checks.audits.black_box import Sampler
    from discreet.noise import BitSource
    from discreet.privacy import Curve

    Auditor = Callable[..., Audit | OneRun]

CONFIDENCE = "0.999999999"


@dataclass(frozen=True)
class Entry:
    """A claim, a target that breaks it and one that keeps it, on neighbors; each target with its own where they differ.

    `also` is what the auditor is told besides.
    """

    flaw: str
    claim: Curve
    broken: Any
    right: Any
    neighbors: Any
    of_right: Any = None
    also: dict[str, Any] = field(default_factory=dict)

    def audited(
        self, *, right: bool, bits: BitSource, auditor: Callable[..., Audit | OneRun] = audit
    ) -> Audit | OneRun:
        target, neighbors = (self.right, self.of_right or self.neighbors) if right else (self.broken, self.neighbors)
        return auditor(target, neighbors, claim=self.claim, confidence=CONFIDENCE, bits=bits, **self.also)


def sparse(variant: int, pair: int) -> tuple[Sampler, Sampler]:
    first, second, cutoff = SPARSE_PAIRS[pair]
    return VARIANTS[variant].sampler(first, 1.0, cutoff), VARIANTS[variant].sampler(second, 1.0, cutoff)


def holes(value: float) -> Sampler:
    """NumPy's Laplace noise in floats, looked at for outputs that the other input cannot give."""
    return lambda count, _: porous(textbook(value, count, 1 + int(value)))


def no_holes(value: float) -> Sampler:
    def run(count: int, bits: BitSource) -> NDArray[np.int64]:
        return porous(np.array([Laplace(1, epsilon=1).release(value, bits=bits).value for _ in range(count)]))

    return run


def step(clip: float) -> Callable[[NDArray[np.bool_], BitSource], NDArray[np.float64]]:
    """One noisy gradient step of a linear model from zero; canaries are far-off points on axes of their own.

    The noise is for gradients of norm 1. Clipped to it they are; as they come, they have norm 20.
    """

    def run(included: NDArray[np.bool_], bits: BitSource) -> NDArray[np.float64]:
        gradients = 20.0 * np.eye(included.size)[included]
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients * np.minimum(1.0, clip / norms)).sum(axis=0)
        return np.asarray(total + noise.gaussian(SIGMA, "1/65536", included.size, bits))

    return run


SIGMA = 2
MANY: dict[str, Any] = {"draws": 3_000}


def choices() -> list[Entry]:
    """Too little noise, in numbers and choices."""
    return [
        Entry(
            "half the noise",
            p.pure(1),
            DiscreteLaplace(1, epsilon=2),
            DiscreteLaplace(1, epsilon=1),
            (0, 1),
            also=MANY,
        ),
        Entry(
            "a quarter of noisy max's cost",
            p.pure(1),
            NoisyMax(1, epsilon=4),
            NoisyMax(1, epsilon=1),
            ([0, 0], [1, -1]),
            also={"look": int, **MANY},
        ),
        Entry(
            "a threshold for a larger delta",
            p.approximate(epsilon=1, delta="0.02"),
            PartitionSelection(epsilon=1, delta="0.4"),
            PartitionSelection(epsilon=1, delta="0.02"),
            ({}, {"a": 1}),
            also={"look": len, "delta": "0.02", "draws": 1_000},
        ),
    ]


def floats() -> list[Entry]:
    """Sparse vectors as they were published, and noise in floats."""
    return [
        *(
            Entry(
                f"sparse vector variant {number}",
                p.sparse_vector(1.0),
                sparse(number, number)[0],
                sparse(1, number)[0],
                sparse(number, number)[1],
                of_right=sparse(1, number)[1],
                also={"draws": 150_000},
            )
            for number in SPARSE_PAIRS
        ),
        Entry(
            "NumPy's Laplace noise, with its holes",
            p.laplace(1),
            holes(1.0),
            no_holes(1.0),
            holes(0.0),
            of_right=no_holes(0.0),
            also={"draws": 1_000},
        ),
    ]


def sums() -> list[Entry]:
    """Sensitivities that forget rows or cells."""
    return [
        Entry(
            "a sum whose sensitivity is the number of rows",
            p.pure(1),
            Sum(lower=-5, upper=5, epsilon=5, grid=1),
            Sum(lower=-5, upper=5, epsilon=1, grid=1),
            ([], [5]),
            also=MANY,
        ),
        Entry(
            "each cell of a histogram for the whole price",
            p.pure(1),
            Histogram([0, 1, 2], epsilon=2, neighbors=p.NeighborRelation.CHANGE_ONE),
            Histogram([0, 1, 2], epsilon=1, neighbors=p.NeighborRelation.CHANGE_ONE),
            ([0], [1]),
            also={"look": list, **MANY},
        ),
    ]


def trainings() -> list[Entry]:
    """Training steps, each in one run with canaries."""
    return [
        Entry(
            "unclipped gradients",
            p.gaussian(sigma=SIGMA),
            step(clip=100.0),
            step(clip=1.0),
            Canaries(1000),
            also={"delta": "1e-5"},
        ),
        Entry(
            "unclipped gradients, the noise vouched for",
            p.gaussian(sigma=SIGMA),
            step(clip=4.0),
            step(clip=1.0),
            Canaries(4000),
            also={"delta": "1e-5", "assuming": "gaussian"},
        ),
    ]


def corpus() -> list[Entry]:
    """Everything that the auditor must flag."""
    return [*choices(), *floats(), *sums(), *trainings()]
