"""What a budget would still pay for."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.privacy.readings import as_text
from discreet.releases.protection import Protection

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.currencies import Currency
    from discreet.releases.protection import Price
    from discreet.releases.recipe import Recipe

__all__ = ["largest_epsilon"]

_HALVINGS = 24
_DIGITS = 3


def largest_epsilon(recipe: Recipe, price: Price, fits: Callable[[Currency], bool]) -> str | None:
    """Give the largest price below the asked one whose cost fits, as it would be asked for; None if none does.

    It is found by halving, rounded to three digits, and tried once more as it is printed.

    >>> from discreet.plans import plan_sql
    >>> from discreet.privacy import Pure
    >>> from discreet.releases.protection import Price
    >>> from discreet.releases.recipe import Recipe
    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> recipe = Recipe.of(plan_sql(policy, "SELECT COUNT(*) FROM people"))
    >>> largest_epsilon(recipe, Price.read(policy, epsilon=2), lambda cost: cost.epsilon <= Pure("1/3").epsilon)
    'ε = 0.333'
    """
    name = "epsilon" if price.epsilon is not None else "rho"
    symbol = "ε" if name == "epsilon" else "ρ"
    asked = price.epsilon if price.epsilon is not None else price.rho or Fraction(0)

    def works(amount: Fraction) -> bool:
        if amount <= 0:
            return False
        wanted = replace(price, epsilon=amount) if name == "epsilon" else replace(price, rho=amount)
        try:
            return fits(Protection.of(recipe, wanted).cost)
        except DiscreetError:  # no noise is made for so little
            return False

    low, high = Fraction(0), asked
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if works(middle) else (low, middle)
    found = next((amount for amount in _rounded(low) if works(amount)), None)
    return None if found is None else f"{symbol} = {as_text(found)}"


def _rounded(value: Fraction) -> tuple[Fraction, ...]:
    """Keep three digits, first toward more, then toward less: halving stops just below a round number."""
    if value <= 0:
        return ()
    unit = Fraction(10) ** (_DIGITS - 1)
    while value * unit < 10 ** (_DIGITS - 1):
        unit *= 10
    return Fraction(math.ceil(value * unit)) / unit, Fraction(math.floor(value * unit)) / unit
