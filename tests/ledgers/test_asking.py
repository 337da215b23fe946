"""What people ask through the front door: together, anew, after others, on checked tables, and as pictures."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.apps.cli import main
from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledgers import SQLiteLedger
from discreet.plans.nodes import BoundRows
from discreet.privacy import Pure
from discreet.releases.noise.protection import Price
from discreet.tables import Analyst, Column, Policy, Table

if TYPE_CHECKING:
    from pathlib import Path

VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=2,
    columns=[Column("ward", keys=["a", "b"]), Column("cost", lower=0, upper=100), Column("city", type="text")],
)
ROWS = {"visits": pa.table({"id": range(900), "ward": ["a"] * 900, "cost": [7] * 900, "city": ["x"] * 900})}
COUNT = "SELECT COUNT(*) AS n FROM visits"
SUM = "SELECT SUM(cost) AS s FROM visits"
LARGE = "SELECT COUNT(*) AS n FROM visits WHERE cost > 50"
MEDIAN = "SELECT MEDIAN(cost) AS m FROM visits"
PEOPLE = [Analyst("ann"), Analyst("bob"), Analyst("eve", epsilon=1)]


def policy(**facts: Any) -> Policy:  # noqa: ANN401 - any facts
    stated: dict[str, Any] = {"epsilon": 30, "dataset": "hospital", "analysts": PEOPLE}
    return Policy([VISITS], **stated | facts)


@pytest.fixture
def ledger(tmp_path: Path) -> SQLiteLedger:
    return SQLiteLedger(tmp_path / "hospital.ledger.sqlite", policy())


def asking(ledger: SQLiteLedger, analyst: str) -> dp.Database:
    return dp.Database(ledger.policy, ROWS, ledger=ledger, analyst=analyst)


def spent(ledger: SQLiteLedger) -> dict[str, Fraction]:
    return {
        account.title: account.spent.epsilon for account in ledger.statement.accounts if isinstance(account.spent, Pure)
    }


def test_the_same_question_asked_twice_has_one_part_of_the_price(ledger: SQLiteLedger) -> None:
    with asking(ledger, "ann") as db:
        first, again, total = db.ask_all([COUNT, "select count(*) as other from visits", SUM]).release(epsilon=2)
    assert first.to_dicts()[0]["n"] == again.to_dicts()[0]["other"]
    assert (first.cost, again.cost, total.cost) == (Pure(1), Pure(0), Pure(1))
    assert (first.repeated, again.repeated) == (False, True)
    assert spent(ledger)["dataset"] == 2
    assert len(list(ledger.entries(kind="reserved"))) == 2


def test_what_was_answered_before_is_free_and_leaves_its_part_to_the_others(ledger: SQLiteLedger) -> None:
    with asking(ledger, "ann") as db:
        db.sql(COUNT).release(epsilon=1)
        known, new, other = db.ask_all([COUNT, SUM, LARGE]).release(epsilon=2)
        assert (known.repeated, new.cost, other.cost) == (True, Pure(1), Pure(1))
        assert spent(ledger)["dataset"] == 3
        promises = [each.promise for each in db.ask_all([COUNT, SUM, MEDIAN]).preview(epsilon=3)]
        assert promises == ["ε = 1", "ε = 1", "ε = 3"]
        assert all(each.repeated for each in db.ask_all([COUNT, SUM]).release(epsilon=2))
    assert spent(ledger)["dataset"] == 3


def test_weights_divide_the_price(ledger: SQLiteLedger) -> None:
    with asking(ledger, "ann") as db:
        both = db.ask_all([COUNT, SUM])
        assert [each.cost for each in both.preview(epsilon=1, weights=[1, 3])] == [Pure("0.25"), Pure("0.75")]
        assert [each.cost for each in both.release(epsilon=1, weights=[1, 3])] == [Pure("0.25"), Pure("0.75")]
        for wrong in ([1], [1, 2, 3], [1, 0], [1, -1], "12", 3, [1, float("nan")], [1, "x"]):
            with pytest.raises(ParameterError, match="weights"):
                both.release(epsilon=1, weights=wrong)  # type: ignore[arg-type]
    assert spent(ledger)["dataset"] == 1


@pytest.mark.parametrize("weights", [None, [1, 5, 2]])
def test_all_parts_together_keep_the_price_in_every_currency(weights: list[int] | None) -> None:
    for facts in ({}, {"delta": 1e-6}, {"delta": 1e-6, "filter": "approximate"}):
        stated = policy(**facts)
        with dp.Database(stated, ROWS, ledger="memory", analyst="ann") as db:
            asked = db.ask_all(
                [COUNT, SUM, "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"][: 3 if facts else 2]
            )
            weighed = None if weights is None else weights[: len(asked.questions)]
            _, parts = asked._divided(Price.read(stated, epsilon=1), weighed)
        assert sum((part.epsilon or Fraction(0)) for part in parts) <= 1
        assert sum(part.delta for part in parts) <= stated.release_delta


def test_who_pays_anew_pays_the_price_and_no_more(ledger: SQLiteLedger) -> None:
    with asking(ledger, "ann") as db:
        db.sql(COUNT).release(epsilon="0.75")
    with asking(ledger, "eve") as db:
        answer = db.sql(COUNT).release(epsilon=1)  # fits her budget of 1 only if she is not charged for Ann's answer
        assert (answer.cost, answer.combined) == (Pure(1), 1)
    with asking(ledger, "ann") as db:
        answer = db.sql(COUNT).release(epsilon="1.5")  # both stored answers are worth it; Ann has not seen Eve's
        assert (answer.repeated, answer.combined) == (True, 2)
    found = spent(ledger)
    assert [found[each] for each in ("dataset", "analyst ann", "analyst eve")] == [Fraction(7, 4)] * 2 + [1]


def test_who_sees_an_answer_that_does_not_combine_pays_for_it_alone(ledger: SQLiteLedger) -> None:
    with asking(ledger, "ann") as db:
        db.sql(MEDIAN).release(epsilon="0.5")
        db.sql(MEDIAN).release(epsilon="0.75")
    with asking(ledger, "bob") as db:
        assert db.sql(MEDIAN).release(epsilon="0.25").repeated  # the cheaper of the two is enough
        assert db.sql(MEDIAN).release(epsilon="0.75").repeated
    found = spent(ledger)
    assert (found["dataset"], found["analyst bob"]) == (Fraction(5, 4), Fraction(5, 4))


def test_the_price_is_the_most_that_a_limited_budget_is_charged(ledger: SQLiteLedger) -> None:
    with asking(ledger, "ann") as db:
        db.sql(COUNT).release(epsilon=2)
    with asking(ledger, "eve") as db:
        answer = db.sql(COUNT).release(epsilon="0.5")  # Ann's would count with 2, of which she has 1
        assert (answer.repeated, answer.charges) == (False, {"dataset": Pure("0.5"), "analyst eve": Pure("0.5")})
        with pytest.raises(BudgetError, match=r"For this question ε = 0\.5 would still fit, not ε = 2\.$"):
            db.sql(COUNT).release(epsilon=2)


UNIQUE = """
[source]
url = "."
[dataset]
version = "1"
[budget]
epsilon = 9
[tables.people]
unit = "id"
unique = ["id"]
columns = { id = { type = "integer" }, age = { lower = 0, upper = 120 } }
"""


@pytest.fixture
def people(tmp_path: Path) -> str:
    (tmp_path / "people.csv").write_text("id,age\n" + "".join(f"{n},40\n" for n in range(200)))
    (tmp_path / "town.toml").write_text(UNIQUE)
    return str(tmp_path / "town.toml")


def enforced(db: dp.Database) -> bool:
    plan = db.sql("SELECT COUNT(*) AS n FROM people").plan
    return any(isinstance(node, BoundRows) for node in plan.request.relation.walk())


def test_what_the_owner_checked_in_final_rows_is_not_enforced_again_until_the_version_changes(people: str) -> None:
    with dp.open(people) as db:
        assert enforced(db)
    assert main(["check", people]) == 0
    with dp.open(people) as db:
        assert enforced(db)
    assert main(["check", people, "--final"]) == 0
    with dp.open(people) as db:
        assert not enforced(db)
        assert "believed as the owner checked" in db.sql("SELECT COUNT(*) AS n FROM people").explain()
        built = db.table("people").agg(n=dp.agg.count())
        assert built.plan.verified == ("people",)
        built.release(epsilon=1)
        (line,) = list(db.ledger.entries(kind="reserved"))
        assert line.body["verified"] == ["people"]
        waiting = db.sql("SELECT SUM(age) AS s FROM people")
        assert main(["check", people]) == 0
        with pytest.raises(LedgerError, match="withdrawn"):
            waiting.release(epsilon=1)
    assert main(["check", people, "--final"]) == 0
    assert main(["version", "new", people]) == 0
    with dp.open(people) as db:
        assert enforced(db)


def test_a_table_whose_key_repeats_is_never_believed(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled(), open(people.replace("town.toml", "people.csv"), "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write("7,41\n")
    assert main(["check", people, "--final"]) == 5
    assert "broken" in capsys.readouterr().out
    with dp.open(people) as db:
        assert enforced(db)


def test_an_answer_is_drawn_with_its_errors(ledger: SQLiteLedger) -> None:
    with asking(ledger, "ann") as db:
        answer = db.sql("SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward").release(epsilon=9)
    axes = answer.plot()
    assert [each.get_text() for each in axes.get_yticklabels()] == ["a", "b"]
    assert axes.get_xlabel().startswith("n, ±")
    (points,) = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert np.asarray(points.get_xdata()).tolist() == [row["n"] for row in answer.to_dicts()]
    same = answer.plot("c", confidence=0.5, axes=axes)
    assert same is axes
    assert axes.get_xlabel() == "c, ± with probability 0.5"
    for wrong in ("ward", "x", 5):
        with pytest.raises(ParameterError, match="columns of noisy numbers are n, c"):
            answer.plot(wrong)  # type: ignore[arg-type]
