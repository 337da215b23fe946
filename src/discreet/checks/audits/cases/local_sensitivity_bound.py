"""A released bound on the local sensitivity: values as far apart as it allows, also between points of the grid."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from discreet.checks.audits.case import Case, everything
from discreet.checks.audits.laws import laplace_above
from discreet.mechanisms.data_dependent.local_sensitivity_bound import LocalSensitivityBound

__all__ = ["cases", "law_of_bound"]

_MOST = 12
_FAR = 100


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    made = LocalSensitivityBound(1, epsilon=6, delta="0.05", grid=1)
    apart = (Fraction(1, 2), 1), (Fraction(3, 2), 2)  # 1 apart, and 2 if they were snapped first
    return (
        Case("as far as the bound allows", made, (0, 1), (1, 2), everything, "0.05", law=law_of_bound),
        Case("between points of the grid", made, *apart, everything, "0.05", law=law_of_bound),
    )


def _below(x: float) -> float:
    """The chance of standard Laplace noise below x."""
    return laplace_above(-x) if x < 0 else 1 - laplace_above(x)


def law_of_bound(mechanism: LocalSensitivityBound, value: tuple[Fraction, int]) -> dict[str, float]:
    """A bound with noise and a lift; the value with noise for that bound, rounded once. Tails are joined."""
    first = float(mechanism.epsilon * mechanism.bound_share)
    second = float(mechanism.epsilon) - first
    fall = math.exp(-first / float(mechanism.steepness / mechanism.grid.step))
    law: dict[str, float] = {}
    for noise in range(-_MOST, _MOST + 1):
        chance = (1 - fall) / (1 + fall) * fall ** abs(noise)
        bound = max(1, math.ceil(value[1] / mechanism.grid.step) + noise + mechanism.lift)
        edges = [(k - 0.5 - float(value[0])) * second / bound for k in range(-_FAR, _FAR + 2)]
        chances = [0.0, *(_below(edge) for edge in edges[1:-1]), 1.0]
        for k, (low, high) in enumerate(pairwise(chances), start=-_FAR):
            name = f"{float(k)} {{'bound': {float(bound)}}}"
            law[name] = law.get(name, 0.0) + chance * (high - low)
    return law
