"""A first policy for data, from names and declared types alone; what only the owner knows is left to fill in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Proposal", "PublicFacts", "propose"]

PublicFacts = tuple[str, str | None, str | None, "list[str] | None"]

_PERSON = re.compile(
    r"^(patient|person|people|user|customer|client|member|student|pupil|employee|subject|citizen|household|account|"
    r"participant|respondent|resident|taxpayer|voter|driver|passenger|device)s?"
    r"[_ -]?(id|no|nr|num|number|key|uuid|code)$",
    re.IGNORECASE,
)
_BARE = re.compile(r"^[A-Za-z0-9_-]+$")

# Bounds that hold by the meaning of a word, whatever the data are.
_KNOWN = (
    (
        r"age|age_?in_?years",
        "{ lower = 0, upper = 120 }",
        "years of a life; narrower if the law or your register says so",
    ),
    (r"(birth_?)?year", "{ lower = 1900, upper = 2100 }", "the calendar; narrower if you know more"),
    (r"month", "{ lower = 1, upper = 12 }", "the calendar"),
    (r"hour", "{ lower = 0, upper = 23 }", "the clock"),
    (r"minute|second", "{ lower = 0, upper = 59 }", "the clock"),
    (r"lat(itude)?", "{ lower = -90.0, upper = 90.0 }", "the globe; narrower for a country"),
    (r"lon(gitude)?|lng", "{ lower = -180.0, upper = 180.0 }", "the globe; narrower for a country"),
    (r"percent(age)?|pct", "{ lower = 0.0, upper = 100.0 }", "a percentage"),
    (r"(\w+_)?(date|day)", '{ type = "date" }', "bounds make dates countable: lower = 2020-01-01, upper = 2029-12-31"),
    (r"(\w+_)?(time|timestamp|at)", '{ type = "timestamp" }', "bounds as for dates"),
)
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_FLOATS = ("FLOAT", "DOUBLE", "DECIMAL", "REAL")


@dataclass(frozen=True, slots=True)
class Proposal:
    """The text of a policy and what is left to fill in.

    >>> proposal = propose({"visits": {"patient_id": None, "age": None, "ward": None}}, source=".")
    >>> proposal.fill
    ('tables.visits.columns.ward: type, bounds or keys', 'budget: epsilon and delta', 'tables.visits.rows_per_unit')
    """

    text: str
    fill: tuple[str, ...]


def propose(
    tables: Mapping[str, Mapping[str, str | None]],
    *,
    source: str,
    dataset: str = "dataset",
    unit: str | None = None,
    public: Mapping[tuple[str, str], PublicFacts] | None = None,
) -> Proposal:
    """Write a policy for tables; `public` holds facts of values, for tables that are public as a whole.

    >>> facts = {("wards", "beds"): ("BIGINT", "7", "12", None)}
    >>> print(propose({"wards": {"beds": None}}, source=".", public=facts).text[-86:])
    [tables.wards]
    public = true
    <BLANKLINE>
    [tables.wards.columns]
    beds = { lower = 7, upper = 12 }
    <BLANKLINE>
    """
    fill: list[str] = []
    parts = [_head(dataset, source)]
    for name, columns in tables.items():
        if not _allowed(name):
            parts.append(f"{_refused(name)}\n")
            continue
        parts.append("\n".join(_table(name, columns, unit, public, fill)) + "\n")
    fill.append("budget: epsilon and delta")
    fill += [
        f"tables.{name}.rows_per_unit" for name, columns in tables.items() if public is None and _unit(columns, unit)
    ]
    return Proposal("\n".join(parts), tuple(fill))


def _head(dataset: str, source: str) -> str:
    return f"""\
# Everything in this file is public: analysts may read it. Take bounds and keys from outside knowledge (the law,
# a price list, the calendar), never from the data. Lines with FILL IN need you; a column that stays commented out
# cannot be asked about. Then: discreet check THIS_FILE
[dataset]
id = {json.dumps(dataset, ensure_ascii=False)}  # what is spent belongs to it, whatever this file is called

[source]
url = {json.dumps(source, ensure_ascii=False)}

[budget]
epsilon = 1                         # FILL IN all that may ever be spent; see: discreet explain --epsilon 1
delta = 1e-6                        # FILL IN far below 1 divided by the number of people
"""


def _table(
    name: str,
    columns: Mapping[str, str | None],
    unit: str | None,
    public: Mapping[tuple[str, str], PublicFacts] | None,
    fill: list[str],
) -> Iterator[str]:
    """Write a table: who is protected, and what is known of each column."""
    yield f"[tables.{_key(name)}]"
    protected = _unit(columns, unit)
    if public is not None:
        yield "public = true"
    elif protected is None:
        fill.append(f"tables.{name}.unit: who is protected")
        yield '# unit = "…"                        # FILL IN the column that says who a row is about, or row_is_unit'
    else:
        yield f"unit = {json.dumps(protected, ensure_ascii=False)}".ljust(36) + "# who is protected, with all rows"
        yield "rows_per_unit = 10                  # FILL IN how many rows of one unit count; of more, so many are kept"
    yield f"\n[tables.{_key(name)}.columns]"
    for column, kind in columns.items():
        if public is not None:
            yield _public(column, public[name, column])
        elif column != protected:
            yield _column(name, column, kind, fill)


def _unit(columns: Mapping[str, str | None], given: str | None) -> str | None:
    """Choose the unit: the one that was named, else the first name that sounds like a person's number."""
    if given in columns:
        return given
    return next((name for name in columns if _PERSON.match(name)), None)


def _key(name: str) -> str:
    return name if _BARE.match(name) else json.dumps(name, ensure_ascii=False)


def _column(table: str, name: str, kind: str | None, fill: list[str]) -> str:
    """Write a column by the meaning of its name, or by its declared type; else leave it to the owner."""
    if not _allowed(name):
        return _refused(name)
    for pattern, facts, why in _KNOWN:
        if re.fullmatch(pattern, name, re.IGNORECASE) and _fits(facts, kind):
            return f"{_key(name)} = {facts}".ljust(52) + f"# {why}"
    declared = _declared(kind)
    if declared is not None:
        return f"{_key(name)} = {declared}"
    fill.append(f"tables.{table}.columns.{name}: type, bounds or keys")
    if kind is not None:
        whole = kind.startswith(_INTEGERS)
        example = "{ lower = 0, upper = 1000 }" if whole else "{ lower = 0.0, upper = 1000.0 }"
        return f"# {_key(name)} = {example}".ljust(52) + "# FILL IN bounds (or keys, to group by it)"
    example = '{ type = "text" }'
    return f"# {_key(name)} = {example}".ljust(52) + '# FILL IN: lower and upper; or keys = ["…"]; or a type'


def _allowed(name: str) -> bool:
    return bool(name) and name.isprintable() and not name.startswith("_")


def _refused(name: str) -> str:
    shown = json.dumps(name, ensure_ascii=False)
    return f"# {shown}: names must be printable and not begin with _; rename it to ask about it"


def _fits(facts: str, kind: str | None) -> bool:
    """Tell whether facts by name go with a declared type; a CSV file declares none."""
    if kind is None:
        return True
    if "type" in facts:
        return ("date" in facts and kind == "DATE") or ("timestamp" in facts and kind.startswith("TIMESTAMP"))
    return kind.startswith((*_INTEGERS, *_FLOATS))


def _declared(kind: str | None) -> str | None:
    """Write what a declared type says by itself: numbers need bounds, so they are left to the owner."""
    if kind == "VARCHAR":
        return '{ type = "text" }'
    if kind == "BOOLEAN":
        return "{ keys = [false, true] }"
    if kind == "DATE":
        return '{ type = "date" }'
    return '{ type = "timestamp" }' if kind is not None and kind.startswith("TIMESTAMP") else None


def _public(name: str, facts: PublicFacts) -> str:
    """Write a column of a public table from its values."""
    if not _allowed(name):
        return _refused(name)
    kind, low, high, keys = facts
    if kind.startswith(_INTEGERS) and low is not None:
        return f"{_key(name)} = {{ lower = {low}, upper = {high} }}"
    if kind.startswith(_FLOATS) and low is not None:
        return f"{_key(name)} = {{ lower = {_float(low)}, upper = {_float(high or low)} }}"
    if kind in {"BOOLEAN", "DATE"} or kind.startswith("TIMESTAMP"):
        return f"{_key(name)} = {_declared(kind)}"
    if keys:
        return f"{_key(name)} = {{ keys = {json.dumps(keys, ensure_ascii=False)} }}"
    return f'{_key(name)} = {{ type = "text" }}'


def _float(text: str) -> str:
    """Write a number so that TOML reads a float."""
    return text if "." in text or "e" in text else f"{text}.0"
