"""Odometers: what has been promised so far, true at every moment at once.

A filter knows its limit beforehand; an odometer reads out the loss so far, and the reading holds at
all moments simultaneously, also at one that was chosen because of what was seen (Rogers, Roth, Ullman &
Vadhan 2016, arXiv:1605.08294). Stopping by any rule with a reading of at most epsilon is (epsilon,
delta)-private. For promises without a delta of their own the loss itself never exceeds any reading, with
probability 1 - delta; a promise with a delta is a post-processing of a mechanism for which that is so (an
(epsilon, delta) promise does not bound the loss: it may exceed epsilon with more than the chance of delta).

The proofs rest on one line. Let L_n be the privacy loss after n steps and R_n the sum of the Renyi
bounds at order 1 + t, each holding given the past. Then exp(t L_n - t R_n) is a nonnegative
supermartingale with mean at most 1, and Ville's inequality gives
Pr[some n has L_n > R_n + ln(1/w) / t] <= w.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import BudgetError, ParameterError
from discreet.exact import shown
from discreet.exact.rational import as_text, read_delta, require_kind
from discreet.privacy.currencies import GDP, RDP, ZCDP, Approximate, Currency, Pure
from discreet.privacy.enclosures import enclose, log, round_up
from discreet.privacy.relations import NeighborRelation, Relation, require_same_relation

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = [
    "ApproximateOdometer",
    "GDPOdometer",
    "PureOdometer",
    "RDPOdometer",
    "ZCDPOdometer",
]


def _require(cost: object, kind: type[Currency], neighbors: Relation) -> None:
    """Refuse a cost of another currency or relation."""
    if not isinstance(cost, kind):
        msg = (
            f"{shown(cost)} is no {kind.__name__}, the currency of this odometer. Convert it first: "
            f"convert(cost, to={kind.__name__}) from discreet.privacy.convert."
        )
        raise ParameterError(msg)
    require_same_relation(neighbors, cost.neighbors)


@dataclass(frozen=True, slots=True)
class PureOdometer:
    """The sum of the epsilons: the loss along every transcript, without exception.

    Rogers et al. 2016 (arXiv:1605.08294), basic composition as an odometer, with delta = 0.

    >>> PureOdometer().spend(Pure("0.1")).spend(Pure("0.2")).reading
    Pure(epsilon=0.3)
    """

    spent: Pure = field(default_factory=lambda: Pure(0))

    def __post_init__(self) -> None:
        """Check a state that was stored and read back like any other input."""
        require_kind(self.spent, Pure, "spent")

    @property
    def reading(self) -> Pure:
        """What has been promised so far.

        >>> PureOdometer().reading
        Pure(epsilon=0)
        """
        return self.spent

    def spend(self, cost: Pure) -> PureOdometer:
        """Return the odometer after a spend.

        >>> PureOdometer().spend(Pure(1)).reading
        Pure(epsilon=1)
        """
        _require(cost, Pure, self.spent.neighbors)
        return PureOdometer(self.spent + cost)


@dataclass(frozen=True, slots=True)
class ApproximateOdometer:
    """The sums of the epsilons and of the deltas.

    Rogers et al. 2016 (arXiv:1605.08294): the epsilons may run freely, the deltas must stay below
    a total fixed at the start, since they bound the chance that any reading fails.

    >>> meter = ApproximateOdometer(delta=Fraction(1, 10**6))
    >>> meter.spend(Approximate("0.1", 1e-7)).reading
    Approximate(epsilon=0.1, delta=1e-06)
    """

    delta: Fraction
    spent: Approximate = field(default_factory=lambda: Approximate(0))

    def __post_init__(self) -> None:
        """Read the delta exactly; a state that was stored and read back is checked like any other input."""
        object.__setattr__(self, "delta", read_delta(self.delta))
        _require_delta(require_kind(self.spent, Approximate, "spent").delta, self.delta)

    @property
    def reading(self) -> Approximate:
        """What has been promised so far, at the odometer's delta.

        >>> ApproximateOdometer(delta=Fraction(1, 8)).reading
        Approximate(epsilon=0, delta=0.125)
        """
        return Approximate(self.spent.epsilon, self.delta, neighbors=self.spent.neighbors)

    def spend(self, cost: Approximate) -> ApproximateOdometer:
        """Return the odometer after a spend, or refuse if the deltas would exceed their total.

        >>> ApproximateOdometer(delta=Fraction(1, 8)).spend(Approximate(1)).spent
        Approximate(epsilon=1)
        """
        _require(cost, Approximate, self.spent.neighbors)
        _require_delta(self.spent.delta + cost.delta, self.delta)
        return replace(self, spent=self.spent + cost)


def _require_delta(total: Fraction, limit: Fraction) -> None:
    """Refuse deltas beyond the total that was fixed at the start."""
    if total > limit:
        msg = (
            f"the deltas would sum to {as_text(total)}, above the {as_text(limit)} that this "
            "odometer was given at the start; no reading could be trusted. Start with a larger delta."
        )
        raise BudgetError(msg)


@dataclass(frozen=True, slots=True)
class RDPOdometer:
    """The sum of the Renyi divergences at one order fixed beforehand, plus ln(1/delta) / (order - 1).

    Feldman & Zrnic 2021 (arXiv:2008.11193), on a single order; by Ville's inequality (see above,
    t = order - 1) the reading holds at all moments.

    >>> meter = RDPOdometer(order=Fraction(11), delta=Fraction(1, 10**5))
    >>> float(meter.spend(RDP([11], ["0.2"])).reading.epsilon)
    1.351292546497023
    """

    order: Fraction
    delta: Fraction
    spent: Fraction = Fraction(0)
    neighbors: Relation = NeighborRelation.ADD_REMOVE

    def __post_init__(self) -> None:
        """Check the order and the state by building a promise with them, and the delta."""
        state = RDP([self.order], [self.spent], neighbors=self.neighbors)
        object.__setattr__(self, "order", state.orders[0])
        object.__setattr__(self, "spent", state.values[0])
        object.__setattr__(self, "delta", _positive_delta(self.delta))

    @property
    def reading(self) -> Approximate:
        """What has been promised so far.

        >>> RDPOdometer(order=Fraction(2), delta=Fraction(1, 2)).reading.delta
        Fraction(1, 2)
        """
        if self.spent == 0:
            return Approximate(0, self.delta, neighbors=self.neighbors)
        line = enclose(self.spent) - log(self.delta).scaled(1 / (self.order - 1))
        return Approximate(round_up(line), self.delta, neighbors=self.neighbors)

    def spend(self, cost: RDP) -> RDPOdometer:
        """Return the odometer after a spend.

        >>> RDPOdometer(order=Fraction(2), delta=Fraction(1, 2)).spend(RDP([2], [1])).spent
        Fraction(1, 1)
        """
        _require(cost, RDP, self.neighbors)
        return replace(self, spent=self.spent + cost.at(self.order))


def _positive_delta(value: Number) -> Fraction:
    """Read a delta that a concentration bound needs to be above 0."""
    delta = read_delta(value)
    if delta == 0:
        msg = "delta is 0; this odometer needs a delta above 0. PureOdometer works with none."
        raise ParameterError(msg)
    return delta


@dataclass(frozen=True, slots=True)
class ZCDPOdometer:
    """Many lines at once: the best of (1 + t) R + ln(1/w_t) / t over a ladder of slopes t.

    rho-zCDP bounds every order, so Ville's inequality holds for each slope of the ladder t_j = 2**(j/2); their failure
    probabilities w_t (see `_line`) sum to at most delta. This is the stitching idea of Whitehouse, Ramdas, Rogers & Wu
    2023 (arXiv:2203.05481): at each moment the reading is within a doubly logarithmic term of the best bound
    for costs fixed beforehand.
    `spread` is the share of delta that the costs themselves may use.

    >>> meter = ZCDPOdometer(delta=Fraction(1, 10**6))
    >>> 0.9 < float(meter.spend(ZCDP("0.01")).reading.epsilon) < 1.0
    True
    """

    delta: Fraction
    spread: Fraction = Fraction(0)
    spent: ZCDP = field(default_factory=lambda: ZCDP(0))

    _reach: ClassVar[int] = 40

    def __post_init__(self) -> None:
        """Read the two deltas exactly."""
        object.__setattr__(self, "delta", _positive_delta(self.delta))
        object.__setattr__(self, "spread", read_delta(self.spread, "spread"))
        read_delta(self.delta + self.spread, "delta + spread")
        _require_delta(require_kind(self.spent, ZCDP, "spent").delta, self.spread)

    @property
    def reading(self) -> Approximate:
        """What has been promised so far, at delta + spread.

        >>> ZCDPOdometer(delta=Fraction(1, 8)).reading
        Approximate(epsilon=0, delta=0.125)
        """
        total = self.delta + self.spread
        if self.spent.rho == 0:
            return Approximate(0, total, neighbors=self.spent.neighbors)
        best = min(self._line(step) for step in range(-self._reach, self._reach + 1))
        return Approximate(best, total, neighbors=self.spent.neighbors)

    def _line(self, step: int) -> Fraction:
        """Return the bound of one slope, 2**(step / 2) to within a rational factor, rounded up.

        The weights: 1/2 for step 0 and 1 / (4 j (j + 1)) for step +j and -j each; they sum to
        1/2 + 2 * (1/4) * 1 = 1 over all j.
        """
        slope = Fraction(2) ** (step // 2) * (Fraction(99, 70) if step % 2 else 1)
        j = abs(step)
        weight = Fraction(1, 2) if j == 0 else Fraction(1, 4 * j * (j + 1))
        chance = log(1 / (weight * self.delta)).scaled(1 / slope)
        return round_up(enclose((1 + slope) * self.spent.rho) + chance)

    def spend(self, cost: ZCDP) -> ZCDPOdometer:
        """Return the odometer after a spend, or refuse if the deltas would exceed the spread.

        >>> ZCDPOdometer(delta=Fraction(1, 8)).spend(ZCDP("0.1")).spent
        ZCDP(rho=0.1)
        """
        _require(cost, ZCDP, self.spent.neighbors)
        _require_delta(self.spent.delta + cost.delta, self.spread)
        return replace(self, spent=self.spent + cost)


@dataclass(frozen=True, slots=True)
class GDPOdometer:
    """The odometer of zCDP with rho = mu**2 / 2 for each mu-GDP cost.

    Dong, Roth & Su 2022 (arXiv:1905.02383): mu-GDP bounds the divergence of order a by a mu**2 / 2.

    >>> meter = GDPOdometer(ZCDPOdometer(delta=Fraction(1, 10**6)))
    >>> meter.spend(GDP("0.2")).meter.spent
    ZCDP(rho=0.02)
    """

    meter: ZCDPOdometer

    def __post_init__(self) -> None:
        """Refuse what is no odometer."""
        require_kind(self.meter, ZCDPOdometer, "meter")

    @property
    def reading(self) -> Approximate:
        """What has been promised so far.

        >>> GDPOdometer(ZCDPOdometer(delta=Fraction(1, 8))).reading
        Approximate(epsilon=0, delta=0.125)
        """
        return self.meter.reading

    def spend(self, cost: GDP) -> GDPOdometer:
        """Return the odometer after a spend.

        >>> GDPOdometer(ZCDPOdometer(delta=Fraction(1, 8))).spend(GDP(1)).meter.spent
        ZCDP(rho=0.5)
        """
        from discreet.privacy.convert import convert

        _require(cost, GDP, self.meter.spent.neighbors)
        return GDPOdometer(self.meter.spend(convert(cost, to=ZCDP)))
