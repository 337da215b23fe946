"""What a chance delta of failure permits, and how little is left without an epsilon."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.checks.exercises.shown import Comparison, Shown, advantage
from discreet.errors import ParameterError
from discreet.exact import integer, rational

if TYPE_CHECKING:
    from collections.abc import Hashable

    from discreet.exact import Number

__all__ = ["large_delta_leaks", "nuclear_option", "small_delta_is_useless"]


def large_delta_leaks(people: int = 100) -> tuple[Shown, ...]:
    r"""Let delta be 1/(2n): then publishing somebody's record, half of the time, is (0, delta)-private.

    One of n records is drawn, and published with chance 1/2. Neighbors differ in one record, which is published with
    chance 1/(2n): no event is more than that apart.

    >>> print(*large_delta_leaks(100), sep="\n")
    holds: the delta at epsilon 0 is 0.005, equals 0.005
    holds: the chance that a record is published is 0.5, equals 0.5
    """
    count = integer(people, name="people", least=1)

    def law(last: str) -> dict[Hashable, Fraction]:
        records = ["a"] * (count - 1) + [last]
        return {(place, record): Fraction(1, 2 * count) for place, record in enumerate(records)} | {
            None: Fraction(1, 2)
        }

    delta = max(advantage(law("a"), law("b")), advantage(law("b"), law("a")))
    published = sum(chance for output, chance in law("b").items() if output is not None)
    return (
        Shown("the delta at epsilon 0", delta, Comparison.EQUALS, Fraction(1, 2 * count)),
        Shown("the chance that a record is published", published, Comparison.EQUALS, Fraction(1, 2)),
    )


def small_delta_is_useless(people: int = 100, delta: Number = "1/250") -> tuple[Shown, ...]:
    r"""Let delta be below 1/(2n) and epsilon 0: then no answer tells all zeros from all ones.

    From one to the other lead n steps between neighbors, each of which moves the law by at most delta: so the two laws
    are at most n delta < 1/2 apart, and whatever is answered is off by 1/2 or more, for one of the two, with a chance
    of at least (1 - n delta)/2 > 1/4. Shown for the answer that does best: a bit that is 1 with chance
    1/2 + delta (ones - n/2).

    >>> print(*small_delta_is_useless(100, "1/250"), sep="\n")
    holds: the largest step between neighbors is 0.004, at most 0.004
    holds: the distance of all zeros from all ones is 0.4, at most 0.4
    holds: the chance to be off by half is 0.3, at least 0.25
    """
    count, step = integer(people, name="people", least=1), rational(delta, name="delta")
    if not 0 <= step <= 1:
        msg = f"delta is {delta}; it must be a chance from 0 to 1; what is stated holds below 1/(2n) = 1/{2 * count}."
        raise ParameterError(msg)
    chances = [Fraction(1, 2) + step * (ones - Fraction(count, 2)) for ones in range(count + 1)]
    chances = [min(max(chance, Fraction(0)), Fraction(1)) for chance in chances]
    laws: list[dict[Hashable, Fraction]] = [{1: chance, 0: 1 - chance} for chance in chances]
    apart = advantage(laws[-1], laws[0])
    steps = max(advantage(after, before) for before, after in pairwise(laws))
    return (
        Shown("the largest step between neighbors", steps, Comparison.AT_MOST, step),
        Shown("the distance of all zeros from all ones", apart, Comparison.AT_MOST, count * step),
        Shown("the chance to be off by half", (1 - apart) / Fraction(2), Comparison.AT_LEAST, Fraction(1, 4)),
    )


def nuclear_option(people: int = 1000, delta: Number = "1/1000") -> tuple[Shown, ...]:
    r"""Publish everything with chance delta, or each record with chance delta: both are (0, delta)-private.

    As many records are published on average, and nothing else is alike: the first exposes everybody, rarely; the second
    nearly always exposes somebody, once delta is 1/n. So delta must be far below 1/n, and is no knob for accuracy.

    >>> print(*nuclear_option(1000, "1/1000"), sep="\n")
    holds: the delta of publishing everything is 0.001, equals 0.001
    holds: the delta of publishing each record by its own coin is 0.001, equals 0.001
    holds: the chance that somebody is exposed by the first is 0.001, equals 0.001
    holds: the chance that somebody is exposed by the second is 0.632305, at least 0.632121
    """
    count, chance = integer(people, name="people", least=1), rational(delta, name="delta")
    if not 0 < chance <= 1:
        msg = f"delta is {delta}; it must be a chance above 0, at most 1."
        raise ParameterError(msg)
    rare: list[dict[Hashable, Fraction]] = [{last: chance, None: 1 - chance} for last in ("all, a", "all, b")]
    # The others' coins are the same on both sides, and change no distance.
    coins: list[dict[Hashable, Fraction]] = [{last: chance, None: 1 - chance} for last in "ab"]
    somebody = 1 - (1 - float(chance)) ** count
    return (
        Shown("the delta of publishing everything", advantage(*rare), Comparison.EQUALS, chance),
        Shown("the delta of publishing each record by its own coin", advantage(*coins), Comparison.EQUALS, chance),
        Shown("the chance that somebody is exposed by the first", 1 - rare[0][None], Comparison.EQUALS, chance),
        Shown(
            "the chance that somebody is exposed by the second",
            somebody,
            Comparison.AT_LEAST,
            -math.expm1(-count * float(chance)),
        ),
    )
