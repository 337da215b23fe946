"""A first policy for data: from names, declared types and a dictionary; for a price, from the rows, privately."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.engines.describing import columns_of
from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.methods.proposals import writing
from discreet.methods.proposals.buying import Purse, bought
from discreet.methods.proposals.dictionaries import Dictionary, read_dictionary
from discreet.methods.proposals.given import Given
from discreet.methods.proposals.names import like_a_record, person_in
from discreet.methods.proposals.writing import Head, allowed
from discreet.privacy import NeighborRelation
from discreet.tables import Policy
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from discreet.exact import Number
    from discreet.methods.proposals.buying import Watch
    from discreet.methods.proposals.given import Columns, Proposal
    from discreet.privacy.relations import Relation

__all__ = ["propose"]


def propose(  # noqa: PLR0913 - each is settled once, before any row is asked
    source: object,
    *,
    unit: str | None = None,
    unit_type: str | None = None,
    row_is_unit: bool = False,
    epsilon: Number | None = None,
    budget: Number = 3,
    delta: Number = "1e-6",
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
    dictionary: str | Path | Dictionary | None = None,
    table: str = "data",
    dataset: str = "dataset",
    url: str | None = None,
    ledger: str | Path | None = None,
    file: str | Path | None = None,
    header: bool = False,
    public: Iterable[str] = (),
    watch: Watch | None = None,
) -> Proposal:
    """Propose a policy for data: a path, `postgresql://…`, a data frame (called `table`), or a mapping of data frames.

    Without `epsilon` no row is read: names, declared types and a dictionary are all that is used. The types of a data
    frame count as declared: who had them guessed from the rows, as `pandas.read_csv` does, publishes the guess.

    With it, types, bounds, keys and rows per unit are asked of the rows, privately, and paid from `ledger` (an address
    as `discreet.ledgers.open_ledger` takes it; with `file`, the ledger beside that policy file). All of it together is
    an (epsilon, delta')-DP release, delta' being the policy's `release_delta`, which all searches for keys share. What
    a ledger freezes must be right before: `unit` (or `row_is_unit`), `unit_type` ("integer" or "text"; if not given,
    integers where numbers are declared), `neighbors`, `budget` and `delta`. Without a delta no keys are searched.
    Tables named in `public` protect nobody, and are read when a database is opened.

    >>> import pyarrow as pa
    >>> data = pa.table({"user": range(4000), "cost": [12, 80] * 2000})
    >>> bought = propose(data, unit="user", epsilon=0.5, budget=3, ledger="memory")
    >>> print(bought.policy.table("data").column("cost").bounds, bought.policy.table("data").rows_per_unit)
    [0, 100] 1
    >>> {about: str(price) for about, price in bought.paid.items()}
    {'rows per unit': '833/5000', 'bounds of cost': '3333/10000'}
    """
    frames = source if _is_path(source) or isinstance(source, Mapping) else {table: source}
    tables = columns_of(frames, relative_to=None)
    _require_columns(tables, unit, header=header)
    nobody = frozenset(_of_tables(public, tables))
    known = dictionary if isinstance(dictionary, Dictionary) else Dictionary({})
    if dictionary is not None and not isinstance(dictionary, Dictionary):
        known = read_dictionary(dictionary)
    Policy([], epsilon=budget, delta=delta, neighbors=neighbors, dataset=dataset)  # refuses what no policy can say
    head = Head(
        dataset,
        url if url is not None else str(source) if _is_path(source) else None,
        _number(budget, "budget"),
        _number(delta, "delta"),
        neighbors.value,
        "" if epsilon is None else f"ε = {_number(epsilon, 'epsilon')}",
    )
    units = {
        name: None if row_is_unit else _unit(name, columns, unit, known)
        for name, columns in tables.items()
        if allowed(name) and name not in nobody
    }
    if unit_type not in (None, "integer", "text"):
        msg = f"unit_type is {shown(unit_type)}; it must be 'integer', 'text', or None: as the data declare it."
        raise ParameterError(msg)
    given = Given(tables, units, row_is_unit, known, head, neighbors, nobody, unit_type)
    if unit is not None and row_is_unit:
        msg = "unit is given and row_is_unit too; a row is about the unit that a column names, or is one itself."
        raise ParameterError(msg)
    if epsilon is None:
        return given.proposal()
    return bought(given, frames, rational(epsilon, name="epsilon"), Purse(ledger, file), watch or (lambda *_: None))


def _of_tables(public: Iterable[str], tables: Mapping[str, Columns]) -> Iterator[str]:
    for name in [public] if isinstance(public, str) else public:
        if name not in tables:
            msg = f"public names {shown(name)}, which is no table.{hint(name, list(tables))}"
            raise ParameterError(msg)
        yield name


def _is_path(source: object) -> bool:
    return isinstance(source, str) or hasattr(source, "__fspath__")


def _unit(table: str, columns: Columns, unit: str | None, dictionary: Dictionary) -> str | None:
    """Choose the unit: the one that was named, else the dictionary's, else the first that sounds like a person's id."""
    if unit in columns:
        return unit
    said = dictionary.unit_of(table)
    return said if said in columns else person_in(columns)


def _require_columns(tables: Mapping[str, Columns], unit: str | None, *, header: bool) -> None:
    """Refuse data without columns, a unit that is none of them, and a first line that may be somebody."""
    if not tables or not all(tables.values()):
        lacking = next((f"table {shown(name)}" for name, columns in tables.items() if not columns), "the source")
        msg = f"{lacking} has no columns; a file begins with a line of column names, and a folder holds such files."
        raise ParameterError(msg)
    if any("\n" in name or "\r" in name for columns in tables.values() for name in columns):
        msg = (
            "a column name reaches over the end of a line: is a quotation mark left open in the first line? A policy "
            "publishes column names, and this one may hold rows. Close the mark, or write the name on one line."
        )
        raise ParameterError(msg)
    record = None if header else like_a_record(tables)
    if record is not None:
        msg = (
            f"the column names of {shown(record)} look like the values of a record: is the first line a person? A "
            "policy publishes column names. Put a line of names above the rows; if these are the names, say so with "
            "--header (in Python: header=True)."
        )
        raise ParameterError(msg)
    joined = None if header else _joined(tables)
    if joined is not None:
        table, separator = joined
        msg = (
            f"table {shown(table)} has one column, whose name holds {shown(separator)}: is that what separates its "
            "cells? Those of .csv and .data files are separated by commas, those of .tsv files by tabs. Write the file "
            "anew so; if this is a name, say so with --header (in Python: header=True)."
        )
        raise ParameterError(msg)
    known = [column for columns in tables.values() for column in columns]
    if unit is not None and unit not in known:
        msg = f"unit is {shown(unit)}, which is no column.{hint(unit, known)}"
        raise ParameterError(msg)


def _joined(tables: Mapping[str, Columns]) -> tuple[str, str] | None:
    """Find a table whose cells another character separates, by its line of names: all of them are one name then."""
    for table, columns in tables.items():
        separator = next((mark for mark in ";\t|" if len(columns) == 1 and mark in next(iter(columns))), None)
        if separator is not None:
            return table, separator
    return None


def _number(given: Number, name: str) -> str:
    """Write a number so that TOML reads it exactly."""
    exact = rational(given, name=name)
    text = str(given)
    try:
        decimal = Fraction(text) == exact and "/" not in text
    except ValueError:
        decimal = False
    return text if decimal else writing.text_of(str(exact))
