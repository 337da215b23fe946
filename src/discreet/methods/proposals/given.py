"""What is settled about a proposal before any row is asked, and the proposal itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.methods.proposals import writing
from discreet.methods.proposals.names import usual
from discreet.methods.proposals.steps import DATES, FLOATS, INTEGERS
from discreet.methods.proposals.writing import Head, Line, Section
from discreet.tables import Policy

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.methods.proposals.dictionaries import Dictionary
    from discreet.privacy.relations import Relation

__all__ = ["Columns", "Given", "Proposal", "simple"]

Columns = Mapping[str, "str | None"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """The text of a policy, what is left to fill in, and what was paid for the rest.

    >>> import pyarrow as pa
    >>> from discreet.methods.proposals import propose
    >>> proposal = propose(pa.table({"patient_id": [1], "age": [31], "cost": [12.5]}), table="visits")
    >>> proposal
    Proposal(paid ε = 0, 2 left to fill in; print it)
    >>> proposal.fill
    ('tables.visits.columns.cost: bounds (or keys, to group by it)', 'tables.visits.rows_per_unit')
    >>> proposal.policy.table("visits").column("age").bounds
    Bounds(0, 120)
    """

    text: str
    fill: tuple[str, ...]
    paid: Mapping[str, Fraction] = field(default_factory=dict)
    """The ε of each question that was asked of the rows, by what it was about."""

    @property
    def policy(self) -> Policy:
        """The policy, without what is left to fill in."""
        return Policy.from_toml(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Proposal(paid ε = {float(sum(self.paid.values())):g}, {len(self.fill)} left to fill in; print it)"


@dataclass(frozen=True, slots=True)
class Given:
    """What is settled before any row is asked: the tables, who is protected, and all that may ever be spent.

    >>> from discreet.methods.proposals.dictionaries import Dictionary
    >>> from discreet.privacy import NeighborRelation
    >>> head = Head("town", None, "3", "0", "add_remove")
    >>> given = Given({"t": {"age": None}}, {"t": None}, True, Dictionary({}), head, NeighborRelation.ADD_REMOVE)
    >>> given.settled("t", "age").facts, given.wanted
    ('{ lower = 0, upper = 120 }', [])
    """

    tables: Mapping[str, Columns]
    units: Mapping[str, str | None]
    """Of each table that a policy can name; None where no column says who is protected."""
    row_is_unit: bool
    dictionary: Dictionary
    head: Head
    neighbors: Relation
    public: frozenset[str] = frozenset()
    """Tables that protect nobody: whatever is in them is read when the source is opened."""
    stated: str | None = None
    """The type of units that whoever asks states: "integer" or "text"."""

    def unit_type(self, table: str) -> str:
        """What units are read as, the same in all tables that share them; a ledger freezes it.

        Where numbers are declared, 7 and 7.0 are one person; doubles and decimals cannot be read as texts at all.

        >>> from discreet.methods.proposals.dictionaries import Dictionary
        >>> from discreet.privacy import NeighborRelation
        >>> tables, units = {"a": {"id": "BIGINT"}, "b": {"id": None}}, {"a": "id", "b": "id"}
        >>> head = Head("town", None, "3", "0", "add_remove")
        >>> Given(tables, units, False, Dictionary({}), head, NeighborRelation.ADD_REMOVE).unit_type("a")
        'text'
        """
        if self.stated is not None:
            return self.stated
        unit = self.units[table]
        sharing = [other for other, column in self.units.items() if column == unit and unit is not None]
        wide = any((self.tables[other][unit or ""] or "").startswith(_WIDE) for other in sharing)
        kinds = {self.kind(other, unit or "") for other in sharing}
        return "integer" if "DOUBLE" in kinds or (kinds == {"BIGINT"} and not wide) else "text"

    def settled(self, table: str, column: str) -> Line | None:
        """A column about which a dictionary or its name say all; nothing is bought for it."""
        said = writing.described(column, self.dictionary.of(table, column))
        if said is not None:
            return said
        kind, meaning = self.tables[table][column], usual(column)
        if meaning is not None and meaning.whole and _agree(meaning.kind, kind):
            return Line(column, meaning.facts, self._described(table, column) or meaning.why)
        if kind is not None and kind.startswith("BOOLEAN"):
            return Line(column, writing.declared(kind) or "", self._described(table, column))
        return None

    def kind(self, table: str, column: str) -> str | None:
        """The SQL type of a column as far as it is public: declared, in the dictionary, or by its usual name."""
        stored, said, meaning = self.tables[table][column], self.dictionary.of(table, column).kind, usual(column)
        if stored is not None:
            return simple(stored)
        if said is not None:
            return {"integer": "BIGINT", "float": "DOUBLE", "text": "VARCHAR"}.get(said, said.upper())
        return None if meaning is None else meaning.kind

    def unpaid(self, table: str, column: str, why: str = "") -> Line:
        """What is known of a column without its rows; else it is left to the owner."""
        kind, meaning, reason = self.kind(table, column), usual(column), self._described(table, column)
        if meaning is not None and _agree(meaning.kind, kind):
            return Line(column, meaning.facts, reason or why or meaning.why)
        facts = writing.declared(kind)
        if facts is not None:
            return Line(column, facts, reason or why)
        if kind not in {None, "BIGINT", "DOUBLE"}:
            return Line(column, '{ type = "text" }', "its type has no counterpart here", left=True)
        return writing.example(column, kind, why, reason)

    def _described(self, table: str, column: str) -> str:
        return " ".join(self.dictionary.of(table, column).description.split())

    def section(self, table: str, rows: Line | None, lines: Mapping[tuple[str, str], Line]) -> Section:
        """One table as it is written; `rows` and `lines` are what was bought."""
        unit = self.units[table]
        if self.row_is_unit:
            head = ["row_is_unit = true".ljust(36) + "# each row is a person of its own"]
        elif unit is None:
            head = ['# unit = "…"'.ljust(36) + "# FILL IN the column that says who a row is about, or row_is_unit"]
        else:
            many = rows or self._rows(table)
            head = [f"unit = {writing.text_of(unit)}".ljust(36) + "# who is protected, with all rows"]
            head += [f"rows_per_unit = {many.facts}".ljust(36) + f"# {'FILL IN ' if many.left else ''}{many.why}"]
        columns: list[Line | str] = []
        if unit is not None and self.unit_type(table) == "integer":
            columns.append(Line(unit, '{ type = "integer" }', "7 and 7.0 are one; the ledger freezes it"))
        columns += [
            self.line(table, column, lines) if writing.allowed(column) else writing.refused(column)
            for column in self.tables[table]
            if column != unit
        ]
        return Section(table, tuple(head), tuple(columns))

    def line(self, table: str, column: str, lines: Mapping[tuple[str, str], Line]) -> Line:
        """The line of a column: what was bought, else what is said of it, else what its name or type say."""
        return lines.get((table, column)) or self.settled(table, column) or self.unpaid(table, column)

    def _rows(self, table: str) -> Line:
        most = self.dictionary.rows_per_unit.get(table)
        if most is not None:
            return Line("rows_per_unit", str(most), "the dictionary")
        return Line("rows_per_unit", "10", "how many rows of one unit count; of more, so many are kept", left=True)

    def proposal(
        self,
        lines: Mapping[tuple[str, str], Line] | None = None,
        rows: Mapping[str, Line] | None = None,
        paid: Mapping[str, Fraction] | None = None,
    ) -> Proposal:
        """Put the text together."""
        lines, rows = lines or {}, rows or {}
        sections = [self.section(table, rows.get(table), lines) for table in self.units]
        facts = (
            "public = true".ljust(36)
            + '# protects nobody, and is read when it is opened; to join on a column: unique = ["…"]'
        )
        sections += [Section(table, (facts,), ()) for table in self.tables if table in self.public]
        fill = [
            f"tables.{section.name}.columns.{line.name}: {line.why}"
            for section in sections
            for line in section.columns
            if isinstance(line, Line) and line.left
        ]
        if not self.row_is_unit:
            fill += [f"tables.{table}.unit: who is protected" for table, unit in self.units.items() if unit is None]
            counts = {table: rows.get(table) or self._rows(table) for table, unit in self.units.items() if unit}
            fill += [f"tables.{table}.rows_per_unit" for table, line in counts.items() if line.left]
        text = writing.written(self.head, sections)
        unnamed = [table for table in self.tables if table not in self.units and table not in self.public]
        text += "".join(f"\n{writing.refused(table)}\n" for table in unnamed)
        return Proposal(text, tuple(fill), paid or {})

    @property
    def wanted(self) -> list[tuple[str, str, str | None]]:
        """The columns that the rows are asked about, with their types; public facts alone decide it."""
        asked = (None, "VARCHAR", "BIGINT", "DOUBLE", *DATES)
        return [
            (table, column, self.kind(table, column))
            for table, unit in self.units.items()
            for column in self.tables[table]
            if column != unit
            and writing.allowed(column)
            and self.settled(table, column) is None
            and self.kind(table, column) in asked
        ]


_WIDE = ("HUGEINT", "UBIGINT", "UHUGEINT")
"""Integers that may leave 64 bits; read as integers, such units would be nobody."""


def _agree(meant: str, kind: str | None) -> bool:
    """Tell whether what a name says goes with a declared type; a CSV file declares none."""
    if kind is None or meant == kind:
        return True
    if meant in DATES:
        return kind.startswith(meant)
    return meant == "BIGINT" and kind.startswith((*INTEGERS, *FLOATS))


def simple(kind: str) -> str:
    """One name for the types that are asked about in the same way.

    >>> simple("DECIMAL(18,2)"), simple("VARCHAR"), simple("BIGINT[]")
    ('DOUBLE', 'VARCHAR', 'BIGINT[]')
    """
    if kind.endswith("]"):
        return kind
    if kind.startswith(INTEGERS):
        return "BIGINT"
    if kind.startswith(FLOATS):
        return "DOUBLE"
    return "TIMESTAMP" if kind.startswith("TIMESTAMP") else kind
