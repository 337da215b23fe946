"""Bounds from the data, privately: two quantiles of what is summed, bought first, between which values are clamped."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.plans import aggregates as agg
from discreet.plans.expressions import Case, Column, Greatest, IsNull, Least, Literal
from discreet.plans.nodes.node import least, product
from discreet.plans.normal import Shape
from discreet.plans.plan import Plan, Request
from discreet.plans.refusals import refuse
from discreet.plans.statistics.exact import RANK_BITS
from discreet.releases.measures.measure import measure_kind
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.exact import Number
    from discreet.plans.aggregates import Measure
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Facts
    from discreet.tables import Value

    Ends: TypeAlias = tuple[Fraction, Fraction]
    Chosen: TypeAlias = Mapping[Expression, Ends]

__all__ = ["bounds_of", "bounds_plan", "clamps_of", "cut_of", "narrowed_plan", "share_of", "summed_values"]


def share_of(narrow: Number) -> Fraction:
    """Read which part of a price buys bounds.

    >>> share_of("0.1")
    Fraction(1, 10)
    """
    share = rational(narrow, name="narrow")
    if not 0 < share < 1:
        msg = f"narrow is {shown(narrow)}; it is the part of the price that buys bounds, above 0 and below 1."
        raise ParameterError(msg)
    return share


def cut_of(cut: Number) -> Fraction:
    """Read which share of values lies beyond each bound.

    >>> cut_of("0.05")
    Fraction(1, 20)
    """
    share = rational(cut, name="cut")
    if not 0 < share < Fraction(1, 2):
        msg = f"cut is {shown(cut)}; it is the share of values beyond each bound, above 0 and below 0.5, such as 0.01."
        raise ParameterError(msg)
    return share


def summed_values(plan: Plan) -> tuple[Expression, ...]:
    """The values whose range decides how much noise a question needs.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> people = Table("people", row_is_unit=True, columns=[Column("pay", lower=0, upper=10**6)])
    >>> plan = plan_sql(Policy([people], epsilon=1), "SELECT COUNT(*), AVG(pay), SUM(pay) FROM people")
    >>> len(summed_values(plan))
    1
    """
    measures = [measure for _, measure in plan.request.measures if measure_kind(measure).sums]
    return tuple(dict.fromkeys(value for measure in measures for value in measure.operands))


def bounds_plan(plan: Plan, cut: Fraction) -> Plan:
    """The question that is bought first: for each summed value the quantiles `cut` and 1 - `cut`, over all groups."""
    values = summed_values(plan)
    if not values:
        refuse(
            "narrowed",
            why="Nothing in the question is summed, so no bounds decide about its noise.",
            instead="the question as it is.",
        )
    measures = {f"m{place}": agg.quantile(value, cut, 1 - cut) for place, value in enumerate(values)}
    outputs = tuple((name, Column(name)) for name in measures)
    request = Request(plan.request.relation, (), tuple(measures.items()), outputs)
    limits = plan.bounding
    rows = least(limits.rows, product(limits.groups, limits.rows_per_group))
    return Plan(plan.policy, request, replace(limits, rows=rows, groups=None, rows_per_group=None, shape=Shape.ROWS))


def bounds_of(plan: Plan, row: Mapping[str, Any]) -> Iterator[Chosen]:
    """Read the answer to `bounds_plan`: the bounds that it chose, then wider ones around them, up to the public ones.

    Two bounds that fell on one value are moved apart by a thousandth of the public range. Between bounds that are still
    too close together nothing can be summed: whoever asks takes the first in which the question is answered, as it was
    half paid for. All follow from public facts and from what was released.
    """
    schema = plan.request.relation.schema
    public = {value: value.facts(schema) for value in summed_values(plan)}
    bounds = {value: _read(row[f"m{place}"], facts) for place, (value, facts) in enumerate(public.items())}
    yield bounds
    while any(ends != _ends(public[value]) for value, ends in bounds.items()):
        bounds = {value: _wider(ends, public[value]) for value, ends in bounds.items()}
        yield bounds


def _wider(ends: Ends, facts: Facts) -> Ends:
    """Move bounds apart by twice their distance on either side, and at least by a cell of the grid of quantiles."""
    low, high = _ends(facts)
    return _apart(ends, facts, max(2 * (ends[1] - ends[0]), (high - low) / 2**RANK_BITS))


def _ends(facts: Facts) -> Ends:
    """The public bounds of a number that is summed: plans without them were refused."""
    low, high = facts.bounds.lower, facts.bounds.upper
    assert low is not None and high is not None  # noqa: S101, PT018 - as said
    return low, high


def _read(chosen: tuple[float, float], facts: Facts) -> Ends:
    """Read two points of a grid as bounds: as doubles they may lie just beyond the public ones."""
    low, high = _ends(facts)
    ends = _apart((Fraction(chosen[0]), Fraction(chosen[1])), facts, Fraction(0))
    return _apart(ends, facts, (high - low) / 1000) if ends[0] == ends[1] else ends


def _apart(ends: Ends, facts: Facts, by: Fraction) -> Ends:
    """Move bounds apart, on either side, as far as the public ones; those of whole numbers to whole numbers."""
    low, high = ends[0] - by, ends[1] + by
    if facts.kind is Kind.INTEGER:
        low, high = Fraction(math.floor(low)), Fraction(math.ceil(high))
    least, most = _ends(facts)
    return min(max(low, least), most), max(min(high, most), least)


def narrowed_plan(plan: Plan, bounds: Chosen) -> Plan:
    """The same question about values that are clamped between bounds; NULL stays NULL."""
    schema = plan.request.relation.schema

    def clamped(value: Expression) -> Expression:
        facts = value.facts(schema)
        whole = facts.kind is Kind.INTEGER
        ends = [Literal(int(end) if whole else float(end), facts.kind) for end in bounds[value]]
        inside = Least((Greatest((value, ends[0])), ends[1]))
        return Case((IsNull((value,)), Literal(None, facts.kind), inside)) if facts.nullable else inside

    def of(measure: Measure) -> Measure:
        if not measure_kind(measure).sums:
            return measure
        return measure.with_operands(tuple(clamped(value) for value in measure.operands))

    measures = tuple((name, of(measure)) for name, measure in plan.request.measures)
    return replace(plan, request=replace(plan.request, measures=measures))


def clamps_of(plan: Plan) -> Iterator[tuple[Expression, Value, Value]]:
    """Read from a plan that `narrowed_plan` made which values it clamps, and between which bounds.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> people = Table("people", row_is_unit=True, columns=[Column("pay", lower=0, upper=10**6)])
    >>> plan = plan_sql(Policy([people], epsilon=1), "SELECT COUNT(*), AVG(pay), SUM(pay) FROM people")
    >>> chosen = next(bounds_of(plan, {"m0": (20.5, 700)}))
    >>> [ends for _, *ends in clamps_of(narrowed_plan(plan, chosen))]
    [[20, 700]]
    """
    for value in summed_values(plan):
        inside = value.operands[-1] if isinstance(value, Case) else value
        if isinstance(inside, Least) and isinstance(inside.operands[0], Greatest):
            (of, low), high = inside.operands[0].operands, inside.operands[1]
            if isinstance(low, Literal) and isinstance(high, Literal):
                yield of, low.value, high.value
