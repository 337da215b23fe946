"""What a statement was answered with: its cores are released, the rest is computed from them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.engines.duckdb.shell import SEALED, Result, ShellTable
from discreet.errors import ParameterError
from discreet.exact import counted
from discreet.releases.measures.measure import Cell
from discreet.releases.noise.protection import confident
from discreet.releases.shell.simulation import COPIES, FAILED, distances, drawn_from, reach
from discreet.releases.shell.tables import CoreTable
from discreet.releases.showing.notes import limited, reasons, selected, ungrouped
from discreet.releases.showing.shown import ShownAnswer, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.mechanisms.adding.combinations import NoisyNumbers
    from discreet.plans import Plan
    from discreet.plans.shell import Shell
    from discreet.privacy import Curve
    from discreet.privacy.costs import Amount
    from discreet.releases.noise.protection import Protection
    from discreet.releases.noise.recipe import Recipe
    from discreet.releases.showing.answer import Answer
    from discreet.tables import Value
    from discreet.tables.kinds import Kind

__all__ = ["ShellAnswer"]

_EXACT = "it is made of keys and public tables, which are exact."
_NULL = "a value that it is computed from is NULL, or it is a fraction of 0."
_NO_NUMBER = "it is no number."
_ESTIMATED = "estimated, by noisy copies of the release."
_CONFIDENCE = "too few noisy copies have it for this probability."


@dataclass(frozen=True, eq=False, repr=False)
class ShellAnswer(ShownAnswer):
    """What a statement with a shell was answered with: a table like any other answer.

    `answers` are the releases of its cores. Everything else was computed from them and from public tables, as often as
    you look, and costs nothing. A ± that could not be told from the law of the noise is `estimated` by simulation.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=1, columns=[Column("ward", keys=["a", "b"])])
    >>> rows = pa.table({"id": range(800), "ward": ["a"] * 600 + ["b"] * 200})
    >>> asked = "SELECT ward, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward"
    >>> with Database(Policy([visits], epsilon=100), {"visits": rows}) as db:
    ...     answer = db.sql(asked).release(epsilon=90)
    >>> answer.to_dicts(), answer.promise
    ([{'ward': 'a', 'n': 600, 'share': 0.75}, {'ward': 'b', 'n': 200, 'share': 0.25}], 'ε = 90')
    """

    shell: Shell
    answers: tuple[Answer, ...]
    tables: tuple[ShellTable, ...]
    """The public tables that were read."""
    promise: str
    cost: Amount
    head: str = ""
    repeated: bool = False
    charges: Mapping[str, Amount] = field(default_factory=dict)
    most: int | None = None

    @property
    def plan(self) -> Plan:
        """The plan of its core, where it has one alone; else each of its `answers` has one."""
        return self._alone("plan").plan

    @property
    def recipe(self) -> Recipe:
        """Which numbers got noise, where it has one core alone."""
        return self._alone("recipe").recipe

    @property
    def numbers(self) -> NoisyNumbers:
        """The noisy numbers of its core, where it has one alone."""
        return self._alone("numbers").numbers

    @property
    def groups(self) -> tuple[tuple[Value, ...], ...]:
        """The groups of its core, where it has one alone."""
        return self._alone("groups").groups

    @property
    def parts(self) -> tuple[Protection, ...]:
        """What protects each of the releases that it is made of."""
        return tuple(part for _, answer in self._different() for part in answer.parts)

    @property
    def bounds(self) -> Answer | None:
        """No bounds are bought for a statement with a shell."""
        return None

    def nonnegative(self) -> ShellAnswer:
        """Give the answer that the shell computes from counts with 0 in place of those below 0; see `Answer`."""
        return replace(self, answers=tuple(answer.nonnegative() for answer in self.answers))

    def _alone(self, name: str) -> Answer:
        if len(self.answers) != 1:
            msg = (
                f"this answer is made of {counted(len(self.answers), 'core')}; look at answers[0].{name} and its like."
            )
            raise ParameterError(msg)
        return self.answers[0]

    @property
    def combined(self) -> int:
        """How many releases the core with the most of them is made of."""
        return max((answer.combined for answer in self.answers), default=0)

    @property
    def privacy(self) -> Curve:
        """What all releases that it is made of promise together, as a curve; `promise` says it in words."""
        curves = [answer.privacy for _, answer in self._different()]
        first, *rest = curves
        return sum(rest, start=first)

    def _different(self) -> Iterator[tuple[str, Answer]]:
        """The releases of its cores; one that answers two cores once."""
        yield from {answer.plan.key: answer for answer in self.answers}.items()

    @cached_property
    def _cores(self) -> tuple[CoreTable, ...]:
        return tuple(CoreTable(core, answer) for core, answer in zip(self.shell.cores, self.answers, strict=True))

    @cached_property
    def _result(self) -> Result:
        return SEALED.run(self.shell.text, [*(core.released for core in self._cores), *self.tables])

    @cached_property
    def _rows(self) -> list[tuple[Any, ...]]:
        return self._result.rows[: self.most]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order; those of one name are numbered."""
        names: list[str] = []
        for name in self._result.names:
            number, unique = 2, name
            while unique in names:
                number, unique = number + 1, f"{name}_{number}"
            names.append(unique)
        return tuple(names)

    @property
    def _kinds(self) -> dict[str, tuple[Kind, bool]]:
        return dict(zip(self.columns, self._result.kinds, strict=True))

    def shown_columns(self) -> dict[str, Any]:
        """The values of each column."""
        return {name: [row[place] for row in self._rows] for place, name in enumerate(self.columns)}

    @property
    def _known(self) -> bool:
        """Whether it is known where the columns come from."""
        return len(self.shell.lineage) == len(self.columns)

    @cached_property
    def _estimated(self) -> tuple[int, ...]:
        """The columns whose ± is simulated, by their places."""
        if not self._known:
            return ()
        kinds = enumerate(zip(self.shell.lineage, self._result.kinds, strict=True))
        return tuple(
            place
            for place, (lineage, (kind, is_list)) in kinds
            if not lineage.exact and not lineage.reason and kind.numeric and not is_list
        )

    @cached_property
    def _distances(self) -> dict[int, NDArray[Any]]:
        """How far the rows lie from themselves in noisy copies; none where no simulation tells it."""
        wanted = [place for place in self._estimated if None in self._own(place)]
        if not wanted or not self._rows:
            return {}
        bits = drawn_from(b"".join(core.numbers for core in self._cores))
        made = distances(self.shell, self._cores, self.tables, self._result, wanted=wanted, bits=bits)
        return {} if made is None else made

    @property
    def estimated(self) -> tuple[str, ...]:
        """The columns that have a ± from a simulation of the noise."""
        return tuple(self.columns[place] for place in self._distances)

    def _own(self, place: int, confidence: float = 0.95) -> Sequence[Cell | None]:
        """For each row, the cell of the core that a column shows unchanged, where it is one."""
        nothing: list[Cell | None] = [None] * len(self._rows)
        source = self.shell.lineage[place].source if self._known else None
        if source is None:
            return nothing
        core = next(core for core in self._cores if core.core.name == source[0])
        keys = {name for name, _ in core.core.plan.request.keys}
        outputs = {name: getattr(output, "name", "") for name, output in core.core.plan.request.outputs}
        named = [name for name in core.core.columns if outputs[name] in keys]
        places = [
            [at for at, lineage in enumerate(self.shell.lineage) if lineage.source == (source[0], name)]
            for name in named
        ]
        if any(len(found) != 1 for found in places):
            return nothing
        cells = {tuple(row[name].value for name in named): row[source[1]] for row in core.answer.cells(confidence)}
        found_cells = (cells.get(tuple(row[at] for (at,) in places)) for row in self._rows)
        return [
            cell if cell is not None and _alike(cell.value, row[place]) else None
            for cell, row in zip(found_cells, self._rows, strict=True)
        ]

    def cells(self, confidence: float = 0.95) -> list[dict[str, Cell]]:
        """Give the rows as cells: value, ±, and why there is none where there is none."""
        confidence = confident(confidence)
        columns = [self._column(place, confidence) for place in range(len(self.columns))]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True)]

    def _column(self, place: int, confidence: float) -> list[Cell]:
        lineage = self.shell.lineage[place] if self._known else None
        kind, is_list = self._result.kinds[place]
        values = [tuple(row[place]) if isinstance(row[place], list) else row[place] for row in self._rows]
        if lineage is not None and lineage.exact:
            return [Cell(value, None, _EXACT, exact=True) for value in values]
        own = self._own(place, confidence)
        distances = self._distances.get(place) if None in own else None
        errors = None if distances is None else reach(distances, confidence)
        reason = lineage.reason if lineage is not None else FAILED
        if not reason and (not kind.numeric or is_list):
            reason = _NO_NUMBER
        cells = []
        for number, (value, cell) in enumerate(zip(values, own, strict=True)):
            if cell is not None:
                cells.append(replace(cell, value=value))
            elif value is None:
                cells.append(Cell(None, None, _NULL))
            elif errors is None:
                cells.append(Cell(value, None, reason or FAILED))
            else:
                error = errors[number]
                cells.append(Cell(value, error, _ESTIMATED if error is not None else _CONFIDENCE))
        return cells

    def notes(self, confidence: float = 0.95) -> list[str]:
        """Say what stands below the answer, from public facts and noisy numbers alone."""
        lines = list(reasons(self.cells(confidence)))
        if self.estimated:
            lines.append(f"the ± of {', '.join(self.estimated)} is estimated, by {COPIES} noisy copies of the release")
        for _, answer in self._different():
            lines += [*limited(answer.plan), *ungrouped(answer.plan)]
            lines += selected(answer.parts[0].selection, answer.plan.aggregate.child.unit_kind)
        return list(dict.fromkeys(lines))

    def to_json(self) -> str:
        """Write the noisy numbers of its cores as a ledger keeps them, and the shell that is computed from them."""
        return json.dumps(
            {"shell": self.shell.text, "cores": [json.loads(answer.to_json()) for answer in self.answers]}
        )

    def _first(self, most: int) -> ShellAnswer:
        return replace(self, most=most)


def _alike(one: object, other: object) -> bool:
    """Tell whether a value is that of a core; arithmetic may round its last digits otherwise."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-9 * max(abs(one), abs(other))
    return plain(one) == plain(other)
