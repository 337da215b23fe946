"""Which keys may be shown: a unit alone in several keys, and keys that one unit more lets pass."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

from discreet.checks.audits.case import Case, looking_at
from discreet.checks.audits.laws import discrete_law
from discreet.mechanisms import PartitionSelection
from discreet.mechanisms.thresholds.partition_selection import SelectionMethod
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["cases"]


def _chance(mechanism: PartitionSelection, count: int) -> float:
    """Desfontaines et al. 2022, by its recursion in floats."""
    touched = mechanism.keys * (1 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 2)
    growth = math.exp(float(mechanism.epsilon) / touched)
    delta = -math.expm1(math.log1p(-float(mechanism.delta)) / touched)
    chance = 0.0
    for _ in range(count):
        chance = min(growth * chance + delta, 1 - (1 - chance - delta) / growth, 1.0)
    return chance


def _law(mechanism: PartitionSelection, counts: Mapping[str, int]) -> dict[str, float]:
    """Every subset of the keys: coins that are tossed independently."""
    names = sorted(counts)
    law = {}
    for shown in product((False, True), repeat=len(names)):
        chances = [_chance(mechanism, counts[name]) for name in names]
        sides = [p if yes else 1 - p for p, yes in zip(chances, shown, strict=True)]
        law[str(tuple(name for name, yes in zip(names, shown, strict=True) if yes))] = math.prod(sides)
    return law


def _how_many_law(mechanism: PartitionSelection, counts: Mapping[str, int]) -> dict[int, float]:
    """Whole-number noise on each count, which is shown from the threshold on; how many are."""
    scale, threshold = float(mechanism.scale or 1), mechanism.threshold or 1
    laplace = mechanism.method is SelectionMethod.LAPLACE
    law = {0: 1.0}
    for count in counts.values():
        noisy = discrete_law(
            (lambda z: math.exp(-abs(z) / scale)) if laplace else (lambda z: math.exp(-(z**2) / (2 * scale**2))),
            count,
            threshold - 1,
            threshold,
        )
        chance = noisy[threshold]
        law = {
            many: law.get(many, 0.0) * (1 - chance) + law.get(many - 1, 0.0) * chance for many in range(len(law) + 1)
        }
    return law


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    alone: tuple[dict[str, int], dict[str, int]] = {"a": 1, "b": 1}, {}

    def made(method: str = "optimal", keys: int = 2) -> PartitionSelection:
        return PartitionSelection(epsilon=1, delta="0.1", keys=keys, method=method)

    exchanged = PartitionSelection(epsilon=1, delta="0.1", neighbors=NeighborRelation.CHANGE_ONE)
    chances: dict[str, Any] = {"delta": "0.1", "law": _law}
    several: dict[str, Any] = {
        "draw": looking_at(lambda release: len(release.value)),
        "delta": "0.1",
        "draws": 2_000,
        "law": _how_many_law,
    }
    return (
        Case("alone in two keys", made(), *alone, draws=2_000, **chances),
        Case("two more of two", made(), {"a": 3, "b": 3}, {"a": 2, "b": 2}, **chances),
        Case("exchanged", exchanged, {"a": 1}, {"b": 1}, **chances),
        Case("alone in two keys, Laplace", made("laplace"), *alone, **several),
        Case("one more of many, Laplace", made("laplace", 1), {"a": 5}, {"a": 4}, **several),
        Case("alone in two keys, Gaussian", made("gaussian"), *alone, also=({"a": 3, "b": 3},), **several),
    )
