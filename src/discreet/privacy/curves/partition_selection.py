"""Releasing noisy counts of unknown keys above a threshold."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import counted, exp_upper, integer, rational, shown
from discreet.privacy.curves.approximate import approximate
from discreet.privacy.curves.laplace import laplace
from discreet.privacy.enclosures import DOWN, decimal, power
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.privacy.curve import Curve

__all__ = ["partition_selection"]


def partition_selection(
    scale: Number, threshold: Number, keys: int = 1, *, neighbors: Relation = NeighborRelation.ADD_REMOVE
) -> Curve:
    """Return the curve of releasing count + Laplace(scale) for every present key whose noisy count reaches a threshold.

    A unit adds at most 1 to each of at most `keys` keys. A key that others hold too costs Laplace noise with
    sensitivity 1. A key that nobody else holds appears with probability d = exp(-(threshold - 1) / scale) / 2, and then
    reveals the unit: all `keys` of them, d' = 1 - (1 - d)^keys. With a the Laplace profile, each case's profile is at
    most d' + (1 - d') a, the composition of Laplace noise and a box (0, d') (Korolova et al. 2009; Desfontaines, Voss,
    Gipson & Mandayam 2022, arXiv:2006.03684). Under change-one a unit leaves its keys and another enters others, so
    twice as many keys are touched. Several units may share a key, which this does not cover: for groups build the curve
    for single units and ask for `.group(k)`.

    >>> curve = partition_selection(scale=1, threshold=20)
    >>> round(curve.epsilon(delta=1e-8), 6)
    1.0
    """
    if neighbors.size > 1:
        msg = (
            f"neighbors is {neighbors.value}; units of a group may share a key. Build the curve with "
            f"neighbors={neighbors.relation.value}, then ask for .group({neighbors.size})."
        )
        raise ParameterError(msg)
    noise = laplace(scale, neighbors=neighbors)
    count = integer(keys, name="keys", least=1) * (1 if neighbors.relation is NeighborRelation.ADD_REMOVE else 2)
    spread = rational(scale, name="scale")
    bar = rational(threshold, name="threshold")
    if bar < 1:
        msg = f"threshold is {shown(threshold)}; below 1 a unit would show its key most of the time. Use at least 1."
        raise ParameterError(msg)
    alone = min(exp_upper(-(bar - 1) / spread) / 2, Fraction(1, 2))
    # 60 digits: the exact power would have more of them than a curve keeps
    total = min(count * alone, 1 - Fraction(power(decimal(1 - alone, DOWN), count, DOWN)))
    if total >= 1:
        many = counted(shown(count), "key")
        msg = f"threshold is {shown(threshold)}; with {many} a unit would be seen for sure. Raise it."
        raise ParameterError(msg)
    return noise * count + approximate(0, total, neighbors=neighbors)
