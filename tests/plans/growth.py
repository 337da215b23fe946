"""Questions whose plans grow, by class: what a few letters more make twice as much of, or nest once more.

Each takes a number and writes a question over the tables of `tests.plans.hospital`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.plans import Extract, Frame, Plan

    Rows = Frame[Plan, Extract]

PAIR = "visits AS a JOIN visits AS b ON a.patient_id = b.patient_id"


def nested(inner: str, number: int, source: str = "visits") -> str:
    """A subquery of a subquery of …; {} in the inner one is what it reads."""
    for _ in range(number):
        source = f"({inner.format(source)}) AS q"
    return source


def doubled(query: str, inner: str, number: int) -> str:
    """A query that stands twice in a query that stands twice in …."""
    for _ in range(number):
        query = inner.format(query)
    return query


def named(first: str, inner: str, number: int) -> str:
    """WITH queries that each use the last one twice: the billion laughs."""
    steps = [f"q{place} AS ({inner.format(f'q{place - 1}') if place else first})" for place in range(number + 1)]
    return f"WITH {', '.join(steps)} SELECT COUNT(*) FROM q{number}"


def of_columns(function: str, number: int, within: int = 4) -> str:
    """A function of itself so many times, a few times in each subquery, as parentheses are limited."""
    once = "score"
    for _ in range(within):
        once = function.format(once)
    return f"SELECT COUNT(score) FROM {nested(f'SELECT patient_id, {once} AS score FROM {{}}', number // within)}"


def listed(text: str, number: int, between: str = ", ") -> str:
    """The same with each number from 0 on in the place of {}."""
    return between.join(text.format(place) for place in range(number))


_JOINED = "SELECT a.patient_id, a.age FROM ({0}) AS a JOIN ({0}) AS b ON a.patient_id = b.patient_id"
_LAUGHS = "SELECT a.patient_id, a.age FROM {0} AS a JOIN {0} AS b ON a.patient_id = b.patient_id"
_PEOPLE = "SELECT patient_id, age FROM patients"

EXPONENTIAL: dict[str, Callable[[int], str]] = {
    "sums of projections": lambda n: (
        f"SELECT SUM(cost) FROM {nested('SELECT patient_id, cost + cost AS cost FROM {}', n)}"
    ),
    "squares of projections": lambda n: (
        f"SELECT COUNT(score) FROM {nested('SELECT patient_id, score * score AS score FROM {}', n)}"
    ),
    "conditions on projections": lambda n: (
        f"SELECT COUNT(*) FROM {nested('SELECT patient_id, score * score AS score FROM {} WHERE score > 1', n)}"
    ),
    "texts of projections": lambda n: (
        f"SELECT COUNT(ward) FROM {nested('SELECT patient_id, ward || ward AS ward FROM {}', n)}"
    ),
    "choices of projections": lambda n: (
        "SELECT SUM(cost) FROM "
        + nested("SELECT patient_id, CASE WHEN cost > 1 THEN cost ELSE cost + 1 END AS cost FROM {}", n)
    ),
    "powers of projections": lambda n: (
        f"SELECT COUNT(score) FROM {nested('SELECT patient_id, POWER(score, 16) AS score FROM {}', n)}"
    ),
    "rows per unit": lambda n: (
        "SELECT COUNT(*) FROM " + nested("SELECT patient_id, SUM(cost) AS cost FROM {} GROUP BY patient_id", n)
    ),
    "rows per unit and ward": lambda n: (
        "SELECT COUNT(*) FROM "
        + nested("SELECT patient_id, ward, SUM(cost) AS cost FROM {} GROUP BY patient_id, ward HAVING SUM(cost) > 1", n)
    ),
    "names within a subquery per unit": lambda n: (
        "SELECT COUNT(*) FROM (SELECT patient_id, SUM(cost) AS a, "
        + ", ".join(f"{'a' * (place + 1)} + {'a' * (place + 1)} AS {'a' * (place + 2)}" for place in range(n))
        + " FROM visits GROUP BY patient_id) AS q"
    ),
    "joins with itself": lambda n: f"SELECT COUNT(*) FROM ({doubled(_PEOPLE, _JOINED, min(n, 7))}) AS q",
    "unions with itself": lambda n: (
        f"SELECT COUNT(*) FROM ({doubled(_PEOPLE, 'SELECT * FROM ({0} UNION ALL {0}) AS q', min(n, 7))}) AS q"
    ),
    "laughs by joins": lambda n: named(_PEOPLE, _LAUGHS, n),
    "laughs by conditions": lambda n: named(
        "SELECT patient_id FROM patients",
        "SELECT patient_id FROM {0} WHERE patient_id IN (SELECT patient_id FROM {0})",
        n,
    ),
    "laughs by unions": lambda n: named(_PEOPLE, "SELECT * FROM {0} UNION ALL SELECT * FROM {0}", n),
    "pairs of pairs of rows": lambda n: (
        "SELECT COUNT(*) FROM visits AS v0"
        + "".join(f" JOIN visits AS v{place} ON v0.patient_id = v{place}.patient_id" for place in range(1, n))
    ),
    "known keys": lambda n: (
        f"SELECT COUNT(*) FROM visits GROUP BY {listed('CASE WHEN cost > {} THEN 1 ELSE 2 END', n)}"
    ),
}
"""What doubles, or nearly, with each number."""

LONG: dict[str, Callable[[int], str]] = {
    "a sum": lambda n: f"SELECT SUM(LEAST({' + '.join(['cost'] * n)}, 9)) FROM visits",
    "a sum of floats": lambda n: f"SELECT COUNT({' + '.join(['score'] * n)}) FROM visits",
    "a product": lambda n: f"SELECT COUNT(code{' * 3' * n}) FROM visits",
    "quotients": lambda n: f"SELECT COUNT(score{' / 3' * n}) FROM visits",
    "a text": lambda n: f"SELECT COUNT(DISTINCT {' || '.join(['diagnosis'] * n)}) FROM visits",
    "casts": lambda n: f"SELECT COUNT(score{'::BIGINT::DOUBLE' * (n // 2)}) FROM visits",
    "roundings": lambda n: of_columns("ROUND({}, 1)", n),
    "logarithms": lambda n: of_columns("LN({})", n),
    "parentheses": lambda n: f"SELECT SUM({'(' * n}cost{')' * n}) FROM visits",
    "CASE in CASE": lambda n: (
        f"SELECT COUNT(*) FROM visits WHERE {'CASE WHEN cost > 1 THEN ' * n}1{' ELSE 0 END' * n} = 1"
    ),
    "NOT NOT": lambda n: f"SELECT COUNT(*) FROM visits WHERE {'NOT ' * n}urgent",
    "minus minus": lambda n: f"SELECT SUM({'- ' * n}cost) FROM visits",
    "AND": lambda n: f"SELECT COUNT(*) FROM visits WHERE {listed('cost <> {}', n, ' AND ')}",
    "OR": lambda n: f"SELECT COUNT(*) FROM visits WHERE {listed('cost = {}', n, ' OR ')}",
    "AND in HAVING": lambda n: (
        f"SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING {listed('COUNT(*) > {}', n, ' AND ')}"
    ),
    "IN": lambda n: f"SELECT COUNT(*) FROM visits WHERE code IN ({listed('{}', n)})",
    "WHEN": lambda n: f"SELECT SUM(CASE {listed('WHEN code = {0} THEN {0}', n, ' ')} ELSE 0 END) FROM visits",
    "LIKE": lambda n: "SELECT COUNT(*) FROM visits WHERE " + listed("diagnosis LIKE '%a{}%'", n, " OR "),
    "columns": lambda n: f"SELECT SUM(c0) FROM (SELECT {listed('cost + {0} AS c{0}', n)} FROM visits) AS q",
    "sums": lambda n: f"SELECT {listed('SUM(LEAST(cost, {} + 1))', n)} FROM visits",
    "filters of counts": lambda n: f"SELECT {listed('COUNT(*) FILTER (WHERE cost > {})', n)} FROM visits",
    "medians": lambda n: f"SELECT {listed('MEDIAN(LEAST(cost, {} + 1))', n // 4)} FROM visits",
    "buckets": lambda n: f"SELECT SUM(WIDTH_BUCKET(score, 0, 1, {n * 8})) FROM visits",
    "subqueries": lambda n: f"SELECT COUNT(*) FROM {nested('SELECT * FROM {}', n)}",
    "subqueries with WHERE": lambda n: f"SELECT COUNT(*) FROM {nested('SELECT * FROM {} WHERE cost > 1', n)}",
    "IN of IN": lambda n: (
        "SELECT COUNT(*) FROM visits WHERE patient_id IN "
        + doubled("(SELECT patient_id FROM patients)", "(SELECT patient_id FROM visits WHERE patient_id IN {})", n)
    ),
    "joins": lambda n: (
        "SELECT COUNT(*) FROM patients AS p0"
        + "".join(f" JOIN patients AS p{place} ON p0.patient_id = p{place}.patient_id" for place in range(1, n))
    ),
    "unions": lambda n: f"SELECT COUNT(*) FROM ({' UNION ALL '.join([_PEOPLE] * n)}) AS q",
    "a power over a join": lambda n: (
        f"SELECT COUNT(POWER(z, {n})) FROM (SELECT a.patient_id, a.score + b.score AS z FROM {PAIR}) AS q"
    ),
    "a power in a condition": lambda n: f"SELECT COUNT(*) FROM {PAIR} WHERE POWER(a.score, {n}) > b.score",
}
"""What gets longer or deeper with each number."""

GROWING = EXPONENTIAL | LONG


def most_answered(write: Callable[[int], str], answers: Callable[[str], bool], most: int) -> int:
    """The largest number, of the powers of two and halves between them, whose question is answered."""
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if answers(write(middle)) else (low, middle - 1)
    return low


def frames(start: Rows) -> dict[str, Callable[[int], Rows]]:
    """The same classes from Python, where frames and terms are used again instead of being written again."""
    from discreet.plans import col
    from discreet.plans.aggregates import sum as total

    def grown(step: Callable[[Rows], Rows]) -> Callable[[int], Rows]:
        def build(number: int) -> Rows:
            found = start
            for _ in range(number):
                found = step(found)
            return found

        return build

    def of_terms(number: int) -> Rows:
        term = col("cost")
        for _ in range(number):
            term = term + term
        return start.select("patient_id", cost=term)

    def long_sum(number: int) -> Rows:
        term = col("cost")
        for _ in range(number):
            term = term + 1
        return start.select("patient_id", cost=term)

    return {
        "sums of projections": grown(lambda it: it.select("patient_id", cost=col("cost") + col("cost"))),
        "sums of terms": of_terms,
        "a long sum": long_sum,
        "rows per unit": grown(lambda it: it.per_unit(cost=total("cost"))),
        "joins with itself": grown(
            lambda it: it.per_unit(cost=total("cost")).join(it.select("patient_id"), "patient_id")
        ),
        "semi-joins with itself": grown(lambda it: it.join(it, "patient_id", how="semi")),
        "unions with itself": grown(lambda it: it.union_all(it)),
        "conditions": grown(lambda it: it.where(col("cost") > 1)),
        "lists": lambda number: start.where(col("cost").is_in(list(range(number)))),
    }
