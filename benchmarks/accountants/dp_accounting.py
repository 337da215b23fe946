"""dp-accounting: privacy-loss distributions and Rényi orders, with their default settings.

The distributions are built directly where its events would lose the number of compositions or have no event.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import dp_accounting
from dp_accounting import rdp
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as distributions

from benchmarks.accounting_cases import Case, Family, Mechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    from benchmarks.accounting_cases import Answer

DISTRIBUTIONS = ("dp-accounting",)
GAUSSIAN_ONLY = {Family.SAMPLED_GAUSSIAN, Family.LAPLACE}


def distribution(mechanism: Mechanism) -> PrivacyLossDistribution:
    """Return the distribution of one mechanism's loss."""
    scale, extra = mechanism.numbers
    match mechanism.family:
        case Family.SAMPLED_GAUSSIAN:
            return distributions.from_gaussian_mechanism(scale, sampling_prob=extra)
        case Family.LAPLACE:
            return distributions.from_laplace_mechanism(scale)
        case Family.DISCRETE_LAPLACE:
            return distributions.from_discrete_laplace_mechanism(1 / scale, sensitivity=int(extra))
        case Family.DISCRETE_GAUSSIAN:
            return distributions.from_discrete_gaussian_mechanism(scale, sensitivity=int(extra))
        case Family.RANDOMIZED_RESPONSE:
            # With probability 2 / (e^epsilon + 1) the answer is uniform among two.
            return distributions.from_randomized_response(2 / (math.exp(scale) + 1), 2)
        case _:
            return distributions.from_privacy_parameters(common.DifferentialPrivacyParameters(scale, extra))


def by_distribution(case: Case) -> tuple[None, float]:
    """Compose distributions."""
    total: PrivacyLossDistribution | None = None
    for mechanism, count in case.terms:
        part = distribution(mechanism)
        part = part.self_compose(count) if count > 1 else part
        total = part if total is None else total.compose(part)
    if total is None:
        return None, 0.0
    return None, float(total.get_epsilon_for_delta(case.chance))


def by_renyi(case: Case) -> tuple[None, float]:
    """Compose Rényi divergences."""
    accountant = rdp.RdpAccountant()
    for mechanism, count in case.terms:
        scale, extra = mechanism.numbers
        event: dp_accounting.DpEvent = dp_accounting.LaplaceDpEvent(scale)
        if mechanism.family is Family.SAMPLED_GAUSSIAN:
            event = dp_accounting.PoissonSampledDpEvent(extra, dp_accounting.GaussianDpEvent(scale))
        accountant.compose(event, count)
    return None, float(accountant.get_epsilon(case.chance))


def ways(case: Case) -> Mapping[str, Answer]:
    """Return PLD for everything, RDP for what it has exact events for."""
    found: dict[str, Answer] = {"PLD": lambda: by_distribution(case)}
    if all(mechanism.family in GAUSSIAN_ONLY for mechanism, _ in case.terms):
        found["RDP"] = lambda: by_renyi(case)
    return found


def fixed_size(sigma: float, rate: float, steps: int, delta: float) -> float:
    """Return what RDP gives for samples without replacement under change-one."""
    accountant = rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    size = 1_000_000
    event = dp_accounting.SampledWithoutReplacementDpEvent(
        size, round(size * rate), dp_accounting.GaussianDpEvent(sigma)
    )
    return float(accountant.compose(event, steps).get_epsilon(delta))
