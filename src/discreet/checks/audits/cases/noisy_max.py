"""Report noisy max, with each noise: one score rises while the others fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import flipped, laplace_winner, softmax
from discreet.mechanisms import NoisyMax, RaceNoise

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_WINNERS = {RaceNoise.EXPONENTIAL: flipped, RaceNoise.GUMBEL: softmax, RaceNoise.LAPLACE: laplace_winner}


def _law(mechanism: NoisyMax, scores: Sequence[float]) -> dict[int, float]:
    factor = 1 if mechanism.monotone else 2
    scale = float(factor * mechanism.sensitivity / mechanism.epsilon)
    return dict(enumerate(_WINNERS[mechanism.noise](scores, scale)))


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    opposed = [2, 0, 0], [1, 1, 1]
    return (
        *(Case(noise.value, NoisyMax(1, epsilon=2, noise=noise), *opposed, law=_law) for noise in RaceNoise),
        Case("small epsilon", NoisyMax(1, epsilon=1), *opposed, law=_law),
        Case("behind by much", NoisyMax(1, epsilon=2), [3, 0], [2, 1], law=_law),
        Case("a count up", NoisyMax(1, epsilon=1, monotone=True), [3, 3, 2], [3, 4, 2], law=_law),
    )
