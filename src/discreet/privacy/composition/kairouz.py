"""The optimal composition of equal promises."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.exact.rational import as_text, read_delta, require_kind
from discreet.privacy.currencies import Approximate
from discreet.privacy.enclosures import DOWN, UP, decimal, enclose, exp, log, power, round_up

if TYPE_CHECKING:
    from discreet.exact import Interval, Number

__all__ = ["kairouz", "remaining_delta"]

_MOST = 1_000_000


def kairouz(promise: Approximate, count: int, delta: Number) -> Approximate:
    """Return the smallest epsilon that all compositions of `count` such promises keep at this delta.

    Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776), Theorem 3.3. The worst case is `count` randomized responses, whose
    loss is (k - 2l) * epsilon with probability C(k, l) e^((k-l) epsilon) / (1 + e^epsilon)^k, and with a chance of
    1 - (1 - delta_i)^k everything is told. Their theorem lists the corners of this curve; between corners it is solved
    exactly here. Costs fixed beforehand only: this is no filter.

    Arithmetic is decimal with 60 digits, rounded toward the larger epsilon at every step.

    >>> float(kairouz(Approximate("0.1"), count=100, delta=1e-5).epsilon)
    4.306791372516507
    """
    require_kind(promise, Approximate, "promise")
    k = integer(count, name="count", least=1, most=_MOST)
    total = read_delta(delta)
    inner = remaining_delta([promise], total, times=k)
    epsilon = promise.epsilon
    if inner == 0 or epsilon == 0 or epsilon > 1000:
        return Approximate(k * epsilon, total, neighbors=promise.neighbors)
    return Approximate(_walk(epsilon, k, inner), total, neighbors=promise.neighbors)


def remaining_delta(promises: list[Approximate], total: Fraction, *, times: int = 1) -> Fraction:
    """Return the delta left for the losses once the chance of telling everything is paid, rounded down.

    1 - (1 - total) / prod(1 - delta_i): the product is the (1 - delta)^k of Kairouz, Oh & Viswanath 2015
    (arXiv:1311.0776), Theorem 3.3, for deltas that differ.

    >>> remaining_delta([Approximate(1, "1/10")], Fraction(1, 5))
    Fraction(1, 9)
    """
    if all(promise.delta == 0 for promise in promises):
        return total
    if times * len(promises) <= 64:
        kept = Fraction(1)
        for promise in promises:
            kept *= (1 - promise.delta) ** times
        left = 1 - (1 - total) / kept
    else:
        exponent = enclose(0)
        for promise in promises:
            exponent = exponent + log(1 - promise.delta).scaled(Fraction(times))
        left = (enclose(1) - enclose(1 - total) / exponent.exp()).lower
        # prod(1 - delta_i) >= 1 - sum(delta_i) is exact, also where all deltas are below the enclosure's last digit
        spent = times * sum((promise.delta for promise in promises), Fraction(0))
        left = max(left, (total - spent) / (1 - spent)) if spent < 1 else left
    if left < 0:
        msg = (
            f"delta is {as_text(total)}, less than the promises' own deltas add up to. "
            "Ask for a larger delta, or compose promises with smaller ones."
        )
        raise ParameterError(msg)
    return left


@dataclass(slots=True)
class _Sums:
    """The mass above a corner, under both datasets, while walking down from the largest loss."""

    upper: Decimal  # Pr[loss > x] under P, rounded up
    lower: Decimal  # e^(k epsilon) * Pr[loss > x] under Q, rounded down


def _walk(epsilon: Fraction, k: int, delta: Fraction) -> Fraction:
    """Walk down the losses until delta is used up, and solve within the segment.

    Above x lie the losses number 0..l. There delta(x) = A - e^x B with A = Pr_P, B = Pr_Q of these; kept is
    B' = e^(k epsilon) B, so that x = k epsilon + ln((A - delta) / B').
    """
    grow, shrink = exp(epsilon), exp(-epsilon)
    share = grow / (grow + enclose(1))
    term_up, term_down = power(_end(share, UP), k, UP), power(_end(share, DOWN), k, DOWN)
    fall, rise = _end(shrink, UP), _end(grow, DOWN)
    step = DOWN.multiply(_end(shrink, DOWN), _end(shrink, DOWN))
    sums, corner = _Sums(Decimal(0), Decimal(0)), Decimal(1)
    target = decimal(delta, DOWN)
    for below in range(k // 2 + 1):
        sums.upper = UP.add(sums.upper, term_up)
        sums.lower = DOWN.add(sums.lower, term_down)
        corner = DOWN.multiply(corner, step)  # e^(x - k epsilon) at the next loss down
        if UP.subtract(sums.upper, DOWN.multiply(corner, sums.lower)) > target:
            ratio = Fraction(UP.divide(UP.subtract(sums.upper, target), sums.lower))
            epsilon_of_ratio = round_up(enclose(k * epsilon) + log(ratio))
            return max(Fraction(0), min(epsilon_of_ratio, k * epsilon))
        odds = Decimal(k - below), Decimal(below + 1)
        term_up = UP.divide(UP.multiply(UP.multiply(term_up, fall), odds[0]), odds[1])
        term_down = DOWN.divide(DOWN.multiply(DOWN.multiply(term_down, rise), odds[0]), odds[1])
    return Fraction(0)


def _end(value: Interval, context: Context) -> Decimal:
    """Round one end of an enclosure to a decimal, outward."""
    return decimal(value.upper if context is UP else value.lower, context)
