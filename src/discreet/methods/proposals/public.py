"""A policy for tables that are public as a whole, from their values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.duckdb.describing import public_facts, stored_columns
from discreet.errors import ParameterError
from discreet.methods.proposals import writing
from discreet.methods.proposals.given import Proposal
from discreet.methods.proposals.steps import DATES, FLOATS, INTEGERS

if TYPE_CHECKING:
    from discreet.methods.proposals.writing import Head

__all__ = ["propose_public"]

_MOST_KEYS = 200


def propose_public(data: str | Path, head: Head) -> Proposal:
    r"""Propose a policy for files that protect nobody: their values are read, and become bounds and keys.

    >>> import pathlib, tempfile
    >>> from discreet.methods.proposals.writing import Head
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "wards.csv"
    ...     _ = file.write_text("ward,beds\nsurgery,12\ncardiology,7\n")
    ...     proposal = propose_public(file, Head("town", ".", "1", "0", "add_remove"))
    >>> print(proposal.text.partition("[tables.wards]")[2])
    <BLANKLINE>
    public = true
    <BLANKLINE>
    [tables.wards.columns]
    ward = { keys = ["cardiology", "surgery"] }
    beds = { lower = 7, upper = 12 }
    <BLANKLINE>
    """
    path = Path(data)
    sections = []
    for table, columns in stored_columns(path).items():
        file = _file(path, table)
        lines = tuple(_line(file, name) if writing.allowed(name) else writing.refused(name) for name in columns)
        sections.append(writing.Section(table, ("public = true",), lines))
    return Proposal(writing.written(head, sections), ())


def _file(path: Path, table: str) -> Path:
    places = [path] if path.is_file() else [path / f"{table}{ending}" for ending in (".parquet", ".csv")]
    file = next((place for place in places if place.is_file() and place.suffix in {".parquet", ".csv"}), None)
    if file is None:
        msg = "--public reads CSV and Parquet files; write the policy of other public tables by hand."
        raise ParameterError(msg)
    return file


def _line(file: Path, name: str) -> writing.Line:
    """Write a column of a public table from its values."""
    kind, low, high, keys = public_facts(file, name, most_keys=_MOST_KEYS)
    if kind.startswith(INTEGERS) and low is not None:
        return writing.Line(name, f"{{ lower = {low}, upper = {high} }}")
    if kind.startswith(FLOATS) and low is not None:
        return writing.Line(name, f"{{ lower = {_float(low)}, upper = {_float(high or low)} }}")
    if kind.startswith(("BOOLEAN", *DATES)):
        return writing.Line(name, writing.declared(kind) or "")
    return writing.Line(name, writing.keys(keys) if keys else '{ type = "text" }')


def _float(text: str) -> str:
    """Write a number so that TOML reads a float."""
    return text if "." in text or "e" in text else f"{text}.0"
