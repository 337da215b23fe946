"""Composition of Renyi differential privacy, and its bound on bad outcomes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.exact.rational import require_kind
from discreet.privacy.convert import convert
from discreet.privacy.currencies import RDP, Approximate
from discreet.privacy.enclosures import enclose, log, round_up

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["bad_outcomes", "renyi"]


def renyi(promise: RDP, count: int, delta: Number) -> Approximate:
    """Add the divergences order by order and convert once, at the best order.

    Mironov 2017 (arXiv:1702.07476), Proposition 1, with the improved conversion of Canonne, Kamath & Steinke 2020
    (arXiv:2004.00010), Proposition 12. Costs fixed beforehand only: picking the order afterwards is no filter.

    >>> gaussian = RDP([2, 5, 10], [1, "2.5", 5])
    >>> float(renyi(gaussian, count=1, delta=1e-5).epsilon)
    4.752728336819823
    """
    return convert(require_kind(promise, RDP, "promise") * count, to=Approximate, delta=delta)


def bad_outcomes(promise: RDP, probability: Number) -> Fraction:
    """Bound how likely an outcome becomes that has this probability for a neighbor.

    (e^v * Q)^(1 - 1/a) at the best order: Mironov 2017 (arXiv:1702.07476), Proposition 10. An (epsilon, delta) promise
    allows a catastrophe with probability delta; here a negligible probability stays negligible.

    >>> float(bad_outcomes(RDP([2], [1]), 1e-6))
    0.0016487212707001282
    """
    require_kind(promise, RDP, "promise")
    chance = rational(probability, name="probability")
    if not 0 <= chance <= 1:
        msg = f"probability is {shown(probability)}; it must be between 0 and 1."
        raise ParameterError(msg)
    if chance == 0:
        return Fraction(0)  # a finite divergence forbids what was impossible
    bounds = [
        (log(chance) + enclose(value)).scaled(1 - 1 / order)
        for order, value in zip(promise.orders, promise.values, strict=True)
    ]
    least = min(bounds, key=lambda bound: bound.upper)
    return Fraction(1) if least.upper >= 0 else min(Fraction(1), round_up(least.exp()))
