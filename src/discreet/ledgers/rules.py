"""What an entry changes in the sums: the one place, for writing a ledger and for checking it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from discreet.errors import LedgerError
from discreet.ledgers.keys import keep_key
from discreet.ledgers.line import canonical, strict_json
from discreet.ledgers.sums import normal, sum_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.ledgers.line import Line
    from discreet.ledgers.page import Page

__all__ = ["SESSIONS", "apply", "seen", "session_fact", "step_fact", "steps_of", "verified_tables"]

Kind = TypeVar("Kind", int, str)


def apply(line: Line, page: Page) -> None:
    """Carry an entry into the sums and facts of a page; the entry itself is appended by the caller.

    A charge is added to its budget when it is taken (`reserved`, `shared`); both bind a key to its request. What was
    paid for a question counts from the moment its answer is there to be shown again (`recorded`): for the dataset the
    sum of all answers' costs, for an analyst or a purpose which of the answers are in their own budget. The last
    `check` says which tables are verified, until the policy is edited.

    >>> from discreet.ledgers.line import Line
    >>> from discreet.ledgers.page import MemoryPage
    >>> from discreet.ledgers.amounts import amount_text
    >>> from discreet.privacy import Pure
    >>> page = MemoryPage.empty()
    >>> body = {"charges": [["dataset", "", amount_text(Pure("0.5"))]]}
    >>> apply(Line.after(None, "reserved", body, ""), page)
    >>> page.amount("", "dataset", "")
    '{"currency": "pure", "epsilon": "1/2", "neighbors": "add_remove"}'
    """
    _keep_facts(line, page)
    if "key" in line.body:
        keep_key(line, page)
    if line.kind in {"reserved", "lease", "part", "step", "closed"}:
        _keep_session(line, page)
    for scope, name, cost in line.charge_texts:
        if line.kind in {"reserved", "shared"}:
            _add(page, "", scope, name, cost)
        if line.kind == "recorded" and line.question and scope == "dataset":
            _add(page, line.question, scope, name, cost)
        elif line.kind in {"recorded", "shared"} and line.question:
            numbers = [line.reservation] if line.kind == "recorded" else line.body["reservations"]
            _see(page, line.question, scope, name, numbers)


def _keep_facts(line: Line, page: Page) -> None:
    if line.kind in {"opened", "policy"}:
        page.set_fact("policy", str(line.number))
        page.set_fact("policy_hash", line.body["policy_hash"])
        page.set_fact("terms", canonical(line.body["terms"]))
        page.set_fact("verified", "[]")
    if line.kind == "check":
        final = line.body.get("final") is True
        page.set_fact("verified", canonical(sorted(line.body.get("tables", [])) if final else []))


SESSIONS = ("stream", "session")
"""Kinds of reservations that live: they have a holder, a state, and parts."""


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
        _add(page, *steps_of(number or 0), normal(json.dumps(body["inner"])))
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
    return frozenset(_list(page.amount(question, scope, name), int))


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


def _see(page: Page, question: str, scope: str, name: str, numbers: Iterable[int | None]) -> None:
    known = seen(page, question, scope, name)
    page.set_amount(
        question, scope, name, canonical(sorted({*known, *(number for number in numbers if number is not None)}))
    )


def _add(page: Page, topic: str, scope: str, name: str, cost: str) -> None:
    before = page.amount(topic, scope, name)
    page.set_amount(topic, scope, name, cost if before is None else sum_text(before, cost))
