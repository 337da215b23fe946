"""Group privacy: what a promise to one unit is worth to several at once."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar, cast

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.exact.rational import as_text, require_kind
from discreet.privacy.currencies import GDP, RDP, ZCDP, Approximate, Currency, Pure
from discreet.privacy.enclosures import chain, round_up

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["group_privacy"]

_MOST = 10**60

Promise = TypeVar("Promise", bound=Currency)


def group_privacy(promise: Promise, size: int) -> Promise:
    """Return what the promise says about datasets that differ in up to `size` units.

    >>> group_privacy(Pure("0.1"), 3)
    Pure(epsilon=0.3, neighbors=add_remove*3)
    >>> group_privacy(ZCDP("0.02"), 3)
    ZCDP(rho=0.18, neighbors=add_remove*3)
    """
    count = integer(size, name="size", least=1, most=_MOST)
    require_kind(promise, Currency, "promise")  # type: ignore[type-abstract]
    if count == 1:
        return promise
    return cast("Promise", _RULES[type(promise)](promise, count))


def _pure(promise: Pure, size: int) -> Pure:
    """K * epsilon: Dwork & Roth 2014 (doi:10.1561/0400000042), Theorem 2.2."""
    return Pure(size * promise.epsilon, neighbors=promise.neighbors.group(size))


def _approximate(promise: Approximate, size: int) -> Approximate:
    """(k * epsilon, delta * (1 + e^epsilon + ... + e^((k-1) epsilon))).

    Vadhan 2017 (doi:10.1007/978-3-319-57048-8_7), group privacy, by induction:
    P0(S) <= e^eps P1(S) + d <= e^eps (e^((k-1) eps) Pk(S) + d_(k-1)) + d. The sum is at most the
    well-known k * e^((k-1) epsilon) * delta.
    """
    epsilon = promise.epsilon
    if promise.delta == 0:
        return Approximate(size * epsilon, 0, neighbors=promise.neighbors.group(size))
    if size * epsilon > 1000:
        raise ParameterError(_EMPTY)
    delta = size * promise.delta if epsilon == 0 else round_up(chain(epsilon, size).scaled(promise.delta))
    if delta >= 1:
        raise ParameterError(_EMPTY)
    return Approximate(size * epsilon, delta, neighbors=promise.neighbors.group(size))


_EMPTY = (
    "for a group of this size delta reaches 1, so nothing is promised. Use a smaller delta or a "
    "smaller group; curves lose less: promise.curve().group(size)."
)


def _zcdp(promise: ZCDP, size: int) -> ZCDP:
    """k**2 * rho: Bun & Steinke 2016 (arXiv:1605.02065), group privacy."""
    if promise.delta:
        msg = (
            f"{promise!r} has a delta, and no theorem gives group privacy for approximate zCDP "
            "here. Convert to Approximate first."
        )
        raise ParameterError(msg)
    return ZCDP(size**2 * promise.rho, neighbors=promise.neighbors.group(size))


def _gdp(promise: GDP, size: int) -> GDP:
    """K * mu: Dong, Roth & Su 2022 (arXiv:1905.02383), group privacy."""
    return GDP(mu_squared=size**2 * promise.mu_squared, neighbors=promise.neighbors.group(size))


def _rdp(promise: RDP, size: int) -> RDP:
    """Order a / 2**c and value 3**c * v for groups of up to 2**c, where a >= 2**(c + 1).

    Mironov 2017 (arXiv:1702.07476), Proposition 2. Lower orders are lost.
    """
    doublings = (size - 1).bit_length()
    kept = [
        (order / 2**doublings, 3**doublings * value)
        for order, value in zip(promise.orders, promise.values, strict=True)
        if order >= Fraction(2 ** (doublings + 1))
    ]
    if not kept:
        msg = (
            f"size is {shown(size)}; group privacy of RDP needs orders of at least {shown(2 ** (doublings + 1))}, "
            f"and this promise ends at {as_text(promise.orders[-1])}."
        )
        raise ParameterError(msg)
    orders, values = zip(*kept, strict=True)
    return RDP(orders, values, neighbors=promise.neighbors.group(size))


_RULES: dict[type[Currency], Callable[..., Currency]] = {
    Pure: _pure,
    Approximate: _approximate,
    ZCDP: _zcdp,
    GDP: _gdp,
    RDP: _rdp,
}
