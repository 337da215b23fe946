"""Promises as exact values that add only with their own kind, and the budget that limits them.

>>> from discreet.privacy.currencies import Pure
>>> Pure(0.1) + Pure(0.2)
Pure(epsilon=0.3)
"""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, Self, cast

from discreet.errors import ParameterError
from discreet.exact import Number, counted, exact_text, integer, rational, shown, sqrt_lower, sqrt_upper
from discreet.exact.rational import as_text, read_delta, read_json, read_list, read_nonnegative
from discreet.privacy.enclosures import shortened
from discreet.privacy.relations import (
    NeighborRelation,
    Relation,
    read_relation,
    require_relation,
    require_same_relation,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.privacy.curve import Curve

    Numbers = dict[str, Fraction | tuple[Fraction, ...]]

__all__ = ["GDP", "RDP", "ZCDP", "Approximate", "Budget", "Currency", "Pure", "from_json"]


class _Exact:
    """Exact numbers and a neighbor relation: how promises and budgets are kept and printed."""

    __slots__ = ()

    neighbors: Relation

    def _keep(self, neighbors: Relation, **numbers: Fraction | tuple[Fraction, ...]) -> None:
        for name, number in numbers.items():
            object.__setattr__(self, name, number)
        object.__setattr__(self, "neighbors", require_relation(neighbors))

    def fields(self) -> Numbers:
        """Return the numbers that make the value, by argument name.

        >>> Pure(0.1).fields()
        {'epsilon': Fraction(1, 10)}
        """
        names = (item.name for item in fields(self))  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names if name != "neighbors"}

    def _record(self) -> dict[str, object]:
        """Return numbers and relation for JSON; numbers are texts such as "1/3", so nothing is rounded."""
        numbers = {
            name: exact_text(value) if isinstance(value, Fraction) else [exact_text(part) for part in value]
            for name, value in self.fields().items()
        }
        return {**numbers, "neighbors": self.neighbors.value}

    def __repr__(self) -> str:
        parts = [
            f"{name}={as_text(value)}"
            if isinstance(value, Fraction)
            else f"{name}=({', '.join(map(as_text, value))}{',' if len(value) == 1 else ''})"
            for name, value in self.fields().items()
            if name != "delta" or value
        ]
        if self.neighbors is not NeighborRelation.ADD_REMOVE:
            parts.append(f"neighbors={self.neighbors.value}")
        return f"{type(self).__name__}({', '.join(parts)})"


class Currency(_Exact, ABC):
    """A privacy promise as one exact value, tagged with its neighbor relation.

    Currencies add only with their own kind and their own relation; everything else is a
    conversion, and conversions live in `discreet.privacy.convert` alone.

    >>> isinstance(Pure("0.1"), Currency)
    True
    """

    __slots__ = ()

    kind: ClassVar[str]
    kinds: ClassVar[dict[str, Callable[..., Currency]]] = {}

    def __init_subclass__(cls) -> None:
        """Register the kind, so that JSON finds its class."""
        Currency.kinds[cls.kind] = cls

    @abstractmethod
    def curve(self) -> Curve:
        """Return the worst curve that keeps this promise."""

    def _summed(self, *shares: Numbers) -> Self:
        """Return the promise of several together: every number adds up, and deltas stay below 1."""
        total = {name: sum((cast("Fraction", share[name]) for share in shares), Fraction(0)) for name in shares[0]}
        if total.get("delta", 0) >= 1:
            msg = (
                f"the deltas sum to {float(min(total['delta'], Fraction(10**9))):.3g}; from 1 on nothing is "
                "promised. Use smaller deltas, or add the curves, which lose less."
            )
            raise ParameterError(msg)
        build = cast("Callable[..., Self]", type(self))
        return build(**total, neighbors=self.neighbors)

    def _plus(self, other: Self) -> Self:
        """Add a promise of the same kind and relation."""
        return self._summed(self.fields(), other.fields())

    def _times(self, count: int) -> Self:
        """Return the promise of `count` compositions with itself."""
        return self._summed({name: count * cast("Fraction", value) for name, value in self.fields().items()})

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise ParameterError(_cannot_add(self, other))
        require_same_relation(self.neighbors, other.neighbors)
        return self._plus(other)

    def __radd__(self, other: object) -> Self:
        raise ParameterError(_cannot_add(self, other))

    def __mul__(self, count: int) -> Self:
        return self._times(integer(count, name="count", least=0))

    __rmul__ = __mul__

    def to_json(self) -> str:
        """Write the value as JSON text; numbers are texts such as "1/3", so nothing is rounded.

        >>> Pure("1/3").to_json()
        '{"currency": "pure", "epsilon": "1/3", "neighbors": "add_remove"}'
        """
        return json.dumps({"currency": self.kind, **self._record()})


def from_json(text: str) -> Currency:
    """Read what `.to_json()` wrote, unchanged.

    >>> from_json(ZCDP(rho="1/50").to_json()) == ZCDP(rho="0.02")
    True
    """
    record = read_json(text, "a promise")
    kind, neighbors = record.pop("currency", None), record.pop("neighbors", None)
    if not isinstance(kind, str) or kind not in Currency.kinds or neighbors is None:
        known = ", ".join(sorted(Currency.kinds))
        msg = (
            f"this JSON is no promise; write an object with 'currency' (one of {known}), its numbers as text, and "
            "'neighbors'."
        )
        raise ParameterError(msg)
    try:
        return Currency.kinds[kind](**record, neighbors=read_relation(cast("str", neighbors)))
    except TypeError:  # a number is missing, or there is one that such a promise does not have
        msg = f"this JSON is no {kind} promise; its numbers are {', '.join(sorted(map(shown, record)))}."
        raise ParameterError(msg) from None


def _cannot_add(left: Currency, right: object) -> str:
    """Say why two values do not add and what to write instead."""
    if isinstance(right, Currency):
        return (
            f"{left!r} and {right!r} are different currencies and do not add. Convert one of them: "
            f"convert({right!r}, to={type(left).__name__}) from discreet.privacy.convert, "
            "or add their curves: left.curve() + right.curve()."
        )
    return (
        f"{shown(right)} of type {type(right).__name__} does not add to {left!r}. "
        f"Write it as a promise of the same kind, {type(left).__name__}(...)."
    )


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Pure(Currency):
    """Every event's probability changes by at most a factor exp(epsilon) between neighbors.

    Dwork, McSherry, Nissim & Smith 2006 (doi:10.1007/11681878_14), Definition 1. Sums are exact.

    >>> Pure(0.1) + Pure(0.2) == Pure(0.3)
    True
    >>> Pure("1/3") * 3
    Pure(epsilon=1)
    """

    kind: ClassVar[str] = "pure"

    epsilon: Fraction
    neighbors: Relation

    def __init__(self, epsilon: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> None:
        self._keep(neighbors, epsilon=read_nonnegative(epsilon, "epsilon"))

    def curve(self) -> Curve:
        """Return the worst curve that keeps this promise: randomized response.

        Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776).
        """
        from discreet.privacy.curves import pure

        return pure(shortened(self.epsilon), neighbors=self.neighbors)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class _EpsilonDelta(_Exact):
    """An epsilon and a delta."""

    epsilon: Fraction
    delta: Fraction
    neighbors: Relation

    def __init__(
        self, epsilon: Number, delta: Number = 0, *, neighbors: Relation = NeighborRelation.ADD_REMOVE
    ) -> None:
        self._keep(neighbors, epsilon=read_nonnegative(epsilon, "epsilon"), delta=read_delta(delta))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Approximate(_EpsilonDelta, Currency):
    """Every event's probability is at most exp(epsilon) times its neighbor's, plus delta.

    Dwork, Kenthapadi, McSherry, Mironov & Naor 2006 (doi:10.1007/11761679_29). The sum is
    basic composition (Dwork & Roth 2014, Theorem 3.16): both numbers add, exactly.

    >>> Approximate(0.1, 1e-8) + Approximate(0.2, 1e-8)
    Approximate(epsilon=0.3, delta=2e-08)
    """

    kind: ClassVar[str] = "approximate"

    def curve(self) -> Curve:
        """Return the worst curve that keeps this promise.

        Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776): with probability delta everything is told,
        otherwise randomized response.
        """
        from discreet.privacy.curves import approximate

        return approximate(shortened(self.epsilon), shortened(self.delta), neighbors=self.neighbors)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget(_EpsilonDelta):
    """A limit: what may be promised in total, as (epsilon, delta).

    A float is read as the decimal that it prints as, so 0.1 + 0.2 fits 0.3.

    >>> Budget(epsilon=0.3).admits(Pure(0.1) + Pure(0.2))
    True
    >>> Budget(epsilon=0.3, delta=1e-6).admits(Approximate(0.3, 2e-6))
    False
    """

    def admits(self, cost: Pure | Approximate) -> bool:
        """Tell whether a total cost stays within the limit, exactly.

        >>> Budget(epsilon=1).admits(Pure(1))
        True
        """
        if not isinstance(cost, (Pure, Approximate)):
            msg = (
                f"a budget of (epsilon, delta) cannot weigh {shown(cost)}; convert it first: "
                "convert(cost, to=Approximate, delta=...) from discreet.privacy.convert."
            )
            raise ParameterError(msg)
        require_same_relation(self.neighbors, cost.neighbors)
        delta = cost.delta if isinstance(cost, Approximate) else Fraction(0)
        return cost.epsilon <= self.epsilon and delta <= self.delta

    def split_delta(self, share: Number = "1/2") -> tuple[Fraction, Fraction]:
        """Divide delta: a share for the conversion of zCDP, the rest to spend.

        >>> Budget(epsilon=1, delta=1e-6).split_delta()
        (Fraction(1, 2000000), Fraction(1, 2000000))
        """
        part = read_nonnegative(share, "share")
        if part > 1:
            msg = f"share is {shown(share)}; it must be at most 1."
            raise ParameterError(msg)
        return self.delta * part, self.delta * (1 - part)

    def to_json(self) -> str:
        """Write the value as JSON text, without rounding.

        >>> Budget.from_json(Budget(epsilon="1/3").to_json()) == Budget(epsilon="1/3")
        True
        """
        return json.dumps({"limit": Approximate.kind, **self._record()})

    @staticmethod
    def from_json(text: str) -> Budget:
        """Read what `.to_json()` wrote, unchanged.

        >>> Budget.from_json(Budget(epsilon=1, delta=1e-6).to_json())
        Budget(epsilon=1, delta=1e-06)
        """
        record = read_json(text, "a budget")
        limit = record.pop("limit", None)
        read = from_json(json.dumps({"currency": limit, **record})) if "currency" not in record else None
        if not isinstance(read, Approximate):
            msg = "this JSON is no budget; write an object with 'limit': 'approximate', as Budget.to_json does."
            raise ParameterError(msg)
        return Budget(read.epsilon, read.delta, neighbors=read.neighbors)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP(Currency):
    """For every order a > 1 the Renyi divergence between neighbors is at most rho * a.

    Bun & Steinke 2016 (arXiv:1605.02065), Definition 1.1; with delta > 0 this holds outside events
    of probability delta on either side (their approximate zCDP). Rhos add (their Lemma 1.7), deltas
    add (their composition of approximate zCDP), exactly.

    >>> ZCDP(rho="0.02") + ZCDP(rho="0.03", delta=1e-9)
    ZCDP(rho=0.05, delta=1e-09)
    """

    kind: ClassVar[str] = "zcdp"

    rho: Fraction
    delta: Fraction
    neighbors: Relation

    def __init__(self, rho: Number, delta: Number = 0, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> None:
        self._keep(neighbors, rho=read_nonnegative(rho, "rho"), delta=read_delta(delta))

    def curve(self) -> Curve:
        """Return a curve that no mechanism with this promise exceeds."""
        from discreet.privacy.curves import zcdp

        return zcdp(shortened(self.rho), delta=shortened(self.delta), neighbors=self.neighbors)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class GDP(Currency):
    """Telling neighbors apart is at least as hard as telling N(0, 1) from N(mu, 1) by one draw.

    Mu-GDP of Dong, Roth & Su 2022 (numbers as in arXiv:1905.02383). Composition adds the squares (their
    Corollary 3.3), so the square is what is stored and the sum is exact.

    >>> GDP(0.3) + GDP(0.4)
    GDP(mu=0.5)
    >>> GDP(mu_squared=2)
    GDP(mu_squared=2)
    """

    kind: ClassVar[str] = "gdp"

    mu_squared: Fraction
    neighbors: Relation

    def __init__(
        self,
        mu: Number | None = None,
        *,
        mu_squared: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        if (mu is None) == (mu_squared is None):
            msg = "GDP takes exactly one of mu and mu_squared, such as GDP(mu=1) or GDP(mu_squared=2)."
            raise ParameterError(msg)
        if mu is not None:
            square = read_nonnegative(mu, "mu") ** 2
        else:
            square = read_nonnegative(mu_squared if mu_squared is not None else 0, "mu_squared")
        self._keep(neighbors, mu_squared=square)

    @property
    def mu(self) -> Fraction:
        """The parameter: exact where the square has a rational root, else rounded up to a float.

        >>> GDP(mu_squared="9/4").mu
        Fraction(3, 2)
        """
        root = _rational_root(self.mu_squared)
        return sqrt_upper(self.mu_squared) if root is None else root

    def curve(self) -> Curve:
        """Return the curve of the Gaussian mechanism with sigma = 1/mu, rounded toward less noise.

        Dong, Roth & Su 2022 (arXiv:1905.02383), Theorem 2.7.
        """
        from discreet.privacy.curves import gaussian, pure

        if self.mu_squared == 0:
            return pure(0, neighbors=self.neighbors)
        square = shortened(self.mu_squared)
        root = _rational_root(square)
        sigma = sqrt_lower(1 / square) if root is None else 1 / root
        return gaussian(sigma, neighbors=self.neighbors)

    def fields(self) -> Numbers:
        """Return mu where it is rational, else its square."""
        root = _rational_root(self.mu_squared)
        return {"mu_squared": self.mu_squared} if root is None else {"mu": root}

    def _plus(self, other: Self) -> Self:
        return self._summed({"mu_squared": self.mu_squared}, {"mu_squared": other.mu_squared})

    def _times(self, count: int) -> Self:
        return self._summed({"mu_squared": count * self.mu_squared})


def _rational_root(square: Fraction) -> Fraction | None:
    """Return the square root if it is rational."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root * root == square else None


@dataclass(frozen=True, slots=True, init=False, repr=False)
class RDP(Currency):
    """At each listed order the Renyi divergence between neighbors is at most the listed value.

    Mironov 2017 (arXiv:1702.07476), Definition 4. Values add order by order (his Proposition 1),
    exactly. Orders are above 1, rising; an order at which a mechanism has no finite value is left
    out.

    >>> RDP((2, 4), (0.1, 0.2)) + RDP((2, 4), (0.3, 0.5))
    RDP(orders=(2, 4), values=(0.4, 0.7))
    """

    kind: ClassVar[str] = "rdp"

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    neighbors: Relation

    def __init__(
        self, orders: Sequence[Number], values: Sequence[Number], *, neighbors: Relation = NeighborRelation.ADD_REMOVE
    ) -> None:
        numbers = tuple(rational(order, name="orders") for order in read_list(orders, "orders"))
        bounds = tuple(read_nonnegative(value, "values") for value in read_list(values, "values"))
        if not numbers or len(numbers) != len(bounds):
            msg = (
                f"RDP got {counted(len(numbers), 'order')} and {counted(len(bounds), 'value')}; it needs as many "
                "values as orders, at least one."
            )
            raise ParameterError(msg)
        if numbers[0] <= 1 or any(a >= b for a, b in itertools.pairwise(numbers)):
            msg = (
                f"orders are {', '.join(map(as_text, numbers))}; they must be above 1 and rising. "
                "Order 1 is a mean, not a bound; order infinity is Pure(epsilon)."
            )
            raise ParameterError(msg)
        self._keep(neighbors, orders=numbers, values=bounds)

    def at(self, order: Number) -> Fraction:
        """Return the value at an order; at one in between, by the monotony of the divergence.

        The divergence never falls as the order rises (van Erven & Harremoes 2014, arXiv:1206.2459,
        Theorem 3), so the next listed order above gives a bound.

        >>> RDP((2, 4), (0.1, 0.2)).at(3)
        Fraction(1, 5)
        """
        asked = rational(order, name="order")
        above = [v for o, v in zip(self.orders, self.values, strict=True) if o >= asked]
        if asked <= 1 or not above:
            msg = f"order is {shown(order)}; this promise covers orders above 1 up to {as_text(self.orders[-1])}."
            raise ParameterError(msg)
        return above[0]

    def restrict(self, orders: Sequence[Number]) -> RDP:
        """Return the same promise at other orders within the listed ones.

        >>> RDP((2, 4), (0.1, 0.2)).restrict([4])
        RDP(orders=(4,), values=(0.2,))
        """
        return RDP(orders, [self.at(order) for order in read_list(orders, "orders")], neighbors=self.neighbors)

    def curve(self) -> Curve:
        """Return a curve that no mechanism with this promise exceeds."""
        from discreet.privacy.curves import rdp

        values = [shortened(value) for value in self.values]
        return rdp(self.orders, values, neighbors=self.neighbors)

    def _plus(self, other: Self) -> Self:
        if self.orders != other.orders:
            msg = (
                "two RDP promises add at the same orders only; bring both to common orders with .restrict([...]) first."
            )
            raise ParameterError(msg)
        total = [a + b for a, b in zip(self.values, other.values, strict=True)]
        return type(self)(self.orders, total, neighbors=self.neighbors)

    def _times(self, count: int) -> Self:
        total = [count * value for value in self.values]
        return type(self)(self.orders, total, neighbors=self.neighbors)
