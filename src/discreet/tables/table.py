"""What a policy says about one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, PolicyError
from discreet.exact import integer, shown
from discreet.tables.column import Column
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping as MappingType

__all__ = ["Table"]

_MOST_ROWS = 10**9


@dataclass(frozen=True, slots=True, init=False)
class Table:
    """One table: public, or private with the unit that is protected.

    A private table names its `unit` column, or says `row_is_unit`. `rows_per_unit` is enforced: of a unit with more
    rows, so many are kept. Rows whose unit is NULL are dropped. `unit_kind` says who the unit is; tables of different
    kinds never join. `unique` lists columns (or groups of columns) that never repeat; a private table's is enforced
    until the owner has had it verified.

    A public table that states no columns has those of the source, as an engine reads them when it opens
    (`with_columns`): they are part of each question's key, and not of the policy's hash.

    >>> visits = Table("visits", unit="patient_id", rows_per_unit=20, columns=[Column("cost", lower=0, upper=500)])
    >>> visits.private, visits.column("patient_id").kind.value, visits.unit_kind
    (True, 'text', 'patient_id')
    """

    name: str
    columns: tuple[Column, ...]
    unit: str | None
    unit_kind: str | None
    rows_per_unit: int | None
    unique: tuple[tuple[str, ...], ...]
    public: bool
    references: str | None
    """The column of another table, as `table.column`, through which rows belong to that table's units."""
    through: str | None
    """The own column that refers to it."""
    rows_per_parent: int | None
    """So many rows are kept for each value of that column."""
    stated: tuple[Column, ...] = field(init=False)
    """The columns that the policy states: all, unless they were read from the source."""

    def __init__(  # noqa: PLR0913 - each is a fact of its own
        self,
        name: str,
        *,
        columns: Iterable[Column] = (),
        unit: str | None = None,
        unit_kind: str | None = None,
        row_is_unit: bool = False,
        rows_per_unit: int | None = None,
        unique: Iterable[str | Iterable[str]] = (),
        public: bool = False,
        references: str | None = None,
        through: str | None = None,
        rows_per_parent: int | None = None,
    ) -> None:
        if not isinstance(name, str) or not name or name.startswith("_") or not name.isprintable():
            msg = f"a table is named {shown(name)}; names are texts of printable characters without a leading _."
            raise PolicyError(msg)
        sets = _sets(name, unique)
        columns = tuple(columns)
        described = _columns(name, columns, sets, unit)
        others = {"unit": unit, "unit_kind": unit_kind, "row_is_unit": row_is_unit or None, "public": public or None}
        _require_reference(name, references, rows_per_parent, through, others | {"rows_per_unit": rows_per_unit})
        facts = {
            "name": name,
            "columns": described,
            "unit": unit,
            "unit_kind": None
            if references is not None
            else _unit_kind(name, unit, unit_kind, public=public, row_is_unit=row_is_unit),
            "references": references,
            "through": None if references is None else _through(name, references, through, described),
            "rows_per_parent": rows_per_parent,
            "rows_per_unit": _rows(name, unit, rows_per_unit, sets, row_is_unit=row_is_unit),
            "unique": sets,
            "public": public,
            "stated": columns if public is True else described,
        }
        for name_of_fact, fact in facts.items():
            object.__setattr__(self, name_of_fact, fact)

    @property
    def private(self) -> bool:
        """Whether the table holds units to protect."""
        return not self.public

    @property
    def row_is_unit(self) -> bool:
        """Whether each row is a unit of its own."""
        return self.private and self.unit is None and self.references is None

    @property
    def unit_is_unique(self) -> bool:
        """Whether the policy says that a unit has one row at most."""
        return self.private and (self.row_is_unit or (self.unit,) in self.unique)

    @property
    def unstated(self) -> bool:
        """Whether it is public and states no columns: they are read from the source.

        >>> Table("wards", public=True, unique=["ward"]).unstated
        True
        """
        return self.public and not self.stated

    @property
    def read(self) -> list[list[object]]:
        """The columns that were read from the source, as plain values."""
        return [[column.name, column.describe()] for column in self.columns] if self.unstated else []

    def with_columns(self, columns: Iterable[Column]) -> Table:
        """The same table, with columns that were read from the source; it still states none.

        >>> Table("wards", public=True).with_columns([Column("beds", lower=1, upper=40)]).describe()["columns"]
        []
        """
        completed = copy(self)
        object.__setattr__(completed, "columns", tuple(columns))
        return completed

    def column(self, name: str) -> Column:
        """Return a column by its name."""
        return self.named[name]

    @property
    def named(self) -> MappingType[str, Column]:
        """The columns by name, in their order."""
        return MappingProxyType({column.name: column for column in self.columns})

    def describe(self) -> dict[str, object]:
        """Return the facts as plain values, for canonical forms."""
        if self.public:
            head: dict[str, object] = {"public": True}
        else:
            head = {"unit": self.unit, "unit_kind": self.unit_kind, "rows_per_unit": self.rows_per_unit}
        if self.references is not None:
            head = {"references": self.references, "through": self.through, "rows_per_parent": self.rows_per_parent}
        return {
            **head,
            "unique": [list(columns) for columns in self.unique],
            "columns": [{"name": column.name, **column.describe()} for column in self.stated],
        }


def _sets(name: str, unique: Iterable[str | Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Read the unique column sets: a text is one column, a list several together."""
    if isinstance(unique, str | Mapping) or not isinstance(unique, Iterable):
        msg = f'{name}.unique is {shown(unique)}; it must be a list, such as ["patient_id"] or [["ward", "day"]].'
        raise PolicyError(msg)
    sets = tuple(tuple(key) if isinstance(key, list | tuple) else (key,) for key in unique)
    for columns in sets:
        if not columns or not all(isinstance(column, str) for column in columns):
            msg = f"{name}.unique holds {shown(columns)}; each entry is a column, or a list of columns."
            raise PolicyError(msg)
    return sets


def _columns(
    name: str, columns: Iterable[Column], sets: tuple[tuple[str, ...], ...], unit: str | None
) -> tuple[Column, ...]:
    """Collect the columns; a unit or unique column without a declaration is a text."""
    described = list(columns)
    if not all(isinstance(column, Column) for column in described):
        msg = f"{name}.columns must be a list of Column."
        raise PolicyError(msg)
    known = [column.name for column in described]
    implied = [*([unit] if isinstance(unit, str) else []), *(wanted for columns in sets for wanted in columns)]
    described += [Column(wanted, type=Kind.TEXT) for wanted in dict.fromkeys(implied) if wanted not in known]
    folded = [column.name.casefold() for column in described]
    for place, column in enumerate(described):
        if folded[place] in folded[:place]:
            msg = f"{name} has two columns named {column.name!r} (letters' case does not tell names apart)."
            raise PolicyError(msg)
    for column in described:
        if column.name == unit:
            _require_identity(name, column)
    return tuple(described)


def _require_identity(name: str, column: Column) -> None:
    """Refuse a unit whose values could be merged as they are read.

    Two people would count as one, and a limit on their rows together would let one of them move the other's.
    """
    if column.bounds.finite or column.keys is not None or column.kind not in {Kind.INTEGER, Kind.TEXT}:
        msg = (
            f"{name}.{column.name} is the unit; it must be of type integer or text, without bounds and keys: "
            "clamping and rounding would merge units."
        )
        raise PolicyError(msg)


def _unit_kind(name: str, unit: str | None, kind: str | None, *, public: bool, row_is_unit: bool) -> str | None:
    """Check that the table is either public or has one unit; give its kind."""
    for word, given in (("public", public), ("row_is_unit", row_is_unit)):
        if not isinstance(given, bool):
            msg = f"{name}.{word} is {shown(given)}; it must be true or false."
            raise PolicyError(msg)
    for word, text in (("unit", unit), ("unit_kind", kind)):
        if text is not None and (not isinstance(text, str) or not text):
            msg = f"{name}.{word} is {shown(text)}; it must be a text."
            raise PolicyError(msg)
    if public:
        if unit is not None or kind is not None or row_is_unit:
            msg = f"{name} is public and has a unit; a public table protects nobody. Remove one of the two."
            raise PolicyError(msg)
        return None
    if (unit is None) != row_is_unit:
        msg = (
            f'{name} must say who is protected, in one way: unit = "column", row_is_unit = true, or '
            "public = true for a table without private data."
        )
        raise PolicyError(msg)
    return kind or unit or f"row of {name}"


def _require_reference(
    name: str, references: str | None, rows: int | None, through: str | None, others: dict[str, object]
) -> None:
    """Refuse a reference without a limit, a limit without a reference, and a unit beside a reference."""
    if references is None:
        if rows is not None or through is not None:
            word = "through" if rows is None else "rows_per_parent"
            msg = f'{name} has {word} and refers to no table; write references = "orders.order_id", or leave it out.'
            raise PolicyError(msg)
        return
    if not isinstance(references, str) or not all(references.rpartition(".")[::2]):
        msg = f'{name}.references is {shown(references)}; it must be a table and its column, such as "orders.order_id".'
        raise PolicyError(msg)
    for word, given in others.items():
        if given is not None:
            msg = f"{name} has {word} and refers to {references}, through which its rows belong to units; keep one."
            raise PolicyError(msg)
    if rows is None:
        msg = f"{name} refers to {references} without rows_per_parent; say how many rows of one {references} count."
        raise PolicyError(msg)
    try:
        integer(rows, name=f"{name}.rows_per_parent", least=1, most=_MOST_ROWS)
    except ParameterError as error:
        raise PolicyError(str(error)) from None


def _through(name: str, references: str, given: str | None, columns: tuple[Column, ...]) -> str:
    """Find the column that refers: the one that is named, or the one that is called like its key."""
    own = references.rpartition(".")[2] if given is None else given
    if own not in [column.name for column in columns]:
        msg = f'{name} refers to {references} and has no column {shown(own)}; declare it, or say through = "…".'
        raise PolicyError(msg)
    return own


def _rows(
    name: str, unit: str | None, given: int | None, sets: tuple[tuple[str, ...], ...], *, row_is_unit: bool
) -> int | None:
    """Read rows per unit; a unique unit has one."""
    alone = row_is_unit or (unit is not None and (unit,) in sets)
    if given is None:
        return 1 if alone else None
    try:
        rows = integer(given, name=f"{name}.rows_per_unit", least=1, most=_MOST_ROWS)
    except ParameterError as error:
        raise PolicyError(str(error)) from None
    if unit is None and not row_is_unit:  # nor does a table that refers to another
        msg = f"{name} is public and has rows_per_unit; a public table has no units."
        raise PolicyError(msg)
    if alone and rows > 1:
        msg = f"{name} has one row per unit by its uniqueness, and rows_per_unit = {rows}; remove one of the two."
        raise PolicyError(msg)
    return rows
