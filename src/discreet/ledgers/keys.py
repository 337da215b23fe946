"""Keys of requests: what is sent twice under one key is charged once, and gets the same release."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import LedgerError, ParameterError
from discreet.exact import shown
from discreet.ledgers.amounts import amount_text
from discreet.ledgers.line import Draft, canonical, strict_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.ledgers.line import Line
    from discreet.ledgers.page import Page
    from discreet.ledgers.purse import Entry
    from discreet.privacy.currencies import Currency

__all__ = [
    "bound",
    "entry_of_request",
    "keep_key",
    "key_problem",
    "request_hash",
    "require_key",
    "require_unused",
    "unanswered",
]

_LONGEST = 255


@dataclass(frozen=True, slots=True)
class _Request:
    """What a key was first used for: the request's hash, and by question the entries that were written for it."""

    hash: str
    entries: Mapping[str, int]


def bound(cost: Currency, entry: Entry) -> Entry:
    """Bind the key of an entry to its request: what the caller calls it, else the entry itself and its cost.

    >>> from discreet.ledgers.purse import Entry
    >>> from discreet.privacy import Pure
    >>> once, dearer = (bound(Pure(cost), Entry("0f3a", ("visits",), key="k1")) for cost in (1, 2))
    >>> once.request == dearer.request
    False
    """
    if not entry.key or entry.request:
        return entry
    named = {
        "question": entry.question,
        "tables": list(entry.tables),
        "details": dict(entry.details),
        "cost": amount_text(cost),
    }
    return replace(entry, request=Draft.of("request", named).text)


def request_hash(entry: Entry) -> str | None:
    """Give the hash of the request that a key is bound to; None without a key.

    >>> from discreet.ledgers.purse import Entry
    >>> request_hash(Entry("0f3a", ("visits",)))
    """
    if not entry.key:
        return None
    if not isinstance(entry.request, str) or not entry.request:
        msg = f"request is {shown(entry.request)}; with a key it must say what is asked for: Entry(…, request=…)."
        raise ParameterError(msg)
    return hashlib.sha256(canonical([entry.kind, entry.purpose, entry.request]).encode()).hexdigest()


def require_key(key: str) -> None:
    """Refuse what is no key; the empty text is none at all.

    >>> require_key(7)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: key is 7; it must be a text of at most 255 printable characters, such as a UUID.
    """
    if not isinstance(key, str) or len(key) > _LONGEST or not (key.isprintable() or not key):
        msg = f"key is {shown(key)}; it must be a text of at most {_LONGEST} printable characters, such as a UUID."
        raise ParameterError(msg)


def entry_of_request(page: Page, entry: Entry) -> int | None:
    """Find the entry that was written for the same request under this key; a key of another request is refused.

    >>> from discreet.ledgers.page import MemoryPage
    >>> from discreet.ledgers.purse import Entry
    >>> entry_of_request(MemoryPage.empty(), Entry("0f3a", ("visits",), key="k1", request="a count"))
    """
    known = _known(page, entry.analyst, entry.key) if entry.key else None
    if known is None:
        return None
    if known.hash != request_hash(entry):
        msg = (
            f"key is {shown(entry.key)}; it belongs to another request, that of entry {min(known.entries.values())}: "
            "another question, price or purpose, or the same under an earlier policy or version. Nothing was spent. "
            "Give each request a key of its own."
        )
        raise ParameterError(msg)
    return known.entries.get(entry.question)


def require_unused(page: Page, entry: Entry) -> None:
    """Refuse to charge a request again that somebody sent at the same time.

    >>> from discreet.ledgers.page import MemoryPage
    >>> from discreet.ledgers.purse import Entry
    >>> require_unused(MemoryPage.empty(), Entry("0f3a", ("visits",)))
    """
    number = entry_of_request(page, entry)
    if number is not None:
        raise LedgerError(unanswered(entry.key, number))


def unanswered(key: str, number: int) -> str:
    """Say of a request that it was charged and that there is nothing to show.

    >>> unanswered("k1", 7)
    "the request with key 'k1' was charged in entry 7, which has no answer yet: it is being computed, or a crash or ..."
    """
    return (
        f"the request with key {shown(key)} was charged in entry {number}, which has no answer yet: it is being "
        "computed, or a crash or a failure cut it off. Nothing more was spent. Send it again later to see its answer; "
        "if none ever comes, what was charged stays spent, and a new key asks and pays anew."
    )


def keep_key(line: Line, page: Page) -> None:
    """Keep which request an entry's key is bound to.

    >>> from discreet.ledgers.line import Line
    >>> from discreet.ledgers.page import MemoryPage
    >>> page = MemoryPage.empty()
    >>> keep_key(Line.after(None, "reserved", {"question": "0f3a", "key": "k1", "request": "5e"}, ""), page)
    >>> [text for name, text in page.facts().items()]
    ['{"entries":{"0f3a":0},"request":"5e"}']
    """
    known = _known(page, line.analyst, line.body["key"])
    entries = {} if known is None else dict(known.entries)
    facts = {"request": line.body["request"], "entries": {**entries, line.question: line.number}}
    page.set_fact(_fact(line.analyst, line.body["key"]), canonical(facts))


def key_problem(line: Line, page: Page) -> str:
    """Say what is wrong with the key of an entry, before it is kept; nothing where all is well.

    >>> from discreet.ledgers.line import Line
    >>> from discreet.ledgers.page import MemoryPage
    >>> page = MemoryPage.empty()
    >>> line = Line.after(None, "reserved", {"question": "0f3a", "key": "k1", "request": "5e"}, "")
    >>> key_problem(line, page)
    ''
    >>> keep_key(line, page)
    >>> key_problem(line, page)
    'was charged for a request that had been charged before'
    """
    known = _known(page, line.analyst, line.body["key"])
    if known is not None and known.hash != line.body["request"]:
        return "has the key of another request"
    return "was charged for a request that had been charged before" if known and line.question in known.entries else ""


def _fact(analyst: str | None, key: str) -> str:
    """Name the fact by a hash, as stores index short names only; equal keys of two analysts are two."""
    return f"key {hashlib.sha256(canonical([analyst, key]).encode()).hexdigest()}"


def _known(page: Page, analyst: str | None, key: str) -> _Request | None:
    text = page.fact(_fact(analyst, key))
    if text is None:
        return None
    try:
        kept = strict_json(text)
        stated, entries = kept["request"], dict(kept["entries"])
    except (KeyError, RecursionError, TypeError, ValueError):
        stated, entries = None, {}
    if not isinstance(stated, str) or not entries or not all(isinstance(number, int) for number in entries.values()):
        msg = "a fact that the ledger keeps is not readable; nothing was spent. Run verify, and restore a backup."
        raise LedgerError(msg)
    return _Request(stated, entries)
