"""An answer: a table of noisy cells, each with its ±, and what it promises."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import counted, shown
from discreet.plans.aggregates import Histogram
from discreet.plans.explain import written
from discreet.plans.expressions import Column
from discreet.plans.refusals import refuse
from discreet.releases.measures.measure import Cell, NoisyMeasure
from discreet.releases.noise.protection import confident
from discreet.releases.showing.arithmetic import computed, names_in, together
from discreet.releases.showing.notes import dated, limited, reasons, selected, ungrouped
from discreet.releases.showing.pictures import bars, intervals
from discreet.releases.showing.stored import write_stored
from discreet.releases.showing.texts import cell_text, html_table
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from matplotlib.axes import Axes

    from discreet.mechanisms.adding.combinations import NoisyNumbers
    from discreet.plans import Plan
    from discreet.plans.expressions import Expression
    from discreet.privacy import Curve
    from discreet.privacy.costs import Amount
    from discreet.releases.noise.protection import Protection
    from discreet.releases.noise.recipe import Recipe
    from discreet.tables import Value

__all__ = ["Answer", "Bins"]

_End = int | float | None
_WIDEST = 24
_MOST_ROWS = 100  # in a notebook
_USUAL = 0.95


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of the histograms in an answer: values from `lower` on, below `upper`; in the last one also `upper`.

    The outer bins end where the public bounds of the values do; at nothing (None) where there are no bounds, or the
    outermost edge lies beyond them, so that no value can be there. All histograms of a question have the same edges, as
    each bin is one row.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> people = Table("people", row_is_unit=True, columns=[Column("age", lower=0, upper=120)])
    >>> plan = plan_sql(Policy([people], epsilon=1), "SELECT HISTOGRAM(age, [18, 65]) AS n FROM people")
    >>> bins = Bins.of(plan)
    >>> bins.ends, bins.columns(["n"])
    (((0, 18), (18, 65), (65, 120)), ['lower', 'upper', 'n'])
    """

    names: tuple[str, ...]
    """The columns that hold counts."""
    labels: tuple[str, str]
    """The columns that hold the ends."""
    ends: tuple[tuple[_End, _End], ...]
    """The ends of each bin."""
    kind: Kind
    value: str
    """What is counted by its size, in words."""

    @staticmethod
    def of(plan: Plan) -> Bins | None:
        """Read the bins of a question; None where it asks for no histogram."""
        measures = dict(plan.request.measures)
        asked: dict[str, Histogram] = {}
        for name, expression in plan.request.outputs:
            measure = measures.get(expression.name) if isinstance(expression, Column) else None
            if isinstance(measure, Histogram):
                asked[name] = measure
        if not asked:
            return None
        first, *others = asked.values()
        if any(other.edges != first.edges for other in others):
            refuse(
                " and ".join(asked),
                why="Each row of an answer is one bin, and these histograms have different edges.",
                instead="the same edges, or two questions: ask_all answers both for one price.",
            )
        facts = [part.facts(plan.request.relation.schema) for one in asked.values() for part in one.operands]
        bounds = reduce(Bounds.hull, (fact.bounds for fact in facts))
        whole = all(fact.kind is Kind.INTEGER for fact in facts) and all(edge == int(edge) for edge in first.edges)
        prefixes = itertools.chain([""], (f"{next(iter(asked))}{'_' * count}" for count in itertools.count(1)))
        labels = next((f"{prefix}lower", f"{prefix}upper") for prefix in prefixes if _free(prefix, plan.columns))
        kind = Kind.INTEGER if whole else Kind.FLOAT
        value = " and ".join(
            dict.fromkeys(written(part).rpartition(".")[2] for one in asked.values() for part in one.operands)
        )
        return Bins(tuple(asked), labels, _ends(first.edges, bounds, kind), kind, value)

    def columns(self, names: Iterable[str]) -> list[str]:
        """The columns of the answer, the ends before the first count."""
        return [shown for name in names for shown in ((*self.labels, name) if name == self.names[0] else (name,))]

    def rows(self, row: dict[str, Cell]) -> list[dict[str, Cell]]:
        """Spread a group's row over its bins; what is no histogram is repeated."""
        spread = []
        for place, ends in enumerate(self.ends):
            cells: dict[str, Cell] = {}
            for name, cell in row.items():
                if name == self.names[0]:
                    cells |= {
                        label: Cell(end, None, "ends of bins are exact.", exact=True)
                        for label, end in zip(self.labels, ends, strict=True)
                    }
                is_list = name in self.names and isinstance(cell.value, tuple)
                cells[name] = replace(cell, value=cell.value[place]) if is_list else cell  # type: ignore[index]
            spread.append(cells)
        return spread


def _free(prefix: str, columns: Iterable[str]) -> bool:
    return {f"{prefix}lower", f"{prefix}upper"}.isdisjoint(columns)


def _ends(edges: tuple[float, ...], bounds: Bounds, kind: Kind) -> tuple[tuple[_End, _End], ...]:
    low = bounds.lower if bounds.lower is not None and bounds.lower < edges[0] else None
    high = bounds.upper if bounds.upper is not None and bounds.upper >= edges[-1] else None
    return tuple(itertools.pairwise(_end(end, kind) for end in (low, *edges, high)))


def _end(value: float | Fraction | None, kind: Kind) -> _End:
    return None if value is None else int(value) if kind is Kind.INTEGER else float(value)


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
    cost: Amount
    parts: tuple[Protection, ...]
    """What protects each of the releases that it is made of: one, unless it was combined with earlier ones."""
    head: str = ""
    repeated: bool = False
    bounds: Answer | None = None
    """The answer that chose the bounds between which values were clamped, where the price bought some."""
    from_zero: bool = False
    """Whether counts below 0 are shown as 0; see `nonnegative`."""
    charges: Mapping[str, Amount] = field(default_factory=dict)
    """What each budget was charged, by its title, such as "analyst ann"."""

    @property
    def plan(self) -> Plan:
        """The plan that was answered."""
        return self.recipe.plan

    @cached_property
    def _bins(self) -> Bins | None:
        return Bins.of(self.plan)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order; the ends of a histogram's bins stand before its counts."""
        names = self.plan.columns
        return tuple(names if self._bins is None else self._bins.columns(names))

    @property
    def combined(self) -> int:
        """How many releases it is made of."""
        return len(self.parts)

    @property
    def privacy(self) -> Curve:
        """What all releases that it is made of promise together, as a curve; `promise` says it in words."""
        first, *rest = (part.curve for part in self.parts)
        own = sum(rest, start=first)
        return own if self.bounds is None else self.bounds.privacy + own

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
        """The groups in the order of the question's keys, without combinations that no row can have."""
        in_order = self._all_by_keys
        if len(self.plan.aggregate.keys) < 2 or not self.plan.aggregate.known:
            return in_order
        kept = [place for place in in_order if self.plan.possible(self.groups[place])]
        return in_order if len(kept) == len(in_order) else kept

    @property
    def _all_by_keys(self) -> Sequence[int]:
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
        """Give the rows as cells: value, ±, and why there is none where there is none.

        A histogram has one row for each bin, with its ends in the columns `lower` and `upper`.
        """
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

        rows = [{name: cell(name, expression, place) for name, expression in outputs} for place in self._order]
        if self._bins is not None:
            rows = [spread for row in rows for spread in self._bins.rows(row)][: self.plan.request.limit]
        return rows

    @property
    def _height(self) -> int:
        """How many rows there are."""
        limit, rows = self.plan.request.limit, len(self._order) * (1 if self._bins is None else len(self._bins.ends))
        return rows if limit is None else min(rows, limit)

    def to_dicts(self, *, errors: bool = False, confidence: float = 0.95) -> list[dict[str, Any]]:
        """Give the rows as dictionaries; with `errors` also each ± (`n_error`), or why there is none (`n_reason`)."""
        if errors:
            return [_with_errors(row) for row in self.cells(confidence)]
        columns = {name: _listed(column) for name, column in self._shown_columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def notes(self, confidence: float = 0.95) -> list[str]:
        """Say what stands below the answer, from public facts and noisy numbers alone.

        That is: why a value or a ± is missing, which limits no ± counts, and how many units a group that is found in
        the data needs to be shown.
        """
        if self.parts[0].is_free:
            return ["these are the keys that the policy lists; nothing was read from the data"]
        chosen_for = "" if self.bounds is None else self.bounds.promise
        return [
            *reasons(self._shown if confidence == _USUAL else self.cells(confidence)),
            *limited(self.plan, chosen_for),
            *ungrouped(self.plan),
            *dated(self.plan),
            *selected(self.parts[0].selection, self.plan.aggregate.child.unit_kind),
        ]

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
        return json.dumps(write_stored(self.recipe, self.parts[0].price, self.groups, self.numbers))

    def plot(self, column: str | None = None, *, confidence: float = 0.95, axes: Axes | None = None) -> Axes:
        """Draw a column of noisy numbers, the first one unless it is named, each with its ±; returns matplotlib's axes.

        A histogram is drawn as bars, those of groups side by side. A cell without an honest ± is drawn without one, and
        a cell without a value not at all.
        """
        rows = self.cells(confidence)
        numeric = [name for name in self.columns if any(_is_number(row[name]) for row in rows)]
        bins = self._bins
        usual = bins.names if bins is not None else numeric
        name = usual[0] if column is None and usual else column
        if name not in numeric:
            msg = f"column is {shown(column)}; the columns of noisy numbers are {', '.join(numeric) or 'none'}."
            raise ParameterError(msg)
        ends = () if bins is None else bins.labels
        keys = [key for key in self.columns if key not in ends and all(row[key].exact for row in rows)]
        drawn = [row for row in rows if _is_number(row[name])]
        labels = [", ".join("NULL" if row[key].value is None else str(row[key].value) for key in keys) for row in drawn]
        values = [(float(row[name].value), row[name].error) for row in drawn]  # type: ignore[arg-type]
        title = f"{name}, ± with probability {confidence:g}"
        if bins is None or name not in bins.names:
            return intervals(axes, labels, values, title)
        spans = ["…".join("" if row[end].value is None else f"{row[end].value:,.15g}" for end in ends) for row in drawn]
        groups: dict[str, list[tuple[float, float | None]]] = {}
        for label, value in zip(labels, values, strict=True):
            groups.setdefault(label, []).append(value)
        return bars(axes, list(dict.fromkeys(spans)), groups, (bins.value, title))

    def to_arrow(self) -> Any:  # noqa: ANN401 - pyarrow is optional
        """Give the rows as a pyarrow table."""
        import pyarrow as pa

        kinds = {"integer": pa.int64(), "float": pa.float64(), "text": pa.string(), "boolean": pa.bool_()}
        kinds |= {"date": pa.date32(), "timestamp": pa.timestamp("us")}
        columns = self._shown_columns()
        arrays = []
        for name, (kind, is_list) in self._kinds.items():
            arrow = kinds[kind.value]
            arrays.append(pa.array(columns[name], pa.list_(arrow) if is_list else arrow, from_pandas=True))
        return pa.Table.from_arrays(arrays, names=list(self.columns))

    @property
    def _kinds(self) -> dict[str, tuple[Kind, bool]]:
        """The kind of each column, and whether its cells are lists: several quantiles are one."""
        measures, bins = dict(self.plan.request.measures), self._bins
        kinds = {} if bins is None else dict.fromkeys(bins.labels, (bins.kind, False))
        for name, expression in self.plan.request.outputs:
            measure = measures.get(expression.name) if isinstance(expression, Column) else None
            is_list = measure is not None and measure.size > 1 and (bins is None or name not in bins.names)
            kinds[name] = self.plan.columns[name].kind, is_list
        return {name: kinds[name] for name in self.columns}

    def _shown_columns(self) -> dict[str, Any]:
        """The values of each column: as arrays where a measure is read for all groups at once, else cell by cell."""
        if self._bins is not None:
            return {name: [_plain(row[name].value) for row in self._shown] for name in self.columns}
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

    def to_pandas(self, *, errors: bool = False, confidence: float = 0.95) -> Any:  # noqa: ANN401 - pandas is optional
        """Give the rows as a pandas data frame; with `errors` the ± of a column `n` stands beside it, in `n_error`."""
        frame = self.to_arrow().to_pandas()
        rows = self.cells(confidence) if errors else []
        noisy = [name for name in self.columns if any(not row[name].exact for row in rows)]
        for name in noisy:
            column = [math.nan if row[name].error is None else row[name].error for row in rows]
            frame.insert(frame.columns.get_loc(name) + 1, _error_name(name, self.columns), column)
        return frame

    def __repr__(self) -> str:
        return f"Answer({', '.join(self.columns)}: {counted(self._height, 'row')}, {self.promise})"

    def __str__(self) -> str:
        rows = [[_text(cell) for cell in row.values()] for row in self._shown]
        widths = [max(map(len, column)) for column in zip(self.columns, *rows, strict=True)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        head = "  ".join(name.ljust(width) for name, width in zip(self.columns, widths, strict=True)).rstrip()
        return "\n".join(
            [
                head,
                *lines,
                *self.notes(),
                f"each ± holds with probability 0.95; {self.promise}; {self._paid}{self._head}",
            ]
        )

    def _repr_html_(self) -> str:
        some = self if self._height <= _MOST_ROWS else replace(self, recipe=_limited(self.recipe, _MOST_ROWS))
        rows = [[(_text(cell), "" if cell.exact else cell.reason) for cell in row.values()] for row in some.cells()]
        words = "; ".join([*some.notes(), "each ± holds with probability 0.95", self.promise, self._paid])
        return html_table(self.columns, rows, words, more=max(0, self._height - _MOST_ROWS))

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


def _error_name(name: str, columns: Sequence[str]) -> str:
    """The name of the column with the ± of another: `n_error`, unless the question has a column of that name."""
    named = f"{name}_error"
    while named in columns:
        named += "_"
    return named


def _with_errors(row: Mapping[str, Cell]) -> dict[str, Any]:
    """The values of a row, with the ± of each that has one, and why another has none."""
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        cells[name] = _plain(cell.value)
        if not cell.exact:
            cells[_error_name(name, tuple(row))] = cell.error
            if cell.error is None:
                cells[f"{name}_reason"] = cell.reason
    return cells


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
