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
    (
        (exp.SimilarTo, exp.RegexpExtract, exp.RegexpReplace),
        "Databases differ in what it matches, and a match may be any part of a text.",
        "x LIKE 'start%', REGEXP_MATCHES(x, '^[a-z]+[0-9]'), or SPLIT_PART(x, ',', 1).",
    ),
    ((exp.Escape,), "Escapes in patterns differ between engines.", "_ for a single character of any kind."),
    ((exp.Rand,), "Chance is not part of a question: noise is added by the release.", "the question without it."),
    (
        (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.Localtimestamp, exp.CurrentDatetime),
        "An answer must not depend on when it is computed, and the policy declares no day for it ([dataset] today).",
        "a constant, such as DATE '2024-02-01'.",
    ),
    ((exp.Placeholder, exp.Parameter), "A question has no parameters.", "the value itself."),
    (
        (exp.ApproxQuantile, exp.ApproxQuantiles, exp.PercentileDisc),
        "Of quantiles the continuous ones are answered.",
        "QUANTILE_CONT(x, 0.5), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x), or MEDIAN(x).",
    ),
    ((exp.LogicalOr, exp.LogicalAnd), "One unit alone could decide it.", "COUNT(*) FILTER (WHERE x)"),
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
    ((exp.Interval,), "An interval is only added to a date.", OTHER_DATE),
    ((exp.Collate,), "Texts are compared by code point.", "the comparison without COLLATE."),
    ((exp.Bracket, exp.Array, exp.Struct, exp.Map), "Lists and structures are not answered.", "plain columns."),
)
