"""A statement as cores and a shell: what is released, and what is computed from it as plain SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from discreet.plans.plan import Plan
    from discreet.plans.shell.lineage import Lineage
    from discreet.tables import Policy, Table, Value
    from discreet.tables.kinds import Kind

__all__ = ["Core", "Hole", "Shell", "in_words"]


@dataclass(frozen=True)
class Hole:
    """A constant of a core that is released before it: what a subquery in it gives, which is a shell of its own.

    With `keys` it is one constant for each combination of known keys: the subquery is about the row's own group. Its
    shell then gives the keys' columns and the value.

    >>> from discreet.tables.kinds import Kind
    >>> Hole("hole1", None, Kind.FLOAT, "(SELECT AVG(x) FROM t)").names
    ['hole1']
    """

    name: str
    shell: Shell
    kind: Kind
    said: str = ""
    """The subquery, as the question spells it."""
    keys: tuple[tuple[Value, ...], ...] = ()

    @property
    def names(self) -> list[str]:
        """The name of each of its constants."""
        return [f"{self.name}.{place}" for place in range(len(self.keys))] or [self.name]


@dataclass(frozen=True)
class Core:
    """An aggregate over private rows: planned, priced and released like a question of its own.

    The shell reads its answer as a table `name` with these `columns`. Other outputs of the plan are arithmetic on one
    row, whose ± is known without a simulation.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Policy, Table
    >>> plan = plan_sql(Policy([Table("people", row_is_unit=True)], epsilon=1), "SELECT COUNT(*) AS n FROM people")
    >>> Core("core1", plan, ("n",), "SELECT COUNT(*) AS n FROM people").name
    'core1'
    """

    name: str
    plan: Plan
    columns: tuple[str, ...]
    text: str
    """How it would be asked by itself."""
    words: tuple[tuple[str, str], ...] = ()
    """For each column, what the question says for it."""
    holes: tuple[Hole, ...] = ()
    """The constants in it that are released before."""
    planned: Callable[[Mapping[str, Value]], Plan] | None = None
    """Plans it again with these constants."""

    def filled(self, values: Mapping[str, Value]) -> Plan:
        """The plan with its constants: of the same bounds, noise and price, whatever they are."""
        return self.plan if self.planned is None else self.planned(values)


def in_words(text: str, cores: Iterable[Core], holes: Iterable[Hole] = ()) -> str:
    """Put what the question says in the place of the names that the splitter gave.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Policy, Table
    >>> plan = plan_sql(Policy([Table("people", row_is_unit=True)], epsilon=1), "SELECT COUNT(*) AS n FROM people")
    >>> in_words("FOO(core1.n)", [Core("core1", plan, ("n",), "", (("n", "COUNT(*)"),))])
    'FOO(COUNT(*))'
    """
    for core in reversed(list(cores)):
        for name, said in sorted(core.words, key=lambda pair: -len(pair[0])):
            text = text.replace(f'{core.name}."{name}"', said).replace(f"{core.name}.{name}", said)
        text = re.sub(rf"\b{re.escape(core.name)}\b", "a released table", text)
    for hole in holes:
        for name in hole.names:
            text = re.sub(rf"[$:]{re.escape(name)}\b", lambda _, said=hole.said: said, text)  # type: ignore[misc]
    return text


@dataclass(frozen=True, eq=False)
class Shell:
    """What is computed from released cores and public tables, in DuckDB's SQL.

    >>> from discreet.plans.sql.reading import read_statement
    >>> Shell(read_statement("SELECT 1 AS one"), (), (), (), None).text
    'SELECT 1 AS one'
    """

    statement: exp.Expression
    cores: tuple[Core, ...]
    tables: tuple[Table, ...]
    """The public tables that it reads, under their own names."""
    lineage: tuple[Lineage, ...]
    """What is known of the columns of the answer, in their order; nothing where they could not be told."""
    policy: Policy
    """The public facts."""

    @cached_property
    def text(self) -> str:
        """The shell as it runs: each core is a table of its name."""
        return self.statement.sql(dialect="duckdb")

    @cached_property
    def copied(self) -> str:
        """The same for one of many copies of the cores, the one that a row of `copies` names.

        Each core is read from two tables, what noise moves in `core1 moved`, and the rest in `core1 kept`. The order of
        rows does not matter where none is cut off.
        """
        copied = self.statement.copy()
        if copied.args.get("limit") is None and copied.args.get("offset") is None:
            copied.set("order", None)
        columns = {core.name: core.columns for core in self.cores}
        for table in list(copied.find_all(exp.Table)):
            if table.name in columns:
                alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name))
                table.replace(exp.Subquery(this=_one_copy(table.name, columns[table.name]), alias=alias))
        return copied.sql(dialect="duckdb")


def _one_copy(core: str, columns: tuple[str, ...]) -> exp.Select:
    """The columns of a core in the copy that a row names."""
    select = exp.select(*(exp.column(exp.to_identifier(name, quoted=True)) for name in columns))
    select = select.from_(exp.to_table(f'"{core} moved"', alias="moved"), copy=False)
    select = select.join(
        exp.to_table(f'"{core} kept"', alias="kept"), on='moved." place" = kept." place"', dialect="duckdb", copy=False
    )
    return select.where('moved." copy" = copies." copy"', dialect="duckdb", copy=False)
