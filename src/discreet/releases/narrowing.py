"""Bounds from the data, privately: two quantiles of what is summed, bought first, between which values are clamped."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.plans import aggregates as agg
from discreet.plans.bounding import Shape
from discreet.plans.expressions import Case, Column, Greatest, IsNull, Least, Literal
from discreet.plans.nodes.node import least, product
from discreet.plans.plan import Plan, Request
from discreet.plans.refusals import refuse
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.exact import Number
    from discreet.plans.aggregates import Measure
    from discreet.plans.expressions import Expression

__all__ = ["bounds_of", "bounds_plan", "narrowed_plan", "share_of", "summed_values"]

_SUMMED = (agg.Sum, agg.Mean, agg.Variance, agg.Covariance, agg.Correlation)


def share_of(narrow: Number) -> Fraction:
    """Read which part of a price buys bounds.

    >>> share_of("0.1")
    Fraction(1, 10)
    """
    found = rational(narrow, name="narrow")
    if not 0 < found < 1:
        msg = f"narrow is {shown(narrow)}; it is the part of the price that buys bounds, above 0 and below 1."
        raise ParameterError(msg)
    return found


def summed_values(plan: Plan) -> tuple[Expression, ...]:
    """The values whose range decides how much noise a question needs.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> people = Table("people", row_is_unit=True, columns=[Column("pay", lower=0, upper=10**6)])
    >>> plan = plan_sql(Policy([people], epsilon=1), "SELECT COUNT(*), AVG(pay), SUM(pay) FROM people")
    >>> len(summed_values(plan))
    1
    """
    measures = [measure for _, measure in plan.request.measures if isinstance(measure, _SUMMED)]
    return tuple(dict.fromkeys(value for measure in measures for value in measure.operands))


def bounds_plan(plan: Plan, cut: Number) -> Plan:
    """The question that is bought first: for each summed value the quantiles `cut` and 1 - `cut`, over all groups."""
    share = rational(cut, name="cut")
    if not 0 < share < Fraction(1, 2):
        msg = f"cut is {shown(cut)}; it is the share of values beyond each bound, above 0 and below 0.5, such as 0.01."
        raise ParameterError(msg)
    values = summed_values(plan)
    if not values:
        refuse(
            "narrowed",
            why="Nothing in the question is summed, so no bounds decide about its noise.",
            instead="the question as it is.",
        )
    measures = {f"m{place}": agg.quantile(value, share, 1 - share) for place, value in enumerate(values)}
    outputs = tuple((name, Column(name)) for name in measures)
    request = Request(plan.request.relation, (), tuple(measures.items()), outputs)
    limits = plan.bounding
    rows = least(limits.rows, product(limits.groups, limits.rows_per_group))
    return Plan(plan.policy, request, replace(limits, rows=rows, groups=None, rows_per_group=None, shape=Shape.ROWS))


def bounds_of(plan: Plan, row: Mapping[str, Any]) -> dict[Expression, tuple[float, float]]:
    """Read the answer to `bounds_plan`; two bounds that fell on one value are moved apart by a thousandth of the range.

    With no width left, nothing could be summed, and the question that was half paid for would have to be refused.
    """
    found = {}
    schema = plan.request.relation.schema
    for place, value in enumerate(summed_values(plan)):
        low, high = row[f"m{place}"]
        public = value.facts(schema).bounds
        if low == high and public.lower is not None and public.upper is not None:
            apart = float(public.upper - public.lower) / 1000
            low, high = max(low - apart, float(public.lower)), min(high + apart, float(public.upper))
        found[value] = (low, high)
    return found


def narrowed_plan(plan: Plan, bounds: Mapping[Expression, tuple[float, float]]) -> Plan:
    """The same question about values that are clamped between bounds; NULL stays NULL."""
    schema = plan.request.relation.schema

    def clamped(value: Expression) -> Expression:
        facts = value.facts(schema)
        low, high = bounds[value]
        if facts.kind is Kind.INTEGER:
            low, high = math.floor(low), math.ceil(high)
        ends = [Literal(end if facts.kind is Kind.INTEGER else float(end), facts.kind) for end in (low, high)]
        inside = Least((Greatest((value, ends[0])), ends[1]))
        return Case((IsNull((value,)), Literal(None, facts.kind), inside)) if facts.nullable else inside

    def of(measure: Measure) -> Measure:
        if not isinstance(measure, _SUMMED):
            return measure
        return measure.with_operands(tuple(clamped(value) for value in measure.operands))

    measures = tuple((name, of(measure)) for name, measure in plan.request.measures)
    return replace(plan, request=replace(plan.request, measures=measures))
