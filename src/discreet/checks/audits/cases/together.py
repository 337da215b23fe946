"""Two mechanisms on one dataset: a unit that moves what both of them are given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import discrete_law
from discreet.mechanisms import DiscreteLaplace, Together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise import BitSource

    Given = dict[str, int]

__all__ = ["cases"]

_ENDS = -6, 7


def _both(mechanism: Together, value: Given, count: int, bits: BitSource) -> NDArray[np.str_]:
    """Look at both numbers, what lies beyond the ends as these."""
    found = [mechanism.release(value, bits=bits).value for _ in range(count)]
    return np.array([" ".join(str(_clipped(part.value)) for part in parts.values()) for parts in found])


def _clipped(number: Any) -> int:  # noqa: ANN401  as released
    return max(_ENDS[0], min(int(number), _ENDS[1]))


def _law(mechanism: Together, value: Given) -> dict[str, float]:
    """The product of two laws, each with noise for its own part of the price."""
    laws = []
    for name, part in mechanism.parts.items():
        rate = float(part.claim.epsilon)  # type: ignore[union-attr]  # a pure one
        laws.append(discrete_law(lambda z, rate=rate: math.exp(-rate * abs(z)), value[name], *_ENDS))  # type: ignore[misc]
    return {f"{a} {b}": p * q for a, p in laws[0].items() for b, q in laws[1].items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    made = Together({"few": DiscreteLaplace(1, epsilon="0.5"), "many": DiscreteLaplace(1, epsilon=1)})
    return (
        Case("both move", made, {"few": 0, "many": 0}, {"few": 1, "many": 1}, _both, draws=4_000, law=_law, tight=True),
    )
