"""An answer: a table of noisy cells, each with its ±, and what it promises."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.expressions import Column
from discreet.releases.measures.measure import Cell, NoisyMeasure
from discreet.releases.noise.protection import confident
from discreet.releases.showing.arithmetic import computed, names_in, together
from discreet.releases.showing.bins import Bins
from discreet.releases.showing.notes import dated, limited, reasons, selected, ungrouped
from discreet.releases.showing.shown import ShownAnswer, plain
from discreet.releases.showing.stored import write_stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.mechanisms.adding.combinations import NoisyNumbers
    from discreet.plans import Plan
    from discreet.plans.expressions import Expression
    from discreet.privacy import Curve
    from discreet.privacy.costs import Amount
    from discreet.releases.noise.protection import Protection
    from discreet.releases.noise.recipe import Recipe
    from discreet.tables import Value
    from discreet.tables.kinds import Kind

__all__ = ["Answer"]

_USUAL = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Answer(ShownAnswer):
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

    def shown_columns(self) -> dict[str, Any]:
        """The values of each column: as arrays where a measure is read for all groups at once, else cell by cell."""
        if self._bins is not None:
            return {name: [plain(row[name].value) for row in self._shown] for name in self.columns}
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
                shown[name] = [plain(row[name].value) for row in self._shown]
        return shown

    def _first(self, most: int) -> Answer:
        return replace(self, recipe=_limited(self.recipe, most))


def _limited(recipe: Recipe, most: int) -> Recipe:
    """The same numbers, of which fewer rows are shown."""
    return replace(recipe, plan=replace(recipe.plan, request=replace(recipe.plan.request, limit=most)))


def _evaluated(expression: Expression, row: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of any kind
    """Compute with released values."""
    return row[expression.name] if isinstance(expression, Column) else expression.evaluate(row)
