"""Proposals from the rows: nothing leaves but by paid questions, and one unit moves each of them by one."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.apps.cli import main
from discreet.database import Database
from discreet.engines import open_engine
from discreet.errors import BudgetError, DiscreetError, ParameterError, PolicyError
from discreet.ledgers import open_ledger
from discreet.methods.proposals import buying, propose, steps
from discreet.methods.proposals.names import like_a_record
from discreet.methods.proposals.steps import Counted, Desk, Step
from discreet.plans import Bounding
from discreet.privacy import NeighborRelation
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


UNITS = 3000
PRICE = Fraction(1, 2)
ROWS = {
    "user": [place // 2 for place in range(2 * UNITS)],
    "cost": [(place % 90) * 10.5 for place in range(2 * UNITS)],
    "items": [place % 7 for place in range(2 * UNITS)],
    "day": [dt.date(2021 + place % 3, 5, 1) for place in range(2 * UNITS)],
    "kind": ["new", "old"] * UNITS,
}


def csv_of(frame: pa.Table, file: Path, separator: str = ",") -> Path:
    frame.to_pandas().to_csv(file, index=False, sep=separator)
    return file


@pytest.mark.slow
@pytest.mark.fixed_bits
def test_every_source_gives_the_same_policy(tmp_path: Path) -> None:
    """Each of the 24 bounds is one step too wide with a chance of 1 %: noise in the bin beside was taken for rows."""
    frame = pa.table(ROWS)
    parquet.write_table(frame, tmp_path / "data.parquet")
    with duckdb.connect(str(tmp_path / "store.duckdb")) as store:
        store.register("given", frame)
        store.execute("CREATE TABLE data AS SELECT * FROM given")
    (tmp_path / "other").mkdir()
    sources = [
        frame,
        pl.from_arrow(frame),
        frame.to_pandas().convert_dtypes(),
        tmp_path / "data.parquet",
        tmp_path / "store.duckdb",
        csv_of(frame, tmp_path / "data.csv"),
        csv_of(frame, tmp_path / "data.tsv", "\t"),
        csv_of(frame, tmp_path / "other" / "data.data"),
    ]
    (tmp_path / "data.csv").rename(tmp_path / "other" / "data.csv")
    sources[5] = tmp_path / "other" / "data.csv"  # beside a data.data
    for source in sources:
        proposal = propose(source, unit="user", epsilon=2, budget=9, ledger="memory")
        table = proposal.policy.table("data")
        assert table.rows_per_unit == 2
        assert str(table.column("cost").bounds) == "[0, 1000]"
        assert table.column("user").kind.value == (
            "text" if str(source).endswith(("csv", "tsv", ".data")) else "integer"
        )
        assert (table.column("cost").kind.value, table.column("items").kind.value) == ("float", "integer")
        assert str(table.column("items").bounds) == "[0, 10]"
        assert "day = { lower = 2020-01-01, upper = 2024-12-31 }" in proposal.text
        assert table.column("kind").keys == ("new", "old")
        assert proposal.fill == ()
        assert 0 < sum(proposal.paid.values()) <= 2


@pytest.mark.slow
def test_the_ledger_is_charged_what_the_lines_say(tmp_path: Path) -> None:
    parquet.write_table(pa.table(ROWS), tmp_path / "data.parquet")
    ledger = str(tmp_path / "l.sqlite")
    first = propose(tmp_path / "data.parquet", unit="user", epsilon="0.5", budget=2, delta=0, ledger=ledger)
    with open_ledger(first.policy, ledger) as kept:
        left = kept.remaining
    spent = sum(first.paid.values(), Fraction(0))
    assert left.fields()["epsilon"] == 2 - spent
    assert Fraction(499, 1000) < spent <= Fraction(1, 2)
    again = propose(tmp_path / "data.parquet", unit="user", epsilon="0.5", budget=2, delta=0, ledger=ledger)
    assert again.text == first.text
    with open_ledger(first.policy, ledger) as kept:
        assert kept.remaining == left


def test_all_searches_for_keys_share_the_delta_of_one_release(tmp_path: Path) -> None:
    """With a `release_delta` each, 24 columns of texts took half of what may be released with groups at all."""
    columns = {f"kind{place}": pa.array(["new", "old"] * 50) for place in range(24)}
    data, ledger = pa.table({"user": range(100), **columns}), tmp_path / "l.sqlite"
    proposal = propose(data, unit="user", epsilon="0.3", ledger=ledger)
    with open_ledger(proposal.policy, ledger) as kept:
        spent = kept.statement.whole.spent.fields()
        used = kept.usage(None, None).share
    assert spent["epsilon"] == sum(proposal.paid.values())
    release_delta = proposal.policy.release_delta
    for number in (spent["delta"], spent["failures"]):
        assert isinstance(number, Fraction)
        assert Fraction(99, 100) * release_delta < number <= release_delta
    assert used <= 0.1


def test_without_a_delta_no_key_is_searched() -> None:
    text = propose(pa.table(ROWS), unit="user", epsilon=1, delta=0, ledger="memory").text
    assert 'kind = { type = "text" }' in text
    assert "keys need a budget with a delta" in text


@pytest.mark.slow
def test_nothing_but_paid_answers_shapes_a_proposal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def canned(step: Step) -> Counted:
        size = step.question.plan.request.measures[0][1].size
        return Counted((0,) * (size // 2) + (1000,) + (0,) * (size - size // 2 - 1), 1, 1)

    monkeypatch.setattr(Step, "counted", canned)
    monkeypatch.setattr(Step, "release", lambda step: pytest.fail(f"{step.about} was asked beside"))
    texts = []
    for name, rows in (("a", "p1,5,x\n"), ("b", "SECRET,-1e9,never\n" * 50), ("c", ",,\n"), ("d", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text("user,cost,kind\n" + rows)
        proposal = propose(tmp_path / name / "t.csv", unit="user", epsilon="0.3", ledger="memory", url=".")
        texts.append(proposal.text + str(proposal.paid))
    assert len(set(texts)) == 1


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "data"])
def test_without_a_price_only_names_and_types_are_read(tmp_path: Path, ending: str) -> None:
    one = pa.table({"user": ["u"], "cost": [1.5], "kind": ["a"]})
    two = pa.table({"user": ["SECRET"] * 99, "cost": [-1e9] * 99, "kind": ["SECRET"] * 99})
    texts = set()
    for name, frame in (("one", one), ("two", two)):
        (tmp_path / name).mkdir()
        file = tmp_path / name / f"t.{ending}"
        if ending == "parquet":
            parquet.write_table(frame, file)
        else:
            csv_of(frame, file, "\t" if ending == "tsv" else ",")
        texts.add(propose(file, url=".").text)
        assert propose(frame).text == propose(frame.slice(0, 0)).text
    assert len(texts) == 1


# One unit, whatever its rows are, moves the counts of each step by at most one (two where another takes its place).

STRANGE: list[tuple[int, str | None, str | None]] = [
    (7, "12", "a"),
    (7, "-0.5", "b"),
    (7, "x", "c"),
    (7, None, None),
    (7, "2021-02-03", " a "),
    (7, "", "d"),
]
USUAL: list[tuple[int, str | None, str | None]] = [(unit, str(unit), "a") for unit in (1, 1, 2, 3)]


def rows_of(*parts: list[tuple[int, str | None, str | None]]) -> dict[str, pa.Table]:
    rows = [row for part in parts for row in part]
    names = ("user", "cost", "kind")
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    types = (pa.int64(), pa.string(), pa.string())
    return {"t": pa.table({n: pa.array(list(c), k) for n, c, k in zip(names, columns, types, strict=True)})}


def all_steps(desk: Desk) -> Iterator[Step]:
    yield desk.rows_per_unit("t", PRICE)
    yield desk.vote("t", "cost", PRICE)
    for kind in ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP"):
        yield desk.ends("t", "cost", kind, PRICE)
    yield desk.keys("t", "kind", PRICE, Fraction("1e-9"))


def exact_counts(step: Step) -> dict[object, int]:
    """What the engine counts before noise; a test may look."""
    aggregates = step.question.engine.prepare(step.question.plan.aggregate).run()
    counts = np.asarray(aggregates.unprotected(0))
    return {(group, place): int(n) for group, row in zip(aggregates.unprotected_groups(), counts, strict=True)
            for place, n in enumerate(np.atleast_1d(row))}  # fmt: skip


DRAFT = Policy(
    [Table("t", unit="user", columns=[Column("cost", type="text"), Column("kind", type="text")])],
    epsilon=9,
    delta=1e-6,
)


def distances(*, neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE) -> list[tuple[str, int, int]]:
    """How far apart the counts of neighbors are, beside what planning derived, for each step."""
    draft = Policy(DRAFT.tables, epsilon=9, delta=1e-6, neighbors=neighbors)
    counted = []
    for data in (rows_of(USUAL, STRANGE), rows_of(USUAL)):
        with open_engine(draft, data) as engine, open_ledger(draft, "memory") as ledger:
            asked = list(all_steps(Desk(draft, engine, ledger)))
            derived = [step.question.plan.aggregate for step in asked]
            counted.append([exact_counts(step) for step in asked])
    found = []
    for step, plan, one, two in zip(asked, derived, *counted, strict=True):
        places = {*one, *two}
        moved = sum(abs(one.get(place, 0) - two.get(place, 0)) for place in places)
        found.append((step.about, moved, int(plan.sensitivity(plan.statistics[0], neighbors=neighbors).l1)))
    return found


@pytest.mark.slow
def test_one_unit_moves_each_step_by_one() -> None:
    for about, moved, derived in distances():
        assert moved <= 1, about
        assert derived == 1, about
    assert {derived for _, _, derived in distances(neighbors=NeighborRelation.CHANGE_ONE)} == {2}


@pytest.mark.slow
def test_a_proposal_that_counts_rows_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "Bounding", lambda rows: Bounding(rows=len(STRANGE) * rows))
    moved = {about: distance for about, distance, _ in distances()}
    assert moved.pop("rows per unit") == 1  # grouped by unit, so no row is limited
    assert max(moved.values()) > 1


def test_noise_alone_is_taken_for_rows_once_in_a_hundred() -> None:
    """By the law: a discrete Laplace number of scale s is further than m from 0 with chance 2 q^(m+1) / (1 + q)."""
    with open_engine(DRAFT, rows_of()) as engine, open_ledger(DRAFT, "memory") as ledger:
        counted = Desk(DRAFT, engine, ledger).ends("t", "cost", "DOUBLE", PRICE).counted()
    ratio, bins = np.exp(-float(PRICE)), len(counted.counts)
    for limit, places, chance in ((counted.noise, bins, 1), (counted.near, 1, 1), (counted.far, bins, 0.01)):
        taken = places * 2 * ratio ** (limit + 1) / (1 + ratio)
        assert taken == pytest.approx(0.0075 * chance, rel=0.34)


def test_noise_far_from_the_rows_widens_no_bounds() -> None:
    counts = [0] * 90
    counts[60], counts[2], counts[80] = 900, 60, 90
    assert Counted(tuple(counts), 50, 30, 80).span() == (60, 80)
    assert Counted((0, 60, 0), 50, 30, 80).span() == (1, 1)


def test_bounds_lie_around_the_bins_that_count() -> None:
    edges = steps.edges_of("DOUBLE")
    counts = [0] * (len(edges) + 1)
    for lower in (-5, 20):
        counts[edges.index(Fraction(lower)) + 1] = 900
    assert steps.ends_of("DOUBLE", Counted(tuple(counts), 50, 50)) == (Fraction(-5), Fraction(50))


# What cannot work is refused in a sentence, before anything is charged.


@pytest.mark.parametrize(
    "given, words",
    [
        ({"unit": "patent"}, "no column"),
        ({}, "does not say who is protected"),
        ({"unit": "user", "row_is_unit": True}, "row_is_unit too"),
        ({"unit": "user", "epsilon": 0}, "must be above 0"),
        ({"unit": "user", "epsilon": 4}, "whole budget 3"),
        ({"unit": "user", "budget": 0}, "epsilon"),
        ({"unit": "user", "delta": 2}, "delta"),
        ({"unit": "user", "ledger": None}, "say what pays"),
    ],
)
def test_what_a_ledger_would_freeze_must_be_right(given: dict[str, object], words: str) -> None:
    frame = pa.table({"user": [1], "cost": [2.0]})
    with pytest.raises((ParameterError, PolicyError), match=words):
        propose(frame, **{"epsilon": "0.2", "ledger": "memory", **given})  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_price_beyond_what_is_left_charges_nothing_and_makes_no_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet.write_table(pa.table(ROWS), tmp_path / "data.parquet")
    ledger = tmp_path / "l.sqlite"
    with monkeypatch.context() as patched:
        patched.setattr(buying, "fits", lambda *_: False)
        with pytest.raises(BudgetError, match="Nothing was spent"):
            propose(tmp_path / "data.parquet", unit="user", epsilon="2.99", ledger=str(ledger))
    assert not ledger.exists()
    propose(tmp_path / "data.parquet", unit="user", epsilon="0.3", budget=1, delta=0, ledger=str(ledger))
    with pytest.raises(BudgetError, match="Nothing was spent"):
        propose(tmp_path / "data.parquet", unit="user", epsilon="0.9", budget=1, delta=0, ledger=str(ledger))


def test_a_question_that_cannot_be_planned_charges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("user,cost\n1,2\n")
    ledger = tmp_path / "l.sqlite"
    monkeypatch.setattr(Desk, "keys", lambda *_: (_ for _ in ()).throw(ParameterError("no such question")))
    with pytest.raises(ParameterError, match="no such question"):
        propose(tmp_path / "t.csv", unit="user", epsilon="0.2", ledger=str(ledger))
    assert not ledger.exists()


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["", "7,,\n" * 500, "7,3,a\n" * 3000, "".join(f"{n},,\n" for n in range(900))])
def test_rows_that_show_nothing_leave_the_lines_to_the_owner(tmp_path: Path, rows: str) -> None:
    """No rows, NULLs alone, or one person: nothing but noise, so nothing is found but for a chance of 1 % each."""
    (tmp_path / "t.csv").write_text("user,cost,kind\n" + rows)
    proposal = propose(tmp_path / "t.csv", unit="user", epsilon="0.1", ledger="memory", url=".")
    assert {line.partition(":")[0] for line in proposal.fill} >= {"tables.t.columns.cost", "tables.t.columns.kind"}
    assert proposal.policy.table("t").unit == "user"


@pytest.mark.parametrize("name", ['co"st', "Würde'n", "a b", "sélect", "x;--", "n", "h", "k", "rows it has"])
def test_any_name_is_asked_about(name: str) -> None:
    frame = pa.table({"the user": range(2000), name: [1.5, 40.0] * 1000})
    proposal = propose({f"of {name}": frame}, unit="the user", epsilon=1, budget=9, ledger="memory")
    assert proposal.policy.table(f"of {name}").column(name).bounds.finite


def test_a_table_that_protects_nobody_is_named_and_costs_nothing() -> None:
    tables = {
        "visits": pa.table({"user": range(900), "cost": [5] * 900}),
        "wards": pa.table({"ward": ["a"], "beds": [9]}),
    }
    with pytest.raises(ParameterError, match="--public-table wards"):
        propose(tables, unit="user", epsilon=1, ledger="memory")
    proposal = propose(tables, unit="user", epsilon=1, ledger="memory", public=["wards"])
    assert list(proposal.paid) == ["visits: rows per unit", "visits: bounds of cost"]
    assert [table.private for table in proposal.policy.tables] == [True, False]
    with Database(proposal.policy, tables, ledger="memory") as db:
        assert db.sql("SELECT COUNT(*) AS n FROM visits WHERE cost IN (SELECT beds FROM wards)").release(1).to_dicts()
    with pytest.raises(ParameterError, match="Did you mean 'wards'"):
        propose(tables, unit="user", public=["ward"])


@pytest.mark.parametrize("line", ["user_id;ward;cost", "user_id\tward", "user_id|ward"])
def test_cells_that_something_else_separates_buy_nothing(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.csv").write_text(line + "\n" + "".join(f"{n};a;5\n" for n in range(100)))
    with pytest.raises(ParameterError, match="separated by commas"):
        propose(tmp_path / "t.csv", row_is_unit=True, epsilon="0.5", ledger=str(tmp_path / "l.sqlite"))
    assert not (tmp_path / "l.sqlite").exists()
    assert propose(tmp_path / "t.csv", row_is_unit=True, header=True).policy.table("t").name == "t"


@pytest.mark.parametrize(
    "names", [["39", "State-gov"], ["a", "2020-01-01"], ["a", "?"], ["x", "1.5e3"], ["a@b.org", "c"]]
)
def test_a_first_line_that_looks_like_a_person_is_not_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: list[str]
) -> None:
    file = tmp_path / "adult.data"
    file.write_text(",".join(names) + "\n")
    assert main(["init", str(file)]) == 2
    said = capsys.readouterr().err
    assert "is the first line a person?" in said
    assert not any(name in said for name in names if name not in {"a", "c", "x", "?"})
    assert not (tmp_path / "adult.toml").exists()
    assert main(["init", str(file), "--header"]) == 0
    assert like_a_record({"t": ["patient_id", "ward", "n2", "q1_2020"]}) is None


@pytest.mark.parametrize("rows", [1, 20_000])
def test_a_quotation_mark_left_open_publishes_no_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: int
) -> None:
    (tmp_path / "visits.csv").write_text('patient_id,"ward\n' + "SECRET,SECRET\n" * rows)
    assert main(["init", str(tmp_path / "visits.csv"), "--header"]) == 2
    said = capsys.readouterr().err
    assert "quotation mark" in said
    assert "SECRET" not in said
    assert not (tmp_path / "visits.toml").exists()


def test_a_missing_cell_which_makes_floats_of_integers_in_pandas_changes_nothing() -> None:
    texts = {propose(pd.DataFrame({"user_id": [7, 8], "cost": [1, last]})).text for last in (2, None)}
    assert len(texts) == 1
    declared = pd.DataFrame({"user_id": [7, 8], "cost": pd.array([1, None], dtype="Int64")})
    assert "upper = 1000 }" in propose(declared).text


def test_keys_that_no_policy_can_name_are_left_out() -> None:
    kinds = ["a", "b", "\0", "\t"] * 500
    frame = pa.table({"user": range(2000), "kind": kinds})
    proposal = propose(frame, unit="user", epsilon=1, budget=9, ledger="memory")
    assert proposal.policy.table("data").column("kind").keys == ("\t", "a", "b")


def test_a_table_that_no_policy_can_name_costs_nothing() -> None:
    seen = pa.table({"user": range(2000), "kind": ["a"] * 2000})
    proposal = propose({"_hidden": seen, "seen": seen}, unit="user", epsilon=1, budget=9, ledger="memory")
    assert set(proposal.paid) == {"seen: rows per unit", "seen: keys of kind"}
    assert Fraction(99, 100) < sum(proposal.paid.values()) <= 1
    assert [table.name for table in proposal.policy.tables] == ["seen"]


def test_a_unit_that_no_policy_can_name_is_refused_before_it_costs(tmp_path: Path) -> None:
    frame = pa.table({"_user": range(9), "cost": [1.5] * 9})
    with pytest.raises((ParameterError, PolicyError), match="_user"):
        propose(frame, unit="_user", epsilon=1, ledger=str(tmp_path / "l.sqlite"))
    assert not (tmp_path / "l.sqlite").exists()


def test_the_command_keeps_a_ledger_and_marks_the_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet.write_table(pa.table(ROWS), tmp_path / "data.parquet")
    arguments = ["init", str(tmp_path / "data.parquet"), "--unit", "user", "--epsilon", "0.2"]
    assert main(arguments) == 0
    assert "private questions were asked, for ε = 0.2 together" in capsys.readouterr().out
    text = (tmp_path / "data.toml").read_text()
    assert text.count("# ε = ") + text.count("FILL IN ε = ") == 5
    assert (tmp_path / "data.ledger.sqlite").exists()
    assert main(arguments) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "data.toml")]) == 0
    (tmp_path / "data.toml").unlink()
    assert main([*arguments, "--neighbors", "change-one"]) != 0
    assert not (tmp_path / "data.toml").exists()


def test_a_password_never_stands_in_a_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = "postgresql://ann:SECRET@localhost/care"
    assert main(["init", address, "--output", str(tmp_path / "care.toml")]) == 2
    assert "SECRET" not in capsys.readouterr().err
    assert main(["init", "postgresql://ann@localhost/care"]) == 2
    assert "name one with --output" in capsys.readouterr().err


def test_a_watch_is_told_how_far_it_is() -> None:
    told: list[tuple[str, int, int]] = []
    propose(pa.table(ROWS), unit="user", epsilon=1, budget=9, ledger="memory", watch=lambda *at: told.append(at))
    assert [done for _, done, _ in told] == [0, 1, 2, 3, 4, 5]
    assert {total for _, _, total in told} == {5}


def test_the_shares_never_add_up_to_more_than_the_price() -> None:
    frame = pa.table({"user": [1], **{f"c{place}": [1.5] for place in range(7)}})
    given = propose(frame, unit="user", epsilon="0.1", ledger="memory")
    assert Fraction(99, 1000) < sum(given.paid.values()) <= Fraction(1, 10)
    assert all(price > 0 for price in given.paid.values())
    assert buying._SHARES == {"rows": 2, "vote": 2, "column": 4}
    assert issubclass(BudgetError, DiscreetError)


def test_pandas_objects_are_voted_on() -> None:
    frame = pd.DataFrame({"user": range(3000), "cost": pd.Series(["1.5", "20"] * 1500, dtype=object)})
    table = propose(frame, unit="user", epsilon=1, budget=9, ledger="memory").policy.table("data")
    assert table.column("cost").kind.value == "float"
