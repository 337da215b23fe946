"""The discoveries of `methods.adaptive`: some p-values fall by the factor while others rise by it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.methods.adaptive import Levels, MultiplicativeSensitivity, Paprika
from discreet.privacy import curves

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_REACH = 90


def _law(promise: Paprika, p_values: Sequence[float]) -> dict[str, float]:
    """Every run of decisions: with noise of the written scales, and a fresh threshold after each discovery."""
    rate, share = float(promise.epsilon / promise.discoveries), float(promise.run.share)
    bar_fall, fall = math.exp(-rate * share), math.exp(-rate * (1 - share) / 2)

    def at_least(k: int) -> float:
        return fall**k / (1 + fall) if k > 0 else 1 - fall ** (1 - k) / (1 + fall)

    def run(decided: tuple[bool, ...], weight: float, law: dict[str, float]) -> None:
        """All that may follow these decisions, of which the last was a discovery or there is none."""
        if len(decided) == len(p_values) or sum(decided) == promise.discoveries:
            law[str(decided)] = law.get(str(decided), 0.0) + weight
            return
        found: dict[tuple[bool, ...], float] = {}
        for noise in range(-_REACH, _REACH + 1):
            rule, told = promise.rule(), decided
            for each in decided:
                rule.note(found=each)
            chance = weight * (1 - bar_fall) / (1 + bar_fall) * bar_fall ** abs(noise)
            for p_value in p_values[len(decided) :]:
                value = math.floor(
                    promise.bar(rule.level) - math.log(max(p_value, float(promise.sensitivity.nu))) + 0.5
                )
                above = at_least(noise - value)
                found[*told, True] = found.get((*told, True), 0.0) + chance * above
                told, chance = (*told, False), chance * (1 - above)
                rule.note(found=False)
            law[str(told)] = law.get(str(told), 0.0) + chance
        for more, likely in found.items():
            run(more, likely, law)

    law: dict[str, float] = {}
    run((), 1.0, law)
    return law


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    declared = MultiplicativeSensitivity(1, "1e-9")

    def case(name: str, exponents: Sequence[int], moves: Sequence[int], discoveries: int, levels: Levels) -> Case:
        promise = Paprika(
            declared,
            epsilon=2 * discoveries,
            discoveries=discoveries,
            target="0.9",
            wealth="0.9",
            levels=levels,
            grid=1,
            inputs="snapped",
        )
        first = [math.exp(-k) for k in exponents]
        second = [math.exp(-k - move) for k, move in zip(exponents, moves, strict=True)]
        claim = curves.pure(2 * discoveries, neighbors=promise.neighbors)
        return Case(name, promise, first, second, law=_law, draws=3_000, claim=claim)

    return (
        case("one discovery", (5, 5, 5, 8), (1, 1, 1, -1), 1, Levels.INVESTING),
        case("two discoveries", (5, 6, 8, 9), (1, 1, -1, -1), 2, Levels.INVESTING),
        case("levels of LORD", (9, 9, 9, 12), (1, 1, 1, -1), 1, Levels.LORD),
        case("below nu", (5, 21, 21), (1, 3, -1), 1, Levels.INVESTING),
    )
