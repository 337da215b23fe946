"""One entry of a ledger: written once, chained to the one before by its hash; and the amounts in it, as text."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError, ParameterError
from discreet.privacy.costs import INFINITE, Cost, amount_from_json, units_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.privacy.costs import Amount

__all__ = [
    "FORMAT",
    "NOTHING",
    "Charge",
    "Draft",
    "Line",
    "Scope",
    "Sums",
    "amount_text",
    "canonical",
    "covers",
    "now",
    "printable",
    "read_amount",
    "read_sums",
    "strict_json",
    "sums_of",
]

Sums = tuple[tuple[int, int], ...]
"""What stores keep of a budget: for each certificate the sum of its losses and that of its deltas, in units."""

FORMAT = 3
"""Raised when an older version could no longer read a ledger; 2 has sessions and keys, 3 whole numbers for sums."""

NOTHING = "0" * 64
"""What the first entry names as the hash before it."""

Scope = tuple[str, str]
"""Whose budget: ("dataset", ""), ("analyst", "ann"), ("purpose", "research")."""

Charge = tuple[str, str, "Amount"]

_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)

_FITS = 2**63
"""Numbers of entries are below: stores keep them in 64 bits."""


@lru_cache(maxsize=1024)
def _text_of(amount: Amount) -> str:
    return amount.to_json()


def amount_text(amount: Amount) -> dict[str, Any]:
    """Write an amount as a JSON object, the fractions of a currency as text.

    >>> from discreet.privacy import Pure
    >>> amount_text(Pure("1/3"))["epsilon"]
    '1/3'
    """
    record: dict[str, Any] = json.loads(_text_of(amount))
    return record


def read_amount(record: object) -> Amount:
    """Read what `amount_text` wrote.

    >>> read_amount({"currency": "pure", "epsilon": "1/3", "neighbors": "add_remove"})
    Pure(epsilon='1/3')
    """
    return amount_from_json(json.dumps(record))


def covers(paid: Amount, cost: Amount) -> bool:
    """Tell whether every number of a cost is at most what was paid, for the same neighbors, by the same certificates.

    >>> from discreet.privacy import ZCDP
    >>> covers(ZCDP(1), ZCDP("0.5")), covers(ZCDP(1), ZCDP("0.5", 1e-9))
    (True, False)
    """
    if type(paid) is not type(cost) or paid.neighbors != cost.neighbors:
        return False
    return units_of(paid).covers(units_of(cost))


def sums_of(cost: Cost) -> Sums:
    """Write units as stores keep them.

    >>> from discreet.privacy import Pure
    >>> sums_of(units_of(Pure("0.5")))
    ((500000000000, 0),)
    """
    return tuple(zip(cost.losses, cost.deltas, strict=True))


def read_sums(sums: Sums | None, like: Cost) -> Cost:
    """Read a sum that a store keeps, by the certificates of the ledger; where it keeps none, nothing was spent.

    >>> from discreet.privacy import Pure
    >>> read_sums(((10**12, 0),), units_of(Pure(9))) == units_of(Pure(1)), read_sums(None, units_of(Pure(9)))
    (True, Cost(epsilon=0))
    """
    if sums is None:
        return like * 0
    numbers = [number for pair in sums for number in pair]
    if len(sums) != len(like.names) or not all(type(number) is int and 0 <= number <= INFINITE for number in numbers):
        msg = "a sum of the ledger is not readable; nothing was spent. Run verify, and restore a backup."
        raise LedgerError(msg)
    return Cost(tuple(loss for loss, _ in sums), tuple(delta for _, delta in sums), like.names, like.neighbors)


def now() -> str:
    """Give the time of the clock, in UTC.

    >>> now()[-1]
    'Z'
    """
    return f"{dt.datetime.now(dt.UTC).isoformat(timespec='microseconds')[:26]}Z"


def canonical(value: object) -> str:
    """Write JSON in the one form that is hashed.

    >>> canonical({"b": 1, "a": [None, True]})
    '{"a":[null,true],"b":1}'
    """
    return _CANONICAL.encode(value)


def printable(text: str) -> str:
    r"""Take out of a text what would command a terminal: an analyst wrote it, and the owner reads it.

    >>> printable("SELECT 1\n-- \x1b[2J")
    'SELECT 1 -- ?[2J'
    """
    return "".join(character if character.isprintable() else " " if character.isspace() else "?" for character in text)


def strict_json(text: str) -> Any:  # noqa: ANN401 - JSON holds anything
    """Read JSON; NaN and infinities, which are none, are refused as everything else is that `canonical` never writes.

    >>> strict_json('{"a":[null,true]}')
    {'a': [None, True]}
    """
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> None:
    msg = f"{word} is not JSON"
    raise ValueError(msg)


def _is_entry(line: Line) -> bool:
    """Whether all parts of an entry are of the types that a ledger writes."""
    if isinstance(line.number, bool) or not isinstance(line.number, int) or not isinstance(line.body, dict):
        return False
    if not all(isinstance(value, str) for value in (line.kind, line.time, line.previous, line.hash)):
        return False
    body = line.body
    texts = [body.get(name) for name in ("question", "analyst", "purpose", "clock", "key", "request")]
    number = body.get("reservation")
    return (
        all(value is None or isinstance(value, str) for value in texts)
        and (number is None or (isinstance(number, int) and not isinstance(number, bool) and -_FITS <= number < _FITS))
        and _are_charges(body.get("charges", []))
        and all(isinstance(body.get(name, []), list) for name in ("reservations", "changes", "earlier"))
    )


def _are_charges(charges: object) -> bool:
    return isinstance(charges, list) and all(
        isinstance(charge, list)
        and len(charge) == 3
        and isinstance(charge[0], str)
        and isinstance(charge[1], str)
        and isinstance(charge[2], dict)
        for charge in charges
    )


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry as far as it can be written before it has a place: the longest part of its text.

    >>> draft = Draft.of("audit", {"claimed": "1"})
    >>> draft.after(None, "2026-01-01T00:00:00.000000Z").number
    0
    """

    kind: str
    body: Mapping[str, Any]
    text: str
    """The body as it is hashed."""

    @staticmethod
    def of(kind: str, body: Mapping[str, Any]) -> Draft:
        """Write the body, or raise ParameterError where it is no JSON."""
        try:
            return Draft(kind, body, canonical(body))
        except (RecursionError, TypeError, ValueError) as error:
            msg = (
                f"what the ledger is to keep is no JSON ({type(error).__name__}); it must be made of texts, finite "
                "numbers, true, false, None, lists and dictionaries of texts."
            )
            raise ParameterError(msg) from None

    def after(self, last: tuple[int, str] | None, time: str) -> Line:
        """Give it its place, after the last entry; the text is the same that `canonical` makes of the whole."""
        number, previous = (0, NOTHING) if last is None else (last[0] + 1, last[1])
        text = (
            f'{{"body":{self.text},"kind":{quoted(self.kind)},"number":{number},"previous":{quoted(previous)},'
            f'"time":{quoted(time)}}}'
        )
        return Line(number, self.kind, time, previous, self.body, hashlib.sha256(text.encode()).hexdigest(), text)


@dataclass(frozen=True, slots=True)
class Line:
    """An entry: its number, what kind it is, when, what it says, and the hashes of the one before and of itself.

    The kinds: `opened` (the first entry: dataset, relation, filter), `policy` (an edit), `reserved` (a cost was taken),
    `recorded` (the answer to a reservation), `shared` (a stored answer was shown to another analyst, or for another
    purpose, and charged to their budgets), of sessions `lease` (somebody holds it now), `step` (a cost inside it),
    `part` (a value that was shown) and `closed`; `stopped` (a question took longer than it may), `audit`, `check`, and
    `unprotected` (a release without any guarantee).

    >>> first = Line.after(None, "audit", {"claimed": "1"}, "2026-01-01T00:00:00.000000Z")
    >>> Line.read(first.text, first.hash) == first, first.number
    (True, 0)
    """

    number: int
    kind: str
    time: str
    previous: str
    body: Mapping[str, Any]
    hash: str
    text: str
    """What is stored and hashed."""

    @staticmethod
    def after(last: tuple[int, str] | None, kind: str, body: Mapping[str, Any], time: str) -> Line:
        """Chain a new entry to the last one, given by its number and hash."""
        return Draft.of(kind, body).after(last, time)

    @staticmethod
    def read(text: str, stated: str) -> Line:
        """Read what was stored, every part of its type; whether the hash fits is for `verify` to say."""
        try:
            record = strict_json(text)
            line = Line(
                record["number"], record["kind"], record["time"], record["previous"], record["body"], stated, text
            )
        except (KeyError, RecursionError, TypeError, ValueError):
            line = None
        if line is None or not _is_entry(line):
            msg = "an entry of the ledger is not readable; it was edited or damaged. Run verify, and restore a backup."
            raise LedgerError(msg)
        return line

    @property
    def is_genuine(self) -> bool:
        """Whether the hash is that of the content."""
        return hashlib.sha256(self.text.encode(errors="surrogatepass")).hexdigest() == self.hash

    @property
    def charges(self) -> list[Charge]:
        """What the entry takes from which budget."""
        return [(scope, name, read_amount(cost)) for scope, name, cost in self.body.get("charges", ())]

    @property
    def cost(self) -> Amount | None:
        """What the dataset was charged; None where nothing was."""
        return next((cost for scope, _, cost in self.charges if scope == "dataset"), None)

    @property
    def question(self) -> str:
        """The key of the question; empty where there is none."""
        return str(self.body.get("question", ""))

    @property
    def analyst(self) -> str | None:
        """Who asked."""
        return self.body.get("analyst")

    @property
    def purpose(self) -> str | None:
        """What for."""
        return self.body.get("purpose")

    @property
    def reservation(self) -> int | None:
        """The number of the reservation that the entry belongs to."""
        return self.body.get("reservation")

    @property
    def filed(self) -> tuple[int, str, str | None, int | None]:
        """What stores keep beside the text to find it by; the text alone is hashed.

        >>> Line.after(None, "recorded", {"question": "q0", "reservation": 1}, "").filed
        (0, 'recorded', 'q0', 1)
        """
        return self.number, self.kind, self.question or None, self.reservation

    def to_json(self) -> str:
        """Write the entry with its hash, as one line of an export."""
        return canonical({"hash": self.hash, "line": json.loads(self.text)})

    @staticmethod
    def from_json(text: str) -> Line:
        """Read a line of an export."""
        try:
            record = strict_json(text)
            line, stated = canonical(record["line"]), record["hash"]
        except (KeyError, RecursionError, TypeError, ValueError):
            msg = "a line of the export is not JSON with 'line' and 'hash'; export the ledger again."
            raise LedgerError(msg) from None
        return Line.read(line, str(stated))

    def __str__(self) -> str:
        who = " ".join(filter(None, (self.analyst, f"for {self.purpose}" if self.purpose else "")))
        facts = self.body
        words = {
            "opened": f"dataset {facts.get('dataset')}",
            "policy": "; ".join(facts.get("changes", ())),
            "reserved": f"{facts.get('asked') or facts.get('what', '')} ({facts.get('promise', '')})",
            "recorded": f"answer to entry {self.reservation}",
            "lease": f"holder {facts.get('fence')} of entry {self.reservation}",
            "step": f"{facts.get('asked') or self.question}, inside entry {self.reservation}",
            "part": f"part of entry {self.reservation}",
            "closed": f"entry {self.reservation} {facts.get('why', '')}",
            "shared": f"answer to entries {', '.join(map(str, facts.get('reservations', ())))}",
            "audit": f"{facts.get('what', '')}: claimed {facts.get('claimed')}, shown ≥ {facts.get('shown')}",
            "check": str(facts.get("what", "")),
            "stopped": str(facts.get("what", "")),
            "unprotected": f"{facts.get('what', '')}: no guarantee",
        }
        cost = "" if self.cost is None else f" {self.cost!r}"
        said = printable(words.get(self.kind, ""))
        return f"{self.number} {self.time[:19]}Z {self.kind}{' ' + who if who else ''}: {said}{cost}"
