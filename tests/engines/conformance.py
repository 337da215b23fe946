"""Compare an engine's exact aggregates with the reference interpreter's, integer by integer."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from discreet.engines.duckdb import DuckDB
from discreet.errors import QueryRefused
from discreet.plans import Bounding, Place, Plan, Shape, plan_sql
from discreet.plans.expressions import Exp, Ln
from discreet.plans.statistics import RankedCells, Window
from tests.plans.grammar import Questions
from tests.plans.hospital import POLICY
from tests.plans.interpreter import groups_of, pooled_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.engines import Aggregates, Engine
    from discreet.plans.expressions import Expression
    from discreet.plans.nodes import Aggregate
    from tests.plans.interpreter import Database

LIMITS = [
    None,
    Bounding(rows=1),
    Bounding(groups=1, rows_per_group=2),
    Bounding(groups=2),
    Bounding(place=Place.AFTER),
    Bounding(rows=2, groups=1, rows_per_group=1, place=Place.AFTER),
    Bounding(shape=Shape.SUMS, rows_per_group=2),
    Bounding(shape=Shape.SUMS, groups=1),
]

FIXED = [
    "SELECT ward, COUNT(*), COUNT(cost), AVG(cost), STDDEV(cost), MEDIAN(cost) FROM visits GROUP BY ward",
    "SELECT ward, COUNT(DISTINCT diagnosis), COUNT(DISTINCT patient_id) FROM visits GROUP BY ward",
    "SELECT diagnosis, urgent, COUNT(*), SUM(change) FROM visits GROUP BY diagnosis, urgent",
    "SELECT sex, city, COUNT(*), SUM(age) FROM patients GROUP BY sex, city",
    "SELECT AVG(t), SUM(n) FROM (SELECT patient_id, SUM(cost) AS t, COUNT(*) AS n FROM visits GROUP BY patient_id) u",
    "SELECT SUM(m) FROM (SELECT patient_id, AVG(change) AS m FROM visits GROUP BY patient_id) u",
    "SELECT w.floor, COUNT(*), SUM(v.cost) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor",
    "SELECT COUNT(*), SUM(v.cost * p.age) FROM visits v LEFT JOIN patients p ON v.patient_id = p.patient_id",
    "SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM patients WHERE age > 40)",
    "SELECT COUNT(*), SUM(rating * weight), CORR(rating, weight) FROM answers",
    "SELECT diagnosis, MAX(cost), QUANTILE_CONT(change, 0.1) FROM visits GROUP BY diagnosis",
    "SELECT MIN(rating), MEDIAN(weight) FROM answers",
    "SELECT diagnosis, floor, COUNT(*), MEDIAN(cost) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY 1, 2",
    "SELECT SUM(x) FROM (SELECT cost AS x FROM visits UNION ALL SELECT change + 0.5 AS x FROM visits) u",
    "SELECT FLOOR(change / 3) / 10 AS k, COUNT(*), SUM(change // 2) FROM visits WHERE change > -5 GROUP BY k",
    "SELECT CEIL(change / 9) AS k, ROUND(change * 0.1, 1) AS r, COUNT(*) FROM visits GROUP BY k, r",
]


def questions(count: int, fixed: int | None = None) -> Iterator[tuple[str, Plan]]:
    """Give fixed and random questions that are answered, with the limits taking turns."""
    for place, sql in enumerate(FIXED[:fixed]):
        yield f"question {place}", plan_sql(POLICY, sql)
    for seed in range(count):
        sql = Questions(Random(seed)).question()
        try:
            yield f"seed {seed}: {sql}", plan_sql(POLICY, sql, bounding=LIMITS[seed % len(LIMITS)])
        except QueryRefused:
            continue


def expressions(aggregate: Aggregate) -> Iterator[Expression]:
    """Give every expression of a plan."""
    tops: list[Expression] = [each for statistic in aggregate.statistics for each in statistic.operands]
    for node in aggregate.child.walk():
        tops += [getattr(node, "predicate")] if hasattr(node, "predicate") else []  # noqa: B009
        tops += [each for _, each in getattr(node, "columns", ())]
        tops += [each.operand for _, each in getattr(node, "statistics", ()) if getattr(each, "operand", None)]
    for top in tops:
        yield from top.walk()


def is_exact(aggregate: Aggregate) -> bool:
    """Tell whether engines must agree to the last bit: LN and EXP are as each library computes them."""
    return not any(isinstance(each, Ln | Exp) for each in expressions(aggregate))


def opened(aggregates: Aggregates, aggregate: Aggregate) -> dict[tuple[Any, ...], list[tuple[int, ...]]]:
    """Read what a test may read."""
    groups = aggregates.groups if aggregate.known else aggregates.unprotected_groups()
    columns = [
        [cells.ravel().tolist() for cells in aggregates.unprotected_cells(place)]
        if isinstance(statistic, RankedCells)
        else aggregates.unprotected(place).tolist()
        for place, statistic in enumerate(aggregate.statistics)
    ]
    return {group: [tuple(column[place]) for column in columns] for place, group in enumerate(groups)}


WINDOWS = [(Window(1, 1, 0, 4),), (), (Window(1, 9, 0, 6), Window(1, 0, 2, 3)), (Window(0, 1, -1, 2),)]


def windowed(aggregate: Aggregate, number: int) -> Aggregate:
    """Read cells near some ranks only, and no bins, in some questions."""
    windows, bins = WINDOWS[number % len(WINDOWS)], number % 3 > 0
    statistics = (
        replace(each, windows=windows, bins=bins) if isinstance(each, RankedCells) else each
        for each in aggregate.statistics
    )
    return replace(aggregate, statistics=tuple(statistics))


def differences(
    engine: Engine, database: Database, count: int, *, exact_only: bool = False, fixed: int | None = None
) -> Iterator[str]:
    """Name each question on which the engine and the reference differ: of the first fixed ones or all, and of some."""
    asked = 0
    for number, (name, plan) in enumerate(questions(count, fixed)):
        if exact_only and not is_exact(plan.aggregate):
            continue
        aggregate = windowed(plan.aggregate, number)
        try:
            prepared = engine.prepare(aggregate)
        except QueryRefused:
            continue
        asked += 1
        if isinstance(engine, DuckDB):  # cells are ordered by the engine, and as they are read, in turns
            engine._small = dict.fromkeys(engine._small | database, asked % 2 > 0)
        computed = prepared.run()
        found = opened(computed, aggregate)
        wanted = groups_of(aggregate, database)
        if found != wanted or (list(found) != list(wanted) and plan.aggregate.known):
            yield f"{name}: {found} against {wanted}"
        for place, counts in pooled_of(aggregate, database).items():
            pooled = computed.unprotected_pooled(place)
            if pooled.tolist() != counts.tolist():
                yield f"{name}: over all groups {pooled} against {counts}"
    if asked < count // 8:
        yield f"only {asked} questions were asked"
