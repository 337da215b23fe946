"""False discovery control on p-values that may be seen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from discreet.errors import BudgetError, ParameterError
from discreet.methods.adaptive import AlphaInvesting, Lord, OnlineTesting, Saffron, benjamini_hochberg

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

FALSE_ALARM = 1e-9


def by_the_definition(values: list[float], target: float) -> tuple[bool, ...]:
    ordered = sorted(values)
    places = [i for i in range(1, len(values) + 1) if ordered[i - 1] <= i * target / len(values)]
    return tuple(bool(places) and value <= ordered[places[-1] - 1] for value in values)


def test_the_step_up_procedure_is_that_of_the_definition_and_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for count in (1, 2, 7, 40):
        values = [float(value) for value in rng.beta(0.3, 2, count)]
        told = benjamini_hochberg(values, target="0.1")
        assert told == by_the_definition(values, 0.1)
        assert told == tuple(stats.false_discovery_control(values) <= 0.1)
    assert benjamini_hochberg([]) == ()
    assert benjamini_hochberg([0.06, 0.9, 0.9]) == (False, False, False)


def test_a_later_step_lifts_earlier_ones_which_the_k_smallest_alone_does_not() -> None:
    """The misprint rejects the k smallest without the step up: .04 fails at its own step and passes at the third."""
    assert benjamini_hochberg([0.01, 0.04, 0.045], target="0.05") == (True, True, True)


def lord_by_the_formula(rule: Lord) -> float:
    def gamma(j: int) -> float:
        return 0.07720838 * math.log(max(j, 2)) / (j * math.exp(math.sqrt(math.log(j))))

    t = rule.tested + 1
    level: float = rule.wealth * gamma(t)
    for place, found in enumerate(rule.found):
        level += (rule.target - (rule.wealth if place == 0 else 0)) * gamma(t - found)
    return level


def saffron_by_the_formula(rule: Saffron, values: list[float]) -> float:
    assert rule.candidate is not None
    t = rule.tested + 1

    def share(start: int) -> float:
        candidates = sum(value <= 0.5 for value in values[start:])
        return float(0.4374901658 * (t - start - candidates) ** -1.6)

    level: float = rule.wealth * share(0)
    for place, found in enumerate(rule.found):
        level += (rule.target - (rule.wealth if place == 0 else 0)) * share(found)
    return min(0.5, 0.5 * level)


def test_levels_are_those_of_the_papers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lord, saffron, seen = Lord("0.2", wealth="0.05"), Saffron("0.2", wealth="0.05"), list[float]()
    for value in rng.beta(0.2, 1, 300):
        assert lord.level == pytest.approx(lord_by_the_formula(lord), rel=1e-12)
        assert saffron.level == pytest.approx(saffron_by_the_formula(saffron, seen), rel=1e-8)
        lord.test(float(value))
        saffron.test(float(value))
        seen.append(float(value))
    assert lord.discoveries > 3
    assert saffron.discoveries > 3


def test_the_shares_add_up_to_at_most_one() -> None:
    """The first 10**6 by summing, the rest by an integral from above: of w**3 e**-w, w = sqrt(ln j)."""
    j = np.arange(1, 10**6 + 1, dtype=np.float64)
    lord = (0.07720838 * np.log(np.maximum(j, 2)) / (j * np.exp(np.sqrt(np.log(j))))).sum()
    w = math.sqrt(math.log(10**6))
    assert 0.95 < lord + 0.07720838 * 2 * math.exp(-w) * (w**3 + 3 * w**2 + 6 * w + 6) <= 1
    for power in (1.2, 1.6, 3.0):
        first = Saffron(power=power)._first
        assert 0.99 < first * ((j**-power).sum() + (10**6) ** (1 - power) / (power - 1)) <= 1 + 1e-6


def spent(rule: OnlineTesting, level: float, *, found: bool, candidate: bool) -> float:
    """What a rule counts as spent on a test."""
    if isinstance(rule, Saffron):
        if rule.candidate is None:
            return 0.0 if found else level / (1 - level)
        return 0.0 if candidate else level / (1 - rule.candidate)
    return level


RULES: dict[str, Callable[[], OnlineTesting]] = {
    "lord": lambda: Lord("0.2"),
    "saffron": lambda: Saffron("0.2", wealth="0.2"),
    "investing saffron": lambda: Saffron("0.2", candidate=None),
    "lord with little": lambda: Lord("0.2", wealth="0.001"),
}


@pytest.mark.parametrize("name", RULES)
def test_no_rule_spends_more_than_its_discoveries_allow(name: str, seed: int) -> None:
    """At every time the spent levels are at most target * max(1, discoveries): what the theorems rest on."""
    rng, rule, total = np.random.default_rng(seed), RULES[name](), 0.0
    for value in rng.beta(0.3, 1, 2000):
        level = rule.level
        found = rule.test(float(value))
        total += spent(rule, level, found=found, candidate=value <= 0.5)
        assert total <= rule.target * max(1, rule.discoveries) * (1 + 1e-9)
    assert total > rule.target * rule.discoveries / 6


def discoveries_of_nulls(rule: OnlineTesting, values: NDArray[np.float64]) -> int:
    return sum(rule.test(float(value)) for value in values)


@pytest.mark.parametrize("name", RULES)
def test_of_pure_noise_few_runs_discover_anything(name: str, seed: int) -> None:
    """All nulls: the chance of any discovery is at most the target; with p-values of a fiftieth the check fails."""
    rng, runs = np.random.default_rng(seed), 400
    values = rng.random((runs, 60))
    any_found = sum(discoveries_of_nulls(RULES[name](), row) > 0 for row in values)
    assert stats.binom.sf(any_found - 1, runs, 0.2) > FALSE_ALARM
    loose = sum(discoveries_of_nulls(RULES[name](), row / 50) > 0 for row in values)
    if name != "lord with little":
        assert stats.binom.sf(loose - 1, runs, 0.2) < FALSE_ALARM


def test_alpha_investing_pays_and_earns() -> None:
    rule = AlphaInvesting("0.05", wealth="0.02", share="0.5")
    assert rule.level == pytest.approx(0.01 / 1.01)
    assert rule.test(0.5) is False
    assert rule.left == pytest.approx(0.01)
    assert rule.test(0.0) is True
    assert rule.left == pytest.approx(0.01 + 0.05 - 0.02)
    assert rule.test(0.001, level="0.01", price="0.03")
    assert rule.left == pytest.approx(0.01 + min(0.03 + 0.05, 3 + 0.05 - 1))
    with pytest.raises(BudgetError, match="does not fit"):
        rule.test(0.5, level="0.9")
    with pytest.raises(ParameterError, match="would cost more"):
        rule.test(0.5, level="0.09", price="0.01")


def test_an_overpriced_level_earns_less() -> None:
    """A level that is high for its price earns by the second bound: φ/a + b − 1."""
    rule = AlphaInvesting("0.5", wealth="0.1")
    rule.test(0.0, level="0.08", price="0.06")
    assert rule.left == pytest.approx(0.04 + (0.06 / 0.08 + 0.4 - 1))


def test_bad_input_is_refused() -> None:
    for value in (-0.1, 1.1, float("nan"), float("inf")):
        with pytest.raises(ParameterError):
            benjamini_hochberg([0.1, value])
        with pytest.raises(ParameterError):
            Lord().test(value)
    with pytest.raises(ParameterError, match="target is 0"):
        Saffron(0)
    with pytest.raises(ParameterError, match=r"wealth is '0\.2'"):
        Lord("0.1", wealth="0.2")
    with pytest.raises(ParameterError, match="candidate is 1"):
        Saffron(candidate=1)
    with pytest.raises(ParameterError, match="power is 1"):
        Saffron(power=1)
    with pytest.raises(ParameterError, match="share is 0"):
        AlphaInvesting(share=0)
