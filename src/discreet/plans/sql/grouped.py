"""GROUP BY: what it names, aggregates of many units or of one unit's rows, and arithmetic on the results of groups."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Generic, NoReturn, TypeAlias, TypeVar

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.plans import aggregates as agg
from discreet.plans import statistics as s
from discreet.plans.expressions import Case, Cast, Column, Expression, Literal, MomentOf
from discreet.plans.normal import aligned, simplified
from discreet.plans.sql.constants import null, number_of
from discreet.plans.sql.expressions import Scalars, fitting
from discreet.plans.sql.moments import counted_moment
from discreet.plans.sql.reading import matching, name_of, only, part, refuse_part
from discreet.plans.sql.texts import as_text, several
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from discreet.plans.aggregates import Measure
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Facts, Schema
    from discreet.plans.statistics import UnitStatistic

__all__ = [
    "Grouped",
    "alias_of",
    "contains_aggregate",
    "group_keys",
    "is_aggregate",
    "keys_of",
    "measure_of",
    "output_name",
    "unit_statistic_of",
]

MeasureRule: TypeAlias = "Callable[[Scalars, exp.Expression], Measure]"
UnitRule: TypeAlias = "Callable[[Expression], UnitStatistic]"

_WRAPPERS = (exp.Filter, exp.WithinGroup)
_NAMED = {"histogram"}


def is_aggregate(node: exp.Expr) -> bool:
    """Tell whether a syntax node is an aggregate function, answered or not; GROUPING tells of keys."""
    if isinstance(node, exp.Grouping | exp.GroupingId):
        return False
    named = isinstance(node, exp.Anonymous) and node.name.lower() in _NAMED
    return named or isinstance(node, (exp.AggFunc, *_WRAPPERS))


def contains_aggregate(node: exp.Expression) -> bool:
    """Tell whether an aggregate stands anywhere inside, subqueries aside."""
    inside = node.walk(prune=lambda part: isinstance(part, exp.Query))
    return any(is_aggregate(part) for part in inside)


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
    if any(contains_aggregate(part) for part in node.iter_expressions() if not isinstance(node, exp.WithinGroup)):
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
    return measure.with_operands(tuple(aligned(value, scalars.schema) for value in chosen))


def _single(build: Callable[[Expression], Measure]) -> MeasureRule:
    """One operand."""

    def rule(scalars: Scalars, node: exp.Expression) -> Measure:
        only(node, "this")
        _no_distinct(node)
        operand = scalars.expression(node.this)
        if operand.facts(scalars.schema).kind is Kind.BOOLEAN:  # SUM(age > 40), as DuckDB and others count
            operand = Cast((operand,), Kind.INTEGER)
        return build(operand)

    return rule


def _no_distinct(node: exp.Expression) -> None:
    if isinstance(node.this, exp.Distinct):
        name = node.key.upper()
        instead = f"COUNT(DISTINCT x); or {name}(x), another number: equal values count as often as they occur."
        refuse_part(node, "Which values are there at all may be one unit's doing; DISTINCT is for COUNT.", instead)


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
        return agg.count_distinct(_distinct(scalars, node.this))
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
    simple = simplified(operand)
    return isinstance(simple, Literal) and simple.value is not None


def _distinct(scalars: Scalars, node: exp.Expression) -> Expression:
    """What is counted: a value, or several as one text.

    COUNT(DISTINCT a, b) leaves rows out in which one is NULL; COUNT(DISTINCT (a, b)) counts NULL as a value.
    """
    only(node, "expressions")
    if not node.expressions:
        refuse_part(node, "It does not say what is counted.", "COUNT(DISTINCT x)")
    first, *more = node.expressions
    if not more and not isinstance(first, exp.Tuple):
        return scalars.expression(first)
    rows = isinstance(first, exp.Tuple) and not more
    parts = [as_text(scalars, part) for part in (first.expressions if rows else node.expressions)]
    with fitting(node):
        return aligned(several(parts, scalars.schema, nulls=rows), scalars.schema)


def _count_if(scalars: Scalars, node: exp.Expression) -> Measure:
    only(node, "this")
    chosen = Case((scalars.translate(node.this), Literal(1, Kind.INTEGER), null()))
    return agg.count(aligned(chosen, scalars.schema))


def _extreme(build: Callable[[Expression], Measure]) -> MeasureRule:
    """MIN and MAX of bounded numbers; dates count in days, timestamps in seconds (`Grouped.translate` turns back)."""

    def rule(scalars: Scalars, node: exp.Expression) -> Measure:
        only(node, "this")
        _no_distinct(node)
        operand = scalars.expression(node.this)
        kind = operand.facts(scalars.schema).kind
        if kind.temporal:
            operand = counted_moment(operand, kind)
        elif not kind.numeric:
            refuse_part(node, "The smallest or largest text is one unit's value.", "COUNT(*) grouped by it.")
        return build(operand)

    return rule


def _moment_in(node: exp.Expression, rows: Scalars) -> Kind | None:
    """The kind of date that MIN or MAX is of; None for everything else."""
    inner = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(inner, exp.Min | exp.Max) or isinstance(inner.this, exp.Distinct):
        return None
    kind = rows.expression(inner.this).facts(rows.schema).kind
    return kind if kind.temporal else None


def _levels(node: exp.Expression) -> tuple[Fraction, ...]:
    """Read one level, or a list of levels."""
    listed = node.expressions if isinstance(node, exp.Array) else [node]
    levels = tuple(number_of(node_of) for node_of in listed)
    if not levels or not all(0 <= level <= 1 and level.denominator <= 10**6 for level in levels):
        refuse_part(node, "Levels lie between 0 and 1 and have at most six decimals.", "0.5")
    return levels


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
    if isinstance(inner, exp.Mode):
        scalars.refuse(inner)
    if (
        not isinstance(inner, exp.PercentileCont | exp.PercentileDisc)
        or not isinstance(order, exp.Order)
        or len(order.expressions) != 1
    ):
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
    edges = [number_of(edge) for edge in node.expressions[1].expressions]
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
    exp.PercentileDisc: _quantile,
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
            return s.UnitCountDistinct(_distinct(scalars, node.this))
        operand = scalars.expression(node.this)
        return s.UnitCount() if _is_constant(operand) else s.UnitCountValues(operand)
    build = _UNIT.get(type(node))
    if build is None:
        refuse_part(node, "This aggregate is not computed per unit.", "COUNT, SUM, AVG, MIN or MAX per unit.")
    only(node, "this")
    _no_distinct(node)
    return build(scalars.expression(node.this))


def alias_of(item: exp.Expression) -> tuple[exp.Expression, str | None]:
    """Split an item of a SELECT list into its expression and its name."""
    if isinstance(item, exp.Alias):
        only(item, "this", "alias")
        return item.this, name_of(item.args["alias"])
    return item, None


def output_name(item: exp.Expression, place: int) -> str:
    """Name an output: its alias, its column, its function, or its place."""
    node, alias = alias_of(item)
    if alias is not None:
        return alias
    if isinstance(node, exp.Column):
        return node.name
    return _function_name(node) if is_aggregate(node) else f"column{place + 1}"


def _function_name(node: exp.Expression) -> str:
    """Name an aggregate by its function, as the question spells it."""
    if isinstance(node, exp.Filter):
        return _function_name(node.this)
    name = node.this.sql_name() if isinstance(node, exp.WithinGroup) else part(node).partition("(")[0]
    return str(name).lower()


def group_keys(select: exp.Select, rows: Scalars) -> list[Expression]:
    """Translate the items of GROUP BY."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        only(group, "all")
        return keys_of([node for node, _ in map(alias_of, select.expressions) if not contains_aggregate(node)], rows)
    several = any(isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets) for item in group.expressions)
    if several or any(group.args.get(word) for word in ("rollup", "cube", "grouping_sets", "totals")):
        instead = "it outside of subqueries that hold rows of units; totals are added up from released groups."
        refuse_part(group, "It asks several questions in one.", instead)
    only(group, "expressions")
    return keys_of([_meant(item, select, rows) for item in group.expressions], rows)


def keys_of(nodes: list[exp.Expression], rows: Scalars) -> list[Expression]:
    """Translate keys; a constant groups nothing, and equal ones are one."""
    keys: list[Expression] = []
    for node in nodes:
        if contains_aggregate(node):
            refuse_part(node, "Groups are formed before aggregates.", "GROUP BY a column.")
        key = rows.expression(node)
        if key not in keys:
            keys.append(key)
    return keys


def _meant(item: exp.Expression, select: exp.Select, rows: Scalars) -> exp.Expression:
    """Follow a position or the name of an output to the expression that it stands for."""
    items = [alias_of(shown) for shown in select.expressions]
    if isinstance(item, exp.Literal):
        if not item.is_string and not item.name.isdigit():
            return item  # a constant such as 1.1 is no position, and groups nothing
        if item.is_string or not item.name.isdigit() or not 1 <= int(item.name) <= len(items):
            refuse_part(item, "A position in GROUP BY is a number from 1 on.", "GROUP BY 1, or the column's name.")
        return items[int(item.name) - 1][0]
    if isinstance(item, exp.Column) and item.args.get("table") is None and rows.scope.find(item) is None:
        aliases = {alias: node for node, alias in items if alias is not None}
        name = matching(item.this, aliases)
        if name is not None:
            return aliases[name]
    return item


Part = TypeVar("Part")


class Grouped(Scalars, Generic[Part]):
    """Translates the SELECT list, HAVING and ORDER BY of a grouped question.

    An aggregate becomes a named part, equal ones the same; an expression that is a group key becomes the key. Any other
    column is a single row's value and refused.
    """

    def __init__(
        self,
        rows: Scalars,
        keys: dict[str, Expression],
        read: Callable[[Scalars, exp.Expression], Part],
        facts: Callable[[Part], Facts],
    ) -> None:
        super().__init__(rows.scope, rows.dialect)
        self.rows = rows
        self.keys = keys
        self.read = read
        self.facts = facts
        self.parts: dict[str, Part] = {}
        self.aliases: dict[str, Expression] = {}
        self.ambiguous: set[str] = set()
        self._forms: dict[str, str] = {}
        self._known: dict[str, Facts] = {}

    @property
    def schema(self) -> Schema:
        """What is known about keys and parts."""
        if len(self._known) < len(self.keys) + len(self.parts):  # another dictionary: schemas are not changed
            below = self.scope.node.schema
            keys = {name: expression.facts(below) for name, expression in self.keys.items()}
            new = {name: self.facts(part) for name, part in self.parts.items() if name not in self._known}
            self._known = keys | self._known | new
        return self._known

    def expression(self, node: exp.Expression) -> Expression:
        """Translate, align and check against what is known about keys and parts."""
        with fitting(node):
            translated = aligned(self.translate(node), self.schema)
            translated.facts(self.schema)
        return translated

    def refuse(self, node: exp.Expression, aggregate: str = "An aggregate cannot stand here.") -> NoReturn:
        """Refuse * as what shows rows: its columns by name would be refused as well."""
        if isinstance(node, exp.Star):
            refuse_part(node, "No single row is ever shown.", "COUNT(*), AVG(x) or SUM(x).")
        super().refuse(node, aggregate)

    def translate(self, node: exp.Expression) -> Expression:
        """An aggregate, a key, or an operation on them."""
        if is_aggregate(node):
            value: Expression = Column(self._part(node))
            kind = _moment_in(node, self.rows) if self.read is measure_of else None
            return value if kind is None else MomentOf((Cast((value,), Kind.INTEGER),), kind)
        if not contains_aggregate(node):
            key = self._key(node)
            if key is not None:
                return Column(key)
        return super().translate(node)

    def column(self, node: exp.Column) -> Expression:
        """A column that is no key: the name of an output, or a single row's value, which is refused."""
        if isinstance(node.this, exp.Star):
            self.refuse(node.this)
        if node.args.get("table") is None:
            if node.name.casefold() in self.ambiguous:
                refuse_part(node, "Several outputs have this name.", "a name for each: expression AS name.")
            alias = matching(node.this, self.aliases)
            if alias is not None:
                return self.aliases[alias]
        facts = self.scope.node.schema[self.scope.column(node).name]  # an unknown name is refused with those there are
        if facts.unit:
            refuse_part(
                node,
                "This is the unit, and no single unit is ever shown.",
                f"COUNT(DISTINCT {node.name}), or a subquery grouped by it.",
            )
        instead = f"it beside an aggregate such as COUNT(*), with GROUP BY {node.name}"
        if facts.kind.numeric:
            instead += f", or an aggregate of it such as AVG({node.name})"
        return refuse_part(node, "Outside an aggregate a column would show single rows.", f"{instead}.")

    def made(self, node: exp.Expression, name: str) -> Expression:  # noqa: ARG002 - what it is called is no matter
        """A value of a single row, unless it is a key."""
        return refuse_part(
            node, "Outside an aggregate it would show single rows.", "the same in a subquery, or in GROUP BY."
        )

    def _key(self, node: exp.Expression) -> str | None:
        """Recognize a group key by its meaning."""
        try:
            wanted = simplified(self.rows.expression(node))
        except QueryRefused:
            return None
        return next((name for name, key in self.keys.items() if simplified(key) == wanted), None)

    def _part(self, node: exp.Expression) -> str:
        """Name an aggregate; the same one twice is one part."""
        part = self.read(self.rows, node)
        form = repr(part.canonical())  # type: ignore[attr-defined]  # measures and statistics have one
        if form not in self._forms:
            name = f"m{len(self.parts)}"
            while name in self.keys:  # a column may be called m0
                name += "_"
            self._forms[form] = name
            self.parts[name] = part
        return self._forms[form]
