"""What a question is asked with: what it may cost, and how often its ± must hold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.mechanisms.additive import miss

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.tables import Policy

__all__ = ["Price", "confident"]

_LARGEST = 10**15


@dataclass(frozen=True, slots=True)
class Price:
    """What a whole question may cost: epsilon with a delta that may be used, or rho.

    With `narrow`, that part of it first buys bounds: the quantiles `cut` and 1 - `cut` of everything that is summed.

    >>> from discreet.tables import Policy
    >>> price = Price.read(Policy([], epsilon=3, delta=1e-6), epsilon=1)
    >>> price.epsilon, price.rho, price.delta
    (Fraction(1, 1), None, Fraction(1, 1000000000))
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    narrow: Fraction | None = None
    cut: Fraction = Fraction(1, 20)

    @staticmethod
    def read(
        policy: Policy, *, epsilon: Number | None = None, rho: Number | None = None, delta: Number | None = None
    ) -> Price:
        """Check a price against the policy's filter; delta is the policy's `release_delta` unless it is given."""
        if (epsilon is None) == (rho is None):
            msg = "give exactly one of epsilon and rho: the price of the whole question."
            raise ParameterError(msg)
        name, given = ("epsilon", epsilon) if epsilon is not None else ("rho", rho)
        amount = rational(given if given is not None else 0, name=name)
        if amount <= 0:
            msg = f"{name} is {shown(given)}; it must be above 0: no finite noise reaches it."
            raise ParameterError(msg)
        if amount > _LARGEST:
            msg = f"{name} is {shown(given)}; it must be at most 10**15: beyond, it promises nothing."
            raise ParameterError(msg)
        if name == "rho" and policy.filter != "zcdp":
            msg = (
                f"rho is {shown(rho)}, but the budget is kept in the currency {policy.filter!r}. Give epsilon instead."
            )
            raise ParameterError(msg)
        chance = policy.release_delta if delta is None else rational(delta, name="delta")
        if not 0 <= chance < 1:
            msg = f"delta is {shown(delta)}; it must be at least 0 and below 1."
            raise ParameterError(msg)
        if policy.filter == "pure" and chance:
            msg = f"delta is {shown(delta)}, but the budget is pure: it has no delta to spend. Leave delta out."
            raise ParameterError(msg)
        return Price(amount, None, chance) if name == "epsilon" else Price(None, amount, chance)

    def part(self, share: Fraction, delta: Fraction) -> Price:
        """A share of the price, with its own delta."""
        return Price(
            None if self.epsilon is None else self.epsilon * share,
            None if self.rho is None else self.rho * share,
            delta,
        )


def confident(confidence: float) -> float:
    """Read the probability with which a ± holds, or refuse it.

    >>> confident("0.95")
    0.95
    """
    return float(1 - miss(confidence))
