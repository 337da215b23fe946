"""Answers that a ledger keeps: written as JSON, read back for the same question, combined with a later one."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.exact import exact_text, rational
from discreet.mechanisms.adding.combinations import NoisyNumbers
from discreet.releases.noise.protection import Price, Protection
from discreet.releases.noise.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.plans import Plan
    from discreet.tables import Value

__all__ = ["Stored", "arranged", "merged", "needed", "read_stored", "write_stored"]

_FORM = 1
_FITS = 2**62


class Stored:
    """A stored release: the recipe and the noise that it was made with, its groups and noisy numbers.

    The noise is not stored but follows from the recipe and the price, both public; a fingerprint of the two tells
    whether this version of the package would make them alike. If not, the numbers cannot be read any more.

    >>> Stored.__slots__
    ('groups', 'numbers', 'protection', 'recipe')
    """

    __slots__ = ("groups", "numbers", "protection", "recipe")

    def __init__(
        self, recipe: Recipe, protection: Protection, groups: tuple[tuple[Value, ...], ...], numbers: NoisyNumbers
    ) -> None:
        self.recipe = recipe
        self.protection = protection
        self.groups = groups
        self.numbers = numbers


def write_stored(
    recipe: Recipe, price: Price, groups: Sequence[tuple[Value, ...]], numbers: NoisyNumbers
) -> dict[str, Any]:
    """Write what was released as a JSON object: everything in it was protected before.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> plan = plan_sql(policy, "SELECT COUNT(*) FROM people")
    >>> price = Price.read(policy, epsilon=1)
    >>> recipe = Recipe.of(plan)
    >>> noisy = NoisyNumbers((np.array([[7]]),), Protection.of(recipe, price).noises)
    >>> record = write_stored(recipe, price, [()], noisy)
    >>> record["numbers"], read_stored(plan, record).numbers.blocks[0].tolist()
    ([[[7]]], [[7]])
    """
    amounts = {"epsilon": price.epsilon, "rho": price.rho, "delta": price.delta}
    return {
        "form": _FORM,
        "price": {name: None if amount is None else exact_text(amount) for name, amount in amounts.items()},
        "measures": _measures(recipe.plan),
        "design": _fingerprint(recipe, numbers),
        "groups": [[_encode(value) for value in group] for group in groups],
        "widths": [block.shape[1] for block in numbers.blocks],
        "numbers": [[[int(number) for number in row] for row in block.tolist()] for block in numbers.blocks],
    }


def read_stored(plan: Plan, record: Mapping[str, Any]) -> Stored | None:
    """Read a release of a question with the same key; None where another version of the package made it."""
    if record.get("form") != _FORM or sorted(record["measures"]) != sorted(_measures(plan)):
        return None
    recipe = Recipe.of(arranged(plan, record["measures"]))
    given = {name: None if text is None else rational(text) for name, text in record["price"].items()}
    protection = Protection.of(recipe, Price(given["epsilon"], given["rho"], given["delta"] or Fraction(0)))
    groups = tuple(tuple(_decode(value) for value in group) for group in record["groups"])
    blocks = tuple(
        _array(block, (len(groups), width)) for block, width in zip(record["numbers"], record["widths"], strict=True)
    )
    numbers = NoisyNumbers(blocks, protection.noises)
    if _fingerprint(recipe, numbers) != record["design"]:
        return None
    return Stored(recipe, protection, groups, numbers)


def arranged(plan: Plan, measures: Sequence[str]) -> Plan:
    """The same plan with its measures in a given order: names, and so the answer, stay as they are.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", unit="id", rows_per_unit=2)], epsilon=1)
    >>> plan = plan_sql(policy, "SELECT COUNT(*), COUNT(DISTINCT id) FROM people")
    >>> arranged(plan, _measures(plan)[::-1]).key == plan.key
    True
    """
    mine = _measures(plan)
    if list(measures) == mine:
        return plan
    left = list(zip(mine, plan.request.measures, strict=True))
    reordered = []
    for wanted in measures:
        place = next(number for number, (form, _) in enumerate(left) if form == wanted)
        reordered.append(left.pop(place)[1])
    return replace(plan, request=replace(plan.request, measures=tuple(reordered)))


def merged(parts: Sequence[Stored]) -> Stored:
    """Combine releases of one question with the same groups by inverse variance, number by number.

    All are unbiased and independent given the data, so the weights 1/v_i over their sum give the least variance; they
    depend on the prices alone. Blocks stand side by side, of each the one with the least noise first, and each
    statistic's terms are spread over them; what is not a sum of noisy numbers (bins, chosen points) is read from the
    first, and so is a count that is the sum of bins.

    >>> merged([1])
    1
    """
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    size = len(first.recipe.blocks)
    # By block, not by release: one that pays less in all may still have less noise in one of them.
    noisier = [partial(_spread, first.recipe, block=block) for block in range(size)]
    ranked = [sorted((part.numbers for part in parts), key=noisier[block]) for block in range(size)]
    weights = [_weights(first.recipe, block, ranked[block]) for block in range(size)]
    terms = {
        place: tuple(
            (block + size * number, column, coefficient * weights[block][number])
            for number in range(len(parts))
            for block, column, coefficient in combination
            if weights[block][number]
        )
        for place, combination in first.recipe.terms.items()
    }
    recipe = replace(first.recipe, blocks=first.recipe.blocks * len(parts), terms=terms)
    order = [(ranked[block][number], block) for number in range(len(parts)) for block in range(size)]
    blocks = tuple(numbers.blocks[block] for numbers, block in order)
    noises = tuple(numbers.noises[block] for numbers, block in order)
    return Stored(recipe, first.protection, first.groups, NoisyNumbers(blocks, noises))


def needed(parts: Sequence[Stored]) -> list[Stored]:
    """The releases that `merged` takes a number from, the first among them as its promise is the one that is shown.

    >>> needed([1])
    [1]
    """
    if len(parts) == 1:
        return list(parts)
    used = {0}
    for block in range(len(parts[0].recipe.blocks)):
        ranked = sorted(range(len(parts)), key=lambda place: _spread(parts[0].recipe, parts[place].numbers, block))
        weights = _weights(parts[0].recipe, block, [parts[place].numbers for place in ranked])
        used |= {place for place, weight in zip(ranked, weights, strict=True) if weight}
    return [part for place, part in enumerate(parts) if place in used]


def _spread(recipe: Recipe, numbers: NoisyNumbers, block: int) -> Fraction:
    return recipe.blocks[block].spread(numbers.noises[block])


def _weights(recipe: Recipe, block: int, ranked: Sequence[NoisyNumbers]) -> list[Fraction]:
    """The share of each release; all of the first where there is no variance to weigh by."""
    variances = [recipe.blocks[block].variance(recipe.plan, numbers.noises[block]) for numbers in ranked]
    precisions = [1 / variance if variance else Fraction(0) for variance in variances]
    total = sum(precisions)
    if not total:
        return [Fraction(int(place == 0)) for place in range(len(ranked))]
    shares = [(precision / total).limit_denominator(10**6) for precision in precisions[1:]]
    return [1 - sum(shares, Fraction(0)), *shares]


def _measures(plan: Plan) -> list[str]:
    return [
        json.dumps(measure.with_operands(plan._values(measure)).canonical())  # noqa: SLF001 - as in Plan.key
        for _, measure in plan.request.measures
    ]


def _fingerprint(recipe: Recipe, numbers: NoisyNumbers) -> str:
    """What the meaning of the numbers depends on."""
    text = repr((recipe.blocks, sorted(recipe.terms.items()), numbers.noises))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _array(rows: list[list[int]], shape: tuple[int, int]) -> NDArray[np.int64] | NDArray[np.object_]:
    wide = any(abs(number) >= _FITS for row in rows for number in row)
    return np.array(rows, dtype=object if wide else np.int64).reshape(shape)


def _encode(value: Value) -> object:
    """Write a key: JSON has no dates."""
    if isinstance(value, dt.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    return value


def _decode(value: Any) -> Value:  # noqa: ANN401 - JSON holds anything
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return dt.datetime.fromisoformat(text) if kind == "timestamp" else dt.date.fromisoformat(text)
    plain: Value = value
    return plain
