"""Nobody pays twice for an answer, or more than the price; a preview says what a release then charges."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.errors import BudgetError
from discreet.ledgers import MemoryLedger
from discreet.privacy import Approximate, Pure
from discreet.tables import Analyst, Column, Policy, Purpose, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.ledgers import Ledger
    from discreet.privacy.costs import Amount
    from tests.ledgers.stores import Place

COUNT = "SELECT COUNT(*) AS n FROM t"
SUM = "SELECT SUM(x) AS s FROM t"
MEDIAN = "SELECT MEDIAN(x) AS m, COUNT(*) AS n FROM t"
FOUND = "SELECT h, COUNT(*) AS n FROM t GROUP BY h"
TABLE = Table(
    "t", unit="id", rows_per_unit=1, columns=[Column("x", lower=0, upper=900), Column("h", type="text", nullable=True)]
)
ROWS = {"t": pa.table({"id": range(300), "x": [k % 90 for k in range(300)], "h": ["a"] * 300})}
ANALYSTS = [Analyst("ann", epsilon=8), Analyst("bob", epsilon=1), Analyst("eve")]
PURPOSES = [Purpose("care"), Purpose("research", epsilon=3)]


def policy(**facts: Any) -> Policy:  # noqa: ANN401 - any facts
    return Policy([TABLE], **{"epsilon": 10, "dataset": "town", "analysts": ANALYSTS, **facts})


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger(policy())


def asking(ledger: Ledger, analyst: str, purpose: str | None = None) -> Database:
    return Database(ledger.policy, ROWS, ledger=ledger, analyst=analyst, purpose=purpose)


def spent(ledger: Ledger) -> dict[str, Amount]:
    return {account.title: account.spent for account in ledger.statement.accounts}


def test_what_was_paid_for_stays_free_when_another_pays_more(ledger: MemoryLedger) -> None:
    with asking(ledger, "ann") as ann, asking(ledger, "bob") as bob:
        mine = bob.sql(COUNT).release(epsilon="0.6")
        ann.sql(COUNT).release(epsilon=2)
        again = bob.sql(COUNT).release(epsilon="0.6")
        assert again.to_dicts() == mine.to_dicts()
        assert (again.promise, again.repeated) == ("ε = 0.6", True)
        assert again.charges == {"dataset": Pure(0), "analyst bob": Pure(0)}
        assert spent(ledger)["analyst bob"] == Pure("0.6")
        assert bob.sql("select count(*) as other from t").release(epsilon="0.1").to_dicts() == [
            {"other": mine.to_dicts()[0]["n"]}
        ]


def test_it_stays_free_when_nothing_is_left_of_any_budget(ledger: MemoryLedger) -> None:
    with asking(ledger, "ann") as ann, asking(ledger, "bob") as bob, asking(ledger, "eve") as eve:
        for sql in (COUNT, MEDIAN):
            bob.sql(sql).release(epsilon="0.5")
        ann.sql(COUNT).release(epsilon=8)
        eve.sql(SUM).release(epsilon=1)
        assert (ledger.remaining, bob.remaining) == (Pure(0), Pure(0))
        for sql in (COUNT, MEDIAN):
            assert bob.sql(sql).release(epsilon="0.5").repeated
        with pytest.raises(BudgetError, match=r"ε = 0\.5 would still fit"):  # it is his, and free
            bob.sql(COUNT).release(epsilon="0.7")


def test_a_refusal_names_the_price_of_an_answer_that_others_bought(ledger: MemoryLedger) -> None:
    with asking(ledger, "ann") as ann, asking(ledger, "bob") as bob, asking(ledger, "eve") as eve:
        eve.sql(COUNT).release(epsilon=2)
        eve.sql(SUM).release(epsilon=8)
        with pytest.raises(BudgetError, match=r"for ε = 2 that answer costs the dataset nothing\.$"):
            ann.sql(COUNT).release(epsilon=1)
        assert ann.sql(COUNT).release(epsilon=2).charges == {"dataset": Pure(0), "analyst ann": Pure(2)}
        with pytest.raises(BudgetError, match=r"Nothing of this question fits any more\.$"):  # he has 1, it cost 2
            bob.sql(COUNT).release(epsilon=1)


def test_who_asks_for_more_pays_for_what_he_has_not_seen(ledger: MemoryLedger) -> None:
    with asking(ledger, "ann") as ann, asking(ledger, "eve") as eve:
        eve.sql(COUNT).release(epsilon="0.5")
        ann.sql(COUNT).release(epsilon="0.75")
        left = ledger.remaining
        both = eve.sql(COUNT).release(epsilon="1.25")
        assert (both.repeated, both.combined) == (True, 2)
        assert both.charges == {"dataset": Pure(0), "analyst eve": Pure("0.75")}
        assert ledger.remaining == left
        assert eve.sql(COUNT).release(epsilon="1.25").to_dicts() == both.to_dicts()
        assert ann.sql(COUNT).release(epsilon="0.75").charges["analyst ann"] == Pure(0)


def test_an_answer_counts_in_each_purpose_once() -> None:
    ledger = MemoryLedger(policy(purposes=PURPOSES))
    with asking(ledger, "ann", "care") as care, asking(ledger, "ann", "research") as research:
        mine = care.sql(COUNT).release(epsilon=1)
        other = research.sql(COUNT).release(epsilon=1)
        assert other.to_dicts() == mine.to_dicts()
        assert other.charges == {"dataset": Pure(0), "analyst ann": Pure(0), "purpose research": Pure(1)}
        care.sql(COUNT).release(epsilon=2)
        assert research.sql(COUNT).release(epsilon=1).charges["purpose research"] == Pure(0)
        more = research.sql(COUNT).release(epsilon="1.5")  # 2 would be more than the price, in a budget with a limit
        assert more.charges == dict.fromkeys(("dataset", "analyst ann", "purpose research"), Pure("1.5"))


@pytest.mark.parametrize("sql", [COUNT, MEDIAN])
def test_an_answer_of_others_is_never_charged_above_the_price_where_there_is_a_limit(
    ledger: MemoryLedger, sql: str
) -> None:
    with asking(ledger, "ann") as ann, asking(ledger, "bob") as bob, asking(ledger, "eve") as eve:
        ann.sql(sql).release(epsilon="0.6")
        assert bob.sql(sql).release(epsilon="0.2").charges == {"dataset": Pure("0.2"), "analyst bob": Pure("0.2")}
        assert bob.sql(sql).release(epsilon="0.6").charges == {"dataset": Pure(0), "analyst bob": Pure("0.6")}
        # Eve has no limit: the dataset's budget is spared.
        assert eve.sql(sql).release(epsilon="0.3").charges == {"dataset": Pure(0), "analyst eve": Pure("0.6")}


def test_questions_asked_together_cost_no_more_than_the_price_in_any_budget(ledger: MemoryLedger) -> None:
    with asking(ledger, "ann") as ann, asking(ledger, "bob") as bob:
        ann.sql(SUM).release(epsilon="0.6")
        asked = bob.ask_all([SUM, COUNT, "SELECT SUM(x) AS again FROM t"])
        previews = asked.preview(epsilon="0.4")
        answers = asked.release(epsilon="0.4")
        assert [each.charges for each in previews] == [each.charges for each in answers]
        assert spent(ledger)["analyst bob"] == Pure("0.4")


def test_stored_answers_under_a_delta_follow_the_price_in_both_numbers() -> None:
    ledger = MemoryLedger(policy(delta=1e-3, filter="approximate"))
    with asking(ledger, "ann") as ann, asking(ledger, "bob") as bob:
        ann.sql(FOUND).release(epsilon="0.5", delta=1e-5)
        bare = bob.sql(COUNT).release(epsilon="0.25", delta=0)
        assert bare.charges["analyst bob"] == Approximate("0.25")
        ann.sql(COUNT).release(epsilon="0.25", delta=1e-5)
        assert bob.sql(COUNT).release(epsilon="0.25", delta=0).charges["analyst bob"] == Approximate(0)
        shared = bob.sql(FOUND).release(epsilon="0.5", delta=1e-5)
        assert (shared.repeated, shared.charges["analyst bob"]) == (True, Approximate("0.5", 1e-5))


def test_a_preview_of_stored_releases_has_their_errors_and_promise(ledger: MemoryLedger) -> None:
    with asking(ledger, "ann") as ann:
        ann.sql(COUNT).release(epsilon="0.5")
        ann.sql(COUNT).release(epsilon="0.75")
        coming = ann.sql(COUNT).preview(epsilon="1.25")
        answer = ann.sql(COUNT).release(epsilon="1.25")
        assert (coming.promise, coming.repeated, coming.charges) == (answer.promise, True, answer.charges)
        assert [coming.errors] == answer.errors()
        assert "answered before: charge nothing to the dataset" in str(coming)


def test_a_preview_of_narrowed_questions_is_the_most_that_is_charged(ledger: MemoryLedger) -> None:
    with asking(ledger, "ann") as ann, asking(ledger, "bob") as bob:
        for db, epsilon in ((ann, "0.5"), (bob, "0.5"), (ann, "0.5"), (bob, "0.4"), (bob, "0.5")):
            coming = db.sql(SUM).preview(epsilon=epsilon, narrow="0.5").charges
            charges = db.sql(SUM).release(epsilon=epsilon, narrow="0.5").charges
            assert coming.keys() == charges.keys()
            assert all(epsilons(coming[title]) >= epsilons(charges[title]) for title in charges)
        assert spent(ledger)["analyst bob"] == Pure("0.5")
        assert set(charges.values()) == set(coming.values()) == {Pure(0)}


def epsilons(cost: Amount) -> Fraction:
    assert isinstance(cost, Pure)
    return cost.epsilon


PRICES = ["0.1", "0.25", "0.3", "0.5", "0.75", "1"]
FILTERS: list[dict[str, Any]] = [
    {},
    {"delta": 1e-3, "filter": "approximate"},
    {"delta": 1e-3, "epsilon": 30},
]


def differences(before: dict[str, Amount], after: dict[str, Amount]) -> Iterator[tuple[str, dict[str, Fraction]]]:
    for title, amount in after.items():
        was = numbers(before[title])
        yield title, {name: number - was[name] for name, number in numbers(amount).items()}


def numbers(cost: Amount) -> dict[str, Fraction]:
    return cast("dict[str, Fraction]", cost.fields())


def step(draw: Random, databases: list[Database]) -> None:
    """Ask something that was drawn, and compare the preview, the answer's charges and the ledger's sums."""
    db = draw.choice(databases)
    ledger = db.ledger
    questions = [COUNT, SUM, MEDIAN, *([FOUND] if ledger.policy.budget.delta else [])]
    asked = [draw.choice(questions) for _ in range(draw.choice([1, 1, 1, 2, 3]))]
    price: dict[str, Any] = {"epsilon": draw.choice(PRICES)}
    if ledger.policy.budget.delta and FOUND not in asked:
        price["delta"] = draw.choice([0, 1e-6])
    together = db.ask_all(asked)
    previews = together.preview(**price)
    before = spent(ledger)
    try:
        answers = together.release(**price)
    except BudgetError:
        assert spent(ledger) == before
        assert len(asked) > 1 or not previews[0].fits
        return
    assert all(each.fits for each in previews)
    assert [each.charges for each in answers] == [each.charges for each in previews]
    assert [each.repeated for each in answers] == [each.repeated for each in previews]
    limited = {account.title for account in ledger.statement.accounts if account.limit is not None}
    for title, change in differences(before, spent(ledger)):
        told = [numbers(each.charges[title]) for each in answers if title in each.charges]
        assert change == {name: sum((one[name] for one in told), start=Fraction(0)) for name in change}
        if title in limited and "epsilon" in change:
            assert change["epsilon"] <= Fraction(price["epsilon"])
    free = db.ask_all(asked).preview(**price)
    assert len(asked) > 1 or not any(any(cost.fields().values()) for cost in free[0].charges.values())


@pytest.mark.slow
@pytest.mark.parametrize("facts", FILTERS, ids=["pure", "approximate", "zcdp"])
@pytest.mark.parametrize("seed", range(2))
def test_previews_are_what_is_charged_whoever_asks_whatever(place: Place, facts: dict[str, Any], seed: int) -> None:
    draw = Random(f"{seed} {sorted(facts)}")
    stated = policy(purposes=PURPOSES, **facts)
    ledger = place.open(stated)
    with ExitStack() as stack:
        people = [(analyst.name, purpose.name) for analyst in ANALYSTS for purpose in PURPOSES]
        databases = [stack.enter_context(asking(ledger, *each)) for each in people]
        for _ in range(15):
            step(draw, databases)
    assert ledger.verify().ok
