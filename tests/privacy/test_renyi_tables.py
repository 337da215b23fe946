"""Renyi divergences of profiles kept in tables: what lies beyond a table's end counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import privacy as p

CHANGE_ONE = p.NeighborRelation.CHANGE_ONE


def mixture_divergence(sigma: float, rate: float, order: float, shift: float = 1.0) -> float:
    """The divergence of (1 - q) N(0) + q N(shift) from N(0), by a plain sum over z in logarithms."""
    mu = shift / sigma
    z = np.arange(-12.0, order * mu + 12, 0.002)
    ratio = np.logaddexp(math.log1p(-rate) if rate < 1 else -math.inf, math.log(rate) + mu * z - 0.5 * mu * mu)
    logs = order * ratio - 0.5 * z * z + math.log(0.002 / math.sqrt(2 * math.pi))
    peak = float(logs.max())
    return (peak + math.log(float(np.exp(logs - peak).sum()))) / (order - 1)


@pytest.mark.parametrize("sigma, rate", [(1.0, 0.01), (0.5, 0.1), (4.0, 0.01)])
@pytest.mark.parametrize("order", [2, 8, 16, 32, 64, 256, 1024])
def test_samples_of_fixed_size_cost_at_least_what_one_mixture_does(sigma: float, rate: float, order: int) -> None:
    """Others hold 0, a unit 1 or 0: the sum's law is that mixture against plain noise, one of the pairs covered."""
    found = p.gaussian(sigma, neighbors=CHANGE_ONE).subsample(str(rate)).rdp(order)
    least = mixture_divergence(sigma, rate, order)
    assert least * (1 - 1e-9) <= found <= order / (2 * sigma * sigma) * (1 + 1e-9)
    if order * math.log(order) < 9 * sigma * sigma:
        assert found <= 2 * least, "where next to nothing lies beyond the table, the table decides"


@pytest.mark.parametrize("order", [2, 16, 64, 256])
def test_groups_cost_at_least_what_removing_all_of_them_does(order: int) -> None:
    found = p.gaussian(1).subsample("0.1").group(2).rdp(order)
    assert found >= mixture_divergence(1.0, 0.01, order, shift=2.0) * (1 - 1e-9), "both are sampled with 0.1^2"


@pytest.mark.parametrize("order", [2, 100, 10_000])
def test_discrete_gaussians_have_no_largest_loss(order: int) -> None:
    # sigma = 1: Poisson's formula puts the divergence within exp(-19) of that of the Gaussian
    assert p.discrete_gaussian(1).rdp(order) == pytest.approx(order / 2, rel=1e-7)
    assert p.discrete_gaussian(1).rdp(10**7) >= 10**6


def test_bounded_tables_keep_their_largest_loss() -> None:
    curve = p.laplace(1).subsample("0.5")
    top = math.log1p(0.5 * math.expm1(1))
    assert curve.rdp(10**8) == pytest.approx(top, rel=1e-9)
    assert curve.rdp(4) < 0.9 * top
