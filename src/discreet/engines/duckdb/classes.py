"""Classes of rows that agree in some columns, measured all at once: how small, how uniform, how unlike the whole.

The rows are read once, and what is kept of them is how often each class has each sensitive value. Everything else is
computed from that table, in DuckDB, which moves to disk what does not fit into memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.engines.duckdb.owned import quoted
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.engines.duckdb.owned import OwnedTable

__all__ = ["count_classes", "keep_known", "measure_presence", "unique_rows", "worst_classes"]

_WHOLE = """
CREATE OR REPLACE TEMP TABLE whole AS
SELECT s, rank, portion AS share, below, sum(below) OVER (ORDER BY rank) AS area, count(*) OVER () AS many FROM (
    SELECT s, row_number() OVER ordered AS rank, g / sum(g) OVER () AS portion,
        (sum(g) OVER ordered) / sum(g) OVER () AS below
    FROM (SELECT s, sum(c)::DOUBLE AS g FROM histogram GROUP BY s)
    WINDOW ordered AS (ORDER BY TRY_CAST(s::VARCHAR AS DOUBLE), s))
"""

# Of a class with cumulative shares P, constant between its own values, and the whole's Q: the sum of |P - Q| from one
# own value to the next is P (2k - a - b) + S(a) + S(b) - 2 S(k), where a and b are the ranks before the two, S sums Q,
# and k is the last rank in between with Q <= P. Before the first own value P is 0.
_ORDERED = """
SELECT id, (sum(p * (2 * greatest(least(k, b), a) - a - b) + area_a + area_b
        - 2 * greatest(least(area_k, area_b), area_a)) + min(area_a)) / greatest(any_value(many) - 1, 1) AS distance
FROM (SELECT steps.*, coalesce(w.rank, 0) AS k, coalesce(w.area, 0) AS area_k
    FROM (SELECT id, many, sum(c) OVER placed / n AS p, rank - 1 AS a, area - below AS area_a,
            lead(rank - 1, 1, many) OVER placed AS b,
            lead(area - below, 1, (SELECT max(area) FROM whole)) OVER placed AS area_b
        FROM counted WINDOW placed AS (PARTITION BY id ORDER BY rank)) AS steps
    ASOF LEFT JOIN whole AS w ON steps.p >= w.below)
GROUP BY id
"""

_EQUAL = "SELECT id, (1 + sum(abs(c / n - share) - share)) / 2 AS distance FROM counted GROUP BY id"

_LEVELS = """
SELECT id, avg(distance) AS distance FROM (
    SELECT id, depth, (1 + sum(abs(c / n - q) - q)) / 2 AS distance
    FROM (SELECT id, n, depth, node, sum(c) AS c
        FROM counted JOIN nodes USING (rank) GROUP BY id, n, depth, node)
    JOIN (SELECT depth, node, sum(share) AS q FROM nodes GROUP BY depth, node) USING (depth, node)
    GROUP BY id, depth)
GROUP BY id
"""

# A class is told by the row of one of its values in `histogram`.
_COUNTED = """
CREATE OR REPLACE TEMP TABLE counted AS
SELECT min(h.rowid) OVER class AS id, (sum(c) OVER class)::BIGINT AS n, c, whole.* EXCLUDE (s)
FROM histogram AS h JOIN whole ON h.s IS NOT DISTINCT FROM whole.s WINDOW class AS (PARTITION BY {names})
"""

_CLASSES = """
CREATE OR REPLACE TEMP TABLE classes AS
SELECT measured.*, distance FROM (
    SELECT id, n, count(*) AS distinct_values, exp(ln(n) - sum(c * ln(c)) / n) AS entropy,
        CASE WHEN count(*) < {least} THEN 'inf'::DOUBLE ELSE max(c) / (n - list_sum(max(c, {least} - 1))) END AS ratio
    FROM counted GROUP BY id, n) AS measured
JOIN ({distances}) AS distances USING (id)
"""


def count_classes(  # noqa: PLR0913 - each is a thing of its own
    table: OwnedTable,
    quasi: Sequence[str],
    sensitive: str | None,
    *,
    least: int = 2,
    ordered: bool = False,
    hierarchy: Mapping[Any, Sequence[object]] | None = None,
) -> tuple[int, int, int]:
    """Measure the classes of rows that agree in `quasi`, in the table `classes`; return rows, classes, uniques.

    Its columns are n, a class's rows; distinct_values; entropy, of which e is taken to the power; ratio
    r_1 / (r_l + … + r_m) of the sorted frequencies, l = `least`; distance, from the whole table's distribution. A NULL
    is a value like any other. Without a sensitive column only n means something. What a class agrees in is in the
    row of `histogram` whose rowid is its id, as q0, q1, ….
    """
    names = ", ".join(f"q{place}" for place in range(len(quasi)))
    secret = "NULL" if sensitive is None else quoted(sensitive)
    counting = f"SELECT {_reading(quasi)}, {secret} AS s, count(*) AS c FROM owned GROUP BY ALL"  # noqa: S608 - quoted
    table.ask(f"CREATE OR REPLACE TEMP TABLE histogram AS {counting}")
    table.ask(_WHOLE)
    table.ask(_COUNTED.format(names=names))
    distances = _ORDERED if ordered else _EQUAL if hierarchy is None else _levels(table, hierarchy)
    table.ask(_CLASSES.format(least=least, distances=distances))
    rows, many, uniques = table.ask("SELECT sum(n)::BIGINT, count(*), count(*) FILTER (n = 1) FROM classes")[0]
    return rows or 0, many, uniques


def worst_classes(table: OwnedTable, quasi: Sequence[str], order: str, many: int) -> list[tuple[Any, ...]]:
    """Return the first classes by an expression, large ones before small: what they agree in, their rows, its value."""
    names = ", ".join(f"q{place}" for place in range(len(quasi)))
    return table.ask(
        f"SELECT {names}, n::BIGINT, ({order})::DOUBLE AS measure FROM "  # noqa: S608 - names of our own
        f"classes JOIN histogram AS h ON h.rowid = classes.id ORDER BY measure, n DESC, {names} LIMIT {many}"
    )


def _reading(quasi: Sequence[str]) -> str:
    return ", ".join(f"{quoted(column)} AS q{place}" for place, column in enumerate(quasi))


def _levels(table: OwnedTable, hierarchy: Mapping[Any, Sequence[object]]) -> str:
    """Give each value its nodes of a hierarchy, and return the mean distance over its levels below the root."""
    # A node is told by its whole way to the root: two branches may use one word.
    nodes = [
        (_as_text(value), depth, repr((value, *above)[depth:]))
        for value, above in hierarchy.items()
        for depth in range(len(above) + 1)
    ]
    table.ask(
        "CREATE OR REPLACE TEMP TABLE tree AS "
        "SELECT unnest($1::VARCHAR[]) AS s, unnest($2::INTEGER[]) AS depth, unnest($3::VARCHAR[]) AS node",
        [list(column) for column in zip(*nodes, strict=True)],
    )
    table.ask(
        "CREATE OR REPLACE TEMP TABLE nodes AS SELECT rank, share, depth, node FROM whole LEFT JOIN tree "
        "ON whole.s::VARCHAR IS NOT DISTINCT FROM tree.s"
    )
    missing = table.ask("SELECT count(*) FROM nodes WHERE node IS NULL")[0][0]
    if missing:
        msg = f"distance is a hierarchy that lacks {missing} of the sensitive column's values; name every one of them."
        raise ParameterError(msg)
    return _LEVELS


def _as_text(value: object) -> str | None:
    """Write a cell as DuckDB casts it to text."""
    text = None if value is None else str(value)
    return text.lower() if text is not None and isinstance(value, bool) else text


def measure_presence(table: OwnedTable, population: object, quasi: Sequence[str]) -> tuple[float, float] | None:
    """Return the least and the largest share of a population's class that is in the table; None if it is no part of it.

    `count_classes` has made the table's classes.
    """
    table.attach("population", population)
    lacking = [column for column in quasi if column not in table.names("population")]
    if lacking:
        msg = f"population lacks the column {lacking[0]!r}; it must have the same quasi-identifiers as the table."
        raise ParameterError(msg)
    same = " AND ".join(
        f"ours.q{place}::VARCHAR IS NOT DISTINCT FROM theirs.q{place}::VARCHAR" for place in range(len(quasi))
    )
    low, high, strangers = table.ask(
        "SELECT min(coalesce(n, 0) / m), max(coalesce(n, 0) / m), count(*) FILTER (m IS NULL OR n > m) "  # noqa: S608
        "FROM (SELECT h.*, n FROM classes JOIN histogram AS h ON h.rowid = classes.id) AS ours FULL JOIN "
        f"(SELECT {_reading(quasi)}, count(*) AS m FROM population GROUP BY ALL) AS theirs ON {same}"
    )[0]
    return None if strangers or low is None else (low, high)


def keep_known(table: OwnedTable, columns: Sequence[str], errors: Mapping[str, float]) -> int:
    """Read columns once, into `known`: numbers where they are known with errors, else codes; count the rows."""
    cells = ", ".join(
        f"{quoted(name)}::DOUBLE AS {quoted(name)}"
        if name in errors
        else f"(dense_rank() OVER (ORDER BY {quoted(name)}))::INTEGER AS {quoted(name)}"
        for name in columns
    )
    for name in map(quoted, errors):
        unread = f"SELECT count({name}) - count(TRY_CAST({name} AS DOUBLE)) FROM owned"  # noqa: S608 - quoted
        if table.ask(unread)[0][0]:
            msg = f"errors names {name}, whose cells are not all numbers; only numbers can be off by a number."
            raise ParameterError(msg)
    table.ask(f"CREATE OR REPLACE TEMP TABLE known AS SELECT {cells} FROM owned")  # noqa: S608 - quoted
    return int(table.ask("SELECT count(*) FROM known")[0][0])


def unique_rows(table: OwnedTable, columns: Sequence[str], errors: Mapping[str, float], targets: int) -> float:
    """Return the share of rows of `known` that no other row is like, in columns that are known up to an error.

    Without errors all rows are counted; with them, so many rows that are spread evenly over the table.
    """
    if not errors.keys() & set(columns):
        names = ", ".join(map(quoted, columns))
        alone = f"SELECT 1 FROM known GROUP BY {names} HAVING count(*) = 1"  # noqa: S608 - quoted
        return float(table.ask(f"SELECT count(*) / (SELECT count(*) FROM known) FROM ({alone})")[0][0])  # noqa: S608
    same = " AND ".join(
        f"o.{name} BETWEEN t.{name} - {error} AND t.{name} + {error}" if error is not None else f"o.{name} = t.{name}"
        for name, error in [(quoted(name), float(errors[name]) if name in errors else None) for name in columns]
    )
    same = f"SELECT count(*) FROM known AS o WHERE {same}"  # noqa: S608 - quoted
    step = f"greatest((SELECT count(*) FROM known) // {targets}, 1)"  # noqa: S608 - a number
    chosen = f"SELECT ({same}) AS alike FROM known AS t WHERE t.rowid % {step} = 0"  # noqa: S608 - as above
    return float(table.ask(f"SELECT count(*) FILTER (alike <= 1) / count(*) FROM ({chosen})")[0][0])  # noqa: S608
