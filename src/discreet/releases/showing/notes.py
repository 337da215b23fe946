"""What stands below an answer: why a ± or a value is missing, which limits no ± includes, who is shown at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.exact import counted
from discreet.plans.aggregates import Count
from discreet.plans.explain import written
from discreet.plans.expressions import Column
from discreet.plans.nodes import BoundGroups, BoundRows, PerUnit, Project, Scan
from discreet.releases.noise.narrowing import clamps_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from discreet.mechanisms.thresholds.partition_selection import PartitionSelection
    from discreet.plans import Plan
    from discreet.plans.nodes import Node
    from discreet.releases.measures.measure import Cell
    from discreet.tables.bounds import Bounds

__all__ = ["dated", "limited", "reasons", "selected", "ungrouped"]

_LIKELY = 0.95
_MOST_UNITS = 1 << 40


def reasons(rows: Sequence[Mapping[str, Cell]]) -> Iterator[str]:
    """Say why cells have no value, or a value without ±: from noisy numbers alone, as the cells are.

    >>> from discreet.releases.measures.measure import Cell
    >>> rows = [{"n": Cell(7, 3.0), "pay": Cell(None, None, "too few rows.")}, {"n": Cell(9, 3.0), "pay": Cell(5, 1.0)}]
    >>> list(reasons(rows))
    ['pay is NULL in 1 row of 2: too few rows.']
    """
    missing: dict[tuple[str, str, str], int] = {}
    for row in rows:
        for name, cell in row.items():
            if not cell.exact and cell.error is None and cell.reason:
                empty = cell.value is None or (isinstance(cell.value, tuple) and None in cell.value)
                why = name, "is NULL" if empty else "has no ±", cell.reason
                missing[why] = missing.get(why, 0) + 1
    for (name, what, reason), count in missing.items():
        where = "" if count == len(rows) else f" in {counted(count, 'row')} of {len(rows):,}"
        yield f"{name} {what}{where}: {reason}"


def limited(plan: Plan, chosen_for: str = "") -> Iterator[str]:
    """Name the limits that data are put under before they are counted; how many rows they touch is private.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="patient", rows_per_unit=4, columns=[Column("cost", lower=0, upper=200_000)])
    >>> plan = plan_sql(Policy([visits], epsilon=1), "SELECT AVG(cost / 100) AS cost FROM visits")
    >>> list(limited(plan))
    ['limits, which no ± includes: cost to 0…200,000; 4 rows of each patient']
    """
    ends = {name: _ends(bounds) for name, bounds in _bounded_columns(plan).items()}
    for value, low, high in clamps_of(plan) if chosen_for else ():
        ends[written(value).rpartition(".")[2]] = f"{low:,.6g}…{high:,.6g}, chosen for {chosen_for}"
    parts = [f"{name} to {text}" for name, text in ends.items()]
    nodes = list(plan.aggregate.child.walk())
    parts += [_rows(node) for node in nodes if isinstance(node, BoundRows | BoundGroups)]
    if parts:
        yield f"limits, which no ± includes: {'; '.join(dict.fromkeys(parts))}"


def ungrouped(plan: Plan) -> Iterator[str]:
    """Say that rows with NULL keys stand in no group, wherever the policy's facts allow for NULL, whatever the data.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="patient", rows_per_unit=4, columns=[Column("ward", keys=["a", "b"])])
    >>> policy = Policy([visits], epsilon=1)
    >>> list(ungrouped(plan_sql(policy, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")))
    ['rows whose ward is NULL are in no group']
    """
    below = plan.request.relation.schema
    known = {key.column: key.known for key in plan.aggregate.keys}
    shown = {value.name: name for name, value in plan.request.outputs if isinstance(value, Column)}
    names = [
        shown.get(name) or ", ".join(_names(expression.walk()))
        for name, expression in plan.request.keys
        if expression.facts(below).nullable and None not in (known[plan.key_column(name)] or (None,))
    ]
    if names:
        yield f"rows whose {' or '.join(dict.fromkeys(names))} is NULL are in no group"


def dated(plan: Plan) -> Iterator[str]:
    """Say which day CURRENT_DATE stands for, where the question asks for it.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> table = Table("t", row_is_unit=True, columns=[Column("day", type="date")])
    >>> policy = Policy([table], epsilon=1, today="2024-07-01")
    >>> list(dated(plan_sql(policy, "SELECT COUNT(*) AS n FROM t WHERE day >= CURRENT_DATE - 30")))
    ['CURRENT_DATE is 2024-07-01']
    """
    if plan.request.today is not None:
        yield f"CURRENT_DATE is {plan.request.today.isoformat()}"


def _rows(node: BoundRows | BoundGroups) -> str:
    if isinstance(node, BoundRows):
        return f"{counted(node.limit, 'row')} of each {node.unit_kind}"
    rows = "" if node.limit is None else f" with {counted(node.limit, 'row')} each"
    return f"{counted(node.groups, 'group')} of each {node.unit_kind}{rows}"


def _ends(bounds: Bounds) -> str:
    low, high = ("" if end is None else f"{float(end):,.15g}" for end in (bounds.lower, bounds.upper))
    return f"{low}…{high}"


def _bounded_columns(plan: Plan) -> dict[str, Bounds]:
    """The declared bounds of the columns that measures are computed from, by the names that tables give them."""
    measures = [measure for _, measure in plan.request.measures if not isinstance(measure, Count)]
    wanted = set(_names(part for measure in measures for operand in measure.operands for part in operand.walk()))
    bounds: dict[str, Bounds] = {}
    for node in plan.request.relation.walk():
        for name, value in _made(node):
            if name in wanted:
                wanted |= set(_names(value.walk()))
        if isinstance(node, Scan) and node.private:
            bounds |= {
                name: facts.range
                for name, facts in node.schema.items()
                if name in wanted and facts.range.finite and facts.kind.numeric
            }
    return bounds


def _made(node: Node) -> Iterator[tuple[str, Any]]:
    """The columns that a step computes, each with what it is computed from."""
    if isinstance(node, Project):
        yield from node.columns
    elif isinstance(node, PerUnit):
        yield from ((name, made.operand) for name, made in node.statistics if made.operand is not None)


def _names(parts: Iterable[Any]) -> Iterator[str]:
    """The names of columns; those of joins stand behind the side's."""
    return (part.name.rpartition(".")[2] for part in parts if isinstance(part, Column))


def selected(selection: PartitionSelection | None, kind: str | None) -> Iterator[str]:
    """Say how many units a group needs that is found in the data: a public fact of the price.

    >>> from discreet.mechanisms import PartitionSelection
    >>> (note,) = selected(PartitionSelection(epsilon=1, delta=1e-6), "patient")
    >>> note[note.index("one") :]
    'one of 16 units (patient) is shown with probability 0.95, one of 14 half of the time'
    """
    if selection is not None:
        likely, half = (_least(selection, chance) for chance in (_LIKELY, 0.5))
        yield (
            f"groups found in the data: one of {likely:,} units ({kind}) is shown with probability {_LIKELY:g}, "
            f"one of {half:,} half of the time"
        )


def _least(selection: PartitionSelection, chance: float) -> int:
    """The least number of units that is shown with a chance; the chance grows with the number."""
    low, high = 0, 1
    while selection.keep(high) < chance and high < _MOST_UNITS:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if selection.keep(middle) < chance else (low, middle)
    return high
