"""A released bound on the local sensitivity: values as far apart as it allows, also where the snap moves them apart."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from discreet.checks.audits.case import Case, everything
from discreet.checks.audits.laws import rounded_law
from discreet.mechanisms.instances.local_sensitivity_bound import LocalSensitivityBound

__all__ = ["cases"]

_MOST = 60


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    twentieth = Fraction(1, 20)
    made = LocalSensitivityBound(1, epsilon=6, delta=twentieth, grid=1)
    apart = (Fraction(1, 2), 1), (Fraction(3, 2), 2)  # 1 apart, and snapped to 0 and 2
    return (
        Case("as far as the bound allows", made, (0, 1), (1, 2), everything, twentieth),
        Case("snapped farther apart", made, *apart, everything, twentieth, law=_law),
    )


def _above(rate: float, x: float) -> float:
    return math.exp(-x * rate) / 2


def _law(mechanism: LocalSensitivityBound, value: tuple[Fraction, int]) -> dict[str, float]:
    """A bound with noise and a lift, then the snapped value with noise for that bound; tails joined."""
    first = float(mechanism.epsilon * mechanism.bound_share)
    second = float(mechanism.epsilon) - first
    fall = math.exp(-first / float(mechanism.steepness / mechanism.grid.step))
    law: dict[str, float] = {}
    for noise in range(-_MOST, _MOST + 1):
        chance = (1 - fall) / (1 + fall) * fall ** abs(noise)
        bound = min(max(1, math.ceil(value[1] / mechanism.grid.step) + noise + mechanism.lift), _MOST)
        rate = second / bound
        for number, p in rounded_law(partial(_above, rate), round(value[0]), -400, 400).items():
            name = f"{float(number)} {{'bound': {float(bound)}}}"
            law[name] = law.get(name, 0.0) + chance * p
    return law
