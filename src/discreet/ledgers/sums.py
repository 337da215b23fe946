"""Sums of a ledger, added and compared as the texts that it keeps."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from discreet.ledgers.amounts import added, longest, read_text, text_of

__all__ = ["normal", "sum_text", "within"]

_NUMBER = re.compile(r'"([0-9]{1,300})(?:/([0-9]{1,300}))?"')
"""A fraction as `Currency.to_json` writes it; longer ones, and what nobody wrote so, are read as values."""

_DIGIT = re.compile("[0-9]")


def _parts(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Split a text into its numbers and what stands between them: currency, names and relation.

    Every digit is part of a number, or there are no numbers: a text that is not understood adds to nothing.
    """
    split = _NUMBER.split(text)
    words, above, below = split[::3], split[1::3], split[2::3]
    if any(map(_DIGIT.search, words)):
        return [text], []
    return words, [(int(a), 1 if b is None else int(b)) for a, b in zip(above, below, strict=True)]


@lru_cache(maxsize=1024)
def normal(record: str) -> str:
    """Write an amount as sums are written, whatever the order of its names.

    >>> normal('{"neighbors": "add_remove", "currency": "pure", "epsilon": "2/6"}')
    '{"currency": "pure", "epsilon": "1/3", "neighbors": "add_remove"}'
    """
    return text_of(read_text(record))


@lru_cache(maxsize=1024)
def sum_text(total: str, cost: str) -> str:
    """Add a cost to a sum; the text is that of `added`, whose values are only made where whole numbers do not do.

    A spend adds while others wait for their turn, and values take ten times as long. Two amounts whose texts differ in
    nothing but digits are of one currency and one relation, so their fractions add, name by name.

    >>> from discreet.privacy import Pure
    >>> sum_text(Pure("1/3").to_json(), Pure("1/6").to_json())
    '{"currency": "pure", "epsilon": "1/2", "neighbors": "add_remove"}'
    """
    words, numbers = _parts(total)
    same, costs = _parts(cost)
    if words == same and numbers and all(b and d for (_, b), (_, d) in zip(numbers, costs, strict=True)):
        written = [words[0]]
        for (a, b), (c, d), word in zip(numbers, costs, words[1:], strict=True):
            above, below = (a + c, b) if b == d else (a * d + c * b, b * d)
            shared = math.gcd(above, below)
            if longest(below // shared) or (written[-1].endswith('"delta": ') and above >= below):
                break
            above, below = above // shared, below // shared
            written += [f'"{above}"' if below == 1 else f'"{above}/{below}"', word]
        else:
            return "".join(written)
    return text_of(added(read_text(total), read_text(cost)))


def within(total: str, limit: str) -> bool:
    """Tell whether every number of a sum is at most that of a limit of the same currency and relation.

    It is false where digits alone do not tell: of other amounts, and of those that `sum_text` reads as values.

    >>> from discreet.privacy import Pure, ZCDP
    >>> within(Pure("1/4").to_json(), Pure("0.3").to_json()), within(Pure(1).to_json(), ZCDP(2).to_json())
    (True, False)
    """
    words, numbers = _parts(total)
    same, limits = _parts(limit)
    if words != same or not numbers:
        return False
    return all(b and d and a * d <= c * b for (a, b), (c, d) in zip(numbers, limits, strict=True))
