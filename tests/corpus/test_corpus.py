"""Statements as tools and people write them: what is answered, within its ± of plain DuckDB, and what is refused."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import discreet as dp
from discreet.errors import QueryRefused
from discreet.plans.shell import read_sql
from discreet.releases.shell.tables import kind_of
from tests.corpus.comparing import EPSILON, Plain, compared, released
from tests.corpus.reading import POLICY, Statement, statements
from tests.corpus.shop import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = statements()
ANSWERED = [statement for statement in ALL if statement.expected == "answered"]
_SURE = 1 - 1e-6
_FAMILIES = ("metabase", "superset", "looker", "tableau", "powerbi", "grafana", "analysts", "suites", "spark")


@pytest.fixture(scope="module")
def plain() -> Plain:
    return Plain()


@pytest.fixture(scope="module")
def database() -> Iterator[dp.Database]:
    with dp.Database(POLICY, tables()) as opened:
        yield opened


def test_there_are_enough_of_every_family() -> None:
    families = Counter(statement.family for statement in ALL)
    assert len(ALL) >= 300
    assert all(families[family] >= 15 for family in _FAMILIES)
    assert len({(statement.dialect, statement.text) for statement in ALL}) == len(ALL)


def test_what_is_useful_is_answered_as_asked() -> None:
    expected = Counter(statement.expected for statement in ALL)
    assert expected["answered"] / (expected["answered"] + expected["missed"]) >= 0.95


@pytest.mark.parametrize("part", range(8))
def test_each_is_answered_or_refused_as_it_says(part: int) -> None:
    wrong = []
    for statement in ALL[part::8]:
        try:
            read_sql(POLICY, statement.text, dialect=statement.dialect, kind_of=kind_of)
            became = "answered"
        except QueryRefused as refusal:
            became = str(refusal)
        if (became == "answered") != (statement.expected == "answered"):
            wrong.append(f"{statement}: {became[:200]}")
    assert wrong == []


def test_refusals_are_written_for_who_asks() -> None:
    """No words of the parser, no names of ours, and something to write instead."""
    for statement in ALL:
        if statement.expected != "answered":
            with pytest.raises(QueryRefused) as caught:
                read_sql(POLICY, statement.text, dialect=statement.dialect, kind_of=kind_of)
            said = str(caught.value)
            assert "Write instead: " in said
            assert re.search(r"\b[lr]\.\w|exp\.|Anonymous|DType|\bIts [A-Z]{2}|\b(core|hole)\d", said) is None


def wrong_in(chosen: list[Statement], database: dp.Database, plain: Plain) -> dict[str, list[str]]:
    """What differs, at a confidence at which some thousand cells give a false alarm once in a hundred runs at most."""
    wrong = {}
    for statement in chosen:
        answer, true = released(statement, database), plain.rows(statement)
        made = None if true is None else compared(statement, answer, true, _SURE)
        if made is not None and (made.beyond or made.rows):
            wrong[str(statement)] = [*made.beyond, *made.rows]
    return wrong


@pytest.mark.parametrize("part", range(4))
def test_answers_are_within_their_error_of_plain_duckdb(database: dp.Database, plain: Plain, part: int) -> None:
    assert wrong_in(ANSWERED[part * 3 :: 24], database, plain) == {}


@pytest.mark.slow
def test_all_answers_are_within_their_error_of_plain_duckdb(database: dp.Database, plain: Plain) -> None:
    assert wrong_in(ANSWERED, database, plain) == {}


@pytest.mark.slow
def test_the_error_holds_as_often_as_it_says(database: dp.Database, plain: Plain) -> None:
    """Of some thousand cells, many of them of one release: 95 % and more, as the ± of counts is whole."""
    cells = beyond = 0
    for statement in ANSWERED:
        true = plain.rows(statement)
        if true is not None:
            made = compared(statement, released(statement, database), true, 0.95)
            cells, beyond = cells + made.cells, beyond + len(made.beyond)
    assert cells > 2000
    assert 1 - beyond / cells >= 0.94


def test_a_wrong_answer_is_seen(database: dp.Database, plain: Plain) -> None:
    """The comparison is no formality: with a condition lost, cells are off by more than their ±."""
    asked = Statement("", "answered", "duckdb", "SELECT status, COUNT(*) AS n FROM orders GROUP BY status")
    other = Statement("", "answered", "duckdb", "SELECT status, COUNT(*) AS n FROM orders WHERE total > 9 GROUP BY 1")
    answer = database.sql(asked.text).release(epsilon=EPSILON)
    assert compared(asked, answer, plain.rows(asked) or [], _SURE).beyond == []
    assert len(compared(asked, answer, plain.rows(other) or [], _SURE).beyond) == 4
    missing = [row for row in plain.rows(asked) or [] if row[0] != "placed"]
    assert compared(asked, answer, missing, _SURE).beyond
