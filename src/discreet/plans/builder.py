"""The same plans without SQL: tables, conditions, groups and measures as Python values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.plans import aggregates as agg
from discreet.plans import statistics as s
from discreet.plans.expressions import And, Column, Expression
from discreet.plans.extract import Extract
from discreet.plans.nodes import Filter, Join, JoinKind, Keep, Node, PerUnit, Project, SemiJoin, UnionAll
from discreet.plans.normal import Bounding, aligned, replaced
from discreet.plans.plan import Ordering, Plan, Request
from discreet.plans.refusals import refuse
from discreet.plans.sql.expressions import Scalars
from discreet.plans.sql.reading import Scope, read_expression
from discreet.plans.sql.relations import scanned, with_floats
from discreet.plans.terms import Term
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from discreet.plans.aggregates import Measure
    from discreet.plans.expressions.expression import Schema
    from discreet.plans.statistics import UnitStatistic
    from discreet.tables import Policy

__all__ = ["Desk", "Frame", "Groups", "table"]

Operand = str | Term
Asked = TypeVar("Asked")
Lent = TypeVar("Lent")

_MOST_ROWS = 1_000_000
_HOW: dict[str, JoinKind | Keep] = {
    "inner": JoinKind.INNER,
    "left": JoinKind.LEFT,
    "semi": Keep.MATCHED,
    "anti": Keep.UNMATCHED,
}


@dataclass(frozen=True)
class Desk(Generic[Asked, Lent]):
    """What becomes of a frame's plans and extracts: a database makes questions and loans of them.

    >>> Desk(ask=lambda plan: plan.key, lend=lambda extract: extract.key) == PLANS
    False
    """

    ask: Callable[[Plan], Asked]
    lend: Callable[[Extract], Lent]


def _plan(plan: Plan) -> Plan:
    return plan


def _extract(extract: Extract) -> Extract:
    return extract


PLANS = Desk(_plan, _extract)
"""Without a database a plan stays a plan."""


def table(policy: Policy, name: str, *, verified: frozenset[str] = frozenset()) -> Frame[Plan, Extract]:
    """Start a question at a table.

    >>> from discreet.plans import aggregates as agg
    >>> from discreet.tables import Column, Policy, Table
    >>> columns = [Column("ward", keys=["cardiology", "surgery"]), Column("cost", lower=0, upper=50_000)]
    >>> policy = Policy([Table("visits", unit="patient_id", rows_per_unit=20, columns=columns)], epsilon=3)
    >>> dear = table(policy, "visits").where("cost > 100")
    >>> plan = dear.group_by("ward").agg(n=agg.count(), cost=agg.mean("cost"))
    >>> list(plan.columns), plan.aggregate.groups
    (['ward', 'n', 'cost'], 2)
    """
    return Frame(policy, scanned(policy, name, verified), PLANS)


@dataclass(frozen=True, repr=False)
class Frame(Generic[Asked, Lent]):
    """Rows that are still to be aggregated or lent; every method returns a new frame and touches no data.

    Conditions, computed columns and what a measure is of (`agg.mean("cost / 100")`) are SQL expressions, such as
    `"cost > 100"`, or terms: `col("cost") > 100`, with `discreet.col`.

    >>> from discreet.plans.terms import col
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="patient_id", rows_per_unit=20, columns=[Column("cost", lower=0, upper=500)])
    >>> frame = table(Policy([visits], epsilon=3), "visits").select(euros=col("cost") / 100)
    >>> frame.node.schema["euros"].bounds
    Bounds(0, 5)
    """

    policy: Policy
    node: Node
    desk: Desk[Asked, Lent]

    def __repr__(self) -> str:
        return f"Frame({', '.join(self.node.schema)})"

    def __getitem__(self, name: str) -> Term:
        """Give a column as a term: `visits.where(visits["cost"] > 100)`."""
        if not isinstance(name, str):
            given = "a condition" if isinstance(name, Term) else shown(name)
            msg = f"a table is asked for a column by its name, not for {given}; write where(…) or select(…)."
            raise ParameterError(msg)
        return Term(Column(_column(self.node, name)))

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> NoReturn:
            if name in self.node.schema:
                msg = f"a table has its columns in brackets: write t[{name!r}]."
                raise AttributeError(msg)
            _say_instead(name, "a table")

    def where(self, *conditions: Operand) -> Frame[Asked, Lent]:
        """Keep the rows that fulfill all conditions."""
        frame = self
        for condition in conditions:
            frame = replace(frame, node=Filter(frame.node, _read(frame.node, condition)))
        return frame

    def select(self, *columns: Operand, **computed: Operand) -> Frame[Asked, Lent]:
        """Keep columns by name, and compute others."""
        return replace(self, node=Project(self.node, _named(self.node, columns, computed)))

    def join(
        self, other: Frame[Asked, Lent], on: str | Sequence[str], *, how: JoinKind | Keep | str = "inner"
    ) -> Frame[Asked, Lent]:
        """Join on columns that both sides have; the unit must be among them unless one side is public.

        `how` is "inner"; "left", which keeps rows of this side that have no partner; "semi" or "anti", which keep this
        side's rows that have a partner, or have none, as EXISTS and NOT EXISTS do, and take no columns from the other.
        Columns keep their names; a name that both sides have and that is not joined on must be renamed first.
        """
        kind = how if isinstance(how, JoinKind | Keep) else _HOW.get(how) if isinstance(how, str) else None
        if kind is None:
            msg = f"how is {shown(how)}; it must be one of {', '.join(_HOW)}."
            raise ParameterError(msg)
        other = self._partner(other)
        wanted: Sequence[str] = on if isinstance(on, list | tuple) else [on]  # type: ignore[list-item]  # read next
        pairs = tuple((_column(self.node, name), _column(other.node, name)) for name in wanted)
        if isinstance(kind, Keep):
            return replace(self, node=SemiJoin(self.node, other.node, pairs, kind))
        right = [name for name in other.node.schema if name not in [theirs for _, theirs in pairs]]
        for name in right:
            if name in self.node.schema:
                instead = f"select(new_name={name!r}, …) first, with the other columns that are needed."
                refuse(name, why="Both sides have a column of this name.", instead=instead)
        joined = Join(self.node, other.node, pairs, kind)
        columns = [(name, Column(f"l.{name}")) for name in self.node.schema]
        return replace(self, node=Project(joined, (*columns, *((name, Column(f"r.{name}")) for name in right))))

    def union_all(self, other: Frame[Asked, Lent]) -> Frame[Asked, Lent]:
        """Put the rows of another frame under these; columns by position."""
        return replace(self, node=UnionAll(*with_floats(self.node, self._partner(other).node)))

    def per_unit(self, *keys: str, **measures: Measure) -> Frame[Asked, Lent]:
        """Summarize each unit's rows, perhaps by further keys: one row per unit and key.

        The unit's column comes first, to join on, unless it was left out before.
        """
        columns = [_column(self.node, key) for key in keys]
        unit = [name for name, facts in self.node.schema.items() if facts.unit and name not in columns][:1]
        names = (*unit, *columns)
        parts, made = _parts(self.node, measures, names)
        node = PerUnit(self.node, names, tuple((name, _per_unit(part)) for name, part in parts.items()))
        outputs = [*((name, Column(name)) for name in names), *((name, Column(part)) for name, part in made.items())]
        return replace(self, node=Project(node, tuple(outputs)))

    def group_by(self, *keys: Operand, **computed: Operand) -> Groups[Asked, Lent]:
        """Form groups by columns, and by computed keys with a name."""
        return Groups(self, _named(self.node, keys, computed))

    def _partner(self, other: Frame[Asked, Lent]) -> Frame[Asked, Lent]:
        """Check what this frame is put together with: it must be of the same database, as one engine reads both."""
        if not isinstance(other, Frame):
            msg = f"{shown(other)} is no table; write db.table('patients'), perhaps with where, select or per_unit."
            raise ParameterError(msg)
        if other.desk != self.desk:
            msg = "the two tables belong to different databases; a question is about one."
            raise ParameterError(msg)
        return other

    def agg(self, bounding: Bounding | None = None, /, *unnamed: Measure, **measures: Measure | Term) -> Asked:
        """Aggregate all rows; a term is computed from the released columns before it."""
        return Groups(self, ()).agg(bounding, *unnamed, **measures)

    def rows(self, bounding: Bounding | None = None, /) -> Lent:
        """Lend the rows themselves to a method that pays for them, at most so many of each unit; see `Extract`."""
        return self.desk.lend(Extract(self.policy, self.node, bounding or Bounding()))


@dataclass(frozen=True, repr=False)
class Groups(Generic[Asked, Lent]):
    """A frame with group keys, ready to be aggregated.

    `having`, `order_by` and `limit` say which rows of the answer are shown, in which order. They act on released
    values, by the names of the answer's columns, and cost nothing.

    >>> from discreet.tables import Policy, Table
    >>> visits = Table("visits", unit="patient_id", rows_per_unit=20)
    >>> plan = table(Policy([visits], epsilon=3), "visits").agg(n=agg.count())
    >>> plan.aggregate.rows_per_unit
    20
    """

    frame: Frame[Asked, Lent]
    keys: tuple[tuple[str, Expression], ...]
    conditions: tuple[Operand, ...] = ()
    ordering: tuple[tuple[Operand, bool], ...] = ()
    most: int | None = None

    def __repr__(self) -> str:
        return f"Groups({', '.join(name for name, _ in self.keys)})"

    if not TYPE_CHECKING:  # as above

        def __getattr__(self, name: str) -> NoReturn:
            _say_instead(name, "a grouped table")

    def having(self, *conditions: Operand) -> Groups[Asked, Lent]:
        """Show the groups whose released values fulfill all conditions."""
        return replace(self, conditions=(*self.conditions, *conditions))

    def order_by(self, *values: Operand, descending: bool = False) -> Groups[Asked, Lent]:
        """Sort the answer by released values, the first one first; NULLs come last."""
        if not isinstance(descending, bool):
            msg = f"descending is {shown(descending)}; it must be True or False. For several: order_by(…).order_by(…)."
            raise ParameterError(msg)
        return replace(self, ordering=(*self.ordering, *((value, descending) for value in values)))

    def limit(self, most: int) -> Groups[Asked, Lent]:
        """Show so many groups at most."""
        return replace(self, most=integer(most, name="most", least=0, most=_MOST_ROWS))

    def agg(self, bounding: Bounding | None = None, /, *unnamed: Measure, **measures: Measure | Term) -> Asked:
        """Aggregate each group; the limits on each unit's rows may be set closer than the policy does.

        A term is computed from released values, by the names of the answer's columns before it, and costs nothing:
        `agg(total=agg.sum("cost"), n=agg.count(), each=col("total") / col("n"))`.
        """
        if unnamed or isinstance(bounding, agg.Measure | Term | Mapping | str | list):
            msg = "an aggregate needs the name of its column in the answer: agg(n=agg.count(), cost=agg.mean('cost'))."
            raise ParameterError(msg)
        keys = {f"key{place}": expression for place, (_, expression) in enumerate(self.keys)}
        asked = {name: measure for name, measure in measures.items() if not isinstance(measure, Term)}
        parts, made = _parts(self.frame.node, asked, keys)
        outputs: dict[str, Expression] = {name: Column(key) for key, (name, _) in zip(keys, self.keys, strict=True)}
        if set(outputs) & set(measures):
            refuse("agg", why="A key and a measure have one name.", instead="another name for the measure.")
        request = Request(self.frame.node, tuple(keys.items()), tuple(parts.items()), ())
        lists = {name for name, part in made.items() if parts[part].size > 1}
        for name, measure in measures.items():
            known = Column(made[name]) if name in made else None
            outputs[name] = known or _released(request, measure, outputs, lists)  # type: ignore[arg-type]  # a term
        conditions = [_released(request, operand, outputs, lists) for operand in self.conditions]
        order = [Ordering(_released(request, operand, outputs, lists), down) for operand, down in self.ordering]
        request = replace(
            request,
            outputs=tuple(outputs.items()),
            having=And(tuple(conditions)) if len(conditions) > 1 else next(iter(conditions), None),
            order=tuple(order),
            limit=self.most,
        )
        return self.frame.desk.ask(Plan(self.frame.policy, request, bounding or Bounding()))


_ELSEWHERE = {
    **dict.fromkeys(("groupby", "by"), "group_by('ward')"),
    **dict.fromkeys(("filter", "query", "loc", "iloc"), "where('cost > 100')"),
    **dict.fromkeys(("merge",), "join(other, on='patient_id')"),
    **dict.fromkeys(("assign", "with_columns", "drop", "rename"), "select('ward', euros='cost / 100')"),
    **dict.fromkeys(("sort", "sort_values", "orderBy"), "group_by('ward').order_by('n', descending=True)"),
    **dict.fromkeys(
        ("head", "tail", "collect", "show", "to_pandas"), "agg(n=agg.count()): no single row is ever shown"
    ),
    **dict.fromkeys(("concat", "union", "append"), "union_all(other)"),
    **dict.fromkeys(("columns", "dtypes", "schema", "describe", "info"), "db.describe()"),
    **dict.fromkeys(("size", "count", "value_counts", "nunique", "len"), "agg(n=agg.count())"),
    **dict.fromkeys(("aggregate", "apply"), "agg(n=agg.count(), cost=agg.mean('cost'))"),
    **{
        name: f"agg(cost=agg.{name}('cost'))"
        for name in ("sum", "mean", "median", "min", "max", "std", "var", "quantile")
    },
}
"""What other libraries call it, and what is written here."""


def _say_instead(name: str, what: str) -> NoReturn:
    """Say what to write for a method that other libraries have."""
    methods = [method for method in (*vars(Frame), *vars(Groups)) if not method.startswith("_")]
    near = f" Write {_ELSEWHERE[name]}." if name in _ELSEWHERE else hint(name, methods)
    msg = f"{what} has no {name}.{near}"
    raise AttributeError(msg)


def _released(request: Request, operand: Operand, outputs: dict[str, Expression], lists: set[str]) -> Expression:
    """Read an expression over the columns of the answer."""
    schema = {name: expression.facts(request.released) for name, expression in outputs.items()}
    released = _expression(request.relation, operand, schema)
    for part in released.walk():
        if isinstance(part, Column) and part.name in lists:
            refuse(
                part.name, why="A list of quantiles or bins cannot be computed with.", instead="one level at a time."
            )
    return replaced(released, outputs)


class _Columns(Scalars):
    """Translates SQL over columns by their names."""

    def __init__(self, node: Node, schema: Schema) -> None:
        super().__init__(Scope(node, {"": {name: name for name in schema}}), "duckdb")
        self._schema = schema

    @property
    def schema(self) -> Schema:
        return self._schema


def _expression(node: Node, operand: Operand, schema: Schema) -> Expression:
    """Read a name, SQL, or a term."""
    if isinstance(operand, Term):
        expression = operand.expression
    elif not isinstance(operand, str):
        msg = (
            f"{shown(operand)} is no expression; write SQL in quotes, such as 'age > 40', or discreet.col('age') > 40."
        )
        raise ParameterError(msg)
    elif operand in schema:
        expression = Column(operand)
    else:
        expression = _Columns(node, schema).translate(read_expression(operand))
    expression = aligned(expression, schema)
    expression.facts(schema)
    return expression


def _read(node: Node, operand: Operand) -> Expression:
    """Read an expression over the columns of a relation: a name, SQL, or a term."""
    return _expression(node, operand, node.schema)


def _column(node: Node, operand: Operand) -> str:
    """Read the name of a column."""
    column = _read(node, operand)
    if not isinstance(column, Column):
        refuse(
            shown(operand), why="This is no column.", instead="a column's name; compute it with select(name=…) first."
        )
    return column.name


def _named(node: Node, columns: Sequence[Operand], computed: dict[str, Operand]) -> tuple[tuple[str, Expression], ...]:
    """Read columns that go by their own names, and computed ones by the names they are given."""
    named: dict[str, Expression] = {}
    for operand in columns:
        expression = _read(node, operand)
        if isinstance(operand, Term) and not isinstance(expression, Column):
            msg = "a computed column needs a name; write name=col('cost') / 100."
            raise ParameterError(msg)
        name = operand if isinstance(operand, str) else expression.name  # type: ignore[attr-defined]  # a column
        _once(name, named)
        named[name] = expression
    for name, operand in computed.items():
        _once(name, named)
        named[name] = _read(node, operand)
    return tuple(named.items())


def _once(name: str, named: dict[str, Expression]) -> None:
    if name in named:
        refuse(name, why="Two columns have this name.", instead="another name for one of them: new_name=….")


def _parts(node: Node, measures: dict[str, Measure], taken: Iterable[str]) -> tuple[dict[str, Measure], dict[str, str]]:
    """Number the measures as SQL does, equal ones as one; and give the part that each name stands for."""
    parts: dict[str, Measure] = {}
    forms: dict[str, str] = {}
    made: dict[str, str] = {}
    for name, measure in measures.items():
        checked = _checked(node, measure)
        part = f"m{len(parts)}"
        while part in taken:  # a column may be called m0
            part += "_"
        made[name] = forms.setdefault(repr(checked.canonical()), part)
        parts.setdefault(made[name], checked)
    return parts, made


def _checked(node: Node, measure: Measure) -> Measure:
    """Check a measure's operands against the columns."""
    if not isinstance(measure, agg.Measure):
        msg = f"{shown(measure)} is no measure; write discreet.agg.count(), discreet.agg.mean('cost') and so on."
        raise ParameterError(msg)
    return measure.with_operands(tuple(_read(node, _operand(node, operand)) for operand in measure.operands))


def _operand(node: Node, operand: Expression) -> Operand:
    """What a measure is of: a text that is no column's name is read as SQL, as conditions are."""
    unknown = isinstance(operand, Column) and operand.name not in node.schema
    return operand.name if isinstance(operand, Column) and unknown else Term(operand)


_UNIT: dict[type[agg.Measure], type[s.UnitCountDistinct | s.UnitSum | s.UnitMean]] = {
    agg.CountDistinct: s.UnitCountDistinct,
    agg.Sum: s.UnitSum,
    agg.Mean: s.UnitMean,
}


def _per_unit(measure: Measure) -> UnitStatistic:
    """Give the same statistic for one unit's rows."""
    if isinstance(measure, agg.Count):
        return s.UnitCountValues(measure.operands[0]) if measure.operands else s.UnitCount()
    if isinstance(measure, agg.Extreme):
        return (s.UnitMax if measure.largest else s.UnitMin)(measure.operands[0])
    if type(measure) not in _UNIT:
        why = "This aggregate is not computed per unit."
        refuse(measure.describe(), why=why, instead="count, count_distinct, sum, mean, min or max per unit.")
    return _UNIT[type(measure)](measure.operands[0])
