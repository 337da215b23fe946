"""Our own accountant, with nothing remembered from one answer to the next."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from benchmarks.accounting_cases import Case, Family, Mechanism
from discreet import privacy
from discreet.privacy.part import pair_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.accounting_cases import Answer

DISTRIBUTIONS = ("discreet", "numpy", "scipy")


def curve(mechanism: Mechanism) -> privacy.Curve:
    """Return the mechanism's curve."""
    scale, extra = Fraction(mechanism.scale), Fraction(mechanism.extra)
    match mechanism.family:
        case Family.SAMPLED_GAUSSIAN:
            return privacy.gaussian(scale).subsample(extra)
        case Family.LAPLACE:
            return privacy.laplace(scale)
        case Family.DISCRETE_LAPLACE:
            return privacy.discrete_laplace(scale, sensitivity=int(extra))
        case Family.DISCRETE_GAUSSIAN:
            return privacy.discrete_gaussian(scale, sensitivity=int(extra))
        case Family.RANDOMIZED_RESPONSE:
            return privacy.randomized_response(scale)
        case _:
            return privacy.approximate(scale, extra)


def interval(case: Case) -> tuple[float, float]:
    """Return both ends; what was learned about a mechanism in an earlier call is forgotten first."""
    pair_of.cache_clear()
    total = reduce(add, (curve(mechanism) * count for mechanism, count in case.terms))
    return total.interval(delta=Fraction(case.delta))


def ways(case: Case) -> Mapping[str, Answer]:
    """Return the one way."""
    return {"interval": lambda: interval(case)}


def fixed_size(sigma: float, rate: float, steps: int, delta: float) -> float:
    """Return epsilon for samples of fixed size."""
    one = privacy.gaussian(sigma, neighbors=privacy.NeighborRelation.CHANGE_ONE)
    return (one.subsample(rate, scheme=privacy.FixedSize) * steps).epsilon(delta)
