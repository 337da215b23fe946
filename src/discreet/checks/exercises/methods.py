"""Ways to answer that look private and are not, and one whose noise accumulates."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from typing import TYPE_CHECKING

from discreet.checks.exercises.shown import Comparison, Shown, advantage
from discreet.errors import ParameterError
from discreet.exact import integer, rational

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from discreet.exact import Number

__all__ = [
    "biased_predicate",
    "deterministic_is_not_private",
    "half_sample_mean",
    "reconstruction_is_vacuous",
    "sampling_is_not_private",
]

HUGE = 10**30
"""A factor e^epsilon that stands for every epsilon: what is impossible on one side stays so."""


def deterministic_is_not_private(
    answer: Callable[[Sequence[int]], Hashable] | None = None, people: int = 5
) -> tuple[Shown, ...]:
    """Find two neighbors that a deterministic answer tells apart: for them delta is 1, whatever epsilon is.

    Changing one record at a time leads from any data to any other. If two of them have different answers, so have two
    neighbors on the way: only a constant is private. By default the answer is the majority.

    >>> print(*deterministic_is_not_private())
    holds: the delta at any epsilon is 1, equals 1
    >>> print(*deterministic_is_not_private(lambda bits: "constant"))
    holds: the delta at any epsilon is 0, equals 0
    """
    count = integer(people, name="people", least=1, most=16)
    tell = answer or (lambda bits: 2 * sum(bits) > len(bits))
    answers = {bits: tell(bits) for bits in product((0, 1), repeat=count)}
    apart = [
        advantage(
            {answers[bits]: Fraction(1)}, {answers[(*bits[:place], 1, *bits[place + 1 :])]: Fraction(1)}, factor=HUGE
        )
        for bits in answers
        for place in range(count)
        if not bits[place]
    ]
    stated = int(len(set(answers.values())) > 1)
    return (Shown("the delta at any epsilon", max(apart), Comparison.EQUALS, stated),)


def sampling_is_not_private(people: int = 100, chosen: int = 10) -> tuple[Shown, ...]:
    """Publish a random sample: a record that is in it is in no sample of the neighbor that lacks it.

    Its chance, m/n, is the delta at every epsilon. Only in front of a mechanism that adds noise does sampling help.

    >>> print(*sampling_is_not_private(100, 10))
    holds: the delta at any epsilon is 0.1, equals 0.1
    """
    count = integer(people, name="people", least=1)
    some = integer(chosen, name="chosen", least=0, most=count)
    seen = Fraction(comb(count - 1, some - 1), comb(count, some)) if some else Fraction(0)
    here: dict[Hashable, Fraction] = {"with her": seen, "without her": 1 - seen}
    delta = advantage(here, {"without her": Fraction(1)}, factor=HUGE)
    return (Shown("the delta at any epsilon", delta, Comparison.EQUALS, Fraction(some, count)),)


def half_sample_mean(people: int = 100) -> tuple[Shown, ...]:
    r"""Answer with the mean of a random half: accurate, not reconstructible, and not private.

    Accurate: the variance is p (1 - p)/(n - 1), at most 1/(4 (n - 1)), so the error is of the order of 1/sqrt(n). Not
    reconstructible: of n fair bits, each is guessed from the answer m with chance 1/2 + |m - 1/2|/2 at best, as the
    attacker does not know who was drawn. Not private: a one among zeros is seen with chance 1/2, and what is answered
    then is impossible without it, so delta is 1/2 at every epsilon.

    >>> print(*half_sample_mean(100), sep="\n")
    holds: the variance, half of the bits being 1 is 0.00252525, at most 0.00252525
    holds: the share of bits that can be guessed is 0.528069, at most 0.535355
    holds: the delta at any epsilon is 0.5, equals 0.5
    """
    count = integer(people, name="people", least=2)
    if count % 2:
        msg = f"people is {people}; half of them are drawn, so it must be even."
        raise ParameterError(msg)
    half, ones = count // 2, count // 2
    total = comb(count, half)
    drawn = {seen: Fraction(comb(ones, seen) * comb(count - ones, half - seen), total) for seen in range(half + 1)}
    middle = Fraction(ones, count)
    variance = sum(chance * (Fraction(seen, half) - middle) ** 2 for seen, chance in drawn.items())
    fair = {seen: Fraction(comb(half, seen), 2**half) for seen in range(half + 1)}  # the drawn bits are fair too
    gain = sum(chance * abs(Fraction(seen, half) - Fraction(1, 2)) for seen, chance in fair.items()) / 2
    seen_law: dict[Hashable, Fraction] = {0: Fraction(1, 2), Fraction(1, half): Fraction(1, 2)}
    bound = 1 / 2 + 1 / (4 * half**0.5)  # E |m - 1/2| is at most the standard deviation, 1/(2 sqrt(n/2))
    return (
        Shown("the variance, half of the bits being 1", variance, Comparison.AT_MOST, Fraction(1, 4 * (count - 1))),
        Shown("the share of bits that can be guessed", Fraction(1, 2) + gain, Comparison.AT_MOST, bound),
        Shown(
            "the delta at any epsilon",
            advantage(seen_law, {0: Fraction(1)}, factor=HUGE),
            Comparison.EQUALS,
            Fraction(1, 2),
        ),
    )


def biased_predicate(people: int = 100, flip: Number = "1/4") -> tuple[Shown, ...]:
    r"""Ask randomized responses about exactly those whose bit is 0: their flips do not cancel.

    Of n people half have the bit 1. Over everybody the flips of ones and zeros cancel on average; over the zeros alone
    each flip adds one, and the mean of what was answered is off by flip/2 on average, however many people there are.
    The estimator that subtracts the flips, (mean - flip)/(1 - 2 flip), is unbiased for every subset that was fixed
    beforehand; it is the raw mean that is biased.

    >>> print(*biased_predicate(100), sep="\n")
    holds: the raw error over everybody is 0, equals 0
    holds: the raw error over the zeros is 0.125, equals 0.125
    holds: the error over the zeros, corrected is 0, equals 0
    """
    count, chance = 2 * (integer(people, name="people", least=2) // 2), rational(flip, name="flip")
    if not 0 <= chance < Fraction(1, 2):
        msg = f"flip is {flip}; it must be at least 0 and below 1/2."
        raise ParameterError(msg)
    zeros = count // 2
    # How many of the zeros answer 1, on average, by the law of their number.
    law = [comb(zeros, seen) * chance**seen * (1 - chance) ** (zeros - seen) for seen in range(zeros + 1)]
    ones = Fraction(sum(seen * Fraction(weight) for seen, weight in enumerate(law)))
    everybody = ones + (count - zeros - ones)  # as many ones answer 0
    raw, corrected = ones / count, (ones / zeros - chance) / (1 - 2 * chance)
    return (
        Shown("the raw error over everybody", abs(everybody - (count - zeros)) / count, Comparison.EQUALS, 0),
        Shown("the raw error over the zeros", raw, Comparison.EQUALS, chance / 2),
        Shown("the error over the zeros, corrected", corrected, Comparison.EQUALS, 0),
    )


def reconstruction_is_vacuous(people: int = 8) -> tuple[Shown, ...]:
    r"""Answer every count with half of the subset: within 1/2, and the theorem of all subsets says nothing.

    Dinur and Nissim's bound is 4 E n wrong people where every answer, as a share of n, is within E. From E = 1/4 on it
    is n or more, so that large errors, as those of randomized response, do not contradict it. Here the answers are
    the same for all data, so nobody can be told.

    >>> print(*reconstruction_is_vacuous(8), sep="\n")
    holds: the largest error, as a share is 0.5, at most 0.5
    holds: the people who may be wrong is 16, at least 8
    """
    count = integer(people, name="people", least=1, most=16)
    worst = max(abs(Fraction(true) - Fraction(size, 2)) / count for size in range(count + 1) for true in (0, size))
    return (
        Shown("the largest error, as a share", worst, Comparison.AT_MOST, Fraction(1, 2)),
        Shown("the people who may be wrong", 4 * worst * count, Comparison.AT_LEAST, count),
    )
