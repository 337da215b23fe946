"""How much may ever be spent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.privacy.currencies.approximate import Approximate
from discreet.privacy.currencies.pure import Pure
from discreet.privacy.readings import as_text, read_delta, read_json, read_nonnegative
from discreet.privacy.relations import NeighborRelation, Relation, require_relation, require_same_relation

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["Budget"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget:
    """A limit: what may be promised in total, as (epsilon, delta).

    A float is read as the decimal that it prints as, so 0.1 + 0.2 fits 0.3.

    >>> Budget(epsilon=0.3).admits(Pure(0.1) + Pure(0.2))
    True
    >>> Budget(epsilon=0.3, delta=1e-6).admits(Approximate(0.3, 2e-6))
    False
    """

    epsilon: Fraction
    delta: Fraction
    neighbors: Relation

    def __init__(
        self,
        epsilon: Number,
        delta: Number = 0,
        *,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        object.__setattr__(self, "epsilon", read_nonnegative(epsilon, "epsilon"))
        object.__setattr__(self, "delta", read_delta(delta))
        object.__setattr__(self, "neighbors", require_relation(neighbors))

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
        record = json.loads(Approximate(self.epsilon, self.delta, neighbors=self.neighbors).to_json())
        return json.dumps({"limit": record.pop("currency"), **record})

    @staticmethod
    def from_json(text: str) -> Budget:
        """Read what `.to_json()` wrote, unchanged.

        >>> Budget.from_json(Budget(epsilon=1, delta=1e-6).to_json())
        Budget(epsilon=1, delta=1e-06)
        """
        from discreet.privacy.currencies.currency import from_json

        record = read_json(text, "a budget")
        limit = record.pop("limit", None)
        read = from_json(json.dumps({"currency": limit, **record})) if "currency" not in record else None
        if not isinstance(read, Approximate):
            msg = "this JSON is no budget; write an object with 'limit': 'approximate', as Budget.to_json does."
            raise ParameterError(msg)
        return Budget(read.epsilon, read.delta, neighbors=read.neighbors)

    def __repr__(self) -> str:
        delta = f", delta={as_text(self.delta)}" if self.delta else ""
        plain = self.neighbors is NeighborRelation.ADD_REMOVE
        relation = "" if plain else f", neighbors={self.neighbors.value}"
        return f"Budget(epsilon={as_text(self.epsilon)}{delta}{relation})"
