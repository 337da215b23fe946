"""What can be asked of a database: its tables and columns, with everything public about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.exact import counted
from discreet.exact.rational import as_text
from discreet.plans.nodes import Scan
from discreet.releases.showing.texts import html_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.plans.expressions.expression import Facts
    from discreet.tables import Policy, Table

__all__ = ["Description"]

_WIDEST = 60
_HEAD = ("column", "type", "values", "ask")


@dataclass(frozen=True, repr=False)
class Description:
    """The tables that somebody may ask about: print it, show it in a notebook, or read it with `to_dict`.

    >>> from discreet.tables import Column, Policy, Table
    >>> columns = [Column("ward", keys=["a", "b"]), Column("cost", lower=0, upper=90_000), Column("note", type="text")]
    >>> visits = Table("visits", unit="patient_id", rows_per_unit=4, columns=columns)
    >>> print(Description(Policy([visits], epsilon=3, dataset="clinic")))
    clinic, version 1: ε = 3 in all
    <BLANKLINE>
    visits: protects each patient_id, of whom 4 rows count
      column      type     values    ask
      ward        text     a, b      GROUP BY
      cost        integer  0…90,000  SUM, AVG, MEDIAN, HISTOGRAM
      note        text               COUNT(DISTINCT …), WHERE
      patient_id  text     the unit  COUNT(DISTINCT …), JOIN
    """

    policy: Policy
    analyst: str | None = None

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that the analyst may ask about."""
        return tuple(table.name for table in self._tables())

    def to_dict(self) -> dict[str, Any]:
        """Give the same for a program."""
        budget = self.policy.budget
        return {
            "dataset": self.policy.dataset,
            "version": self.policy.version,
            "epsilon": as_text(budget.epsilon),
            "delta": as_text(budget.delta),
            "tables": {
                table.name: table.describe() | {"ask": {name: list(self._ask(facts)) for name, facts in _facts(table)}}
                for table in self._tables()
            },
        }

    def __str__(self) -> str:
        budget = self.policy.budget
        delta = f", δ = {as_text(budget.delta)}" if budget.delta else ""
        lines = [f"{self.policy.dataset}, version {self.policy.version}: ε = {as_text(budget.epsilon)}{delta} in all"]
        for table in self._tables():
            rows = [_HEAD, *self._rows(table)]
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            lines += ["", f"{table.name}: {_protects(table)}"]
            lines += [
                "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
                for row in rows
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return "".join(
            html_table(
                _HEAD, ([(cell, "") for cell in row] for row in self._rows(table)), f"{table.name}: {_protects(table)}"
            )
            for table in self._tables()
        )

    def __repr__(self) -> str:
        return f"Description({', '.join(self.tables)})"

    def _tables(self) -> list[Table]:
        return [table for table in self.policy.tables if self.policy.may(self.analyst, "explain", [table.name])]

    def _rows(self, table: Table) -> Iterator[tuple[str, str, str, str]]:
        for name, facts in _facts(table):
            yield name, facts.kind.value, _values(facts), ", ".join(self._ask(facts))

    def _ask(self, facts: Facts) -> Iterator[str]:
        """What a column is good for; arithmetic and conditions work on all."""
        if facts.unit:
            yield from ("COUNT(DISTINCT …)", "JOIN")
            return
        if facts.kind.numeric and facts.bounds.finite:
            yield from ("SUM", "AVG", "MEDIAN", "HISTOGRAM")
        keys = facts.keys
        if keys is not None and len(keys) <= self.policy.most_groups:
            yield "GROUP BY"
        elif keys is None and self.policy.release_delta:
            yield "GROUP BY (found privately)"
        elif not facts.kind.numeric or not facts.bounds.finite:
            yield from ("COUNT(DISTINCT …)", "WHERE")


def _facts(table: Table) -> list[tuple[str, Facts]]:
    return list(Scan(table).schema.items())


def _protects(table: Table) -> str:
    if table.public:
        return "public, to join with"
    if table.row_is_unit:
        return "protects each row"
    if table.references is not None:
        most = counted(table.rows_per_parent or 0, "row")
        return f"protects the unit of {table.references}, {most} of each of which count"
    most = "" if table.rows_per_unit is None else f", of whom {counted(table.rows_per_unit, 'row')} count"
    return f"protects each {table.unit}{most}"


def _values(facts: Facts) -> str:
    """The bounds of a column, or its known values."""
    low, high = facts.bounds.lower, facts.bounds.upper
    if facts.unit:
        return "the unit"
    if facts.domain is not None:
        listed = ", ".join("NULL" if key is None else str(key) for key in facts.domain)
        more = f" … ({len(facts.domain):,} in all)"
        return listed if len(listed) <= _WIDEST else listed[: _WIDEST - len(more)] + more
    if not facts.kind.numeric:
        return ""
    return f"{'' if low is None else f'{float(low):,.15g}'}…{'' if high is None else f'{float(high):,.15g}'}".strip("…")
