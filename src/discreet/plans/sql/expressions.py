"""Scalar expressions, by allow-list: each syntax node that is read has its rule here; every other is refused."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.plans import expressions as e
from discreet.plans.expressions.expression import MISFIT
from discreet.plans.normal import aligned, simplified
from discreet.plans.sql.constants import (
    constant,
    folded,
    negative,
    null,
    text_of,
    whole_of,
)
from discreet.plans.sql.intervals import moved
from discreet.plans.sql.moments import MOMENTS, compared, date_sub, part_of_span, time_bucket
from discreet.plans.sql.numbers import NUMBERS
from discreet.plans.sql.reading import chained, only, refuse_part
from discreet.plans.sql.refused import OTHER_DATE, REFUSED, SCALAR_SUBQUERY
from discreet.plans.sql.texts import TEXTS
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema
    from discreet.plans.sql.reading import Scope

__all__ = ["PART", "RELEASED", "Scalars", "fitting", "numbered_as"]

RELEASED = "released"
"""Under this name a placeholder carries the constant that a subquery will be released as."""

Rule: TypeAlias = "Callable[[Scalars, exp.Expression], Expression]"


@contextmanager
def fitting(node: exp.Expression) -> Iterator[None]:
    """Name a part whose operands do not fit by its own text, not by the symbol of the operation."""
    try:
        yield
    except QueryRefused as refusal:
        if not refusal.why.startswith(MISFIT):
            raise
        misfit = refusal
    else:
        return
    added = misfit.why.endswith(("not date.", "not timestamp.")) and node.find(exp.Add, exp.Sub) is not None
    refuse_part(node, misfit.why, OTHER_DATE if added else misfit.instead)


class Scalars:
    """Translates expressions over the rows of a scope."""

    def __init__(self, scope: Scope, dialect: str) -> None:
        self.scope = scope
        self.dialect = dialect

    @property
    def schema(self) -> Schema:
        """The columns that expressions are checked against."""
        return self.scope.node.schema

    def expression(self, node: exp.Expression) -> Expression:
        """Translate a whole expression; its kinds are aligned and checked."""
        with fitting(node):
            translated = aligned(self.translate(node), self.schema)
            translated.facts(self.schema)
        return translated

    def translate(self, node: exp.Expression) -> Expression:
        """Translate one node and what is inside it."""
        rule = RULES.get(type(node))
        if rule is None:
            self.refuse(node)
        return rule(self, node)

    def column(self, node: exp.Column) -> Expression:
        """Resolve a column of the rows."""
        if isinstance(node.this, exp.Star):
            refuse_part(node, "A * could show columns that nobody asked for.", "the columns by name.")
        return self.scope.column(node)

    def made(self, node: exp.Expression, name: str) -> Expression:  # noqa: ARG002 - a group has a reason to refuse it
        """A value that was made for each row before: a part of a list, or a number among a unit's rows."""
        return e.Column(name)

    def refuse(self, node: exp.Expression, aggregate: str = "An aggregate cannot stand here.") -> NoReturn:
        """Refuse a node that no rule reads, with the sentence that fits it best; `aggregate` is that of aggregates."""
        for kinds, why, instead in REFUSED:
            if isinstance(node, kinds):
                refuse_part(node, why, instead)
        if isinstance(node, exp.AggFunc):
            refuse_part(
                node,
                aggregate,
                "COUNT, SUM, AVG, MEDIAN, QUANTILE_CONT, MIN, MAX, VARIANCE, STDDEV, COVAR_POP, CORR or HISTOGRAM, "
                "in the SELECT list or HAVING.",
            )
        refuse_part(node, "This function or operator is not known to be safe.", _LISTED)


def _comparison(kind: type[e.Operation], *, turned: bool = False) -> Rule:
    """Two operands, the second first if `turned`: x > y is y < x."""

    def rule(scalars: Scalars, node: exp.Expression) -> Expression:
        only(node, "this", "expression")
        nodes = [node.expression, node.this] if turned else [node.this, node.expression]
        return kind(tuple(compared(scalars, nodes) or map(scalars.translate, nodes)))

    return rule


def _pair(kind: type[e.Operation], *extra: str) -> Rule:
    """Two operands in order."""

    def rule(scalars: Scalars, node: exp.Expression) -> Expression:
        only(node, "this", "expression", *extra)
        return kind((scalars.translate(node.this), scalars.translate(node.expression)))

    return rule


def _chain(kind: type[e.Operation]) -> Rule:
    """AND and OR of any number of operands."""

    def rule(scalars: Scalars, node: exp.Expression) -> Expression:
        return kind(tuple(scalars.translate(part) for part in chained(node)))

    return rule


def _single(kind: type[e.Operation]) -> Rule:
    """One operand."""

    def rule(scalars: Scalars, node: exp.Expression) -> Expression:
        only(node, "this")
        return kind((scalars.translate(node.this),))

    return rule


def _several(kind: type[e.Operation], *extra: str) -> Rule:
    """One operand and more of them."""

    def rule(scalars: Scalars, node: exp.Expression) -> Expression:
        only(node, "this", "expressions", *extra)
        return kind(tuple(scalars.translate(part) for part in (node.this, *node.expressions)))

    return rule


def _extreme(kind: type[e.Operation]) -> Rule:
    """GREATEST and LEAST; all three dialects pass over NULLs."""
    read = _several(kind, "ignore_nulls")

    def rule(scalars: Scalars, node: exp.Expression) -> Expression:
        return read(scalars, node)

    return rule


def _paren(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this")
    return scalars.translate(node.this)


def _later(
    scalars: Scalars, node: exp.Expression, moment: exp.Expression, by: exp.Expression, sign: int = 1
) -> Expression:
    value = simplified(aligned(scalars.translate(moment), scalars.schema))
    return moved(node, value, value.facts(scalars.schema).kind, by, sign)


def _plus(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this", "expression")
    for moment, by in ((node.this, node.expression), (node.expression, node.this)):
        if isinstance(by, exp.Interval):
            return _later(scalars, node, moment, by)
    return folded(node) or e.Add((scalars.translate(node.this), scalars.translate(node.expression)))


def _minus(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this", "expression")
    if isinstance(node.expression, exp.Interval):
        return _later(scalars, node, node.this, node.expression, -1)
    return folded(node) or e.Subtract((scalars.translate(node.this), scalars.translate(node.expression)))


def _times(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this", "expression")
    return folded(node) or e.Multiply((scalars.translate(node.this), scalars.translate(node.expression)))


def _moved(sign: int) -> Rule:
    """DATE_ADD and DATE_SUB with an interval, or with a number of days as Spark has it."""

    def rule(scalars: Scalars, node: exp.Expression) -> Expression:
        by = node.expression
        if isinstance(by, exp.Interval):
            only(node, "this", "expression")
            return _later(scalars, node, node.this, by, sign)
        only(node, "this", "expression", "unit")
        unit = node.args.get("unit")
        if scalars.dialect != "spark" or unit is None or unit.name.lower() != "day":
            refuse_part(node, "What is added to a date is an interval.", "x + INTERVAL 30 DAY")
        back = isinstance(by, exp.Mul)  # DATE_SUB(x, n) is parsed as DATE_ADD(x, n * -1)
        days = whole_of(by.this if back else by)
        return e.Add((scalars.translate(node.this), e.Literal(-days if back else days, Kind.INTEGER)))

    return rule


def _divide(scalars: Scalars, node: exp.Expression) -> Expression:
    """DuckDB and Spark divide as floats; PostgreSQL divides two integers toward 0."""
    only(node, "this", "expression", "typed", "safe")
    operands = tuple(aligned(scalars.translate(part), scalars.schema) for part in (node.this, node.expression))
    whole = all(operand.facts(scalars.schema).kind.value == "integer" for operand in operands)
    return e.IntegerDivide(operands) if node.args.get("typed") and whole else e.Divide(operands)


def _whole_quotient(scalars: Scalars, node: exp.Expression) -> Expression:
    """X // y: toward 0 for integers, down for floats, as DuckDB has it."""
    only(node, "this", "expression")
    operands = tuple(aligned(scalars.translate(part), scalars.schema) for part in (node.this, node.expression))
    if any(operand.facts(scalars.schema).kind is Kind.FLOAT for operand in operands):
        return e.Divide(operands)
    return e.IntegerDivide(operands)


def _negate(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this")
    return negative(node.this) if isinstance(node.this, exp.Literal) else e.Negate((scalars.translate(node.this),))


def _is(scalars: Scalars, node: exp.Expression) -> Expression:
    """IS NULL, IS TRUE, IS FALSE; PostgreSQL's IS NOT NULL is read as one word."""
    only(node, "this", "expression", "negate")
    value = scalars.translate(node.this)
    if isinstance(node.expression, exp.Null):
        test: Expression = e.IsNull((value,))
    elif isinstance(node.expression, exp.Boolean):
        wanted = constant(node.expression)
        test = e.And((e.Not((e.IsNull((value,)),)), e.Equal((value, wanted))))
    else:
        refuse_part(node, "IS compares with NULL, TRUE or FALSE.", "x IS NULL")
    return e.Not((test,)) if node.args.get("negate") else test


def _between(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this", "low", "high")
    nodes = [node.args[name] for name in ("this", "low", "high")]
    value, low, high = compared(scalars, nodes) or map(scalars.translate, nodes)
    return e.And((e.LessOrEqual((low, value)), e.LessOrEqual((value, high))))


def _in(scalars: Scalars, node: exp.Expression) -> Expression:
    """IN a list of constants; IN a subquery is read where conditions of WHERE are."""
    if node.args.get("query") is not None:
        refuse_part(
            node,
            "IN with a subquery is answered only as a condition of its own in WHERE, joined by AND.",
            "WHERE patient_id IN (SELECT …) AND …; for OR, LEFT JOIN a subquery grouped by the unit.",
        )
    only(node, "this", "expressions")
    if isinstance(node.this, exp.Tuple):
        return _among(scalars, node)
    choices = tuple(constant(item).value for item in node.expressions)
    if not choices or any(choice is None for choice in choices):
        refuse_part(node, "The list holds NULL or nothing.", "x IN ('a', 'b') OR x IS NULL")
    return e.In((scalars.translate(node.this),), choices)


def _among(scalars: Scalars, node: exp.Expression) -> Expression:
    """(a, b) IN ((1, 2), (3, 4)): one of the rows of constants."""
    parts = [scalars.translate(part) for part in node.this.expressions]
    rows: list[Expression] = []
    for choice in node.expressions:
        values = choice.expressions if isinstance(choice, exp.Tuple) else []
        if len(values) != len(parts):
            refuse_part(choice, f"Each row of the list has {len(parts)} values.", "(a, b) IN ((1, 2), (3, 4))")
        constants = [constant(value) for value in values]
        if any(value.value is None for value in constants):
            refuse_part(choice, "The list holds NULL.", "a IS NULL AND b = 1, joined by OR.")
        rows.append(e.And(tuple(e.Equal(pair) for pair in zip(parts, constants, strict=True))))
    return rows[0] if len(rows) == 1 else e.Or(tuple(rows))


def _tuple(scalars: Scalars, node: exp.Expression) -> Expression:  # noqa: ARG001 - one shape for all rules
    """(a, b), in a comparison or a list."""
    instead = "each by itself: a = 1 AND b = 2, such pairs joined by OR; GROUP BY a, b."
    refuse_part(node, "Several values in parentheses are not answered.", instead)


def _like(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this", "expression", "negate")
    like = e.Like((scalars.translate(node.this),), text_of(node.expression))
    return e.Not((like,)) if node.args.get("negate") else like


def _holding(before: str, after: str) -> Rule:
    """STARTS_WITH, ENDS_WITH and CONTAINS with a constant, as patterns."""

    def rule(scalars: Scalars, node: exp.Expression) -> Expression:
        only(node, "this", "expression")
        wanted = text_of(node.expression)
        if any(char in wanted for char in "%_"):
            refuse_part(node, "Here % and _ would mean a pattern.", "SUBSTRING(x, 1, n) = 'prefix'")
        return e.Like((scalars.translate(node.this),), before + wanted + after)

    return rule


def _case(scalars: Scalars, node: exp.Expression) -> Expression:
    """Both forms of CASE."""
    only(node, "this", "ifs", "default")
    subject = None if node.this is None else scalars.translate(node.this)
    operands: list[Expression] = []
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        condition = scalars.translate(branch.this)
        operands.append(condition if subject is None else e.Equal((subject, condition)))
        operands.append(_branch(scalars, branch.args["true"]))
    default = node.args.get("default")
    return e.Case((*operands, null() if default is None else _branch(scalars, default)))


def _if(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this", "true", "false")
    other = node.args.get("false")
    condition, value = scalars.translate(node.this), _branch(scalars, node.args["true"])
    return e.Case((condition, value, null() if other is None else _branch(scalars, other)))


def _branch(scalars: Scalars, node: exp.Expression) -> Expression:
    """A branch may be NULL; elsewhere a NULL constant is refused."""
    return null() if isinstance(node, exp.Null) else scalars.translate(node)


def _null(scalars: Scalars, node: exp.Expression) -> Expression:  # noqa: ARG001 - one shape for all rules
    refuse_part(node, "A comparison with NULL is never true.", "x IS NULL")


def _same(scalars: Scalars, node: exp.Expression) -> Expression:
    """IS NOT DISTINCT FROM: equal, or both NULL; never NULL itself."""
    only(node, "this", "expression")
    for null_side, side in ((node.this, node.expression), (node.expression, node.this)):
        if isinstance(null_side, exp.Null):
            return e.IsNull((scalars.translate(side),))
    one, other = scalars.translate(node.this), scalars.translate(node.expression)
    missing = e.IsNull((one,)), e.IsNull((other,))
    there = e.And((*(e.Not((null_of,)) for null_of in missing), e.Equal((one, other))))
    return e.Or((e.And(missing), there))


def _part_of(scalars: Scalars, node: exp.Expression, value: exp.Expression, name: str) -> Expression:
    """A part of a date; the one number whose meaning follows the dialect is refused where it is not DuckDB's."""
    span = part_of_span(scalars, node, value, name)
    if span is not None:
        return span
    part = _PARTS.get(name, name)
    plain = isinstance(node, exp.DayOfWeek)
    if part == "dow" and (scalars.dialect == "spark" or (plain and scalars.dialect != "duckdb")):
        refuse_part(node, "Dialects number the days of the week differently.", "EXTRACT(isodow FROM x)")
    return e.DatePart((scalars.translate(value),), part)


def _extract(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this", "expression")
    return _part_of(scalars, node, node.expression, node.name.lower())


def _date_part(name: str) -> Rule:
    def rule(scalars: Scalars, node: exp.Expression) -> Expression:
        only(node, "this")
        return _part_of(scalars, node, node.this, name)

    return rule


def _to_date(scalars: Scalars, node: exp.Expression) -> Expression:
    """What Spark's parser puts around the operands of MONTH, DATEDIFF and their like: the date of a date is itself."""
    only(node, "this", "safe")
    value = aligned(scalars.translate(node.this), scalars.schema)
    return value if value.facts(scalars.schema).kind is Kind.DATE else e.Cast((value,), Kind.DATE)


def _truncate(scalars: Scalars, node: exp.Expression) -> Expression:
    only(node, "this", "unit")
    unit = node.args.get("unit")
    name = "" if unit is None else unit.name.lower()
    truncated = e.DateTrunc((scalars.translate(node.this),), name)
    with fitting(node):
        aligned(truncated, scalars.schema).facts(scalars.schema)  # also of constants, which are computed next
    return truncated


def _named(scalars: Scalars, node: exp.Expression) -> Expression:
    """The one function that the parser does not know by its own class: DATE_PART('month', x)."""
    if node.name.lower() == "date_part" and len(node.expressions) == 2:
        only(node, "this", "expressions")
        return _part_of(scalars, node, node.expressions[1], text_of(node.expressions[0]).lower())
    if node.name.lower() == "time_bucket" and len(node.expressions) in (2, 3):
        return time_bucket(scalars, node)  # type: ignore[arg-type]  # by its rule
    if node.name.lower() == "date_sub" and len(node.expressions) == 3:
        return date_sub(scalars, node)  # type: ignore[arg-type]  # by its rule
    instead = _SPELLED.get(node.name.lower(), _LISTED)
    return refuse_part(node, "This function is not known to be safe.", instead)


def _quantified(scalars: Scalars, node: exp.Expression) -> Expression:  # noqa: ARG001 - one shape for all rules
    """ANY and ALL, of a subquery or of a list."""
    if node.find(exp.Query) is not None:
        refuse_part(node, *SCALAR_SUBQUERY)
    refuse_part(node, "Lists are answered after IN only.", "x IN ('a', 'b')")


def _constant(scalars: Scalars, node: exp.Expression) -> Expression:  # noqa: ARG001 - one shape for all rules
    return constant(node)


def _column(scalars: Scalars, node: exp.Expression) -> Expression:
    return scalars.column(node)  # type: ignore[arg-type]  # a column by its rule


def _subquery(scalars: Scalars, node: exp.Expression) -> Expression:  # noqa: ARG001 - one shape for all rules
    refuse_part(node, *SCALAR_SUBQUERY)


PART = "unnest(…)"
"""The column that UNNEST gives its rows (`discreet.plans.sql.sets`); no question can write it as a name."""


def _unnest(scalars: Scalars, node: exp.Expression) -> Expression:
    """UNNEST in the SELECT list, whose rows were made before."""
    if PART not in scalars.scope.merged:
        instead = "a subquery: (SELECT UNNEST(STRING_SPLIT(x, ',')[1:3]) AS y FROM …)"
        refuse_part(node, "A list is taken apart in the SELECT list only.", instead)
    return scalars.made(node, scalars.scope.merged[PART])


def _window(scalars: Scalars, node: exp.Expression) -> Expression:
    """ROW_NUMBER within a unit, whose rows were numbered before."""
    name = scalars.scope.merged.get(numbered_as(node))
    if name is None:
        scalars.refuse(node)
    return scalars.made(node, name)


def numbered_as(node: exp.Expression) -> str:
    """What the numbers of a window are found by: its own words; no question can write them as a name."""
    return node.sql()


def _released(scalars: Scalars, node: exp.Expression) -> Expression:
    """What the splitter put in the place of a subquery; whoever asks cannot write it, as it has no text."""
    released = node.meta.get(RELEASED)
    return released if isinstance(released, e.Released) else scalars.refuse(node)


_PARTS = {
    "dayofweek": "dow",
    "weekday": "dow",
    "dayofweek_iso": "isodow",
    "dow_iso": "isodow",
    "dayofyear": "doy",
    "weekofyear": "week",
    "hours": "hour",
}

_LISTED = "arithmetic, CASE, CAST, or a function that the SQL reference lists."
_SPELLED = {
    "iff": "IF(condition, a, b)",
    "isnull": "COALESCE(x, y)",
    "datepart": "DATE_PART('month', x)",
    "format_date": "DATE_TRUNC('month', x), or EXTRACT(month FROM x).",
    "every": "COUNT(*) FILTER (WHERE x)",
}
"""How functions of other databases are spelled here."""

RULES: dict[type[exp.Expression], Rule] = {
    exp.Column: _column,
    exp.Literal: _constant,
    exp.Boolean: _constant,
    exp.Null: _null,
    exp.Paren: _paren,
    exp.Add: _plus,
    exp.Sub: _minus,
    exp.Mul: _times,
    exp.Div: _divide,
    exp.IntDiv: _whole_quotient,
    exp.Mod: _pair(e.Remainder),
    exp.Neg: _negate,
    exp.NEQ: _comparison(e.NotEqual),
    exp.LT: _comparison(e.Less),
    exp.LTE: _comparison(e.LessOrEqual),
    exp.GT: _comparison(e.Less, turned=True),
    exp.GTE: _comparison(e.LessOrEqual, turned=True),
    exp.And: _chain(e.And),
    exp.Or: _chain(e.Or),
    exp.Not: _single(e.Not),
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.StartsWith: _holding("", "%"),
    exp.EndsWith: _holding("%", ""),
    exp.Contains: _holding("%", "%"),
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _several(e.Coalesce),
    exp.Nullif: _pair(e.NullIf),
    exp.Greatest: _extreme(e.Greatest),
    exp.Least: _extreme(e.Least),
    exp.Abs: _single(e.Abs),
    exp.Sign: _single(e.Sign),
    exp.Ceil: _single(e.Ceil),
    exp.Floor: _single(e.Floor),
    exp.Sqrt: _single(e.Sqrt),
    exp.Ln: _single(e.Ln),
    exp.Exp: _single(e.Exp),
    exp.Lower: _single(e.Lower),
    exp.Upper: _single(e.Upper),
    exp.Trim: _single(e.Trim),
    exp.Length: _single(e.Length),
    exp.DPipe: _pair(e.Concat, "safe"),
    exp.Extract: _extract,
    exp.Year: _date_part("year"),
    exp.Quarter: _date_part("quarter"),
    exp.Month: _date_part("month"),
    exp.Day: _date_part("day"),
    exp.DayOfMonth: _date_part("day"),
    exp.DayOfWeek: _date_part("dow"),
    exp.DayOfWeekIso: _date_part("isodow"),
    exp.DayOfYear: _date_part("doy"),
    exp.Week: _date_part("week"),
    exp.WeekOfYear: _date_part("week"),
    exp.Hour: _date_part("hour"),
    exp.Minute: _date_part("minute"),
    exp.Second: _date_part("second"),
    exp.TimestampTrunc: _truncate,
    exp.DateTrunc: _truncate,
    exp.DateAdd: _moved(1),
    exp.DateSub: _moved(-1),
    exp.TsOrDsAdd: _moved(1),
    exp.TsOrDsToDate: _to_date,
    exp.Window: _window,
    exp.Explode: _unnest,
    exp.Unnest: _unnest,
    exp.Anonymous: _named,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: lambda scalars, node: e.Not((_same(scalars, node),)),
    exp.TimeStrToTime: _paren,
    exp.Tuple: _tuple,
    exp.Any: _quantified,
    exp.All: _quantified,
    exp.Subquery: _subquery,
    exp.Select: _subquery,
    **NUMBERS,
    **TEXTS,
    **MOMENTS,
    exp.Placeholder: _released,
}
"""The allow-list: a syntax node that is not a key here is refused."""
