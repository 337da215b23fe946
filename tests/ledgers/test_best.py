"""A ledger with several certificates admits what any of them admits, and keeps what was fixed at its creation."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import privacy as p
from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledgers import Entry, MemoryLedger, Session, SQLiteLedger
from discreet.ledgers.line import Line, covers
from discreet.ledgers.page import MemoryPage
from discreet.ledgers.terms import Terms
from discreet.ledgers.transfer import copy_into
from discreet.ledgers.verification import verified
from discreet.privacy import ZCDP, AnyOf, Approximate, Pure
from discreet.privacy.costs import INFINITE, Certificates, Cost, cost_of
from discreet.tables import Analyst, Column, Policy, Table
from tests.ledgers.stores import BEST_POLICY, VISITS, ZCDP_POLICY, Text, older

if TYPE_CHECKING:
    from pathlib import Path

    from tests.ledgers.stores import Place

ASKED = Entry("count", ("visits",))
TRAINING = p.gaussian(1).subsample("0.01") * 1000
CURVES = [p.laplace(2), p.laplace(10), p.laplace(1), p.zcdp("0.01"), p.approximate(1, "1e-9"), p.approximate(0, "1e-8")]


@given(st.lists(st.sampled_from(CURVES), max_size=40))
@settings(max_examples=40)
def test_a_ledger_admits_exactly_what_any_of_admits(spends: list[p.Curve]) -> None:
    ledger, start = MemoryLedger(BEST_POLICY), AnyOf(Certificates.of(BEST_POLICY.budget))
    for curve in spends:
        cost = cost_of(curve, start.certificates)
        assert ledger.admits(curve, ASKED) is start.admits(cost)  # type: ignore[arg-type]  # what promises
        if start.admits(cost):
            start = start.spend(cost)
            ledger.reserve(curve, ASKED)  # type: ignore[arg-type]  # as above
        else:
            with pytest.raises(BudgetError, match="does not fit"):
                ledger.reserve(curve, ASKED)  # type: ignore[arg-type]  # as above
        assert ledger.statement.whole.spent == start.spent
    assert ledger.verify().ok


def test_a_weaker_promise_never_buys_less(place: Place) -> None:
    """Six questions at half fit into 3 without a delta, and with one; of small ones more do."""
    ledger = place.open(BEST_POLICY)
    for number in range(6):
        ledger.reserve(Pure("0.5"), Entry(str(number), ("visits",)))
    with pytest.raises(BudgetError):
        ledger.reserve(Pure("0.5"), Entry("seventh", ("visits",)))
    small = MemoryLedger(BEST_POLICY)
    assert small.usage(None, None, small.priced(Pure("0.05"))).more == 148  # sums of epsilons alone would admit 60
    assert ledger.verify().ok


def test_a_spend_without_a_finite_cost_retires_a_certificate_for_good(place: Place) -> None:
    """It saturates, and never wraps, in memory and in 64 bits of a store."""
    ledger = place.open(BEST_POLICY)
    endless = Cost((INFINITE, 10**9), (0, 0), ("epsilon", "renyi 8"), BEST_POLICY.budget.neighbors)
    for number in range(3):
        ledger.reserve(endless, Entry(str(number), ("visits",)))
    again = place.open()
    spent = again.statement.whole.spent
    assert isinstance(spent, Cost)
    assert spent.losses == (INFINITE, 3 * 10**9)
    both = Cost((1, INFINITE), (0, 0), ("epsilon", "renyi 8"), BEST_POLICY.budget.neighbors)
    with pytest.raises(BudgetError):
        again.reserve(both, ASKED)
    assert again.verify().ok


def test_a_training_run_and_questions_share_a_budget() -> None:
    ledger = MemoryLedger(BEST_POLICY)
    ledger.reserve(ledger.priced(TRAINING), Entry("", ("visits",), kind="method"))
    assert 0.6 < ledger.usage(None, None).share < 0.65
    assert (ledger.usage(None, None, ledger.priced(ZCDP("0.005"))).more or 0) > 10


def test_a_cost_by_other_certificates_is_refused(place: Place) -> None:
    ledger = place.open(BEST_POLICY)
    other = Certificates.of(p.Budget(1, "1e-9"))
    assert other.names != Certificates.of(BEST_POLICY.budget).names
    for wrong in (cost_of(p.laplace(10), other), "0.1", 0.5, None):
        with pytest.raises(ParameterError):
            ledger.reserve(wrong, ASKED)  # type: ignore[arg-type]  # wrong on purpose


def test_a_payment_covers_a_cost_in_all_of_its_numbers() -> None:
    """Rule 5: asked again for no more than was paid, by every certificate and every delta."""
    paid = Approximate(1, "1e-6")
    assert all(covers(paid, cost) for cost in (paid, Approximate("1/2", "1e-6"), Approximate(1, 0)))
    assert not any(covers(paid, cost) for cost in (Approximate(2, 0), Approximate("1/2", "1e-5"), Pure(1)))
    certificates = Certificates.of(BEST_POLICY.budget)
    laplace, normal = cost_of(p.laplace(2), certificates), cost_of(p.zcdp("0.01"), certificates)
    assert laplace.losses[1] > normal.losses[1]
    assert laplace.losses[0] < normal.losses[0]
    assert not covers(laplace, normal)
    assert not covers(normal, laplace)
    assert covers(laplace, cost_of(p.laplace(4), certificates))


def test_a_repeat_is_free_up_to_what_was_paid_by_every_certificate(place: Place) -> None:
    ledger = place.open(BEST_POLICY)
    ledger.record(ledger.reserve(Pure("0.5"), ASKED), Text(7))
    assert ledger.find(Pure("0.5"), ASKED) is not None
    assert ledger.find(Pure("0.4"), ASKED) is not None
    assert ledger.find(Pure("0.6"), ASKED) is None
    assert ledger.find(ZCDP("0.01"), ASKED) is None  # less by divergences, more by the sum of epsilons
    assert ledger.statement.whole.spent == ledger.priced(Pure("0.5"))


def test_steps_stay_within_every_certificate_of_the_session(place: Place) -> None:
    ledger = place.open(BEST_POLICY)
    with Session.open(ledger, Pure("0.5"), Entry("run", ("visits",), kind="session")) as session:
        session.reserve(Pure("0.25"), Entry("one", ("visits",), kind="method"))
        sums_alone = Cost((1, 10**12), (0, 0), ("epsilon", "renyi 8"), BEST_POLICY.budget.neighbors)
        divergences_alone = Cost((10**12, 1), (0, 0), ("epsilon", "renyi 8"), BEST_POLICY.budget.neighbors)
        for step in (sums_alone, divergences_alone):
            assert not session.admits(step, Entry("two", ("visits",), kind="method"))
            with pytest.raises(BudgetError, match="does not fit into the session"):
                session.reserve(step, Entry("two", ("visits",), kind="method"))
        session.reserve(Pure("0.25"), Entry("two", ("visits",), kind="method"))
    assert ledger.verify().ok


def test_an_edited_budget_keeps_the_orders_of_its_creation(place: Place) -> None:
    """The rule would pick another order for another budget; sums at that one were never kept."""
    ledger = place.open(BEST_POLICY)
    ledger.reserve(Pure("0.5"), ASKED)
    for epsilon, delta in ((30, 1e-6), (1, 1e-9)):
        edited = Policy([VISITS], epsilon=epsilon, delta=delta, dataset="hospital", analysts=[Analyst("a", epsilon=1)])
        assert Certificates.of(edited.budget).names != ("epsilon", "renyi 8")
        again = place.open(edited)
        assert again.policy.certificates.names == ("epsilon", "renyi 8")
        again.reserve(Pure("0.1"), Entry("other", ("visits",), "a"))
        assert again.verify().ok


def test_a_ledger_that_exists_keeps_its_filter_where_a_policy_states_none(place: Place) -> None:
    place.open(ZCDP_POLICY)
    ledger = place.open(BEST_POLICY)
    assert (ledger.policy.filter, ledger.head.number, ledger.policy) == ("zcdp", 0, ZCDP_POLICY)
    raised = place.open(Policy([VISITS], epsilon=5, delta=1e-6, dataset="hospital", delta_conversion=5e-7))
    assert (raised.policy.filter, raised.head.number) == ("zcdp", 1)
    with pytest.raises(LedgerError, match=r"filter .* was 'zcdp' .* now 'best'"):
        place.open(Policy([VISITS], epsilon=5, delta=1e-6, filter="best", dataset="hospital"))


def test_an_analyst_has_the_same_certificates_in_a_smaller_budget(place: Place) -> None:
    policy = Policy([VISITS], epsilon=3, delta=1e-6, dataset="hospital", analysts=[Analyst("ann", epsilon=1, delta=0)])
    ledger = place.open(policy)
    asked = Entry("count", ("visits",), "ann")
    ledger.reserve(Pure("0.5"), asked)
    with pytest.raises(BudgetError, match="analyst ann"):
        ledger.reserve(Pure("0.6"), asked)
    with pytest.raises(BudgetError, match="analyst ann"):
        ledger.reserve(Approximate("0.1", "1e-9"), asked)  # has no delta of its own
    assert str(ledger.usage("ann", None, Pure("0.25"))) == (
        "used 50 % of ε = 1 of analyst ann; about 2 more questions like this one"
    )


PURE = Policy([VISITS], epsilon=1, dataset="hospital", analysts=[Analyst("ann", epsilon=1), Analyst("bob")])


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_read_and_goes_on(tmp_path: Path, version: int) -> None:
    """What was spent, recorded and seen is as it was; sums are whole units from then on."""
    file, asked = tmp_path / "hospital.ledger.sqlite", Entry("count", ("visits",), "ann")
    with SQLiteLedger(file, PURE) as ledger:
        for number in range(2):
            ledger.record(ledger.reserve(Pure("1/3"), Entry(str(number), ("visits",), "ann")), Text(number))
    older(file, version)
    with SQLiteLedger(file, PURE) as ledger:
        assert ledger.verify().ok
        assert ledger.remaining == Pure(1 - 2 * Fraction(333333333334, 10**12))
        repeat = ledger.find(Pure("1/3"), Entry("0", ("visits",), "ann"))
        assert repeat is not None
        assert not repeat.owed
        with pytest.raises(BudgetError):
            ledger.reserve(Pure("1/2"), asked)


def test_an_older_file_whose_entries_lack_a_charge_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    with SQLiteLedger(file, PURE) as ledger:
        ledger.reserve(Pure("1/3"), Entry("a", ("visits",), "ann"))
    older(file, 2)
    with closing(sqlite3.connect(file)) as old:
        old.execute("UPDATE amounts SET amount = replace(amount, '1/3', '2/3')")
        old.commit()
    before = file.read_bytes()
    with pytest.raises(LedgerError, match=r"older format, .* does not follow from its entries; nothing was spent"):
        SQLiteLedger(file, PURE)
    assert file.read_bytes() == before


def test_an_older_file_with_an_edited_entry_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    with SQLiteLedger(file, PURE) as ledger:
        ledger.reserve(Pure("1/3"), Entry("a", ("visits",), "ann"))
    older(file, 2)
    with closing(sqlite3.connect(file)) as old:
        old.execute("UPDATE lines SET line = replace(line, '1/3', '1/9') WHERE number = 1")
        old.commit()
    with pytest.raises(LedgerError, match=r"older format, and its entry 1 is missing or was edited"):
        SQLiteLedger(file, PURE)


def chained(lines: list[Line], epsilon: str, fmt: int) -> MemoryPage:
    """The same entries with another cost and format, chained anew, as who forges a ledger would."""
    page, last = MemoryPage.empty(), None
    forged = []
    for line in lines:
        body = json.loads(json.dumps(line.body).replace('"1/3"', json.dumps(epsilon)))
        body |= {"format": fmt} if line.number == 0 else {}
        forged.append(Line.after(last, line.kind, body, line.time))
        last = (forged[-1].number, forged[-1].hash)
    copy_into(page, forged)
    page.commit()
    return page


def test_verify_finds_a_spend_beyond_the_budget() -> None:
    """Three thirds were the whole of a budget of 1 where fractions were added; a little more never was."""
    ledger = MemoryLedger(Policy([VISITS], epsilon=2, dataset="hospital"))
    for number in range(3):
        ledger.reserve(Pure("1/3"), Entry(str(number), ("visits",)))
    lines = list(ledger.entries())
    thirds = [Line(each.number, each.kind, each.time, each.previous, each.body, each.hash, each.text) for each in lines]
    assert verified(chained(thirds, "2/3", 2), []).ok
    for epsilon, fmt in (("2/3", 3), ("0.6667", 2)):
        problems = verified(chained(thirds, epsilon, fmt), []).problems
        assert any("spends more than the policy allowed" in problem for problem in problems)


def test_verify_finds_certificates_that_are_not_those_of_the_first_budget() -> None:
    """Costs and the choice of noise go by the budget in the terms: it is the one that the ledger was created with."""
    opened = next(iter(MemoryLedger(BEST_POLICY).entries()))
    own = Terms.read(opened.body["terms"])
    assert own.certificates is not None
    other = replace(own, certificates=own.certificates.of_budget(p.Budget(epsilon=300, delta=1e-6)))
    for terms, problems in ((own, ()), (other, ("entry 0 states other units or another filter than its policy.",))):
        page = MemoryPage.empty()
        copy_into(page, [Line.after(None, "opened", {**opened.body, "terms": terms.record()}, opened.time)])
        page.commit()
        assert verified(page, []).problems == problems


def test_verify_finds_units_that_changed_after_something_was_spent() -> None:
    """Before that the same edit is in order."""
    whole = Table("visits", unit="patient_id", columns=[Column("patient_id", type="integer")])
    ledger = MemoryLedger(Policy([VISITS], epsilon=2, dataset="hospital"))
    opened = next(iter(ledger.entries()))
    ledger.reserve(Pure(1), Entry("", ("visits",)))
    paid = list(ledger.entries())[-1]
    other = Policy([whole], epsilon=2, dataset="hospital")
    body = {"terms": Terms.of(other).record(), "policy": json.loads(other.to_json()), "changes": []}
    body |= {"policy_hash": other.hash, "facts_hash": other.facts_hash}
    found = []
    for between in ([], [(paid.kind, paid.body)]):
        lines = [Line.after(None, "opened", opened.body, opened.time)]
        for kind, content in [*between, ("policy", body)]:
            lines.append(Line.after((lines[-1].number, lines[-1].hash), kind, content, opened.time))
        page = MemoryPage.empty()
        copy_into(page, lines)
        page.commit()
        found.append(verified(page, []).problems)
    assert found[0] == ()
    assert any("changes what is fixed: the unit of table visits" in problem for problem in found[1])


def test_a_policy_that_another_ledger_kept_opens_a_new_one() -> None:
    """Its certificates are of that ledger's creation; the new one states them for its own budget."""
    first = Certificates.of(BEST_POLICY.budget)
    raised = Policy([VISITS], epsilon=30, delta=1e-6, dataset="hospital").kept_by("best", first)
    ledger = MemoryLedger(raised)
    assert ledger.policy.certificates == first.of_budget(raised.budget)
    assert ledger.verify().ok
