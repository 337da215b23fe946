"""A list of counting questions about one table, compiled to a workload over the cells that they tell apart."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.methods.workloads.algebra.compounds import Kron, Union, Weighted
from discreet.methods.workloads.algebra.lines import Identity, Predicates, Total
from discreet.methods.workloads.axes import Axis, axis_of, form
from discreet.methods.workloads.strategies.product import along
from discreet.methods.workloads.tallies import Margins
from discreet.plans import Plan, Request, aggregates
from discreet.plans.aggregates import Count
from discreet.plans.expressions import And, Column
from discreet.plans.nodes import Filter
from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.engines import Aggregates
    from discreet.methods.workloads.algebra.workload import Floats, Workload
    from discreet.plans.expressions import Expression
    from discreet.plans.nodes import Node
    from discreet.tables.kinds import Value

__all__ = ["Asked", "Compiled", "Statement", "asked", "compiled"]

_COUNTS = "a list of counting questions, such as SELECT ward, COUNT(*) AS n FROM visits WHERE age < 40 GROUP BY ward."


@dataclass(frozen=True, eq=False)
class Asked:
    """One counting question: groups and conditions by the column that each is about.

    >>> Asked.__annotations__["rolled"]
    'Mapping[str, Expression]'
    """

    plan: Plan
    base: Node
    keys: Mapping[str, tuple[str, Expression]]
    conditions: Mapping[str, tuple[Expression, ...]]
    rolled: Mapping[str, Expression]
    axes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The columns that it is about."""
        return list(dict.fromkeys([*self.keys, *self.rolled, *self.conditions]))

    def known(self, column: str) -> tuple[Value, ...]:
        """The groups by a column, as the question alone would have them."""
        name = self.plan.key_column(self.keys[column][0])
        return next(key.known or () for key in self.plan.aggregate.keys if key.column == name)


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement of the list: one question, or one for each of its grouping sets, the finest first.

    >>> Statement.__annotations__["sets"]
    'tuple[Asked, ...]'
    """

    text: str
    outputs: tuple[str, ...]
    sets: tuple[Asked, ...]


def asked(plan: Plan) -> Asked:
    """Read one planned question, or refuse what is no count of rows by columns.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", row_is_unit=True, columns=[Column("ward", keys=["a", "b"])])
    >>> asked(plan_sql(Policy([visits], epsilon=1), "SELECT COUNT(*) AS n FROM visits WHERE ward = 'a'")).columns
    ['ward']
    """
    request = plan.request
    if len(request.measures) != 1 or not isinstance(request.measures[0][1], Count) or request.measures[0][1].operands:
        refuse("SELECT", why="A workload is of counts of rows.", instead=_COUNTS)
    if request.having is not None or request.limit is not None or request.order:
        refuse("HAVING, ORDER BY, LIMIT", why="A workload answers all of its groups, in their order.", instead=_COUNTS)
    names = {request.measures[0][0], *(name for name, _ in request.keys)}
    if any(not isinstance(value, Column) or value.name not in names for _, value in request.outputs):
        refuse("SELECT", why="A workload answers counts, and nothing computed from them.", instead=_COUNTS)
    if not plan.aggregate.known:
        why = "A workload counts cells that are known beforehand, and the values of a key are not."
        refuse("GROUP BY", why=why, instead="keys that the policy lists.")
    base = request.relation
    conditions: list[Expression] = []
    while isinstance(base, Filter):
        conditions += _conjuncts(base.predicate)
        base = base.child
    by_column: dict[str, tuple[Expression, ...]] = {}
    for condition in conditions:
        column = _column_of(condition, "WHERE")
        by_column[column] = (*by_column.get(column, ()), condition)
    keys: dict[str, tuple[str, Expression]] = {}
    for name, key in request.keys:
        column = _column_of(key, "GROUP BY")
        if column in keys:
            refuse("GROUP BY", why=f"Two keys are made of {column}.", instead="one key for each column.")
        keys[column] = (name, key)
    return Asked(plan, base, keys, by_column, {})


def _conjuncts(predicate: Expression) -> Iterable[Expression]:
    if isinstance(predicate, And):
        return [part for operand in predicate.operands for part in _conjuncts(operand)]
    return [predicate]


def _column_of(expression: Expression, place: str) -> str:
    names = list(dict.fromkeys(part.name for part in expression.walk() if isinstance(part, Column)))
    if len(names) != 1:
        listed = ", ".join(names) or "no column"
        refuse(
            place,
            why=f"A condition or key of a workload is about one column; here it is about {listed}.",
            instead="conditions on one column each, joined by AND.",
        )
    return names[0]


@dataclass(frozen=True, eq=False)
class Compiled:
    """Statements over common axes: the workload, how its cells are counted, and which answers belong to whom.

    >>> Compiled.needed.__doc__
    'The marginals that must be counted in the engine so that some marginals with their rests follow.'
    """

    statements: tuple[Statement, ...]
    axes: tuple[Axis, ...]
    even: bool = False
    """Whether each question matters as much as every other, however many answers it has."""

    @property
    def first(self) -> Asked:
        """Any question: its policy and table are those of all."""
        return self.statements[0].sets[0]

    @property
    def rows(self) -> int:
        """The most rows of one unit."""
        plan = self._counting(())
        (statistic,) = plan.aggregate.statistics
        return plan.aggregate.sensitivity(statistic).largest

    @cached_property
    def workload(self) -> Workload:
        """All questions, in order."""
        parts = [self._product(one) for statement in self.statements for one in statement.sets]
        if self.even:
            parts = [Weighted(part, Fraction(1, part.queries)) for part in parts]
        return parts[0] if len(parts) == 1 else Union(parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells of each axis."""
        return tuple(axis.size for axis in self.axes) or (1,)

    def _product(self, one: Asked) -> Workload:
        factors = [self._factor(one, axis) for axis in self.axes] or [Identity(1)]
        return factors[0] if len(factors) == 1 else Kron(factors)

    def _factor(self, one: Asked, axis: Axis) -> Workload:
        rows = self.rows_of(one, axis)
        if rows is None:
            return Total(axis.size)
        if len(rows) == axis.cells and (rows[:, : axis.cells] == np.eye(axis.cells, dtype=bool)).all():
            return Identity(axis.size)
        if len(rows) == 1 and rows.all():
            return Total(axis.size)
        return Predicates(rows.astype(int))

    def rows_of(self, one: Asked, axis: Axis) -> NDArray[np.bool_] | None:
        """For each of a question's groups by a column which cells it counts; None if it counts all, with the rest."""
        column = axis.column
        if column not in one.columns:
            return None
        inside = axis.everything()
        for condition in one.conditions.get(column, ()):
            inside &= axis.holds(condition)
        if column not in one.keys:
            return inside[None, :]
        _, key = one.keys[column]
        return np.array([axis.holds_key(key, value) & inside for value in one.known(column)])

    def sizes(self, one: Asked) -> list[tuple[int, int]]:
        """For each axis how many answers the workload has, and how many of them are the question's."""
        found = []
        for axis in self.axes:
            rows = self.rows_of(one, axis)
            kept = 1 if rows is None else len(rows)
            factor = self._factor(one, axis)
            found.append((factor.queries, kept))
        return found or [(1, 1)]

    # Counting in the engine

    def _counting(self, places: Sequence[int]) -> Plan:
        """Count the known values of some axes, together."""
        keys = tuple((f"axis{place}", self.axes[place].key) for place in places)
        outputs = (*((name, Column(name)) for name, _ in keys), ("n", Column("m0")))
        measures = (("m0", aggregates.count()),)
        return Plan(self.first.plan.policy, Request(self.first.base, keys, measures, outputs))

    def needed(self, parts: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], Plan]:
        """The marginals that must be counted in the engine so that some marginals with their rests follow."""
        wanted: dict[tuple[int, ...], Plan] = {}
        for part in parts:
            resting = [place for place in part if self.axes and self.axes[place].rest]
            for size in range(len(resting) + 1):
                for left in itertools.combinations(resting, size):
                    kept = tuple(place for place in part if place not in left and self.axes)
                    if kept not in wanted:
                        wanted[kept] = self._counting(kept)
        return wanted

    def margins(
        self, parts: Iterable[tuple[int, ...]], counted: Mapping[tuple[int, ...], Callable[[], Aggregates]]
    ) -> Margins:
        """Put together marginals with their rests from what the engine counted; private."""
        known = {part: self._table(part, give()) for part, give in counted.items()}
        if not self.axes:
            return Margins({(0,): known[()].reshape(1)})
        return Margins({part: self._with_rest(known, part, [p for p in part if self.axes[p].rest]) for part in parts})

    def _table(self, part: tuple[int, ...], aggregates_: Aggregates) -> NDArray[np.int64]:
        """Arrange counted groups by axis, and join values into cells."""
        plan = self._counting(part)
        order = [key.column for key in plan.aggregate.keys]
        sizes = [len(key.known or ()) for key in plan.aggregate.keys]
        counts = np.asarray(aggregates_.unprotected(0)[:, 0], dtype=np.int64).reshape(sizes)
        table = np.transpose(counts, [order.index(plan.key_column(f"axis{place}")) for place in part])
        for axis, place in enumerate(part):
            one = self.axes[place]
            names = plan.aggregate.keys[order.index(plan.key_column(f"axis{place}"))].known or ()
            joined = np.zeros((one.cells, len(names)), dtype=np.int64)
            for at, value in enumerate(names):
                joined[one.cell[one.known.index(value)], at] = 1
            table = along(table, joined, axis)
        return table

    def _with_rest(
        self, known: Mapping[tuple[int, ...], NDArray[np.int64]], part: tuple[int, ...], left: Sequence[int]
    ) -> NDArray[np.int64]:
        """Append the rest along some axes: what a marginal without the axis counts beyond its known values."""
        if not left:
            return known[part]
        place, axis = left[0], part.index(left[0])
        inside = self._with_rest(known, part, left[1:])
        whole = self._with_rest(known, tuple(other for other in part if other != place), left[1:])
        rest = whole - inside.sum(axis=axis)
        return np.concatenate([inside, np.expand_dims(rest, axis)], axis=axis)

    # Answers

    def arranged(self, answers: Floats) -> list[list[Floats]]:
        """Part answers by statement and set, each a table over its groups, without the rests."""
        found, place = [], 0
        for statement in self.statements:
            tables = []
            for one in statement.sets:
                sizes = self.sizes(one)
                whole = int(np.prod([size for size, _ in sizes]))
                table = answers[place : place + whole].reshape([size for size, _ in sizes])
                tables.append(table[tuple(slice(kept) for _, kept in sizes)])
                place += whole
            found.append(tables)
        return found


def compiled(statements: Sequence[Statement]) -> Compiled:
    """Find common axes for statements about one table, or refuse them.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", row_is_unit=True, columns=[Column("ward", keys=["a", "b"])])
    >>> text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    >>> one = asked(plan_sql(Policy([visits], epsilon=1), text))
    >>> str(compiled([Statement(text, ("ward", "n"), (one,))]).workload)
    'Identity(2)'
    """
    questions = [one for statement in statements for one in statement.sets]
    if not questions:
        refuse("the list", why="It holds no question.", instead=_COUNTS)
    base = questions[0].base
    if any(repr(one.base.canonical()) != repr(base.canonical()) for one in questions):
        why = "The questions are about different tables, or about different rows of one."
        refuse("FROM", why=why, instead="one workload for each table, and conditions in WHERE.")
    axes = []
    # By name, not as the questions name them: those that differ in that alone are one question, and share a release.
    for column in sorted({column for one in questions for column in one.columns}):
        keys = [key for one in questions for key in _keys_of(one, column)]
        conditions = [condition for one in questions for condition in one.conditions.get(column, ())]
        rest = any(column not in one.columns for one in questions)
        unique = list({form(key): key for key in keys}.values())
        axes.append(axis_of(column, base.schema, unique, conditions, rest=rest))
    order = tuple(axis.column for axis in axes)
    placed = [replace(one, sets=tuple(replace(each, axes=order) for each in one.sets)) for one in statements]
    return Compiled(tuple(placed), tuple(axes))


def _keys_of(one: Asked, column: str) -> list[Expression]:
    grouped = [one.keys[column][1]] if column in one.keys else []
    return grouped + ([one.rolled[column]] if column in one.rolled else [])
