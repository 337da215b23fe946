"""A ledger that began under one filter goes on by several certificates, where its delta covers both."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import discreet as dp
from discreet import privacy as p
from discreet.apps.cli import main
from discreet.errors import LedgerError
from discreet.ledgers import Entry, MemoryLedger, Session
from discreet.ledgers.line import Line
from discreet.ledgers.page import MemoryPage
from discreet.ledgers.recounting import terms_after
from discreet.ledgers.terms import Terms
from discreet.ledgers.transfer import copy_into
from discreet.ledgers.upgrading import upgrade
from discreet.ledgers.verification import verified
from discreet.privacy import ZCDP, AnyOf, Approximate, Pure
from discreet.privacy.costs import DELTA_UNITS, Certificates, Cost, cost_of, holding
from discreet.tables import Analyst, Policy
from tests.ledgers.stores import VISITS, ZCDP_POLICY, Text

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.ledgers import Ledger
    from tests.ledgers.stores import Place

ASKED = Entry("count", ("visits",))
BEGUN = Policy([VISITS], epsilon=3, dataset="hospital", analysts=[Analyst("ann", epsilon=2), Analyst("bob")])
GOES_ON = Policy(
    [VISITS], epsilon=3, delta=1e-6, dataset="hospital", analysts=[Analyst("ann", epsilon=2), Analyst("bob")]
)
DOUBLED = Policy([VISITS], epsilon=3, delta=2e-6, dataset="hospital")


def asked(name: str, curve: p.Curve, who: str | None = None) -> Entry:
    return Entry(name, ("visits",), who, details={"curve": curve.record()})


def spent(ledger: Ledger) -> Cost:
    amount = ledger.statement.whole.spent
    assert isinstance(amount, Cost)
    return amount


def test_what_was_spent_is_counted_as_if_it_had_always_been_kept_so(place: Place) -> None:
    ledger, always = place.open(BEGUN), MemoryLedger(GOES_ON)
    for number, scale in enumerate((2, 4, 20, 20)):
        curve = p.laplace(scale)
        ledger.reserve(Pure(1 / Fraction(scale)), asked(str(number), curve, "ann"))
        always.reserve(curve, asked(str(number), curve, "ann"))  # type: ignore[arg-type]  # what promises
    upgrade(ledger, GOES_ON)
    assert ledger.verify().ok
    again = place.open(GOES_ON)
    assert again.head == ledger.head  # the policy is that of the upgrade, and no further edit
    for one, other in zip(again.statement.accounts, always.statement.accounts, strict=True):
        assert (one.title, one.spent, one.limit) == (other.title, other.spent, other.limit)
    small = again.priced(p.laplace(20))
    assert again.usage(None, None, small).more == always.usage(None, None, small).more
    copy = MemoryLedger(GOES_ON, export=list(again.export()))
    assert copy.statement.accounts == again.statement.accounts


def test_the_old_filter_keeps_its_delta(place: Place) -> None:
    """All of it may have been used along the transcripts that were never upgraded."""
    ledger = place.open(ZCDP_POLICY)
    ledger.reserve(ZCDP("0.01"), ASKED)
    before = ledger.head
    with pytest.raises(LedgerError, match=r"delta is 1e-06, .* 'zcdp' may use up 1e-06; .* such as delta = 2e-06"):
        upgrade(ledger, Policy([VISITS], epsilon=3, delta=1e-6, dataset="hospital"))
    assert ledger.head == before
    upgrade(ledger, DOUBLED)
    assert ledger.verify().ok
    certificates = ledger.policy.certificates
    fresh = Certificates.of(p.Budget(3, 1e-6))
    assert certificates.orders == fresh.orders
    assert certificates.limits == fresh.limits
    assert sum(certificates.shares) * DOUBLED.budget.delta == Fraction("1e-6")
    assert spent(ledger) == cost_of(p.zcdp("0.01"), certificates)


def test_questions_are_counted_by_their_curves_and_others_by_what_was_charged() -> None:
    laplace = p.laplace(10)
    rho = Fraction(laplace.zcdp())
    ledger = MemoryLedger(ZCDP_POLICY)
    ledger.reserve(ZCDP(rho), asked("question", laplace))
    ledger.reserve(ZCDP(rho), replace(asked("", laplace), kind="method"))
    ledger.reserve(ZCDP(rho), asked("not its curve", p.laplace(1000)))
    ledger.reserve(ZCDP(rho), replace(ASKED, details={"curve": {"neighbors": 7}}))
    upgrade(ledger, DOUBLED)
    certificates = ledger.policy.certificates
    by_charge = cost_of(p.zcdp(rho), certificates)
    assert spent(ledger) == cost_of(laplace, certificates) + by_charge * 3
    assert by_charge.losses[0] > 4 * cost_of(laplace, certificates).losses[0]


@pytest.mark.parametrize(
    "begun, charge, curve",
    [
        (Policy([VISITS], epsilon=3, dataset="hospital"), Pure(1), p.laplace(1)),
        (
            Policy([VISITS], epsilon=3, delta=1e-6, filter="approximate", dataset="hospital"),
            Approximate(1, "1e-9"),
            p.laplace(1) + p.approximate(0, "1e-9"),
        ),
        (ZCDP_POLICY, ZCDP(Fraction(p.laplace(2).zcdp())), p.laplace(2)),
    ],
)
def test_a_recorded_curve_counts_in_every_old_currency(begun: Policy, charge: Any, curve: p.Curve) -> None:  # noqa: ANN401 - any currency
    ledger = MemoryLedger(begun)
    ledger.reserve(charge, asked("one", curve))
    upgrade(ledger, DOUBLED)
    assert spent(ledger) == cost_of(curve, ledger.policy.certificates)


def test_answers_from_before_stay_free_and_late_ones_are_recorded(place: Place) -> None:
    ledger = place.open(BEGUN)
    curve = p.laplace(2)
    ledger.record(ledger.reserve(Pure("0.5"), asked("count", curve, "ann")), Text(7))
    late = ledger.reserve(Pure("0.5"), asked("late", curve, "ann"))
    upgrade(ledger, GOES_ON)
    ledger.record(late, Text(8))
    cost = cost_of(curve, ledger.policy.certificates)
    for name in ("count", "late"):
        repeat = ledger.find(cost, Entry(name, ("visits",), "ann"))
        assert repeat is not None
        assert (repeat.costs, repeat.owed) == ((cost,), {})
        shown = ledger.find(cost, Entry(name, ("visits",), "bob"))
        assert shown is not None
        assert ledger.find(cost * 2, Entry(name, ("visits",), "ann")) is None
    charged = {account.title: account.spent for account in ledger.statement.accounts}
    assert charged["dataset"] == charged["analyst ann"] == charged["analyst bob"] == cost * 2
    assert ledger.verify().ok


def test_shares_of_answers_are_counted_once_for_each(place: Place) -> None:
    ledger, curve = place.open(BEGUN), p.laplace(2)
    for _ in range(2):
        ledger.record(ledger.reserve(Pure("0.5"), asked("count", curve, "ann")), Text(7))
    for _ in range(2):
        assert ledger.find(Pure(1), asked("count", curve, "bob")) is not None
    upgrade(ledger, GOES_ON)
    cost = cost_of(curve, ledger.policy.certificates)
    assert {account.title: account.spent for account in ledger.statement.accounts} == {
        "dataset": cost * 2,
        "analyst ann": cost * 2,
        "analyst bob": cost * 2,
    }


@pytest.mark.parametrize(
    "begun, after, words",
    [
        (GOES_ON, GOES_ON, "several certificates already"),
        (BEGUN, BEGUN, "need a delta"),
        (ZCDP_POLICY, Policy([VISITS], epsilon=2, delta=2e-6, dataset="hospital"), "dataset was .* must be covered"),
        (ZCDP_POLICY, Policy([VISITS], epsilon=3, delta=2e-6, dataset="clinic"), "dataset's id"),
        (
            Policy(
                [VISITS], epsilon=3, delta=1e-6, filter="zcdp", dataset="hospital", analysts=[Analyst("a", delta=1e-7)]
            ),
            Policy([VISITS], epsilon=3, delta=2e-6, dataset="hospital", analysts=[Analyst("a", delta=1e-7)]),
            "budget of analyst a was",
        ),
        (
            BEGUN,
            Policy([VISITS], epsilon=3, delta=1e-6, dataset="hospital", analysts=[Analyst("ann", epsilon=1)]),
            "ann was",
        ),
    ],
)
def test_what_is_not_covered_is_not_changed(begun: Policy, after: Policy, words: str) -> None:
    ledger = MemoryLedger(begun)
    before = ledger.head
    with pytest.raises(LedgerError, match=words):
        upgrade(ledger, after)
    assert ledger.head == before
    assert ledger.verify().ok


def test_what_no_certificate_holds_is_not_changed() -> None:
    """Large zCDP charges without curves: sums of epsilons are far beyond, and the new divergences are as well."""
    ledger = MemoryLedger(Policy([VISITS], epsilon=3, delta=1e-6, filter="approximate", dataset="hospital"))
    for number in range(5):
        ledger.reserve(Approximate("0.6", "2e-7"), Entry(str(number), ("visits",)))
    with pytest.raises(LedgerError, match="by no certificate"):
        upgrade(ledger, DOUBLED)


def test_an_open_session_is_closed_first(place: Place) -> None:
    ledger = place.open(BEGUN)
    run = Entry("run", ("visits",), "ann", kind="session")
    with Session.open(ledger, Pure(1), run) as session:
        session.append([Text(1)])
        with pytest.raises(LedgerError, match="session of entry 1 is open"):
            upgrade(ledger, GOES_ON)
        session.close()
    upgrade(ledger, GOES_ON)
    assert spent(ledger) == ledger.priced(Pure(1))
    assert ledger.verify().ok


def test_who_has_it_open_begins_anew(tmp_path: Path) -> None:
    """Prices of a question that was planned under the old filter are in its currency."""
    file = tmp_path / "hospital.toml"
    (tmp_path / "visits.csv").write_text("patient_id,cost\n" + "".join(f"{n},{n % 90}\n" for n in range(500)))
    text = (
        '[source]\nurl = "."\n[budget]\nepsilon = 3\n{delta}[tables.visits]\nunit = "patient_id"\nrows_per_unit = 1\n'
        "[tables.visits.columns]\ncost = {{ lower = 0, upper = 100 }}\n"
    )
    file.write_text(text.format(delta=""))
    with dp.open(file) as db:
        first = db.sql("SELECT COUNT(*) AS n FROM visits").release(0.5)
        file.write_text(text.format(delta="delta = 1e-6\n"))
        assert main(["ledger", "upgrade", str(file)]) == 0
        with pytest.raises(LedgerError, match="policy was edited"):
            db.sql("SELECT SUM(cost) AS s FROM visits").release(0.5)
    with dp.open(file) as db:
        again = db.sql("SELECT COUNT(*) AS n FROM visits").release(0.5)
        assert again.repeated
        assert again.to_dicts() == first.to_dicts()
        assert db.policy.filter == "best"
        assert db.sql("SELECT SUM(cost) AS s FROM visits").release(0.5).cost.fields().keys() >= {"epsilon", "renyi 8"}


def test_the_command_says_why_not_and_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hospital.toml"
    file.write_text('[budget]\nepsilon = 3\ndelta = 1e-6\nfilter = "zcdp"\n')
    assert main(["ledger", "upgrade", str(file)]) == 1
    assert "there is no ledger" in capsys.readouterr().err
    assert main(["budget", str(file)]) == 0
    file.write_text("[budget]\nepsilon = 3\ndelta = 1e-6\n")
    assert main(["ledger", "upgrade", str(file)]) == 1
    assert "Write a larger one, such as delta = 2e-06" in capsys.readouterr().err
    file.write_text("[budget]\nepsilon = 3\ndelta = 2e-6\n")
    assert main(["ledger", "upgrade", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["filter"] == "best"
    assert main(["verify", str(file)]) == 0


def forged(ledger: Ledger, **body: Any) -> tuple[str, ...]:  # noqa: ANN401 - any JSON
    """The problems of a chain whose upgrade says something else."""
    page, last, lines = MemoryPage.empty(), None, []
    for line in ledger.entries():
        facts = {**line.body, **body} if "upgrade" in line.body else line.body
        lines.append(Line.after(last, line.kind, json.loads(json.dumps(facts)), line.time))
        last = (lines[-1].number, lines[-1].hash)
    copy_into(page, lines)
    page.commit()
    return verified(page, []).problems


def test_verify_finds_an_upgrade_that_gives_the_whole_delta_away_again() -> None:
    ledger = MemoryLedger(ZCDP_POLICY)
    upgrade(ledger, DOUBLED)
    assert forged(ledger) == ()
    terms = dict(list(ledger.entries())[-1].body["terms"])
    kept = Certificates.from_record(terms["certificates"])
    greedy = replace(kept, shares=tuple(2 * share for share in kept.shares))
    said = forged(ledger, terms={**terms, "certificates": greedy.record()})
    assert said == ("entry 1 states other units or another filter than its policy.",)
    assert any("changes what is fixed" in problem for problem in forged(ledger, upgrade=False))


def test_verify_finds_an_upgrade_within_an_open_session() -> None:
    ledger = MemoryLedger(BEGUN)
    with Session.open(ledger, Pure(1), Entry("run", ("visits",), "ann", kind="session")) as session:
        session.close()
        upgrade(ledger, GOES_ON)
    page, last, lines = MemoryPage.empty(), None, []
    for line in ledger.entries():
        if line.kind != "closed":
            lines.append(Line.after(last, line.kind, line.body, line.time))
            last = (lines[-1].number, lines[-1].hash)
    copy_into(page, lines)
    page.commit()
    assert any("while a session is open" in problem for problem in verified(page, []).problems)


def test_a_late_answer_costs_what_was_counted() -> None:
    """In units of the certificates, not in the old currency's."""
    ledger = MemoryLedger(ZCDP_POLICY)
    late = ledger.reserve(ZCDP("0.01"), ASKED)
    upgrade(ledger, DOUBLED)
    ledger.record(late, Text(1))
    assert ledger.find(ZCDP("0.01"), ASKED) is not None
    assert spent(ledger).deltas == (ledger.policy.certificates.shares[0] * 2 * DELTA_UNITS // 10**6 // 200, 0)


GRID = Fraction(1, 8)


def worst_delta(epsilon: Fraction, before: Fraction, certificates: Certificates) -> float:
    """The largest delta at epsilon that an adversary reaches who begins under sums of epsilons and may upgrade.

    Each step, and whether the ledger is upgraded before it, is chosen after seeing the last one: a randomized response
    whose epsilon is a multiple of 1/8, or a box that shows everything with a stated chance. By dynamic programming over
    how often each was taken, the loss so far and whether the upgrade was made, with the laws of the first neighbor.
    """
    start, responses = AnyOf(certificates), (1, 4)
    boxes = (certificates.shares[1] * certificates.budget.delta, before)
    curves = [p.randomized_response(GRID * times) for times in responses] + [p.approximate(0, box) for box in boxes]
    costs = [cost_of(curve, certificates) for curve in curves]
    sums = [(GRID * times, Fraction(0)) for times in responses] + [(Fraction(0), box) for box in boxes]

    @cache
    def new(counts: tuple[int, ...]) -> bool:
        spent = start.spent
        for cost, count in zip(costs, counts, strict=True):
            spent += cost * count
        return any(holding(start.limits, spent))

    def old(counts: tuple[int, ...]) -> bool:
        used = [sum(count * cost[side] for count, cost in zip(counts, sums, strict=True)) for side in (0, 1)]
        return used[0] <= epsilon and used[1] <= before

    @cache
    def best(counts: tuple[int, ...], loss: int, upgraded: bool) -> float:  # noqa: FBT001 - a state
        reached = max(0.0, -math.expm1(float(epsilon - GRID * loss)))
        if not upgraded and new(counts):
            reached = max(reached, best(counts, loss, True))  # noqa: FBT003 - as above
        for step in range(len(costs)):
            after = (*counts[:step], counts[step] + 1, *counts[step + 1 :])
            if not (new(after) if upgraded else old(after)):
                continue
            if step < len(responses):
                truth, moved = 1 / (1 + math.exp(-float(GRID) * responses[step])), responses[step]
                value = truth * best(after, loss + moved, upgraded) + (1 - truth) * best(after, loss - moved, upgraded)
            else:
                chance = float(boxes[step - len(responses)])
                value = chance + (1 - chance) * best(after, loss, upgraded)
            reached = max(reached, value)
        return reached

    return best((0,) * len(costs), 0, False)  # noqa: FBT003 - as above


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_no_adaptive_adversary_reaches_more_than_both_deltas(epsilon: str) -> None:
    old = Policy([], epsilon=epsilon, delta="0.1", filter="approximate")
    terms = terms_after(Terms.of(old), [old], Policy([], epsilon=epsilon, delta="0.2"))
    assert terms.certificates is not None
    assert 0.1 < worst_delta(Fraction(epsilon), Fraction("0.1"), terms.certificates) <= 0.2


def test_an_adversary_refutes_an_upgrade_within_the_old_delta() -> None:
    """What the old filter may use up is given to certificates again: each alone is right, both together are not."""
    greedy = Certificates.of(p.Budget(1, "0.1"))
    assert worst_delta(Fraction(1), Fraction("0.1"), greedy) > 1.1 * 0.1
