"""Every function on rows that make careless engines raise errors, wrap around or return NaN."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.plans import expressions as e
from discreet.plans.nodes import Aggregate, PerUnit, Project, Scan
from discreet.plans.statistics import (
    DistinctCount,
    Moment,
    RowCount,
    Snapped,
    UnitCountDistinct,
    UnitMax,
    UnitMean,
    UnitMin,
    UnitSum,
    ValueCount,
)
from discreet.tables import Column, Policy, Table
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.statistics import Statistic
    from tests.plans.interpreter import Database

FLOATS = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 2.0**500, 2.0**-500, 0.5, -2.5, 2.0**63, None]
INTEGERS = [2**63 - 1, -(2**63), -1, 0, 1, 7, None]
TEXTS = [
    *("", " ", "12", "+12", "1e99", "-1e-99", "1e400", "NaN", "inf", "12\n", "0x10", "1_000", "9" * 19, "٣"),
    *("2021-02-30", "2021-02-28", "0000-01-01", "2021-02-28 24:00:00", "2021-02-28T23:59:60", "2021-02-28 10:00:00.5"),
    *("true", "TRUE", "%", "_", "a'b\"c\\d--", "ß", "İ", "\U0001f600", None),
]
DATES = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2020, 2, 29), dt.date(2021, 1, 3), None]
TIMES = [dt.datetime.combine(day, time) for day in DATES[:4] if day for time in (dt.time.min, dt.time.max)] + [None]

PRIVATE = Table(
    "t",
    unit="id",
    columns=[
        *(Column(name, type="float") for name in ("x", "y")),
        *(Column(name, type="integer") for name in ("i", "j")),
        *(Column(name, type="text") for name in ("s", "r")),
        *(Column(name, type="date") for name in ("d",)),
        *(Column(name, type="timestamp") for name in ("t",)),
        *(Column(name, type="boolean") for name in ("p", "q")),
    ],
)
POLICY = Policy([PRIVATE], epsilon=1)


def database() -> Database:
    """All pairs of odd floats, integers and texts, and every odd date."""
    pairs = list(itertools.product(FLOATS, FLOATS))
    wholes, texts = itertools.product(INTEGERS, INTEGERS), itertools.product(TEXTS, TEXTS[:6])
    marks = itertools.cycle(itertools.product((True, False, None), repeat=2))
    rows: list[dict[str, Any]] = []
    columns = itertools.zip_longest(pairs, wholes, texts, itertools.product(DATES, TIMES))
    for place, ((x, y), (i, j), (s, r), (d, t)) in enumerate(
        tuple(cell or (None, None) for cell in row) for row in columns
    ):
        p, q = next(marks)
        row = {"id": f"u{place % 40}", "x": x, "y": y, "i": i, "j": j, "s": s, "r": r, "d": d, "t": t, "p": p, "q": q}
        rows.append(row)
    return {"t": rows}


X, Y, N, J, S, R, D, T, P, Q = map(e.Column, "xyijsrdtpq")
HALF, TWO = e.Literal(0.5, Kind.FLOAT), e.Literal(2, Kind.INTEGER)
PATTERNS = (
    *(
        "",
        "^$",
        r"^\d+$",
        "12|true",
        "^[+-]?[0-9]{1,3}$",
        r"[^0-9]\.",
        "^.$",
        "a.b",
        r"\\d",
        r"\|",
        "[']",
        r"^\w+$",
        r"\s",
    ),
    *("^\U0001f600$", "[ß\U0001f600]", "[%_]", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "2$", "12\n$", r"[\]\[^-]", "1[0-9_]*0"),
)
FORMAT = (
    *((part, "") for part in ("year", "month", "day", "hour", "minute", "second", "quarter", "doy", "isodow")),
    *(("", "-'\\"), ("monthname", ""), ("dayname", ""), ("monthname3", ""), ("dayname3", ""), ("week", "")),
)
CASES: list[e.Expression] = [
    *(
        kind(pair)
        for kind in (e.Add, e.Subtract, e.Multiply, e.Divide, e.Remainder)
        for pair in ((X, Y), (N, J), (X, N))
    ),
    *(kind((each,)) for kind in (e.Negate, e.Abs, e.Sign, e.Floor, e.Ceil, e.Sqrt, e.Ln, e.Exp) for each in (X, N)),
    e.IntegerDivide((N, J)),
    *(e.Round((each,), digits) for each in (X, N) for digits in (-15, 0, 15)),
    *(e.Power((each,), exponent) for each in (X, N) for exponent in (2, 16)),
    *(e.Bucket((each,), (-1.0, 0.0, 0.5, 1e300)) for each in (X, N)),
    *(e.Cast((S,), kind) for kind in (Kind.INTEGER, Kind.FLOAT, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP)),
    *(e.Cast((N,), kind) for kind in (Kind.FLOAT, Kind.TEXT, Kind.BOOLEAN)),
    e.Cast((X,), Kind.INTEGER),
    *(e.Cast((P,), kind) for kind in (Kind.INTEGER, Kind.TEXT)),
    *(e.Cast((D,), kind) for kind in (Kind.TEXT, Kind.TIMESTAMP)),
    e.Cast((T,), Kind.DATE),
    *(kind(pair) for kind in (e.Equal, e.NotEqual, e.Less, e.LessOrEqual) for pair in ((X, N), (S, R), (D, T), (P, Q))),
    *(kind((P, Q)) for kind in (e.And, e.Or)),
    e.Not((P,)),
    e.IsNull((X,)),
    e.In((X,), (0.5, 2.0**500)),
    e.In((X,), (1, 0.5)),
    e.In((S,), ("12\n", "a'b\"c\\d--")),
    e.Case((P, X, Q, Y, HALF)),
    *(kind((X, Y)) for kind in (e.Coalesce, e.NullIf, e.Greatest, e.Least)),
    e.NullIf((N, X)),
    *(kind((S,)) for kind in (e.Lower, e.Upper, e.Trim, e.Length)),
    e.Concat((S, R)),
    *(e.Substring((S,), start, 2) for start in (1, 3, 900)),
    *(e.Like((S,), pattern) for pattern in ("%", "_", "12%", "%'b%", "_2_")),
    *(e.Position((S,), sought) for sought in ("2", "'b", "\U0001f600", "ß")),
    *(e.Replace((e.Substring((S,), 1, 40),), *pair) for pair in (("1", "\\1$&"), ("é", ""), ("aa", "b"), ("'", "''"))),
    *(e.SplitPart((S,), *pair) for pair in (("-", 1), ("-", 2), ("-", 999), ("1e", 2), (".", 1), ("|", 1))),
    *(e.Matches((e.Substring((S,), 1, 100),), pattern) for pattern in PATTERNS),
    *(e.MomentOf((N,), kind) for kind in (Kind.DATE, Kind.TIMESTAMP)),
    *(
        e.MomentOf((e.Remainder((N, e.Literal(4_000_000, Kind.INTEGER))),), kind)
        for kind in (Kind.DATE, Kind.TIMESTAMP)
    ),
    *(e.Microseconds((each,)) for each in (D, T)),
    *(e.FormatDate((each,), FORMAT) for each in (D, T)),
    e.FormatDate((D,), (("", "nothing"),)),
    *(e.Period((each,), days * 24 * 3600) for each in (D, T) for days in (1, 7, 30, 36600)),
    *(e.Period((T,), seconds) for seconds in (1, 900, 3600)),
    *(e.DatePart((each,), part) for each in (D, T) for part in ("year", "week", "isodow", "dow", "doy", "quarter")),
    *(e.DatePart((T,), part) for part in ("month", "day", "hour", "minute", "second")),
    *(e.DateTrunc((each,), unit) for each in (D, T) for unit in ("year", "quarter", "month", "week", "day")),
    *(e.DateTrunc((T,), unit) for unit in ("hour", "minute")),
    e.DaysBetween((D, T)),
    *(e.AddDays((D,), days) for days in (-3652058, -400, 1, 3652058)),
    *(e.AddSeconds((T,), seconds) for seconds in (-315_537_000_000, -7200, 1, 315_537_000_000)),
    e.AddDays((e.AddDays((D,), -2_000_000),), 2_000_000),
    e.Divide((HALF, e.Subtract((X, Y)))),
    e.Add((e.Multiply((N, J)), TWO)),
]


def asked(*expressions: e.Expression) -> Aggregate:
    """Aggregate expressions: how many values there are, how many different ones, and for numbers their sums."""
    named = tuple((f"v{place}", expression) for place, expression in enumerate(expressions))
    child = Project(Scan(PRIVATE), named)
    statistics: list[Statistic] = [RowCount()]
    for name, _ in named:
        value = e.Column(name)
        statistics += [ValueCount((value,)), DistinctCount(value)]
        if child.schema[name].kind.numeric:
            step = Fraction(1, 1024) if child.schema[name].kind is Kind.FLOAT else Fraction(1)
            statistics.append(Moment((Snapped(value, -(2**30), 2**30, 5, step),)))
            statistics.append(Moment((Snapped(value, -(2**60), 2**60, 0, step),)))
            if child.schema[name].kind is Kind.INTEGER:
                statistics.append(Moment((Snapped(value, -(2**30), 2**30, 5, Fraction(2**20)),)))
    return Aggregate(child, (), tuple(statistics))


def per_unit() -> Aggregate:
    """Statistics per unit of odd rows."""
    bounded = e.Greatest((e.Least((X, e.Literal(3.5, Kind.FLOAT))), e.Literal(-2.0, Kind.FLOAT)))
    project = Project(Scan(PRIVATE), (("k", P), ("f", bounded), ("i", N), ("s", S), ("d", D), ("b", Q)))
    f, i, s, d, b = (e.Column(name) for name in "fisdb")
    some = {
        **{f"{kind.symbol}_f": kind(f) for kind in (UnitSum, UnitMean, UnitMin, UnitMax, UnitCountDistinct)},
        **{f"{kind.symbol}_i": kind(i) for kind in (UnitSum, UnitMin, UnitMax)},
        **{
            f"{kind.symbol}_{name}": kind(v)
            for kind in (UnitMin, UnitMax)
            for name, v in (("s", s), ("d", d), ("b", b))
        },
    }
    child = PerUnit(project, ("k",), tuple(some.items()))
    return Aggregate(child, (), tuple(DistinctCount(e.Column(name)) for name in some))
