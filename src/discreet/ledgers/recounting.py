"""What was spent, counted anew by several certificates, in a ledger that began under a single filter."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, LedgerError
from discreet.exact.rational import as_text
from discreet.ledgers.line import sums_of
from discreet.ledgers.terms import DATASET, Limits, Terms, counted_fact
from discreet.privacy import ZCDP, Approximate, Budget, Pure
from discreet.privacy.costs import Certificates, Cost, cost_of
from discreet.privacy.curve import Curve

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from discreet.ledgers.line import Line, Scope
    from discreet.ledgers.page import Page
    from discreet.privacy.costs import Amount
    from discreet.tables import Policy

__all__ = ["Recount", "certificates_of", "recount_into", "terms_after"]

_SAME = Fraction(1, 2)
"""A recorded curve is that of a charge if it is worth no more in the old currency, and at least this part of it."""


def terms_after(terms: Terms, past: Sequence[Policy], policy: Policy) -> Terms:
    """The terms after the change, or LedgerError: what of delta the old filter may use is not given away again.

    >>> from discreet.tables import Policy
    >>> old = Policy([], epsilon=3, delta=1e-6, filter="zcdp")
    >>> after = terms_after(Terms.of(old), [old], Policy([], epsilon=3, delta=2e-6))
    >>> sum(after.certificates.shares)
    Fraction(1, 2)
    >>> terms_after(Terms.of(old), [old], Policy([], epsilon=3, delta=1e-6))
    Traceback (most recent call last):
    ...
    discreet.errors.LedgerError: the policy's delta is 1e-06, and what was shown under the filter 'zcdp' may use up ...
    """
    if terms.filter == "best":
        msg = "this ledger is kept by the best of several certificates already; nothing was changed."
        raise LedgerError(msg)
    if policy.filter != "best":
        msg = (
            f'the policy\'s filter is {policy.filter!r}; several certificates need a delta, and filter = "best" or '
            "none stated. Nothing was changed."
        )
        raise LedgerError(msg)
    used = max(known.budget.delta for known in past)
    left = policy.budget.delta - used
    if left <= 0:
        msg = (
            f"the policy's delta is {as_text(policy.budget.delta)}, and what was shown under the filter "
            f"{terms.filter!r} may use up {as_text(used)}; certificates need a part of their own. Nothing was changed. "
            f"Write a larger one, such as delta = {as_text(2 * used)}, if that is still promise enough."
        )
        raise LedgerError(msg)
    _require_no_less(past, policy, used / policy.budget.delta)
    fresh = Certificates.of(Budget(policy.budget.epsilon, left, neighbors=policy.budget.neighbors))
    part = left / policy.budget.delta
    kept = Certificates(policy.budget, fresh.orders, tuple(share * part for share in fresh.shares))
    return replace(terms, filter="best", delta_conversion="0", certificates=kept).after(policy.kept_by("best", kept))


def _require_no_less(past: Sequence[Policy], policy: Policy, before: Fraction) -> None:
    """Refuse where the dataset or somebody had a larger budget: what was shown is covered by the one of today."""
    new = Limits(policy)
    for known in past:
        old = Limits(known)
        for scope in new.named:
            was, now = old.budget(scope), new.budget(scope)
            if was is None or now is None:
                continue
            whose = "the dataset" if scope == DATASET else f"{scope[0]} {scope[1]}"
            if was.epsilon > now.epsilon or was.delta > before * now.delta:
                msg = (
                    f"the budget of {whose} was {was!r} and is {now!r}; what was shown under the old filter must be "
                    f"covered as well: epsilon by as much, and its delta by {as_text(before)} of the new one. Nothing "
                    "was changed."
                )
                raise LedgerError(msg)


@dataclass(slots=True)
class Recount:
    """What was spent up to an upgrade, by the new certificates.

    >>> Recount(Certificates.of(Budget(3, 1e-6))).sums
    {}
    """

    certificates: Certificates
    sums: dict[tuple[str, str, str], Cost] = field(default_factory=dict)
    """By topic, scope and name, as a page keeps them."""
    costs: dict[int, Cost] = field(default_factory=dict)
    """By reservation."""
    seen: dict[tuple[str, str, str], set[int]] = field(default_factory=dict)

    @staticmethod
    def of(lines: Iterable[Line], certificates: Certificates) -> Recount:
        """Follow entries in their order."""
        counted = Recount(certificates)
        for line in lines:
            counted.follow(line)
        return counted

    def follow(self, line: Line) -> None:
        """Count one entry, as `rules.apply` carries it into sums."""
        if line.kind == "reserved":
            self.costs[line.number] = _cost_of(line, self.certificates)
        numbers = [line.reservation or 0] if line.kind == "recorded" else list(line.body.get("reservations", ()))
        for scope, name, _ in line.charges:
            if line.kind == "reserved":
                self._add("", (scope, name), [line.number])
            if line.kind == "shared":
                known = self.seen.get((line.question, scope, name), set())
                self._add("", (scope, name), [number for number in dict.fromkeys(numbers) if number not in known])
            if line.kind == "recorded" and line.question and scope == "dataset":
                self._add(line.question, (scope, name), numbers)
            elif line.kind in {"recorded", "shared"} and line.question:
                self.seen.setdefault((line.question, scope, name), set()).update(numbers)

    def _add(self, topic: str, scope: Scope, numbers: Iterable[int]) -> None:
        for number in numbers:
            cost = self.costs[number]
            place = (topic, *scope)
            self.sums[place] = self.sums[place] + cost if place in self.sums else cost


def certificates_of(terms: Terms) -> Certificates:
    """The certificates that terms with the filter `best` have.

    >>> from discreet.tables import Policy
    >>> certificates_of(Terms.of(Policy([], epsilon=3, delta=1e-6))).names
    ('epsilon', 'renyi 8')
    """
    if terms.certificates is None:
        msg = "what the ledger fixed at its creation is not readable; run verify, and restore a backup."
        raise LedgerError(msg)
    return terms.certificates


def recount_into(page: Page, lines: Iterable[Line], terms: Terms) -> None:
    """Put what was spent into a page by the certificates of the new terms, in place of the old sums.

    >>> from discreet.tables import Policy
    >>> from discreet.ledgers.page import MemoryPage
    >>> page = MemoryPage.empty()
    >>> recount_into(page, [], terms_after(Terms.of(Policy([], epsilon=3)), [Policy([], epsilon=3)], Policy([],
    ...     epsilon=3, delta=1e-6)))
    >>> page.all_sums(None)
    []
    """
    counted = Recount.of(lines, certificates_of(terms))
    for place, cost in counted.sums.items():
        page.set_sums(*place, sums_of(cost))
    for number, cost in counted.costs.items():
        page.set_fact(counted_fact(number), cost.to_json())


def _cost_of(line: Line, certificates: Certificates) -> Cost:
    """What a reservation costs by the certificates: from its recorded curve, else from what was charged, as a curve."""
    charged = {canonical for _, _, canonical in line.charges}
    if len(charged) != 1:
        msg = f"entry {line.number} charges different amounts, so that its cost is not on record. Nothing was changed."
        raise LedgerError(msg)
    amount = charged.pop()
    curve = _recorded(line) if line.body.get("what") == "question" else None
    if curve is None or not _is_that_of(curve, amount):
        if isinstance(amount, Cost):
            return amount
        curve = amount.curve()
    return cost_of(curve, certificates)


def _recorded(line: Line) -> Curve | None:
    details = line.body.get("details")
    record = details.get("curve") if isinstance(details, dict) else None
    try:
        return None if record is None else Curve.from_record(record)
    except (DiscreetError, KeyError, TypeError, ValueError):
        return None


def _is_that_of(curve: Curve, amount: Amount) -> bool:
    """Tell whether a curve explains a charge in the old currency, and is not that of something smaller."""
    if curve.neighbors != amount.neighbors:
        return False
    failure, rest = curve.unfailing()
    if isinstance(amount, Pure):
        largest, paid = rest.largest_loss(), amount.epsilon
        worth = None if largest is None or failure else Fraction(largest)
    elif isinstance(amount, Approximate):
        worth, paid = Fraction(min(curve.epsilon(amount.delta), 10**9)), amount.epsilon
    elif isinstance(amount, ZCDP):
        try:
            worth, paid = Fraction(rest.zcdp()), amount.rho
        except (DiscreetError, OverflowError):
            return False
        worth = worth if failure <= amount.delta else None
    else:
        return False
    return worth is not None and paid * _SAME <= worth <= paid * (1 + Fraction(1, 10**9))
