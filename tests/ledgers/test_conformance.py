"""One suite for all ledgers: memory, SQLite, and a real PostgreSQL."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import BudgetError, DiscreetError, LedgerError, ParameterError
from discreet.ledgers import Entry, Session
from discreet.ledgers import book as book_module
from discreet.ledgers.transfer import written
from discreet.privacy import ZCDP, Approximate, NeighborRelation, Pure
from discreet.tables import Analyst, Column, Policy, Table
from tests.ledgers.stores import NESTED, POLICY, VISITS, ZCDP_POLICY, Text

if TYPE_CHECKING:
    from discreet.ledgers import Ledger
    from tests.ledgers.stores import Place

COUNT = Entry("count", ("visits",), asked="SELECT COUNT(*) FROM visits")


def by(analyst: str, purpose: str = "research", question: str = "count") -> Entry:
    return Entry(question, ("visits",), analyst, purpose)


def answered(ledger: Ledger, cost: Any, entry: Entry, value: object = 7) -> str:  # noqa: ANN401 - any currency
    return ledger.record(ledger.reserve(cost, entry), Text(value))


def test_what_is_reserved_is_spent_and_found_again(place: Place) -> None:
    ledger = place.open(POLICY)
    paid = ledger.reserve(Pure("0.4"), COUNT)
    assert (paid.cost, paid.entry, paid.earlier) == (Pure("0.4"), COUNT, ())
    assert place.open().remaining == place.open(POLICY).remaining == Pure("2.6")
    (line,) = list(place.open().entries(kind="reserved"))
    assert line.cost == Pure("0.4")
    assert line.body["asked"] == COUNT.asked
    assert f"{line.number}:{line.hash}" == paid.head == str(ledger.head)


def test_the_last_part_of_a_budget_can_be_spent_exactly_and_no_more(place: Place) -> None:
    ledger = place.open(Policy([VISITS], epsilon="0.3", dataset="hospital"))
    ledger.reserve(Pure(0.1), COUNT)
    before = ledger.head
    with pytest.raises(BudgetError, match=r"Pure\(epsilon=0.2\) is left of Pure\(epsilon=0.3\). Nothing was spent"):
        ledger.reserve(Pure("0.2000000001"), COUNT)
    assert ledger.head == before
    ledger.reserve(Pure(0.2), COUNT)
    assert ledger.remaining == Pure(0)
    with pytest.raises(BudgetError):
        ledger.reserve(Pure("1e-30"), COUNT)
    assert ledger.verify().ok


def test_several_costs_are_taken_all_or_none(place: Place) -> None:
    ledger = place.open(POLICY)
    with pytest.raises(BudgetError):
        ledger.reserve_all([(Pure(2), COUNT), (Pure(2), replace(COUNT, question="sum"))])
    assert (ledger.remaining, ledger.head.number) == (Pure(3), 0)
    assert len(ledger.reserve_all([(Pure(2), COUNT), (Pure(1), replace(COUNT, question="sum"))])) == 2
    assert ledger.remaining == Pure(0)


def test_an_answer_is_recorded_once_and_for_its_own_reservation(place: Place) -> None:
    ledger = place.open(POLICY)
    paid = ledger.reserve(Pure(1), COUNT)
    ledger.record(paid, Text(7))
    with pytest.raises(ParameterError, match="has its answer already"):
        ledger.record(paid, Text(8))
    with pytest.raises(ParameterError, match="is not of this ledger"):
        ledger.record(replace(paid, number=0), Text(8))
    with pytest.raises(ParameterError, match="is not of this ledger"):
        ledger.record(replace(paid, head="9" + paid.head), Text(8))
    found = ledger.find(Pure(1), COUNT)
    assert found is not None
    assert [dict(each) for each in found.answers] == [{"value": 7}]


def test_an_unrecorded_reservation_stays_spent_and_is_no_repeat(place: Place) -> None:
    place.open(POLICY).reserve(Pure(1), COUNT)
    ledger = place.open(POLICY)
    assert ledger.remaining == Pure(2)
    assert ledger.find(Pure("0.1"), COUNT) is None
    found = ledger.verify()
    assert found.ok
    assert "1 reservation without an answer" in found.remarks[0]


def test_a_repeat_is_free_up_to_what_was_paid(place: Place) -> None:
    ledger = place.open(POLICY)
    answered(ledger, Pure(1), COUNT)
    head = ledger.head
    for cost in ("0.5", "1"):
        found = ledger.find(Pure(cost), COUNT)
        assert found is not None
        assert (found.cost, [each["value"] for each in found.answers]) == (Pure(1), [7])
    assert ledger.find(Pure("1.001"), COUNT) is None
    assert ledger.find(Pure("0.5"), replace(COUNT, question="another")) is None
    assert (ledger.remaining, ledger.head) == (Pure(2), head)


def test_asked_for_more_a_question_is_charged_anew_and_both_answers_count(place: Place) -> None:
    ledger = place.open(POLICY)
    answered(ledger, Pure("0.5"), COUNT, 6)
    paid = ledger.reserve(Pure(1), COUNT)
    assert [each["value"] for each in paid.earlier] == [6]
    ledger.record(paid, Text(7))
    found = ledger.find(Pure("1.5"), COUNT)
    assert found is not None
    assert [each["value"] for each in found.answers] == [6, 7]
    assert ledger.remaining == Pure("1.5")


def test_budgets_nest_and_a_cost_must_fit_them_all(place: Place) -> None:
    ledger = place.open(NESTED)
    with pytest.raises(BudgetError, match="budget of analyst ann"):
        ledger.reserve(Pure("1.5"), by("ann"))
    with pytest.raises(BudgetError, match="budget of purpose planning"):
        ledger.reserve(Pure("0.75"), by("bob", "planning"))
    ledger.reserve(Pure(1), by("bob"))
    ledger.reserve(Pure("0.75"), by("ann"))
    assert ledger.remaining_for("ann", "research") == Pure("0.25")
    assert ledger.remaining_for("bob", "research") == Pure("0.25")
    assert ledger.remaining_for("bob", "planning") == Pure("0.5")
    assert ledger.remaining == Pure("1.25")
    with pytest.raises(BudgetError, match="budget of purpose research"):
        ledger.reserve(Pure("0.5"), by("bob"))
    spent = {(account.scope, account.name): account.spent for account in ledger.statement.accounts}
    assert spent == {
        ("dataset", ""): Pure("1.75"),
        ("analyst", "ann"): Pure("0.75"),
        ("analyst", "bob"): Pure(1),
        ("purpose", "planning"): Pure(0),
        ("purpose", "research"): Pure("1.75"),
    }
    assert ledger.verify().ok


def test_shown_to_another_an_answer_counts_in_their_budgets_once(place: Place) -> None:
    ledger = place.open(NESTED)
    answered(ledger, Pure("0.5"), by("ann"))
    for _ in range(3):
        assert ledger.find(Pure("0.1"), by("bob", "planning")) is not None
    spent = {account.title: account.spent for account in ledger.statement.accounts}
    assert (spent["dataset"], spent["analyst bob"], spent["purpose planning"]) == (Pure("0.5"),) * 3
    assert len(list(ledger.entries(kind="shared"))) == 1
    with pytest.raises(BudgetError, match="purpose planning"):
        ledger.reserve(Pure("0.1"), by("bob", "planning", "another"))
    assert ledger.verify().ok


def test_an_answer_is_not_shown_to_whom_it_does_not_fit(place: Place) -> None:
    ledger = place.open(NESTED)
    answered(ledger, Pure("0.75"), by("bob"))
    with pytest.raises(BudgetError, match="purpose planning"):
        ledger.find(Pure("0.1"), by("ann", "planning"))
    spent = {account.title: account.spent for account in ledger.statement.accounts}
    assert (spent["analyst ann"], spent["purpose planning"]) == (Pure(0), Pure(0))


def test_who_asks_for_more_pays_the_price_and_sees_no_answer_that_he_has_not_paid_for(place: Place) -> None:
    ledger = place.open(NESTED)
    answered(ledger, Pure("0.25"), by("ann"))
    paid = ledger.reserve(Pure("0.5"), by("bob"))
    assert paid.earlier == ()
    ledger.record(paid, Text(8))
    spent = {account.title: account.spent for account in ledger.statement.accounts}
    assert (spent["dataset"], spent["analyst ann"], spent["analyst bob"]) == (Pure("0.75"), Pure("0.25"), Pure("0.5"))
    assert ledger.find(Pure("0.75"), by("ann")) is not None
    spent = {account.title: account.spent for account in ledger.statement.accounts}
    assert (spent["dataset"], spent["analyst ann"], spent["purpose research"]) == (Pure("0.75"),) * 3
    assert [each["value"] for each in ledger.reserve(Pure("0.25"), by("ann")).earlier] == [7, 8]
    assert ledger.verify().ok


def test_only_the_shown_part_of_the_stored_answers_is_charged(place: Place) -> None:
    ledger = place.open(NESTED)
    answered(ledger, Pure("0.25"), by("bob"), 6)
    answered(ledger, Pure("0.5"), by("bob"), 7)
    found = ledger.look(Pure("0.5"), by("ann"))
    assert found is not None
    part = replace(found, answers=found.answers[1:], numbers=found.numbers[1:])
    ((), (shown,)) = ledger.take([], [(part, by("ann"))])
    assert (shown.cost, [each["value"] for each in shown.answers]) == (Pure("0.5"), [7])
    spent = {account.title: account.spent for account in ledger.statement.accounts}
    assert (spent["dataset"], spent["analyst ann"]) == (Pure("0.75"), Pure("0.5"))
    ledger.take([], [(found, by("ann"))])
    spent = {account.title: account.spent for account in ledger.statement.accounts}
    assert spent["analyst ann"] == Pure("0.75")
    for strange in ((), (99,), (found.numbers[0], 99)):
        with pytest.raises(ParameterError, match="no answers to this question"):
            ledger.take([], [(replace(found, numbers=strange), by("ann"))])
    assert ledger.verify().ok


def test_analysts_and_purposes_are_those_of_the_policy(place: Place) -> None:
    ledger = place.open(NESTED)
    for entry in (by("eve"), by("ann", "fun"), Entry("count", ("visits",), "ann"), Entry("count", ("visits",))):
        with pytest.raises(ParameterError, match=r"the policy's (analysts|purposes) are"):
            ledger.reserve(Pure("0.1"), entry)
    for strange in ("", "a\nb", "a\0b"):
        with pytest.raises(ParameterError):
            ledger.reserve(Pure("0.1"), replace(by("ann"), purpose=strange))
    with pytest.raises(ParameterError, match="kind"):
        ledger.reserve(Pure("0.1"), replace(by("ann"), kind="gift"))
    assert ledger.head.number == 0


@pytest.mark.parametrize("wrong", [ZCDP(1), Approximate(1, 1e-9), Pure(1, neighbors=NeighborRelation.CHANGE_ONE)])
def test_a_cost_in_another_currency_or_relation_is_refused(place: Place, wrong: Any) -> None:  # noqa: ANN401 - any currency
    ledger = place.open(POLICY)
    with pytest.raises(ParameterError):
        ledger.reserve(wrong, COUNT)
    assert ledger.head.number == 0


def test_numbers_stay_exact_in_every_currency(place: Place) -> None:
    ledger = place.open(ZCDP_POLICY)
    limit = ledger.remaining
    assert isinstance(limit, ZCDP)
    tenth = ZCDP(Fraction(round(limit.rho * 10**11), 10**12), Fraction(1, 10**7))
    for number in range(3):
        ledger.reserve(tenth, replace(COUNT, question=str(number)))
    left = place.open().remaining
    assert left == ZCDP(limit.rho - 3 * tenth.rho, limit.delta - Fraction(3, 10**7))


def test_sums_are_whole_units_and_each_cost_is_rounded_up(place: Place) -> None:
    """Whatever the costs are, a sum is a short number, and never less than what was spent."""
    ledger = place.open(POLICY)
    for number in range(60):
        ledger.reserve(Pure(Fraction(1, 10**20 + 2 * number + 1)), COUNT)
    assert ledger.statement.whole.spent == Pure(Fraction(60, 10**12))
    ledger.reserve(Pure("1/3"), COUNT)
    assert ledger.statement.whole.spent == Pure(Fraction(60 + 333333333334, 10**12))
    assert ledger.verify().ok


EDITS = [
    (Policy([VISITS], epsilon=5, dataset="hospital"), "budget.epsilon: 3 -> 5", Pure(4)),
    (Policy([VISITS], epsilon=3, dataset="hospital", version="2"), "dataset.version: 1 -> 2", Pure(2)),
    (Policy([VISITS], epsilon="0.5", dataset="hospital"), "budget.epsilon: 3 -> 1/2", Pure(0)),
    (Policy([VISITS, Table("staff", unit="id")], epsilon=3, dataset="hospital"), "tables.staff added", Pure(2)),
    (Policy([VISITS], epsilon=3, dataset="hospital", analysts=[Analyst("ann")]), "analysts.ann added", Pure(2)),
]


@pytest.mark.parametrize("edited, change, left", EDITS)
def test_an_edit_of_the_policy_is_an_entry_and_never_a_refund(
    place: Place, edited: Policy, change: str, left: Pure
) -> None:
    place.open(POLICY).reserve(Pure(1), COUNT)
    ledger = place.open(edited)
    (line,) = list(ledger.entries(kind="policy"))
    assert line.body["changes"] == [change]
    assert ledger.remaining == left
    assert place.open().policy == edited
    place.open(edited)
    assert len(list(ledger.entries(kind="policy"))) == 1
    assert ledger.verify().ok


CHANGE_ONE = NeighborRelation.CHANGE_ONE
WHOLE = Table("visits", unit="patient_id", columns=[Column("patient_id", type="integer")])
KIND = Table("visits", unit="patient_id", unit_kind="household")
FORBIDDEN = [
    (Policy([Table("visits", unit="doctor")], epsilon=3, dataset="hospital"), "unit of table visits"),
    (Policy([Table("visits", row_is_unit=True)], epsilon=3, dataset="hospital"), "unit of table visits"),
    (Policy([Table("visits", public=True)], epsilon=3, dataset="hospital"), "unit of table visits"),
    (Policy([WHOLE], epsilon=3, dataset="hospital"), "type 'text' .* is now 'patient_id' .* type 'integer'"),
    (Policy([KIND], epsilon=3, dataset="hospital"), "unit of table visits"),
    (Policy([VISITS], epsilon=3, dataset="hospital", neighbors=CHANGE_ONE), "neighbor relation"),
    (Policy([VISITS], epsilon=3, delta=1e-6, dataset="hospital"), "the filter"),
    (Policy([VISITS], epsilon=3, dataset="other"), "the dataset's id"),
]


@pytest.mark.parametrize("edited, what", FORBIDDEN)
def test_unit_relation_filter_and_dataset_never_change(place: Place, edited: Policy, what: str) -> None:
    ledger = place.open(POLICY)
    ledger.reserve(Pure("0.1"), COUNT)
    head = ledger.head
    with pytest.raises(LedgerError, match=what):
        place.open(edited)
    assert place.open().head == head


def test_units_may_be_corrected_until_something_is_spent(place: Place) -> None:
    """Nobody was promised anything yet: a check, which opens the ledger, may show that 7 and 7.0 are one."""
    place.open(POLICY).note("check", "declared facts", {})
    whole = Policy([WHOLE], epsilon=3, dataset="hospital")
    ledger = place.open(whole)
    assert ledger.verify().ok
    ledger.reserve(Pure("0.1"), Entry("", ("visits",)))
    with pytest.raises(LedgerError, match="unit of table visits"):
        place.open(POLICY)
    assert ledger.verify().ok


def test_the_split_of_delta_never_changes(place: Place) -> None:
    place.open(ZCDP_POLICY)
    with pytest.raises(LedgerError, match="conversion"):
        place.open(Policy([VISITS], epsilon=3, delta=2e-6, filter="zcdp", dataset="hospital"))
    place.open(Policy([VISITS], epsilon=3, delta=2e-6, filter="zcdp", delta_conversion=5e-7, dataset="hospital"))


def test_a_table_that_comes_back_has_its_old_unit(place: Place) -> None:
    place.open(POLICY).reserve(Pure("0.1"), COUNT)
    place.open(Policy([], epsilon=3, dataset="hospital"))
    with pytest.raises(LedgerError, match="unit of table visits"):
        place.open(Policy([Table("visits", unit="doctor")], epsilon=3, dataset="hospital"))
    place.open(POLICY)


def test_who_holds_an_older_policy_spends_nothing(place: Place) -> None:
    if place.kind == "memory":
        pytest.skip("one object holds one policy")
    old = place.open(POLICY)
    place.open(Policy([VISITS], epsilon=3, dataset="hospital", version="2"))
    with pytest.raises(LedgerError, match="policy was edited"):
        old.reserve(Pure(1), COUNT)
    assert place.open().remaining == Pure(3)


def test_who_has_the_ledger_open_goes_by_the_rights_and_budgets_of_today(place: Place) -> None:
    """They are no facts: answers stay what they were, and repeats stay free."""
    old = place.open(POLICY)
    answered(old, Pure(1), COUNT)
    ann = replace(COUNT, analyst="ann")
    may = Analyst("ann", may=["preview"])
    place.open(Policy([VISITS], epsilon="1.5", dataset="hospital", analysts=[may]))
    assert old.remaining == Pure("0.5")
    for kind in ("question", "method"):
        with pytest.raises(ParameterError, match=r"'ann' may not release questions about visits"):
            old.reserve(Pure("0.1"), replace(ann, question="new", kind=kind))
    with pytest.raises(ParameterError, match="may not release"):
        old.find(Pure(1), ann)
    with pytest.raises(ParameterError, match="may not release"):
        Session.open(old, Pure("0.1"), replace(ann, kind="session"))
    assert old.look(Pure(1), ann) is not None  # what a preview asks
    place.open(Policy([VISITS], epsilon=2, dataset="hospital", analysts=[Analyst("ann")]))
    assert old.find(Pure(1), ann) is not None
    assert old.remaining == Pure(1)
    old.reserve(Pure(1), replace(ann, question="new"))
    assert old.verify().ok


def test_audits_checks_and_unprotected_releases_cost_nothing(place: Place) -> None:
    ledger = place.open(POLICY)
    ledger.note("audit", "Laplace", {"claimed": "1.0", "shown": "0.41"})
    ledger.note("check", "visits.patient_id is unique", {"version": "1", "holds": True})
    ledger.note("unprotected", "a table of five groups", {"method": "k-anonymity"})
    assert ledger.remaining == Pure(3)
    texts = [str(line) for line in ledger.entries()]
    assert "claimed 1.0, shown ≥ 0.41" in texts[1]
    assert texts[3].endswith("a table of five groups: no guarantee")
    with pytest.raises(ParameterError, match="kind"):
        ledger.note("reserved", "nothing", {})
    assert ledger.verify().ok


@pytest.mark.parametrize(
    "facts",
    [
        {"x": float("nan")},
        {"x": object()},
        {"y": {(1,): 2}},
        {"charges": []},
        {"question": 5},
        {"x": {1}},
    ],
    ids=["nan", "object", "tuple as a name", "charges", "question", "set"],
)
def test_what_is_no_json_is_not_noted(place: Place, facts: Any) -> None:  # noqa: ANN401 - anything
    ledger = place.open(POLICY)
    head = ledger.head
    with pytest.raises(ParameterError, match=r"no JSON|a word of the ledger's own"):
        ledger.note("audit", "Laplace", facts)
    round_about: dict[str, object] = {}
    round_about["x"] = round_about
    with pytest.raises(ParameterError, match="no JSON"):
        ledger.note("audit", "Laplace", round_about)
    assert ledger.head == head


class Wordless:
    def __init__(self, text: object) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Wordless({self.text!r})"

    def to_json(self) -> Any:  # noqa: ANN401 - anything
        return self.text


STRANGE_ENTRIES = [
    {"question": 5},
    {"question": None},
    {"question": "\ud800"},
    {"question": "a\0b"},
    {"tables": 5},
    {"tables": "visits"},
    {"tables": (5,)},
    {"verified": (5,)},
    {"asked": 5},
    {"version": None},
    {"details": {"x": {1}}},
    {"kind": "gift"},
]


@pytest.mark.parametrize("facts", STRANGE_ENTRIES, ids=str)
def test_an_entry_that_could_not_be_read_back_is_not_written(place: Place, facts: Any) -> None:  # noqa: ANN401 - anything
    ledger = place.open(POLICY)
    head = ledger.head
    with pytest.raises(ParameterError):
        ledger.reserve(Pure(1), replace(COUNT, **facts))
    assert ledger.head == head
    assert ledger.verify().ok


def test_a_ledger_is_not_copied_and_takes_no_strange_arguments(place: Place) -> None:
    ledger: Any = place.open(POLICY)
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="would be spent twice"):
            act(ledger)
    with pytest.raises(ParameterError, match="what `reserve` gave"):
        ledger.record(None, Text(1))
    with pytest.raises(ParameterError, match="head is 5"):
        ledger.verify(head=5)
    for start in (-1, "x", None):
        with pytest.raises(ParameterError, match="start"):
            list(ledger.entries(start=start))


@pytest.mark.parametrize("answer", [Text(float("nan")), Wordless("{"), Wordless(5), "text", None], ids=repr)
def test_an_answer_that_is_no_json_is_not_kept_and_stays_spent(place: Place, answer: Any) -> None:  # noqa: ANN401 - anything
    ledger = place.open(POLICY)
    paid = ledger.reserve(Pure(1), COUNT)
    with pytest.raises(ParameterError, match="no JSON"):
        ledger.record(paid, answer)
    assert ledger.remaining == Pure(2)
    assert ledger.verify().ok


def test_a_check_is_believed_until_the_policy_changes_or_the_next_check(place: Place) -> None:
    ledger = place.open(POLICY)
    relying = replace(COUNT, verified=("visits",))
    with pytest.raises(LedgerError, match="check, on which this question relies"):
        ledger.reserve(Pure(1), relying)
    ledger.note("check", "declared facts", {"tables": ["visits"], "final": False})
    assert ledger.verified == frozenset()
    ledger.note("check", "declared facts", {"tables": ["visits"], "final": True})
    assert ledger.verified == {"visits"}
    ledger.reserve(Pure(1), relying)
    ledger.note("check", "declared facts", {"tables": [], "final": True})
    with pytest.raises(LedgerError, match="withdrawn"):
        ledger.reserve(Pure(1), relying)
    ledger.note("check", "declared facts", {"tables": ["visits"], "final": True})
    newer = place.open(Policy([VISITS], epsilon=3, dataset="hospital", version="2"))
    assert newer.verified == frozenset()
    with pytest.raises(LedgerError, match="withdrawn"):
        newer.reserve(Pure(1), relying)
    for strange in (["nothing"], "visits", [5]):
        with pytest.raises(ParameterError, match="table"):
            newer.note("check", "declared facts", {"tables": strange, "final": True})
    assert newer.verify().ok


def test_threads_never_spend_more_than_there_is(place: Place) -> None:
    ledger = place.open(POLICY)

    def buy(number: int) -> int:
        try:
            answered(ledger, Pure("0.1"), replace(COUNT, question=f"question {number}"))
        except BudgetError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(buy, range(48))) == 30
    assert ledger.remaining == Pure(0)
    assert ledger.verify().ok


def test_a_clock_that_goes_back_stops_nothing_and_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = place.open(POLICY)
    ledger.reserve(Pure("0.1"), COUNT)
    monkeypatch.setattr(book_module, "now", lambda: "2001-01-01T00:00:00.000000Z")
    ledger.reserve(Pure("0.1"), COUNT)
    _, first, second = list(ledger.entries())
    assert second.time == first.time
    assert second.body["clock"] == "2001-01-01T00:00:00.000000Z"
    found = ledger.verify()
    assert found.ok
    assert any("clock was behind" in remark for remark in found.remarks)


def test_a_known_head_finds_a_cut_tail_and_a_strange_one_is_refused(place: Place) -> None:
    ledger = place.open(POLICY)
    head = str(ledger.head)
    later = answered(ledger, Pure("0.5"), COUNT)
    assert ledger.verify(head=head).ok
    assert ledger.verify(head=head.partition(":")[2]).ok
    shorter = place.another().open(export=written([*ledger.entries()][:-1]))
    found = shorter.verify(head=later)
    assert not found.ok
    assert "cut off or rewritten" in found.problems[0]
    assert not ledger.verify(head=f"1:{head.partition(':')[2]}").ok
    for strange in ("", "12", "x:" + "0" * 64, "G" * 64, "²:" + "0" * 64, "9" * 5000 + ":" + "0" * 64):
        with pytest.raises(LedgerError, match="head is no hash"):
            ledger.verify(head=strange)
    shorter.close()


def test_long_answers_and_strange_letters_come_back(place: Place) -> None:
    ledger = place.open(POLICY)
    value = {"text": "é\0\n'\"\\", "many": list(range(20_000)), "big": 2**80, "float": 0.1}
    answered(ledger, Pure("0.5"), replace(COUNT, asked="SELECT 'é\n' ; --"), value)
    found = ledger.find(Pure("0.5"), COUNT)
    assert found is not None
    assert found.answers[0]["value"] == value
    assert json.loads(next(iter(ledger.export())))["line"]["kind"] == "opened"
    assert ledger.verify().ok


def test_a_policy_is_needed_to_create_and_none_to_read(place: Place) -> None:
    with pytest.raises(DiscreetError, match="give a policy to create it"):
        place.open()
    place.open(Policy([Table("t", unit="id", columns=[Column("x", keys=["a"])])], epsilon=1, dataset="d"))
    assert place.open().policy.dataset == "d"
