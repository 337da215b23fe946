"""The sparse vector of `methods.adaptive`: what it compares, and the numbers that it shows of answers above."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.cases.above_threshold import law_of_runs
from discreet.methods.adaptive import SparseVector
from discreet.privacy import curves

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_REACH = 60


def _runs(vector: SparseVector, answers: Sequence[int]) -> dict[str, float]:
    return law_of_runs(vector.core, answers)


def rounded_laplace(scale: float, reach: int) -> dict[int, float]:
    """Return the chances of Laplace noise that is rounded to whole numbers, the rest at the ends.

    >>> round(sum(rounded_laplace(2.0, 9).values()), 12)
    1.0
    """

    def below(x: float) -> float:
        return math.exp(x / scale) / 2 if x < 0 else 1 - math.exp(-x / scale) / 2

    inner = {z: below(z + 0.5) - below(z - 0.5) for z in range(1 - reach, reach)}
    return inner | {-reach: below(0.5 - reach), reach: below(0.5 - reach)}


def _numbers(vector: SparseVector, answers: Sequence[int]) -> dict[str, float]:
    """One question: whether it is above, and then its value with noise of its own."""
    assert vector.number is not None  # noqa: S101 - by the case
    runs = law_of_runs(vector.core, answers)
    law = {str((None,)): runs[str((False,))]}
    for noise, chance in rounded_laplace(float(vector.number.scale), _REACH).items():
        law[str((float(answers[0] + noise),))] = runs[str((True,))] * chance
    return law


def cases() -> tuple[Case, ...]:
    """Return the pairs."""

    def made(epsilon: int, above: int = 1, numbers: str = "0", *, monotone: bool = False) -> SparseVector:
        return SparseVector(
            0,
            sensitivity=1,
            epsilon=epsilon,
            above=above,
            numbers=numbers,
            monotone=monotone,
            grid=1,
            inputs="snapped",
        )

    return (
        Case("one above", made(2), [0, 0, 1], [1, 1, 0], law=_runs, draws=2_000),
        Case("two above", made(2, 2), [0, 1, 1], [1, 0, 0], law=_runs, draws=2_000),
        Case("counts", made(2, monotone=True), [0, 0, 0], [1, 1, 1], law=_runs, draws=2_000),
        Case(
            "with a number",
            made(2, numbers="1/2"),
            [0],
            [1],
            law=_numbers,
            draws=4_000,
            claim=curves.sparse_vector(2),  # the composed curve is the smaller one, and takes long to compute
        ),
    )
