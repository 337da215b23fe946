"""The only file where one currency becomes another; no conversion rounds down.

`convert(promise, to=...)` looks its theorem up in a table, so that the laws ("a converted promise is
never smaller") run over all of them. Costs are rounded up, allowances (the largest value that fits a
budget) are rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar, cast

from discreet.errors import ParameterError
from discreet.exact import Number, float_up, rational, shown
from discreet.exact.rational import as_text, read_delta, read_list, require_kind
from discreet.privacy.currencies import GDP, RDP, ZCDP, Approximate, Budget, Currency, Pure
from discreet.privacy.curve import Curve
from discreet.privacy.enclosures import enclose, exp, log, round_down, round_up
from discreet.privacy.groups import group_privacy
from discreet.privacy.orders import allowance_order, best_order
from discreet.privacy.relations import (
    NeighborRelation,
    Relation,
    group_size,
    require_relation,
    require_same_relation,
)

if TYPE_CHECKING:
    from discreet.exact import Interval

__all__ = [
    "DEFAULT_ORDERS",
    "conversions",
    "convert",
    "gdp_allowance",
    "rdp_allowance",
    "rdp_epsilon",
    "rdp_penalty",
    "to_relation",
    "zcdp_allowance",
]

DEFAULT_ORDERS: tuple[Fraction, ...] = (
    *(1 + Fraction(i, 10) for i in range(1, 100)),
    *(Fraction(i) for i in range(11, 65)),
    *(Fraction(2**i) for i in range(7, 13)),
)
"""Orders for a conversion to RDP when none are given: 1.1 to 4096."""

_HUGE = 1000  # beyond it exp(-epsilon) is below the smallest float and the limits of the formulas hold


@dataclass(frozen=True, slots=True)
class _Wish:
    """What the caller may add to a conversion."""

    delta: Fraction
    asked: tuple[Fraction, ...] | None

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """The orders asked for, or those that are used when none are."""
        return DEFAULT_ORDERS if self.asked is None else self.asked


_Rule = Callable[[Currency, _Wish], Currency]
_RULES: dict[tuple[type[Currency], type[Currency]], _Rule] = {}

Source = TypeVar("Source", bound=Currency)
Target = TypeVar("Target", bound=Currency)


def _rule(
    source: type[Source], target: type[Target]
) -> Callable[[Callable[[Source, _Wish], Target]], Callable[[Source, _Wish], Target]]:
    """Enter a theorem into the table."""

    def enter(function: Callable[[Source, _Wish], Target]) -> Callable[[Source, _Wish], Target]:
        _RULES[source, target] = cast("_Rule", function)
        return function

    return enter


def _kept(promise: Currency, _wish: _Wish) -> Currency:
    """Keep a promise as it is."""
    return promise


_RULES.update({(kind, kind): _kept for kind in (Pure, ZCDP, GDP)})


def conversions() -> list[tuple[type[Currency], type[Currency]]]:
    """List all pairs of currencies for which a theorem is known.

    >>> (Pure, ZCDP) in conversions()
    True
    """
    return sorted(_RULES, key=lambda pair: (pair[0].kind, pair[1].kind))


def convert(
    promise: Currency | Curve,
    *,
    to: type[Target],
    delta: Number = 0,
    orders: Sequence[Number] | None = None,
) -> Target:
    """Express a promise in another currency, never more favorably than it is.

    delta is the total delta of an Approximate result; orders are those of an RDP result.

    >>> convert(Pure(1), to=ZCDP)
    ZCDP(rho=0.4621171572600098)
    >>> float(convert(ZCDP(rho="0.5"), to=Approximate, delta=1e-6).epsilon)
    5.22153444453017
    """
    if not isinstance(to, type) or not issubclass(to, Currency):
        msg = f"to is {shown(to)}; it must be one of the currencies Pure, Approximate, ZCDP, GDP and RDP."
        raise ParameterError(msg)
    wish = _Wish(read_delta(delta), None if orders is None else _read_orders(orders))
    if isinstance(promise, Curve):
        return _from_curve(promise, to, wish)
    require_kind(promise, Currency, "promise")  # type: ignore[type-abstract]
    rule = _RULES.get((type(promise), to))
    if rule is None:
        raise ParameterError(_no_rule(promise, to))
    return cast("Target", rule(promise, wish))


def _read_orders(orders: Sequence[Number]) -> tuple[Fraction, ...]:
    """Read the orders of an RDP result: above 1 and rising."""
    read = tuple(rational(order, name="orders") for order in read_list(orders, "orders"))
    return RDP(read, [0] * len(read)).orders


def _from_curve(curve: Curve, to: type[Target], wish: _Wish) -> Target:
    """Ask a curve for the numbers of a currency; its answers are certified upper ends."""
    promise: Currency
    if to is Pure:
        promise = Pure(_finite(curve.epsilon(0), curve), neighbors=curve.neighbors)
    elif to is Approximate:
        epsilon = _finite(curve.epsilon(wish.delta), curve)
        promise = Approximate(epsilon, wish.delta, neighbors=curve.neighbors)
    elif to is ZCDP and curve.sampling_error:  # through (epsilon, delta): see discreet.privacy.sampling_error
        promise = _approximate_to_zcdp(_from_curve(curve, Approximate, wish), wish)
    elif to is ZCDP:
        promise = ZCDP(_finite(curve.zcdp(), curve), neighbors=curve.neighbors)
    elif to is RDP:
        values = [(order, curve.rdp(order)) for order in wish.orders]
        kept = [(order, _finite(value, curve)) for order, value in values if value < math.inf]
        if not kept:
            _finite(math.inf, curve)
        promise = RDP([o for o, _ in kept], [v for _, v in kept], neighbors=curve.neighbors)
    else:
        msg = f"a curve does not convert to {to.__name__}; it gives Pure, Approximate, ZCDP or RDP."
        raise ParameterError(msg)
    return cast("Target", promise)


def _finite(value: float, promise: Currency | Curve) -> Fraction:
    """Turn a certified upper end into an exact cost, or say that there is none."""
    if not math.isfinite(value):
        msg = (
            f"{promise!r} keeps no such promise for any finite number. "
            "Allow a delta: convert(..., to=Approximate, delta=1e-6)."
        )
        raise ParameterError(msg)
    return round_up(Fraction(value))


def _no_rule(promise: Currency, to: type[Currency]) -> str:
    """Say which conversions exist instead."""
    kinds = [target.__name__ for source, target in conversions() if source is type(promise)]
    return (
        f"{promise!r} does not convert to {to.__name__}: no theorem gives one. "
        f"From {type(promise).__name__} there is {', '.join(kinds) or 'no conversion'}; "
        "promise.curve() always exists."
    )


def _need_delta(promise: Currency, least: Fraction, delta: Fraction) -> None:
    """Refuse a conversion to (epsilon, delta) without room for its delta."""
    if delta <= least:
        msg = (
            f"delta is {as_text(delta)}; {promise!r} becomes (epsilon, delta)-private only for a "
            f"delta above {as_text(least)}. Write convert(..., to=Approximate, delta=1e-6)."
        )
        raise ParameterError(msg)


# ---------------------------------------------------------------- Pure


@_rule(Pure, Approximate)
def _pure_to_approximate(promise: Pure, wish: _Wish) -> Approximate:
    """Trade some delta for epsilon; see `_approximate_to_approximate`."""
    start = Approximate(promise.epsilon, 0, neighbors=promise.neighbors)
    return _approximate_to_approximate(start, wish)


@_rule(Pure, ZCDP)
def _pure_to_zcdp(promise: Pure, _wish: _Wish) -> ZCDP:
    """Use rho = epsilon * tanh(epsilon / 2), at most the well-known epsilon**2 / 2.

    Bun & Steinke 2016 (arXiv:1605.02065), Proposition 1.4 has epsilon**2 / 2. Sharper: the worst pair
    is randomized response (Kairouz, Oh & Viswanath 2015), whose divergence of order a is
    (log cosh((a - 1/2) e) - log cosh(e / 2)) / (a - 1). With u = (a - 1/2)**2 the function
    g(u) = log cosh(e sqrt(u)) is concave (g' = e tanh(e sqrt(u)) / (2 sqrt(u)) falls), hence
    g(u) - g(1/4) <= g'(1/4) (u - 1/4) = e tanh(e / 2) * a (a - 1). At a -> 1 it is attained.
    """
    return ZCDP(_pure_rho(promise.epsilon), neighbors=promise.neighbors)


def _pure_rho(epsilon: Fraction) -> Fraction:
    """Return epsilon * tanh(epsilon / 2), rounded up, with tanh(x / 2) = 1 - 2 / (exp(x) + 1)."""
    if epsilon > _HUGE:
        return epsilon
    tanh = enclose(1) - enclose(2) / (exp(epsilon) + enclose(1))
    square = epsilon**2 / 2
    return min(round_up(tanh.scaled(epsilon)), square, epsilon)


@_rule(Pure, RDP)
def _pure_to_rdp(promise: Pure, wish: _Wish) -> RDP:
    """Use the divergence of randomized response, the worst pair.

    D_a = e + (log(1 + exp(-(2a - 1) e)) - log(1 + exp(-e))) / (a - 1), the formula of
    `_pure_to_zcdp` rewritten; Mironov 2017 (arXiv:1702.07476), on randomized response.
    """
    values = [_response_divergence(promise.epsilon, order) for order in wish.orders]
    return RDP(wish.orders, values, neighbors=promise.neighbors)


def _response_divergence(epsilon: Fraction, order: Fraction) -> Fraction:
    """Return the Renyi divergence of randomized response, rounded up."""
    if epsilon > _HUGE:
        return epsilon
    one = enclose(1)
    far = (one + exp(-(2 * order - 1) * epsilon)).log()
    near = (one + exp(-epsilon)).log()
    gain = (far - near).scaled(1 / (order - 1))
    return min(round_up(enclose(epsilon) + gain), epsilon, order * epsilon**2 / 2)


@_rule(Pure, GDP)
def _pure_to_gdp(promise: Pure, _wish: _Wish) -> GDP:
    """Use mu = -2 * Phi^{-1}(1 / (1 + exp(epsilon))).

    Dong, Roth & Su 2022 (arXiv:1905.02383): the tradeoff curve of randomized response consists of
    two chords that meet at (c, c), c = 1 / (1 + e^epsilon). A Gaussian tradeoff curve is convex and
    runs through (0, 1), (1, 0) and, for this mu, through (c, c): it lies below the chords.

    log_ndtr and ndtri_exp of SciPy are trusted to 1e-11 relative; the tests compare with mpmath.
    """
    if promise.epsilon == 0:
        return GDP(0, neighbors=promise.neighbors)
    if promise.epsilon > _HUGE:
        msg = f"epsilon is {as_text(promise.epsilon)}; a conversion to GDP is of use up to {_HUGE} only."
        raise ParameterError(msg)
    from scipy.special import ndtri, ndtri_exp

    epsilon = float_up(promise.epsilon)
    if epsilon < 1:
        # 1 / (1 + e^x) = 1/2 - tanh(x/2) / 2 is off by at most 2**-53, and the inverse's slope there is at most 3.1
        mu = -2 * float(ndtri(0.5 - 0.5 * math.tanh(epsilon / 2))) + 1e-15
    else:
        mu = -2 * float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    return GDP(round_up(Fraction(mu) * (1 + Fraction(1, 10**11))), neighbors=promise.neighbors)


# ---------------------------------------------------------------- Approximate


@_rule(Approximate, Approximate)
def _approximate_to_approximate(promise: Approximate, wish: _Wish) -> Approximate:
    """Trade a larger delta for a smaller epsilon.

    The worst (e, d)-private pair tells everything with probability d and is randomized response
    otherwise (Kairouz, Oh & Viswanath 2015). It has
    delta(x) = d + (1 - d) (exp(e) - exp(x)) / (1 + exp(e)) for 0 <= x <= e; solved for x.
    """
    if wish.delta < promise.delta:
        msg = (
            f"delta is {as_text(wish.delta)}, below the promise's own {as_text(promise.delta)}; "
            "a promise cannot be improved. Ask for a delta at least as large."
        )
        raise ParameterError(msg)
    gain = (wish.delta - promise.delta) / (1 - promise.delta)
    if gain == 0 or promise.epsilon > _HUGE:
        return Approximate(promise.epsilon, wish.delta, neighbors=promise.neighbors)
    factor = exp(promise.epsilon)
    left = factor - (enclose(1) + factor).scaled(gain)
    small = left.upper <= 1
    epsilon = Fraction(0) if small else min(promise.epsilon, round_up(_log_of(left)))
    return Approximate(epsilon, wish.delta, neighbors=promise.neighbors)


def _log_of(value: Interval) -> Interval:
    """Enclose the logarithm of an interval's upper end."""
    return enclose(value.upper).log()


@_rule(Approximate, ZCDP)
def _approximate_to_zcdp(promise: Approximate, _wish: _Wish) -> ZCDP:
    """Outside an event of probability delta the pair is epsilon-private: approximate zCDP.

    Bun & Steinke 2016 (arXiv:1605.02065), on approximate zCDP, with rho as in `_pure_to_zcdp`.
    """
    rho = _pure_rho(promise.epsilon)
    return ZCDP(rho, promise.delta, neighbors=promise.neighbors)


# ---------------------------------------------------------------- ZCDP


@_rule(ZCDP, RDP)
def _zcdp_to_rdp(promise: ZCDP, wish: _Wish) -> RDP:
    """Read the definition: rho * a at order a (Bun & Steinke 2016, Definition 1.1)."""
    if promise.delta:
        msg = (
            f"{promise!r} has a delta and bounds no Renyi divergence; convert it to Approximate, "
            "or account for its delta apart."
        )
        raise ParameterError(msg)
    values = [promise.rho * order for order in wish.orders]
    return RDP(wish.orders, values, neighbors=promise.neighbors)


@_rule(ZCDP, Approximate)
def _zcdp_to_approximate(promise: ZCDP, wish: _Wish) -> Approximate:
    """Take the best order of the improved conversion; delta of approximate zCDP comes on top.

    Canonne, Kamath & Steinke 2020 (arXiv:2004.00010), Corollary 13, and Bun & Steinke 2016 on
    approximate zCDP: d-approximate zCDP that would be (e, d')-private inside its events is
    (e, d + (1 - d) d').
    """
    if promise.rho == 0 and wish.delta >= promise.delta:
        return Approximate(0, wish.delta, neighbors=promise.neighbors)
    _need_delta(promise, promise.delta, wish.delta)
    inner = (wish.delta - promise.delta) / (1 - promise.delta)
    order = best_order(promise.rho, inner)
    epsilon = rdp_epsilon(order, promise.rho * order, inner)
    return Approximate(epsilon, wish.delta, neighbors=promise.neighbors)


def rdp_penalty(order: Fraction, delta: Fraction) -> Interval:
    """Enclose what the improved conversion adds to a Renyi divergence.

    log((a - 1) / a) - (log(delta) + log(a)) / (a - 1): Canonne, Kamath & Steinke 2020
    (arXiv:2004.00010), Proposition 12; Asoodeh et al. 2021 (arXiv:2001.05990), Balle et al. 2020
    (arXiv:1905.09982), Theorem 21.

    >>> round(float(rdp_penalty(Fraction(10), Fraction(1, 10**5)).upper), 4)
    0.918
    """
    spread = (log(delta) + log(order)).scaled(1 / (order - 1))
    return log((order - 1) / order) - spread


def rdp_epsilon(order: Fraction, value: Fraction, delta: Fraction) -> Fraction:
    """Convert one Renyi divergence bound to epsilon at a delta above 0, rounded up.

    >>> float(rdp_epsilon(Fraction(10), Fraction(1, 10), Fraction(1, 10**5)))
    1.0180106367839719
    """
    return max(Fraction(0), round_up(enclose(value) + rdp_penalty(order, delta)))


# ---------------------------------------------------------------- RDP


@_rule(RDP, RDP)
def _rdp_to_rdp(promise: RDP, wish: _Wish) -> RDP:
    """Keep the promise, or restrict it to the orders asked for."""
    return promise if wish.asked is None else promise.restrict(wish.asked)


@_rule(RDP, Approximate)
def _rdp_to_approximate(promise: RDP, wish: _Wish) -> Approximate:
    """Take the best of the listed orders of the improved conversion (see `rdp_penalty`)."""
    _need_delta(promise, Fraction(0), wish.delta)
    pairs = list(zip(promise.orders, promise.values, strict=True))
    epsilon = min(rdp_epsilon(order, value, wish.delta) for order, value in pairs)
    return Approximate(epsilon, wish.delta, neighbors=promise.neighbors)


# ---------------------------------------------------------------- GDP


@_rule(GDP, ZCDP)
def _gdp_to_zcdp(promise: GDP, _wish: _Wish) -> ZCDP:
    """Use rho = mu**2 / 2: the divergences of N(0, 1) and N(mu, 1), and data processing.

    Dong, Roth & Su 2022 (arXiv:1905.02383), after Blackwell: a pair that is harder to tell apart is a
    post-processing of the easier one; and Bun & Steinke 2016, Lemma 2.4.
    """
    return ZCDP(promise.mu_squared / 2, neighbors=promise.neighbors)


@_rule(GDP, RDP)
def _gdp_to_rdp(promise: GDP, wish: _Wish) -> RDP:
    """Use mu**2 * a / 2 at order a, as for zCDP."""
    return _zcdp_to_rdp(ZCDP(promise.mu_squared / 2, neighbors=promise.neighbors), wish)


@_rule(GDP, Approximate)
def _gdp_to_approximate(promise: GDP, wish: _Wish) -> Approximate:
    """Use the Gaussian curve: Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022, on mu-GDP."""
    if promise.mu_squared == 0:
        return Approximate(0, wish.delta, neighbors=promise.neighbors)
    _need_delta(promise, Fraction(0), wish.delta)
    epsilon = _finite(promise.curve().epsilon(wish.delta), promise)
    return Approximate(epsilon, wish.delta, neighbors=promise.neighbors)


# ---------------------------------------------------------------- allowances


def zcdp_allowance(budget: Budget, *, share: Number = "1/2") -> ZCDP:
    """Return the largest zCDP promise that keeps within a budget, rounded down.

    A share of the budget's delta pays for the conversion, the rest may be spent as delta. For each
    order the improved conversion is linear in rho, so rho = (epsilon - penalty(a)) / a, at the best a.

    >>> spend = zcdp_allowance(Budget(epsilon=1, delta=1e-6))
    >>> float(spend.rho), float(spend.delta)
    (0.02293744668872218, 5e-07)
    """
    conversion, rest = require_kind(budget, Budget, "budget").split_delta(share)
    # (1 - rest) * d' <= conversion holds for d' = conversion, so nothing is lost but rest * conversion
    if conversion == 0:
        msg = (
            f"{budget!r} leaves no delta for the conversion of zCDP to (epsilon, delta). "
            "Give the budget a delta, or use a pure or approximate filter."
        )
        raise ParameterError(msg)
    order = allowance_order(budget.epsilon, conversion)
    left = enclose(budget.epsilon) - rdp_penalty(order, conversion)
    allowed = ZCDP(max(Fraction(0), round_down(left.scaled(1 / order))), rest, neighbors=budget.neighbors)
    # the way back picks its own order and rounds up; a last digit less makes it arrive at the budget itself
    while convert(allowed, to=Approximate, delta=budget.delta).epsilon > budget.epsilon:
        less = round_down(allowed.rho * (1 - Fraction(1, 2**50)))
        allowed = ZCDP(less, rest, neighbors=budget.neighbors)
    return allowed


def rdp_allowance(budget: Budget, order: Number) -> RDP:
    """Return the largest Renyi divergence at one order that keeps within a budget, rounded down.

    >>> float(rdp_allowance(Budget(epsilon=2, delta=1e-6), 10).values[0])
    0.8261465751055785
    """
    number = rational(order, name="order")
    if require_kind(budget, Budget, "budget").delta == 0 or number <= 1:
        msg = f"order is {shown(order)} and {budget!r}; an RDP allowance needs an order above 1 and a delta above 0."
        raise ParameterError(msg)
    left = round_down(enclose(budget.epsilon) - rdp_penalty(number, budget.delta))
    if left < 0:
        msg = (
            f"order is {shown(order)}; at this order the conversion alone costs more than {budget!r}. "
            "Choose a larger order."
        )
        raise ParameterError(msg)
    return RDP([number], [left], neighbors=budget.neighbors)


def gdp_allowance(budget: Budget) -> GDP:
    """Return the largest Gaussian promise that keeps within a budget, rounded down.

    >>> 0.2 < float(gdp_allowance(Budget(epsilon=1, delta=1e-6)).mu) < 0.3
    True
    """
    from discreet.privacy.calibration import gaussian_sigma

    require_kind(budget, Budget, "budget")
    sigma = gaussian_sigma(epsilon=budget.epsilon, delta=budget.delta)
    # what was certified is the decimal that the float prints as
    return GDP(round_down(1 / rational(sigma, name="sigma")), neighbors=budget.neighbors)


# ---------------------------------------------------------------- relations


def to_relation(promise: Source, neighbors: Relation) -> Source:
    """Express a promise for other neighbors, by group privacy.

    Changing one unit is removing one and adding one: two steps of add/remove, with the smaller
    dataset in between. A pair that differs in one position also differs by one exchange, so
    change_one covers change_one_ordered. The other directions do not exist: a promise about
    exchanges says nothing about datasets of different size, and one about positions says nothing
    about a change of order.

    >>> to_relation(Pure("0.1"), NeighborRelation.CHANGE_ONE)
    Pure(epsilon=0.2, neighbors=change_one)
    """
    require_kind(promise, Currency, "promise")  # type: ignore[type-abstract]
    grouped = group_privacy(promise, _steps(promise.neighbors, require_relation(neighbors)))
    build = cast("Callable[..., Source]", type(promise))
    return build(**grouped.fields(), neighbors=neighbors)


_STEPS = {
    (NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE): 2,
    (NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE_ORDERED): 2,
    (NeighborRelation.CHANGE_ONE, NeighborRelation.CHANGE_ONE_ORDERED): 1,
    **{(relation, relation): 1 for relation in NeighborRelation},
}


def _steps(known: Relation, wanted: Relation) -> int:
    """Count how many known steps lead from one wanted neighbor to the other."""
    source, target = known.relation, wanted.relation
    if known.unit is not wanted.unit:
        require_same_relation(known, wanted)
    if (source, target) not in _STEPS:
        msg = (
            f"a promise for {known.value} says nothing about {wanted.value} neighbors. "
            "Account for the mechanism under add_remove first; that covers the others."
        )
        raise ParameterError(msg)
    units = _STEPS[source, target] * group_size(wanted)
    return -(-units // group_size(known))
