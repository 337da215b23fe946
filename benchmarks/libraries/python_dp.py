"""PyDP, which wraps Google's C++ library: noise on a grid that it chooses; integers are rounded float noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydp.algorithms.numerical_mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
)

from benchmarks.cases import Case, Family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.cases import Batch, Single

DISTRIBUTIONS = ("python-dp",)

# GaussianMechanism takes a budget, not a scale. By the analytic formula (Balle, Wang 2018, arXiv:1805.06530, Theorem 8)
# epsilon = 1, delta = 1e-5 and sensitivity 1 need this standard deviation, which grows in proportion to sensitivity.
DEVIATION_AT_ONE = 3.7306


def single(case: Case) -> Single:
    """Return `add_noise` to zero, integer or float."""
    scale = case.scale
    if case.family in {Family.DISCRETE_LAPLACE, Family.LAPLACE}:
        mechanism = LaplaceMechanism(epsilon=1 / scale, sensitivity=1.0)
    else:
        mechanism = GaussianMechanism(epsilon=1.0, delta=1e-5, sensitivity=scale / DEVIATION_AT_ONE)
    zero = 0 if case.family in {Family.DISCRETE_LAPLACE, Family.DISCRETE_GAUSSIAN} else 0.0
    return lambda: mechanism.add_noise(zero)


def batches(case: Case) -> Mapping[str, Batch]:
    """Return a loop over single draws: there is no other way."""
    draw = single(case)
    return {"loop": lambda n: [draw() for _ in range(n)]}


def references() -> Mapping[str, Batch]:
    """Nothing is timed beside the noise."""
    return {}
