"""Aggregate functions: what is asked of groups of many units, and what may be asked of one unit's rows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from discreet.plans import aggregates as agg
from discreet.plans import statistics as s
from discreet.plans.alignment import aligned
from discreet.plans.expressions import Case, Expression, Literal
from discreet.plans.normal import simplified
from discreet.plans.sql.constants import null, number_of
from discreet.plans.sql.reading import only, refuse_part
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from discreet.plans.aggregates import Measure
    from discreet.plans.sql.expressions import Scalars
    from discreet.plans.statistics import UnitStatistic

__all__ = ["contains_aggregate", "is_aggregate", "measure_of", "unit_statistic_of"]

MeasureRule: TypeAlias = "Callable[[Scalars, exp.Expression], Measure]"
UnitRule: TypeAlias = "Callable[[Expression], UnitStatistic]"

_WRAPPERS = (exp.Filter, exp.WithinGroup)
_NAMED = {"histogram"}


def is_aggregate(node: exp.Expr) -> bool:
    """Tell whether a syntax node is an aggregate function, answered or not."""
    named = isinstance(node, exp.Anonymous) and node.name.lower() in _NAMED
    return named or isinstance(node, (exp.AggFunc, *_WRAPPERS))


def contains_aggregate(node: exp.Expression) -> bool:
    """Tell whether an aggregate stands anywhere inside, subqueries aside."""
    inside = node.walk(prune=lambda each: isinstance(each, exp.Query))
    return any(is_aggregate(each) for each in inside)


def measure_of(scalars: Scalars, node: exp.Expression) -> Measure:
    """Read an aggregate over many units."""
    if isinstance(node, exp.Filter):
        only(node, "this", "expression")
        only(node.expression, "this")
        return _where(measure_of(scalars, node.this), scalars.expression(node.expression.this), scalars)
    rule = _MEASURES.get(type(node))
    if isinstance(node, exp.Anonymous) and node.name.lower() == "histogram":
        rule = _histogram
    if rule is None:
        scalars.refuse(node, "This aggregate is not answered.")
    if any(contains_aggregate(each) for each in node.iter_expressions() if not isinstance(node, exp.WithinGroup)):
        refuse_part(
            node,
            "An aggregate of an aggregate needs its own grouping.",
            "AVG(n) FROM (SELECT unit, COUNT(*) AS n FROM … GROUP BY unit)",
        )
    return rule(scalars, node)


def _where(measure: Measure, condition: Expression, scalars: Scalars) -> Measure:
    """FILTER (WHERE c): values are NULL, so not counted, where the condition does not hold."""
    operands = measure.operands or (Literal(1, Kind.INTEGER),)
    chosen = (Case((condition, operand, null())) for operand in operands)
    return measure.with_operands(tuple(aligned(each, scalars.schema) for each in chosen))


def _single(build: Callable[[Expression], Measure]) -> MeasureRule:
    """One operand."""

    def rule(scalars: Scalars, node: exp.Expression) -> Measure:
        only(node, "this")
        _no_distinct(node)
        return build(scalars.expression(node.this))

    return rule


def _no_distinct(node: exp.Expression) -> None:
    if isinstance(node.this, exp.Distinct):
        refuse_part(node, "DISTINCT is answered for COUNT only.", "the aggregate without DISTINCT.")


def _pair(build: Callable[[Expression, Expression], Measure]) -> MeasureRule:
    """Two operands."""

    def rule(scalars: Scalars, node: exp.Expression) -> Measure:
        only(node, "this", "expression")
        return build(scalars.expression(node.this), scalars.expression(node.expression))

    return rule


def _count(scalars: Scalars, node: exp.Expression) -> Measure:
    """COUNT(*), COUNT(), COUNT(1), COUNT(x), COUNT(DISTINCT x)."""
    only(node, "this", "big_int")
    if _counts_rows(scalars, node):
        return agg.count()
    if isinstance(node.this, exp.Distinct):
        return agg.count_distinct(scalars.expression(_distinct(node.this)))
    operand = scalars.expression(node.this)
    return agg.count() if _is_constant(operand) else agg.count(operand)


def _counts_rows(scalars: Scalars, node: exp.Expression) -> bool:
    """Tell whether this is COUNT(*); DuckDB spells it COUNT() too."""
    if node.this is None:
        if scalars.dialect != "duckdb":
            refuse_part(node, "It does not say what is counted.", "COUNT(*)")
        return True
    if isinstance(node.this, exp.Star):
        only(node.this)
    return isinstance(node.this, exp.Star)


def _is_constant(operand: Expression) -> bool:
    """Tell whether this is a constant other than NULL: to count it is to count rows."""
    found = simplified(operand)
    return isinstance(found, Literal) and found.value is not None


def _distinct(node: exp.Expression) -> exp.Expression:
    only(node, "expressions")
    if len(node.expressions) != 1:
        refuse_part(
            node, "DISTINCT takes one expression.", "COUNT(DISTINCT a || '-' || b), of texts or CAST(… AS VARCHAR)."
        )
    found: exp.Expression = node.expressions[0]
    return found


def _count_if(scalars: Scalars, node: exp.Expression) -> Measure:
    only(node, "this")
    chosen = Case((scalars.translate(node.this), Literal(1, Kind.INTEGER), null()))
    return agg.count(aligned(chosen, scalars.schema))


def _extreme(build: Callable[[Expression], Measure]) -> MeasureRule:
    """MIN and MAX of bounded numbers."""

    def rule(scalars: Scalars, node: exp.Expression) -> Measure:
        only(node, "this")
        _no_distinct(node)
        operand = scalars.expression(node.this)
        kind = operand.facts(scalars.schema).kind
        if not kind.numeric:
            instead = "COUNT(*) grouped by it"
            if kind in {Kind.DATE, Kind.TIMESTAMP}:
                instead += (
                    f", or {node.key.upper()}(DATE_DIFF('day', DATE '2024-01-01', x)) of dates with public bounds"
                )
            refuse_part(node, "The smallest or largest text or date is one unit's value.", f"{instead}.")
        return build(operand)

    return rule


def _levels(node: exp.Expression) -> tuple[Fraction, ...]:
    """Read one level, or a list of levels."""
    listed = node.expressions if isinstance(node, exp.Array) else [node]
    found = tuple(number_of(each) for each in listed)
    if not found or not all(0 <= level <= 1 and level.denominator <= 10**6 for level in found):
        refuse_part(node, "Levels lie between 0 and 1 and have at most six decimals.", "0.5")
    return found


def _quantile(scalars: Scalars, node: exp.Expression) -> Measure:
    """QUANTILE_CONT(x, level) and QUANTILE_CONT(x, [levels])."""
    only(node, "this", "expression", "quantile")
    level = node.args.get("expression") or node.args.get("quantile")
    if level is None:
        refuse_part(node, "A level is needed.", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)")
    return agg.quantile(scalars.expression(node.this), *_levels(level))


def _within(scalars: Scalars, node: exp.Expression) -> Measure:
    """PERCENTILE_CONT(level) WITHIN GROUP (ORDER BY x [DESC])."""
    only(node, "this", "expression")
    inner, order = node.this, node.expression
    if isinstance(inner, exp.Mode | exp.PercentileDisc):
        scalars.refuse(inner)
    if not isinstance(inner, exp.PercentileCont) or not isinstance(order, exp.Order) or len(order.expressions) != 1:
        refuse_part(node, "This ordered aggregate is not answered.", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)")
    only(inner, "this")
    only(order, "expressions")
    ordered = order.expressions[0]
    only(ordered, "this", "desc", "nulls_first")
    levels = _levels(inner.this)
    chosen = tuple(1 - level for level in levels) if ordered.args.get("desc") else levels
    return agg.quantile(scalars.expression(ordered.this), *chosen)


def _histogram(scalars: Scalars, node: exp.Expression) -> Measure:
    """HISTOGRAM(x, [edges]); without edges the bins would depend on the data."""
    only(node, "this", "expressions")
    if len(node.expressions) != 2 or not isinstance(node.expressions[1], exp.Array):
        refuse_part(
            node, "The edges must be given: chosen from the data they would show it.", "HISTOGRAM(x, [0, 10, 20])"
        )
    edges = [number_of(each) for each in node.expressions[1].expressions]
    if not edges or any(a >= b for a, b in itertools.pairwise(edges)):
        refuse_part(node, "Edges are numbers, each above the last.", "HISTOGRAM(x, [0, 10, 20])")
    return agg.histogram(scalars.expression(node.expressions[0]), edges)


_MEASURES: dict[type[exp.Expression], MeasureRule] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.Sum: _single(agg.sum),
    exp.Avg: _single(agg.mean),
    exp.Variance: _single(agg.var),
    exp.VariancePop: _single(lambda x: agg.var(x, divisor=agg.Divisor.POPULATION)),
    exp.Stddev: _single(agg.std),
    exp.StddevSamp: _single(agg.std),
    exp.StddevPop: _single(lambda x: agg.std(x, divisor=agg.Divisor.POPULATION)),
    exp.CovarSamp: _pair(agg.covar),
    exp.CovarPop: _pair(lambda x, y: agg.covar(x, y, divisor=agg.Divisor.POPULATION)),
    exp.Corr: _pair(agg.corr),
    exp.Median: _single(agg.median),
    exp.PercentileCont: _quantile,
    exp.Quantile: _quantile,
    exp.WithinGroup: _within,
    exp.Min: _extreme(agg.min),
    exp.Max: _extreme(agg.max),
}
"""The aggregates that are answered."""


_UNIT: dict[type[exp.Expression], UnitRule] = {
    exp.Sum: s.UnitSum,
    exp.Avg: s.UnitMean,
    exp.Min: s.UnitMin,
    exp.Max: s.UnitMax,
}


def unit_statistic_of(scalars: Scalars, node: exp.Expression) -> UnitStatistic:
    """Read an aggregate over one unit's rows."""
    if isinstance(node, exp.Filter):
        refuse_part(node, "FILTER is not answered inside a subquery per unit.", "SUM(CASE WHEN … THEN x END)")
    if isinstance(node, exp.Count):
        only(node, "this", "big_int")
        if _counts_rows(scalars, node):
            return s.UnitCount()
        if isinstance(node.this, exp.Distinct):
            return s.UnitCountDistinct(scalars.expression(_distinct(node.this)))
        operand = scalars.expression(node.this)
        return s.UnitCount() if _is_constant(operand) else s.UnitCountValues(operand)
    build = _UNIT.get(type(node))
    if build is None:
        refuse_part(node, "This aggregate is not computed per unit.", "COUNT, SUM, AVG, MIN or MAX per unit.")
    only(node, "this")
    _no_distinct(node)
    return build(scalars.expression(node.this))
