"""Every expression is total, stays within its interval, and says truly whether it can be NULL."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import QueryRefused
from discreet.plans import expressions as e
from discreet.plans.expressions import casts
from discreet.plans.expressions.dates import PARTS, UNITS
from discreet.plans.expressions.expression import Expression, Facts, Operation, settled
from discreet.plans.normal import aligned, simplified
from discreet.tables import Bounds, Kind
from discreet.tables.kinds import INT64, LARGEST_FLOAT, LONGEST_TEXT, SMALLEST_FLOAT, as_number, is_of_kind
from tests.plans.claims import fits

if TYPE_CHECKING:
    from collections.abc import Callable

integers = st.one_of(st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**53 + 1, -(2**63)]))
floats = st.one_of(
    st.floats(-100, 100).map(settled),
    st.floats(allow_nan=False, allow_infinity=False).map(settled),
    st.sampled_from([0.0, 0.5, -2.5, 1e-140, LARGEST_FLOAT, -LARGEST_FLOAT, SMALLEST_FLOAT]),
)
texts = st.one_of(
    st.text(max_size=6), st.sampled_from(["12", "-7", "1.5e3", "2024-02-29", "2023-02-29", "true", "Ab%_"])
)
dates = st.dates()
timestamps = st.datetimes()
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INTEGER: integers,
    Kind.FLOAT: floats,
    Kind.TEXT: texts,
    Kind.DATE: dates,
    Kind.TIMESTAMP: timestamps,
}
NUMBERS = (Kind.INTEGER, Kind.FLOAT)
MOMENTS = (Kind.DATE, Kind.TIMESTAMP)

FORMATS = (
    (("year", ""), ("", "-"), ("month", "")),
    (("dayname", ""), ("monthname3", ""), ("doy", ""), ("second", "")),
)

# Each operation with the kinds of operands that it takes; laws below run over all of them.
OPERATIONS: list[tuple[Callable[[tuple[Expression, ...]], Expression], tuple[tuple[Kind, ...], ...]]] = [
    *[(kind, (NUMBERS, NUMBERS)) for kind in (e.Add, e.Subtract, e.Multiply, e.Divide, e.Remainder)],
    *[(kind, (NUMBERS, NUMBERS)) for kind in (e.Equal, e.NotEqual, e.Less, e.LessOrEqual, e.NullIf)],
    *[(kind, (NUMBERS, NUMBERS)) for kind in (e.Greatest, e.Least, e.Coalesce)],
    *[(kind, (MOMENTS, MOMENTS)) for kind in (e.Equal, e.Less, e.DaysBetween)],
    *[(kind, ((Kind.TEXT,), (Kind.TEXT,))) for kind in (e.Equal, e.LessOrEqual, e.Concat, e.Coalesce, e.NullIf)],
    *[(kind, (NUMBERS,)) for kind in (e.Negate, e.Abs, e.Sign, e.Floor, e.Ceil, e.Sqrt, e.Ln, e.Exp, e.IsNull)],
    *[(kind, ((Kind.TEXT,),)) for kind in (e.Lower, e.Upper, e.Trim, e.Length)],
    *[(kind, ((Kind.BOOLEAN,), (Kind.BOOLEAN,))) for kind in (e.And, e.Or)],
    (e.Not, ((Kind.BOOLEAN,),)),
    (e.IntegerDivide, ((Kind.INTEGER,), (Kind.INTEGER,))),
    (e.Case, ((Kind.BOOLEAN,), NUMBERS, (Kind.BOOLEAN,), NUMBERS, NUMBERS)),
    (e.Case, ((Kind.BOOLEAN,), (Kind.TEXT,), (Kind.TEXT,))),
    *[(lambda some, at=start: e.Substring(some, at, 2), ((Kind.TEXT,),)) for start in (1, 5)],
    *[(lambda some, d=digits: e.Round(some, d), (NUMBERS,)) for digits in (-2, 0, 1, 15)],
    *[(lambda some, p=power: e.Power(some, p), (NUMBERS,)) for power in (2, 3, 16)],
    (lambda some: e.Bucket(some, (0.0, 0.5, 10.0)), (NUMBERS,)),
    (lambda some: e.In(some, (1, 2.5)), (NUMBERS,)),
    (lambda some: e.Like(some, "_b%"), ((Kind.TEXT,),)),
    (lambda some: e.Substring(some, 2, 3), ((Kind.TEXT,),)),
    *[(lambda some, p=part: e.DatePart(some, p), (MOMENTS,)) for part in PARTS],
    *[(lambda some, u=unit: e.DateTrunc(some, u), (MOMENTS,)) for unit in UNITS],
    *[(lambda some, w=seconds: e.Period(some, w), (MOMENTS,)) for seconds in (86400, 7 * 86400, 36600 * 86400)],
    *[(lambda some, w=seconds: e.Period(some, w), ((Kind.TIMESTAMP,),)) for seconds in (1, 900, 3600)],
    (e.Microseconds, (MOMENTS,)),
    *[(lambda some, k=kind: e.MomentOf(some, k), ((Kind.INTEGER,),)) for kind in MOMENTS],
    *[(lambda some, p=pieces: e.FormatDate(some, p), (MOMENTS,)) for pieces in FORMATS],
    *[(lambda some, s=sought: e.Position(some, s), ((Kind.TEXT,),)) for sought in ("b", "0", "20")],
    *[(lambda some, b=by: e.Replace(some, "0", b), ((Kind.TEXT,),)) for by in ("", "z")],
    *[(lambda some, p=place: e.SplitPart(some, "-", p), ((Kind.TEXT,),)) for place in (1, 2, 9)],
    *[(lambda some, p=pattern: e.Matches(some, p), ((Kind.TEXT,),)) for pattern in ("", r"^\d+$", "[a-z]_|e")],
    *[(lambda some, n=days: e.AddDays(some, n), ((Kind.DATE,),)) for days in (-3652058, -1, 0, 400, 2_000_000)],
    *[
        (lambda some, n=seconds: e.AddSeconds(some, n), ((Kind.TIMESTAMP,),))
        for seconds in (-315_537_000_000, -1, 0, 86400, 315_537_000_000)
    ],
    *[
        (lambda some, to=after: e.Cast(some, to), ((before,),))
        for before, after in [*casts._MEANING, (Kind.TEXT, Kind.TEXT)]
    ],
]


@st.composite
def columns(draw: st.DrawFn, kinds: tuple[Kind, ...]) -> tuple[Facts, Any]:
    """A column's facts, and a cell that fits them: bounds drawn around the cell, or none."""
    kind = draw(st.sampled_from(kinds))
    value = draw(VALUES[kind])
    nullable = draw(st.booleans())
    bounds = Bounds()
    if kind.numeric or kind.temporal:
        around = Fraction(value) if kind.numeric else as_number(value)
        other = draw(VALUES[kind])
        there = Fraction(other) if kind.numeric else as_number(other)
        bounds = draw(
            st.sampled_from([Bounds(), Bounds(min(around, there), max(around, there)), Bounds(around, around)])
        )
    length = draw(st.sampled_from([len(value), len(value) + 3, 2000])) if kind is Kind.TEXT else LONGEST_TEXT
    if nullable and draw(st.integers(0, 4)) == 0:
        value = None
    return Facts(kind, bounds, nullable, length=length), value


@pytest.mark.slow
@settings(max_examples=1500)
@given(data=st.data())
def test_results_are_total_and_within_the_claimed_facts(data: st.DataObject) -> None:
    build, shape = data.draw(st.sampled_from(OPERATIONS))
    drawn = [data.draw(columns(kinds)) for kinds in shape]
    schema = {f"c{place}": facts for place, (facts, _) in enumerate(drawn)}
    row = {f"c{place}": value for place, (_, value) in enumerate(drawn)}
    expression = aligned(build(tuple(e.Column(name) for name in schema)), schema)
    facts = expression.facts(schema)
    value = expression.evaluate(row)
    assert fits(value, facts), (expression, row, facts, value)
    assert simplified(expression).evaluate(row) == value
    assert simplified(expression).facts(schema).kind is facts.kind


ENDS = list(itertools.combinations_with_replacement(range(-3, 4), 2))


@pytest.mark.parametrize("kind", [e.Add, e.Subtract, e.Multiply, e.IntegerDivide, e.Remainder])
def test_bounds_of_small_whole_numbers_hold_all_that_comes_out(kind: type[Operation]) -> None:
    """All pairs of short intervals: what is claimed one too narrow shows there."""
    operation = kind((e.Column("a"), e.Column("b")))
    for first, second in itertools.product(ENDS, ENDS):
        facts = operation.derive(tuple(Facts(Kind.INTEGER, Bounds(*ends), nullable=False) for ends in (first, second)))
        pairs = itertools.product(*(range(low, high + 1) for low, high in (first, second)))
        found = {operation.evaluate({"a": a, "b": b}) for a, b in pairs}
        assert all(fits(each, facts) for each in found)


def test_every_operation_is_among_them() -> None:
    built = {type(build(tuple(e.Column(f"c{place}") for place in range(len(shape))))) for build, shape in OPERATIONS}
    leaves = {e.Column, e.Literal, e.Released}
    assert built == {getattr(e, name) for name in e.__all__} - {e.Expression, e.Operation, e.Strict} - leaves


def test_symbols_are_unique() -> None:
    operations = [getattr(e, name) for name in e.__all__ if name not in {"Expression", "Operation", "Strict"}]
    assert len({operation.symbol for operation in operations}) == len(operations)


# What an engine must reproduce, one line for each case that engines are known to differ on or to stumble over.
MEANINGS: list[tuple[Operation, tuple[Any, ...], Any]] = [
    (e.Add(()), (2**63 - 1, 1), None),
    (e.Add(()), (LARGEST_FLOAT, LARGEST_FLOAT), LARGEST_FLOAT),
    (e.Multiply(()), (SMALLEST_FLOAT, 0.5), 0.0),
    (e.Multiply(()), (-LARGEST_FLOAT, 2), -LARGEST_FLOAT),
    (e.Negate(()), (-(2**63),), None),
    (e.Abs(()), (-(2**63),), None),
    (e.Divide(()), (1, 0), None),
    (e.Divide(()), (0.0, 0.0), None),
    (e.Divide(()), (7, 2), 3.5),
    (e.IntegerDivide(()), (-7, 2), -3),
    (e.IntegerDivide(()), (-(2**63), -1), None),
    (e.Remainder(()), (-7, 2), -1),
    (e.Remainder(()), (7, -2), 1),
    (e.Remainder(()), (5.5, 0), None),
    (e.Sqrt(()), (-1,), None),
    (e.Ln(()), (0,), None),
    (e.Exp(()), (1000,), LARGEST_FLOAT),
    (e.Exp(()), (-1000,), 0.0),
    (e.Round((), 0), (2.5,), 3.0),
    (e.Round((), 0), (-2.5,), -3.0),
    (e.Round((), 0), (0.49999999999999994,), 0.0),
    (e.Round((), -2), (1250,), 1300.0),
    (e.Floor(()), (-0.5,), -1.0),
    (e.Ceil(()), (-0.5,), 0.0),
    (e.Sign(()), (-0.1,), -1),
    (e.Power((), 2), (LARGEST_FLOAT,), LARGEST_FLOAT),
    (e.Equal(()), (2**53 + 1, float(2**53)), True),
    (e.Equal(()), (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)), True),  # noqa: DTZ001
    (e.Less(()), ("Z", "a"), True),
    (e.Less(()), ("ä", "z"), False),
    (e.Less(()), (None, 1), None),
    (e.And(()), (None, False), False),
    (e.Or(()), (None, True), True),
    (e.Not(()), (None,), None),
    (e.Greatest(()), (None, 2, 1), 2),
    (e.Least(()), (None, None), None),
    (e.NullIf(()), (None, 1), None),
    (e.NullIf(()), (1, 1.0), None),
    (e.Case(()), (None, 1, 2), 2),
    (e.Lower(()), ("ÄBC",), "Äbc"),
    (e.Upper(()), ("ß",), "ß"),
    (e.Trim(()), ("  a\t ",), "a\t"),
    (e.Length(()), ("🙂",), 1),
    (e.Substring((), 3, 5), ("abc",), "c"),
    (e.Substring((), 9, 5), ("abc",), ""),
    (e.Like((), "a%b%c"), ("aXbYbZc",), True),
    (e.Like((), "%"), ("",), True),
    (e.Like((), "_"), ("",), False),
    (e.Like((), "a.c"), ("abc",), False),
    (e.Like((), "%a%a%"), ("a",), False),
    (e.Like((), "a%a"), ("a",), False),
    (e.Cast((), Kind.INTEGER), (2.5,), 2),
    (e.Cast((), Kind.INTEGER), (3.5,), 4),
    (e.Cast((), Kind.INTEGER), (1e30,), None),
    (e.Cast((), Kind.INTEGER), (" 12",), None),
    (e.Cast((), Kind.INTEGER), ("1_000",), None),
    (e.Cast((), Kind.INTEGER), ("١٢",), None),
    (e.Cast((), Kind.FLOAT), ("nan",), None),
    (e.Cast((), Kind.FLOAT), ("1e99",), 1e99),
    (e.Cast((), Kind.FLOAT), ("1e400",), None),
    (e.Cast((), Kind.DATE), ("2023-02-29",), None),
    (e.Cast((), Kind.DATE), ("2024-2-1",), None),
    (e.Cast((), Kind.TIMESTAMP), ("2024-02-01 25:00:00",), None),
    (e.Cast((), Kind.TIMESTAMP), ("2024-02-01T12:00:00.5",), dt.datetime(2024, 2, 1, 12, 0, 0, 500_000)),  # noqa: DTZ001
    (e.Cast((), Kind.BOOLEAN), ("TRUE",), None),
    (e.DatePart((), "dow"), (dt.date(2023, 1, 1),), 0),
    (e.DatePart((), "week"), (dt.date(2021, 1, 3),), 53),
    (e.DateTrunc((), "week"), (dt.date(2021, 1, 3),), dt.date(2020, 12, 28)),
    (e.DateTrunc((), "week"), (dt.date(1, 1, 1),), dt.date(1, 1, 1)),
    (e.DateTrunc((), "quarter"), (dt.date(2021, 12, 31),), dt.date(2021, 10, 1)),
    (e.DaysBetween(()), (dt.date(2024, 3, 1), dt.date(2024, 2, 28)), -2),
    (e.AddDays((), -1), (dt.date(1, 1, 1),), None),
    (e.AddSeconds((), -1), (dt.datetime(1, 1, 1),), None),  # noqa: DTZ001
    (e.AddSeconds((), 1), (dt.datetime(9999, 12, 31, 23, 59, 58, 5),), dt.datetime(9999, 12, 31, 23, 59, 59, 5)),  # noqa: DTZ001
    (e.AddSeconds((), 1), (dt.datetime(9999, 12, 31, 23, 59, 59),), None),  # noqa: DTZ001
    (e.AddSeconds((), 7200), (dt.datetime(2024, 2, 28, 23, 30, 0, 5),), dt.datetime(2024, 2, 29, 1, 30, 0, 5)),  # noqa: DTZ001
    (e.AddDays((), -1), (dt.date(2024, 3, 1),), dt.date(2024, 2, 29)),
    (e.Bucket((), (0.0, 5.0, 10.0)), (10,), 3),
    (e.Position((), "b"), ("abcb",), 2),
    (e.Position((), "🙂"), ("ä🙂",), 2),
    (e.Position((), "abcd"), ("abc",), 0),
    (e.Replace((), "aa", "b"), ("aaaa-aaa",), "bb-ba"),
    (e.Replace((), "a", ""), ("banana",), "bnn"),
    (e.SplitPart((), ",", 2), ("a,,b",), ""),
    (e.SplitPart((), ",", 3), ("a,,b",), "b"),
    (e.SplitPart((), ",", 1), ("",), ""),
    (e.SplitPart((), ",", 4), ("a,,b",), ""),
    (e.Matches((), "a.c"), ("a\nc",), True),
    (e.Matches((), "^a$"), ("a\n",), False),
    (e.Matches((), "^ab|cd$"), ("xcd",), True),
    (e.Matches((), "^ab|cd$"), ("cdx",), False),
    (e.Matches((), r"^\d{2,3}$"), ("1234",), False),
    (e.Matches((), r"^\d+$"), ("٣",), False),
    (e.Matches((), "[0-9]*x"), ("x",), True),
    (e.Matches((), "b+a{2,4}$"), ("abaa",), True),
    (e.Matches((), "b+a{2,4}$"), ("aba",), False),
    (e.Microseconds(()), (dt.date(1969, 12, 31),), -86_400_000_000),
    (e.Microseconds(()), (dt.datetime(1, 1, 1),), -62_135_596_800_000_000),  # noqa: DTZ001
    (e.FormatDate((), FORMATS[0]), (dt.date(7, 2, 1),), "0007-02"),
    (e.FormatDate((), FORMATS[1]), (dt.datetime(2023, 1, 1, 23, 59, 58),), "SundayJan00158"),  # noqa: DTZ001
    (e.MomentOf((), Kind.DATE), (2_932_896,), dt.date(9999, 12, 31)),
    (e.MomentOf((), Kind.DATE), (2_932_897,), None),
    (e.MomentOf((), Kind.TIMESTAMP), (-62_135_596_801,), None),
    (e.Period((), 7 * 86400), (dt.date(2024, 2, 29),), dt.date(2024, 2, 26)),
    (e.Period((), 7 * 86400), (dt.date(1999, 12, 31),), dt.date(1999, 12, 27)),
    (e.Period((), 36600 * 86400), (dt.date(1, 1, 1),), None),
    (e.Period((), 900), (dt.datetime(1969, 12, 31, 23, 59, 59, 5),), dt.datetime(1969, 12, 31, 23, 45)),  # noqa: DTZ001
]


@pytest.mark.parametrize("operation, values, result", MEANINGS, ids=[f"{m[0].symbol}{m[1]}" for m in MEANINGS])
def test_the_meaning_of_awkward_rows(operation: Operation, values: tuple[Any, ...], result: object) -> None:
    found = operation.apply(*values)
    assert found == result
    assert type(found) is type(result)


@given(value=st.floats())
def test_settled_floats_multiply_and_divide_without_leaving_floats(value: float) -> None:
    found = settled(value)
    assert (found is None) is math.isnan(value)
    if isinstance(found, float) and found != 0:
        assert SMALLEST_FLOAT <= abs(found) <= LARGEST_FLOAT
        assert 0 < abs(found * found) < math.inf
        assert 0 < abs(LARGEST_FLOAT / found) < math.inf
        assert 0 < abs(SMALLEST_FLOAT / found) < math.inf


def test_a_redefined_column_keeps_no_stale_bounds() -> None:
    schema = {"x": Facts(Kind.INTEGER, Bounds(0, 10), nullable=False)}
    assert e.Multiply((e.Column("x"), e.Literal(-3, Kind.INTEGER))).facts(schema).bounds == Bounds(-30, 0)
    assert e.Cast((e.Cast((e.Column("x"),), Kind.TEXT),), Kind.INTEGER).facts(schema).bounds == Bounds()


def test_known_values_follow_expressions() -> None:
    schema = {
        "ward": Facts(Kind.TEXT, domain=("b", "a")),
        "day": Facts(Kind.DATE, Bounds(as_number(dt.date(2021, 11, 5)), as_number(dt.date(2022, 1, 7)))),
        "free": Facts(Kind.TEXT),
    }
    assert e.Upper((e.Column("ward"),)).facts(schema).keys == ("A", "B")
    assert e.Upper((e.Column("free"),)).facts(schema).keys is None
    months = e.DateTrunc((e.Column("day"),), "month").facts(schema).keys
    assert months == (dt.date(2021, 11, 1), dt.date(2021, 12, 1), dt.date(2022, 1, 1))
    assert e.DatePart((e.Column("day"),), "year").facts(schema).keys == (2021, 2022)
    constant = e.Case(
        (e.Equal((e.Column("free"), e.Literal("x", Kind.TEXT))), e.Literal("y", Kind.TEXT), e.Literal("z", Kind.TEXT))
    )
    assert constant.facts(schema).keys == ("y", "z")


@pytest.mark.parametrize(
    "expression",
    [
        e.Add((e.Literal("a", Kind.TEXT), e.Literal(1, Kind.INTEGER))),
        e.Equal((e.Literal("a", Kind.TEXT), e.Literal(1, Kind.INTEGER))),
        e.And((e.Literal(1, Kind.INTEGER), e.Literal(value=True, kind=Kind.BOOLEAN))),
        e.Cast((e.Literal(1.5, Kind.FLOAT),), Kind.TEXT),
        e.Case((e.Literal(value=True, kind=Kind.BOOLEAN), e.Literal(1, Kind.INTEGER), e.Literal("a", Kind.TEXT))),
        e.Round((e.Literal(1.5, Kind.FLOAT),), 16),
        e.Power((e.Literal(1.5, Kind.FLOAT),), 17),
        e.Substring((e.Literal("a", Kind.TEXT),), 0, 1),
        e.Like((e.Literal("a", Kind.TEXT),), "\\%"),
        e.DatePart((e.Literal(dt.date(2024, 1, 1), Kind.DATE),), "century"),
        e.DateTrunc((e.Literal(dt.date(2024, 1, 1), Kind.DATE),), "decade"),
        e.Column("missing"),
    ],
    ids=lambda expression: str(expression.canonical())[:40],
)
def test_wrong_kinds_are_refused_before_any_row_is_read(expression: Expression) -> None:
    with pytest.raises(QueryRefused, match="Write instead: "):
        expression.facts({})


def test_cells_are_checked_against_their_kind() -> None:
    assert is_of_kind(True, Kind.BOOLEAN)  # noqa: FBT003 - a cell
    assert not is_of_kind(True, Kind.INTEGER)  # noqa: FBT003 - a cell
    assert not is_of_kind(2**63, Kind.INTEGER)
    assert not is_of_kind(dt.datetime(2024, 1, 1), Kind.DATE)  # noqa: DTZ001
    assert INT64.contains(2**63 - 1)


@pytest.mark.parametrize(
    "expression, length",
    [
        (e.Column("x"), 100),
        (e.Concat((e.Column("x"), e.Column("x"))), 200),
        (e.Concat((e.Column("x"), e.Literal("ab", Kind.TEXT))), 102),
        (e.Trim((e.Upper((e.Lower((e.Column("x"),)),)),)), 100),
        (e.Substring((e.Column("x"),), 91, 30), 10),
        (e.Substring((e.Column("x"),), 101, 30), 0),
        (e.Substring((e.Column("x"),), 1, 30), 30),
        (e.Case((e.Column("p"), e.Column("x"), e.Column("y"))), 100),
        (e.Case((e.Column("p"), e.Column("y"), e.Literal(None, Kind.TEXT))), 7),
        (e.Coalesce((e.Column("y"), e.Column("x"))), 100),
        (e.NullIf((e.Column("y"), e.Column("x"))), 7),
        (e.Cast((e.Column("n"),), Kind.TEXT), 20),
        (e.Cast((e.Column("small"),), Kind.TEXT), 3),
        (e.Cast((e.Column("d"),), Kind.TEXT), 10),
        (e.Cast((e.Column("p"),), Kind.TEXT), 5),
        (e.Cast((e.Column("x"),), Kind.TEXT), 100),
        (e.Literal("ä😀", Kind.TEXT), 2),
    ],
    ids=lambda given: repr(given.canonical()) if isinstance(given, Expression) else "",
)
def test_lengths_of_texts_follow_expressions(expression: Expression, length: int) -> None:
    schema = {
        "x": Facts(Kind.TEXT, length=100),
        "y": Facts(Kind.TEXT, length=7),
        "n": Facts(Kind.INTEGER),
        "small": Facts(Kind.INTEGER, Bounds(-20, 99)),
        "d": Facts(Kind.DATE),
        "p": Facts(Kind.BOOLEAN),
    }
    assert expression.facts(schema).length == length
    if expression.facts(schema).kind is Kind.TEXT:
        assert e.Length((expression,)).facts(schema).bounds == Bounds(0, length)


def test_texts_beyond_the_longest_are_refused() -> None:
    half = {"x": Facts(Kind.TEXT, length=2048), "y": Facts(Kind.TEXT, length=2049)}
    assert e.Concat((e.Column("x"), e.Column("x"))).facts(half).length == 4096
    with pytest.raises(QueryRefused, match="may have 4097 characters, and no text here has more than 4096"):
        e.Concat((e.Column("x"), e.Column("y"))).facts(half)
    with pytest.raises(QueryRefused, match="a text constant: It has 4097 characters"):
        e.Literal("a" * 4097, Kind.TEXT).facts({})
