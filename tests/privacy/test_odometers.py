"""Odometers read at least the loss, at every moment at once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetError, ParameterError
from discreet.privacy import (
    GDP,
    RDP,
    ZCDP,
    Approximate,
    ApproximateOdometer,
    GDPOdometer,
    NeighborRelation,
    Pure,
    PureOdometer,
    RDPOdometer,
    ZCDPOdometer,
)
from discreet.privacy.convert import convert

FALSE_ALARM = 1e-9


def test_sums_read_as_sums() -> None:
    assert PureOdometer().spend(Pure(0.1)).spend(Pure(0.2)).reading == Pure(0.3)
    meter = ApproximateOdometer(delta=Fraction(1, 10**6)).spend(Approximate(1, 1e-6))
    assert meter.reading == Approximate(1, 1e-6)
    with pytest.raises(BudgetError, match="deltas would sum"):
        meter.spend(Approximate(0, 1e-12))


@pytest.mark.parametrize(
    "meter, cost",
    [
        (PureOdometer(), ZCDP(1)),
        (ApproximateOdometer(delta=Fraction(1, 8)), Pure(1)),
        (RDPOdometer(order=Fraction(2), delta=Fraction(1, 8)), Pure(1)),
        (ZCDPOdometer(delta=Fraction(1, 8)), GDP(1)),
        (GDPOdometer(ZCDPOdometer(delta=Fraction(1, 8))), ZCDP(1)),
    ],
)
def test_an_odometer_takes_its_own_currency(meter, cost) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(ParameterError, match="Convert it"):
        meter.spend(cost)


def test_an_odometer_keeps_its_relation() -> None:
    with pytest.raises(ParameterError, match="different neighbors"):
        PureOdometer().spend(Pure(1, neighbors=NeighborRelation.CHANGE_ONE))


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.1, 1, 10, 1000])
def test_a_reading_is_close_to_the_best_bound_for_fixed_costs(rho: float) -> None:
    delta = Fraction(1, 10**6)
    reading = ZCDPOdometer(delta=delta).spend(ZCDP(rho)).reading
    fixed = convert(ZCDP(rho), to=Approximate, delta=delta)
    assert fixed.epsilon <= reading.epsilon <= 2 * fixed.epsilon + Fraction(1, 100)


def test_the_weights_of_the_ladder_sum_to_at_most_one() -> None:
    weights = [Fraction(1, 2), *(2 * Fraction(1, 4 * j * (j + 1)) for j in range(1, ZCDPOdometer._reach + 1))]
    assert sum(weights) < 1


def losses_exceed(scale: float, seed: int) -> int:
    """Count the runs of Gaussian mechanisms in which the loss is ever above `scale` times the reading.

    The privacy loss of N(0, 1) noise with shift mu is N(mu**2 / 2, mu**2). The adversary doubles her shift whenever
    the loss is above its mean: costs depend on what was seen. At delta = 0.05, 2,000 runs, at most Binomial(2000, 0.05)
    exceed; its quantile at 1 - 1e-9 is 165.
    """
    generator = np.random.default_rng(seed)
    readings: dict[tuple[int, int], float] = {}
    exceeded = 0
    for _ in range(2000):
        loss, small, large = 0.0, 0, 0
        for _ in range(12):
            mu = 0.4 if loss > 0 else 0.2
            small, large = (small, large + 1) if loss > 0 else (small + 1, large)
            loss += generator.normal(mu * mu / 2, mu)
            if (small, large) not in readings:
                rho = Fraction(2, 100) * small + Fraction(8, 100) * large
                meter = ZCDPOdometer(delta=Fraction(1, 20)).spend(ZCDP(rho))
                readings[small, large] = float(meter.reading.epsilon)
            if loss > scale * readings[small, large]:
                exceeded += 1
                break
    return exceeded


def test_the_loss_never_passes_the_reading_too_often(seed: int) -> None:
    assert losses_exceed(1.0, seed) <= 165


def test_the_check_sees_an_odometer_that_reads_too_little() -> None:
    assert losses_exceed(0.35, seed=0) > 165


def test_a_renyi_odometer_is_a_line() -> None:
    meter = RDPOdometer(order=Fraction(5), delta=Fraction(1, 10**6)).spend(RDP([5], [1])).spend(RDP([5, 9], [1, 3]))
    assert math.isclose(meter.reading.epsilon, 2 + math.log(10**6) / 4)
    assert meter.reading.epsilon >= 2 + math.log(10**6) / 4 - 1e-15
    with pytest.raises(ParameterError, match="above 1"):
        RDPOdometer(order=Fraction(1), delta=Fraction(1, 2))
    with pytest.raises(ParameterError, match="delta"):
        RDPOdometer(order=Fraction(2), delta=Fraction(0))


def test_costs_with_deltas_need_a_spread() -> None:
    meter = ZCDPOdometer(delta=Fraction(1, 10**6), spread=Fraction(1, 10**7))
    assert meter.spend(ZCDP(1, 1e-7)).reading.delta == Fraction(11, 10**7)
    with pytest.raises(BudgetError, match="deltas would sum"):
        meter.spend(ZCDP(1, 2e-7))


def test_an_odometer_cannot_start_with_more_delta_than_its_spread() -> None:
    with pytest.raises(BudgetError):
        ZCDPOdometer(delta=Fraction(1, 10), spent=ZCDP(1, Fraction(1, 2)))
