"""autodp: mechanisms composed by its general composition of Rényi divergences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from autodp import mechanism_zoo as zoo
from autodp.transformer_zoo import AmplificationBySampling, Composition

from benchmarks.accounting_cases import Case, Family, Mechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.accounting_cases import Answer

DISTRIBUTIONS = ("autodp",)
KNOWN = {Family.SAMPLED_GAUSSIAN, Family.LAPLACE, Family.DISCRETE_GAUSSIAN, Family.RANDOMIZED_RESPONSE}


def build(mechanism: Mechanism) -> object:
    """Return its object for one mechanism."""
    scale, extra = mechanism.numbers
    match mechanism.family:
        case Family.SAMPLED_GAUSSIAN:
            gaussian = zoo.ExactGaussianMechanism(scale)
            gaussian.neighboring = "add_remove"
            return gaussian if extra == 1 else AmplificationBySampling(PoissonSampling=True)(gaussian, extra)
        case Family.LAPLACE:
            return zoo.LaplaceMechanism(scale)
        case Family.DISCRETE_GAUSSIAN:
            return zoo.DiscreteGaussianMechanism(scale)
        case _:
            return zoo.RandresponseMechanism(math.exp(scale) / (1 + math.exp(scale)))


def account(case: Case) -> tuple[None, float]:
    """Return its upper bound."""
    parts = [build(mechanism) for mechanism, _ in case.terms]
    composed = Composition()(parts, [count for _, count in case.terms])
    return None, float(composed.get_approxDP(case.chance))


def ways(case: Case) -> Mapping[str, Answer]:
    """Return the one way, for the mechanisms that it knows."""
    return {"RDP": lambda: account(case)} if all(mechanism.family in KNOWN for mechanism, _ in case.terms) else {}


def fixed_size(sigma: float, rate: float, steps: int, delta: float) -> None:
    """It has no bound that is exact for every order here."""
    del sigma, rate, steps, delta
