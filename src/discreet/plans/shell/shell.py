"""A statement as cores and a shell: what is released, and what is computed from it as plain SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.plans.plan import Plan
    from discreet.plans.shell.lineage import Lineage
    from discreet.tables import Policy, Table, Value
    from discreet.tables.kinds import Kind

__all__ = ["Core", "Hole", "Shell"]


@dataclass(frozen=True)
class Hole:
    """A constant of a core that is released before it: what a subquery in it gives, which is a shell of its own.

    With `keys` it is one constant for each combination of known keys: the subquery is about the row's own group. Its
    shell then gives the keys' columns and the value.

    >>> from discreet.tables.kinds import Kind
    >>> Hole("hole1", None, Kind.FLOAT).names
    ['hole1']
    """

    name: str
    shell: Shell
    kind: Kind
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
    holes: tuple[Hole, ...] = ()
    """The constants in it that are released before."""
    planned: Callable[[Mapping[str, Value]], Plan] | None = None
    """Plans it again with these constants."""

    def filled(self, values: Mapping[str, Value]) -> Plan:
        """The plan with its constants: of the same bounds, noise and price, whatever they are."""
        return self.plan if self.planned is None else self.planned(values)


@dataclass(frozen=True)
class Shell:
    """What is computed from released cores and public tables, in DuckDB's SQL.

    >>> Shell("SELECT 1 AS one", "SELECT 1 AS one", (), (), (), None).text
    'SELECT 1 AS one'
    """

    text: str
    copied: str
    """The same for one of many copies of the cores, the one that a row of `copies` names: each core is read from two
    tables, what noise moves in `core1 moved`, and the rest in `core1 kept`."""
    cores: tuple[Core, ...]
    tables: tuple[Table, ...]
    """The public tables that it reads, under their own names."""
    lineage: tuple[Lineage, ...]
    """What is known of the columns of the answer, in their order; nothing where they could not be told."""
    policy: Policy
    """The public facts."""
