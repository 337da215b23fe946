"""The rules of asking and paying through the front door, each by its number; files, real DuckDB, real ledgers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.sql.running import SQLEngine
from discreet.errors import BudgetError, EngineError, LedgerError, ParameterError, PolicyError
from discreet.ledgers import SQLiteLedger, verify_ledger
from discreet.plans import Bounding
from discreet.privacy import ZCDP, Approximate, Pure
from discreet.privacy.costs import Cost
from discreet.privacy.curve import Curve

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.ledgers import Line

TOML = """
[source]
url = "."
[budget]
epsilon = 20
delta = 1e-6
[tables.visits]
unit = "patient_id"
rows_per_unit = 2
[tables.visits.columns]
ward = { keys = ["cardiology", "oncology"] }
cost = { lower = 0, upper = 100, nullable = false }
diagnosis = { type = "text" }
"""
PEOPLE = "\n[analysts.ann]\n[analysts.bob]\n[analysts.eve]\nmay = ['preview']\n[purposes.care]\n[purposes.research]\n"
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
FOUND = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"


def rows(number: int) -> str:
    lines = (
        f"p{n},{'cardiology' if n % 3 else 'oncology'},{n % 100},{'flu' if n % 2 else 'burn'}" for n in range(number)
    )
    return "\n".join(["patient_id,ward,cost,diagnosis", *lines]) + "\n"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text(rows(2000))
    file = tmp_path / "hospital.toml"
    file.write_text(TOML)
    return file


def edit(policy: Path, old: str, new: str) -> None:
    text = policy.read_text()
    assert old in text
    policy.write_text(text.replace(old, new))


def lines_of(policy: Path, kind: str | None = None) -> list[Line]:
    with SQLiteLedger(policy.with_name("hospital.ledger.sqlite")) as ledger:
        assert ledger.verify().ok
        return list(ledger.entries(kind=kind))


def test_promise_1_both_are_told_what_the_release_promises_and_what_was_charged(policy: Path) -> None:
    with dp.open(policy) as db:
        answer = db.sql(COUNT).release(epsilon=1)
    (line,) = lines_of(policy, "reserved")
    assert isinstance(line.cost, Cost)
    assert line.body["promise"] == answer.promise == "ε = 1"
    assert "ε = 1; charged ε = 1; head" in str(answer)
    curve = Curve.from_record(line.body["details"]["curve"])
    assert curve.epsilon(0) <= 1 + 1e-9  # the release alone keeps its promise
    assert line.cost.losses[0] == 10**12  # by the sum of epsilons, what was asked for; by a divergence, less
    assert line.cost.losses[1] / 10**12 <= 8 * 0.5  # epsilon^2 / 2 bounds rho
    assert line.cost == answer.cost


@pytest.mark.parametrize(
    "budget, kind, limit",
    [
        ("epsilon = 20", "pure", Pure(20)),
        ('epsilon = 20\ndelta = 1e-6\nfilter = "approximate"', "approximate", Approximate(20, 1e-6)),
        ('epsilon = 20\ndelta = 1e-6\nfilter = "zcdp"', "zcdp", None),
        ('epsilon = 20\ndelta = 1e-6\nfilter = "zcdp"\ndelta_conversion = 9e-7', "zcdp", None),
        ("epsilon = 20\ndelta = 1e-6", "best", None),
    ],
)
def test_promise_2_the_filter_is_fixed_when_the_ledger_is_created(
    policy: Path,
    budget: str,
    kind: str,
    limit: Any,  # noqa: ANN401 - any currency
) -> None:
    edit(policy, "epsilon = 20\ndelta = 1e-6", budget)
    with dp.open(policy) as db:
        assert limit is None or db.remaining == limit
        if isinstance(db.remaining, ZCDP):
            assert db.remaining.delta == db.policy.budget.delta - db.policy.delta_conversion
    (opened,) = lines_of(policy, "opened")
    assert opened.body["terms"]["filter"] == kind
    edit(
        policy,
        budget,
        "epsilon = 20\ndelta = 0.1\nfilter = 'approximate'"
        if kind != "approximate"
        else "epsilon = 20\nfilter = 'pure'",
    )
    with pytest.raises(LedgerError, match="a ledger keeps it for ever"):
        dp.open(policy)


def test_promise_2_what_needs_delta_is_refused_in_a_pure_ledger_and_spends_nothing(policy: Path) -> None:
    edit(policy, "delta = 1e-6", "")
    with dp.open(policy) as db:
        with pytest.raises(dp.QueryRefused):
            db.sql(FOUND).release(epsilon=1)
        with pytest.raises(ParameterError):
            db.sql(COUNT).release(epsilon=1, delta=1e-9)
        assert db.remaining == Pure(20)
    assert len(lines_of(policy)) == 1


def test_promise_3_the_cost_is_on_disk_before_the_engine_touches_data(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    real = SQLEngine.run

    def compute(self: SQLEngine, *given: Any) -> Any:  # noqa: ANN401 - as the engine
        seen.append([line.kind for line in lines_of(policy)])  # another connection sees only what was committed
        return real(self, *given)

    monkeypatch.setattr(SQLEngine, "run", compute)
    with dp.open(policy) as db:
        db.sql(COUNT).release(epsilon=1)
    assert seen == [["opened", "reserved"]]
    assert [line.kind for line in lines_of(policy)] == ["opened", "reserved", "recorded"]


@pytest.mark.parametrize("failure", [EngineError("failed"), KeyboardInterrupt(), MemoryError()])
def test_promise_3_no_refund_after_a_failure_an_interrupt_or_a_crash(
    policy: Path, failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(*_: object) -> None:
        raise failure

    with dp.open(policy) as db:
        before = db.remaining
        with monkeypatch.context() as patch:
            patch.setattr(SQLEngine, "run", compute)
            with pytest.raises(type(failure)):
                db.sql(COUNT).release(epsilon=1)
        spent = db.remaining
        assert spent != before
        answer = db.sql(COUNT).release(epsilon=1)  # nothing is resumed: it costs again
        assert not answer.repeated
        assert db.remaining not in (before, spent)
    assert [line.kind for line in lines_of(policy)] == ["opened", "reserved", "reserved", "recorded"]


def test_promise_3_an_answer_that_cannot_be_recorded_is_not_shown(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        msg = "no space"
        raise LedgerError(msg)

    with dp.open(policy) as db:
        monkeypatch.setattr(SQLiteLedger, "record", full)
        with pytest.raises(LedgerError):
            db.sql(COUNT).release(epsilon=1)


def test_promise_4_the_ledger_lies_beside_the_policy_and_goes_on(policy: Path) -> None:
    for number in range(3):
        with dp.open(policy) as db:
            db.sql(f"SELECT COUNT(*) AS n FROM visits WHERE cost > {number}").release(epsilon="0.1")
    (opened,) = lines_of(policy, "opened")
    assert len(lines_of(policy, "reserved")) == 3
    assert opened.body["dataset"] == "hospital"
    assert opened.body["policy_hash"] == dp.Policy.read(policy).hash
    names = {path.name for path in policy.parent.iterdir()}
    assert {"hospital.ledger.sqlite", "hospital.ledger.head"} <= names


def test_promise_4_the_policy_may_name_another_place(policy: Path) -> None:
    policy.write_text(TOML + '[ledger]\nurl = "books/all.sqlite"\n')
    (policy.parent / "books").mkdir()
    with dp.open(policy) as db:
        db.sql(COUNT).release(epsilon="0.1")
    with SQLiteLedger(policy.parent / "books" / "all.sqlite") as ledger:
        assert ledger.head.number == 2
    assert not policy.with_name("hospital.ledger.sqlite").exists()


def test_promise_4_a_policy_file_does_not_name_a_budget_that_ends_with_the_process(policy: Path) -> None:
    policy.write_text(TOML + '[ledger]\nurl = "memory"\n')
    with pytest.raises(PolicyError, match="whoever opens the file next would have all of it again"):
        dp.open(policy)
    with pytest.raises(LedgerError, match="ends with its process"):
        verify_ledger(file=policy)
    assert not list(policy.parent.glob("*.sqlite"))
    with dp.open(policy, ledger="memory") as db:  # who opens it says so
        db.sql(COUNT).release(epsilon="0.1")


def test_promise_4_a_ledger_is_verified_where_the_policy_says_it_is(policy: Path) -> None:
    policy.write_text(TOML + '[ledger]\nurl = "other.sqlite"\n')
    with dp.open(policy) as db:
        db.sql(COUNT).release(epsilon="0.1")
    found = verify_ledger(file=policy)
    assert (found.ok, found.entries) == (True, 3)


def test_promise_4_a_new_version_is_not_a_new_budget(policy: Path) -> None:
    with dp.open(policy) as db:
        db.sql(COUNT).release(epsilon=1)
        left = db.remaining
    policy.write_text(TOML + '[dataset]\nversion = "2"\n')
    with dp.open(policy) as db:
        assert db.remaining == left
        assert not db.sql(COUNT).release(epsilon=1).repeated  # a question about another state of the data
        assert db.remaining != left
    (edited,) = lines_of(policy, "policy")
    assert edited.body["changes"] == ["dataset.version: 1 -> 2"]


def test_promise_4_unit_relation_and_dataset_stay(policy: Path) -> None:
    with dp.open(policy) as db:
        db.sql(COUNT).release(epsilon="0.1")
    entries = len(lines_of(policy))
    for old, new in [
        ('unit = "patient_id"\nrows_per_unit = 2', "row_is_unit = true"),
        ("delta = 1e-6", 'delta = 1e-6\nneighbors = "change_one"'),
        ("[budget]", '[dataset]\nid = "another"\n[budget]'),
    ]:
        edit(policy, old, new)
        with pytest.raises(LedgerError):
            dp.open(policy)
        edit(policy, new, old)
    assert len(lines_of(policy)) == entries


SAME = [
    "select WARD, count( * ) as visits from VISITS group by 1",
    "SELECT COUNT(*) AS n, ward AS w FROM (SELECT ward FROM visits) v GROUP BY ward ORDER BY n DESC LIMIT 1",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 1000",
]


@pytest.mark.parametrize("words", SAME)
def test_promise_5_the_same_question_in_other_words_is_free(policy: Path, words: str) -> None:
    with dp.open(policy) as db:
        first = db.sql(COUNT).release(epsilon=1)
        left = db.remaining
        again = db.sql(words).release(epsilon="0.5")
        assert again.repeated
        assert db.remaining == left
    known = {row["n"] for row in first.to_dicts()}
    assert {value for row in again.to_dicts() for value in row.values() if isinstance(value, int)} <= known


def test_promise_5_measures_in_another_order_are_the_same_question(policy: Path) -> None:
    sql = "SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a, COUNT(DISTINCT patient_id) AS p FROM visits"
    turned = "SELECT COUNT(DISTINCT patient_id) AS p, AVG(cost) AS a, SUM(cost) AS s, COUNT(*) AS n FROM visits"
    with dp.open(policy) as db:
        (first,) = db.sql(sql).release(epsilon=2).to_dicts()
        again = db.sql(turned).release(epsilon=2)
        assert again.repeated
        (row,) = again.to_dicts()
        assert row == first
        assert again.errors() == [dict(sorted(again.errors()[0].items(), key=lambda item: "pasn".index(item[0])))]


@pytest.mark.parametrize(
    "sql", [COUNT, FOUND, "SELECT MEDIAN(cost) AS m, MAX(cost) AS x, STDDEV(cost) AS d FROM visits"]
)
def test_promise_5_a_stored_answer_is_the_same_answer_in_another_process(policy: Path, sql: str) -> None:
    with dp.open(policy) as db:
        first = db.sql(sql).release(epsilon=1)
    with dp.open(policy) as db:
        again = db.sql(sql).release(epsilon=1)
        assert again.repeated
        assert again.to_dicts() == first.to_dicts()
        assert again.errors() == first.errors()
        assert (again.promise, again.parts[0].price) == (first.promise, first.parts[0].price)
        assert "answered before: nothing charged" in str(again)
    assert [line.kind for line in lines_of(policy)] == ["opened", "reserved", "recorded"]


def test_promise_5_other_limits_another_version_or_policy_are_other_questions(policy: Path) -> None:
    with dp.open(policy) as db:
        db.sql(COUNT).release(epsilon="0.5")
        assert not db.sql(COUNT, bounding=Bounding(rows=1)).release(epsilon="0.5").repeated
        assert db.sql(COUNT, bounding=Bounding(rows=1)).release(epsilon="0.5").repeated
    edit(policy, "upper = 100", "upper = 200")
    with dp.open(policy) as db:
        assert not db.sql(COUNT).release(epsilon="0.5").repeated


def test_promise_5_asked_for_more_it_costs_anew_and_is_combined(policy: Path) -> None:
    with dp.open(policy) as db:
        question = db.sql("SELECT COUNT(*) AS n FROM visits")
        first = question.release(epsilon="0.5", delta=0)
        left = db.remaining
        more = question.release(epsilon=1, delta=0)
        assert (more.combined, more.repeated) == (2, False)
        assert db.remaining != left
        again = question.release(epsilon=1, delta=0)
        assert (again.combined, again.repeated) == (2, True)
        assert again.to_dicts() == more.to_dicts()
        (alone,) = question.preview(epsilon=1, delta=0).errors.values()
        (combined,) = more.errors()[0].values()
        assert combined is not None
        assert alone is not None
        assert combined <= alone + 1
        assert more.errors() != first.errors()


MEDIAN = "SELECT MEDIAN(cost) AS m, COUNT(*) AS n FROM visits"


@pytest.mark.parametrize("sql", [FOUND, MEDIAN])
def test_promise_5_what_does_not_combine_is_worth_its_dearest_release(policy: Path, sql: str) -> None:
    edit(policy, "delta = 1e-6", 'delta = 1e-3\nfilter = "approximate"')
    with dp.open(policy) as db:
        for epsilon in ("0.1", "0.2", "0.3"):
            answer = db.sql(sql).release(epsilon=epsilon, delta=1e-5)
            assert not answer.repeated
            assert answer.promise.startswith(f"ε = {epsilon}")
        left = db.remaining
        for epsilon in ("0.3", "0.25", "0.1"):
            again = db.sql(sql).release(epsilon=epsilon, delta=1e-5)
            assert again.repeated
            assert again.promise == answer.promise
            assert again.to_dicts() == answer.to_dicts()
        assert db.remaining == left


def test_promise_5_what_combines_is_worth_the_sum(policy: Path) -> None:
    edit(policy, "delta = 1e-6", "")
    turned = ["SELECT COUNT(*) AS n, COUNT(DISTINCT patient_id) AS p FROM visits"]
    turned.append("SELECT COUNT(DISTINCT patient_id) AS p, COUNT(*) AS n FROM visits")
    with dp.open(policy) as db:
        for sql, epsilon, repeated in (
            (COUNT, "0.1", False),
            (COUNT, "0.2", False),
            (COUNT, "0.3", True),
            (turned[0], "0.1", False),
            (turned[1], "0.2", False),
            (turned[1], "0.3", False),  # the first two are of one question, but laid out differently
        ):
            assert db.sql(sql).release(epsilon=epsilon).repeated is repeated


def test_promise_5_shown_to_another_it_counts_in_their_budgets_and_rights_come_first(policy: Path) -> None:
    policy.write_text(TOML + PEOPLE)
    with dp.open(policy, analyst="ann", purpose="care") as db:
        first = db.sql(COUNT).release(epsilon=1)
        left = db.ledger.remaining
    with dp.open(policy, analyst="bob", purpose="research") as db:
        again = db.sql(COUNT).release(epsilon=1)
        assert again.repeated
        assert again.to_dicts() == first.to_dicts()
        assert db.ledger.remaining == left
        spent = {account.title: account.spent for account in db.budget.accounts}
        assert spent["analyst bob"] == spent["purpose research"] == spent["dataset"] == first.cost
        assert spent["analyst eve"] == first.cost * 0
    with dp.open(policy, analyst="eve", purpose="care") as db, pytest.raises(ParameterError, match="may not"):
        db.sql(COUNT).release(epsilon=1)
    with pytest.raises(ParameterError, match="purpose"):
        dp.open(policy, analyst="ann")
    assert len(lines_of(policy, "shared")) == 1


def test_promise_6_the_delta_of_a_selection_is_charged_once_per_release(policy: Path) -> None:
    with dp.open(policy) as db:
        before = db.remaining
        answer = db.sql(FOUND).release(epsilon=1, delta=1e-8)
        assert isinstance(answer.cost, Cost)
        assert 0 < sum(answer.cost.deltas) <= 10**10
        db.sql(FOUND).release(epsilon=1, delta=1e-8)
        after = db.remaining
        assert isinstance(before, Cost)
        assert isinstance(after, Cost)
        assert (before - after).deltas == answer.cost.deltas


def test_promise_8_and_17_what_a_ledger_says_beside_answers_does_not_depend_on_the_data(
    policy: Path, tmp_path: Path
) -> None:
    texts = []
    for number in (2000, 1999, 0):
        (tmp_path / "visits.csv").write_text(rows(number))
        for path in tmp_path.glob("*.ledger*"):
            path.unlink()
        with dp.open(policy) as db:
            for sql in (COUNT, FOUND, COUNT):
                db.sql(sql).release(epsilon="0.5")
            texts.append([str(db.budget), db.budget._repr_html_()])
        bodies = [{key: value for key, value in line.body.items() if key != "answer"} for line in lines_of(policy)]
        texts[-1].append(json.dumps(bodies))
    assert texts[0] == texts[1] == texts[2]


def test_promise_9_changed_rows_are_not_a_new_version(policy: Path, tmp_path: Path) -> None:
    with dp.open(policy) as db:
        first = db.sql(COUNT).release(epsilon=1)
    (tmp_path / "visits.csv").write_text(rows(500))
    with dp.open(policy) as db:
        again = db.sql(COUNT).release(epsilon=1)
    assert again.repeated  # whether a repeat is free must not tell that rows changed
    assert again.to_dicts() == first.to_dicts()
    assert "version" in lines_of(policy, "reserved")[0].body


def test_a_budget_that_is_gone_says_what_is_left_and_what_would_fit(policy: Path) -> None:
    with dp.open(policy) as db:
        with pytest.raises(BudgetError) as refusal:
            db.sql(COUNT).release(epsilon=90)
        text = str(refusal.value)
        assert text.startswith("this needs 450 % of the budget of the dataset and 0 % is used: it does not fit.")
        largest = text.partition("ε = ")[2].partition(" would still fit")[0]
        db.sql(COUNT).release(epsilon=largest)
        with pytest.raises(BudgetError, match=r"Nothing of this question fits any more|would still fit"):
            db.sql(FOUND).release(epsilon=largest)


def test_questions_asked_together_are_paid_together_or_not_at_all(policy: Path) -> None:
    asked = [COUNT, "SELECT SUM(cost) AS s FROM visits", "SELECT AVG(cost) AS a FROM visits WHERE cost > 5"]
    with dp.open(policy) as db:
        with pytest.raises(BudgetError, match="refused together"):
            db.ask_all(asked).release(epsilon=90)
        assert len(lines_of(policy)) == 1
        answers = db.ask_all(asked).release(epsilon=1)
        assert [answer.columns for answer in answers] == [("ward", "n"), ("s",), ("a",)]
        total = sum((answer.cost for answer in answers[1:]), answers[0].cost)
        spent = db.budget.whole.spent
        assert spent == total
        again = db.ask_all([*asked[::-1]]).release(epsilon=1)
        assert all(answer.repeated for answer in again)
        assert db.budget.whole.spent == spent
        with pytest.raises(ParameterError):
            db.ask_all([])
        with dp.open(policy) as other, pytest.raises(ParameterError, match="another database"):
            db.ask_all([other.sql(COUNT)])
    kinds = [line.kind for line in lines_of(policy)]
    assert kinds == ["opened", *["reserved"] * 3, *["recorded"] * 3]


ANN_AND_BOB = "\n[analysts.ann]\n[analysts.bob]\nepsilon = 1\n"
SUM = "SELECT SUM(cost) AS s FROM visits"


def test_questions_refused_together_leave_no_charge_for_answers_of_others(policy: Path) -> None:
    edit(policy, "delta = 1e-6", "")
    policy.write_text(policy.read_text() + ANN_AND_BOB)
    with dp.open(policy, analyst="ann") as db:
        db.sql(COUNT).release(epsilon="0.8")
    with dp.open(policy, analyst="bob") as db:
        assert db.remaining == Pure(1)
        with pytest.raises(BudgetError, match=r"Nothing was spent.*The 2 questions were refused together"):
            db.ask_all([COUNT, SUM]).release(epsilon="1.6")
        assert db.remaining == Pure(1)
        assert lines_of(policy, "shared") == []
        # Seeing Ann's answer is charged to Bob, so its part is not given to the other question.
        first, second = db.ask_all([COUNT, SUM]).release(epsilon=1, weights=[4, 1])
        assert (first.repeated, second.cost) == (True, Pure("0.2"))
        assert db.remaining == Pure(0)
    assert [line.kind for line in lines_of(policy)][-3:] == ["shared", "reserved", "recorded"]


def test_a_dead_source_leaves_no_charge_for_answers_of_others(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(policy, "delta = 1e-6", "")
    policy.write_text(policy.read_text() + ANN_AND_BOB)
    with dp.open(policy, analyst="ann") as db:
        db.sql(COUNT).release(epsilon="0.2")
    monkeypatch.setattr(DuckDB, "alive", lambda _: False)
    with dp.open(policy, analyst="bob") as db:
        left = db.remaining
        with pytest.raises(EngineError, match="nothing was spent"):
            db.ask_all([COUNT, SUM]).release(epsilon="0.2")
        assert db.remaining == left
        assert db.sql(COUNT).release(epsilon="0.2").repeated  # it needs no source
        assert db.remaining != left


def test_an_answer_that_cannot_be_read_is_not_charged_as_shown(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(policy, "delta = 1e-6", "")
    policy.write_text(policy.read_text() + ANN_AND_BOB)
    with dp.open(policy, analyst="ann") as db:
        db.sql(COUNT).release(epsilon="0.2")
    monkeypatch.setattr("discreet.releases.showing.stored._FORM", 2)  # as a later version of the package
    with dp.open(policy, analyst="bob") as db:
        assert not db.sql(COUNT).release(epsilon="0.1").repeated
    assert [line.kind for line in lines_of(policy)] == ["opened", *["reserved", "recorded"] * 2]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_questions_asked_together_keep_the_price_of_all(policy: Path, count: int) -> None:
    with dp.open(policy, ledger="memory") as db:
        asked = [f"SELECT COUNT(*) AS n FROM visits WHERE cost > {number}" for number in range(count)]
        answers = db.ask_all(asked).release(epsilon=1, weights=[1] * count)  # so that none are planned together
        details = [line.body["details"]["curve"] for line in db.ledger.entries(kind="reserved")]
    curves = [Curve.from_record(record) for record in details]
    whole = sum(curves[1:], start=curves[0])
    assert whole.epsilon(1e-9) <= 1 + 1e-6
    (error,) = answers[0].errors()[0].values()
    assert error is not None
    divided = 2 * count * 3.0  # about the ± of Laplace noise for a share of epsilon, with two rows per unit
    assert error < (0.7 * divided if count == 40 else 1.1 * divided)


def test_a_ledger_that_was_given_is_the_callers_to_close(policy: Path, tmp_path: Path) -> None:
    read = dp.Policy.read(policy)
    with SQLiteLedger(tmp_path / "mine.ledger.sqlite", read) as ledger:
        for _ in range(2):
            with dp.Database(read, tmp_path, ledger=ledger) as db:
                db.sql(COUNT).release(epsilon="0.1")
        assert ledger.head.number == 2
    with dp.Database(read, tmp_path, ledger=tmp_path / "mine.ledger.sqlite") as db:
        assert db.sql(COUNT).release(epsilon="0.1").repeated
        assert db.ledger._connection is not None  # type: ignore[attr-defined]
    assert db.ledger._connection is None  # type: ignore[attr-defined]
    with dp.Database(read, tmp_path) as db:
        assert repr(db.ledger) == "MemoryLedger('memory', dataset 'hospital')"


def test_the_answer_names_the_head_of_the_ledger(policy: Path) -> None:
    with dp.open(policy) as db:
        answer = db.sql(COUNT).release(epsilon=1)
        assert answer.head == str(db.ledger.head)
        db.sql(FOUND).release(epsilon="0.5")
        assert db.ledger.verify(head=answer.head).ok


@pytest.mark.parametrize("kind", ["zcdp", "approximate"])
@pytest.mark.parametrize("price", [10**400, "1e400"], ids=["integer", "text"])
def test_a_price_beyond_all_floats_is_refused(policy: Path, kind: str, price: Any) -> None:  # noqa: ANN401 - any number
    edit(policy, "delta = 1e-6", f'delta = 1e-6\nfilter = "{kind}"')
    with dp.open(policy) as db:
        for ask in (db.sql(COUNT).preview, db.sql(COUNT).release):
            with pytest.raises(ParameterError, match=r"epsilon is .*it must be at most"):
                ask(epsilon=price)
        db.sql(COUNT).preview(epsilon=10**9)  # noise below what the Gaussian sampler holds


@pytest.mark.parametrize("sql", [COUNT, "SELECT AVG(cost) AS a FROM visits"])
@pytest.mark.parametrize("confidence", [[], {}, "a", None, 0, 1, float("nan")])
def test_a_confidence_that_is_none_is_refused(policy: Path, sql: str, confidence: Any) -> None:  # noqa: ANN401 - anything
    with dp.open(policy, ledger="memory") as db:
        question = db.sql(sql)
        answer = question.release(epsilon="0.1")
        for asked in (
            lambda: question.preview(epsilon=1, confidence=confidence),
            lambda: question.preview(within=9, confidence=confidence),
            lambda: question.release(epsilon="0.1", confidence=confidence),
            lambda: answer.errors(confidence=confidence),
        ):
            with pytest.raises(ParameterError, match="confidence is "):
                asked()
