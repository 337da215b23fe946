"""What a ledger fixes when it is created, and what its budgets are under the policy of the day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError, ParameterError
from discreet.exact import shown
from discreet.privacy import ZCDP, Approximate, Budget, Pure
from discreet.privacy.convert import zcdp_allowance
from discreet.privacy.costs import DELTA_UNITS, LOSS_UNITS, Certificates, Cost, cost_of, units_of
from discreet.privacy.currencies import Currency
from discreet.privacy.curve import Curve
from discreet.privacy.relations import require_same_relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.ledgers.line import Scope
    from discreet.ledgers.page import Page
    from discreet.privacy.costs import Amount, Promising
    from discreet.tables import Policy, Table

__all__ = ["DATASET", "Limits", "Terms", "counted_cost", "counted_fact"]

DATASET: Scope = ("dataset", "")


@dataclass(frozen=True)
class Terms:
    """The dataset, the units of its tables, the relation, the filter and its split of delta: fixed for ever.

    A table that an edit removes keeps its unit here, so that it cannot come back with another; nor can it under another
    spelling, as letters' case does not tell tables apart.

    >>> from discreet.tables import Policy, Table
    >>> terms = Terms.of(Policy([Table("visits", unit="id")], epsilon=1, dataset="hospital"))
    >>> terms.after(Policy([Table("visits", unit="row")], epsilon=1, dataset="hospital"))
    Traceback (most recent call last):
    ...
    discreet.errors.LedgerError: the unit of table visits was 'id' of kind 'id' and type 'text' when the ledger met ...
    """

    dataset: str
    relation: str
    filter: str
    delta_conversion: str
    units: Mapping[str, str]
    certificates: Certificates | None = None
    """With the filter `best`: the orders and the split of delta that were chosen at creation."""

    @staticmethod
    def of(policy: Policy) -> Terms:
        """Take the terms from a policy."""
        return Terms(
            policy.dataset,
            policy.budget.neighbors.value,
            policy.filter,
            str(policy.delta_conversion) if policy.filter == "zcdp" else "0",
            {table.name.casefold(): _unit(table) for table in policy.tables},
            policy.certificates.of_budget(policy.budget) if policy.filter == "best" else None,
        )

    def kept(self, policy: Policy) -> Policy:
        """A policy as this ledger keeps it: by the filter, if it states none, and certificates of the creation."""
        return policy.kept_by(self.filter, self.certificates)

    def after(self, policy: Policy, *, spent: bool = True) -> Terms:
        """Check an edited policy against the terms; new tables join them.

        Until something is spent nobody was promised anything, and units may still be corrected.
        """
        new = Terms.of(policy)
        for name, word in (
            ("dataset", "the dataset's id (dataset.id)"),
            ("relation", "the neighbor relation (budget.neighbors)"),
            ("filter", "the filter (budget.filter)"),
            ("delta_conversion", "the part of delta for the conversion (budget.delta_conversion)"),
        ):
            was, now = getattr(self, name), getattr(new, name)
            if was != now:
                msg = (
                    f"{word} was {was!r} when the ledger was created and is now {now!r}; a ledger keeps it for ever, "
                    "as its sums have no meaning in another. Write the old value, or keep the data behind one policy "
                    "alone."
                )
                if name == "filter" and now == "best":
                    msg += " `discreet ledger upgrade` counts what was spent anew, where delta covers that."
                raise LedgerError(msg)
        if not spent:
            return replace(self, units=new.units)
        for table, unit in new.units.items():
            was = self.units.get(table, unit)
            if was != unit:
                msg = (
                    f"the unit of table {table} was {was} when the ledger met it and is now {unit}; what was spent "
                    "protected the old unit. Write the old unit, kind and type."
                )
                raise LedgerError(msg)
        return replace(self, units={**self.units, **new.units})

    def record(self) -> dict[str, Any]:
        """The terms as a JSON object."""
        return {
            "dataset": self.dataset,
            "relation": self.relation,
            "filter": self.filter,
            "delta_conversion": self.delta_conversion,
            "units": dict(self.units),
            **({} if self.certificates is None else {"certificates": self.certificates.record()}),
        }

    @staticmethod
    def read(record: Mapping[str, Any]) -> Terms:
        """Read what `record` wrote, or raise LedgerError."""
        try:
            texts = [record[word] for word in ("dataset", "relation", "filter", "delta_conversion")]
            units = dict(record["units"])
            kept = Certificates.from_record(record["certificates"]) if "certificates" in record else None
        except (KeyError, TypeError, ValueError, ParameterError):
            texts, units, kept = [None], {}, None
        if not all(isinstance(text, str) for text in (*texts, *units, *units.values())):
            msg = "what the ledger fixed at its creation is not readable; run verify, and restore a backup."
            raise LedgerError(msg)
        dataset, relation, kind, delta = texts
        return Terms(dataset, relation, kind, delta, units, kept)


def counted_fact(reservation: int) -> str:
    """Name the fact that tells what a reservation from before an upgrade costs by the certificates.

    >>> counted_fact(7)
    'counted 7'
    """
    return f"counted {reservation}"


def counted_cost(page: Page, reservation: int | None) -> Cost | None:
    """What a reservation from before an upgrade costs by the certificates; None for all others.

    >>> from discreet.ledgers.page import MemoryPage
    >>> counted_cost(MemoryPage.empty(), 7)
    """
    text = None if reservation is None else page.fact(counted_fact(reservation))
    return None if text is None else Cost.from_json(text)


def _unit(table: Table) -> str:
    if not table.private:
        return "public"
    if table.references is not None:
        return f"that of {table.references!r}"
    if table.unit is None:
        return "one row"
    # Another type merges units, or splits them: '7' and '07' are two texts and one integer.
    return f"{table.unit!r} of kind {table.unit_kind!r} and type {table.column(table.unit).kind.value!r}"


_CURRENCIES: dict[str, type[Pure | Approximate | ZCDP]] = {"pure": Pure, "approximate": Approximate, "zcdp": ZCDP}


class Limits:
    """The budgets of a policy in units: the dataset's, and those of analysts and purposes that have one of their own.

    >>> from discreet.tables import Analyst, Policy
    >>> limits = Limits(Policy([], epsilon=3, analysts=[Analyst("ann", epsilon=1), Analyst("bob")]))
    >>> limits.of(("analyst", "ann")), limits.of(("analyst", "bob"))
    (Cost(epsilon=1), None)
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[Scope, Cost | None] = {}

    @cached_property
    def dataset(self) -> Cost:
        """The limits of the dataset, which always has some."""
        return self._limits(self._policy.budget)

    @property
    def nothing(self) -> Amount:
        """An amount of nothing as this ledger keeps it."""
        return self.told(self.dataset * 0)

    def priced(self, given: Amount | Curve | Promising) -> Amount:
        """What the ledger charges for something: an amount in its own currency, or, by certificates, whatever promises.

        >>> from discreet.tables import Policy
        >>> Limits(Policy([], epsilon=3, delta=1e-6)).priced(Pure("0.1")).losses[0]
        100000000000
        """
        kind = _CURRENCIES.get(self._policy.filter)
        if kind is not None and isinstance(given, kind):
            require_same_relation(self._policy.budget.neighbors, given.neighbors)
            return given
        if kind is not None:
            msg = (
                f"{shown(given)} is no {kind.__name__}, the currency of this ledger. Convert it first: convert(cost, "
                f"to={kind.__name__}) from discreet.privacy.convert."
            )
            raise ParameterError(msg)
        if isinstance(given, Cost):
            self.dataset.covers(given)  # refuses a cost by other certificates, or for other neighbors
            return given
        curve = given.curve() if isinstance(given, Currency) else getattr(given, "privacy", given)
        if not isinstance(curve, Curve):
            msg = f"{shown(given)} is nothing that promises; give a currency, a curve, or a mechanism."
            raise ParameterError(msg)
        return cost_of(curve, self._policy.certificates)

    def told(self, units: Cost) -> Amount:
        """Give units as an amount of the ledger's own kind.

        >>> from discreet.tables import Policy
        >>> Limits(Policy([], epsilon=3)).told(units_of(Pure(1)))
        Pure(epsilon=1)
        """
        kind = _CURRENCIES.get(self._policy.filter)
        if kind is None:
            return units
        loss, delta = Fraction(units.losses[0], LOSS_UNITS), Fraction(units.deltas[0], DELTA_UNITS)
        return kind(*([loss] if kind is Pure else [loss, delta]), neighbors=units.neighbors)

    def of(self, scope: Scope) -> Cost | None:
        """The limits of a budget; None where it has none of its own."""
        if scope not in self._known:
            self._known[scope] = self._build(scope)
        return self._known[scope]

    @property
    def named(self) -> list[Scope]:
        """The budgets that the policy names."""
        analysts = [("analyst", holder.name) for holder in self._policy.analysts]
        return [DATASET, *analysts, *(("purpose", holder.name) for holder in self._policy.purposes)]

    def budget(self, scope: Scope) -> Budget | None:
        """The budget as the policy states it; None where there is none of its own."""
        policy, (kind, name) = self._policy, scope
        if scope == DATASET:
            return policy.budget
        holders = policy.analysts if kind == "analyst" else policy.purposes
        holder = next((holder for holder in holders if holder.name == name), None)
        if holder is None or (holder.epsilon is None and holder.delta is None):
            return None
        whole = policy.budget
        epsilon = whole.epsilon if holder.epsilon is None else holder.epsilon
        delta = whole.delta if holder.delta is None else holder.delta
        return Budget(epsilon, delta, neighbors=whole.neighbors)

    def _build(self, scope: Scope) -> Cost | None:
        budget = self.budget(scope)
        return None if budget is None else self._limits(budget)

    def _limits(self, budget: Budget) -> Cost:
        """Limits in units, rounded down.

        For `zcdp` the policy's share of delta pays for the conversion, and the limit is the largest rho that converts.
        """
        policy = self._policy
        if policy.filter == "best":
            return policy.certificates.of_budget(budget).limits
        if policy.filter == "zcdp":
            return units_of(zcdp_allowance(budget, share=policy.delta_conversion / policy.budget.delta), down=True)
        amount = Pure(budget.epsilon, neighbors=budget.neighbors)
        approximate = Approximate(budget.epsilon, budget.delta, neighbors=budget.neighbors)
        return units_of(amount if policy.filter == "pure" else approximate, down=True)
