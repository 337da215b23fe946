"""What a ledger fixes when it is created, and what its budgets are under the policy of the day."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledgers.amounts import text_of
from discreet.privacy import ZCDP, Approximate, ApproximateFilter, Budget, Pure, PureFilter, ZCDPFilter
from discreet.privacy.convert import zcdp_allowance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.ledgers.line import Scope
    from discreet.privacy.currencies import Currency
    from discreet.privacy.filters import Filter
    from discreet.tables import Policy, Table

__all__ = ["DATASET", "Limits", "Terms", "budget_filter"]

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

    @staticmethod
    def of(policy: Policy) -> Terms:
        """Take the terms from a policy."""
        return Terms(
            policy.dataset,
            policy.budget.neighbors.value,
            policy.filter,
            str(policy.delta_conversion) if policy.filter == "zcdp" else "0",
            {table.name.casefold(): _unit(table) for table in policy.tables},
        )

    def after(self, policy: Policy) -> Terms:
        """Check an edited policy against the terms; new tables join them."""
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
                raise LedgerError(msg)
        for table, unit in new.units.items():
            was = self.units.get(table, unit)
            if was != unit:
                msg = (
                    f"the unit of table {table} was {was} when the ledger met it and is now {unit}; what was spent "
                    "protected the old unit. Write the old unit, kind and type."
                )
                raise LedgerError(msg)
        return Terms(self.dataset, self.relation, self.filter, self.delta_conversion, {**self.units, **new.units})

    def record(self) -> dict[str, Any]:
        """The terms as a JSON object."""
        return {
            "dataset": self.dataset,
            "relation": self.relation,
            "filter": self.filter,
            "delta_conversion": self.delta_conversion,
            "units": dict(self.units),
        }

    @staticmethod
    def read(record: Mapping[str, Any]) -> Terms:
        """Read what `record` wrote, or raise LedgerError."""
        try:
            texts = [record[word] for word in ("dataset", "relation", "filter", "delta_conversion")]
            units = dict(record["units"])
        except (KeyError, TypeError, ValueError):
            texts, units = [None], {}
        if not all(isinstance(text, str) for text in (*texts, *units, *units.values())):
            msg = "what the ledger fixed at its creation is not readable; run verify, and restore a backup."
            raise LedgerError(msg)
        dataset, relation, kind, delta = texts
        return Terms(dataset, relation, kind, delta, units)


def _unit(table: Table) -> str:
    if not table.private:
        return "public"
    if table.unit is None:
        return "one row"
    # Another type merges units, or splits them: '7' and '07' are two texts and one integer.
    return f"{table.unit!r} of kind {table.unit_kind!r} and type {table.column(table.unit).kind.value!r}"


class Limits:
    """The budgets of a policy: the dataset's, and those of analysts and purposes that have one of their own.

    >>> from discreet.tables import Analyst, Policy
    >>> limits = Limits(Policy([], epsilon=3, analysts=[Analyst("ann", epsilon=1), Analyst("bob")]))
    >>> limits.of(("analyst", "ann")).limit, limits.of(("analyst", "bob"))
    (Pure(epsilon=1), None)
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[Scope, Filter[Any] | None] = {}
        self._texts: dict[Scope, str] = {}

    @cached_property
    def nothing(self) -> Currency:
        """An amount of nothing in the ledger's currency."""
        zero: Currency = self.dataset.limit * 0
        return zero

    @cached_property
    def dataset(self) -> Filter[Any]:
        """The filter of the dataset, which always has one."""
        return budget_filter(self._policy, self._policy.budget)

    def of(self, scope: Scope) -> Filter[Any] | None:
        """The filter of a budget before anything was spent; None where there is no limit of its own."""
        if scope not in self._known:
            self._known[scope] = self._build(scope)
        return self._known[scope]

    def text(self, scope: Scope) -> str:
        """The limit of a budget as sums are written; empty where there is none."""
        if scope not in self._texts:
            limit = self.of(scope)
            self._texts[scope] = "" if limit is None else text_of(limit.limit)
        return self._texts[scope]

    @property
    def named(self) -> list[Scope]:
        """The budgets that the policy names."""
        analysts = [("analyst", holder.name) for holder in self._policy.analysts]
        return [DATASET, *analysts, *(("purpose", holder.name) for holder in self._policy.purposes)]

    def _build(self, scope: Scope) -> Filter[Any] | None:
        policy = self._policy
        if scope == DATASET:
            return self.dataset
        kind, name = scope
        holders = policy.analysts if kind == "analyst" else policy.purposes
        holder = next((holder for holder in holders if holder.name == name), None)
        if holder is None or (holder.epsilon is None and holder.delta is None):
            return None
        whole = policy.budget
        epsilon = whole.epsilon if holder.epsilon is None else holder.epsilon
        delta = whole.delta if holder.delta is None else holder.delta
        return budget_filter(policy, Budget(epsilon, delta, neighbors=whole.neighbors))


def budget_filter(policy: Policy, budget: Budget) -> Filter[Any]:
    """Build the filter of a budget in the policy's currency: the dataset's own, an analyst's or a purpose's.

    For `zcdp` the policy's share of delta pays for the conversion, and the limit is the largest rho that converts.

    >>> from discreet.tables import Policy
    >>> policy = Policy([], epsilon=3, filter="approximate")
    >>> budget_filter(policy, policy.budget).limit
    Approximate(epsilon=3)
    """
    if policy.filter == "pure":
        return PureFilter(Pure(budget.epsilon, neighbors=budget.neighbors))
    if policy.filter == "approximate":
        return ApproximateFilter(Approximate(budget.epsilon, budget.delta, neighbors=budget.neighbors))
    limit: ZCDP = zcdp_allowance(budget, share=policy.delta_conversion / policy.budget.delta)
    return ZCDPFilter(limit)
