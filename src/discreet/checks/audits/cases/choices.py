"""Choices by score: one score rises while the others fall, and one count rises alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import flipped, laplace_winner, ordered, softmax
from discreet.mechanisms import Exponential, Mode, NoisyMax, RaceNoise, TopK, TopKMethod
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["cases"]

_WINNERS = {RaceNoise.EXPONENTIAL: flipped, RaceNoise.GUMBEL: softmax, RaceNoise.LAPLACE: laplace_winner}


def _winner(mechanism: Exponential | NoisyMax, scores: Sequence[float]) -> dict[int, float]:
    scale = float((1 if mechanism.monotone else 2) * mechanism.sensitivity / mechanism.epsilon)
    return dict(
        enumerate((softmax if isinstance(mechanism, Exponential) else _WINNERS[mechanism.noise])(scores, scale))
    )


def _best(mechanism: TopK, scores: Sequence[float]) -> dict[str, float]:
    scale = float((1 if mechanism.monotone else 2) * mechanism.sensitivity / mechanism.round_epsilon)
    winner = softmax if mechanism.method is TopKMethod.GUMBEL else flipped
    law = ordered(scores, mechanism.k, lambda left: winner(left, scale))
    return {str(list(order)): chance for order, chance in law.items()}


def _mode(mechanism: Mode, rows: Sequence[Hashable]) -> dict[Hashable, float]:
    factor = 1 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 2
    counts = [rows.count(candidate) for candidate in mechanism.candidates]
    return dict(zip(mechanism.candidates, flipped(counts, float(factor / mechanism.epsilon)), strict=True))


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    opposed, mixed = ([2, 0, 0], [1, 1, 1]), ([0, 0, 2], [1, 1, 1])
    best: dict[str, Any] = {"sensitivity": 1, "epsilon": 2}
    exchanged = Mode("ab", epsilon=2, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("one up, the other down", Exponential(1, epsilon=2), [2, 0], [1, 1], draws=2_400, law=_winner),
        Case("one up, thirty down", Exponential(1, epsilon=2), [4, *[0] * 30], [5, *[-1] * 30], law=_winner),
        Case("a count up", Exponential(1, epsilon=1, monotone=True), [3, 3, 2], [3, 4, 2], law=_winner),
        *(Case(noise.value, NoisyMax(1, epsilon=2, noise=noise), *opposed, law=_winner) for noise in RaceNoise),
        Case("small epsilon", NoisyMax(1, epsilon=1), *opposed, law=_winner),
        Case("behind by much", NoisyMax(1, epsilon=2), [3, 0], [2, 1], law=_winner),
        Case("a count up", NoisyMax(1, epsilon=1, monotone=True), [3, 3, 2], [3, 4, 2], law=_winner),
        Case("peeled", TopK(2, **best), *mixed, law=_best),
        Case("one shot", TopK(2, **best, method="gumbel"), *mixed, law=_best),
        Case("with a delta", TopK(2, **best, delta="0.01"), *mixed, delta="0.01", law=_best),
        Case("a count up", TopK(2, **best, monotone=True), [1, 1, 0], [1, 1, 1], law=_best),
        Case("a row missing", Mode("abc", epsilon=1), list("aabc"), list("aab"), law=_mode),
        Case("a row exchanged", exchanged, list("aaab"), list("aabb"), law=_mode, draws=2_400),
        Case("far behind", exchanged, list("aaaab"), list("aaabb"), law=_mode),
    )
