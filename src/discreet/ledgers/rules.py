"""What an entry changes in the sums and facts of a page: the one place, for writing a ledger and for checking it.

Among the facts are the keys of requests: what is sent twice under one key is charged once, and gets the same release.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from discreet.errors import LedgerError, ParameterError
from discreet.exact import shown
from discreet.ledgers.line import Draft, amount_text, canonical, read_amount, read_sums, strict_json, sums_of
from discreet.ledgers.recounting import recount_into
from discreet.ledgers.terms import Terms, counted_cost
from discreet.privacy.costs import units_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from discreet.ledgers.line import Line
    from discreet.ledgers.page import Page
    from discreet.ledgers.purse import Entry
    from discreet.privacy.costs import Amount

__all__ = [
    "SESSIONS",
    "apply",
    "bound",
    "entry_of_request",
    "keep_key",
    "key_problem",
    "request_hash",
    "require_key",
    "require_unused",
    "seen",
    "session_fact",
    "step_fact",
    "steps_of",
    "unanswered",
    "verified_tables",
]

Kind = TypeVar("Kind", int, str)

SESSIONS = ("stream", "session")
"""Kinds of reservations that live: they have a holder, a state, and parts."""

_LONGEST_KEY = 255


def apply(line: Line, page: Page, before: Page | None = None) -> None:
    """Carry an entry into the sums and facts of a page; the entry itself is appended by the caller.

    A charge is added to its budget when it is taken (`reserved`, `shared`); both bind a key to its request. What was
    paid for a question counts from the moment its answer is there to be shown again (`recorded`): for the dataset the
    sum of all answers' costs, for an analyst or a purpose which of the answers are in their own budget. The last
    `check` says which tables are verified, until the policy is edited. An upgrade counts all entries before it anew;
    `before` is where they are, if not on this page.

    >>> from discreet.ledgers.line import Line, amount_text
    >>> from discreet.ledgers.page import MemoryPage
    >>> from discreet.privacy import Pure
    >>> page = MemoryPage.empty()
    >>> body = {"charges": [["dataset", "", amount_text(Pure("0.5"))]]}
    >>> apply(Line.after(None, "reserved", body, ""), page)
    >>> page.sums("", "dataset", "")
    ((500000000000, 0),)
    """
    _keep_facts(line, page)
    if line.kind == "policy" and line.body.get("upgrade") is True:
        recount_into(page, (before or page).lines(0, line.number), Terms.read(line.body["terms"]))
    if "key" in line.body:
        keep_key(line, page)
    if line.kind in {"reserved", "lease", "part", "step", "closed"}:
        _keep_session(line, page)
    for scope, name, cost in line.charges:
        if line.kind in {"reserved", "shared"}:
            _add(page, "", scope, name, cost)
        if line.kind == "recorded" and line.question and scope == "dataset":
            _add(page, line.question, scope, name, counted_cost(page, line.reservation) or cost)
        elif line.kind in {"recorded", "shared"} and line.question:
            numbers = [line.reservation] if line.kind == "recorded" else line.body["reservations"]
            _see(page, line.question, scope, name, numbers)


def _keep_facts(line: Line, page: Page) -> None:
    if line.kind in {"opened", "policy"}:
        page.set_fact("policy", str(line.number))
        page.set_fact("policy_hash", line.body["policy_hash"])
        page.set_fact("terms", canonical(line.body["terms"]))
        facts = str(line.body.get("facts_hash", ""))
        if not facts or page.fact("facts_hash") != facts:  # rights and budgets say nothing about rows
            page.set_fact("verified", "[]")
        page.set_fact("facts_hash", facts)
    if line.kind == "check":
        final = line.body.get("final") is True
        page.set_fact("verified", canonical(sorted(line.body.get("tables", [])) if final else []))


def session_fact(question: str, analyst: str | None, purpose: str | None) -> str:
    """Name the fact that finds a session again, by its name and whose it is.

    >>> session_fact("visits by day", "ann", None)
    'session ["visits by day","ann",null]'
    """
    return f"session {canonical([question, analyst, purpose])}"


def step_fact(session: int, question: str) -> str:
    """Name the fact that finds a step of a session again.

    >>> step_fact(7, "round 1")
    'step 7 round 1'
    """
    return f"step {session} {question}"


def steps_of(session: int) -> tuple[str, str, str]:
    """Name the sum of what the steps of a session cost; its scope is that of no question, whatever that is called.

    >>> steps_of(7)
    ('session 7', 'session', '')
    """
    return f"session {session}", "session", ""


def _keep_session(line: Line, page: Page) -> None:
    """Keep what a session's next holder asks for: who holds it, how many parts it has, which state is the last."""
    body, number = line.body, line.reservation
    if line.kind == "reserved":
        if body.get("session") is True and line.question:
            page.set_fact(session_fact(line.question, line.analyst, line.purpose), str(line.number))
        return
    if line.kind == "lease":
        page.set_fact(f"lease {number}", str(body["fence"]))
    if line.kind == "closed":
        page.set_fact(f"closed {number}", str(line.number))
    if line.kind == "step":
        _add(page, *steps_of(number or 0), read_amount(body["inner"]))
        if line.question:
            page.set_fact(step_fact(number or 0, line.question), f"open {line.number}")
    if line.kind == "part":
        _keep_part(line, page)
    if "seal" in body:
        page.set_fact(f"seal {number}", str(body["seal"]))


def _keep_part(line: Line, page: Page) -> None:
    name = f"parts {line.reservation}"
    page.set_fact(name, str(int(page.fact(name) or 0) + 1))
    if "step" in line.body:
        page.set_fact(f"answered {line.body['step']}", str(line.number))
        if line.question:
            page.set_fact(step_fact(line.reservation or 0, line.question), f"part {line.number}")


def seen(page: Page, question: str, scope: str, name: str) -> frozenset[int]:
    """The answers to a question, by their reservations, that are in the budget of an analyst or a purpose.

    >>> from discreet.ledgers.page import MemoryPage
    >>> seen(MemoryPage.empty(), "0f3a", "analyst", "ann")
    frozenset()
    """
    return frozenset(_list(page.fact(_seen_fact(question, scope, name)), int))


def _seen_fact(question: str, scope: str, name: str) -> str:
    return f"seen {canonical([question, scope, name])}"


def verified_tables(page: Page) -> frozenset[str]:
    """The tables whose uniqueness was checked since the policy was last edited.

    >>> from discreet.ledgers.page import MemoryPage
    >>> verified_tables(MemoryPage.empty())
    frozenset()
    """
    return frozenset(_list(page.fact("verified"), str))


def _list(text: str | None, kind: type[Kind]) -> list[Kind]:
    """Read a list that a store keeps as text."""
    try:
        listed = [] if text is None else strict_json(text)
    except (RecursionError, ValueError):
        listed = None
    if not isinstance(listed, list) or not all(isinstance(item, kind) for item in listed):
        msg = "a fact that the ledger keeps is not readable; nothing was spent. Run verify, and restore a backup."
        raise LedgerError(msg)
    return listed


def _see(page: Page, question: str, scope: str, name: str, answers: Iterable[int | None]) -> None:
    known = seen(page, question, scope, name)
    numbers = sorted({*known, *(number for number in answers if number is not None)})
    page.set_fact(_seen_fact(question, scope, name), canonical(numbers))


def _add(page: Page, topic: str, scope: str, name: str, amount: Amount) -> None:
    cost = units_of(amount)
    page.set_sums(topic, scope, name, sums_of(read_sums(page.sums(topic, scope, name), cost) + cost))


@dataclass(frozen=True, slots=True)
class _Request:
    """What a key was first used for: the request's hash, and by question the entries that were written for it."""

    hash: str
    entries: Mapping[str, int]


def bound(cost: Amount, entry: Entry) -> Entry:
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
    if not isinstance(key, str) or len(key) > _LONGEST_KEY or not (key.isprintable() or not key):
        msg = f"key is {shown(key)}; it must be a text of at most {_LONGEST_KEY} printable characters, such as a UUID."
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
