"""What a spend costs by every certificate that a budget keeps, as whole numbers of a fixed public unit.

A budget (epsilon, delta) can be kept in several ways: by adding up epsilons and deltas, or by adding up Renyi
divergences of one order. Each is a *certificate*: a sum with a limit that alone makes whatever is admitted
(epsilon, delta_k)-private. `discreet.privacy.filters.AnyOf` admits a spend while at least one of them holds; the whole
is then (epsilon, sum of delta_k)-private. So a spend needs its cost by all of them.

Costs are rounded up to whole units and limits down, so that sums are exact, compare exactly, and fit into 64 bits. The
units are decimal: thirty questions at epsilon = 0.1 make 3, not a little more.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.exact.rational import as_text, read_json, require_kind
from discreet.privacy.convert import rdp_penalty
from discreet.privacy.currencies import ZCDP, Approximate, Budget, Currency, Pure, from_json
from discreet.privacy.curve import Curve
from discreet.privacy.enclosures import enclose
from discreet.privacy.orders import allowance_order
from discreet.privacy.relations import Relation, read_relation, require_same_relation

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "INFINITE",
    "Amount",
    "Certificates",
    "Cost",
    "Promising",
    "amount_from_json",
    "cost_of",
    "fitting",
    "holding",
    "lacking",
    "largest_fitting",
    "share_text",
    "total",
    "units_of",
    "used_of",
]

LOSS_UNITS = 10**12
"""Units of an epsilon, or of a divergence, in 1."""

DELTA_UNITS = 10**18
"""Units of a delta in 1."""

INFINITE = 2**62
"""What a spend costs by a certificate under which it has no finite cost; sums stay here, they never wrap."""

SUMS_SHARE = Fraction(1, 200)
"""The part of delta at which epsilons are read, where spends without a largest loss are added up by them."""

FAILURES_SHARE = Fraction(1, 20)
"""The part of delta that stated failures may use up, such as fifty searches for keys; the rest converts."""

STEPS = 200
"""A spend without a largest loss takes one of so many parts of the delta of sums."""

_FAR = 100
"""So many times a budget, and more, is told in words."""

NEAR_BEST = Fraction(98, 100)
"""Of the orders that give a budget nearly its largest rho, the least is taken: sampled noise prefers low orders."""


class Promising(Protocol):
    """Whatever says what it promises: a mechanism, a release."""

    @property
    def privacy(self) -> Curve:
        """The curve."""


@dataclass(frozen=True, slots=True, repr=False)
class Cost:
    """What something costs by each certificate of a budget: a loss (an epsilon or a divergence) and a delta, in units.

    It is made by `cost_of` (and, of a currency, by `units_of`) alone, and adds to costs by the same certificates, whose
    names it carries. Sums that would leave 64 bits stay at `INFINITE`: they never wrap.

    >>> from discreet import privacy as p
    >>> certificates = Certificates.of(p.Budget(epsilon=3, delta=1e-6))
    >>> question = cost_of(p.laplace(scale=10), certificates)
    >>> question.losses[0] == 10**11, (question * 30).losses[0] == 3 * 10**12
    (True, True)
    """

    losses: tuple[int, ...]
    deltas: tuple[int, ...]
    """The delta of each. Beside divergences it is the stated chance to fail, which sums of epsilons rest on as well:
    the first is then only what they use beyond it."""

    names: tuple[str, ...]
    """What each loss is: "epsilon", "renyi 8", "rho"."""

    neighbors: Relation

    def fields(self) -> dict[str, Fraction]:
        """Return the numbers by name, as those of a currency: of the first certificate, then of the others.

        The delta is what sums of epsilons say: with the failures, which stand by themselves as well.

        >>> from discreet import privacy as p
        >>> cost = cost_of(p.laplace(scale=10), Certificates.of(p.Budget(epsilon=3, delta=1e-6)))
        >>> {name: float(number) for name, number in cost.fields().items()}
        {'epsilon': 0.1, 'delta': 0.0, 'renyi 8': 0.035676773435, 'failures': 0.0}
        """
        numbers = {}
        for place, (name, loss, delta) in enumerate(zip(self.names, self.losses, self.deltas, strict=True)):
            numbers[name] = Fraction(loss, LOSS_UNITS)
            beside = "failures" if place == 1 else f"failures beside {name}"
            numbers[beside if place else "delta"] = Fraction(delta if place else self.delta, DELTA_UNITS)
        return numbers

    @property
    def delta(self) -> int:
        """What sums of epsilons use of delta, with the failures, in units."""
        return self.deltas[0] + max(self.deltas[1:], default=0)

    def _with(self, losses: Iterable[int], deltas: Iterable[int]) -> Cost:
        return replace(self, losses=tuple(losses), deltas=tuple(deltas))

    def __add__(self, other: Cost) -> Cost:
        self._require_like(other)
        return self._with(map(_sum, self.losses, other.losses), map(_sum, self.deltas, other.deltas))

    def __sub__(self, other: Cost) -> Cost:
        """What is left of this after the other, number by number, never below nothing."""
        self._require_like(other)
        left = [
            [max(whole - part, 0) for whole, part in zip(mine, its, strict=True)]
            for mine, its in ((self.losses, other.losses), (self.deltas, other.deltas))
        ]
        return self._with(*left)

    def least(self, other: Cost) -> Cost:
        """The smaller of each number."""
        self._require_like(other)
        return self._with(map(min, self.losses, other.losses), map(min, self.deltas, other.deltas))

    def __mul__(self, count: int) -> Cost:
        times = integer(count, name="count", least=0)
        return self._with(
            (min(times * loss, INFINITE) for loss in self.losses),
            (min(times * delta, INFINITE) for delta in self.deltas),
        )

    __rmul__ = __mul__

    def covers(self, other: Cost) -> bool:
        """Tell whether who paid this has paid at least the other cost, by every certificate.

        What was bought for this may be shown again to who would pay the other. A number in which the other is larger
        is a promise that was not paid for, however much larger the rest is.

        >>> from discreet import privacy as p
        >>> certificates = Certificates.of(p.Budget(epsilon=3, delta=1e-6))
        >>> much, little = (cost_of(p.laplace(scale=s), certificates) for s in (2, 10))
        >>> much.covers(little), little.covers(much), much.covers(much)
        (True, False, True)
        """
        self._require_like(other)
        return all(own >= its for own, its in zip(self._numbers, other._numbers, strict=True))

    @property
    def _numbers(self) -> tuple[int, ...]:
        return (*self.losses, *self.deltas)

    def _require_like(self, other: Cost) -> None:
        if not isinstance(other, Cost) or other.names != self.names:
            msg = f"{shown(other)} is no cost by the same certificates ({', '.join(self.names)}); make it with cost_of."
            raise ParameterError(msg)
        require_same_relation(self.neighbors, other.neighbors)

    def to_json(self) -> str:
        """Write the cost as JSON; `Cost.from_json` reads it.

        >>> from discreet import privacy as p
        >>> cost = cost_of(p.pure("0.5"), Certificates.of(p.Budget(epsilon=1)))
        >>> Cost.from_json(cost.to_json()) == cost
        True
        """
        kept = {"names": self.names, "losses": self.losses, "deltas": self.deltas}
        return json.dumps({**kept, "neighbors": self.neighbors.value})

    @staticmethod
    def from_json(text: str) -> Cost:
        """Read what `to_json` wrote."""
        record = read_json(text, "a cost")
        losses, deltas, names = (record.get(word) for word in ("losses", "deltas", "names"))
        if not _are_units(losses) or not _are_units(deltas) or not _are_names(names, len(losses), len(deltas)):
            msg = "this JSON is no cost; write an object with 'names', 'losses', 'deltas', 'neighbors' as to_json."
            raise ParameterError(msg)
        return Cost(tuple(losses), tuple(deltas), tuple(names), read_relation(str(record.get("neighbors"))))

    def __repr__(self) -> str:
        losses = (
            f"{name}={'∞' if loss >= INFINITE else as_text(Fraction(loss, LOSS_UNITS))}"
            for name, loss in zip(self.names, self.losses, strict=True)
        )
        delta = f", delta={as_text(Fraction(self.delta, DELTA_UNITS))}" if self.delta else ""
        return f"Cost({', '.join(losses)}{delta})"


@dataclass(frozen=True, slots=True)
class Certificates:
    """How a budget is kept: its limits by sums of epsilons and by divergences, fixed and public from the start.

    The first certificate adds epsilons and deltas (Rogers et al. 2016, arXiv:1605.08294). Each further one adds Renyi
    divergences of one order (Feldman & Zrnic 2021, arXiv:2008.11193, Theorem 3.1). Stated chances of failing are added
    apart from them, once for all: given that nothing fails, the rest has these epsilons and divergences. Proof:
    docs/proofs/privacy/any_of.md.

    >>> from discreet import privacy as p
    >>> certificates = Certificates.of(p.Budget(epsilon=3, delta=1e-6))
    >>> [str(order) for order in certificates.orders], certificates.shares
    (['8'], (Fraction(1, 200), Fraction(1, 20), Fraction(189, 200)))
    """

    budget: Budget
    orders: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]
    """Of delta: what sums may use up beyond failures; then for each order what failures may, and what converts it."""

    def __post_init__(self) -> None:
        """Refuse shares that promise more than the budget's delta."""
        require_kind(self.budget, Budget, "budget")
        if len(self.shares) != 1 + 2 * len(self.orders) or min(self.shares) < 0 or sum(self.shares) > 1:
            msg = (
                f"shares are {', '.join(map(as_text, self.shares))}; one is for sums and two are for each order, none "
                "below 0, and together they are at most 1: the deltas of all certificates add up."
            )
            raise ParameterError(msg)
        if any(order <= 1 for order in self.orders):
            msg = f"orders are {', '.join(map(as_text, self.orders))}; Renyi divergences need orders above 1."
            raise ParameterError(msg)

    @staticmethod
    def of(budget: Budget) -> Certificates:
        """Choose the certificates of a budget, by a public rule that knows nothing but the budget.

        Without a delta, sums of epsilons alone. With one, nearly all of it converts divergences of the least whole
        order that gives nearly the largest rho, where that leaves anything.
        """
        require_kind(budget, Budget, "budget")
        conversion = 1 - SUMS_SHARE - FAILURES_SHARE
        order = _order(budget.epsilon, budget.delta * conversion) if budget.delta and budget.epsilon else None
        if order is None:
            return Certificates(budget, (), (Fraction(1),))
        return Certificates(budget, (order,), (SUMS_SHARE, FAILURES_SHARE, conversion))

    @property
    def limits(self) -> Cost:
        """The most that each sum may reach, rounded down.

        >>> from discreet import privacy as p
        >>> [loss / 10**12 for loss in Certificates.of(p.Budget(epsilon=3, delta=1e-6)).limits.losses]
        [3.0, 1.448868625799]
        """
        budget, shares = self.budget, self.shares
        losses, deltas = [_floor(budget.epsilon, LOSS_UNITS)], [_floor(shares[0] * budget.delta, DELTA_UNITS)]
        for order, failures, conversion in zip(self.orders, shares[1::2], shares[2::2], strict=True):
            converting = budget.delta * conversion
            left = _allowed(budget.epsilon, order, converting) if converting else Fraction(0)
            losses.append(_floor(max(left, Fraction(0)), LOSS_UNITS))
            deltas.append(_floor(failures * budget.delta, DELTA_UNITS))
        return Cost(tuple(losses), tuple(deltas), self.names, budget.neighbors)

    @property
    def names(self) -> tuple[str, ...]:
        """What each certificate adds up.

        >>> from discreet import privacy as p
        >>> Certificates.of(p.Budget(epsilon=3, delta=1e-6)).names
        ('epsilon', 'renyi 8')
        """
        return ("epsilon", *(f"renyi {order}" for order in self.orders))

    def of_budget(self, budget: Budget) -> Certificates:
        """Keep another budget by the same certificates, in the same split: an edited one, or somebody's own.

        >>> from discreet import privacy as p
        >>> Certificates.of(p.Budget(epsilon=3, delta=1e-6)).of_budget(p.Budget(epsilon=9, delta=1e-6)).orders
        (Fraction(8, 1),)
        """
        return replace(self, budget=budget)

    def record(self) -> dict[str, Any]:
        """Return the certificates as a JSON object; `from_record` reads it.

        >>> from discreet import privacy as p
        >>> certificates = Certificates.of(p.Budget(epsilon=1, delta=1e-6))
        >>> Certificates.from_record(certificates.record()) == certificates
        True
        """
        return {
            "budget": json.loads(self.budget.to_json()),
            "orders": [str(order) for order in self.orders],
            "shares": [str(share) for share in self.shares],
        }

    @staticmethod
    def from_record(record: dict[str, Any]) -> Certificates:
        """Read what `record` wrote."""
        try:
            budget = Budget.from_json(json.dumps(record["budget"]))
            orders, shares = (tuple(map(Fraction, record[name])) for name in ("orders", "shares"))
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            if isinstance(error, ParameterError):
                raise
            msg = "this is no record of certificates; write 'budget', 'orders' and 'shares', as record does."
            raise ParameterError(msg) from None
        return Certificates(budget, orders, shares)


def cost_of(spend: Curve | Promising, certificates: Certificates) -> Cost:
    """Return what a curve, or whatever has one, costs by every certificate, rounded up.

    Stated failures (`approximate`, partition selection) are counted by their chance, and the rest by its own curve:
    with chance f everything is shown, else the rest holds. Sums take the largest loss of the rest where it has one, and
    else its epsilon at a fixed delta.

    >>> from discreet import privacy as p
    >>> certificates = Certificates.of(p.Budget(epsilon=3, delta=1e-6))
    >>> training = cost_of(p.gaussian(1).subsample("0.01") * 1000, certificates)
    >>> round(training.losses[1] / certificates.limits.losses[1], 3)
    0.617
    """
    curve = spend if isinstance(spend, Curve) else spend.privacy
    require_same_relation(certificates.budget.neighbors, curve.neighbors)
    failure, rest = curve.unfailing(exact=False)
    step = certificates.shares[0] * certificates.budget.delta / STEPS
    largest = rest.largest_loss()
    if largest is None and step:
        losses, deltas = [_loss(rest.epsilon(step))], [_ceil(step, DELTA_UNITS)]
    else:
        losses, deltas = [_loss(math.inf if largest is None else largest)], [0]
    if not certificates.orders:
        deltas[0] += _ceil(failure, DELTA_UNITS)
    for order in certificates.orders:
        losses.append(_loss(rest.rdp(order)))
        deltas.append(_ceil(failure, DELTA_UNITS))
    return Cost(tuple(losses), tuple(deltas), certificates.names, curve.neighbors)


Amount = Currency | Cost
"""What budgets are kept in: one currency, or costs by several certificates."""


def total(first: Amount, *others: Amount) -> Amount:
    """Add amounts of one kind.

    >>> total(Pure("0.1"), Pure("0.2"))
    Pure(epsilon=0.3)
    """
    return reduce(add, others, first)


@lru_cache(maxsize=1024)
def amount_from_json(text: str) -> Amount:
    """Read a currency or a cost that `to_json` wrote.

    >>> amount_from_json(Pure(1).to_json())
    Pure(epsilon=1)
    """
    return Cost.from_json(text) if '"losses"' in text else from_json(text)


@lru_cache(maxsize=1024)
def units_of(amount: Amount, *, down: bool = False) -> Cost:
    """Count an amount in units, rounded up, as costs are; limits are rounded down.

    >>> units_of(Pure("1/3")).losses, units_of(Pure("1/3"), down=True).losses
    ((333333333334,), (333333333333,))
    """
    if isinstance(amount, Cost):
        return amount
    name = "rho" if isinstance(amount, ZCDP) else "epsilon"
    if not isinstance(amount, Pure | Approximate | ZCDP):
        msg = f"{shown(amount)} is no amount that a budget is kept in; give a Pure, an Approximate or a ZCDP."
        raise ParameterError(msg)
    numbers = amount.fields()
    loss, delta = (cast("Fraction", numbers.get(word, Fraction(0))) for word in (name, "delta"))
    if down:
        return Cost((_floor(loss, LOSS_UNITS),), (_floor(delta, DELTA_UNITS),), (name,), amount.neighbors)
    return Cost((_loss(loss),), (_ceil(delta, DELTA_UNITS),), (name,), amount.neighbors)


def _by_certificate(first: Cost, second: Cost) -> list[list[tuple[int, int]]]:
    """Pair the numbers that each certificate rests on: its loss and its delta; and for sums of epsilons all deltas.

    Failures are stated beside divergences. Sums are of what is left when nothing fails, so failures count for them too.
    """
    losses = zip(first.losses, second.losses, strict=True)
    deltas = list(zip(first.deltas, second.deltas, strict=True))
    return [[loss, *(deltas[place : place + 1] if place else deltas)] for place, loss in enumerate(losses)]


def holding(limits: Cost, sums: Cost) -> list[bool]:
    """Which certificates hold: neither their loss nor a delta that they rest on is above its limit.

    >>> holding(units_of(Pure(1)), units_of(Pure(1))), holding(units_of(Pure(1)), units_of(Pure("1.1")))
    ([True], [False])
    """
    return [all(part <= most for part, most in numbers) for numbers in _by_certificate(sums, limits)]


def used_of(limits: Cost, sums: Cost) -> Fraction:
    """How much of a budget is used, by the certificate of which most is left; above 1 where a limit was lowered.

    >>> used_of(units_of(Pure(1)), units_of(Pure("0.25")))
    Fraction(1, 4)
    """
    return min(_shares(limits, sums))


def lacking(limits: Cost, sums: Cost, cost: Cost) -> tuple[Fraction, Fraction]:
    """What a cost that does not fit needs of a budget, and what is used: both by the certificate that lacks least.

    Parts by different certificates would not add up: half by one and half by another is no whole.

    >>> [float(part) for part in lacking(units_of(Pure(1)), units_of(Pure("0.75")), units_of(Pure("0.5")))]
    [0.5, 0.75]
    """
    needs, used, both = (_shares(limits, part, of_nothing=INFINITE) for part in (cost, sums, sums + cost))
    place = min(range(len(both)), key=lambda place: (not limits.losses[place], both[place]))
    return needs[place], used[place]


def share_text(part: Fraction) -> str:
    """Write a share of a budget in percent; one that is no share any more in words.

    >>> share_text(Fraction(2, 3)), share_text(Fraction(INFINITE))
    ('66.7 %', 'far more than all')
    """
    return f"{float(100 * part):.3g} %" if part < _FAR else "far more than all"


def largest_fitting(certificates: Certificates, sums: Cost) -> Fraction:
    """The largest epsilon that still fits at once, whatever is asked for it without a delta; a thousandth at most less.

    >>> certificates = Certificates.of(Budget(3, 1e-6))
    >>> str(largest_fitting(certificates, cost_of(Pure("0.5").curve(), certificates)))
    '5/2'
    """
    limits, budget, steps = certificates.limits, certificates.budget, 1000

    def fits(epsilon: Fraction) -> bool:
        cost = cost_of(Pure(epsilon, neighbors=budget.neighbors).curve(), certificates)
        return any(holding(limits, sums + cost))

    low, high = 0, steps + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(budget.epsilon * middle / steps) else (low, middle)
    left = Fraction(max(limits.losses[0] - sums.losses[0], 0), LOSS_UNITS)
    return max(left if fits(left) else Fraction(0), budget.epsilon * low / steps)


def _shares(limits: Cost, sums: Cost, *, of_nothing: int = 1) -> list[Fraction]:
    """How much of its limits each certificate uses: of its loss or of a delta that it rests on, whichever is more."""
    shares = []
    for numbers in _by_certificate(sums, limits):
        used = [Fraction(part, whole) if whole else Fraction(of_nothing) for part, whole in numbers if part or whole]
        shares.append(max(used, default=Fraction(1)))
    return shares


def fitting(limits: Cost, sums: Cost, cost: Cost) -> int:
    """Count how many more spends of a cost would fit, one after the other.

    >>> fitting(units_of(Pure(1)), units_of(Pure("0.1")), units_of(Pure("0.3")))
    3
    """
    most = 0
    numbers = zip(_by_certificate(limits, sums), _by_certificate(limits, cost), strict=True)
    for holds, (sides, parts) in zip(holding(limits, sums), numbers, strict=True):
        room = [(limit - spent, part) for (limit, spent), (_, part) in zip(sides, parts, strict=True)]
        if holds:
            most = max(most, min((left // part for left, part in room if part), default=INFINITE))
    return most


def _order(epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """Return the least whole order whose limit is nearly the largest rho; None where no whole order leaves anything."""
    best = allowance_order(epsilon, delta)
    largest = _allowed(epsilon, best, delta) / best
    if largest <= 0:
        return None
    low, high = 2, max(2, math.ceil(best))
    while low < high:  # what is left for each order rises up to the best one
        middle = (low + high) // 2
        if _allowed(epsilon, Fraction(middle), delta) / middle >= NEAR_BEST * largest:
            high = middle
        else:
            low = middle + 1
    return Fraction(low) if _allowed(epsilon, Fraction(low), delta) > 0 else None


def _allowed(epsilon: Fraction, order: Fraction, delta: Fraction) -> Fraction:
    """Return the divergence that converts to epsilon at delta, rounded down."""
    return (enclose(epsilon) - rdp_penalty(order, delta)).lower


def _sum(left: int, right: int) -> int:
    return min(left + right, INFINITE)


def _loss(value: float | Fraction) -> int:
    """Count an upper bound in units; floats are bounds as the binary numbers that they are."""
    return INFINITE if value == math.inf else min(_ceil(Fraction(value), LOSS_UNITS), INFINITE)


def _ceil(value: Fraction, units: int) -> int:
    return math.ceil(value * units)


def _floor(value: Fraction, units: int) -> int:
    return min(math.floor(value * units), INFINITE - 1)


def _are_names(names: object, *lengths: int) -> TypeGuard[list[str]]:
    return isinstance(names, list) and all(isinstance(name, str) for name in names) and {len(names)} == set(lengths)


def _are_units(values: object) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(type(value) is int and 0 <= value <= INFINITE for value in values)
