"""A proposal as the text of a policy file, each line with its reason or with what it cost."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from discreet.methods.proposals.steps import FLOATS, INTEGERS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from discreet.methods.proposals.dictionaries import Described

__all__ = [
    "Head",
    "Line",
    "Section",
    "allowed",
    "bounds",
    "declared",
    "described",
    "example",
    "key",
    "keys",
    "refused",
    "text_of",
    "written",
]

_BARE = re.compile(r"^[A-Za-z0-9_-]+$")


@dataclass(frozen=True, slots=True)
class Line:
    """What is proposed for one name, why, and what it cost; without facts it is left to the owner.

    >>> str(Line("age", "{ lower = 0, upper = 120 }", "a life"))
    'age = { lower = 0, upper = 120 }                    # a life'
    """

    name: str
    facts: str
    why: str = ""
    left: bool = False
    """Whether the owner has to fill it in; the facts are an example then."""

    def __str__(self) -> str:
        line = f"{'# ' if self.left else ''}{key(self.name)} = {self.facts}"
        why = f"FILL IN {self.why}" if self.left else self.why
        return f"{line.ljust(50)}  # {why}" if why else line


@dataclass(frozen=True, slots=True)
class Section:
    """One table of a policy: the lines that say who is protected, and the lines of its columns, if any are stated.

    >>> Section("wards", ("public = true",), ()).lines[0]
    '[tables.wards]'
    """

    name: str
    head: tuple[str, ...]
    columns: tuple[Line | str, ...]

    @property
    def lines(self) -> list[str]:
        """The lines in their order."""
        table = f"tables.{key(self.name)}"
        columns = ["", f"[{table}.columns]", *map(str, self.columns)] if self.columns else []
        return [f"[{table}]", *self.head, *columns]


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above the tables: whose data, where they are, and all that may ever be spent.

    >>> Head("town", None, "3", "0", "add_remove").lines[-2]
    'delta = 0                           # far below 1 divided by the number of people'
    """

    dataset: str
    source: str | None
    epsilon: str
    delta: str
    neighbors: str
    paid: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines in their order."""
        origin = (
            f"Lines with a price were bought from the data, privately, for {self.paid} in all; look at each of them."
            if self.paid
            else "Take bounds and keys from outside knowledge (the law, a price list, the calendar), never the data."
        )
        source = [] if self.source is None else ["[source]", f"url = {text_of(self.source)}", ""]
        ends = self.epsilon, self.delta, f'"{self.neighbors}"'
        budget = [
            f"{word} = {end}".ljust(36) for word, end in zip(("epsilon", "delta", "neighbors"), ends, strict=True)
        ]
        return [
            "# Everything in this file is public: analysts may read it.",
            f"# {origin}",
            "# FILL IN needs you; a column that stays commented out cannot be asked about. Then: discreet check FILE",
            "[dataset]",
            f"id = {text_of(self.dataset)}  # what is spent belongs to it, whatever this file is called",
            "",
            *source,
            "[budget]",
            f"{budget[0]}# all that may ever be spent; see: discreet explain --epsilon {self.epsilon}",
            f"{budget[1]}# far below 1 divided by the number of people",
            f"{budget[2]}# whether a neighbor lacks a person, or has another in her place",
        ]


def written(head: Head, sections: Iterable[Section]) -> str:
    """Write the policy.

    >>> print(written(Head("town", None, "3", "0", "add_remove"), [])[-10:])
    her place
    <BLANKLINE>
    """
    return "\n\n".join("\n".join(lines) for lines in (head.lines, *(section.lines for section in sections))) + "\n"


def key(name: str) -> str:
    """Write a name so that TOML reads it.

    >>> key("age"), key("cost €")
    ('age', '"cost €"')
    """
    return name if _BARE.match(name) else text_of(name)


def text_of(text: str) -> str:
    r"""Write a text so that TOML reads it, whatever characters it has.

    >>> text_of('a "b"'), text_of(chr(127))
    ('"a \\"b\\""', '"\\u007f"')
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def allowed(name: str) -> bool:
    """Tell whether a policy may name it.

    >>> allowed("age"), allowed("_hidden")
    (True, False)
    """
    return bool(name) and name.isprintable() and not name.startswith("_")


def refused(name: str) -> str:
    """Say in the policy's place for it why a name cannot be there."""
    return f"# {text_of(name)}: names must be printable and not begin with _; rename it to ask about it"


def declared(kind: str | None) -> str | None:
    """Write what a declared type says by itself: numbers need bounds, so they are left to the owner.

    >>> declared("BOOLEAN"), declared("BIGINT")
    ('{ keys = [false, true] }', None)
    """
    if kind == "BOOLEAN":
        return "{ keys = [false, true] }"
    word = {"VARCHAR": "text", "DATE": "date", "TIMESTAMP": "timestamp"}.get(kind or "")
    return None if word is None else f'{{ type = "{word}" }}'


def example(name: str, kind: str | None, why: str = "", about: str = "") -> Line:
    """Leave a column to the owner, with an example of what to write, and what the dictionary says about it.

    >>> example("cost", "BIGINT").facts, example("cost", "BIGINT", about="in euros").why
    ('{ lower = 0, upper = 1000 }', 'bounds (or keys, to group by it): in euros')
    """
    about = f": {about}" if about else ""
    if kind is None:
        return Line(
            name, '{ type = "text" }', (why or 'lower and upper; or keys = ["…"]; or a type') + about, left=True
        )
    facts = "{ lower = 0, upper = 1000 }" if kind.startswith(INTEGERS) else "{ lower = 0.0, upper = 1000.0 }"
    return Line(name, facts, (why or "bounds (or keys, to group by it)") + about, left=True)


def bounds(kind: str, ends: tuple[Fraction, Fraction]) -> str:
    """Write bounds of a kind; of dates the ends are years, the second not included.

    >>> from fractions import Fraction
    >>> bounds("DOUBLE", (Fraction(0), Fraction(1, 2))), bounds("DATE", (Fraction(2020), Fraction(2025)))
    ('{ type = "float", lower = 0.0, upper = 0.5 }', '{ lower = 2020-01-01, upper = 2024-12-31 }')
    """
    low, high = ends
    if kind == "DATE":
        return f"{{ lower = {low}-01-01, upper = {high - 1}-12-31 }}"
    if kind == "TIMESTAMP":
        return f"{{ lower = {low}-01-01T00:00:00, upper = {high - 1}-12-31T23:59:59 }}"
    if kind.startswith(FLOATS):
        return f'{{ type = "float", lower = {_decimal(low)}, upper = {_decimal(high)} }}'
    return f"{{ lower = {low}, upper = {high} }}"


def _decimal(end: Fraction) -> str:
    text = f"{Decimal(end.numerator) / Decimal(end.denominator):f}"
    return text if "." in text else f"{text}.0"


def keys(values: Iterable[object]) -> str:
    """Write keys; None among them says that NULL is a group of its own.

    >>> keys(["b", None, "a"])
    '{ keys = ["a", "b"], null_key = true }'
    """
    values = list(values)
    texts = sorted(str(value) for value in values if value is not None)
    null = ", null_key = true" if None in values else ""
    return f"{{ keys = [{', '.join(map(text_of, texts))}]{null} }}"


def described(name: str, facts: Described) -> Line | None:
    """Write what a dictionary says, as far as it says enough; dates and numbers as they stand there.

    >>> from discreet.methods.proposals.dictionaries import Described
    >>> described("age", Described("integer", "0", "120", description="in years")).facts
    '{ type = "integer", lower = 0, upper = 120 }'
    """
    why = " ".join(facts.description.split()) or "the dictionary"
    if facts.kind == "boolean":
        return Line(name, "{ keys = [false, true] }", why)
    if facts.keys is not None:
        if facts.kind in {None, "text"}:
            return Line(name, keys(facts.keys), why)
        return Line(name, f"{{ keys = [{', '.join(map(str, facts.keys))}] }}", why)
    if facts.complete and facts.kind in {"integer", "float", "date", "timestamp"}:
        return Line(name, f'{{ type = "{facts.kind}", lower = {facts.lower}, upper = {facts.upper} }}', why)
    return None
