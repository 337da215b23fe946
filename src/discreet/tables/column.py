"""What a policy says about one column."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, PolicyError
from discreet.exact import integer, shown
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import (
    INT64,
    LARGEST_FLOAT,
    LONGEST_TEXT,
    SMALLEST_FLOAT,
    Kind,
    Value,
    as_number,
    is_of_kind,
    read_value,
)
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["LARGEST_KEY_SET", "USUAL_LENGTH", "Column"]

LARGEST_KEY_SET = 1_000_000
USUAL_LENGTH = 256
"""How long texts of a column are at most, in code points, if the policy says nothing and no key is longer."""

# Words of databases and of Python for the types of a policy.
_ELSEWHERE = {
    **dict.fromkeys(("int", "bigint", "int64", "long"), "integer"),
    **dict.fromkeys(("double", "real", "number", "numeric", "decimal", "float64"), "float"),
    **dict.fromkeys(("str", "string", "varchar", "char", "category", "object"), "text"),
    **dict.fromkeys(("datetime", "timestamptz", "datetime64"), "timestamp"),
    "bool": "boolean",
}


@dataclass(frozen=True, slots=True, init=False)
class Column:
    """One column and the public facts about it, which every engine enforces as it reads.

    - `type`: boolean, integer, float, text, date or timestamp. It follows from bounds (integer if both are whole, else
      float) and from keys; every other column says it. Cells that cannot be read as the type are NULL.
    - `lower`, `upper`: numbers (and dates) are clamped into them.
    - `keys`: the known values. Grouping by the column gives exactly these groups. Other values fall into the group
      `other` if that is given, else they are left out of groups.
    - `exact`: texts are compared with the keys as they are. Without it spaces at both ends do not count, unless a key
      has some itself.
    - `null_key`: NULL is a group of its own.
    - `nullable=False`: rows with NULL (or NaN) here are dropped.
    - `max_length`: longer texts are cut to their first so many code points (256 unless a key is longer, 4096 at most).
      A unit is never cut, as two units would become one: a row whose unit is longer has none, and is dropped.

    >>> Column("ward", keys=["cardiology", "surgery"]).kind, Column("age", lower=0, upper=120).kind
    (<Kind.TEXT: 'text'>, <Kind.INTEGER: 'integer'>)
    """

    name: str
    kind: Kind
    bounds: Bounds
    keys: tuple[Value, ...] | None
    other: Value
    nullable: bool
    max_length: int | None
    """None for what is no text."""
    exact: bool

    def __init__(  # noqa: PLR0913 - each is a fact of its own
        self,
        name: str,
        *,
        type: str | Kind | None = None,  # noqa: A002 - the word of policies
        lower: Number | dt.date | None = None,
        upper: Number | dt.date | None = None,
        keys: Iterable[object] | None = None,
        other: object = None,
        null_key: bool = False,
        nullable: bool = True,
        max_length: int | None = None,
        exact: bool = False,
    ) -> None:
        if not isinstance(name, str) or not name or name.startswith("_") or not name.isprintable():
            msg = f"a column is named {shown(name)}; names are texts of printable characters without a leading _."
            raise PolicyError(msg)
        listed = None if keys is None else _listed(name, keys)
        kind = _kind(name, type, lower, upper, listed)
        for word, given in (("null_key", null_key), ("nullable", nullable), ("exact", exact)):
            if not isinstance(given, bool):
                msg = f"{name}.{word} is {shown(given)}; it must be true or false."
                raise PolicyError(msg)
        facts = {
            "name": name,
            "kind": kind,
            "bounds": _bounds(name, kind, lower, upper),
            "keys": _keys(name, kind, listed, other, null_key=null_key),
            "other": None if other is None else _read(other, kind, f"{name}.other"),
            "nullable": nullable,
            "exact": exact,
        }
        facts["max_length"] = _max_length(name, kind, facts["keys"], max_length)  # type: ignore[arg-type]  # as read
        if listed is None and (other is not None or null_key):
            word = "other" if other is not None else "null_key"
            msg = f"{name} has {word} but no keys; list the keys, or leave it out."
            raise PolicyError(msg)
        if exact and (listed is None or kind is not Kind.TEXT):
            msg = (
                f"{name} has exact but no keys that are texts; it says how texts are compared with keys. Leave it out."
            )
            raise PolicyError(msg)
        if null_key and not nullable:
            msg = f"{name} has null_key and is not nullable, which drops rows with NULL; remove one of the two."
            raise PolicyError(msg)
        if listed is not None and facts["bounds"] != UNBOUNDED:
            msg = f"{name} has both keys and bounds; keep the keys to group by it, or the bounds to compute with it."
            raise PolicyError(msg)
        for field, fact in facts.items():
            object.__setattr__(self, field, fact)

    @property
    def trimmed(self) -> bool:
        """Whether spaces at both ends of a text do not count: it has keys, none with spaces there.

        >>> Column("ward", keys=["a"]).trimmed, Column("ward", keys=["a"], exact=True).trimmed
        (True, False)
        """
        texts = [key for key in self.keys or () if isinstance(key, str)]
        return bool(texts) and not self.exact and all(key == key.strip(" ") for key in texts)

    def describe(self) -> dict[str, object]:
        """Return the facts as plain values, for canonical forms."""
        ends = {"lower": self.bounds.lower, "upper": self.bounds.upper}
        return {
            "type": self.kind.value,
            **{word: str(end) for word, end in ends.items() if end is not None},
            **({} if self.keys is None else {"keys": [plain(key) for key in self.keys]}),
            **({} if self.other is None else {"other": plain(self.other)}),
            **({} if self.nullable else {"nullable": False}),
            **({} if self.max_length is None else {"max_length": self.max_length}),
            **({"exact": True} if self.exact else {}),
        }


def plain(value: Value) -> object:
    """Write a value as JSON can hold it without loss: floats by their shortest decimal, dates in ISO form.

    >>> plain(0.1), plain(dt.date(2024, 2, 1)), plain(None)
    ('0.1', '2024-02-01', None)
    """
    if isinstance(value, float):
        return repr(value)
    return value.isoformat() if isinstance(value, dt.date) else value


def _listed(name: str, keys: Iterable[object]) -> list[object]:
    """Read a list of keys; a single text is no list."""
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        msg = f'{name}.keys is {shown(keys)}; it must be a list, such as ["cardiology", "surgery"].'
        raise PolicyError(msg)
    listed = list(keys)
    if not 1 <= len(listed) <= LARGEST_KEY_SET:
        msg = f"{name}.keys holds {len(listed)} keys; it must hold 1 to {LARGEST_KEY_SET}."
        raise PolicyError(msg)
    return listed


def _kind(name: str, given: str | Kind | None, lower: object, upper: object, keys: list[object] | None) -> Kind:
    """Return the declared kind, or the one that bounds and keys imply."""
    if isinstance(given, Kind):
        return given
    if given is not None:
        try:
            return Kind(given)
        except ValueError:
            words = [kind.value for kind in Kind]
            known = _ELSEWHERE.get(given.lower()) if isinstance(given, str) else None
            near = f" Did you mean '{known}'?" if known else hint(str(given), words)
            msg = f"{name}.type is {shown(given)}; it must be one of {', '.join(words)}.{near}"
            raise PolicyError(msg) from None
    if keys is not None:
        return _kind_of_keys(name, keys)
    ends = [end for end in (lower, upper) if end is not None]
    if not ends:
        msg = f'{name} has no type; types are declared, not guessed from the data. Write type = "text", or give bounds.'
        raise PolicyError(msg)
    if all(isinstance(end, dt.datetime) for end in ends):
        return Kind.TIMESTAMP
    if any(isinstance(end, dt.date) for end in ends):
        return Kind.DATE
    texts = [end for end in ends if isinstance(end, str) and end[:4].isdigit() and end[4:5] == "-"]
    if texts:
        msg = f"{name} has the bound {shown(texts[0])}, a text; write the date without quotes, such as 2024-02-01."
        raise PolicyError(msg)
    whole = all(isinstance(end, int) for end in ends) and len(ends) == 2
    return Kind.INTEGER if whole else Kind.FLOAT


def _kind_of_keys(name: str, keys: list[object]) -> Kind:
    """Return the kind of all keys, without a declared one; `Decimal` is how a policy file holds 0.5."""
    kinds = {
        Kind.FLOAT if isinstance(key, Decimal) else Kind.of(key) if is_of_kind(key, _guess(key)) else None  # type: ignore[arg-type]
        for key in keys
    }
    if None in kinds:
        wrong = next(key for key in keys if not isinstance(key, Decimal) and not is_of_kind(key, _guess(key)))  # type: ignore[arg-type]
        msg = f"{name}.keys holds {shown(wrong)}; a key is a number, a text, a truth value, a date or a timestamp."
        raise PolicyError(msg)
    if len(kinds) > 1:
        msg = f'{name}.keys are of different kinds; write all of one kind, such as ["1", "2", "other"].'
        raise PolicyError(msg)
    return kinds.pop()  # type: ignore[return-value]  # not None, as above


def _usual_length(kind: Kind, keys: tuple[Value, ...] | None) -> int | None:
    """How long texts are if the policy does not say; every key is held."""
    if kind is not Kind.TEXT:
        return None
    return max([USUAL_LENGTH, *(len(key) for key in keys or () if isinstance(key, str))])


def _max_length(name: str, kind: Kind, keys: tuple[Value, ...] | None, given: int | None) -> int | None:
    """Read how long texts are; a key that is longer would never be met."""
    usual = _usual_length(kind, keys)
    if usual is None and given is not None:
        msg = f"{name} is of type {kind.value} and has max_length; only texts have a length."
        raise PolicyError(msg)
    if usual is None:
        return None
    try:
        most = integer(usual if given is None else given, name=f"{name}.max_length", least=1, most=LONGEST_TEXT)
    except ParameterError as error:
        raise PolicyError(str(error)) from None
    longest = max((len(key) for key in keys or () if isinstance(key, str)), default=0)
    if longest > most:
        msg = f"{name}.max_length is {most}, and a key has {longest} characters; give at least so many."
        raise PolicyError(msg)
    return most


def _guess(key: object) -> Kind:
    return next((kind for kind in Kind if is_of_kind(key, kind)), Kind.TEXT)  # type: ignore[arg-type]


def _read(value: object, kind: Kind, name: str) -> Value:
    """Read a value of a policy; what is wrong with it is the policy's error."""
    try:
        return read_value(value, kind, name=name)
    except ValueError as error:
        raise PolicyError(str(error)) from None


def _bounds(name: str, kind: Kind, lower: object, upper: object) -> Bounds:
    """Read the bounds; both, or for floats and integers none."""
    if lower is None and upper is None:
        return UNBOUNDED
    if lower is None or upper is None:
        msg = f"{name} has one bound only; give both lower and upper, as one open side bounds nothing."
        raise PolicyError(msg)
    if kind in {Kind.TEXT, Kind.BOOLEAN}:
        msg = f"{name} is of type {kind.value} and has bounds; only numbers, dates and timestamps have bounds."
        raise PolicyError(msg)
    try:
        if kind.temporal:
            ends = [read_value(end, kind, name=f"{name}.{word}") for word, end in (("lower", lower), ("upper", upper))]
            bounds = Bounds(*(as_number(end) for end in ends))  # type: ignore[arg-type]  # dates by their kind
        else:
            bounds = Bounds(lower, upper)  # type: ignore[arg-type]  # read as numbers there
    except ValueError as error:
        msg = f"{name}: {error}"
        raise PolicyError(msg) from None
    limit = INT64 if kind is Kind.INTEGER else Bounds(-int(LARGEST_FLOAT) // 2, int(LARGEST_FLOAT) // 2)
    if kind is Kind.INTEGER and not bounds.integral:
        msg = f"{name} is an integer; its bounds {bounds} must be whole numbers."
        raise PolicyError(msg)
    if not bounds.within(limit):
        msg = f"{name} has bounds {bounds}, beyond what a {kind.value} can hold here; give narrower ones."
        raise PolicyError(msg)
    if kind is Kind.FLOAT and any(0 < abs(end) < SMALLEST_FLOAT for end in (bounds.lower, bounds.upper) if end):
        # Every other float that small is read as 0: the square of such an end is an error to PostgreSQL.
        msg = f"{name} has bounds {bounds}, of which one is closer to 0 than a float can be here; write 0."
        raise PolicyError(msg)
    return bounds


def _keys(
    name: str, kind: Kind, listed: list[object] | None, other: object, *, null_key: bool
) -> tuple[Value, ...] | None:
    """Read the keys in their order, `other` and NULL last; each once."""
    if listed is None:
        return None
    known = [_read(key, kind, f"{name}.keys[{place}]") for place, key in enumerate(listed)]
    if other is not None:
        known.append(_read(other, kind, f"{name}.other"))
    if null_key:
        known.append(None)
    if len(set(known)) < len(known):
        twice = next(key for place, key in enumerate(known) if key in known[:place])
        msg = f"{name}.keys holds {shown(twice)} twice; list each key once, and `other` not among them."
        raise PolicyError(msg)
    return tuple(known)
