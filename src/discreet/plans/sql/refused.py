"""What is often asked for and never answered, each with its reason and with what to write instead."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["OTHER_DATE", "REFUSED", "SCALAR_SUBQUERY"]

SCALAR_SUBQUERY = (
    "It compares a row with a function of other units' rows.",
    "two questions: ask for the number first, then write the released number into the second.",
)

OTHER_DATE = "a constant, such as DATE '2024-02-01' - INTERVAL 1 MONTH; day + 7; or DATE_DIFF('day', a, b) < 30."

REFUSED: tuple[tuple[tuple[type[exp.Expression], ...], str, str], ...] = (
    (
        (exp.Window, exp.WindowSpec),
        "A window function looks at other units' rows, or gives out single ones.",
        "a GROUP BY, a subquery grouped by the unit, or arithmetic on the released answer.",
    ),
    (
        (exp.Subquery, exp.Select, exp.Exists),
        *SCALAR_SUBQUERY,
    ),
    ((exp.Star,), "A * could show columns that nobody asked for.", "the columns by name."),
    ((exp.ILike,), "Letters without regard to case differ between engines.", "LOWER(x) LIKE 'pattern'"),
    (
        (exp.RegexpLike, exp.SimilarTo, exp.RegexpILike),
        "Regular expressions differ between engines and can take forever.",
        "x LIKE 'start%', or x LIKE '%part%'.",
    ),
    ((exp.Escape,), "Escapes in patterns differ between engines.", "_ for a single character of any kind."),
    ((exp.Concat, exp.ConcatWs), "Engines differ on NULLs in CONCAT.", "a || b, with COALESCE where NULL can occur."),
    ((exp.Log,), "LOG has another base in each engine.", "LN(x), or LN(x) / LN(10)."),
    ((exp.Rand,), "Chance is not part of a question: noise is added by the release.", "the question without it."),
    (
        (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime),
        "An answer must not depend on when it is computed.",
        "a constant, such as DATE '2024-02-01'.",
    ),
    ((exp.Placeholder, exp.Parameter), "A question has no parameters.", "the value itself."),
    (
        (exp.TimeToStr, exp.Monthname, exp.Dayname),
        "How dates are written differs between engines.",
        "DATE_TRUNC('month', x), or EXTRACT(month FROM x).",
    ),
    ((exp.ApproxDistinct,), "Only exact counts get noise.", "COUNT(DISTINCT x)"),
    (
        (exp.ApproxQuantile, exp.ApproxQuantiles, exp.PercentileDisc),
        "Of quantiles the continuous ones are answered.",
        "QUANTILE_CONT(x, 0.5), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x), or MEDIAN(x).",
    ),
    ((exp.LogicalOr, exp.LogicalAnd), "One unit alone could decide it.", "COUNT(*) FILTER (WHERE x)"),
    (
        (exp.RegrSlope,),
        "Regressions are not answered by name.",
        "COVAR_POP(y, x) / VAR_POP(x), of rows that have both.",
    ),
    (
        (
            exp.GroupConcat,
            exp.ArrayAgg,
            exp.AnyValue,
            exp.First,
            exp.Last,
            exp.IgnoreNulls,
            exp.RespectNulls,
            exp.ArgMax,
            exp.ArgMin,
        ),
        "It would hand out single units' values.",
        "COUNT, SUM, AVG, MEDIAN or a histogram.",
    ),
    (
        (exp.Mode,),
        "It would hand out a value that one unit can decide.",
        "COUNT(*) grouped by the column, ORDER BY … LIMIT 1.",
    ),
    ((exp.NullSafeEQ,), "IS NOT DISTINCT FROM is not answered.", "x = y OR (x IS NULL AND y IS NULL)"),
    ((exp.NullSafeNEQ,), "IS DISTINCT FROM is not answered.", "x <> y OR (x IS NULL) <> (y IS NULL)"),
    ((exp.Interval,), "An interval is only added to a date.", OTHER_DATE),
    ((exp.Trunc,), "TRUNC is not answered.", "FLOOR(x), or CEIL(x) of numbers below 0."),
    ((exp.Collate,), "Texts are compared by code point.", "the comparison without COLLATE."),
    ((exp.Bracket, exp.Array, exp.Struct, exp.Map), "Lists and structures are not answered.", "plain columns."),
)
