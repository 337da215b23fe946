"""opacus: its PRV accountant for the sampled Gaussian, with its default errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opacus.accountants import PRVAccountant

from benchmarks.accounting_cases import Case, Family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.accounting_cases import Answer

DISTRIBUTIONS = ("opacus", "torch")


def account(case: Case) -> tuple[None, float]:
    """Return its upper bound."""
    accountant = PRVAccountant()
    for mechanism, count in case.terms:
        sigma, rate = mechanism.numbers
        accountant.history.append((sigma, rate, count))
    return None, float(accountant.get_epsilon(delta=case.chance))


def ways(case: Case) -> Mapping[str, Answer]:
    """Return the one way, for sampled Gaussians."""
    return {"PRV": lambda: account(case)} if case.family is Family.SAMPLED_GAUSSIAN else {}


def fixed_size(sigma: float, rate: float, steps: int, delta: float) -> None:
    """It has no such bound."""
    del sigma, rate, steps, delta
