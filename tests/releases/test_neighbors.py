"""Databases that were built to break a claim: odd columns, units and keys under which one unit might move many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from discreet.engines.duckdb import DuckDB
from discreet.engines.sql import relations
from discreet.engines.sql.words import number
from discreet.plans import Bounding, plan_sql
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from discreet.plans import Plan

WARDS = [Column("ward", keys=["cold", "flu"])]


def counts(plan: Plan, source: str | Mapping[str, object]) -> list[list[int]]:
    with DuckDB(plan.policy, source, rank_key=bytes(32)) as engine:
        found = engine.prepare(plan.aggregate).run()
        return [found.unprotected(place)[:, 0].tolist() for place in range(len(plan.statistics))]


@pytest.mark.parametrize("collation", ["NOCASE", "NOCASE.NOACCENT"])
@pytest.mark.parametrize("unit", ["x", "P0"])
def test_a_spelling_of_one_unit_renames_nobody_elses_group(tmp_path: Path, collation: str, unit: str) -> None:
    """By a collation that ignores case, one row FLU in front would give the group of a thousand another name."""
    visits = Table("visits", unit="id", rows_per_unit=1, columns=WARDS)
    sql = "SELECT ward, COUNT(*), COUNT(DISTINCT id) FROM visits GROUP BY ward"
    plan = plan_sql(Policy([visits], epsilon=1), sql)
    for more in (0, 1):
        path = tmp_path / f"{more}.duckdb"
        with duckdb.connect(str(path)) as source:
            source.execute(f"CREATE TABLE visits (id VARCHAR COLLATE {collation}, ward VARCHAR COLLATE {collation})")
            source.execute("INSERT INTO visits SELECT ?, 'FLU' FROM range(?)", [unit, more])
            source.execute("INSERT INTO visits SELECT 'p' || i, 'flu' FROM range(1000) AS r (i)")
        assert counts(plan, str(path)) == [[0, 1000], [0, 1000]]


@pytest.mark.parametrize("kind", ["column of doubles", "column of objects", "column of decimals"])
def test_two_units_are_not_rounded_to_one(kind: str) -> None:
    """Of one unit with two rows, one would be dropped; the other person's leaving would bring it back."""
    visits = Table("visits", unit="id", rows_per_unit=1, columns=[Column("id", type="integer"), *WARDS])
    plan = plan_sql(Policy([visits], epsilon=1), "SELECT ward, COUNT(*) FROM visits GROUP BY ward")
    ids, wards = [0.6, 1.4, 2.0, 3.0], ["cold", "flu", "flu", "flu"]

    def rows(kept: list[int]) -> object:
        units, places = [ids[each] for each in kept], [wards[each] for each in kept]
        if kind == "column of objects":
            return pd.DataFrame({"id": pd.Series([*units[:-1], "3"], dtype=object), "ward": places})
        doubles = pa.array(units)
        return pa.table({"id": doubles.cast(pa.decimal128(9, 2)) if "decimals" in kind else doubles, "ward": places})

    everybody = counts(plan, {"visits": rows([0, 1, 2, 3])})
    for left in (0, 1):
        fewer = counts(plan, {"visits": rows([each for each in range(4) if each != left])})
        assert sum(abs(a - b) for a, b in zip(everybody[0], fewer[0], strict=True)) <= 1
    assert everybody == [[0, 2]]


def test_missing_values_of_a_verified_unique_column_repeat() -> None:
    columns = [Column("code", type="text", keys=["a", "b"], null_key=True)]
    for nullable in (True, False):
        columns = [Column("code", type="text", keys=["a", "b"], null_key=nullable, nullable=nullable)]
        visits = Table("visits", unit="id", rows_per_unit=20, unique=["code"], columns=columns)
        sql = "SELECT code, COUNT(*) FROM visits GROUP BY code"
        plan = plan_sql(Policy([visits], epsilon=1), sql, verified=frozenset({"visits"}))
        claim = plan.aggregate.sensitivity(plan.statistics[0])
        assert claim.l1 == (20 if nullable else 2)
        if nullable:
            source = {"visits": pa.table({"id": ["p"] * 20, "code": pa.array([None] * 20, pa.string())})}
            assert counts(plan, source) == [[0, 0, 20]]


def test_groups_of_equal_rank_do_not_pass_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts whose hashes agree can be made at will: with the same rank for all, still one group is kept."""
    monkeypatch.setattr(relations, "rank", lambda *_: number(7))
    visits = Table("visits", unit="id", rows_per_unit=20, columns=WARDS)
    sql = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    plan = plan_sql(Policy([visits], epsilon=1), sql, bounding=Bounding(groups=1, rows_per_group=2))
    source = {"visits": pa.table({"id": ["p"] * 6, "ward": ["cold", "flu"] * 3})}
    found = counts(plan, source)
    assert sorted(found[0]) == [0, 2]
    assert plan.aggregate.sensitivity(plan.statistics[0]).l1 == 2


@pytest.mark.parametrize("source", ["arrow", "parquet", "feather"])
def test_bytes_that_are_no_text_refuse_no_question(tmp_path: Path, source: str) -> None:
    """Whether a question fails must not depend on one cell."""
    ends, letters = np.array([0, 3, 5, 7], dtype=np.int32), b"flu\xff\xfea."
    texts = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(ends), pa.py_buffer(letters)])
    with pytest.raises(pa.ArrowInvalid):
        texts.validate(full=True)
    table = pa.table({"id": ["1", "2", "3"], "ward": texts, "unread": texts})
    data: str | dict[str, object] = {"visits": table}
    if source != "arrow":
        data = str(tmp_path)
        if source == "parquet":
            parquet.write_table(table, tmp_path / "visits.parquet")
        else:
            feather.write_feather(table, str(tmp_path / "visits.feather"), compression="uncompressed")
    visits = Table("visits", unit="id", rows_per_unit=2, columns=WARDS)
    plan = plan_sql(Policy([visits], epsilon=1), "SELECT ward, COUNT(*) FROM visits GROUP BY ward")
    assert counts(plan, data) == [[0, 1]]
    assert counts(plan_sql(plan.policy, "SELECT COUNT(*) FROM visits"), data) == [[3]]
