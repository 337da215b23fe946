"""From conditions and keys to axes: which values of one column the questions tell apart."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.expressions import (
    And,
    Case,
    Column,
    Equal,
    In,
    IsNull,
    Less,
    LessOrEqual,
    Literal,
    Not,
    NotEqual,
    Or,
)
from discreet.plans.nodes.aggregate import known_keys
from discreet.plans.refusals import refuse
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema
    from discreet.tables.kinds import Value

__all__ = ["Axis", "axis_of", "form"]

_SIMPLE = (And, Case, Column, Equal, In, IsNull, Less, LessOrEqual, Literal, Not, NotEqual, Or)
_UNLISTED = "\x01 a value that no policy lists"
_MOST_CONDITIONS = 1000
_NOWHERE = Literal(None, Kind.INTEGER)


def form(expression: Expression) -> str:
    """Return a text that is the same for equal expressions.

    >>> form(Column("age")) == form(Column("age"))
    True
    """
    return repr(expression.canonical())


@dataclass(frozen=True, eq=False)
class Axis:
    """A column as the questions see it: cells, each a set of values that no question tells apart.

    An engine groups by `key`, whose known values are `known`; value i is in the cell `cell[i]`. Rows with any other
    value are in the last cell, the rest, if `rest` says that some question counts them as well.

    >>> from discreet.plans.expressions.expression import Facts
    >>> axis = axis_of("ward", {"ward": Facts(Kind.TEXT, domain=("a", "b"))}, [Column("ward")], [], rest=True)
    >>> axis.size, axis.holds_key(Column("ward"), "b").tolist()
    (3, [False, True, False])
    """

    column: str
    key: Expression
    known: tuple[Value, ...]
    cell: NDArray[np.int64]
    truth: dict[str, NDArray[np.bool_]]
    values: dict[str, tuple[Value, ...]]
    rest: bool

    @property
    def size(self) -> int:
        """How many cells there are, with the rest."""
        return self.cells + self.rest

    @property
    def cells(self) -> int:
        """How many cells there are, without the rest."""
        return int(self.cell.max(initial=-1)) + 1

    def holds(self, condition: Expression) -> NDArray[np.bool_]:
        """Tell which cells fulfill a condition; the rest never does."""
        return self._padded(self.truth[form(condition)])

    def holds_key(self, key: Expression, value: Value) -> NDArray[np.bool_]:
        """Tell which cells have a value of a key."""
        return self._padded(np.array([each == value for each in self.values[form(key)]], dtype=bool))

    def everything(self) -> NDArray[np.bool_]:
        """All cells but the rest."""
        return self._padded(np.ones(self.cells, dtype=bool))

    def _padded(self, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.append(cells, [False] * self.rest).astype(bool)


def axis_of(
    column: str, schema: Schema, keys: Sequence[Expression], conditions: Sequence[Expression], *, rest: bool
) -> Axis:
    """Find the cells of a column: for its groups and conditions, from public facts alone.

    >>> from discreet.plans.expressions.expression import Facts
    >>> cheap = Less((Column("cost"), Literal(9, Kind.INTEGER)))
    >>> axis = axis_of("cost", {"cost": Facts(Kind.FLOAT)}, [], [cheap], rest=True)
    >>> axis.known, axis.size
    ((0,), 2)
    """
    if keys and not conditions and len({form(key) for key in keys}) == 1:
        known = _known(column, keys[0], schema)
        places = np.arange(len(known))
        return Axis(column, keys[0], known, places, {}, {form(keys[0]): known}, rest)
    if keys or not all(_is_simple(condition, schema) for condition in conditions):
        return _by_value(column, schema, keys, conditions, rest=rest)
    return _by_condition(column, schema, conditions, rest=rest)


def _known(column: str, key: Expression, schema: Schema) -> tuple[Value, ...]:
    known = known_keys(key, schema)
    if known is not None:
        return known
    return refuse(
        column,
        why="A workload counts cells that are known beforehand, and nothing lists the values of this column.",
        instead="a column with keys or narrow whole bounds in the policy, or conditions such as x < 10 alone.",
    )


def _is_simple(condition: Expression, schema: Schema) -> bool:
    """Tell whether a few values stand for all: comparisons with constants, of texts by equality alone."""
    parts = list(condition.walk())
    if not all(isinstance(part, _SIMPLE) for part in parts):
        return False
    ordered = [part for part in parts if isinstance(part, Less | LessOrEqual)]
    direct = all(isinstance(operand, Column | Literal) for part in ordered for operand in part.operands)
    texts = any(schema[part.name].kind is Kind.TEXT for part in parts if isinstance(part, Column))
    return direct and not (ordered and texts)


def _by_value(
    column: str, schema: Schema, keys: Sequence[Expression], conditions: Sequence[Expression], *, rest: bool
) -> Axis:
    """Cells from the column's known values, joined where nothing tells them apart."""
    known = _known(column, Column(column), schema)
    outside: list[Value] = [None] if None not in known else []
    if schema[column].kind is Kind.TEXT:
        outside.append(_UNLISTED)
    if any(condition.evaluate({column: value}) is True for condition in conditions for value in outside):
        refuse(
            column,
            why="A condition counts values that the policy does not list, beside groups of those that it does.",
            instead="the listed values: IN ('a', 'b'), or two workloads.",
        )
    rows: list[tuple[Value, ...]] = [
        (*(key.evaluate({column: value}) for key in keys), *(c.evaluate({column: value}) is True for c in conditions))
        for value in known
    ]
    distinct = {row: place for place, row in enumerate(dict.fromkeys(rows))}
    cell = np.array([distinct[row] for row in rows], dtype=np.int64)
    listed = list(distinct)
    values = {form(key): tuple(row[place] for row in listed) for place, key in enumerate(keys)}
    truth = {
        form(c): np.array([row[len(keys) + place] is True for row in listed], dtype=bool)
        for place, c in enumerate(conditions)
    }
    return Axis(column, Column(column), known, cell, truth, values, rest)


def _by_condition(column: str, schema: Schema, conditions: Sequence[Expression], *, rest: bool) -> Axis:
    """Cells from what conditions say together of a few values that stand for all."""
    distinct = list({form(condition): condition for condition in conditions}.values())
    if len(distinct) > _MOST_CONDITIONS:
        why = f"The questions have {len(distinct)} different conditions on it."
        refuse(column, why=why, instead=f"at most {_MOST_CONDITIONS}, or GROUP BY.")
    standing = _standing(distinct, schema[column].kind)
    told = [tuple(condition.evaluate({column: value}) is True for condition in distinct) for value in standing]
    cells = [truths for truths in dict.fromkeys(told) if any(truths)]
    if not cells:
        refuse(column, why="No value fulfills any of the conditions on it.", instead="conditions that can hold.")
    named: dict[tuple[bool, ...], Expression] = {
        truths: Literal(place, Kind.INTEGER) for place, truths in enumerate(cells)
    }
    by_order = schema[column].kind not in {Kind.TEXT, Kind.BOOLEAN}
    key = (_stairs if by_order else _listed)(column, distinct, dict(zip(standing, told, strict=True)), named)
    truth = {
        form(condition): np.array([truths[place] for truths in cells], dtype=bool)
        for place, condition in enumerate(distinct)
    }
    return Axis(column, key, tuple(range(len(cells))), np.arange(len(cells)), truth, {}, rest)


def _listed(
    column: str,
    conditions: list[Expression],
    told: Mapping[Any, tuple[bool, ...]],
    named: Mapping[tuple[bool, ...], Expression],
) -> Case:
    """Name a value's cell by all that the conditions say of it."""
    del column, told
    operands: list[Expression] = []
    for truths, place in named.items():
        parts = [_surely(condition, wanted=truth) for condition, truth in zip(conditions, truths, strict=True)]
        operands += [And(tuple(parts)) if len(parts) > 1 else parts[0], place]
    return Case((*operands, _NOWHERE))


def _stairs(
    column: str,
    conditions: list[Expression],
    told: Mapping[Any, tuple[bool, ...]],
    named: Mapping[tuple[bool, ...], Expression],
) -> Case:
    """Name a value's cell by where it lies among all constants: below the first, at it, between it and the next, ….

    That is as long as there are constants; what each condition says, written out for each cell, is that times as long.
    """
    own = Column(column)
    values = [value for value in told if value is not None]
    of_dates = any(isinstance(value, dt.date) for value in values)
    compared = [one for one in _constants(conditions) if isinstance(one.value, dt.date) is of_dates]
    ordered = sorted((one for one in compared if not isinstance(one.value, str | bool)), key=_moment)
    rungs: list[Expression] = [kind((own, constant)) for constant in ordered for kind in (Less, LessOrEqual)]
    steps: list[tuple[Expression | None, Expression]] = []
    for rung in [*rungs, None]:
        here = [value for value in values if rung is None or rung.evaluate({column: value}) is True]
        values = [value for value in values if value not in here]
        if not here:
            continue  # no value lies there
        place = named.get(told[here[0]], _NOWHERE)
        if steps and steps[-1][1] is place:
            steps.pop()
        steps.append((rung, place))
    operands: list[Expression] = [IsNull((own,)), named.get(told[None], _NOWHERE)]
    for rung, place in steps[:-1]:
        operands += [rung, place] if rung is not None else []
    return Case((*operands, steps[-1][1]))


def _moment(constant: Literal) -> Any:  # noqa: ANN401 - a number, or a moment
    """What constants are ordered by: a day is its midnight."""
    value: Any = constant.value
    return dt.datetime.combine(value, dt.time()) if type(value) is dt.date else value


def _constants(conditions: Sequence[Expression]) -> set[Literal]:
    """Everything that conditions compare with."""
    parts = [part for condition in conditions for part in condition.walk()]
    listed = {Literal(choice, Kind.of(choice)) for part in parts if isinstance(part, In) for choice in part.choices}
    return listed | {part for part in parts if isinstance(part, Literal) and part.value is not None}


def _surely(condition: Expression, *, wanted: bool) -> Expression:
    """A condition, or that it is not true: false or NULL."""
    yes, no = (Literal(value, Kind.BOOLEAN) for value in (True, False))
    return Case((condition, yes, no)) if wanted else Case((condition, no, yes))


def _standing(conditions: Sequence[Expression], kind: Kind) -> list[Value]:
    """Values that stand for all: NULL, every constant that is compared with, and one between each two and beyond."""
    constants = {constant.value for constant in _constants(conditions) if constant.value is not None}
    if kind is Kind.TEXT:
        return [None, *sorted(str(value) for value in constants), _UNLISTED]
    if kind is Kind.BOOLEAN:
        return [None, False, True]
    if kind in {Kind.INTEGER, Kind.FLOAT}:
        numbers = sorted(Fraction(value) for value in constants if isinstance(value, int | float | Fraction))
        between = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
        beyond = [numbers[0] - 1, numbers[-1] + 1] if numbers else [Fraction(0)]
        points = sorted({*numbers, *between, *beyond})
        if kind is Kind.INTEGER:
            whole = {int(point // 1) + move for point in points for move in (-1, 0, 1)}
            return [None, *sorted(whole)]
        return [None, *(float(point) for point in points)]
    step = dt.timedelta(days=1) if kind is Kind.DATE else dt.timedelta(microseconds=1)
    times = sorted(value for value in constants if isinstance(value, dt.date))
    return [None, *dict.fromkeys(moved for time in times for moved in (time - step, time, time + step))]
