"""The bins of histograms, each a row of an answer."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from discreet.plans.aggregates import Histogram
from discreet.plans.explain import written
from discreet.plans.expressions import Column
from discreet.plans.refusals import refuse
from discreet.releases.measures.measure import Cell
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from discreet.plans import Plan

__all__ = ["Bins"]

_End = int | float | None


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
