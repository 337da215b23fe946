"""LIKE on every engine: the same truth as the reference, and never a search that goes back."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb.dialect import DuckDBDialect
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.engines.spark.dialect import SparkDialect
from discreet.engines.sql.words import column
from discreet.errors import QueryRefused
from discreet.plans import expressions as e
from discreet.plans.expressions.expression import Facts
from discreet.plans.nodes import Aggregate, Filter, Scan
from discreet.plans.statistics import RowCount
from discreet.tables import Column, Policy, Table
from discreet.tables.kinds import Kind
from tests.engines.conformance import opened
from tests.engines.databases import KEY
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.plans.interpreter import groups_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.engines import Engine
    from tests.plans.interpreter import Database

POLICY = Policy([Table("t", row_is_unit=True, columns=[Column("x", type="text")])], epsilon=1)
_LETTERS = ["a", "b", "\n", "ä", "😀", ".", "*", "(", "[", "^", "$", "|", "'", " "]


def texts() -> list[str]:
    chosen = random.Random(15)
    return ["".join(chosen.choices(_LETTERS[:6], k=chosen.randrange(9))) for _ in range(400)]


def patterns(count: int) -> list[str]:
    """Random patterns, most of them with several pieces, and those at the edges."""
    chosen = random.Random(16)
    drawn = ["".join(chosen.choices(["%", "%", "_", *_LETTERS], k=chosen.randrange(1, 8))) for _ in range(count)]
    return ["", "%", "%%", "_%_%_", "%a%a%", "a%a%a", "%a_%_b%", "ab%ba%ab", "%.%*%", *drawn]


ROWS: Database = {"t": [{"x": each} for each in texts()]}


def wrong(engine: Engine, pattern: str) -> str | None:
    """Tell how an engine differs from the reference."""
    condition = e.Like((e.Column("x"),), pattern)
    aggregate = Aggregate(Filter(Scan(POLICY.tables[0]), condition), (), (RowCount(),))
    found, wanted = opened(engine.prepare(aggregate).run(), aggregate), groups_of(aggregate, ROWS)
    return None if found == wanted else f"{pattern!r}: {found} against {wanted}"


@pytest.fixture(scope="module")
def spark_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("like")
    pq.write_table(pa.Table.from_pylist(ROWS["t"]), folder / "t.parquet")
    with Spark(POLICY, spark_session(), folder=folder, rank_key=KEY) as engine:
        yield engine


def test_like_is_the_reference_on_duckdb() -> None:
    with DuckDB(POLICY, {"t": pa.Table.from_pylist(ROWS["t"])}, rank_key=KEY) as engine:
        assert [text for each in patterns(250) if (text := wrong(engine, each))] == []


@pytest.mark.engine
def test_like_is_the_reference_on_postgres() -> None:
    fill_postgres(postgres(), "likes", POLICY, ROWS)
    with Postgres(POLICY, postgres(), schema="likes", rank_key=KEY) as engine:
        assert [text for each in patterns(250) if (text := wrong(engine, each))] == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_like_is_the_reference_on_spark(spark_engine: Engine) -> None:
    assert [text for each in patterns(30) if (text := wrong(spark_engine, each))] == []


def _reference(pattern: str, text: str) -> bool:
    written = "".join({"%": ".*", "_": "."}.get(each, re.escape(each)) for each in pattern)
    return re.fullmatch(written, text, re.DOTALL) is not None


def test_the_reference_is_what_a_plain_regular_expression_says() -> None:
    for pattern in patterns(250):
        assert all(e.Like((), pattern).apply(text) is _reference(pattern, text) for text in texts()[:100]), pattern


def test_patterns_have_a_public_length() -> None:
    facts = (Facts(Kind.TEXT),)
    e.Like((), "%" * 256).derive(facts)
    with pytest.raises(QueryRefused, match="at most 256 characters"):
        e.Like((), "%" * 257).derive(facts)


_SHAPE = re.compile(r"\(\?s\)\\A(\\.|[^\\%?*()])*(\(\?>\.\*\?(\\.|[^\\%?*()])+\))+\.\*(\\.|[^\\%?*()])*\\z")
"""Fixed characters, searches in groups that are never entered again, and one run to the end: nothing to go back to."""


@pytest.mark.parametrize("pattern", ["a%b%c", "%a_%_b%", "%a%b%", "_%.%(%", "%a" * 60 + "%b"])
def test_spark_gets_no_pattern_that_goes_back(pattern: str) -> None:
    written = SparkDialect().like(column("x"), e.Like((), pattern))
    assert written.name == "regexp_like"
    assert _SHAPE.fullmatch(spelled(written.expressions[1]))


def spelled(constant: object) -> str:
    """Read a constant of Spark, which is written by its bytes where it is not plain."""
    name = getattr(constant, "name", "")
    return bytes.fromhex(constant.expressions[0].expressions[0].name).decode() if name == "decode" else str(name)  # type: ignore[attr-defined]


def test_the_shape_refuses_what_goes_back() -> None:
    assert not _SHAPE.fullmatch(r"(?s)\Aa.*b.*c\z")
    assert not _SHAPE.fullmatch(r"(?s)\A(?:.*?a)(?:.*?b).*\z")


@pytest.mark.parametrize("pattern", ["%a_%_b%", "a%_b%c", "%a_" * 60 + "%b"])
def test_duckdb_gets_no_pattern_that_goes_back(pattern: str) -> None:
    assert DuckDBDialect().like(column("x"), e.Like((), pattern)).name == "regexp_full_match"


@pytest.mark.parametrize("pattern", ["%a" * 60 + "%b%", "%a_" * 40 + "%b_c%", "a%b%" + "a" * 100])
def test_steps_of_a_match_are_at_most_the_product_of_the_lengths(pattern: str) -> None:
    """Steps are counted by a matcher that does what Java's does with the pattern; with plain groups it never ends."""
    for size in (500, 1000, 2000):
        assert steps(e.Like((), pattern), "a" * size) <= size * len(pattern)


def test_the_count_of_steps_sees_a_match_that_goes_back() -> None:
    assert steps(e.Like((), "%a%a%a%b%"), "a" * 60, atomic=False) > 60 * 60 * 9


def steps(like: e.Like, text: str, *, atomic: bool = True) -> int:
    """Count the comparisons of a match: fixed head, searches one after the other, and the tail at every place."""
    head, *middle, tail = like.pieces
    count = 0

    def matched(piece: str, at: int) -> bool:
        nonlocal count
        for offset, char in enumerate(piece):
            count += 1
            if at + offset >= len(text) or char not in ("_", text[at + offset]):
                return False
        return True

    def rest(pieces: list[str], at: int) -> bool:
        if not pieces:
            ends = range(len(text), at - 1, -1)
            return any(matched(tail, place) and place + len(tail) == len(text) for place in ends)
        for place in range(at, len(text) + 1):
            if matched(pieces[0], place):
                if rest(pieces[1:], place + len(pieces[0])):
                    return True
                if atomic:
                    return False
        return False

    assert (matched(head, 0) and rest(middle, len(head))) is like.apply(text)
    return count
