"""Data dictionaries that people have: what they say of tables and columns, in the words of a policy."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Described", "Dictionary", "read_dictionary"]

_KINDS = {
    **dict.fromkeys(("integer", "int", "long", "short", "nonNegativeInteger", "positiveInteger", "year"), "integer"),
    **dict.fromkeys(("number", "float", "double", "decimal"), "float"),
    **dict.fromkeys(("string", "text", "anyURI", "normalizedString", "token"), "text"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    "date": "date",
    **dict.fromkeys(("datetime", "dateTime", "dateTimeStamp", "timestamp"), "timestamp"),
}
_SMARTNOISE_TABLE = {
    "row_privacy", "rows", "max_ids", "sample_max_ids", "censor_dims", "clamp_counts", "clamp_columns", "use_dpsu",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Described:
    """What a dictionary says of a column; None where it says nothing.

    >>> Described("integer", "0", "120").complete, Described(description="years of a life").complete
    (True, False)
    """

    kind: str | None = None
    lower: str | None = None
    upper: str | None = None
    keys: tuple[object, ...] | None = None
    description: str = ""
    is_unit: bool = False

    @property
    def complete(self) -> bool:
        """Whether keys, or both bounds, are said: nothing is left to ask the rows."""
        return self.kind == "boolean" or self.keys is not None or None not in {self.lower, self.upper}


@dataclass(frozen=True, slots=True)
class Dictionary:
    """What a dictionary says, by table and column; the table "" stands for all.

    >>> Dictionary({"": {"age": Described("integer")}}).of("people", "age").kind
    'integer'
    """

    columns: Mapping[str, Mapping[str, Described]]
    rows_per_unit: Mapping[str, int] = field(default_factory=dict)

    def of(self, table: str, column: str) -> Described:
        """What is said of a column: under its table's name, else for all tables."""
        for name in (table, ""):
            if column in self.columns.get(name, {}):
                return self.columns[name][column]
        return Described()

    def unit_of(self, table: str) -> str | None:
        """The column that is said to be a person's id."""
        for name in (table, ""):
            for column, facts in self.columns.get(name, {}).items():
                if facts.is_unit:
                    return column
        return None


def read_dictionary(path: str | Path) -> Dictionary:
    r"""Read a data dictionary: Frictionless Table Schema or Data Package, CSVW (all JSON), SmartNoise (YAML), or CSV.

    A CSV file has a line for each column: its name and a description, under a line of headings.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "schema.json"
    ...     _ = file.write_text('{"fields": [{"name": "age", "type": "integer", "constraints": {"minimum": 0}}]}')
    ...     read_dictionary(file).of("people", "age").lower
    '0'
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the dictionary {file} cannot be read: {type(error).__name__}. It must be a text file in UTF-8."
        raise ParameterError(msg) from None
    if file.suffix == ".csv":
        return _of_lines(file, text)
    read = _of_yaml if file.suffix in {".yaml", ".yml"} else _of_json
    return read(file, text)


def _of_json(file: Path, text: str) -> Dictionary:
    """Tell the two forms of JSON apart by the keys that each must have."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if isinstance(given, dict):
        if "fields" in given:
            return Dictionary({"": _fields(file, given)})
        if "resources" in given:
            listed = [
                resource for resource in _list(file, given["resources"]) if isinstance(resource.get("schema"), dict)
            ]
            return Dictionary({str(resource.get("name", "")): _fields(file, resource["schema"]) for resource in listed})
        if "tableSchema" in given or "tables" in given:
            listed = [given] if "tableSchema" in given else _list(file, given["tables"])
            return Dictionary({Path(str(table.get("url", ""))).stem: _csvw(file, table) for table in listed})
    raise _unknown(file)


def _fields(file: Path, schema: Mapping[str, Any]) -> dict[str, Described]:
    """Frictionless Table Schema (https://specs.frictionlessdata.io/table-schema): fields with constraints."""
    columns = {}
    for entry in _list(file, schema.get("fields")):
        limits = _map(entry.get("constraints"))
        keys = limits.get("enum")
        columns[str(entry.get("name", ""))] = Described(
            _kind(entry.get("type")),
            _end(limits.get("minimum")),
            _end(limits.get("maximum")),
            tuple(keys) if isinstance(keys, list) and keys else None,
            str(entry.get("description") or entry.get("title") or ""),
        )
    return columns


def _csvw(file: Path, table: Mapping[str, Any]) -> dict[str, Described]:
    """CSV on the Web (https://www.w3.org/TR/tabular-metadata): columns with datatypes that may have limits."""
    schema = table.get("tableSchema")
    columns: dict[str, Described] = {}
    for column in _list(file, schema.get("columns") if isinstance(schema, dict) else None):
        datatype = column.get("datatype")
        limits = datatype if isinstance(datatype, dict) else {"base": datatype}
        ends = [
            next((limits[word] for word in words if word in limits), None)
            for words in (("minimum", "minInclusive"), ("maximum", "maxInclusive"))
        ]
        title = _text(column.get("titles"))
        description = _text(column.get("dc:description") or column.get("description"))
        facts = Described(_kind(limits.get("base")), _end(ends[0]), _end(ends[1]), None, description)
        columns |= {name: facts for name in (title, column.get("name")) if isinstance(name, str) and name}
    return columns


def _of_yaml(file: Path, text: str) -> Dictionary:
    """SmartNoise's metadata (https://docs.smartnoise.org/sql/metadata.html): database, schema, table, columns."""
    try:
        import yaml
    except ImportError:
        msg = f"{file.name} is YAML; reading it needs PyYAML: pip install 'discreet[yaml]', or write it as JSON or CSV."
        raise ParameterError(msg) from None
    try:
        given = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise _unknown(file)
    columns: dict[str, dict[str, Described]] = {}
    rows: dict[str, int] = {}
    for schemas in _maps(given):
        for tables in _maps(schemas):
            for name, table in tables.items():
                if not isinstance(table, dict):
                    raise _unknown(file)
                columns[str(name)] = {
                    str(key): _smart(value)
                    for key, value in table.items()
                    if key not in _SMARTNOISE_TABLE and isinstance(value, dict)
                }
                most = table.get("max_ids", table.get("max_contrib"))
                if isinstance(most, int) and most >= 1 and not isinstance(most, bool):
                    rows[str(name)] = most
    if not columns:
        raise _unknown(file)
    return Dictionary(columns, rows)


def _smart(column: Mapping[str, Any]) -> Described:
    return Described(
        _kind(column.get("type")),
        _end(column.get("lower", column.get("minimum"))),
        _end(column.get("upper", column.get("maximum"))),
        None,
        "",
        column.get("private_id") is True,
    )


def _of_lines(file: Path, text: str) -> Dictionary:
    """Two columns, a name and what it means; the first line is headings."""
    lines = [line for line in csv.reader(text.splitlines()) if line]
    if len(lines) < 2 or any(len(line) < 2 for line in lines):
        raise _unknown(file)
    return Dictionary({"": {line[0].strip(): Described(description=line[1].strip()) for line in lines[1:]}})


def _unknown(file: Path) -> ParameterError:
    msg = (
        f"{file.name} is no data dictionary that is known here; give a Frictionless Table Schema or CSVW metadata "
        "(JSON), SmartNoise metadata (YAML), or a CSV file with two columns, the name of a column and its description."
    )
    return ParameterError(msg)


def _list(file: Path, given: object) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        raise _unknown(file)
    return given


def _map(given: object) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _maps(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [value for value in given.values() if isinstance(value, dict)]


def _kind(given: object) -> str | None:
    return _KINDS.get(given) if isinstance(given, str) else None


def _text(given: object) -> str:
    """Read a text that may be given by language, or as a list."""
    while isinstance(given, list | dict) and given:
        given = next(iter(given.values() if isinstance(given, dict) else given))
    return given if isinstance(given, str) else ""


def _end(given: object) -> str | None:
    if given is None or given == "" or isinstance(given, bool):
        return None
    if isinstance(given, str | int | float) or hasattr(given, "isoformat"):
        return str(given)
    msg = f"a limit is {shown(given)}; it must be a number or a date."
    raise ParameterError(msg)
