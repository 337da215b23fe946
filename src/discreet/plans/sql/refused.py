"""What is often asked for and never answered, each with its reason and with what to write instead."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["REFUSED", "SCALAR_SUBQUERY"]

SCALAR_SUBQUERY = (
    "It compares a row with a function of other units' rows.",
    "two questions: ask for the number first, then write the released number into the second.",
)

REFUSED: tuple[tuple[tuple[type[exp.Expression], ...], str, str], ...] = (
    (
        (exp.Window, exp.WindowSpec),
        "A window function looks at other units' rows.",
        "a GROUP BY, or a subquery grouped by the unit.",
    ),
    (
        (exp.Subquery, exp.Select, exp.Exists, exp.Any, exp.All),
        *SCALAR_SUBQUERY,
    ),
    ((exp.Star,), "A * could show columns that nobody asked for.", "the columns by name."),
    ((exp.ILike,), "Letters without regard to case differ between engines.", "LOWER(x) LIKE 'pattern'"),
    (
        (exp.RegexpLike, exp.SimilarTo, exp.RegexpILike),
        "Regular expressions differ between engines and can take forever.",
        "x LIKE 'pattern%'",
    ),
    ((exp.Escape,), "Escapes in patterns differ between engines.", "_ for a single character of any kind."),
    ((exp.Concat,), "Engines differ on NULLs in CONCAT.", "a || b, with COALESCE where NULL can occur."),
    ((exp.Log,), "LOG has another base in each engine.", "LN(x), or LN(x) / LN(10)."),
    ((exp.Rand,), "Chance is not part of a question: noise is added by the release.", "the question without it."),
    (
        (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime),
        "An answer must not depend on when it is computed.",
        "a constant, such as DATE '2024-02-01'.",
    ),
    ((exp.Placeholder, exp.Parameter), "A question has no parameters.", "the value itself."),
    (
        (exp.GroupConcat, exp.ArrayAgg, exp.AnyValue, exp.First, exp.Last, exp.IgnoreNulls, exp.RespectNulls),
        "It would hand out single units' values.",
        "COUNT, SUM, AVG, MEDIAN or a histogram.",
    ),
    (
        (exp.Mode,),
        "It would hand out a value that one unit can decide.",
        "COUNT(*) grouped by the column, ORDER BY … LIMIT 1.",
    ),
    ((exp.NullSafeEQ, exp.NullSafeNEQ), "IS DISTINCT FROM is not answered.", "x = y OR (x IS NULL AND y IS NULL)"),
    ((exp.Interval,), "Intervals are not answered.", "DATE_DIFF('day', a, b)"),
    ((exp.Collate,), "Texts are compared by code point.", "the comparison without COLLATE."),
    ((exp.Bracket, exp.Array, exp.Struct, exp.Map), "Lists and structures are not answered.", "plain columns."),
)
