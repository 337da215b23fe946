"""What a shell reads: released cores and public tables, as tables of its sealed database; and noisy copies of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines.duckdb.shell import SEALED, Result, ShellTable
from discreet.errors import EngineError
from discreet.mechanisms.adding.combinations import NoisyNumbers
from discreet.mechanisms.adding.sums import noisy_sums
from discreet.plans.expressions import Column
from discreet.plans.expressions.expression import settled
from discreet.releases.measures.measure import NoisyMeasure
from discreet.releases.showing.shown import listed
from discreet.tables.kinds import LONGEST_TEXT, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.engines.duckdb.shell import ColumnType
    from discreet.mechanisms.adding.sums import Integers
    from discreet.noise import BitSource
    from discreet.plans.shell import Core, Hole, Shell
    from discreet.releases.showing.answer import Answer
    from discreet.tables import Table, Value

__all__ = ["CoreTable", "constants", "core_kinds", "empty_tables", "kind_of", "public_kinds"]

_MOST_SLOW = 30_000
"""So many cells of a measure that is read one by one are computed for a simulation at most."""


def core_kinds(core: Core) -> dict[str, ColumnType]:
    """The columns of a core, each with what it holds; several quantiles are a list.

    >>> from discreet.plans import plan_sql
    >>> from discreet.plans.shell import Core
    >>> from discreet.tables import Policy, Table
    >>> plan = plan_sql(Policy([Table("people", row_is_unit=True)], epsilon=1), "SELECT COUNT(*) AS n FROM people")
    >>> core_kinds(Core("core1", plan, ("n",), ""))["n"][0].value
    'integer'
    """
    measures, sources = dict(core.plan.request.measures), _sources(core)
    lists = {name for name, source in sources.items() if source in measures and measures[source].size > 1}
    return {name: (core.plan.columns[name].kind, name in lists) for name in core.columns}


def empty_tables(shell: Shell) -> list[ShellTable]:
    """The tables of a shell without rows: what it would give is seen on them before anything is paid.

    >>> from discreet.plans.shell import Shell
    >>> from discreet.plans.sql.reading import read_statement
    >>> empty_tables(Shell(read_statement("SELECT 1"), (), (), (), None))
    []
    """
    kinds = {core.name: core_kinds(core) for core in shell.cores}
    kinds |= {table.name: public_kinds(table) for table in shell.tables}
    return [ShellTable(name, columns, dict.fromkeys(columns, ())) for name, columns in kinds.items()]


def kind_of(shell: Shell) -> Kind:
    """Tell what kind of value the last column of a shell holds.

    >>> from discreet.plans.shell import Shell
    >>> from discreet.plans.sql.reading import read_statement
    >>> kind_of(Shell(read_statement("SELECT 1, 2.5"), (), (), (), None)).value
    'float'
    """
    return SEALED.planned(shell.text, empty_tables(shell)).kinds[-1][0]


def constants(hole: Hole, result: Result) -> dict[str, Value]:
    """Read the constants that a subquery is released as; what is no value of its kind is NULL.

    >>> from discreet.plans.shell import Hole
    >>> constants(Hole("hole1", None, Kind.FLOAT), Result(("a",), ((Kind.FLOAT, False),), [(2.5,)]))
    {'hole1': 2.5}
    """
    if not hole.keys:
        if len(result.rows) > 1:
            msg = f"{hole.name} is a subquery that gives {len(result.rows)} rows where one value is meant; add LIMIT 1."
            raise EngineError(msg)
        return {hole.name: _settled(result.rows[0][0], hole.kind) if result.rows else None}
    by_key = {row[:-1]: row[-1] for row in result.rows}
    return {name: _settled(by_key.get(key), hole.kind) for name, key in zip(hole.names, hole.keys, strict=True)}


def _settled(value: Any, kind: Kind) -> Value:  # noqa: ANN401 - what DuckDB gives
    if value is None or (kind is Kind.TEXT and len(value) > LONGEST_TEXT):
        return None
    if kind is Kind.INTEGER and not -(2**63) <= value < 2**63:
        return None
    plain: Value = settled(float(value)) if kind is Kind.FLOAT else value
    return plain


def _sources(core: Core) -> dict[str, str]:
    """For each column, the key or measure that it is."""
    outputs = dict(core.plan.request.outputs)
    return {name: output.name for name in core.columns if isinstance(output := outputs[name], Column)}


def public_kinds(table: Table) -> dict[str, ColumnType]:
    """The columns of a public table.

    >>> from discreet.tables import Column, Table
    >>> wards = Table("wards", public=True, columns=[Column("beds", lower=0, upper=99)])
    >>> public_kinds(wards)["beds"][0].value
    'integer'
    """
    return {column.name: (column.kind, False) for column in table.columns}


@dataclass(frozen=True, eq=False)
class CoreTable:
    """A released core as the shell sees it.

    >>> CoreTable.__dataclass_fields__.keys() >= {"core", "answer"}
    True
    """

    core: Core
    answer: Answer

    @property
    def released(self) -> ShellTable:
        """The values that a question of its own would show."""
        shown = self.answer.shown_columns()
        columns = {name: listed(shown[name]) for name in self.core.columns}
        return ShellTable(self.core.name, core_kinds(self.core), columns)

    @property
    def numbers(self) -> bytes:
        """What was released, as bytes: the same for the same release alone."""
        blocks = [repr(b.tolist()).encode() if b.dtype == object else b.tobytes() for b in self.answer.numbers.blocks]
        return b"".join([repr(self.answer.plan.key).encode(), repr(self.answer.groups[:1]).encode(), *blocks])

    @cached_property
    def _moved(self) -> dict[str, str]:
        """The columns that noise was added to: each with its measure."""
        recipe, measures = self.answer.recipe, dict(self.core.plan.request.measures)
        sources = {name: source for name, source in _sources(self.core).items() if source in measures}
        return {name: source for name, source in sources.items() if _is_added(self.answer, source, recipe)}

    def can_copy(self, copies: int) -> bool:
        """Whether so many copies can be made in a short time; from public facts and what was released alone."""
        size = copies * len(self.answer.groups)
        slow = [name for name in self._moved.values() if self._measure(name, self.answer.numbers).values() is None]
        return not slow or size * len(slow) <= _MOST_SLOW

    def copied(self, copies: int, bits: BitSource) -> list[ShellTable]:
        """Draw the noise of the release anew around the released numbers, so many times."""
        noises, groups = self.answer.numbers.noises, len(self.answer.groups)
        blocks: list[Integers] = [np.tile(block, (copies, 1)) for block in self.answer.numbers.blocks]  # type: ignore[misc]
        added = [block.added for block in self.answer.recipe.blocks]
        drawn = zip(blocks, noises, added, strict=True)
        numbers = NoisyNumbers(tuple(noisy_sums(b, noise, bits) if more else b for b, noise, more in drawn), noises)
        kinds, moved = core_kinds(self.core), self._moved
        columns: dict[str, Any] = {
            " copy": np.repeat(np.arange(copies), groups),
            " place": np.tile(np.arange(groups), copies),
        }
        columns |= {name: _masked(self._values(source, numbers, copies * groups)) for name, source in moved.items()}
        named = {" copy": (Kind.INTEGER, False), " place": (Kind.INTEGER, False)}
        many = ShellTable(f"{self.core.name} moved", named | {name: kinds[name] for name in moved}, columns)
        return [many, self._kept(kinds)]

    def _kept(self, kinds: dict[str, ColumnType]) -> ShellTable:
        """The keys, and what was chosen: the same in all copies."""
        plan, groups = self.core.plan, self.answer.groups
        places = {key.column: place for place, key in enumerate(plan.aggregate.keys)}
        keys = {name: places[plan.key_column(name)] for name, _ in plan.request.keys}
        columns: dict[str, Sequence[object]] = {" place": list(range(len(groups)))}
        for name, source in _sources(self.core).items():
            if source in keys:
                columns[name] = [group[keys[source]] for group in groups]
            elif name not in self._moved:
                measure = self._measure(source, self.answer.numbers)
                columns[name] = [measure.cell(group).value for group in range(len(groups))]
        named = {" place": (Kind.INTEGER, False)} | {name: kinds[name] for name in columns if name != " place"}
        return ShellTable(f"{self.core.name} kept", named, columns)

    def _measure(self, source: str, numbers: NoisyNumbers) -> NoisyMeasure:
        return NoisyMeasure.of(self.answer.recipe, source, numbers, 0.95)

    def _values(self, source: str, numbers: NoisyNumbers, size: int) -> NDArray[Any]:
        measure = self._measure(source, numbers)
        values = measure.values()
        if values is None:
            cells = (measure.cell(group).value for group in range(size))
            values = np.array([np.nan if value is None else value for value in cells], dtype=np.float64)
        return np.maximum(values, 0) if self.answer.from_zero and measure.counts else values


def _is_added(answer: Answer, source: str, recipe: Any) -> bool:  # noqa: ANN401
    terms = [recipe.terms.get(place, ()) for place in answer.plan.statistics_of(source)]
    used = {block for combination in terms for block, _, _ in combination}
    return bool(used) and all(recipe.blocks[block].added for block in used)


def _masked(values: NDArray[Any]) -> NDArray[Any]:
    """NaN is NULL."""
    return np.ma.masked_invalid(values) if values.dtype.kind == "f" else values
