"""Prices that are looked for: the least that has a wanted ±, and the largest that a budget still pays for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, ParameterError
from discreet.exact import rational, shown
from discreet.exact.rational import as_text
from discreet.plans.refusals import refuse
from discreet.releases.noise.protection import Price, Protection
from discreet.releases.showing.preview import previewed

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.exact import Number
    from discreet.privacy.costs import Amount
    from discreet.releases.noise.recipe import Recipe

__all__ = ["largest_epsilon", "price_within"]

_DIGITS = 3
_HALVINGS = 24
_LARGEST = Fraction(10) ** 6


def price_within(
    recipe: Recipe, within: Number | Mapping[str, Number], *, delta: Number | None, confidence: float
) -> Price:
    """Return the least price, to three digits, at which each column is within a distance, with this probability.

    Where a budget adds divergences as well, it is the least epsilon or the least rho, whichever costs the smaller part
    of the whole budget: a rule that knows nothing of what was spent.

    `within` is one distance for all columns, or one by name for some. The search looks at public facts alone: columns
    whose ± depends on the data (means, variances, quantiles) are refused.

    >>> from discreet.plans import plan_sql
    >>> from discreet.releases.noise.recipe import Recipe
    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> recipe = Recipe.of(plan_sql(policy, "SELECT COUNT(*) AS n FROM people"))
    >>> float(price_within(recipe, 30, delta=None, confidence=0.95).epsilon)
    0.0982
    """
    policy = recipe.plan.policy
    prices = [_least(recipe, within, Price.read(policy, epsilon=1, delta=delta), confidence)]
    if policy.filter == "best" and recipe.plan.aggregate.known:
        prices.append(_least(recipe, within, Price.read(policy, rho=1, delta=delta), confidence))
    return min(prices, key=lambda price: Protection.of(recipe, price).part_of_budget)


def _least(recipe: Recipe, within: Number | Mapping[str, Number], free: Price, confidence: float) -> Price:
    """The least price of a kind, that of `free`, at which each column is within its distance."""
    wanted = _wanted(recipe, within)
    kind = "epsilon" if free.epsilon is not None else "rho"

    def enough(amount: Fraction) -> bool:
        protection = Protection.of(recipe, replace(free, **{kind: amount}))
        errors = {name: previewed(recipe, protection, name, confidence) for name in wanted}
        for name, (error, note) in errors.items():
            if error is None:
                refuse(
                    f"within for {name}",
                    why=f"Its ± depends on the data, which a price may not ({note or 'it is a key'}).",
                    instead="within={column: distance} for counts and sums, or epsilon=.",
                )
        return all((error or 0) <= wanted[name] for name, (error, _) in errors.items())

    high = Fraction(1)
    while not enough(high):
        high *= 2
        if high > _LARGEST:
            msg = f"within is {shown(within)}; no {kind} up to {_LARGEST} reaches it. Ask for a larger distance."
            raise ParameterError(msg)
    low = high
    while low > Fraction(1, 10**9) and enough(low):
        high, low = low, low / 2
    while high - low > high / 10 ** (_DIGITS + 1):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return replace(free, **{kind: _rounded_up(high)})


def _wanted(recipe: Recipe, within: Number | Mapping[str, Number]) -> dict[str, Fraction]:
    """Read one distance for all columns that are no keys, or one for each of some."""
    request = recipe.plan.request
    keys = {name for name, _ in request.keys}
    columns = [name for name, expression in request.outputs if getattr(expression, "name", None) not in keys]
    given = within if isinstance(within, Mapping) else dict.fromkeys(columns, within)
    distances = {name: rational(value, name=f"within for {name}") for name, value in given.items()}
    unknown = [name for name in distances if name not in dict(request.outputs)]
    if unknown or not distances:
        msg = f"within names {shown(unknown[0] if unknown else '')}; the columns are {', '.join(columns)}."
        raise ParameterError(msg)
    for name, value in distances.items():
        if value <= 0:
            msg = f"within for {name} is {shown(given[name])}; it must be above 0, as noise has no end."
            raise ParameterError(msg)
    return distances


def _rounded_up(epsilon: Fraction) -> Fraction:
    """Round up to three digits, so that the price can be read."""
    unit = Fraction(1)
    while epsilon * unit < 10 ** (_DIGITS - 1):
        unit *= 10
    while epsilon * unit >= 10**_DIGITS:
        unit /= 10
    return Fraction(-(-(epsilon * unit) // 1)) / unit


def largest_epsilon(recipe: Recipe, price: Price, fits: Callable[[Amount], bool]) -> str | None:
    """Give the largest price below the asked one whose cost fits, as it would be asked for; None if none does.

    It is found by halving, rounded to three digits, and tried once more as it is printed.

    >>> from discreet.plans import plan_sql
    >>> from discreet.privacy import Pure
    >>> from discreet.releases.noise.recipe import Recipe
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
    largest = next((amount for amount in _rounded(low) if works(amount)), None)
    return None if largest is None else f"{symbol} = {as_text(largest)}"


def _rounded(value: Fraction) -> tuple[Fraction, ...]:
    """Keep three digits, first toward more, then toward less: halving stops just below a round number."""
    if value <= 0:
        return ()
    unit = Fraction(10) ** (_DIGITS - 1)
    while value * unit < 10 ** (_DIGITS - 1):
        unit *= 10
    return Fraction(math.ceil(value * unit)) / unit, Fraction(math.floor(value * unit)) / unit
