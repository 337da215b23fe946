"""prv-accountant: grids with errors that the caller chooses; here 1e-3 in epsilon, delta / 1000 in delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

import prv_accountant

from benchmarks.accounting_cases import Case, Family, Mechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.accounting_cases import Answer

DISTRIBUTIONS = ("prv-accountant",)
KNOWN = {Family.SAMPLED_GAUSSIAN, Family.LAPLACE, Family.RANDOMIZED_RESPONSE, Family.BOX}
EPSILON_ERROR = 1e-3
DELTA_SHARE = 1e-3


def variable(mechanism: Mechanism) -> object:
    """Return the random variable of one mechanism's loss."""
    scale, extra = mechanism.numbers
    match mechanism.family:
        case Family.SAMPLED_GAUSSIAN:
            return prv_accountant.PoissonSubsampledGaussianMechanism(sampling_probability=extra, noise_multiplier=scale)
        case Family.LAPLACE:
            return prv_accountant.LaplaceMechanism(mu=1 / scale)
        case Family.RANDOMIZED_RESPONSE:
            return prv_accountant.PureDPMechanism(eps=scale)
        case _:
            return prv_accountant.ApproximateDPMechanism(epsilon=scale, delta=extra)


def account(case: Case) -> tuple[float, float]:
    """Return its lower bound and its upper bound."""
    counts = [count for _, count in case.terms]
    accountant = prv_accountant.PRVAccountant(
        prvs=[variable(mechanism) for mechanism, _ in case.terms],
        max_self_compositions=counts,
        eps_error=EPSILON_ERROR,
        delta_error=case.chance * DELTA_SHARE,
    )
    lower, _, upper = accountant.compute_epsilon(delta=case.chance, num_self_compositions=counts)
    return float(lower), float(upper)


def ways(case: Case) -> Mapping[str, Answer]:
    """Return the one way, for the mechanisms that it knows."""
    if all(mechanism.family in KNOWN for mechanism, _ in case.terms):
        return {"PRV": lambda: account(case)}
    return {}


def fixed_size(sigma: float, rate: float, steps: int, delta: float) -> None:
    """It has no such bound."""
    del sigma, rate, steps, delta
