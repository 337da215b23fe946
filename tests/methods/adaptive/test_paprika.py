"""Discoveries among private p-values: the declared factor, the noise, the levels, the ledger."""

from __future__ import annotations

import json
import math
import os
from fractions import Fraction
from signal import SIGKILL
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import signal, stats

from discreet.checks.audits import Case, cases
from discreet.errors import BudgetError, ParameterError
from discreet.ledgers import Entry, MemoryLedger, Session, SQLiteLedger
from discreet.mechanisms import Release
from discreet.methods.adaptive import (
    BinomialTest,
    ComparisonTest,
    MultiplicativeSensitivity,
    Paprika,
    TruncatedExponentialTest,
)
from discreet.methods.adaptive.paprika import passed
from discreet.privacy import Approximate, NeighborRelation, Pure
from discreet.tables import Policy
from tests.audits.test_cases import follows
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from pathlib import Path

FALSE_ALARM = 1e-9
CHANGE_ONE = NeighborRelation.CHANGE_ONE
ENTRY = Entry("genes", ("t",), kind="session")
POLICY = Policy([], epsilon=50, neighbors=CHANGE_ONE)
TEST = BinomialTest(10_000, nu="1e-12")
FIRM = Paprika(TEST.sensitivity, epsilon=10, discoveries=2)

# By what factor one unit moves a p-value


def moves(values: list[float], nu: float) -> float:
    logs = np.log(np.maximum(values, nu))
    return float(np.abs(np.diff(logs)).max())


@pytest.mark.parametrize("chance", [0.5, 0.1])
@pytest.mark.parametrize("nu", [1e-6, 1e-30, 0.3])
def test_a_binomial_p_value_moves_as_far_as_declared_and_no_farther(chance: float, nu: float) -> None:
    test = BinomialTest(300, str(chance), nu=nu)
    values = [stats.binom.sf(k - 1, 300, chance) for k in range(301)]
    told = [test.p_value(k) for k in (0, 30, 200, 300, 301, -5)]
    assert told == pytest.approx([*(values[k] for k in (0, 30, 200, 300)), 0, 1])
    worst = moves(values, nu)
    assert worst <= float(test.sensitivity.eta) <= worst * (1 + 1e-6)


def test_the_factor_that_is_used_in_print_is_too_small() -> None:
    """sqrt(ln n / n) is what experiments with binomial tests take; at nu = 1e-6 a row moves ln p by four times that."""
    printed = math.sqrt(math.log(1000) / 1000)
    assert 3.5 < float(BinomialTest(1000, nu="1e-6").sensitivity.eta) / printed < 4


@pytest.mark.parametrize("relation", [NeighborRelation.ADD_REMOVE, CHANGE_ONE])
def test_a_comparison_moves_no_farther_than_declared(relation: NeighborRelation) -> None:
    test = ComparisonTest(least=40, most=90, nu="1e-4", neighbors=relation)
    counts = range(60)
    logs = np.array([[test.sensitivity.score(test.p_value(a, b)) for b in counts] for a in counts])
    one = max(np.abs(np.diff(logs, axis=0)).max(), np.abs(np.diff(logs, axis=1)).max())
    other = np.abs(logs[1:, :-1] - logs[:-1, 1:]).max()
    worst = one if relation is NeighborRelation.ADD_REMOVE else max(one, other)
    assert worst <= float(test.sensitivity.eta)
    assert one >= float(ComparisonTest(least=40, most=90, nu="1e-4").sensitivity.eta) * 0.95


def test_comparisons_are_valid_where_counts_are_filled_up_and_cut() -> None:
    test = ComparisonTest(least=40, most=90)
    assert test.p_value(10, 3) == pytest.approx(stats.binom.sf(9, 40, 0.5))
    assert test.p_value(40, 20) == pytest.approx(stats.binom.sf(39, 60, 0.5))
    assert test.p_value(100, 90) > 0.5
    assert test.p_value(45, 10**6) > 0.5
    assert test.p_value(float("nan"), 5) == 1


def test_an_exponential_p_value_moves_as_far_as_declared_and_holds() -> None:
    test = TruncatedExponentialTest(200, bound=2, scale="1/2", nu="1e-8")
    totals = np.arange(0, 400, 0.25)
    logs = np.array([test.sensitivity.score(test.p_value(z)) for z in totals])
    worst = float((logs[:-8] - logs[8:]).max())
    assert worst <= float(test.sensitivity.eta) <= worst * 1.05
    law = stats.truncexpon(b=4, scale=0.5)
    likely = stats.norm.sf((np.array([90, 100, 120]) - 200 * law.mean()) / math.sqrt(200) / law.std())
    assert all(test.p_value(z) >= p for z, p in zip((90, 100, 120), likely, strict=True))
    t = 1.25
    moment = np.log(np.mean(np.exp(t * law.ppf((np.arange(20_000) + 0.5) / 20_000))))
    assert test._log_moment(t) == pytest.approx(moment, rel=1e-4)


def test_what_floats_add_to_a_move_is_part_of_the_factor() -> None:
    """Among 10^9 rows a p-value's logarithm is a sum of so many terms that its last places move it, too."""
    test = TruncatedExponentialTest(10**9, nu="1e-6")
    eta, wanted = float(test.sensitivity.eta), math.log(1e6)
    low, high = 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if test._evidence(middle) < wanted else (low, middle)
    totals = low - np.arange(2.0, 102.0, 0.5)
    moves = [test.sensitivity.score(test.p_value(z)) - test.sensitivity.score(test.p_value(z + 1)) for z in totals]
    assert 0.98 * eta < max(moves) <= eta
    exact = 5.9e-4  # without what floats add
    assert exact < max(moves)
    # Incomplete beta functions of so many rows are off by up to 1e-10, relative to themselves.
    assert float(BinomialTest(10**9).sensitivity.eta) > 3.12955e-4


@pytest.mark.parametrize("given", ["many", None, [], 10**400, 1j])
def test_what_is_no_number_counts_as_no_evidence(given: Any) -> None:  # noqa: ANN401 - whatever a test computes
    assert MultiplicativeSensitivity(1, "1e-3").score(given) == 0


def test_sensitivities_are_read_and_compared() -> None:
    for eta, nu in ((0, "0.1"), (1, 0), (1, 1), (1, "1e-301")):
        with pytest.raises(ParameterError):
            MultiplicativeSensitivity(eta, nu)
    declared = MultiplicativeSensitivity(1, "1e-3")
    assert declared.covers(MultiplicativeSensitivity(1, "1e-3"))
    assert not declared.covers(MultiplicativeSensitivity("1.01", "1e-3"))
    assert not declared.covers(MultiplicativeSensitivity("1/2", "1e-2"))
    assert not declared.covers(MultiplicativeSensitivity(1, "1e-3", neighbors=NeighborRelation.ADD_REMOVE))
    for refused in ({"rows": 0}, {"rows": 5, "chance": 1}):
        with pytest.raises(ParameterError):
            BinomialTest(**refused)


# The noise


def test_the_noise_is_for_the_declared_factor_and_the_price() -> None:
    """Threshold η/ε₁ and value 2η/ε₂ for ε₁ + ε₂ of each discovery; a millionth more for floats and snapping."""
    first, rest = (scale * FIRM.run.grid.step for scale in FIRM.run.scales)
    part = TEST.sensitivity.eta / first + 2 * TEST.sensitivity.eta / rest
    assert Fraction(999, 1000) * 5 < part <= 5
    assert FIRM.claim == Pure(10, neighbors=CHANGE_ONE)
    assert FIRM.privacy.epsilon(0) == pytest.approx(10)


def test_with_delta_more_is_spent_on_each_discovery_and_the_composition_keeps_both() -> None:
    made = Paprika(TEST.sensitivity, epsilon=2, delta="1e-6", discoveries=60)
    assert made.claim == Approximate(2, "1e-6", neighbors=CHANGE_ONE)
    assert made.run.epsilon > Fraction(3, 2) * Fraction(2, 60)
    assert 1.99 < made.privacy.epsilon(1e-6) <= 2


@pytest.mark.parametrize("scales", [(0.4, 0.5), (3.0, 2.0), (1.0, 1.0), (1.0, 7.0)])
@pytest.mark.parametrize("x", [-0.5, -4.0, -25.0])
def test_the_chance_that_a_null_passes_is_what_numerical_integration_gives(
    scales: tuple[float, float], x: float
) -> None:
    floor = math.log(1e-6)
    first, rest = scales
    d = np.arange(-12_000, 12_001) / 100
    law = signal.fftconvolve(stats.laplace.pdf(d, scale=first), stats.laplace.pdf(d, scale=rest), "same") / 100
    v = x + d
    expected = (law * np.where(v >= floor, np.minimum(1, np.exp(np.minimum(v, 0))), 0)).sum() / 100
    assert passed(x, floor, first, rest) == pytest.approx(expected, rel=0.02, abs=1e-9)


def test_nulls_become_discoveries_as_seldom_as_their_level_says(seed: int) -> None:
    """The first test of many runs; compared without making up for the noise, the same check fails."""
    rng, runs, bits = np.random.default_rng(seed), 3_000, ReplayBits(seed)
    made = Paprika(MultiplicativeSensitivity(1, "1e-6"), epsilon=1, discoveries=1, target="0.5", wealth="0.5")
    level = made.rule().level
    values = rng.random(runs)
    found = sum(made.told(value, level, made.run.bar(bits), bits) for value in values)
    assert stats.binom.sf(found - 1, runs, level) > FALSE_ALARM
    assert found > runs * level * 0.6
    naive = sum(
        made.run.is_above(math.log(level) - made.sensitivity.score(value), made.run.bar(bits), bits) for value in values
    )
    assert stats.binom.sf(naive - 1, runs, level) < FALSE_ALARM


@pytest.mark.parametrize("levels", ["investing", "lord"])
def test_of_pure_noise_few_runs_discover_anything(levels: str, seed: int) -> None:
    rng, runs, bits = np.random.default_rng(seed), 150, ReplayBits(seed)
    made = Paprika(MultiplicativeSensitivity("0.2", "1e-6"), epsilon=3, discoveries=3, target="0.2", levels=levels)
    found = sum(any(made.release(rng.random(30), bits=bits).value) for _ in range(runs))
    assert stats.binom.sf(found - 1, runs, 0.2) > FALSE_ALARM


def test_strong_signals_are_found_and_the_run_ends_after_the_last_allowed(seed: int) -> None:
    values = [TEST.p_value(k) for k in (5000, 6000, 4990, 6100, 6200)]
    assert FIRM.release(values, bits=ReplayBits(seed)).value == (False, True, False, True)
    assert FIRM.release([float("nan"), -3.0, 7.0], bits=ReplayBits(seed)).value == (False, False, False)


# The ledger


def test_the_whole_price_is_taken_before_the_first_test() -> None:
    ledger = MemoryLedger(POLICY)

    def failing(session: Session) -> float:
        assert session.cost == Pure(10, neighbors=CHANGE_ONE)
        msg = "the engine is gone"
        raise RuntimeError(msg)

    with FIRM.open(ledger, ENTRY) as session, pytest.raises(RuntimeError):
        session.test("a", failing, TEST)
    assert ledger.remaining == Pure(40, neighbors=CHANGE_ONE)


def test_after_the_last_discovery_it_is_over_and_answers_are_found_again() -> None:
    ledger = MemoryLedger(POLICY)
    with FIRM.open(ledger, ENTRY) as session:
        before = session.level
        assert session.test("a", lambda _: TEST.p_value(6000), TEST).value is True
        assert session.left == 1
        assert session.level != before
        told = session.test("b", lambda _: TEST.p_value(6000), TEST.sensitivity)
        assert told.details["left"] == 0
        with pytest.raises(BudgetError, match="0 of 2 discoveries are left"):
            session.test("c", lambda _: 0.5, TEST)
    with FIRM.open(ledger, ENTRY) as session:
        assert session.test("b", lambda _: 0.5, TEST) == told
        assert session.left == 0
        assert "0 of 2 discoveries left" in repr(session)
    assert Release.from_json(told.to_json()) == told
    assert "uniform or larger" in told.explain()
    assert told.error() is None


def test_what_is_not_declared_or_declared_too_small_is_refused_before_it_is_computed() -> None:
    def never(session: Session) -> float:
        raise AssertionError(session)

    with FIRM.open(MemoryLedger(POLICY), ENTRY) as session:
        with pytest.raises(ParameterError, match="one person may change a p-value by any factor"):
            session.test("a", never)
        with pytest.raises(ParameterError, match="needs a declared multiplicative sensitivity"):
            session.test("a", never, 0.3)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="the noise is too little"):
            session.test("a", never, BinomialTest(100, nu="1e-12"))
        assert not session.answers
    with pytest.raises(ParameterError, match="needs a declared"):
        Paprika(0.3, epsilon=1, discoveries=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="wealth"):
        Paprika(TEST.sensitivity, epsilon=1, discoveries=1, wealth="0.9")


@pytest.mark.parametrize("asked", [0, 2])
def test_who_is_killed_and_opened_again_draws_nothing_anew(asked: int, tmp_path: Path) -> None:
    path, told = tmp_path / "ledger.sqlite", tmp_path / "told.json"
    wide = Paprika(TEST.sensitivity, epsilon="1/100", discoveries=5)

    def drawn(session: object) -> list[object]:
        bits = session.bits(left=1, more="")  # type: ignore[attr-defined]
        bar = session.bar(bits)  # type: ignore[attr-defined]
        return [bar, wide.told(1e-9, session.level, bar, bits), session.level]  # type: ignore[attr-defined]

    child = os.fork()
    if not child:
        session = wide.open(SQLiteLedger(path, POLICY), ENTRY)
        for place in range(asked):
            session.test(f"{place}", lambda _: 1.0, TEST)
        told.write_text(json.dumps(drawn(session)))
        os.kill(os.getpid(), SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -SIGKILL
    with SQLiteLedger(path, POLICY) as ledger, wide.open(ledger, ENTRY) as session:
        assert len(session.answers) == asked
        assert drawn(session) == json.loads(told.read_text())


@pytest.mark.parametrize("case", cases()["paprika"], ids=lambda case: case.name)
def test_what_it_tells_follows_the_written_law(case: Case, seed: int) -> None:
    assert case.law is not None
    made = case.mechanism
    assert isinstance(made, Paprika)
    half = Paprika(
        made.sensitivity,
        epsilon=2 * made.epsilon,
        discoveries=made.discoveries,
        target=made.target,
        wealth=made.wealth,
        levels=made.levels,
        grid=1,
        inputs="snapped",
    )
    drawn = case.draw(made, case.first, 1_000, ReplayBits(seed))
    assert follows(drawn, case.law(made, case.first))
    assert not follows(drawn, case.law(half, case.first))
