"""Answers and previews as people see them: on a page, in a notebook."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.errors import ParameterError, QueryRefused
from discreet.plans import Bounding, Shape
from discreet.tables import Column, Policy, Table

COLUMNS = [Column("year", keys=[2023, 2024]), Column("x", lower=0, upper=9), Column("<b>", keys=["<script>"])]
POLICY = Policy([Table("t", row_is_unit=True, columns=COLUMNS)], epsilon=10_000)
DATA = pa.table({"year": [2024] * 5000, "x": [3] * 5000, "<b>": ["<script>"] * 5000})


def test_keys_are_written_as_they_are_and_numbers_to_the_digits_that_mean_something() -> None:
    with Database(POLICY, {"t": DATA}) as db:
        text = str(db.sql("SELECT year, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY year").release(epsilon=1000))
    assert [line[:11] for line in text.splitlines()[:3]] == ["year  n    ", "2023  0 ± 1", "2024  5,000"]


def test_a_notebook_shows_a_table_in_which_nothing_is_a_tag() -> None:
    with Database(POLICY, {"t": DATA}) as db:
        question = db.sql('SELECT "<b>", COUNT(*) AS n, AVG(x) FILTER (WHERE x > 8) AS m FROM t GROUP BY "<b>"')
        page = question.release(epsilon=1000)._repr_html_()
        assert "<th>&lt;b&gt;</th>" in page
        assert "<td>&lt;script&gt;</td>" in page
        assert ">NULL</td>" in page
        assert "title='" in page
        assert "<script>" not in page
        assert "ε = 1000" in page
        assert "<td>n</td>" in question.preview(epsilon=1)._repr_html_()


def test_a_preview_rounds_up_in_a_notebook_too() -> None:
    with Database(POLICY, {"t": DATA}) as db:
        question = db.sql("SELECT SUM(x) / 7 AS s FROM t")
        for seen in (question.preview(epsilon=price) for price in ("0.1", "0.4", "0.7", "1")):
            written = str(seen).splitlines()[0].removeprefix("s ± ")
            assert f"<td>{written}</td>" in seen._repr_html_()


def test_long_answers_are_cut_in_a_notebook() -> None:
    wide = Policy([Table("t", row_is_unit=True, columns=[Column("k", lower=1, upper=300)])], epsilon=10)
    with Database(wide, {"t": pa.table({"k": [1, 2]})}) as db:
        page = db.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").release(epsilon=1)._repr_html_()
    assert page.count("<tr>") == 1 + 100 + 1
    assert "200 more" in page


def test_limits_are_named_by_words() -> None:
    assert Bounding(shape="sums", rows=2) == Bounding(shape=Shape.SUMS, rows=2)
    with pytest.raises(ParameterError, match="shape is 'sum'; it must be one of 'rows', 'sums'"):
        Bounding(shape="sum")


def test_rows_are_refused_with_what_is_answered() -> None:
    with Database(POLICY, {"t": DATA}) as db:
        for sql in ("SELECT * FROM t", "SELECT t.* FROM t"):
            with pytest.raises(QueryRefused, match=r"No single row is ever shown. Write instead: COUNT\(\*\)"):
                db.sql(sql)


def test_what_is_to_be_written_instead_is_answered() -> None:
    with Database(POLICY, {"t": DATA}) as db:
        with pytest.raises(QueryRefused, match=r"POWER\(x, 0.5\).*SQRT"):
            db.sql("SELECT SUM(POWER(x, 0.5)) FROM t")
        with pytest.raises(QueryRefused, match=r"names the columns that are equal.*USING"):
            db.sql("SELECT COUNT(*) FROM t NATURAL JOIN t AS u")
        assert list(db.sql("SELECT SUM(SQRT(x)) AS s FROM t").plan.columns) == ["s"]


@pytest.mark.parametrize(
    "name, instead",
    [("query", "db.sql("), ("t", "db.table('t')"), ("table_", "Did you mean 'table'?"), ("_x", "no _x.")],
)
def test_a_database_says_what_to_write_for_what_it_has_not(name: str, instead: str) -> None:
    with Database(POLICY, {"t": DATA}) as db, pytest.raises(AttributeError, match=re.escape(instead)):
        getattr(db, name)


def test_groups_stand_in_the_order_of_the_keys_as_asked() -> None:
    columns = [
        Column("a", keys=["y", "x"]),
        Column("b", keys=[2, 1]),
        Column("c", type="text"),
        Column("d", type="text"),
    ]
    policy = Policy([Table("t", row_is_unit=True, columns=columns)], epsilon=10_000, delta="0.1")
    cells = [(a, b, c, d) for a in "xy" for b in (1, 2) for c in "pq" for d in "rs"] * 100
    data = pa.table(dict(zip("abcd", map(list, zip(*cells, strict=True)), strict=True)))
    with Database(policy, {"t": data}) as db:
        for first, second, groups in (
            ("a", "b", [("y", 2), ("y", 1), ("x", 2), ("x", 1)]),
            ("b", "a", [(2, "y"), (2, "x"), (1, "y"), (1, "x")]),
            ("d", "c", [("r", "p"), ("r", "q"), ("s", "p"), ("s", "q")]),
        ):
            asked = f"SELECT {first}, {second}, COUNT(*) AS n FROM t GROUP BY {first}, {second}"
            for more, kept in (("", 4), (" HAVING COUNT(*) > 0", 4), (" LIMIT 3", 3)):
                rows = db.sql(asked + more).release(epsilon=50).to_dicts()
                assert [(row[first], row[second]) for row in rows] == groups[:kept], asked + more
