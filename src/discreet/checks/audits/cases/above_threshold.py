"""The sparse vector: answers below move up while the answers above move down."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.mechanisms import AboveThreshold

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases", "law_of_runs"]

_REACH = 400


def _laplace(scale: float, reach: int) -> dict[int, float]:
    fall = math.exp(-1 / scale)
    return {z: (1 - fall) / (1 + fall) * fall ** abs(z) for z in range(-reach, reach + 1)}


def law_of_runs(mechanism: AboveThreshold, answers: Sequence[int]) -> dict[str, float]:
    """Every run of answers: given the noisy threshold they are independent until the last one above.

    >>> vector = AboveThreshold(0, sensitivity=1, grid=1, inputs="snapped", epsilon=2)
    >>> round(sum(law_of_runs(vector, [0, 1]).values()), 9)
    1.0
    """
    moved = int(mechanism.sensitivity / mechanism.grid.step)
    first = float(mechanism.epsilon * mechanism.share)
    rest = float(mechanism.epsilon * (1 - mechanism.share))
    fall = math.exp(-rest / ((1 if mechanism.monotone else 2) * mechanism.above * moved))

    def at_least(k: int) -> float:
        return fall**k / (1 + fall) if k > 0 else 1 - fall ** (1 - k) / (1 + fall)

    law: dict[str, float] = {}
    for noise, chance in _laplace(moved / first, _REACH).items():
        bar = int(mechanism.threshold) + noise
        for run in product((False, True), repeat=len(answers)):
            ends = [i for i, above in enumerate(run) if above][: mechanism.above]
            told = run[: ends[-1] + 1] if len(ends) == mechanism.above else run
            if len(told) < len(run) and any(run[len(told) :]):
                continue  # counted once, with nothing above after the end
            weight = chance
            for answer, above in zip(answers, told, strict=False):
                weight *= at_least(bar - answer) if above else 1 - at_least(bar - answer)
            law[str(told)] = law.get(str(told), 0.0) + weight
    return law


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    whole = {"sensitivity": 1, "grid": 1, "inputs": "snapped"}

    def made(epsilon: int, above: int = 1, *, monotone: bool = False) -> AboveThreshold:
        return AboveThreshold(0, **whole, epsilon=epsilon, above=above, monotone=monotone)  # type: ignore[arg-type]

    return (
        Case("one above", made(2), [0, 0, 1], [1, 1, 0], law=law_of_runs, draws=2_000),
        Case("two above", made(2, 2), [0, 1, 1], [1, 0, 0], law=law_of_runs, draws=2_000),
        Case("all move up", made(2, monotone=True), [0, 0, 0], [1, 1, 1], law=law_of_runs, draws=2_000),
    )
