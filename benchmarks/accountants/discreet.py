"""Our own accountant, with nothing remembered from one answer to the next."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from benchmarks.accounting_cases import Case, Family, Mechanism
from discreet import privacy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def caches() -> list[Callable[[], None]]:
    """Return how to clear each cache of the accountant's modules: functions, and methods of classes."""
    found = {}
    for name, module in sys.modules.items():
        if name.startswith("discreet.privacy"):
            for value in vars(module).values():
                members = vars(value).values() if isinstance(value, type) else ()
                for each in (value, *(getattr(member, "__func__", member) for member in members)):
                    if hasattr(each, "cache_clear"):
                        found[id(each)] = each.cache_clear
    return list(found.values())


def forget() -> None:
    """Clear every cache; they are listed anew when more modules were loaded."""
    if len(_KNOWN) != len(sys.modules):
        _KNOWN.clear()
        _KNOWN.update(dict.fromkeys(sys.modules))
        _CLEAR[:] = caches()
    for clear in _CLEAR:
        clear()


_KNOWN: dict[str, None] = {}
_CLEAR: list[Callable[[], None]] = []


def interval(case: Case) -> tuple[float, float]:
    """Return both ends; what was learned in an earlier call is forgotten first."""
    forget()
    total = reduce(add, (curve(mechanism) * count for mechanism, count in case.terms))
    return total.interval(delta=Fraction(case.delta))


def ways(case: Case) -> Mapping[str, Answer]:
    """Return the one way."""
    return {"interval": lambda: interval(case)}


def fixed_size(sigma: float, rate: float, steps: int, delta: float) -> float:
    """Return epsilon for samples of fixed size."""
    one = privacy.gaussian(sigma, neighbors=privacy.NeighborRelation.CHANGE_ONE)
    return (one.subsample(rate, scheme=privacy.FixedSize) * steps).epsilon(delta)
