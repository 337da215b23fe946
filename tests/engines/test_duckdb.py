"""DuckDB gives the reference's integers, from every kind of source."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from pyarrow.dataset import dataset

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb.describing import stored_columns
from discreet.engines.duckdb.objects import typed
from discreet.errors import ParameterError
from discreet.plans import plan_sql
from discreet.plans.statistics import BinCounts
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import differences, opened
from tests.engines.databases import KEY, arrow_tables, key_rank, row_rank, text_database, typed_database, write_csv
from tests.plans import interpreter
from tests.plans.hospital import POLICY, database

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.plans.interpreter import Database

COST = Column("cost", lower=0, upper=1000, type="float")
QUESTIONS = {"arrow": 60, "csv": 24}


@pytest.fixture(autouse=True)
def _same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "rank", row_rank)
    monkeypatch.setattr(interpreter, "key_rank", key_rank)


def frames(kind: str, tables: dict[str, pa.Table]) -> dict[str, object]:
    if kind == "pandas":
        kinds = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}  # without them, a NULL makes it an object
        return {name: table.to_pandas(types_mapper=kinds.get) for name, table in tables.items()}
    if kind == "polars":
        import polars as pl

        return {name: pl.from_arrow(table) for name, table in tables.items()}
    return dict(tables)


def stored(kind: str, folder: Path, given: Database) -> tuple[object, Database]:
    """Store a database in one of the ways that DuckDB reads; give the source and what the reference reads."""
    if kind == "csv":
        texts, read = text_database(POLICY, given)
        write_csv(folder, POLICY, texts)
        return folder, read
    read = typed_database(POLICY, given)
    tables = arrow_tables(POLICY, read)
    if kind == "parquet":
        for name, table in tables.items():
            pq.write_table(table, folder / f"{name}.parquet")
        return folder, read
    if kind == "database":
        with duckdb.connect(str(folder / "source.duckdb")) as connection:
            for name, table in tables.items():
                connection.register("given", table)
                connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
        return folder / "source.duckdb", read
    return frames(kind, tables), read


@pytest.mark.parametrize("kind", ["arrow", "csv", "parquet", "database", "polars", "pandas"])
def test_every_source_gives_the_integers_of_the_reference(kind: str, tmp_path: Path) -> None:
    source, read = stored(kind, tmp_path, database(Random(kind), units=6))
    with DuckDB(POLICY, source, rank_key=KEY) as engine:  # type: ignore[arg-type]
        assert list(differences(engine, read, QUESTIONS.get(kind, 12))) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_many_questions_give_the_integers_of_the_reference(block: int, tmp_path: Path) -> None:
    source, read = stored("parquet", tmp_path, database(Random(block), units=8))
    with DuckDB(POLICY, source, rank_key=KEY) as engine:  # type: ignore[arg-type]
        assert list(differences(engine, read, 120)) == []


def counted(source: object, column: Column = COST) -> list[int]:
    """Ask a one-table source for rows, values and their sum."""
    policy = Policy([Table("visits", unit="id", rows_per_unit=9, columns=[column])], epsilon=1)
    plan = plan_sql(policy, f"SELECT COUNT(*), COUNT({column.name}), SUM({column.name}) FROM visits")
    with DuckDB(policy, source, rank_key=KEY) as engine:  # type: ignore[arg-type]
        found = engine.prepare(plan.aggregate).run()
        return [int(found.unprotected(place)[0, 0]) for place in range(len(plan.aggregate.statistics))]


def test_statistics_of_parquet_do_not_remove_the_test_for_nan(tmp_path: Path) -> None:
    """Parquet's least and largest values leave NaN out; an optimizer that trusts them takes NaN for a number."""
    table = pa.table({"id": ["a", "b", "c"], "cost": [1.5, float("nan"), 2.5]})
    pq.write_table(table, tmp_path / "visits.parquet")
    plain = "SELECT count(CASE WHEN isnan(cost) THEN NULL ELSE cost END) FROM read_parquet(?)"
    assert duckdb.execute(plain, [str(tmp_path / "visits.parquet")]).fetchall() == [(3,)]  # the trap is there
    assert counted(tmp_path)[:2] == [3, 2]


@pytest.mark.parametrize(
    "text, rows",
    [
        ("id,cost\na,1\nb,2\n", [2, 2]),
        ("\ufeffid,cost\na,1\n", [1, 1]),  # a byte order mark
        ("cost,more,id\n1,x,a\n", [1, 1]),  # other columns, in another order
        ("id,cost\na,1,2,3\nb\nc,1e400\nd,NaN\ne,one\nf,\n", [6, 1]),  # ragged rows and cells that are no numbers
        ('id,cost\n"a, the ""first""",1\n', [1, 1]),
        ("id,cost\n,1\n", [0, 0]),  # no unit
        ("id,cost\n", [0, 0]),
        (b"id,cost\na,1\n\xff,2\nc,3\n", [2, 2]),  # bytes that are no text
        (b"id,cost\na,1\n" + b"x" * 3_000_000 + b",2\nc,3\n", [2, 2]),  # a line that is too long
        (b"id,cost\r\na,1\nb\x00,2\r\nc,3", [3, 3]),  # line ends of two kinds, a zero byte
        ('id,cost\na"x,1\n"b"x,2\n', [2, 2]),  # quotation marks in odd places
        ('id,cost,note\na,1,"in two\nlines"\nb,2,\nc,3,"\r\n"\n', [3, 3]),  # quoted line breaks, elsewhere
        ('id,cost\n"a\nb",1\nc\n', [2, 1]),  # and here
    ],
)
def test_csv_files_are_read_without_guessing(text: str | bytes, rows: list[int], tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert counted(tmp_path)[:2] == rows


ODD_CELLS = [
    *(None, float("nan"), "n/a", "", "\ud800", b"x", [1], {}, object(), 10**30, 1j, Decimal("sNaN"), Decimal("1e999")),
    *(dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), pd.NA, pd.NaT, np.float16("nan"), np.array([1])),
]


VISITS: dict[str, list[Any]] = {
    "flag": [True, False, True],
    "cost": [1.5, 2.5, 3.5],
    "age": [1, 2, 3],
    "name": ["x", "y", "z"],
    "day": [dt.datetime.fromisoformat(f"2020-01-0{day}T05:00:00") for day in (1, 2, 3)],
}
DECLARED = [
    Column("flag", type="boolean"),
    Column("cost", lower=0, upper=9, type="float"),
    Column("age", lower=0, upper=9),
    Column("name", type="text"),
    Column("day", type="timestamp"),
]
FRAMED = Policy([Table("t", row_is_unit=True, columns=DECLARED)], epsilon=1)


def counts(frame: pd.DataFrame) -> list[int]:
    sql = (
        "SELECT COUNT(CASE WHEN flag THEN 1 END), COUNT(CASE WHEN cost > 2 THEN 1 END), "
        "COUNT(CASE WHEN age > 1 THEN 1 END), COUNT(CASE WHEN name > 'x' THEN 1 END), "
        "COUNT(CASE WHEN day < DATE '2020-01-03' THEN 1 END) FROM t"
    )
    plan = plan_sql(FRAMED, sql)
    with DuckDB(FRAMED, {"t": frame}) as engine:
        exact = engine.prepare(plan.aggregate).run()
        places = [plan.statistics_of(name)[0] for name, _ in plan.request.measures]
        return [int(exact.unprotected(place)[0, 0]) for place in places]


@pytest.mark.parametrize("place", range(len(ODD_CELLS)))
@pytest.mark.parametrize("name", list(VISITS))
def test_one_odd_cell_of_a_data_frame_changes_no_other(name: str, place: int) -> None:
    """The column turns into one of objects; every other cell is still what it was."""
    odd = pd.Series([*VISITS[name], None], dtype=object)
    odd.iloc[3] = ODD_CELLS[place]
    frame = pd.DataFrame({other: values + values[:1] for other, values in VISITS.items()})
    frame[name] = odd
    assert frame[name].dtype == object
    assert typed(frame, FRAMED.table("t"))[name].tolist()[:3] == VISITS[name]


@pytest.mark.parametrize("name", list(VISITS))
def test_columns_of_objects_count_like_typed_ones(name: str) -> None:
    frame = pd.DataFrame(VISITS)
    assert counts(frame) == [2, 2, 2, 2, 2]
    assert counts(frame.astype({name: object})) == [2, 2, 2, 2, 2]
    none = pd.concat([frame, pd.DataFrame({each: [None] for each in VISITS}, dtype=object)], ignore_index=True)
    assert counts(none.astype(object)) == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("text", ["", "id,id,cost\n", "id,,cost\n"])
def test_a_csv_file_needs_names(text: str, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(text)
    with pytest.raises(ParameterError, match="column names"):
        counted(tmp_path)


@pytest.mark.parametrize(
    "kind, cells, numbers",
    [
        (pa.decimal128(38, 2), ["1.50", "99999999999999999999.00", None], [3, 2]),
        (pa.decimal128(38, 0), ["7", "99999999999999999999", None], [3, 1]),
        (pa.uint64(), [7, 2**64 - 1, None], [3, 1]),
        (pa.float32(), [0.1, float("inf"), float("nan")], [3, 2]),
        (pa.string(), ["7", "x", ""], [3, 1]),
    ],
)
def test_other_stored_types_are_read_like_casts(kind: pa.DataType, cells: list[Any], numbers: list[int]) -> None:
    from decimal import Decimal

    values = [Decimal(cell) if pa.types.is_decimal(kind) and cell is not None else cell for cell in cells]
    table = pa.table({"id": ["a", "b", "c"], "cost": pa.array(values, kind)})
    assert counted({"visits": table})[:2] == numbers


ODD = [float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, 0.1, 0.3, 7.25, 7.249999999, -3.5, 999.5]
ENDS = [(0, 1000), (-3.5, 7.25), (0.1, 0.3), (5, 5), (-(10**9), 10**9), (-1e140, 1e140), (0, 2**60), (1e-140, 1)]


@pytest.mark.parametrize("low, high", ENDS)
@pytest.mark.parametrize("kind", ["arrow", "parquet", "kept"])
def test_odd_numbers_are_read_and_snapped_at_once(low: float, high: float, kind: str, tmp_path: Path) -> None:
    """The stored double goes to its grid in one step; the reference clamps, rounds and clamps."""
    named = {"unit": "id", "rows_per_unit": 1} if kind == "kept" else {"row_is_unit": True}
    identity = [Column("id", type="integer")] if kind == "kept" else []
    columns = [Column("x", lower=low, upper=high, type="float"), Column("k", keys=[0, 1, 255]), *identity]
    policy = Policy([Table("t", columns=columns, **named)], epsilon=1)
    rows = [
        {"x": x, "k": k, "id": place}
        for place, (x, k) in enumerate((x, k) for x in (*ODD, low, high, None) for k in (0, 1, 2, 256, -1, None))
    ]
    rows = [{**row, "x": None if row["x"] is None else float(row["x"])} for row in rows]
    table = pa.table({"x": [r["x"] for r in rows], "k": [r["k"] for r in rows], "id": [r["id"] for r in rows]})
    pq.write_table(table, tmp_path / "t.parquet")
    with DuckDB(policy, tmp_path if kind == "parquet" else {"t": table}, rank_key=KEY) as engine:
        for sql in ("SELECT k, COUNT(*), COUNT(x), SUM(x), AVG(x) FROM t GROUP BY k", "SELECT VARIANCE(x) FROM t"):
            aggregate = plan_sql(policy, sql).aggregate
            found = opened(engine.prepare(aggregate).run(), aggregate)
            assert found == interpreter.groups_of(aggregate, {"t": rows})


@pytest.mark.parametrize("kind", [pa.decimal128(38, 2), pa.decimal128(38, 20), pa.decimal128(38, 0)])
def test_decimal_units_are_told_apart(kind: pa.Decimal128Type) -> None:
    """As doubles the first two, and the last two, would be one unit."""
    policy = Policy([Table("t", unit="id", rows_per_unit=1, columns=[Column("id", type="integer")])], epsilon=1)
    ids = ["9007199254740992", "9007199254740993", "-5", None, "0", "7", *(["7.01", "6.5"] if kind.scale else [])]
    rows = pa.table({"id": pa.array([None if each is None else Decimal(each) for each in ids], kind)})
    plan = plan_sql(policy, "SELECT COUNT(*), COUNT(DISTINCT id) FROM t")
    for source in (rows, rows.to_pandas()):
        with DuckDB(policy, {"t": source}) as engine:
            found = engine.prepare(plan.aggregate).run()
            assert [int(found.unprotected(place)[0, 0]) for place in (0, 1)] == [5, 5]


@pytest.mark.parametrize("keys", [[1, 2], list(range(300, 330, 2)), list(range(300, 380, 2)), list(range(7, 90))])
@pytest.mark.parametrize("kind", ["integer", "text"])
def test_beside_keys_that_are_found_known_ones_are_the_policy_s(keys: list[int], kind: str) -> None:
    """Others were left in where the list is long, or of small numbers: a key that no policy names could be shown."""
    known = [str(key) if kind == "text" else key for key in keys]
    columns = [Column("s", type="text"), Column("k", keys=known)]
    policy = Policy([Table("t", unit="id", rows_per_unit=2, columns=columns)], epsilon=1)
    cells = [*known, *(["attic", None, "x"] if kind == "text" else [5, None, 2**40])]
    units = [str(place) for place in range(len(cells))]
    texts = ["a"] * len(known) + ["others"] * (len(cells) - len(known))
    frame = pa.table({"id": units, "s": texts, "k": cells})
    measures = "COUNT(*), MEDIAN(LENGTH(s) % 3), HISTOGRAM(LENGTH(s), [1, 5])"
    aggregate = plan_sql(policy, f"SELECT s, k, {measures} FROM t GROUP BY s, k").aggregate
    alone = plan_sql(policy, f"SELECT k, {measures} FROM t GROUP BY k").aggregate
    with DuckDB(policy, {"t": frame}) as engine:
        found = engine.prepare(aggregate).run()
        assert sorted(found.unprotected_groups()) == [(key, "a") for key in sorted(known)]
        for plan, each in ((aggregate, found), (alone, engine.prepare(alone).run())):
            bins = next(place for place, of in enumerate(plan.statistics) if isinstance(of, BinCounts))
            assert each.unprotected(0)[:, 0].tolist() == [1] * len(known)
            assert each.unprotected(bins).tolist() == [[0, 1, 0]] * len(known)


NO_TEXT = pa.array([b"ok", b"\xff", b"\xe2", None])
WIDE = NO_TEXT.cast(pa.large_binary()).view(pa.large_string())
PLACES = pa.array([0, 1, 2, None], pa.int32())
RUNS = pa.run_end_encoded(pa.int32(), pa.string())
NO_TEXTS: dict[str, Callable[[], Any]] = {
    "string": lambda: NO_TEXT.view(pa.string()),
    "large": lambda: WIDE,
    "view": lambda: NO_TEXT.cast(pa.binary_view()).view(pa.string_view()),
    "dictionary": lambda: pa.DictionaryArray.from_arrays(PLACES, NO_TEXT[:3].view(pa.string())),
    "runs": lambda: pa.Array.from_buffers(
        RUNS, 4, [None], children=[pa.array([1, 2, 3, 4], pa.int32()), NO_TEXT.view(pa.string())]
    ),
    "surrogates": lambda: pd.Series(["ok", "\ud800", "a\udfff", None], dtype=pd.StringDtype("python")),
    "pandas": lambda: pd.Series(pd.arrays.ArrowStringArray(pa.chunked_array([WIDE]))),
    "pandas of two pieces": lambda: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([WIDE[:1], WIDE[1:]]))),
}


@pytest.mark.parametrize("name", NO_TEXTS)
def test_one_cell_that_is_no_text_is_null_and_no_error(name: str) -> None:
    """DuckDB fails at the first of them: a question told whether such a row is there."""
    policy = Policy([Table("t", unit="id", rows_per_unit=2, columns=[Column("s", type="text")])], epsilon=1)
    cells = NO_TEXTS[name]()
    given = {"id": list("abcd"), "s": cells}
    frame = pd.DataFrame(given) if isinstance(cells, pd.Series) else pa.table(given)
    aggregate = plan_sql(policy, "SELECT s, COUNT(*) FROM t GROUP BY s").aggregate
    with DuckDB(policy, {"t": frame}) as engine:
        found = engine.prepare(aggregate).run()
        groups, counts = list(found.unprotected_groups()), found.unprotected(0).tolist()
        assert set(groups) == {("ok",), (None,)}
        assert counts[groups.index(("ok",))] == [1]


@pytest.mark.parametrize(
    "where",
    ["s = 'b?'", "s IN ('b?', 'x')", "s < 'b@'", "s LIKE 'b?%'", "s IN (SELECT k FROM names)", "UPPER(s) = 'B?'"],
)
@pytest.mark.parametrize("others", [[b"c"], [b"c", b"bA"], [b"bA"], [b"b?"]])
def test_texts_of_one_unit_do_not_decide_on_those_of_others_in_parquet(
    where: str, others: list[bytes], tmp_path: Path
) -> None:
    """The least and largest text of a file are of its bytes, of which some are no text and read as another one."""
    stored = pa.array([b"b\xff"] * 100 + others, pa.binary())
    pq.write_table(pa.table({"s": stored.view(pa.string())}), tmp_path / "t.parquet")
    pq.write_table(pa.table({"k": ["b?", "b?x"]}), tmp_path / "names.parquet")
    names = Table("names", public=True, columns=[Column("k", type="text")], unique=["k"])
    policy = Policy([Table("t", row_is_unit=True, columns=[Column("s", type="text")]), names], epsilon=1)
    with DuckDB(policy, tmp_path) as engine:
        found = engine.prepare(plan_sql(policy, f"SELECT COUNT(*) FROM t WHERE {where}").aggregate).run()
        assert found.unprotected(0).item() == 100 + others.count(b"b?")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_the_name_of_a_folder_stands_in_for_no_column(ending: str, tmp_path: Path) -> None:
    """DuckDB takes a folder called id=7 for a partition, and would make one unit of all rows."""
    folder = tmp_path / "id=7"
    folder.mkdir()
    if ending == "parquet":
        pq.write_table(pa.table({"id": [1, 2, 3]}), folder / "t.parquet")
    else:
        (folder / "t.csv").write_text("id\n1\n2\n3\n")
    policy = Policy([Table("t", unit="id", rows_per_unit=1, columns=[Column("id", type="integer")])], epsilon=1)
    with DuckDB(policy, folder) as engine:
        found = engine.prepare(plan_sql(policy, "SELECT COUNT(*) FROM t").aggregate).run()
        assert found.unprotected(0).item() == 3
    assert [*stored_columns(folder)["t"]] == ["id"]


def test_a_backslash_leads_to_no_other_database(tmp_path: Path) -> None:
    """DuckDB takes it for a slash: another database would be read, and copies of rows stored elsewhere."""
    for folder, rows in ((tmp_path / "a" / "b", 2), (tmp_path / "a\\b", 1)):
        folder.mkdir(parents=True)
        with duckdb.connect(str(tmp_path / "n.duckdb")) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT 1 AS x FROM range({rows})")
        (tmp_path / "n.duckdb").rename(folder / "n.duckdb")
    policy = Policy([Table("t", row_is_unit=True, columns=[Column("x", type="integer")])], epsilon=1)
    with pytest.raises(ParameterError, match="holds a backslash"):
        DuckDB(policy, tmp_path / "a\\b" / "n.duckdb")
    with pytest.raises(ParameterError, match="holds a backslash"):
        DuckDB(policy, {"t": pa.table({"x": [1]})}, store=tmp_path / "a\\b" / "store.duckdb")
    assert not (tmp_path / "a" / "b" / "store.duckdb").exists()


def _as_file(table: pa.Table, path: Path) -> Path:
    write = pq.write_table if path.suffix == ".parquet" else feather.write_feather
    write(table, path)
    return path


@pytest.mark.parametrize("kind", ["arrow", "dataset", "pandas", "polars", "lazy", "t.parquet", "t.arrow"])
@pytest.mark.parametrize("unit", ["A_1", "a_2"])
def test_no_column_is_mistaken_for_another_whose_name_differs_in_case(kind: str, unit: str, tmp_path: Path) -> None:
    """DuckDB renames the second of two, and would give the third's name to it."""
    rows = {"s": [{"a": 1, "A": 2}, None], "a": [1, 1], "A": [2, 2], "x": [5, 5], "A_1": [3, 4]}
    table = pa.table({**rows, "a_2": [1, 2]} if unit == "A_1" else rows)
    source: object = {
        "arrow": lambda: {"t": table},
        "dataset": lambda: {"t": dataset(table)},
        "pandas": lambda: {"t": table.to_pandas()},
        "polars": lambda: {"t": pl.from_arrow(table)},
        "lazy": lambda: {"t": pl.from_arrow(table).lazy()},  # type: ignore[union-attr]
    }.get(kind, lambda: _as_file(table, tmp_path / kind))()
    columns = [Column(unit, type="integer")]
    with pytest.raises(ParameterError, match=r"differ in the case of letters alone|has no column 'a_2'"):
        DuckDB(Policy([Table("t", unit=unit, rows_per_unit=1, columns=columns)], epsilon=1), source)  # type: ignore[arg-type]
    policy = Policy([Table("t", row_is_unit=True, columns=[Column("x", type="integer")])], epsilon=1)
    with DuckDB(policy, source) as engine:  # type: ignore[arg-type]
        found = engine.prepare(plan_sql(policy, "SELECT COUNT(*) FROM t WHERE x = 5").aggregate).run()
        assert found.unprotected(0).item() == 2


@pytest.mark.parametrize("kind", ["arrow", "pandas", "t.arrow"])
def test_a_column_of_a_type_that_is_not_read_is_said_to_be_one(kind: str, tmp_path: Path) -> None:
    policy = Policy([Table("t", row_is_unit=True, columns=[Column("x", type="integer")])], epsilon=1)
    table = pa.table({"x": [1], "y": pa.array([0.5], pa.float16())})
    source: object = tmp_path
    if kind == "t.arrow":
        _as_file(table, tmp_path / kind)
    else:
        source = {"t": table if kind == "arrow" else pd.DataFrame({"x": [1], "y": [1j]})}
    with pytest.raises(ParameterError, match="a column that DuckDB does not read, for its type"):
        DuckDB(policy, source)  # type: ignore[arg-type]


def test_a_batch_of_arrow_is_read_like_a_table() -> None:
    policy = Policy([Table("t", unit="id", rows_per_unit=2, columns=[Column("s", type="text")])], epsilon=1)
    batch = pa.RecordBatch.from_pydict({"id": list("abcd"), "s": NO_TEXT.view(pa.string())})
    with DuckDB(policy, {"t": batch}) as engine:
        found = engine.prepare(plan_sql(policy, "SELECT COUNT(s) FROM t").aggregate).run()
        assert found.unprotected(0).tolist() == [[1]]


class Stream:
    """What other packages hand out of theirs."""

    def __init__(self, data: pa.Table) -> None:
        self.__arrow_c_stream__ = data.to_reader().__arrow_c_stream__


@pytest.mark.parametrize("made", [pa.Table.to_reader, Stream, lambda table: dataset(table).scanner()])
def test_what_can_be_read_only_once_is_refused_before_a_question_is_paid(made: Callable[[pa.Table], object]) -> None:
    policy = Policy([Table("t", unit="id", rows_per_unit=2)], epsilon=1)
    with pytest.raises(ParameterError, match="read once"):
        DuckDB(policy, {"t": made(pa.table({"id": ["a"]}))})


@pytest.mark.parametrize("kind", ["DECIMAL(9,2)[]", "DECIMAL(9,0)[2]", "ENUM('a')[]", "VARCHAR[]"])
@pytest.mark.parametrize("declared", ["integer", "float", "text"])
def test_lists_are_no_values(kind: str, declared: str, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "a.duckdb") as connection:
        connection.execute(f"CREATE TABLE t (id VARCHAR, x {kind})")
    policy = Policy([Table("t", unit="id", rows_per_unit=2, columns=[Column("x", type=declared)])], epsilon=1)
    with pytest.raises(ParameterError, match="such values cannot be read"):
        DuckDB(policy, tmp_path / "a.duckdb")


def test_columns_that_hold_nothing_but_null_have_no_type_of_their_own() -> None:
    """Arrow infers none for them: whether a table could be opened would depend on its rows."""
    kinds = ["boolean", "integer", "float", "text", "date", "timestamp"]
    columns = [*(Column(f"a {kind}", type=kind) for kind in kinds), Column("b", type="float", lower=0, upper=1)]
    policy = Policy([Table("people", unit="id", rows_per_unit=2, columns=columns)], epsilon=1)
    sql = f'SELECT COUNT(*), COUNT(b), SUM(b), {", ".join(f"""COUNT("a {kind}")""" for kind in kinds)} FROM people'
    aggregate = plan_sql(policy, sql).aggregate
    names = [column.name for column in columns]
    for count in (0, 3):
        data = pa.table({"id": pa.array(range(count), pa.int64())} | {name: pa.nulls(count) for name in names})
        with DuckDB(policy, {"people": data}) as engine:
            found = engine.prepare(aggregate).run()
            numbers = [int(found.unprotected(place)[0, 0]) for place in range(len(aggregate.statistics))]
        assert sorted(numbers) == [*[0] * (len(numbers) - 1), count]
