"""The reusable holdout of `methods.adaptive`: one row, of which everything depends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.cases.sparse_vector import rounded_laplace
from discreet.methods.adaptive import AnswerNoise, Thresholdout
from discreet.privacy import Pure, curves

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_REACH = 70  # the widest noise has a scale of 4 steps, the threshold's of 2


def _rounded_gaussian(sigma: float, reach: int) -> dict[int, float]:
    def below(x: float) -> float:
        return math.erfc(-x / sigma / math.sqrt(2)) / 2

    inner = {z: below(z + 0.5) - below(z - 0.5) for z in range(1 - reach, reach)}
    return inner | {-reach: below(0.5 - reach), reach: below(0.5 - reach)}


def _law(made: Thresholdout, pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Every run of answers, in steps: from the formulas of the paper, and the clipped answers from the holdout."""
    steps = int(1 / made.run.grid.step)
    moved, rate = steps // made.holdout_size, float(1 / (2 * made.tolerance * made.holdout_size))
    bar_fall, fall = math.exp(-rate / 2 / moved), math.exp(-rate / 4 / moved)
    spread = moved / rate
    noise = rounded_laplace(spread, _REACH) if made.noise is AnswerNoise.LAPLACE else _rounded_gaussian(spread, _REACH)

    def at_least(k: int) -> float:
        return fall**k / (1 + fall) if k > 0 else 1 - fall ** (1 - k) / (1 + fall)

    def fresh(place: int, left: int) -> dict[tuple[float, ...], float]:
        if not left or place == len(pairs):
            return {(): 1.0}
        law: dict[tuple[float, ...], float] = {}
        after = [fresh(later + 1, left - 1) for later in range(place, len(pairs))]
        for z in range(-_REACH, _REACH + 1):
            weight = (1 - bar_fall) / (1 + bar_fall) * bar_fall ** abs(z)
            bar = made.run.grid.steps(made.threshold) + z
            told: tuple[float, ...] = ()
            for later, (train, holdout) in enumerate(pairs[place:]):
                above = at_least(bar - round(abs(train - holdout) * steps))
                for noisy, chance in noise.items():
                    answer = min(1.0, max(0.0, holdout + noisy / steps))
                    for rest, more in after[later].items():
                        key = (*told, answer, *rest)
                        law[key] = law.get(key, 0.0) + weight * above * chance * more
                weight, told = weight * (1 - above), (*told, train)
            law[told] = law.get(told, 0.0) + weight
        return law

    return {str(answers): chance for answers, chance in fresh(0, made.answers).items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""

    def case(name: str, noise: str, answers: int, pairs: Sequence[tuple[float, float]]) -> Case:
        """One row's value at each question: 1 where it was 0."""
        made = Thresholdout(1, threshold="1/2", tolerance="1/2", answers=answers, noise=noise, grid=1, inputs="snapped")
        other = [(train, 1.0 - holdout) for train, holdout in pairs]
        claim = made.claim
        # The pure claim is what a release says; the curve of its parts is smaller, and takes long to compute.
        curve = curves.pure(claim.epsilon, neighbors=claim.neighbors) if isinstance(claim, Pure) else made.privacy
        return Case(name, made, pairs, other, law=_law, draws=4_000, claim=curve)

    same, apart = (0.0, 0.0), (0.0, 1.0)
    return (
        case("one answer", "laplace", 1, [same, same, same, apart]),
        case("two answers", "laplace", 2, [same, same, apart, apart]),
        case("one answer with Gaussian noise", "gaussian", 1, [same, same, same, apart]),
    )
