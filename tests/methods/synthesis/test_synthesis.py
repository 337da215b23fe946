"""What a synthetic table costs, whom it protects, what is kept of a run, and what it refuses."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import Database
from discreet.checks.attacks import infer_from_synthesis
from discreet.engines import BoundedRows
from discreet.errors import BudgetError, ParameterError
from discreet.ledgers import Session
from discreet.mechanisms import Exponential, Gaussian, Release
from discreet.methods.synthesis import Domain, Synthesis, load, report, save, synthesize_rows
from discreet.methods.synthesis.asking import _Counted
from discreet.methods.synthesis.costs import cost_of
from discreet.methods.synthesis.running import METHODS, Run, synthesized
from discreet.methods.workloads import Records
from discreet.plans import plan_sql
from discreet.privacy import NeighborRelation, gaussian_sigma
from discreet.tables import Column, Policy, Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from pathlib import Path

CHANGED = NeighborRelation.CHANGE_ONE
SMALL = [Column(name, lower=0, upper=2, nullable=False) for name in "abc"]
PEOPLE = [
    Column("ward", keys=["a", "b"]),
    Column("age", lower=0, upper=99),
    Column("day", lower=dt.date(2024, 1, 1), upper=dt.date(2024, 12, 31)),
    Column("cost", type="float", lower=0, upper=10),
    Column("well", type="boolean"),
]
PRICE: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "bins": 4}


def people(count: int = 400) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "id": [place // 2 for place in range(count)],
        "ward": [None if place % 7 == 0 else "abz"[place % 3] for place in range(count)],
        "age": rng.integers(-5, 120, count).tolist(),
        "day": [dt.date(2023, 12, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 400, count)],
        "cost": [None if place % 5 == 0 else float(place % 13) for place in range(count)],
        "well": [place % 4 < 2 for place in range(count)],
    }


def database() -> Database:
    visits = Table("visits", unit="id", rows_per_unit=2, columns=[Column("id", type="integer"), *PEOPLE])
    policy = Policy([visits], epsilon=8, delta="1e-4")
    return Database(policy, {"visits": pa.table(people())})


def parts_of(promise: Synthesis, rows: np.ndarray, seed: int = 0) -> list[Release[Any]]:
    kept: list[Release[Any]] = []
    bits = ReplayBits(seed)
    synthesized(Run(promise, Records(promise.domain.sizes, rows), lambda: bits, kept.extend))
    return kept


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "neighbors, moved, apart", [(NeighborRelation.ADD_REMOVE, 3, 3), (CHANGED, 3 * math.sqrt(2), 6)]
)
def test_the_parts_of_a_run_cost_the_price_and_no_more(
    method: str, neighbors: NeighborRelation, moved: float, apart: int
) -> None:
    """Independently of the filter: a unit of three rows moves counts by 3 in L2 (or sqrt(18)), scores by 3 (or 6)."""
    rows = np.random.default_rng(1).integers(0, 3, (500, 3))
    made = Synthesis(Domain.declared(SMALL), method=method, rho="0.5", rows_per_unit=3, neighbors=neighbors)
    spent = 0.0
    for part in parts_of(made, rows):
        mechanism: Any = part.mechanism
        if isinstance(mechanism, Gaussian):
            spent += (moved / float(mechanism.sigma)) ** 2
        else:
            assert isinstance(mechanism, Exponential)
            assert not mechanism.monotone
            assert mechanism.sensitivity == apart
            spent += math.pi / 8 * float(mechanism.epsilon) ** 2
    assert 0.97 <= spent <= 1.0000001, "rho = 1/2 is a squared mu of 1"


def test_a_choice_costs_what_two_coins_tell_at_most() -> None:
    """Every pair of coins whose logits differ by epsilon lies within the Gaussian, and the fair one nearly at it."""
    from scipy.stats import norm

    for epsilon in (0.01, 0.5, 2.0, 6.0):
        logits = np.linspace(-12, 12, 2_001)
        low, high = 1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(-(logits + epsilon)))
        mu = norm.isf(low) - norm.isf(high)
        charged = float(cost_of(Exponential(1, epsilon=str(epsilon))).mu)
        assert mu.max() <= charged
    assert charged == pytest.approx(6 * math.sqrt(2 * math.pi) / 4)
    fair = 2 * norm.ppf(1 / (1 + math.exp(-0.005)))
    assert float(cost_of(Exponential(1, epsilon="0.01")).mu) == pytest.approx(fair, rel=1e-5)


def test_a_price_is_the_gaussian_of_its_formula_and_survives_json() -> None:
    domain = Domain.declared(PEOPLE)
    made = Synthesis(domain, epsilon=1, delta="1e-9")
    sigma = gaussian_sigma(epsilon=1, delta=1e-9)
    assert 1 <= float(made.sigma) / sigma < 1.00001
    assert made.privacy.epsilon(1e-9) <= 1
    assert Synthesis(domain, rho="0.02").sigma == 5
    assert Synthesis.read(made.record()) == made
    assert "ε = 1" in repr(made)


def test_an_engine_counts_what_rows_on_loan_say() -> None:
    """Values beyond the bounds, dates, NULL, what is not listed, and two rows of each unit: cell by cell."""
    with database() as db:
        plan = plan_sql(db.policy, "SELECT COUNT(*) AS n FROM visits")
        domain = Domain.of({name: facts for name, facts in plan.request.relation.schema.items() if name != "id"}, 5)
        counted = _Counted(plan, domain, db._engine)
        counted._paid = lambda: None
        given = people()
        days = [(day - dt.date(1970, 1, 1)).days for day in given["day"]]
        columns = [column for column in PEOPLE if column.name != "day"]
        first = (dt.date(2024, 1, 1) - dt.date(1970, 1, 1)).days
        columns.insert(2, Column("day", type="integer", lower=first, upper=first + 365))
        rows = BoundedRows.of({**given, "day": days}, columns, units=given["id"], rows_per_unit=2)
        records = Records(domain.sizes, domain.coded(rows))
        assert counted.rows == 2
        for places in [(0,), (1,), (2,), (3,), (4,), (0, 1), (2, 3), (0, 3, 4)]:
            assert (counted.marginal(places) == records.marginal(places)).all(), places
        assert records.marginal((0,))[2] > 0, "NULL"
        assert records.marginal((0,))[3] > 0, "not listed"


def test_a_table_is_synthesized_for_its_price_and_asked_again_for_nothing() -> None:
    with database() as db:
        before = db.ledger.statement
        first = db.synthesize("visits", **PRICE, method="mst")
        assert first.mechanism.promise == "ε = 1, δ = 1e-06"
        left = db.ledger.remaining
        again = db.synthesize("visits", **PRICE, method="mst")
        assert again == first
        assert db.ledger.remaining == left
        assert first.charged is not None
        assert before is not None
        drawn = first.value.sample(50)
        assert set(drawn) == {"ward", "age", "day", "cost", "well"}
        assert set(drawn["ward"]) <= {"a", "b", "other", None}
        assert all(0 <= age <= 99 for age in drawn["age"] if age is not None)
        assert all(dt.date(2024, 1, 1) <= day <= dt.date(2024, 12, 31) for day in drawn["day"] if day is not None)
        with pytest.raises(BudgetError):
            db.synthesize("visits", epsilon=20, delta="1e-6", name="more")


def test_whoever_is_killed_goes_on_and_nothing_is_measured_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    append, calls = Session.append, []

    def cut(self: Session, parts: list[Release[Any]]) -> str:
        calls.append(len(parts))
        if len(calls) == 4:
            raise Killed
        return append(self, parts)

    with database() as db:
        monkeypatch.setattr(Session, "append", cut)
        with pytest.raises(Killed):
            db.synthesize("visits", **PRICE, method="mst")
        monkeypatch.setattr(Session, "append", append)
        left = db.ledger.remaining
        released = db.synthesize("visits", **PRICE, method="mst")
        assert db.ledger.remaining == left
    spent = sum(4 / one.sigma**2 for one in released.value.measured)
    assert spent <= float(released.mechanism.limit.mu_squared)  # type: ignore[attr-defined]
    singles = [one for one in released.value.measured if len(one.columns) == 1]
    assert len(singles) == 5, "columns were measured once"


def test_the_number_of_rows_is_not_exact(seed: int) -> None:
    promise = Synthesis(Domain.declared(SMALL), method="independent", rho="0.01")
    rows = np.zeros((1_000, 3), dtype=int)
    numbers = {round(promise.release(rows, bits=ReplayBits(seed + place)).value.rows, 3) for place in range(4)}
    assert len(numbers) == 4
    assert 1_000.0 not in numbers


def test_what_cannot_be_never_is() -> None:
    rows = {"a": [0] * 500, "b": [0] * 500, "c": [1] * 500}
    model = synthesize_rows(rows, SMALL, rho=1, method="mst", forbidden=[{"a": 1, "b": 2}, {"c": 0}]).value
    assert model.marginal("a", "b").values[1, 2] == 0
    assert model.marginal("c").values[0] == 0
    drawn = model.cells(3_000)
    assert not ((drawn[:, 0] == 1) & (drawn[:, 1] == 2)).any()


def test_a_model_is_saved_loaded_and_asked(tmp_path: Path) -> None:
    rows = np.repeat(np.arange(3), 400)
    released = synthesize_rows({"a": rows, "b": rows, "c": rows[::-1]}, SMALL, rho=2, method="mst")
    save(released, tmp_path / "model.json")
    read = load(tmp_path / "model.json")
    assert read == released
    assert (read.value.marginal("a", "b").values == released.value.marginal("a", "b").values).all()
    with pytest.raises(FileExistsError):
        save(released, tmp_path / "model.json")
    told = read.value.marginal("a")
    assert told.errors is not None
    assert (np.abs(told.values - 400) <= told.errors + 1).all()
    counted = read.value.sql("SELECT a, COUNT(*) AS n FROM model GROUP BY a ORDER BY a")
    assert [row["a"] for row in counted] == [0, 1, 2]
    assert sum(row["n"] for row in counted) == round(read.value.rows)
    lone = synthesize_rows({"a": rows, "b": rows, "c": rows}, SMALL, rho=1, method="independent").value
    assert lone.marginal("a", "b").errors is None, "never measured together"


def test_every_error_bar_holds(seed: int) -> None:
    """At 99.99 % of 27 counts each: the truth lies within; half of the ± does not hold it."""
    rows = np.random.default_rng(2).integers(0, 3, (2_000, 3))
    made = Synthesis(Domain.declared(SMALL), method="mst", rho="0.05")
    model = made.release(rows, bits=ReplayBits(seed)).value
    for one in model.measured:
        names = [model.domain.names[place] for place in one.columns]
        told = model.marginal(*names, confidence=0.999999)
        truth = Records(model.domain.sizes, rows).marginal(one.columns)
        assert told.errors is not None
        assert (np.abs(told.values - truth) <= told.errors).all()


@pytest.mark.parametrize(
    "rows",
    [{"a": [], "b": [], "c": []}, {"a": [1], "b": [1], "c": [1]}, {"a": [None] * 9, "b": [None] * 9, "c": [None] * 9}],
    ids=["no row", "one row", "all nulls"],
)
@pytest.mark.parametrize("method", METHODS)
def test_hardly_any_rows_are_synthesized_like_others(rows: dict[str, Any], method: str) -> None:
    columns = [Column(name, lower=0, upper=2) for name in "abc"]
    model = synthesize_rows(rows, columns, rho=1, method=method).value
    assert model.rows >= 1
    assert len(model.sample(7)["a"]) == 7


def test_what_cannot_be_synthesized_is_refused_before_anything_is_spent() -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"method": "magic"}, "method is 'magic'; it must be one of aim"),
        ({"columns": ["height"]}, "columns names 'height'; there are ward"),
        ({"columns": "ward"}, "columns is 'ward'; it must be a list of names"),
        ({"bins": {"height": 3}}, "bins names 'height'"),
        ({"bins": 0}, "bins"),
        ({"forbidden": [{"ward": "q"}]}, "forbidden names 'q' of ward; its cells are a, b, NULL, other"),
        ({"method": "mwem", "forbidden": [{"ward": "a"}]}, "mwem knows no combinations"),
        ({"forbidden": [{}]}, "it must hold combinations"),
        ({"memory": 1}, "memory"),
        ({"memory": 1 << 16, "bins": 60, "method": "mst"}, "a tree of pairs may need"),
        ({"bins": 1000}, r"cost \(1001 cells\) and day \(367 cells\) cannot be counted in one statement"),
        ({"rho": 1}, "epsilon"),
        ({"name": " "}, "name"),
    ]
    with database() as db:
        left = db.ledger.remaining
        for named, why in refused:
            with pytest.raises(ParameterError, match=why):
                db.synthesize("visits", **{**PRICE, **named})
        assert db.ledger.remaining == left
    wide = Domain.declared([Column("c", lower=0, upper=2_999)], bins=3_000)
    with pytest.raises(ParameterError, match=r"the columns \(0,\) hang together and have 3001 cells"):
        Synthesis(wide, rho=1, memory=1 << 16)
    table = Table("visits", row_is_unit=True, columns=PEOPLE)
    with (
        Database(Policy([table], epsilon=8), {"visits": pa.table(people())}) as db,
        pytest.raises(ParameterError, match="needs a delta"),
    ):
        db.synthesize("visits", epsilon=1)


@pytest.mark.slow
def test_the_best_synthesizer_keeps_what_hangs_together() -> None:
    rng = np.random.default_rng(5)
    first = rng.integers(0, 3, 4_000)
    rows = np.stack([first, (first + (rng.random(4_000) < 0.1)) % 3, rng.integers(0, 3, 4_000)], axis=1)
    truth = Records((3, 3, 3), rows).marginal((0, 1)) / 4_000
    off = {}
    for method in METHODS:
        made = Synthesis(Domain.declared(SMALL), method=method, rho="0.05")
        model = made.release(rows, bits=ReplayBits(1)).value.graph
        off[method] = float(np.abs(model.marginal((0, 1)) - truth).sum() / 2)
    assert off["aim"] < 0.05
    assert off["mst"] < 0.05
    assert off["mwem"] < 0.2
    assert off["independent"] > 0.3


def test_a_report_says_what_noise_alone_does_and_how_far_the_model_is() -> None:
    rows = np.repeat(np.arange(3), 300)
    released = synthesize_rows({"a": rows, "b": rows, "c": rows}, SMALL, rho=1, method="mst")
    told = report(released)
    for fact, one in zip(told.facts["measured"], released.value.measured, strict=True):
        assert fact["noise"] == pytest.approx(
            one.sigma * 0.797885 * one.counts.size / 2 / released.value.rows, rel=1e-5
        )
    page = told.to_html()
    assert page.count("<svg") == 3
    assert "ρ = 1" in page
    assert report(released).to_json() == told.to_json()


def test_membership_is_seen_without_privacy_and_not_with_it(seed: int) -> None:
    domain = Domain.declared(SMALL)
    rows = np.zeros((40, 3), dtype=int)
    loud = Synthesis(domain, method="independent", rho=5_000)
    assert infer_from_synthesis(loud, rows, [2, 1, 2], runs=4, bits=ReplayBits(seed)).auc > 0.95
    quiet = Synthesis(domain, method="independent", epsilon="0.2", delta="1e-6")
    found = infer_from_synthesis(quiet, rows, [2, 1, 2], runs=17, bits=ReplayBits(seed))
    assert found.auc < 1, "or by chance: one in C(34, 17), less than 1e-9"
    with pytest.raises(ParameterError, match="3 cells a row"):
        infer_from_synthesis(quiet, rows, [1, 2])
