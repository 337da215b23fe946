"""How a statement is split: which cores, which shell, and what is said where it cannot be."""

from __future__ import annotations

import pytest

from discreet.errors import QueryRefused
from discreet.plans import Plan, plan_sql
from discreet.plans.shell import Shell, read_sql, split_sql
from discreet.plans.shell.grouping import Grouping
from discreet.plans.sql.reading import read_statement
from discreet.releases.shell.tables import kind_of
from discreet.tables import Column, Policy, Table
from discreet.tables.kinds import Kind

VISITS = Table(
    "visits",
    unit="patient",
    rows_per_unit=3,
    columns=[
        Column("ward", keys=["a", "b"]),
        Column("Sex", keys=["f", "m"]),
        Column("cost", lower=0, upper=500),
        Column("sort", keys=["x"], null_key=True),
    ],
)
BEDS = Table("beds", public=True, columns=[Column("ward", keys=["a", "b"]), Column("n", lower=0, upper=99)])
POLICY = Policy([VISITS, BEDS], epsilon=1)
BY_WARD = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"


def split(text: str, dialect: str = "duckdb") -> Shell:
    found = read_sql(POLICY, text, dialect=dialect, kind_of=lambda _: Kind.FLOAT)
    assert isinstance(found, Shell)
    return found


def test_what_was_one_question_stays_one() -> None:
    for text in (
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 5 ORDER BY n DESC LIMIT 1",
        "SELECT AVG(k) AS a FROM (SELECT patient, COUNT(*) AS k FROM visits GROUP BY patient) AS q",
        "SELECT SUM(cost) / COUNT(*) AS m FROM visits",
    ):
        found = read_sql(POLICY, text)
        assert isinstance(found, Plan)
        assert found.key == plan_sql(POLICY, text).key


@pytest.mark.parametrize(
    "text, cores, shell",
    [
        (
            "SELECT VISITS.Ward, Count(*), 2 * count(*) OVER () FROM Visits GROUP BY visits.WARD",
            ['SELECT visits.WARD AS "WARD", COUNT(*) AS count FROM Visits GROUP BY visits.WARD'],
            None,
        ),
        (
            f"SELECT SUM(n) AS s FROM {BY_WARD} AS q",
            ["SELECT ward AS ward, COUNT(*) AS n FROM visits GROUP BY ward"],
            "SELECT SUM(n) AS s FROM (SELECT core1.ward AS ward, core1.n AS n FROM core1) AS q",
        ),
        (
            'SELECT "Sex", COUNT(*) AS ward, RANK() OVER (ORDER BY "Sex") AS r FROM visits GROUP BY "Sex"',
            ['SELECT "Sex" AS "Sex", COUNT(*) AS ward FROM visits GROUP BY "Sex"'],
            'SELECT core1."Sex" AS "Sex", core1.ward AS ward, RANK() OVER (ORDER BY core1."Sex") AS r FROM core1',
        ),
        (
            (
                "WITH v AS (SELECT * FROM visits WHERE cost > 5), "
                "w AS (SELECT ward, COUNT(*) AS n FROM v GROUP BY ward) SELECT a.n FROM w AS a, w AS b"
            ),
            [
                (
                    "WITH v AS (SELECT * FROM visits WHERE cost > 5) "
                    "SELECT ward AS ward, COUNT(*) AS n FROM v GROUP BY ward"
                )
            ],
            "WITH w AS (SELECT core1.ward AS ward, core1.n AS n FROM core1) SELECT a.n FROM w AS a, w AS b",
        ),
        (
            "SELECT ward, n FROM beds UNION ALL SELECT 'all', COUNT(*) FROM visits",
            ["SELECT COUNT(*) AS count FROM visits"],
            'SELECT ward, n FROM "beds" AS "beds" UNION ALL SELECT \'all\' AS column1, core1.count AS count FROM core1',
        ),
        (
            'SELECT ward, "Sex" AS s, COUNT(*) AS n FROM visits GROUP BY 1, GROUPING SETS (s, ()) HAVING COUNT(*) > 9',
            ['SELECT ward AS ward, "Sex" AS "Sex", COUNT(*) AS n FROM visits GROUP BY ward, "Sex"'],
            (
                'SELECT core1.ward AS ward, core1."Sex" AS s, SUM(core1.n) AS n FROM core1 '
                'GROUP BY core1.ward, GROUPING SETS (core1."Sex", ()) HAVING SUM(core1.n) > 9 '
                'ORDER BY core1.ward, core1."Sex"'
            ),
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
            ["SELECT AVG(cost) AS avg FROM visits", "SELECT COUNT(*) AS n FROM visits WHERE cost > $hole1"],
            "SELECT core2.n AS n FROM core2",
        ),
    ],
)
def test_a_statement_is_taken_apart(text: str, cores: list[str], shell: str | None) -> None:
    found = split(text)
    assert [core.text for core in found.cores] == cores
    assert shell is None or found.text == shell


def test_names_of_cores_are_nobody_elses() -> None:
    found = split(f"WITH core1 AS {BY_WARD} SELECT core1.n AS core2 FROM core1")
    (core,) = found.cores
    assert core.name not in {"core1", "core2"}
    assert found.text.count(f"FROM {core.name}") == 1


def test_keys_and_values_know_where_they_come_from() -> None:
    shown = "q.*, n / 2 AS h, UPPER(ward) AS u, RANK() OVER (ORDER BY n) AS r, MEDIAN(n) OVER () AS m"
    text = f"SELECT {shown} FROM {BY_WARD} AS q"
    ward, n, half, upper, rank, median = split(text).lineage
    assert (ward.exact, ward.source, n.exact, n.source) == (True, ("core1", "ward"), False, ("core1", "n"))
    assert (half.exact, half.source, half.reason, upper.exact) == (False, None, "", True)
    assert "rank" in rank.reason
    assert (median.exact, median.reason) == (False, "")


def test_the_dialect_of_a_question_is_that_of_its_shell() -> None:
    text = f"SELECT ward, n::numeric / 7 AS x, to_char(n, 'FM999') AS t FROM {BY_WARD} AS q ORDER BY n DESC"
    assert "NULLS FIRST" in split(text, "postgres").text
    assert split(f"SELECT ward FROM {BY_WARD} q ORDER BY n", "spark").text.endswith("NULLS FIRST")


@pytest.mark.parametrize(
    "text, part",
    [
        ("SELECT * FROM visits", "*"),
        ("SELECT patient, COUNT(*) AS n FROM visits GROUP BY CUBE (patient)", "CUBE"),
        ("SELECT ward, GROUPING(cost) AS g, COUNT(*) AS n FROM visits GROUP BY CUBE (ward)", "cost"),
        ("SELECT COUNT(*) AS n, RANK() OVER () AS r FROM visits TABLESAMPLE 10 PERCENT", "SAMPLE"),
        ("SELECT COUNT(*) AS n, RANK() OVER () AS r FROM visits FOR UPDATE", "LOCKS"),
        ("SELECT ward FROM visits UNION ALL SELECT ward FROM visits", "SELECT"),
        ("SELECT patient FROM visits UNION SELECT patient FROM visits", "SELECT"),
        ("SELECT MODE(ward) FROM visits GROUP BY ROLLUP (half)", "ROLLUP"),
        ("SELECT GROUPING(cost), AVG(cost) FROM visits GROUP BY ROLLUP (ward)", "GROUPING"),
        ("SELECT COUNT(*) FROM visits WHERE cost IN (SELECT COUNT(*) FROM visits GROUP BY ward)", "cost IN"),
        (f"SELECT n FROM {BY_WARD} AS q UNION ALL SELECT cost FROM visits", "SELECT"),
        ("SELECT FOO(COUNT(*)) OVER () FROM visits GROUP BY ward", "FOO(COUNT(*))"),
        (f"WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT i FROM r, {BY_WARD} AS q", "WITH"),
        ("SELECT cost, RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY ward", "cost"),
        (f"SELECT n FROM {BY_WARD} AS q, nowhere", "nowhere"),
        ("SELECT COUNT(*) FROM visits WHERE ward > (SELECT AVG(cost) FROM visits)", "(SELECT AVG(cost) FROM visits)"),
        (
            "SELECT COUNT(*) FROM visits v WHERE cost > (SELECT AVG(w.cost) FROM visits w WHERE w.cost < v.cost)",
            "v.cost",
        ),
        (
            "SELECT COUNT(*) FROM visits v WHERE cost > (SELECT AVG(w.cost) FROM visits w WHERE w.cost = v.cost)",
            "(SELECT",
        ),
        (f"SELECT AVG(v.cost) AS a, MAX(q.n) AS n FROM visits AS v JOIN {BY_WARD} AS q ON v.ward = q.ward", "q"),
    ],
)
def test_what_cannot_be_split_is_refused_in_the_words_of_the_question(text: str, part: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        read_sql(POLICY, text, kind_of=lambda _: Kind.FLOAT)
    said = str(refused.value)
    assert part in said
    assert not any(word in said for word in ("core1", "core2", "hole1"))


def test_a_subquery_needs_to_be_told_its_kind() -> None:
    with pytest.raises(QueryRefused, match="AVG"):
        split_sql(POLICY, "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)")


def test_many_cores_are_too_many() -> None:
    parts = ", ".join(f"(SELECT COUNT(*) FROM visits WHERE cost > {number}) AS c{number}" for number in range(65))
    with pytest.raises(QueryRefused, match="more than 64"):
        split(f"SELECT {parts}")


def test_what_is_not_in_a_group_of_null_is_refused() -> None:
    """It is never true; where no such group can be chosen it is answered."""
    asked = "SELECT COUNT(*) FROM visits WHERE {0} NOT IN (SELECT {0} FROM visits GROUP BY {0} HAVING COUNT(*) > 9)"
    with pytest.raises(QueryRefused, match="NULL"):
        read_sql(POLICY, asked.format("sort"), kind_of=kind_of)
    for text in (asked.format("ward"), asked.format("sort").replace("NOT IN", "IN")):
        assert isinstance(read_sql(POLICY, text, kind_of=kind_of), Shell)


@pytest.mark.parametrize(
    "aggregate, adds_up",
    [("COUNT(*)", True), ("SUM(cost)", True), ("COUNT(DISTINCT patient)", False), ("AVG(cost)", False)],
)
def test_totals_are_those_of_released_groups_where_these_add_up(aggregate: str, adds_up: bool) -> None:  # noqa: FBT001
    """A unit may be in several groups, so counts of units do not."""
    asked = read_statement(f"SELECT ward, {aggregate} AS n FROM visits GROUP BY CUBE (ward)")
    assert Grouping(asked, {}).has_totals is adds_up  # type: ignore[arg-type]  # it is a SELECT
