"""What entries say of questions and policies: refused where it says nothing, written, and read back from a store.

Somebody may have damaged the store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError, ParameterError, PolicyError
from discreet.exact import shown
from discreet.ledgers.line import amount_text, strict_json
from discreet.ledgers.purse import Entry, Repeat, Reservation
from discreet.ledgers.rules import request_hash, require_key
from discreet.ledgers.terms import DATASET, Terms
from discreet.tables import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.ledgers.line import Charge, Line, Scope
    from discreet.ledgers.page import Head, Page
    from discreet.ledgers.purse import Released
    from discreet.privacy.costs import Amount

__all__ = [
    "NOTES",
    "about",
    "changes",
    "plain",
    "policy_of",
    "released_record",
    "repeat_of",
    "require_analyst",
    "require_costs",
    "require_entry",
    "require_name",
    "require_note",
    "require_policy",
    "require_purpose",
    "require_repeats",
    "require_reservation",
    "require_right",
    "require_texts",
    "scopes",
    "table_names",
    "terms_of",
]

NOTES = ("audit", "check", "stopped", "unprotected")
"""Kinds of entries that keep a public fact at cost 0."""

_OWN_WORDS = frozenset(
    {"analyst", "charges", "clock", "key", "purpose", "question", "request", "reservation", "reservations", "what"}
)


def scopes(analyst: str | None, purpose: str | None) -> list[Scope]:
    """The budgets that a spend must fit.

    >>> scopes("ann", None)
    [('dataset', ''), ('analyst', 'ann')]
    """
    budgets = [DATASET]
    if analyst is not None:
        budgets.append(("analyst", analyst))
    if purpose is not None:
        budgets.append(("purpose", purpose))
    return budgets


def repeat_of(lines: Sequence[Line], costs: Sequence[Amount], cost: Amount, head: Head) -> Repeat:
    """Give recorded answers, and what each of them cost, as what was paid for before.

    >>> from discreet.ledgers.page import Head
    >>> from discreet.privacy import Pure
    >>> repeat_of([], [], Pure(1), Head(0, "0f" * 32)).numbers
    ()
    """
    numbers = tuple(line.reservation for line in lines if line.reservation is not None)
    unseen = tuple(frozenset[tuple[str, str]]() for _ in lines)
    return Repeat(tuple(line.body["answer"] for line in lines), cost, str(head), numbers, tuple(costs), unseen)


def table_names(value: object) -> list[str]:
    """Read the tables that a check is about.

    >>> table_names(["visits"])
    ['visits']
    """
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        msg = f"tables is {shown(value)}; it must be a list of names of tables."
        raise ParameterError(msg)
    return value


def plain(charges: Iterable[Charge]) -> list[list[object]]:
    """Write charges as they stand in an entry.

    >>> from discreet.privacy import Pure
    >>> plain([("analyst", "ann", Pure(1))])[0][:2]
    ['analyst', 'ann']
    """
    texts: dict[int, dict[str, Any]] = {}
    listed = list(charges)
    for _, _, cost in listed:  # mostly one cost in several budgets
        if id(cost) not in texts:
            texts[id(cost)] = amount_text(cost)
    return [[scope, name, texts[id(cost)]] for scope, name, cost in listed]


def about(entry: Entry) -> dict[str, Any]:
    """What an entry says of the question.

    >>> about(Entry("0f3a", ("visits",), "ann"))
    {'question': '0f3a', 'tables': ['visits'], 'analyst': 'ann'}
    """
    facts = {
        "question": entry.question,
        "tables": list(entry.tables),
        "analyst": entry.analyst,
        "purpose": entry.purpose,
        "asked": entry.asked,
        "promise": entry.promise,
        "version": entry.version,
        "verified": list(entry.verified) or None,
        "key": entry.key,
        "request": request_hash(entry),
        **({"details": dict(entry.details)} if entry.details else {}),
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


_PRICED = "pairs of a cost and its Entry, such as [(Pure(1), Entry(question, tables))]"
_LOOKED_UP = "pairs of a Repeat that `look` gave and its Entry"


def require_entry(entry: Entry) -> None:
    """Refuse what does not say what a cost is for.

    >>> require_entry(None)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: entry is None; it must be an Entry: Entry(question, tables) says what a cost is for.
    """
    if not isinstance(entry, Entry):
        msg = f"entry is {shown(entry)}; it must be an Entry: Entry(question, tables) says what a cost is for."
        raise ParameterError(msg)
    if not isinstance(entry.details, Mapping):
        msg = f"details is {shown(entry.details)}; it must be a dictionary of public facts."
        raise ParameterError(msg)


def require_costs(costs: Iterable[tuple[Amount, Entry]]) -> list[tuple[Amount, Entry]]:
    """Read costs with what each is for.

    >>> require_costs([None])
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: costs holds None; it must be pairs of a cost and its Entry, such as ...
    """
    return [(cost, entry) for cost, entry in _pairs(costs, "costs", _PRICED)]


def require_repeats(repeats: Iterable[tuple[Repeat, Entry]]) -> list[tuple[Repeat, Entry]]:
    """Read repeats with what each is for.

    >>> require_repeats([(None, Entry("0f3a", ()))])
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: repeats holds None; it must be pairs of a Repeat that `look` gave and its Entry.
    """
    pairs = _pairs(repeats, "repeats", _LOOKED_UP)
    for repeat, _ in pairs:
        if not isinstance(repeat, Repeat):
            msg = f"repeats holds {shown(repeat)}; it must be {_LOOKED_UP}."
            raise ParameterError(msg)
        numbers = repeat.numbers
        if not isinstance(numbers, tuple) or not all(isinstance(number, int) for number in numbers):
            msg = f"numbers is {shown(numbers)}; it must be the reservations that `look` gave, as a tuple."
            raise ParameterError(msg)
    return pairs


def _pairs(given: Any, name: str, allowed: str) -> list[tuple[Any, Entry]]:  # noqa: ANN401 - what is read here
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        msg = f"{name} is {shown(given)}; it must be {allowed}."
        raise ParameterError(msg)
    pairs = []
    for pair in given:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            msg = f"{name} holds {shown(pair)}; it must be {allowed}."
            raise ParameterError(msg)
        require_entry(pair[1])
        pairs.append((pair[0], pair[1]))
    return pairs


def require_reservation(reservation: Reservation) -> None:
    """Refuse what no purse gave.

    >>> require_reservation(7)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: reservation is 7; it must be what `reserve` gave.
    """
    if not isinstance(reservation, Reservation):
        msg = f"reservation is {shown(reservation)}; it must be what `reserve` gave."
        raise ParameterError(msg)
    number = reservation.number
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**63:
        msg = f"the reservation's number is {shown(number)}; it must be what `reserve` gave."
        raise ParameterError(msg)


def require_name(word: str, name: str | None) -> None:
    """Refuse a name of an analyst or a purpose that nobody could have.

    >>> require_name("analyst", "")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: analyst is ''; it must be a text of printable characters.
    """
    if name is not None and not (isinstance(name, str) and name and name.isprintable()):
        msg = f"{word} is {shown(name)}; it must be a text of printable characters."
        raise ParameterError(msg)


def require_analyst(policy: Policy, analyst: str | None) -> None:
    """Refuse whom a policy that names its analysts does not name.

    >>> from discreet.tables import Analyst
    >>> require_analyst(Policy([], epsilon=1, analysts=[Analyst("ann")]), "eve")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: analyst is 'eve'; the policy's analysts are ann.
    """
    require_name("analyst", analyst)
    names = [known.name for known in policy.analysts]
    if names and analyst not in names:
        msg = f"analyst is {shown(analyst)}; the policy's analysts are {', '.join(names)}."
        raise ParameterError(msg)


def require_purpose(policy: Policy, purpose: str | None) -> None:
    """Refuse what a policy that names its purposes does not name.

    >>> from discreet.tables import Purpose
    >>> require_purpose(Policy([], epsilon=1, purposes=[Purpose("research")]), None)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: purpose is None; the policy's purposes are research. Give one: purpose=….
    """
    require_name("purpose", purpose)
    if not policy.serves(purpose):
        purposes = ", ".join(known.name for known in policy.purposes)
        msg = f"purpose is {shown(purpose)}; the policy's purposes are {purposes}. Give one: purpose=…."
        raise ParameterError(msg)


def require_right(policy: Policy, entry: Entry) -> None:
    """Refuse who may not have anything released from tables, whatever it is that spends.

    >>> from discreet.tables import Analyst
    >>> policy = Policy([], epsilon=1, analysts=[Analyst("ann", may=["preview"])])
    >>> require_right(policy, Entry("", (), "ann", kind="method"))
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: analyst 'ann' may not release anything; ask the owner of the policy.
    """
    if not policy.may(entry.analyst, "release", entry.tables):
        about = f"questions about {', '.join(entry.tables)}" if entry.tables else "anything"
        msg = f"analyst {shown(entry.analyst)} may not release {about}; ask the owner of the policy."
        raise ParameterError(msg)


def require_note(kind: str, what: str, facts: Mapping[str, object]) -> None:
    """Refuse a note that would pass for another entry, or that names facts by the ledger's own words.

    >>> require_note("audit", "Laplace", {"charges": []})
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: what must be a text, and facts a mapping of names, none of them a word of the ...
    """
    if kind not in NOTES:
        msg = f"kind is {shown(kind)}; it must be one of {', '.join(NOTES)}."
        raise ParameterError(msg)
    if not isinstance(what, str) or not isinstance(facts, Mapping) or not _OWN_WORDS.isdisjoint(facts):
        own = ", ".join(sorted(_OWN_WORDS))
        msg = f"what must be a text, and facts a mapping of names, none of them a word of the ledger's own: {own}."
        raise ParameterError(msg)


def require_policy(policy: Policy | None) -> None:
    """Refuse what is no policy.

    >>> require_policy("hospital.toml")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: policy is 'hospital.toml'; it must be a Policy, or None for the ledger's last one.
    """
    if not isinstance(policy, Policy | None):
        msg = f"policy is {shown(policy)}; it must be a Policy, or None for the ledger's last one."
        raise ParameterError(msg)


def require_texts(entry: Entry) -> None:
    """Refuse an entry that could not be read back: its words must be texts that every store can hold.

    >>> require_texts(Entry("0f3a", ("visits",)))
    """
    if not isinstance(entry.question, str) or not (entry.question.isprintable() or not entry.question):
        msg = f"question is {shown(entry.question)}; it must be a text of printable characters, or empty."
        raise ParameterError(msg)
    for word in ("tables", "verified"):
        given = getattr(entry, word)
        if not isinstance(given, tuple | list) or not all(isinstance(name, str) for name in given):
            msg = f"{word} is {shown(given)}; it must be names of tables."
            raise ParameterError(msg)
    require_name("analyst", entry.analyst)
    require_name("purpose", entry.purpose)
    require_key(entry.key)
    for word in ("asked", "promise", "policy", "version", "request"):
        if not isinstance(getattr(entry, word), str):
            msg = f"{word} is {shown(getattr(entry, word))}; it must be a text."
            raise ParameterError(msg)


def released_record(answer: Released) -> object:
    """Give an answer as the JSON that is kept; what is none is refused, and what was paid for it stays spent.

    >>> from discreet.mechanisms import Laplace
    >>> "value" in str(released_record(Laplace(sensitivity=1, epsilon=1).release(3)))
    True
    """
    try:
        return strict_json(answer.to_json())
    except (AttributeError, RecursionError, TypeError, ValueError):
        msg = f"the answer is of type {type(answer).__name__} and is no JSON; it must have a to_json() that gives JSON."
        raise ParameterError(msg) from None


def policy_of(page: Page) -> Policy:
    """The policy of the day, from the entry that brought it; one that was edited is not believed.

    >>> from discreet.ledgers.page import MemoryPage
    >>> policy_of(MemoryPage.empty())
    Traceback (most recent call last):
    ...
    discreet.errors.LedgerError: the entry with the ledger's policy is missing or was edited; run verify, and ...
    """
    place = page.fact("policy") or ""
    line = page.line(int(place)) if place.isascii() and place.isdigit() and len(place) < 19 else None
    if line is None or "policy" not in line.body or not line.is_genuine:
        msg = "the entry with the ledger's policy is missing or was edited; run verify, and restore a backup."
        raise LedgerError(msg)
    try:
        policy = Policy.from_json(json.dumps(line.body["policy"]))
    except PolicyError as error:
        msg = f"the ledger's policy, entry {place}, is not readable ({error}); run verify, and restore a backup."
        raise LedgerError(msg) from None
    if line.body.get("policy_hash") != page.fact("policy_hash"):
        msg = "the ledger keeps another hash than that of its policy: it was edited. Run verify; restore a backup."
        raise LedgerError(msg)
    return policy


def terms_of(page: Page) -> Terms:
    """What the ledger fixed, from its facts.

    >>> from discreet.ledgers.page import MemoryPage
    >>> terms_of(MemoryPage.empty())
    Traceback (most recent call last):
    ...
    discreet.errors.LedgerError: what the ledger fixed at its creation is not readable; run verify, and restore ...
    """
    try:
        return Terms.read(strict_json(page.fact("terms") or "{}"))
    except (RecursionError, ValueError):
        return Terms.read({})  # says that they are not readable


def changes(was: Mapping[str, Any], now_is: Mapping[str, Any], path: str = "") -> list[str]:
    """Name the facts that differ, from where to where where that is short.

    >>> changes({"budget": {"epsilon": "3"}}, {"budget": {"epsilon": "5"}})
    ['budget.epsilon: 3 -> 5']
    """
    edits = []
    for key in sorted({*was, *now_is}):
        old, new = was.get(key), now_is.get(key)
        place = f"{path}.{key}" if path else key
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            edits += changes(old, new, place)
        elif isinstance(old, dict | list) or isinstance(new, dict | list):
            edits.append(f"{place} {'added' if old is None else 'removed' if new is None else 'changed'}")
        else:
            edits.append(f"{place}: {old} -> {new}")
    return edits
