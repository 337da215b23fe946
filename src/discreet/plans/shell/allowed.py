"""What a shell may contain: by allow-list, so that it reads nothing but the tables it is given, and always the same."""

from __future__ import annotations

from sqlglot import exp

from discreet.plans.sql.reading import refuse_part

__all__ = ["require_allowed"]

_PARTS = (
    exp.Select, exp.SetOperation, exp.Subquery, exp.With, exp.CTE, exp.TableAlias, exp.Table, exp.Values, exp.From,
    exp.Join, exp.Where, exp.Group, exp.Having, exp.Qualify, exp.Order, exp.Ordered, exp.Limit, exp.Offset,
    exp.Distinct,
    exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls,
    exp.Rollup, exp.Cube, exp.GroupingSets, exp.Identifier, exp.Column, exp.Star, exp.Alias, exp.Paren, exp.Tuple,
    exp.Literal, exp.Null, exp.Boolean, exp.Interval, exp.Var, exp.DataType, exp.DataTypeParam,
    exp.Between, exp.In, exp.Is, exp.Like, exp.ILike, exp.Escape, exp.Not, exp.Neg, exp.And, exp.Or, exp.Xor, exp.Add,
    exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.DPipe, exp.Exists, exp.All, exp.Any, exp.Bracket, exp.Unnest, exp.Slice,
    exp.IntervalSpan, exp.Lateral,
)  # fmt: skip

_FUNCTIONS = (
    # aggregates
    exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Stddev, exp.StddevPop, exp.StddevSamp,
    exp.Variance, exp.VariancePop, exp.Corr, exp.CovarPop, exp.CovarSamp, exp.PercentileCont, exp.PercentileDisc,
    exp.Quantile, exp.ArgMax, exp.ArgMin, exp.LogicalAnd, exp.LogicalOr, exp.GroupConcat, exp.ArrayAgg, exp.AnyValue,
    exp.Grouping, exp.GroupingId,
    # windows
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue,
    exp.LastValue, exp.NthValue, exp.First, exp.Last,
    # numbers
    exp.Abs, exp.Sign, exp.Round, exp.Floor, exp.Ceil, exp.Trunc, exp.Sqrt, exp.Ln, exp.Log, exp.Exp, exp.Greatest,
    exp.Least, exp.Cbrt, exp.SafeDivide,
    # choices and casts
    exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Cast, exp.TryCast,
    # texts
    exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Substring, exp.Left, exp.Right, exp.Concat, exp.ConcatWs,
    exp.Replace, exp.StrPosition, exp.StartsWith, exp.EndsWith, exp.Contains, exp.SplitPart, exp.Initcap,
    exp.RegexpLike, exp.RegexpReplace, exp.RegexpExtract, exp.Reverse, exp.ToChar, exp.NumberToStr,
    # dates
    exp.Date, exp.Extract, exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff, exp.DateAdd, exp.DateSub, exp.TimestampDiff,
    exp.TimestampAdd, exp.TsOrDsAdd, exp.TsOrDsToDate, exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear,
    exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfWeekIso, exp.DayOfYear, exp.Hour, exp.Minute, exp.Second,
    exp.TimeToStr, exp.StrToTime, exp.StrToDate, exp.LastDay, exp.DateFromParts, exp.Monthname, exp.Dayname,
    # lists
    exp.Array, exp.GenerateSeries, exp.GenerateDateArray, exp.ArraySize,
    exp.And, exp.Or, exp.Xor,
)  # fmt: skip

_NAMED = {
    "mean", "std", "strftime", "monthname", "dayname", "isodow", "dayofweek", "dayofyear", "weekofyear", "epoch",
    "log10", "log2",
    "percentile_cont", "generate_series", "range", "fdiv", "fmod", "width_bucket", "instr",
    "position",
    "date_part", "time_bucket", "make_date", "age", "regr_slope", "regr_intercept", "regr_r2",
    "list", "sem", "skewness", "kurtosis", "mode", "product", "first", "last", "even", "pow", "power", "to_char", "div",
}  # fmt: skip
"""Functions that the parser has no class for, or another one."""

_ENDS = (exp.Literal, exp.Neg, exp.Cast, exp.TryCast, exp.Date, exp.DataType, exp.Interval, exp.Var, exp.TsOrDsToDate)
_NO_TIME = "It is not the same tomorrow, and an answer would not say when it was asked."


def require_allowed(statement: exp.Expression) -> None:
    """Refuse a shell that holds anything but what is listed here, or that could have no end.

    >>> from discreet.plans.sql.reading import read_statement
    >>> require_allowed(read_statement("SELECT ward, RANK() OVER (ORDER BY n) FROM core1"))
    >>> require_allowed(read_statement("SELECT getenv('HOME')"))
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: GETENV('HOME'): This function is not part of a question. Write instead: ...
    """
    for part in statement.walk():
        node: exp.Expression = part  # type: ignore[assignment]  # the parser makes no others
        if isinstance(node, exp.With) and node.args.get("recursive"):
            refuse_part(node, "What calls itself may have no end.", "WITH without RECURSIVE.")
        if isinstance(node, exp.Anonymous):
            if node.name.lower() not in _NAMED:
                _refuse_function(node)
        elif isinstance(node, exp.Func):
            if not isinstance(node, _FUNCTIONS):
                _refuse_function(node)
        elif not isinstance(node, _PARTS):
            refuse_part(node, "This is not part of a question.", "the same without it.")
        if isinstance(node, exp.Table):
            _require_table(node)
        if isinstance(node, exp.GenerateSeries | exp.GenerateDateArray):
            _require_series(node)


def _refuse_function(node: exp.Expression) -> None:
    if isinstance(node, exp.CurrentDate | exp.CurrentTimestamp | exp.CurrentTime | exp.Localtimestamp):
        refuse_part(node, _NO_TIME, "a constant, such as DATE '2024-03-31'.")
    refuse_part(node, "This function is not part of a question.", "arithmetic, texts, dates, windows and aggregates.")


def _require_table(node: exp.Table) -> None:
    for name in ("sample", "pivots", "changes", "when", "version", "hints", "ordinality", "rows_from", "only"):
        if node.args.get(name):
            refuse_part(node, f"Its {name.upper()} is not part of a question.", "the same without it.")


def _require_series(node: exp.Expression) -> None:
    """A series is a source of rows whose number is seen beforehand; as a list it would not fit into memory."""
    source = node.parent
    ends = [node.args.get(word) for word in ("start", "end", "step", "interval")]
    named = [part for end in ends if isinstance(end, exp.Expression) for part in end.walk()]
    constant = all(isinstance(part, _ENDS) for part in named)
    if not constant or not isinstance(source, exp.Table | exp.Unnest):
        refuse_part(node, "Its length is not seen beforehand.", "FROM generate_series(1, 12) AS t(x), with constants.")
