"""A ledger that began under a single filter goes on by several certificates: what was spent is counted by all of them.

The change is one more class of transcripts (`docs/proofs/privacy/any_of.md`): those along which it was never made keep
the promise of the old filter, and use up its delta; all others have costs by the new certificates from the first entry
on. So the policy's delta must cover both, and no earlier policy may have allowed more than the one of today.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledgers.line import Draft
from discreet.ledgers.records import changes, policy_of, terms_of
from discreet.ledgers.recounting import Recount, certificates_of, terms_after
from discreet.ledgers.terms import DATASET, Limits
from discreet.privacy.costs import holding
from discreet.tables import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.ledgers.ledger import Ledger
    from discreet.ledgers.line import Line
    from discreet.ledgers.page import Head, Page

__all__ = ["upgrade"]


def upgrade(ledger: Ledger, policy: Policy) -> Head:
    """Let a ledger go on by the best of several certificates, or say why not; nothing is changed then.

    >>> from discreet.ledgers import Entry, MemoryLedger
    >>> from discreet.privacy import Pure
    >>> from discreet.tables import Policy
    >>> ledger = MemoryLedger(Policy([], epsilon=3))
    >>> _ = ledger.reserve(Pure(1), Entry("0f3a", ()))
    >>> _ = upgrade(ledger, Policy([], epsilon=3, delta=1e-6))
    >>> print(ledger.usage(None, None, ledger.priced(Pure("0.05"))))
    used 33 % of ε = 3; about 50 more questions like this one
    """
    with ledger._page(write=True) as page:  # noqa: SLF001 - one act of the ledger
        lines = list(page.lines(0))
        ledger._require_genuine_all(lines)  # noqa: SLF001 - as above
        past = [_policy_of(line) for line in lines if line.kind in {"opened", "policy"}]
        terms = terms_after(terms_of(page), past, policy)
        kept = terms.kept(policy)
        _require_no_session(page, lines)
        _require_room(Recount.of(lines, certificates_of(terms)), Limits(kept))
        body: dict[str, Any] = {"terms": terms.record(), "policy": json.loads(kept.to_json()), "upgrade": True}
        body |= {"policy_hash": kept.hash, "facts_hash": kept.facts_hash}
        body["changes"] = changes(json.loads(policy_of(page).to_json()), body["policy"])
        head = ledger._append(page, Draft.of("policy", body))  # noqa: SLF001 - as above
        ledger._keep(page)  # noqa: SLF001 - as above
    return head


def _policy_of(line: Line) -> Policy:
    return Policy.from_json(json.dumps(line.body["policy"]))


def _require_no_session(page: Page, lines: Iterable[Line]) -> None:
    """Refuse while steps may still be paid inside a session: what it took is in the old currency."""
    for line in lines:
        if line.body.get("session") is True and page.fact(f"closed {line.number}") is None:
            msg = f"the session of entry {line.number} is open; close it first. Nothing was changed."
            raise LedgerError(msg)


def _require_room(counted: Recount, limits: Limits) -> None:
    for scope in limits.named:
        most, spent = limits.of(scope), counted.sums.get(("", *scope))
        if most is not None and spent is not None and not any(holding(most, spent)):
            whose = "the dataset" if scope == DATASET else f"{scope[0]} {scope[1]}"
            msg = (
                f"by no certificate what was spent of the budget of {whose} is within its limit, so nothing would be "
                "gained. Nothing was changed."
            )
            raise LedgerError(msg)
