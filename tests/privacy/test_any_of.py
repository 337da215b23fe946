"""Several certificates at once keep their promise against every adaptive adversary, and admit no less than one."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import privacy as p
from discreet.errors import BudgetError, ParameterError
from discreet.privacy import AnyOf, Budget, Curve, NeighborRelation
from discreet.privacy.costs import DELTA_UNITS, INFINITE, LOSS_UNITS, Certificates, Cost, cost_of, lacking

BUDGET = Budget(3, "1e-6")
GRID = Fraction(1, 8)


def worst_delta(start: AnyOf, epsilon: float, responses: tuple[int, ...], failures: tuple[str, ...]) -> float:
    """Return the largest delta at epsilon that an adversary reaches who chooses each step after seeing the last one.

    A step is a randomized response whose epsilon is a multiple of 1/8, or a box that shows everything with a stated
    chance. What was spent depends on how often each was taken; the loss so far is a multiple of 1/8. By dynamic
    programming over both, with the laws of the first neighbor.
    """
    curves = [p.randomized_response(GRID * times) for times in responses]
    curves += [p.approximate(0, chance) for chance in failures]
    costs = [cost_of(curve, start.certificates) for curve in curves]

    @cache
    def admits(counts: tuple[int, ...], step: int) -> bool:
        spent = start.spent
        for cost, count in zip(costs, counts, strict=True):
            spent += cost * count
        return AnyOf(start.certificates, spent).admits(costs[step])

    @cache
    def best(counts: tuple[int, ...], loss: int) -> float:
        reached = max(0.0, -math.expm1(epsilon - float(GRID * loss)))
        for step in range(len(costs)):
            if not admits(counts, step):
                continue
            after = (*counts[:step], counts[step] + 1, *counts[step + 1 :])
            if step < len(responses):
                truth = 1 / (1 + math.exp(-float(GRID) * responses[step]))
                value = truth * best(after, loss + responses[step]) + (1 - truth) * best(after, loss - responses[step])
            else:
                chance = float(failures[step - len(responses)])
                value = chance + (1 - chance) * best(after, loss)
            reached = max(reached, value)
        return reached

    return best((0,) * len(costs), 0)


@pytest.mark.parametrize("epsilon, delta", [("1", "0.1"), ("0.5", "0.2"), ("2", "0.02")])
def test_no_adaptive_adversary_reaches_more_than_the_deltas_of_all_certificates(epsilon: str, delta: str) -> None:
    certificates = Certificates.of(Budget(epsilon, delta))
    assert certificates.orders
    share = float(Fraction(delta) / 20)
    reached = worst_delta(AnyOf(certificates), float(epsilon), (1, 4), (str(share),))
    assert 0.03 * float(delta) < reached <= float(delta)


def test_an_adversary_refutes_certificates_that_each_take_the_whole_delta() -> None:
    """Three times the delta in three equal shares: each certificate alone is right, and together they are not."""
    delta = Fraction(1, 10)
    greedy = Certificates(Budget(1, 3 * delta), Certificates.of(Budget(1, delta)).orders, (Fraction(1, 3),) * 3)
    assert worst_delta(AnyOf(greedy), 1.0, (1, 4), ("0.1",)) > 1.05 * float(delta)


def test_a_certificate_past_its_limit_never_holds_again() -> None:
    """What was spent beyond the sums counts in them: they do not admit what would have fitted before."""
    start = AnyOf(Certificates.of(BUDGET))
    small, large = (cost_of(p.laplace(scale), start.certificates) for scale in (20, 1))
    beyond = start.spend(small * 100)  # epsilon 5 by sums: divergences alone hold
    assert beyond.spent.losses[0] == 5 * LOSS_UNITS
    assert start.admits(large)
    assert not beyond.admits(large)
    with pytest.raises(BudgetError, match="does not fit"):
        beyond.spend(large)


def test_a_refusal_says_what_was_asked_for_and_what_would_fit() -> None:
    """Both parts are by one certificate, that which lacks least: parts by different ones would not add up."""
    start = AnyOf(Certificates.of(p.Budget(3, 1e-6)))
    trained = start.spend(cost_of(p.gaussian(1).subsample("0.01") * 1000, start.certificates))  # no sum of epsilons
    asked = cost_of(p.pure(1), start.certificates)
    with pytest.raises(BudgetError) as refusal:
        trained.spend(asked)
    words = re.fullmatch(
        r"this needs (\S+) % of Budget.* and (\S+) % is used: it does not fit\. .* epsilon = (\S+) would still fit\.",
        str(refusal.value),
    )
    assert words is not None
    needs, used, largest = map(float, words.groups())
    divergences = start.limits.losses[1]
    assert needs == pytest.approx(100 * asked.losses[1] / divergences, rel=1e-2)
    assert used == pytest.approx(100 * trained.spent.losses[1] / divergences, rel=1e-2)
    assert needs + used > 100
    assert trained.admits(cost_of(p.pure(words[3]), start.certificates))
    assert not trained.admits(cost_of(p.pure(largest + 0.003), start.certificates))


def test_a_certificate_that_never_holds_says_nothing_of_a_refusal() -> None:
    """Somebody's own small budget leaves nothing for divergences: what is told is told by sums."""
    certificates = Certificates.of(p.Budget(3, "1e-6")).of_budget(p.Budget("0.5", "1e-6"))
    spent, cost = (cost_of(p.pure(epsilon), certificates) for epsilon in ("0.4", "0.3"))
    assert certificates.limits.losses[1] == 0
    assert lacking(certificates.limits, spent, cost) == (Fraction(3, 5), Fraction(4, 5))


def test_failures_count_once_and_for_every_certificate() -> None:
    """What sums of epsilons use themselves has a limit of its own: in one with failures it would be reached twice."""
    start = AnyOf(Certificates.of(BUDGET))
    whole = BUDGET.delta / 20
    after = start.spend(cost_of(p.approximate(0, whole), start.certificates))
    assert after.used == 1
    assert not after.admits(cost_of(p.approximate(0, "1e-12"), start.certificates))
    assert after.more(cost_of(p.laplace(2), start.certificates)) == 6
    noise = cost_of(p.zcdp("1e-9"), start.certificates)
    assert noise.deltas == (int(BUDGET.delta / 200 / 200 * DELTA_UNITS), 0)
    assert [sums for sums in (200, 201) if noise.deltas[0] * sums <= start.limits.deltas[0]] == [200]
    both = cost_of(p.zcdp("1e-9") + p.approximate(0, "1e-9"), start.certificates)
    assert both.deltas == (noise.deltas[0], DELTA_UNITS // 10**9)
    without = Certificates(BUDGET, (), (Fraction(1),))
    assert cost_of(p.approximate(1, "1e-9"), without).deltas == (DELTA_UNITS // 10**9,)


def test_fifty_searches_for_keys_fit() -> None:
    """Each at a thousandth of delta, as a policy has it; twice as many as when every certificate counted them."""
    start = AnyOf(Certificates.of(BUDGET))
    search = cost_of(p.laplace(50) + p.approximate(0, BUDGET.delta / 1000), start.certificates)
    assert start.more(search) == 50


def test_what_has_no_finite_cost_retires_a_certificate_for_good() -> None:
    pure = AnyOf(Certificates.of(Budget(3)))
    gaussian = cost_of(p.gaussian(1), pure.certificates)
    assert gaussian.losses == (INFINITE,)
    assert not pure.admits(gaussian)
    certificates = Certificates.of(BUDGET)
    heavy = cost_of(p.pure(1).with_sampling_error("1e-30"), certificates)
    assert heavy.losses[1] == INFINITE
    after = AnyOf(certificates).spend(heavy)
    assert after.spent.losses[1] == INFINITE
    assert (after.spent + after.spent).losses[1] == INFINITE
    assert after.more(cost_of(p.laplace(20), certificates)) == 39  # by sums: (3 - 1 - what the error costs) / 0.05


@pytest.mark.parametrize("epsilon", ["0.5", "0.3", "0.2", "0.1", "0.05", "0.01"])
@pytest.mark.parametrize("whole", ["0.5", "1", "3", "8"])
def test_a_weaker_promise_never_buys_less(epsilon: str, whole: str) -> None:
    counts = []
    for delta in ("0", "1e-9", "1e-6"):
        start = AnyOf(Certificates.of(Budget(whole, delta)))
        counts.append(start.more(cost_of(p.laplace(1 / Fraction(epsilon)), start.certificates)))
    assert counts[0] == Fraction(whole) // Fraction(epsilon)
    assert counts == sorted(counts)


@given(st.lists(st.sampled_from([1, 2, 5, 10, 40]), max_size=40))
def test_sums_are_exact_and_admitted_as_long_as_one_holds(scales: list[int]) -> None:
    start = AnyOf(Certificates.of(BUDGET))
    state, spent = start, start.spent
    for scale in scales:
        cost = cost_of(p.laplace(scale), start.certificates)
        total = spent + cost
        holds = [total.losses[k] <= start.limits.losses[k] for k in range(2)]
        assert state.admits(cost) is any(holds)
        assert (state.more(cost) > 0) is any(holds)
        if any(holds):
            state, spent = state.spend(cost), total
    assert state.spent == spent
    assert 0 <= state.used <= 1


@pytest.mark.parametrize(
    "curve, epsilon, divergence, failure",
    [
        (p.laplace(10) * 3, 0.3, None, 0),
        (p.gaussian(2), None, lambda order: order / 8, 0),
        (p.randomized_response(1), 1, lambda order: response_divergence(1.0, order), 0),
        (p.approximate(1, "1e-9") + p.laplace(2), 1.5, None, 1e-9),
        (p.exponential(1) * 2, 2, None, 0),
    ],
)
def test_costs_are_those_of_formulas(curve: Curve, epsilon: float | None, divergence: object, failure: float) -> None:
    """From both sides: no less, and less than a millionth more."""
    certificates = Certificates.of(BUDGET)
    cost, order = cost_of(curve, certificates), float(certificates.orders[0])
    if epsilon is not None:
        assert cost.losses[0] == epsilon * LOSS_UNITS
        assert cost.deltas[0] == 0
    else:
        step = float(BUDGET.delta) / 200 / 200
        assert cost.deltas[0] == round(step * DELTA_UNITS)
        assert curve.delta(cost.losses[0] / LOSS_UNITS) <= step * (1 + 1e-9)
    assert cost.deltas[1] == round(failure * DELTA_UNITS)
    if callable(divergence):
        truth = divergence(order) * LOSS_UNITS
        assert truth - 1e-3 <= cost.losses[1] <= truth * (1 + 1e-6) + 1


def response_divergence(epsilon: float, order: float) -> float:
    truth = 1 / (1 + math.exp(-epsilon))
    total = truth**order * (1 - truth) ** (1 - order) + (1 - truth) ** order * truth ** (1 - order)
    return math.log(total) / (order - 1)


def test_limits_convert_back_to_the_budget() -> None:
    """At its limit each certificate is worth epsilon at its own delta, and hardly less."""
    certificates = Certificates.of(BUDGET)
    order, divergence = certificates.orders[0], Fraction(certificates.limits.losses[1], LOSS_UNITS)
    conversion = BUDGET.delta * certificates.shares[2]
    back = p.RDP([order], [divergence]).curve().epsilon(conversion)
    assert 2.999 < back <= 3.0000001
    assert certificates.limits.losses[0] == 3 * LOSS_UNITS
    assert sum(certificates.limits.deltas) + conversion * DELTA_UNITS == Fraction(1, 10**6) * DELTA_UNITS


def test_certificates_serve_questions_in_rho_and_training_alike() -> None:
    """The one order is within 2 percent of the best for Gaussian noise, and low enough for a sampled one."""
    certificates = Certificates.of(BUDGET)
    start = AnyOf(certificates)
    per_rho = start.more(cost_of(p.zcdp("0.0001"), certificates))
    zcdp = p.ZCDPFilter(p.ZCDP(Fraction(1851, 10000)))  # the most that any order gives for the whole delta
    assert per_rho >= 0.97 * float(zcdp.limit.rho) / 0.0001
    training = start.spend(cost_of(p.gaussian(1).subsample("0.01") * 1000, certificates))
    assert 0.6 < training.used < 0.65
    assert training.more(cost_of(p.laplace(20), certificates)) > 50


def test_shares_add_up_to_the_whole_delta_at_most() -> None:
    order = (Fraction(8),)
    with pytest.raises(ParameterError, match="add up"):
        Certificates(BUDGET, order, (Fraction(1, 3), Fraction(1, 3), Fraction(1, 2)))
    with pytest.raises(ParameterError, match="two are for each order"):
        Certificates(BUDGET, order, (Fraction(1),))
    with pytest.raises(ParameterError, match="above 1"):
        Certificates(BUDGET, (Fraction(1),), (Fraction(1, 3),) * 3)


def test_other_relations_and_other_certificates_do_not_mix() -> None:
    start = AnyOf(Certificates.of(BUDGET))
    with pytest.raises(ParameterError, match="relation"):
        cost_of(p.laplace(1, neighbors=NeighborRelation.CHANGE_ONE), start.certificates)
    with pytest.raises(ParameterError, match="certificates"):
        start.admits(cost_of(p.laplace(1), Certificates.of(Budget(3))))
    with pytest.raises(ParameterError, match="no filter ever admits"):
        AnyOf(start.certificates, start.limits * 2)
    assert not AnyOf(Certificates.of(Budget(0))).admits(cost_of(p.laplace(1), Certificates.of(Budget(0))))


def test_a_repeat_must_be_covered_by_every_number() -> None:
    certificates = Certificates.of(BUDGET)
    gaussian, laplace = cost_of(p.gaussian(5), certificates), cost_of(p.laplace("1.2"), certificates)
    assert laplace.losses[1] > gaussian.losses[1]
    assert laplace.deltas[0] < gaussian.deltas[0]
    assert not laplace.covers(gaussian)
    assert not gaussian.covers(laplace)
    assert (laplace + gaussian).covers(gaussian)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"losses": [1], "deltas": [], "neighbors": "add_remove"}',
        '{"losses": [-1], "deltas": [0], "neighbors": "add_remove"}',
        '{"losses": [1.5], "deltas": [0], "neighbors": "add_remove"}',
        '{"losses": [true], "deltas": [0], "neighbors": "add_remove"}',
        '{"losses": [4611686018427387905], "deltas": [0], "neighbors": "add_remove"}',
    ],
)
def test_what_no_cost_wrote_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        Cost.from_json(text)


def test_records_are_read_back() -> None:
    certificates = Certificates.of(BUDGET)
    assert Certificates.from_record(certificates.record()) == certificates
    cost = cost_of(p.gaussian(1), certificates)
    assert Cost.from_json(cost.to_json()) == cost
    for record in ({}, {**certificates.record(), "orders": [None]}, {**certificates.record(), "shares": ["1/0"]}):
        with pytest.raises(ParameterError):
            Certificates.from_record(record)
    assert replace(cost, losses=(0, 0)) != cost


def test_the_rest_of_what_may_fail_keeps_its_sampling_error() -> None:
    """A law that is only nearly drawn has no divergence at any order, whatever else may fail."""
    rounded = (p.pure(1) + p.approximate(0, "1e-9")).with_sampling_error("1e-12")
    failure, rest = rounded.unfailing()
    assert (failure, rest.sampling_error) == (Fraction(1, 10**9), Fraction(1, 10**12))
    assert cost_of(rounded, Certificates.of(BUDGET)).losses[1] == INFINITE


@pytest.mark.parametrize("count", [32, 33, 1000])
def test_many_failures_are_added_up(count: int) -> None:
    """Each of the coins of a search for keys may fail; a cost counts that they do, and is finite."""
    chance = Fraction(1, 10**9 * count)
    cost = cost_of(p.approximate(Fraction(1, count), chance) * count + p.gaussian(3), Certificates.of(BUDGET))
    least = cost_of(p.approximate(Fraction(1, count), 0) * count + p.gaussian(3), Certificates.of(BUDGET))
    assert all(loss < INFINITE for loss in cost.losses)
    assert all(loss >= other for loss, other in zip(cost.losses, least.losses, strict=True))
    failing = 1 - (1 - chance) ** count
    counted = max(delta - other for delta, other in zip(cost.deltas, least.deltas, strict=True))
    assert failing * DELTA_UNITS <= counted + 1 <= Fraction(1001, 1000) * DELTA_UNITS / 10**9
