"""Amounts of one currency: compared, subtracted and stored exactly."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import BudgetError
from discreet.privacy.currencies import from_json

if TYPE_CHECKING:
    from discreet.privacy.currencies import Currency
    from discreet.privacy.filters import Filter

__all__ = [
    "added",
    "amount_text",
    "covers",
    "difference",
    "least",
    "left_of",
    "longest",
    "read_amount",
    "read_text",
    "spend",
    "text_of",
]

_GRID = 2**512
_LONGEST = 1024  # binary digits


def amount_text(amount: Currency) -> dict[str, Any]:
    """Write an amount as a JSON object, its fractions as text.

    >>> from discreet.privacy import Pure
    >>> amount_text(Pure("1/3"))["epsilon"]
    '1/3'
    """
    record: dict[str, Any] = json.loads(text_of(amount))
    return record


@lru_cache(maxsize=1024)
def text_of(amount: Currency) -> str:
    """Write an amount as the text that stores keep.

    >>> from discreet.privacy import Pure
    >>> read_text(text_of(Pure(1)))
    Pure(epsilon=1)
    """
    return amount.to_json()


def read_amount(record: object) -> Currency:
    """Read what `amount_text` wrote.

    >>> read_amount({"currency": "pure", "epsilon": "1/3", "neighbors": "add_remove"})
    Pure(epsilon='1/3')
    """
    return read_text(json.dumps(record))


@lru_cache(maxsize=1024)
def read_text(text: str) -> Currency:
    """Read an amount that a store kept as text; amounts are values, so the last ones are kept.

    >>> from discreet.privacy import Pure
    >>> read_text(Pure(1).to_json())
    Pure(epsilon=1)
    """
    return from_json(text)


def _numbers(amount: Currency) -> dict[str, Fraction]:
    return cast("dict[str, Fraction]", amount.fields())


def covers(paid: Currency, cost: Currency) -> bool:
    """Tell whether every number of a cost is at most what was paid, for the same neighbors.

    >>> from discreet.privacy import ZCDP
    >>> covers(ZCDP(1), ZCDP("0.5")), covers(ZCDP(1), ZCDP("0.5", 1e-9))
    (True, False)
    """
    if type(paid) is not type(cost) or paid.neighbors != cost.neighbors:
        return False
    given = _numbers(paid)
    return all(given[name] >= number for name, number in _numbers(cost).items())


def difference(whole: Currency, part: Currency) -> Currency:
    """Take a part off, number by number, never below nothing.

    >>> from discreet.privacy import Pure
    >>> difference(Pure(1), Pure("0.4"))
    Pure(epsilon=0.6)
    """
    taken = _numbers(part)
    left = {name: max(number - taken[name], number * 0) for name, number in _numbers(whole).items()}
    return type(whole)(**left, neighbors=whole.neighbors)  # type: ignore[call-arg]


def least(first: Currency, second: Currency) -> Currency:
    """Take the smaller of each number.

    >>> from discreet.privacy import ZCDP
    >>> least(ZCDP(1), ZCDP("0.5", 1e-9))
    ZCDP(rho=0.5)
    """
    others = _numbers(second)
    return type(first)(
        **{name: min(number, others[name]) for name, number in _numbers(first).items()},  # type: ignore[call-arg]
        neighbors=first.neighbors,
    )


def longest(denominator: int) -> bool:
    """Tell whether a sum with such a denominator is rounded up.

    >>> longest(3), longest(3**1000)
    (False, True)
    """
    return denominator.bit_length() > _LONGEST


def added(total: Currency, cost: Currency) -> Currency:
    """Add a cost to a sum, exactly as long as that is short, else rounded up to a multiple of 2^-512.

    Costs of ever new denominators would make an exact sum longer with each, and a spend slower with the ledger's
    length.

    >>> from discreet.privacy import Pure
    >>> added(Pure("1/3"), Pure("2/3"))
    Pure(epsilon=1)
    """
    whole: Currency = total + cost
    numbers = _numbers(whole)
    if not any(longest(number.denominator) for number in numbers.values()):
        return whole
    short = {name: Fraction(math.ceil(number * _GRID), _GRID) for name, number in numbers.items()}
    return type(whole)(**short, neighbors=whole.neighbors)  # type: ignore[call-arg]


def left_of(limit: Filter[Any], spent: Currency) -> Currency:
    """What of a limit is left; nothing where an edit lowered the limit below what was spent.

    >>> from discreet.privacy import Pure, PureFilter
    >>> left_of(PureFilter(Pure(1)), Pure(2))
    Pure(epsilon=0)
    """
    return difference(limit.limit, spent)


def spend(limit: Filter[Any], spent: Currency, cost: Currency, whose: str) -> Currency:
    """Give what is spent after a cost, or refuse it: the filter decides.

    >>> from discreet.privacy import Pure, PureFilter
    >>> spend(PureFilter(Pure(1)), Pure("0.5"), Pure("0.6"), "the dataset")
    Traceback (most recent call last):
    ...
    discreet.errors.BudgetError: Pure(epsilon=0.6) does not fit into the budget of the dataset: Pure(epsilon=0.5) is ...
    """
    if covers(limit.limit, spent) and type(limit)(limit.limit, spent).admits(cost):
        total = added(spent, cost)
        if covers(limit.limit, total):
            return total
    msg = (
        f"{cost!r} does not fit into the budget of {whose}: {left_of(limit, spent)!r} is left of {limit.limit!r}. "
        "Nothing was spent. Ask for less."
    )
    raise BudgetError(msg)
