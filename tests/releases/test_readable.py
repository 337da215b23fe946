"""Answers one can read: rows of bins, reasons, limits, frames with ±; said from public facts and paid numbers alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from discreet.database import Database
from discreet.errors import ParameterError, QueryRefused
from discreet.privacy import Pure
from discreet.tables import Analyst, Column, Policy, Table

COLUMNS = [
    Column("ward", keys=["a", "b"]),
    Column("cost", lower=0, upper=200_000),
    Column("lower", lower=0, upper=9),
    Column("note", type="text"),
]
VISITS = Table("visits", unit="patient", rows_per_unit=4, columns=COLUMNS)
POLICY = Policy([VISITS], epsilon=100_000, delta="0.1", filter="approximate")
ROWS = 2000
BINS = "HISTOGRAM(cost, [100, 1000]) AS n"


def visits(rows: int = ROWS, *, most: int = 2000, each: int = 2) -> pa.Table:
    columns: dict[str, Any] = {
        "patient": [str(number // each) for number in range(rows)],
        "ward": ["a", "b"] * (rows // 2),
        "cost": [number % most for number in range(rows)],
        "lower": [1] * rows,
        "note": ["x"] * rows,
    }
    return pa.table(columns)


@pytest.fixture
def db() -> Any:  # noqa: ANN401 - a fixture that closes
    with Database(POLICY, {"visits": visits()}) as opened:
        yield opened


def test_a_histogram_has_a_row_for_each_bin_with_its_ends(db: Database) -> None:
    answer = db.sql(f"SELECT {BINS} FROM visits").release(epsilon=5000)
    assert answer.columns == ("lower", "upper", "n")
    assert answer.to_dicts() == [
        {"lower": 0, "upper": 100, "n": 100},
        {"lower": 100, "upper": 1000, "n": 900},
        {"lower": 1000, "upper": 200_000, "n": 1000},
    ]
    assert [row["n"] for row in answer.errors()] == [0.0] * 3
    assert [row["lower"] for row in answer.errors()] == [None] * 3
    assert answer.to_arrow().schema.names == ["lower", "upper", "n"]
    assert answer.to_arrow().to_pylist() == answer.to_dicts()
    assert repr(answer) == "Answer(lower, upper, n: 3 rows, ε = 5000)"
    assert str(answer).splitlines()[0].split() == ["lower", "upper", "n"]


def test_bins_of_groups_stand_below_each_other_and_a_limit_counts_rows(db: Database) -> None:
    grouped = f"SELECT ward, {BINS}, COUNT(*) AS all_rows FROM visits GROUP BY ward ORDER BY ward DESC"
    rows = db.sql(grouped).release(epsilon=5000).to_dicts()
    assert [(row["ward"], row["lower"], row["n"], row["all_rows"]) for row in rows] == [
        (ward, *bins, 1000) for ward in ("b", "a") for bins in ((0, 50), (100, 450), (1000, 500))
    ]
    limited = db.sql(f"{grouped} LIMIT 4").release(epsilon=5000)
    assert limited.to_dicts() == rows[:4]
    assert "4 rows" in repr(limited)


def test_outer_bins_end_nowhere_where_no_bounds_say_where(db: Database) -> None:
    ends = db.sql("SELECT HISTOGRAM(cost, [0, 0.5, 300000]) AS n FROM visits").release(epsilon=1).to_arrow()
    assert ends["lower"].to_pylist() == [None, 0.0, 0.5, 300_000.0]
    assert ends["upper"].to_pylist() == [0.0, 0.5, 300_000.0, None]


def test_columns_of_the_question_keep_their_names_beside_the_ends(db: Database) -> None:
    answer = db.sql(f"SELECT AVG(lower) AS lower, {BINS} FROM visits").release(epsilon=1)
    assert answer.columns == ("lower", "n_lower", "n_upper", "n")


def test_histograms_with_different_edges_are_two_questions(db: Database) -> None:
    with pytest.raises(QueryRefused, match=r"different edges.*ask_all"):
        db.sql("SELECT HISTOGRAM(cost, [1]) AS a, HISTOGRAM(cost, [2]) AS b FROM visits")
    both = db.sql("SELECT HISTOGRAM(cost, [1]) AS a, HISTOGRAM(lower, [1]) AS b FROM visits")
    assert both.release(epsilon=1).columns == ("lower", "upper", "a", "b")


def test_no_bin_is_below_zero_where_that_is_asked_for(db: Database) -> None:
    answer = db.sql("SELECT HISTOGRAM(cost, [-5, -4, -3, -2, -1]) AS n FROM visits").release(epsilon="0.01")
    cut = answer.nonnegative()
    assert [row["n"] for row in cut.to_dicts()] == [max(row["n"], 0) for row in answer.to_dicts()]


def test_a_histogram_is_drawn_as_bars_with_its_errors(db: Database) -> None:
    for sql, groups in ((f"SELECT {BINS} FROM visits", 1), (f"SELECT ward, {BINS} FROM visits GROUP BY ward", 2)):
        answer = db.sql(sql).release(epsilon=1)
        axes = answer.plot(axes=Figure().subplots())
        bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        assert [bar.get_height() for bar in bars] == [row["n"] for row in answer.to_dicts()]
        assert len(bars) == len(axes.patches) == 3 * groups
        assert [label.get_text() for label in axes.get_xticklabels()] == ["0…100", "100…1,000", "1,000…200,000"]
        assert axes.get_xlabel() == "cost"
        errors = np.concatenate(
            [
                np.diff(segment[:, 1])
                for one in axes.containers[groups - 1 :: 2]
                for segment in getattr(one, "errorbar", one)[2][0].get_segments()
            ]
        )
        assert {round(float(error), 6) for error in errors} == {2 * answer.errors()[0]["n"]}  # type: ignore[operator]


def test_too_many_groups_are_no_bars() -> None:
    wide = Policy([Table("t", row_is_unit=True, columns=[Column("k", lower=1, upper=11)])], epsilon=1)
    with Database(wide, {"t": pa.table({"k": [1, 2]})}) as db:
        answer = db.sql("SELECT k, HISTOGRAM(k, [3]) AS n FROM t GROUP BY k").release(epsilon=1)
        with pytest.raises(ParameterError, match="bars of 11 groups cannot be told apart"):
            answer.plot(axes=Figure().subplots())


def test_a_missing_value_and_a_missing_error_say_why(db: Database) -> None:
    dear = "AVG(cost) FILTER (WHERE cost > 100000)"
    answer = db.sql(f"SELECT ward, {dear} AS m, MEDIAN(cost) AS d, COUNT(*) AS n FROM visits GROUP BY ward").release(
        epsilon=40
    )
    row = answer.to_dicts(errors=True)[0]
    assert (row["m"], row["m_error"], row["m_reason"]) == (None, None, "the noisy count is too small for a ratio.")
    assert row["d_error"] is None
    assert row["d_reason"].startswith("it misses its rank by at most")
    assert row["n_error"] > 0
    assert "n_reason" not in row
    assert not {"ward_error", "ward_reason"} & set(row)
    for text in (str(answer), answer._repr_html_()):
        assert "m is NULL: the noisy count is too small for a ratio." in text
        assert "d has no ±: it misses its rank" in text


def test_the_footer_names_limits_and_never_what_they_cut() -> None:
    """The same words whatever the rows: nothing is cut, much of one patient is, and nothing is there."""
    asked = "SELECT ward, AVG(cost / 100) AS c, SUM(lower) AS s FROM visits WHERE cost > 5 GROUP BY ward"
    notes = []
    for rows in (visits(), visits(each=1000), visits(most=10**9), visits(0)):
        with Database(POLICY, {"visits": rows}) as opened:
            answer = opened.sql(asked).release(epsilon=100)
            notes.append([line for line in answer.notes() if line.startswith("limits")])
    assert notes == [["limits, which no ± includes: cost to 0…200,000; lower to 0…9; 4 rows of each patient"]] * 4


def test_a_count_alone_has_no_bounds_to_name(db: Database) -> None:
    assert db.sql("SELECT COUNT(*) AS n FROM visits WHERE cost > 9").release(epsilon=1).notes() == [
        "limits, which no ± includes: 4 rows of each patient"
    ]


def test_limits_are_those_of_the_columns_below_a_subquery(db: Database) -> None:
    answer = db.sql("SELECT AVG(t) AS m FROM (SELECT patient, SUM(cost) AS t FROM visits GROUP BY patient)")
    (note,) = [line for line in answer.release(epsilon=100).notes() if line.startswith("limits")]
    assert note == "limits, which no ± includes: cost to 0…200,000; 4 rows of each patient"


def test_found_groups_say_how_many_units_they_need(db: Database) -> None:
    answer = db.sql("SELECT note, COUNT(*) AS n FROM visits GROUP BY note").release(epsilon=8, delta="1e-6")
    selection = answer.parts[0].selection
    assert selection is not None
    (note,) = [line for line in answer.notes() if line.startswith("groups")]
    likely, half = (next(n for n in range(10**4) if selection.keep(n) >= chance) for chance in (0.95, 0.5))
    needed = f"one of {likely} units (patient) is shown with probability 0.95, one of {half} half of the time"
    assert note == f"groups found in the data: {needed}"
    foreseen = db.sql("SELECT note, COUNT(*) AS m FROM visits WHERE cost > 1 GROUP BY note").preview(8, delta="1e-6")
    assert foreseen.notes == {"groups found in the data": needed}


def test_a_frame_has_the_errors_beside_the_values(db: Database) -> None:
    answer = db.sql(f"SELECT ward, {BINS}, AVG(cost) AS n_error FROM visits GROUP BY ward").release(epsilon=10)
    assert list(answer.to_pandas().columns) == list(answer.columns)
    frame = answer.to_pandas(errors=True)
    assert list(frame.columns) == ["ward", "lower", "upper", "n", "n_error_", "n_error", "n_error_error"]
    assert frame["n_error_"].tolist() == [row["n"] for row in answer.errors()]
    wide = answer.to_pandas(errors=True, confidence=0.5)
    assert (wide["n_error_"] < frame["n_error_"]).all()


def test_a_frame_has_a_row_for_each_answer_and_nan_for_no_error(db: Database) -> None:
    frame = db.sql("SELECT MEDIAN(cost) AS m FROM visits").release(epsilon=10).to_pandas(errors=True)
    assert frame["m_error"].isna().tolist() == [True]


def test_an_answer_carries_its_privacy_as_a_curve() -> None:
    with Database(POLICY, {"visits": visits()}) as opened:
        question = opened.sql("SELECT COUNT(*) AS n FROM visits")
        first = question.release(epsilon=1)
        assert first.privacy.epsilon(0) == pytest.approx(1, abs=1e-9)
        both = question.release(epsilon=2)
        assert both.combined == 2
        assert both.privacy.epsilon(0) == pytest.approx(3, abs=1e-9)  # it is made of two releases
        again = question.release(epsilon=1)
        assert (again.repeated, again.combined) == (True, 2)
        assert again.privacy.epsilon(0) == pytest.approx(3, abs=1e-9)
        narrow = opened.sql("SELECT SUM(cost) AS s FROM visits").release(epsilon=1, narrow="0.4")
        assert narrow.privacy.epsilon(0) == pytest.approx(1, abs=1e-9)
        assert narrow.bounds is not None
        assert narrow.bounds.privacy.epsilon(0) == pytest.approx(0.4, abs=1e-9)


def test_what_an_answer_of_a_pure_ledger_promises_is_no_more_than_it_cost() -> None:
    pure = Policy([VISITS], epsilon=9)
    with Database(pure, {"visits": visits()}) as opened:
        answer = opened.sql(f"SELECT ward, {BINS}, AVG(cost) AS m FROM visits GROUP BY ward").release(epsilon=1)
        assert answer.cost == Pure(1)
        assert 0.99 < answer.privacy.epsilon(0) <= 1 + 1e-9


def test_an_epsilon_needs_no_name(db: Database) -> None:
    asked = "SELECT COUNT(*) AS n FROM visits"
    assert db.sql(asked).preview("0.1").promise == db.sql(asked).release(0.1).promise == "ε = 0.1"
    both = db.ask_all([asked, "SELECT SUM(cost) AS s FROM visits"])
    assert [seen.promise for seen in both.preview(2)] == ["ε = 1"] * 2
    assert [answer.promise for answer in both.release(2)] == ["ε = 1 + ε = 0.1", "ε = 1"]


def test_a_database_lists_what_can_be_asked() -> None:
    analysts = [Analyst("ann", tables=["visits"]), Analyst("eve", tables=["wards"])]
    wards = Table("wards", public=True, columns=[Column("beds", lower=0, upper=99)])
    policy = Policy([VISITS, wards], epsilon=9, analysts=analysts)
    tables = {"visits": visits(), "wards": pa.table({"beds": [3]})}
    with Database(policy, tables, analyst="ann") as opened:
        assert opened.tables == ("visits",)
        assert opened.as_("eve").tables == ("wards",)
        assert opened.as_(None).tables == ()
        described = opened.describe()
        assert "visits: protects each patient, of whom 4 rows count" in str(described)
        assert "wards" not in str(described) + described._repr_html_()
        ask = described.to_dict()["tables"]["visits"]["ask"]
        for name, words in ask.items():  # what is listed is answered
            for word in set(words) & {"SUM", "AVG", "MEDIAN"}:
                assert opened.sql(f"SELECT {word}({name}) AS x FROM visits").plan.columns
            if "GROUP BY" in words:
                assert opened.sql(f"SELECT {name}, COUNT(*) AS n FROM visits GROUP BY {name}").plan.aggregate.known
        assert "GROUP BY" not in ask["note"]
        assert "GROUP BY" not in ask["cost"]
