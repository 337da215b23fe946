"""How functions of numbers and casts are spelled, as rules of `discreet.plans.sql.expressions`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans import expressions as e
from discreet.plans.normal import aligned
from discreet.plans.sql.constants import KINDS, literal, null, number_of, whole_of
from discreet.plans.sql.reading import only, refuse_part
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import LONGEST_TEXT, Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.sql.rules import Rule, Translator

__all__ = ["NUMBERS"]


def _cast(scalars: Translator, node: exp.Expression) -> Expression:
    """Every cast is total, whether TRY_ is written or not; a longer type than ours is ours."""
    only(node, "this", "to", "safe")
    to = node.args["to"]
    if to.this in _DECIMALS:
        return _decimal(scalars, node, to)
    kind = KINDS.get(to.this)
    if kind is None:
        instead = "BOOLEAN, BIGINT, DOUBLE, DECIMAL(18, 2), VARCHAR, DATE or TIMESTAMP."
        refuse_part(node, "This type is not known here.", instead)
    only(to, "this", "nested", "expressions")
    value = literal(node, kind) if isinstance(node.this, exp.Literal) else e.Cast((scalars.translate(node.this),), kind)
    if to.expressions and kind is Kind.TEXT:
        return e.Substring((value,), 1, min(LONGEST_TEXT, whole_of(to.expressions[0].this)))
    return value


_DECIMALS = {exp.DataType.Type.DECIMAL, exp.DataType.Type.MONEY}
_MOST_DIGITS, _MOST_DECIMALS = 38, 15
_PLAIN_DECIMAL = {"duckdb": (18, 3), "spark": (10, 0)}


def _decimal(scalars: Translator, node: exp.Expression, to: exp.Expression) -> Expression:
    """CAST(x AS DECIMAL(p, s)): rounded to s places, NULL where it has more than p - s digits before the point.

    It stays a double. PostgreSQL's NUMERIC without digits keeps all of them.
    """
    given = tuple(whole_of(parameter.this) for parameter in to.expressions)
    digits, places = (*given, 0)[:2] if given else _PLAIN_DECIMAL.get(scalars.dialect, (_MOST_DIGITS, None))
    if not 1 <= digits <= _MOST_DIGITS or not (places is None or 0 <= places <= min(digits, _MOST_DECIMALS)):
        refuse_part(
            node, f"A decimal has 1 to {_MOST_DIGITS} digits, up to {_MOST_DECIMALS} behind the point.", "DOUBLE"
        )
    value = aligned(scalars.translate(node.this), scalars.schema)
    if value.facts(scalars.schema).kind is not Kind.FLOAT:
        value = e.Cast((value,), Kind.FLOAT)
    if places is None:
        return value
    rounded = e.Round((value,), places)
    end = Fraction(10) ** (digits - places)
    bounds = rounded.facts(scalars.schema).bounds
    if bounds.within(Bounds(-end + 1, end - 1)):
        return rounded
    inside = e.Less((e.Abs((rounded,)), e.Literal(float(end), Kind.FLOAT)))
    return e.Case((inside, rounded, null()))


def _log(scalars: Translator, node: exp.Expression) -> Expression:
    """LOG(base, x); of one number, the logarithm to the base 10, in Spark the natural one."""
    only(node, "this", "expression")
    base, value = (None, node.this) if node.args.get("expression") is None else (node.this, node.expression)
    ln = e.Ln((scalars.translate(value),))
    if base is None and scalars.dialect == "spark":
        return ln
    if base is None:
        return e.Divide((ln, e.Ln((e.Literal(10, Kind.INTEGER),))))
    return e.Divide((ln, e.Ln((scalars.translate(base),))))


def _trunc(scalars: Translator, node: exp.Expression) -> Expression:
    """TRUNC(x): toward 0."""
    only(node, "this")
    value = scalars.translate(node.this)
    below = e.Less((value, e.Literal(0, Kind.INTEGER)))
    return e.Case((below, e.Ceil((value,)), e.Floor((value,))))


def _round(scalars: Translator, node: exp.Expression) -> Expression:
    only(node, "this", "decimals")
    digits = node.args.get("decimals")
    return e.Round((scalars.translate(node.this),), 0 if digits is None else whole_of(digits))


def _power(scalars: Translator, node: exp.Expression) -> Expression:
    only(node, "this", "expression")
    if isinstance(node.expression, exp.Literal) and not node.expression.name.isdigit():
        refuse_part(node, "Powers have constant whole exponents from 2 to 16.", "SQRT(x), or EXP(y * LN(x)).")
    return e.Power((scalars.translate(node.this),), whole_of(node.expression))


def _bucket(scalars: Translator, node: exp.Expression) -> Expression:
    only(node, "this", "min_value", "max_value", "num_buckets")
    if any(node.args.get(name) is None for name in ("min_value", "max_value", "num_buckets")):
        refuse_part(node, "It takes a value, both ends and the number of buckets.", "WIDTH_BUCKET(x, 0, 100, 10)")
    low, high = (number_of(node.args[name]) for name in ("min_value", "max_value"))
    edges = e.Bucket.widths(low, high, whole_of(node.args["num_buckets"]))
    return e.Bucket((scalars.translate(node.this),), edges)


NUMBERS: dict[type[exp.Expression], Rule] = {
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Round: _round,
    exp.Pow: _power,
    exp.WidthBucket: _bucket,
    exp.Log: _log,
    exp.Trunc: _trunc,
}
