"""An answer: a table of noisy cells, each with its ±, and what it promises."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import counted, shown
from discreet.plans.explain import written
from discreet.plans.expressions import Column
from discreet.releases.measures.measure import Cell, NoisyMeasure
from discreet.releases.noise.narrowing import clamps_of
from discreet.releases.noise.price import confident
from discreet.releases.showing.arithmetic import computed, names_in, together
from discreet.releases.showing.pictures import intervals
from discreet.releases.showing.stored import write_stored
from discreet.releases.showing.texts import cell_text, html_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from discreet.plans import Plan
    from discreet.plans.expressions import Expression
    from discreet.privacy.currencies import Currency
    from discreet.releases.noise.numbers import NoisyNumbers
    from discreet.releases.noise.price import Price
    from discreet.releases.noise.recipe import Recipe
    from discreet.tables import Value

__all__ = ["Answer"]

_WIDEST = 24
_MOST_ROWS = 100  # in a notebook
_USUAL = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What a question was answered with: rows of keys and noisy values.

    `cost` is what the dataset was charged: nothing if the question was answered before. `charges` is what each budget
    was charged, by its title: the dataset's, the analyst's and the purpose's. `head` names the last entry of the
    ledger: if you keep it, you can tell later whether entries were cut off.

    Everything in it was protected before: HAVING, ORDER BY, LIMIT and arithmetic were applied to noisy values, and
    looking at it in any way costs nothing.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> columns = [Column("age", lower=0, upper=120)]
    >>> policy = Policy([Table("people", row_is_unit=True, columns=columns)], epsilon=100)
    >>> with Database(policy, {"people": pa.table({"age": [40] * 500})}) as db:
    ...     answer = db.sql("SELECT COUNT(*) AS n FROM people").release(epsilon=50)
    >>> answer.to_dicts(), answer.errors(0.95), answer.promise
    ([{'n': 500}], [{'n': 0.0}], 'ε = 50')
    """

    recipe: Recipe
    groups: tuple[tuple[Value, ...], ...]
    numbers: NoisyNumbers
    promise: str
    cost: Currency
    price: Price
    head: str = ""
    repeated: bool = False
    combined: int = 1
    bounds: Answer | None = None
    """The answer that chose the bounds between which values were clamped, where the price bought some."""
    from_zero: bool = False
    """Whether counts below 0 are shown as 0; see `nonnegative`."""
    charges: Mapping[str, Currency] = field(default_factory=dict)
    """What each budget was charged, by its title, such as "analyst ann"."""

    @property
    def plan(self) -> Plan:
        """The plan that was answered."""
        return self.recipe.plan

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.plan.columns)

    @cached_property
    def _order(self) -> Sequence[int]:
        """Which groups are shown, in which order: HAVING, ORDER BY and LIMIT on released values."""
        request = self.plan.request
        in_order = self._by_keys
        if request.having is None and not request.order:
            return in_order[: request.limit]
        rows = self._usual
        values = [{name: cell.value for name, cell in row.items()} for row in rows]
        kept = [
            place for place in in_order if request.having is None or _evaluated(request.having, values[place]) is True
        ]
        for ordering in reversed(request.order):
            sorted_by = {place: _evaluated(ordering.value, values[place]) for place in kept}
            there = [place for place in kept if sorted_by[place] is not None]
            there.sort(key=lambda place: sorted_by[place], reverse=ordering.descending)
            kept = there + [place for place in kept if sorted_by[place] is None]
        return tuple(kept[: request.limit])

    @property
    def _by_keys(self) -> Sequence[int]:
        """The groups in the order of the question's keys, the first key first; a plan has its keys in another order."""
        plan = self.plan
        places = {key.column: place for place, key in enumerate(plan.aggregate.keys)}
        wanted = list(dict.fromkeys(places[plan.key_column(name)] for name, _ in plan.request.keys))
        if wanted == sorted(wanted):
            return range(len(self.groups))
        ranks = []
        for place in wanted:
            values: list[Any] = list(dict.fromkeys(group[place] for group in self.groups))
            if not plan.aggregate.known:  # known keys occur in their own order
                values.sort(key=lambda value: (value is None, value))
            ranks.append({value: rank for rank, value in enumerate(values)})
        columns = [[rank[group[place]] for group in self.groups] for place, rank in zip(wanted, ranks, strict=True)]
        return tuple(np.lexsort(columns[::-1]).tolist())

    def _measure(self, name: str, confidence: float = _USUAL) -> NoisyMeasure:
        return NoisyMeasure.of(self.recipe, name, self.numbers, confidence)

    def _cell(self, measure: NoisyMeasure, group: int) -> Cell:
        """Read a measure of a group; a count, or counts, from 0 on where that is asked for."""
        cell = measure.cell(group)
        if not self.from_zero or not measure.counts or cell.value is None:
            return cell
        if isinstance(cell.value, tuple):
            return replace(cell, value=tuple(max(int(count or 0), 0) for count in cell.value))
        return replace(cell, value=max(cell.value, 0))

    @cached_property
    def _usual(self) -> list[dict[str, Cell]]:
        return self._released(_USUAL)

    def _released(self, confidence: float) -> list[dict[str, Cell]]:
        """Read keys and measures of every group from the noisy numbers."""
        plan = self.plan
        places = {key.column: place for place, key in enumerate(plan.aggregate.keys)}
        keys = {name: places[plan.key_column(name)] for name, _ in plan.request.keys}
        measures = {name: self._measure(name, confidence) for name, _ in plan.request.measures}
        return [
            {name: Cell(group[place], None, "keys are exact.", exact=True) for name, place in keys.items()}  # type: ignore[arg-type]
            | {name: self._cell(measure, number) for name, measure in measures.items()}
            for number, group in enumerate(self.groups)
        ]

    def cells(self, confidence: float = 0.95) -> list[dict[str, Cell]]:
        """Give the rows as cells: value, ±, and why there is none where there is none."""
        outputs = self.plan.request.outputs
        used = {name: names_in(expression) for name, expression in outputs}
        confidence = confident(confidence)
        levels = {confidence} | {together(confidence, len(names)) for names in used.values() if len(names) > 1}
        known = {level: self._usual if level == _USUAL else self._released(level) for level in levels}
        released = self.plan.request.released

        def cell(name: str, expression: Expression, place: int) -> Cell:
            if isinstance(expression, Column):
                return known[confidence][place][expression.name]
            row = known[together(confidence, len(used[name]))][place]
            return computed(expression, row, {source: facts.kind for source, facts in released.items()})

        return [{name: cell(name, expression, place) for name, expression in outputs} for place in self._order]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Give the rows as dictionaries."""
        columns = {name: _listed(column) for name, column in self._shown_columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def errors(self, confidence: float = 0.95) -> list[dict[str, float | None]]:
        """Give the ± of each cell: with this probability the noise moved the cell by no more.

        Each cell holds by itself. None stands for keys, and where no honest ± exists; `cells` says why. A ratio's ± is
        computed from its noisy count. Rows that were left out by the limits per unit are not part of it.
        """
        return [{name: cell.error for name, cell in row.items()} for row in self.cells(confidence)]

    def nonnegative(self) -> Answer:
        """Give the same answer with 0 in place of counts below 0; it costs nothing, and every ± still holds.

        This brings a bias: noise that was as often below as above is then above only. With Laplace noise of scale b the
        count of a group without rows is b / 2 too large on average, and so are sums over many such groups, by b / 2 for
        each. Bins, and counts that are the sum of others, need not add up any more. Leave counts as they are to add
        them up or to compute with them. HAVING, ORDER BY and arithmetic see what is shown; means and other ratios are
        still made of the counts as they were released.
        """
        return replace(self, from_zero=True)

    def to_json(self) -> str:
        """Write the noisy numbers as a ledger keeps them; for the same question they give the same answer again."""
        return json.dumps(write_stored(self.recipe, self.price, self.groups, self.numbers))

    def plot(self, column: str | None = None, *, confidence: float = 0.95, axes: Axes | None = None) -> Axes:
        """Draw a column of noisy numbers, the first one unless it is named, each with its ±; returns matplotlib's axes.

        A cell without an honest ± is drawn without a bar, and a cell without a value not at all.
        """
        rows = self.cells(confidence)
        numeric = [name for name in self.columns if any(_is_number(row[name]) for row in rows)]
        name = numeric[0] if column is None and numeric else column
        if name not in numeric:
            msg = f"column is {shown(column)}; the columns of noisy numbers are {', '.join(numeric) or 'none'}."
            raise ParameterError(msg)
        keys = [column_of_keys for column_of_keys in self.columns if all(row[column_of_keys].exact for row in rows)]
        drawn = [row for row in rows if _is_number(row[name])]
        labels = [", ".join("NULL" if row[key].value is None else str(row[key].value) for key in keys) for row in drawn]
        values = [(float(row[name].value), row[name].error) for row in drawn]  # type: ignore[arg-type]
        return intervals(axes, labels, values, f"{name}, ± with probability {confidence:g}")

    def to_arrow(self) -> Any:  # noqa: ANN401 - pyarrow is optional
        """Give the rows as a pyarrow table."""
        import pyarrow as pa

        kinds = {"integer": pa.int64(), "float": pa.float64(), "text": pa.string(), "boolean": pa.bool_()}
        kinds |= {"date": pa.date32(), "timestamp": pa.timestamp("us")}
        fields = []
        for name, expression in self.plan.request.outputs:
            kind = kinds[self.plan.columns[name].kind.value]
            measure = dict(self.plan.request.measures).get(getattr(expression, "name", ""))
            fields.append((name, pa.list_(kind) if measure is not None and measure.size > 1 else kind))
        columns = self._shown_columns()
        arrays = [pa.array(columns[name], kind, from_pandas=True) for name, kind in fields]
        return pa.Table.from_arrays(arrays, names=[name for name, _ in fields])

    def _shown_columns(self) -> dict[str, Any]:
        """The values of each column: as arrays where a measure is read for all groups at once, else cell by cell."""
        places = {key.column: place for place, key in enumerate(self.plan.aggregate.keys)}
        keys = {name: places[self.plan.key_column(name)] for name, _ in self.plan.request.keys}
        measures = dict(self.plan.request.measures)
        order = self._order
        rows = slice(len(order)) if isinstance(order, range) else np.array(order, dtype=np.intp)
        shown: dict[str, Any] = {}
        for name, expression in self.plan.request.outputs:
            source = expression.name if isinstance(expression, Column) else ""
            measure = self._measure(source) if source in measures else None
            values = None if measure is None else measure.values()
            if measure is not None and values is not None:
                shown[name] = np.maximum(values[rows], 0) if self.from_zero and measure.counts else values[rows]
            elif source in keys:
                groups = self.groups[rows] if isinstance(rows, slice) else (self.groups[place] for place in order)
                shown[name] = list(map(itemgetter(keys[source]), groups))
            else:
                shown[name] = [_plain(row[name].value) for row in self._shown]
        return shown

    @cached_property
    def _shown(self) -> list[dict[str, Cell]]:
        return self.cells()

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas is optional
        """Give the rows as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        return f"Answer({', '.join(self.columns)}: {counted(len(self._order), 'row')}, {self.promise})"

    def __str__(self) -> str:
        rows = [[_text(cell) for cell in row.values()] for row in self.cells()]
        widths = [max(map(len, column)) for column in zip(self.columns, *rows, strict=True)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        head = "  ".join(name.ljust(width) for name, width in zip(self.columns, widths, strict=True)).rstrip()
        return "\n".join(
            [
                head,
                *lines,
                *self._clamped,
                f"each ± holds with probability 0.95; {self.promise}; {self._paid}{self._head}",
            ]
        )

    def _repr_html_(self) -> str:
        order = self._order
        some = self if len(order) <= _MOST_ROWS else replace(self, recipe=_limited(self.recipe, _MOST_ROWS))
        rows = [[(_text(cell), "" if cell.exact else cell.reason) for cell in row.values()] for row in some.cells()]
        words = "; ".join([*self._clamped, "each ± holds with probability 0.95", self.promise, self._paid])
        return html_table(self.columns, rows, words, more=max(0, len(order) - _MOST_ROWS))

    @property
    def _clamped(self) -> list[str]:
        """Between which bounds values were clamped, if they were chosen for this answer."""
        if self.bounds is None:
            return []
        texts = [f"{written(value)} to [{low:g}, {high:g}]" for value, low, high in clamps_of(self.plan)]
        return [f"clamped, which no ± counts: {', '.join(texts)}; chosen for {self.bounds.promise}"]

    @property
    def _dataset_pays(self) -> bool:
        return self.cost != self.cost * 0

    @property
    def _head(self) -> str:
        return f"; head of the ledger {self.head}" if self.head else ""

    @property
    def _paid(self) -> str:
        """What was charged, and what is behind the answer."""
        if self.repeated and not self._dataset_pays:
            made = f", made of {self.combined} releases" if self.combined > 1 else ""
            return f"answered before{made}: nothing charged to the dataset{self._own_charges}"
        with_others = f", combined with {self.combined - 1} earlier" if self.combined > 1 else ""
        return f"charged {self.cost!r}{self._own_charges}{with_others}"

    @property
    def _own_charges(self) -> str:
        """What was charged to the asker's own budgets, where it differs from what the dataset was charged."""
        return "".join(f", {charge!r} to {title}" for title, charge in self.charges.items() if charge != self.cost)


def _limited(recipe: Recipe, most: int) -> Recipe:
    """The same numbers, of which fewer rows are shown."""
    return replace(recipe, plan=replace(recipe.plan, request=replace(recipe.plan.request, limit=most)))


def _is_number(cell: Cell) -> bool:
    return not cell.exact and isinstance(cell.value, int | float) and not isinstance(cell.value, bool)


def _evaluated(expression: Expression, row: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of any kind
    """Compute with released values."""
    return row[expression.name] if isinstance(expression, Column) else expression.evaluate(row)


def _listed(column: Any) -> list[Any]:  # noqa: ANN401 - an array or a list
    """The values of a column as Python's, None for NaN."""
    if not isinstance(column, np.ndarray):
        return list(column)
    values: list[Any] = column.tolist()
    return [None if math.isnan(value) else value for value in values] if column.dtype.kind == "f" else values


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _text(cell: Cell) -> str:
    return cell_text(cell.value, cell.error, exact=cell.exact, widest=_WIDEST)
