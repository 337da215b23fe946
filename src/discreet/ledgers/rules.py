"""What an entry changes in the sums: the one place, for writing a ledger and for checking it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.ledgers.amounts import added, least, read_text, text_of
from discreet.ledgers.line import canonical

if TYPE_CHECKING:
    from discreet.ledgers.line import Line
    from discreet.ledgers.page import Page
    from discreet.privacy.currencies import Currency

__all__ = ["apply"]


def apply(line: Line, page: Page) -> None:
    """Carry an entry into the sums and facts of a page; the entry itself is appended by the caller.

    A charge is added to its budget when it is taken (`reserved`, `shared`). What was paid for a question counts from
    the moment its answer is there to be shown again (`recorded`): for the dataset the sum of all answers' costs; for an
    analyst or a purpose what of it is in their own budget, never more than that sum.

    >>> from discreet.ledgers.line import Line
    >>> from discreet.ledgers.page import MemoryPage
    >>> from discreet.ledgers.amounts import amount_text
    >>> from discreet.privacy import Pure
    >>> page = MemoryPage.empty()
    >>> body = {"charges": [["dataset", "", amount_text(Pure("0.5"))]]}
    >>> apply(Line.after(None, "reserved", body, ""), page)
    >>> read_text(page.amount("", "dataset", ""))
    Pure(epsilon=0.5)
    """
    if line.kind in {"opened", "policy"}:
        page.set_fact("policy", str(line.number))
        page.set_fact("policy_hash", line.body["policy_hash"])
        page.set_fact("terms", canonical(line.body["terms"]))
    if line.kind in {"reserved", "shared"}:
        for scope, name, cost in line.charges:
            _add(page, "", scope, name, cost)
    if line.kind in {"recorded", "shared"} and line.question:
        for scope, name, cost in line.charges:
            _add(page, line.question, scope, name, cost)
        whole = page.amount(line.question, "dataset", "")
        for scope, name, _ in line.charges:
            paid = page.amount(line.question, scope, name)
            if scope != "dataset" and whole is not None and paid is not None:
                page.set_amount(line.question, scope, name, text_of(least(read_text(whole), read_text(paid))))


def _add(page: Page, topic: str, scope: str, name: str, cost: Currency) -> None:
    before = page.amount(topic, scope, name)
    page.set_amount(topic, scope, name, text_of(cost if before is None else added(read_text(before), cost)))
