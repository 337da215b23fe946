"""Policies from TOML and from JSON: what is wrong is named with its key, its line, and what is allowed."""

from __future__ import annotations

import json
import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import DiscreetError, PolicyError
from discreet.privacy.relations import read_relation
from discreet.tables.analyst import Analyst
from discreet.tables.column import Column
from discreet.tables.kinds import as_date, as_timestamp
from discreet.tables.nearest import hint
from discreet.tables.purpose import Purpose
from discreet.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Lines", "json_facts", "located", "toml_facts"]

Built = TypeVar("Built")

_HEADER = re.compile(r"^\s*\[\[?([^\[\]]+)\]")
_ENTRY = re.compile(r"^\s*([\w\"'.-]+)\s*=")
_SECTIONS = {
    "dataset": ("id", "version", "today"),
    "source": ("url",),
    "ledger": ("url", "group"),
    "budget": ("epsilon", "delta", "release_delta", "filter", "delta_conversion", "neighbors"),
    "limits": ("groups", "seconds"),
}
_TOP = (*_SECTIONS, "population", "tables", "analysts", "purposes", "form")
_TABLE = ("public", "unit", "unit_kind", "row_is_unit", "rows_per_unit", "unique", "columns")
_NAMED: dict[Callable[..., object], tuple[tuple[str, ...], str]] = {
    Column: (
        ("type", "lower", "upper", "keys", "other", "null_key", "nullable", "max_length", "exact"),
        "a column",
    ),
    Analyst: (("may", "tables", "epsilon", "delta"), "an analyst"),
    Purpose: (("epsilon", "delta"), "a purpose"),
}
"""Which keys the sections of named parts have, and what the parts are called."""


class Lines:
    """Where in a TOML text each key stands; a key inside braces stands where its column does."""

    def __init__(self, text: str) -> None:
        self._stated: dict[str, int] = {}
        self._implied: dict[str, int] = {}  # delta.x = 1 states delta.x, and that delta is a table
        section = ""
        for number, line in enumerate(text.splitlines(), start=1):
            if header := _HEADER.match(line):
                section = _plain(header[1])
                self._add(section, number)
            elif entry := _ENTRY.match(line):
                self._add(".".join(filter(None, (section, _plain(entry[1])))), number)

    def _add(self, path: str, number: int) -> None:
        self._stated.setdefault(path, number)
        while path := path.rpartition(".")[0]:
            self._implied.setdefault(path, number)

    def prefix(self, path: str) -> str:
        """Say the line of a key, or of the nearest thing around it."""
        while path:
            if number := self._stated.get(path) or self._implied.get(path):
                return f"line {number}: "
            path = path.rpartition(".")[0]
        return ""


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


def toml_facts(text: str) -> tuple[dict[str, Any], Lines]:
    """Read the arguments of a policy from TOML text, and where they stand."""
    text = text.removeprefix("\ufeff")  # some editors mark UTF-8 so
    try:
        # Decimals keep the digits that were written: 0.1 is one tenth.
        read = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        msg = f"the policy is not TOML: {error}."
        raise PolicyError(msg) from None
    except (ArithmeticError, RecursionError, ValueError):
        msg = "the policy holds a number that is too long, or lists within lists that are too deep; write shorter ones."
        raise PolicyError(msg) from None
    lines = Lines(text)
    return _facts(read, lines), lines


def json_facts(text: str) -> tuple[dict[str, Any], Lines]:
    """Read the arguments of a policy from its canonical form."""
    try:
        read = json.loads(text)
    except ValueError:
        msg = "the text is not JSON; it must be what Policy.to_json wrote."
        raise PolicyError(msg) from None
    if not isinstance(read, dict) or read.get("form") != 1:
        msg = "the text is not a policy of form 1; it must be what Policy.to_json wrote."
        raise PolicyError(msg)
    lines = Lines("")
    try:
        thawed = _thawed(read)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, PolicyError):
            raise
        msg = "the text is not a policy in its canonical form; it must be what Policy.to_json wrote."
        raise PolicyError(msg) from None
    return _facts(thawed, lines), lines


def _thawed(read: dict[str, object]) -> dict[str, object]:
    """Undo what the canonical form writes differently from TOML: lists of columns, null keys, whole numbers as text."""
    tables = {}
    for name, table in _section(read.get("tables", {}), "tables", Lines("")).items():
        kept = {word: fact for word, fact in table.items() if fact is not None}
        if not table.get("public") and table.get("unit") is None:
            kept |= {"row_is_unit": True}
        kept["columns"] = {column.pop("name"): _thawed_column(column) for column in table.get("columns", [])}
        tables[name] = kept
    return {**read, "tables": tables}


def _thawed_column(column: dict[str, object]) -> dict[str, object]:
    """Keys carry `other` and NULL at their end; bounds of dates are numbers of days or microseconds."""
    thawed = dict(column)
    keys = thawed.get("keys")
    if isinstance(keys, list):
        listed = [key for key in keys if key is not None and key != thawed.get("other")]
        thawed |= {"keys": [_number(key, thawed["type"]) for key in listed], "null_key": None in keys}
        if "other" in thawed:
            thawed["other"] = _number(thawed["other"], thawed["type"])
    for word in ("lower", "upper"):
        if word in thawed and thawed["type"] in {"date", "timestamp"}:
            count = Fraction(str(thawed[word]))
            thawed[word] = as_date(count) if thawed["type"] == "date" else as_timestamp(count)
    return thawed


def _number(key: object, kind: object) -> object:
    return float(key) if kind == "float" and isinstance(key, str) else key


def _facts(read: Mapping[str, object], lines: Lines) -> dict[str, Any]:
    """Turn sections into the arguments of a policy."""
    _known(read, _TOP, "", lines, "a policy")
    named = (*_SECTIONS, "population", "analysts", "purposes")
    sections = {name: _section(read.get(name, {}), name, lines) for name in named}
    for name, words in _SECTIONS.items():
        _known(sections[name], words, name, lines, f"[{name}]")
    tables = _tables(_section(read.get("tables", {}), "tables", lines), lines)
    budget = dict(sections["budget"])
    if "epsilon" not in budget:
        msg = "the policy has no budget.epsilon; write [budget] and below it epsilon = 3, what may ever be spent."
        raise PolicyError(msg)
    if "neighbors" in budget:
        budget["neighbors"] = located(lambda: read_relation(str(budget["neighbors"])), "budget.neighbors", lines)
    given = {
        "dataset": sections["dataset"].get("id"),
        "version": sections["dataset"].get("version"),
        "today": sections["dataset"].get("today"),
        "most_groups": sections["limits"].get("groups"),
        "seconds": sections["limits"].get("seconds"),
        "source": sections["source"].get("url"),
        "ledger": sections["ledger"].get("url"),
        "ledger_group": sections["ledger"].get("group"),
    }
    stated = {word: fact for word, fact in given.items() if fact is not None}
    analysts = _named(Analyst, sections["analysts"], "analysts", lines)
    purposes = _named(Purpose, sections["purposes"], "purposes", lines)
    others = {"population": sections["population"], "analysts": analysts, "purposes": purposes}
    return {"tables": tables, **budget, **stated, **others}


def _section(read: object, path: str, lines: Lines) -> dict[str, Any]:
    """Return a section, or refuse what is none."""
    if not isinstance(read, dict):
        msg = f"{lines.prefix(path)}{path} must be a section of its own, [{path}]."
        raise PolicyError(msg)
    return read


def _known(read: Mapping[str, object], words: tuple[str, ...], path: str, lines: Lines, what: str) -> None:
    """Refuse keys that nobody reads: a mistyped bound would be no bound."""
    for word in read:
        if word not in words:
            full = f"{path}.{word}" if path else word
            near = hint(word, words) or f" The keys are {', '.join(words)}."
            if what == "a table" and isinstance(read[word], dict):  # [tables.clinic.visits]
                near = f' A name with a dot stands in quotes: [tables."{full.removeprefix("tables.")}"].'
            msg = f"{lines.prefix(full)}{full} is not a key of {what}.{near}"
            raise PolicyError(msg)


def located(build: Callable[[], Built], path: str, lines: Lines, *, by_key: bool = False) -> Built:
    """Build a part; say where in the text the part stands if it cannot be built."""
    try:
        return build()
    except DiscreetError as error:
        text = str(error)
        if by_key:  # such messages begin with the key themselves
            raise PolicyError(lines.prefix(text.partition(" ")[0].rstrip(":")) + text) from None
        if text.startswith(("line ", path)):
            raise PolicyError(text) from None
        msg = f"{lines.prefix(path)}{path}: {text}"
        raise PolicyError(msg) from None


def _tables(read: Mapping[str, object], lines: Lines) -> list[Table]:
    """Build the tables; a kind of unit that one table states holds for others with the same unit column."""
    sections = {name: _section(table, f"tables.{name}", lines) for name, table in read.items()}
    stated: dict[str, set[str]] = {}
    for table in sections.values():
        if isinstance(table.get("unit"), str) and isinstance(table.get("unit_kind"), str):
            stated.setdefault(table["unit"], set()).add(table["unit_kind"])
    tables = []
    for name, table in sections.items():
        _known(table, _TABLE, f"tables.{name}", lines, "a table")
        columns = _named(Column, table.get("columns", {}), f"tables.{name}.columns", lines)
        facts = {word: fact for word, fact in table.items() if word != "columns"}
        kinds = stated.get(str(table.get("unit")), set())
        if "unit_kind" not in table and len(kinds) == 1:
            facts["unit_kind"] = next(iter(kinds))
        build = partial(Table, name, columns=columns, **facts)
        tables.append(located(build, f"tables.{name}", lines))
    return tables


def _named(part: Callable[..., Built], read: object, path: str, lines: Lines) -> list[Built]:
    """Build what has a name and a section of its own: columns, analysts, purposes."""
    words, what = _NAMED[part]
    parts = []
    for name, given in _section(read, path, lines).items():
        facts = _section(given, f"{path}.{name}", lines)
        _known(facts, words, f"{path}.{name}", lines, what)
        parts.append(located(partial(part, name, **facts), f"{path}.{name}", lines))
    return parts
