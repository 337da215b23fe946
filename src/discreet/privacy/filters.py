"""Privacy filters: may this be spent, when its cost was chosen after seeing earlier answers?

A composition theorem speaks of costs that were fixed beforehand. An analyst who reads an answer and
then decides what to ask next, and for how much, is *fully adaptive*; for her only a filter is valid
(Rogers, Roth, Ullman & Vadhan 2016, arXiv:1605.08294). Each filter below is a sum in its own currency
against a limit fixed at the start, which is what its theorem covers. The optimal composition of
Kairouz et al., Murtagh & Vadhan, numerical composition, and the best Renyi order picked afterwards
are not filters and do not appear here.

A filter is an immutable value: `spend` returns the filter after the spend, with O(1) exact work. A
refused cost leaves everything as it was: the refusal depends on earlier costs alone, so it is one
more adaptive choice and the theorems cover what follows.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar, cast

from discreet.errors import BudgetError, ParameterError
from discreet.exact import shown
from discreet.exact.rational import as_text, read_delta, read_nonnegative, require_kind
from discreet.privacy.costs import Certificates, Cost, fitting, holding, lacking, largest_fitting, share_text, used_of
from discreet.privacy.currencies import GDP, RDP, ZCDP, Approximate, Currency, Pure
from discreet.privacy.enclosures import enclose, log, round_down
from discreet.privacy.relations import NeighborRelation, Relation, require_relation, require_same_relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.exact import Number

__all__ = [
    "AdvancedFilter",
    "AnyOf",
    "ApproximateFilter",
    "Filter",
    "GDPFilter",
    "PureFilter",
    "RDPFilter",
    "ZCDPFilter",
]

Amount = TypeVar("Amount", bound=Currency)


def _numbers(amount: Currency) -> list[Fraction]:
    """The numbers of a promise, in the order of its constructor."""
    return list(cast("dict[str, Fraction]", amount.fields()).values())


@dataclass(frozen=True, slots=True, init=False)
class Filter(ABC, Generic[Amount]):
    """A limit, what was spent of it, and the theorem that makes the sum a promise.

    >>> start = PureFilter(Pure(1))
    >>> after = start.spend(Pure("0.4"))
    >>> after.remaining, after.admits(Pure("0.7"))
    (Pure(epsilon=0.6), False)
    """

    currency: ClassVar[type[Currency]]

    limit: Amount
    spent: Amount

    def __init__(self, limit: Amount, spent: Amount | None = None) -> None:
        """Take the limit and the state; a state that was stored and read back is checked like any other input."""
        object.__setattr__(self, "limit", require_kind(limit, self.currency, "limit"))
        object.__setattr__(self, "spent", limit * 0 if spent is None else require_kind(spent, self.currency, "spent"))
        require_same_relation(limit.neighbors, self.spent.neighbors)
        if not self._fits(limit * 0, self.spent):
            msg = f"spent is {self.spent!r}, more than the limit of {limit!r}; no filter ever admits that."
            raise ParameterError(msg)

    @property
    def remaining(self) -> Amount:
        """What may still be spent in one piece."""
        numbers = zip(*map(_numbers, (self.limit, self.spent)), strict=True)
        build = cast("Callable[..., Amount]", self.currency)
        return build(*(most - gone for most, gone in numbers), neighbors=self.limit.neighbors)

    def _fits(self, spent: Amount, cost: Amount) -> bool:
        """Compare a sum with the limit, exactly; number by number, as a sum of deltas may be no promise any more."""
        numbers = zip(*map(_numbers, (spent, cost, self.limit)), strict=True)
        return all(gone + more <= most for gone, more, most in numbers)

    def admits(self, cost: Amount) -> bool:
        """Tell whether a cost still fits; asking is free.

        >>> PureFilter(Pure("0.3")).spend(Pure("0.1")).admits(Pure("0.2"))
        True
        """
        if not isinstance(cost, self.currency):
            msg = (
                f"{shown(cost)} is no {self.currency.__name__}, the currency of this filter. Convert it "
                f"first: convert(cost, to={self.currency.__name__}) from discreet.privacy.convert."
            )
            raise ParameterError(msg)
        require_same_relation(self.limit.neighbors, cost.neighbors)
        return self._fits(self.spent, cost)

    def spend(self, cost: Amount) -> Self:
        """Return the filter after spending, or refuse with what is left.

        >>> PureFilter(Pure("0.3")).spend(Pure("0.1")).spend(Pure("0.2")).remaining
        Pure(epsilon=0)
        """
        if not self.admits(cost):
            msg = f"{cost!r} does not fit: {self.remaining!r} is left of {self.limit!r}. Ask for less."
            raise BudgetError(msg)
        return type(self)(self.limit, self._sum(cost))

    def _sum(self, cost: Amount) -> Amount:
        return self.spent + cost


@dataclass(frozen=True, slots=True, init=False)
class PureFilter(Filter[Pure]):
    """The sum of the epsilons stays within the limit.

    Valid under full adaptivity: Rogers et al. 2016 (arXiv:1605.08294), basic composition as a filter;
    along every transcript the loss is at most the sum of the epsilons, whatever was chosen.

    >>> PureFilter(Pure(1)).spend(Pure("0.4")).spent
    Pure(epsilon=0.4)
    """

    currency: ClassVar[type[Currency]] = Pure


@dataclass(frozen=True, slots=True, init=False)
class ApproximateFilter(Filter[Approximate]):
    """The sums of the epsilons and of the deltas stay within the limit.

    Valid under full adaptivity: Rogers et al. 2016 (arXiv:1605.08294), basic composition as a filter.

    >>> ApproximateFilter(Approximate(1, 1e-6)).spend(Approximate("0.5", 1e-6)).remaining
    Approximate(epsilon=0.5)
    """

    currency: ClassVar[type[Currency]] = Approximate


@dataclass(frozen=True, slots=True, init=False)
class ZCDPFilter(Filter[ZCDP]):
    """The sums of the rhos and of the deltas stay within the limit.

    Valid under full adaptivity: Whitehouse, Ramdas, Rogers & Wu 2023 (arXiv:2203.05481), their filter
    for approximate zCDP: if each mechanism is delta_i-approximate rho_i-zCDP given what
    was seen before, and the sums never exceed (rho, delta), then the whole is delta-approximate
    rho-zCDP. `convert.zcdp_allowance` turns a budget (epsilon, delta) into the limit.

    >>> ZCDPFilter(ZCDP("0.1", 1e-7)).spend(ZCDP("0.04")).remaining
    ZCDP(rho=0.06, delta=1e-07)
    """

    currency: ClassVar[type[Currency]] = ZCDP


@dataclass(frozen=True, slots=True, init=False)
class RDPFilter(Filter[RDP]):
    """The sum of the Renyi divergences at one order, fixed beforehand, stays within the limit.

    Valid under full adaptivity: Feldman & Zrnic 2021 (arXiv:2008.11193), Theorem 3.1. The order is
    part of the limit; picking the best of several orders afterwards is not covered and is refused.

    >>> RDPFilter(RDP([8], ["0.5"])).spend(RDP([8], ["0.2"])).remaining
    RDP(orders=(8,), values=(0.3,))
    """

    currency: ClassVar[type[Currency]] = RDP

    def __init__(self, limit: RDP, spent: RDP | None = None) -> None:
        if len(require_kind(limit, RDP, "limit").orders) != 1:
            msg = (
                f"limit lists {len(limit.orders)} orders; a Renyi filter is valid for one order "
                "fixed beforehand. Write RDPFilter(limit.restrict([order]))."
            )
            raise ParameterError(msg)
        if spent is not None and require_kind(spent, RDP, "spent").orders != limit.orders:
            msg = f"spent is {spent!r}; it must be at the order of the limit, {as_text(limit.orders[0])}."
            raise ParameterError(msg)
        super(RDPFilter, self).__init__(limit, spent)

    @property
    def remaining(self) -> RDP:
        """What may still be spent at the filter's order.

        >>> RDPFilter(RDP([8], ["0.5"])).remaining
        RDP(orders=(8,), values=(0.5,))
        """
        left = self.limit.values[0] - self.spent.values[0]
        return RDP(self.limit.orders, [left], neighbors=self.limit.neighbors)

    def _fits(self, spent: RDP, cost: RDP) -> bool:
        return spent.values[0] + cost.at(self.limit.orders[0]) <= self.limit.values[0]

    def _sum(self, cost: RDP) -> RDP:
        return self.spent + cost.restrict(self.limit.orders)


@dataclass(frozen=True, slots=True, init=False)
class GDPFilter(Filter[GDP]):
    """The sum of the squared mus stays within the squared limit.

    Valid under full adaptivity: Smith & Thakurta 2022 (arXiv:2210.17520), the main theorem.

    >>> GDPFilter(GDP(1)).spend(GDP("0.6")).remaining
    GDP(mu=0.8)
    """

    currency: ClassVar[type[Currency]] = GDP

    @property
    def remaining(self) -> GDP:
        """What may still be spent.

        >>> GDPFilter(GDP(1)).remaining
        GDP(mu=1)
        """
        left = self.limit.mu_squared - self.spent.mu_squared
        return GDP(mu_squared=left, neighbors=self.limit.neighbors)

    def _fits(self, spent: GDP, cost: GDP) -> bool:
        return spent.mu_squared + cost.mu_squared <= self.limit.mu_squared


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AdvancedFilter:
    """Advanced composition for an adaptive analyst, in (epsilon, delta).

    Spends while sqrt(2 ln(1/slack) * sum eps_i**2) + sum eps_i**2 / 2 <= epsilon and
    sum delta_i <= delta; the whole is (epsilon, slack + delta)-private. Valid under full adaptivity:
    Whitehouse et al. 2023 (arXiv:2203.05481), their (epsilon, delta) filter, whose
    constants are those of advanced composition for fixed costs.

    The condition is solved for the sum of squares once: with L = 2 ln(1/slack),
    sqrt(S) <= sqrt(L + 2 epsilon) - sqrt(L), rounded down.

    >>> start = AdvancedFilter(epsilon=1, delta=1e-7, slack=1e-6)
    >>> spent = start.spend(Approximate("0.1", 1e-9))
    >>> float(spent.squares), start.admits(Approximate("0.2"))
    (0.01, False)
    """

    epsilon: Fraction
    delta: Fraction
    slack: Fraction
    neighbors: Relation
    squares: Fraction
    spent_delta: Fraction
    most_squares: Fraction

    def __init__(  # noqa: PLR0913  the limit has three numbers and the state two
        self,
        *,
        epsilon: Number,
        delta: Number,
        slack: Number,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
        squares: Number = 0,
        spent_delta: Number = 0,
    ) -> None:
        limit, part = read_nonnegative(epsilon, "epsilon"), read_delta(slack, "slack")
        if part == 0:
            msg = "slack is 0; advanced composition needs a slack above 0. Use PureFilter instead."
            raise ParameterError(msg)
        base = log(1 / part).scaled(Fraction(2))
        root = (base + enclose(2 * limit)).sqrt() - base.sqrt()
        for name, value in (
            ("epsilon", limit),
            ("delta", read_delta(delta)),
            ("slack", part),
            ("neighbors", require_relation(neighbors)),
            ("squares", read_nonnegative(squares, "squares")),
            ("spent_delta", read_delta(spent_delta, "spent_delta")),
            ("most_squares", round_down(max(Fraction(0), root.lower) ** 2)),
        ):
            object.__setattr__(self, name, value)
        read_delta(self.delta + part, "delta + slack")
        # a state that was stored and read back is checked like any other input
        if self.squares > self.most_squares or self.spent_delta > self.delta:
            msg = "squares or spent_delta lie above the limit; no filter ever admits that."
            raise ParameterError(msg)

    @property
    def promise(self) -> Approximate:
        """What the whole is worth, however it is spent.

        >>> AdvancedFilter(epsilon=1, delta=1e-7, slack=9e-7).promise
        Approximate(epsilon=1, delta=1e-06)
        """
        return Approximate(self.epsilon, self.delta + self.slack, neighbors=self.neighbors)

    def admits(self, cost: Approximate) -> bool:
        """Tell whether a cost still fits; asking is free.

        >>> AdvancedFilter(epsilon=1, delta=0, slack=1e-6).admits(Approximate("0.1"))
        True
        """
        if not isinstance(cost, Approximate):
            msg = f"{shown(cost)} is no Approximate; write Approximate(epsilon, delta)."
            raise ParameterError(msg)
        require_same_relation(self.neighbors, cost.neighbors)
        return self.squares + cost.epsilon**2 <= self.most_squares and self.spent_delta + cost.delta <= self.delta

    def spend(self, cost: Approximate) -> AdvancedFilter:
        """Return the filter after spending, or refuse.

        >>> AdvancedFilter(epsilon=1, delta=0, slack=1e-6).spend(Approximate("0.1")).squares
        Fraction(1, 100)
        """
        if not self.admits(cost):
            msg = f"{cost!r} does not fit into what is left of {self!r}. Ask for less."
            raise BudgetError(msg)
        return AdvancedFilter(
            epsilon=self.epsilon,
            delta=self.delta,
            slack=self.slack,
            neighbors=self.neighbors,
            squares=self.squares + cost.epsilon**2,
            spent_delta=self.spent_delta + cost.delta,
        )

    def __repr__(self) -> str:
        return (
            f"AdvancedFilter(epsilon={as_text(self.epsilon)}, delta={as_text(self.delta)}, slack={as_text(self.slack)})"
        )


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AnyOf:
    """Several certificates at once: a spend is admitted while at least one of them holds.

    Each certificate is a sum with a limit that alone makes a fully adaptive interaction (epsilon, delta_k)-private.
    Costs are at least 0, so a certificate that holds at the end held all along. Assign every finished transcript to the
    first that does: on the transcripts of one certificate the interaction is, step by step, the one under that filter
    alone, on both neighbors. The inequalities of all certificates add up: the whole is private for epsilon and the sum
    of the delta_k. Proof: docs/proofs/privacy/any_of.md.

    A spend is added to *all* sums, also to those past their limit: a certificate that does not hold any more never
    holds again.

    So a budget with a delta buys whatever it buys without one, and small questions still add up by the square root.

    >>> from discreet import privacy as p
    >>> from discreet.privacy.costs import cost_of
    >>> start = AnyOf(Certificates.of(p.Budget(epsilon=3, delta=1e-6)))
    >>> [start.more(cost_of(p.laplace(scale=scale), start.certificates)) for scale in (2, 10, 20)]
    [6, 40, 150]
    """

    certificates: Certificates
    spent: Cost
    limits: Cost

    def __init__(self, certificates: Certificates, spent: Cost | None = None) -> None:
        limits = require_kind(certificates, Certificates, "certificates").limits
        object.__setattr__(self, "certificates", certificates)
        object.__setattr__(self, "limits", limits)
        object.__setattr__(self, "spent", limits * 0 if spent is None else require_kind(spent, Cost, "spent"))
        if not any(holding(limits, self.spent)):
            msg = "spent is past every limit; no filter ever admits that."
            raise ParameterError(msg)

    @property
    def promise(self) -> Approximate:
        """What the whole is worth, however it is spent.

        >>> from discreet import privacy as p
        >>> AnyOf(Certificates.of(p.Budget(epsilon=3, delta=1e-6))).promise
        Approximate(epsilon=3, delta=1e-06)
        """
        budget = self.certificates.budget
        return Approximate(budget.epsilon, budget.delta, neighbors=budget.neighbors)

    def admits(self, cost: Cost) -> bool:
        """Tell whether a cost still fits; asking is free.

        >>> from discreet import privacy as p
        >>> from discreet.privacy.costs import cost_of
        >>> start = AnyOf(Certificates.of(p.Budget(epsilon=3)))
        >>> [start.admits(cost_of(p.pure(epsilon), start.certificates)) for epsilon in (3, "3.1")]
        [True, False]
        """
        return any(holding(self.limits, self.spent + cost))

    def spend(self, cost: Cost) -> AnyOf:
        """Return the filter after spending, or refuse.

        >>> from discreet import privacy as p
        >>> from discreet.privacy.costs import cost_of
        >>> start = AnyOf(Certificates.of(p.Budget(epsilon=3)))
        >>> float(start.spend(cost_of(p.pure("1.5"), start.certificates)).used)
        0.5
        """
        if not self.admits(cost):
            needs, used = map(share_text, lacking(self.limits, self.spent, cost))
            largest = as_text(largest_fitting(self.certificates, self.spent))
            msg = (
                f"this needs {needs} of {self.certificates.budget!r} and {used} is used: it does not fit. Ask for less "
                f"or in smaller parts; at once epsilon = {largest} would still fit."
            )
            raise BudgetError(msg)
        return AnyOf(self.certificates, self.spent + cost)

    @property
    def used(self) -> Fraction:
        """How much of the budget is used, by the certificate of which most is left: 1 where nothing is."""
        return used_of(self.limits, self.spent)

    def more(self, cost: Cost) -> int:
        """Count how many more spends of a cost would fit, one after the other.

        >>> from discreet import privacy as p
        >>> from discreet.privacy.costs import cost_of
        >>> start = AnyOf(Certificates.of(p.Budget(epsilon=1)))
        >>> start.more(cost_of(p.pure("0.3"), start.certificates))
        3
        """
        return fitting(self.limits, self.spent, cost)

    def __repr__(self) -> str:
        return f"AnyOf({self.certificates.budget!r}, used={float(self.used):.3g})"
