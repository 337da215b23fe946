"""What a promise costs in a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.privacy import ZCDP, Approximate, Pure
from discreet.privacy.convert import convert

if TYPE_CHECKING:
    from discreet.ledgers.ledger import Ledger
    from discreet.mechanisms.promise import Promise
    from discreet.privacy.costs import Amount

__all__ = ["price"]


def price(ledger: Ledger, promise: Promise[Any]) -> Amount:
    """Return what a promise costs in a ledger: by its certificates from the curve, else the claim in its currency.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.mechanisms import Laplace
    >>> from discreet.tables import Policy
    >>> price(MemoryLedger(Policy([], epsilon=1)), Laplace(1, epsilon="0.5", grid=1, inputs="snapped"))
    Pure(epsilon=0.5)
    """
    kinds: dict[str, type[Pure | Approximate | ZCDP]] = {"pure": Pure, "approximate": Approximate, "zcdp": ZCDP}
    kind = kinds.get(ledger.policy.filter)
    return ledger.priced(promise.privacy if kind is None else convert(promise.claim, to=kind))
