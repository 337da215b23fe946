"""The optimal composition of different promises, approximated with a stated error."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import float_down, rational, shown
from discreet.exact.rational import as_text, read_delta, read_list, require_kind
from discreet.privacy.composition.kairouz import remaining_delta
from discreet.privacy.currencies import Approximate
from discreet.privacy.enclosures import round_up
from discreet.privacy.relations import require_same_relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from discreet.exact import Number

__all__ = ["murtagh_vadhan"]

_MOST_WORK = 2_000_000_000


def murtagh_vadhan(promises: Sequence[Approximate], delta: Number, *, error: Number = "0.01") -> Approximate:
    """Return an epsilon between the optimum at delta and the optimum at e^(-error/2) * delta, plus error.

    Murtagh & Vadhan 2016 (arXiv:1507.03113), who approximate the optimum and show that the exact one is #P-hard. Costs
    fixed beforehand only: this is no filter.

    Each epsilon_i is rounded up to a multiple of error / k, so the sum grows by at most G = error, and the losses lie
    on a grid where a dynamic program is exact. Upper bound: larger epsilons only cost more. Error: rounding moves each
    loss by at most its own share, hence L' <= L + G, and the chance e^x / (1 + e^x) of the truth has a logarithmic
    slope of at most 1/2, hence P' <= e^(G/2) P. Together delta'(x) <= e^(G/2) delta(x - G).

    Floats: all terms are positive, so a relative error of (4k + 4N + 64) * 2**-52 covers all roundings on a grid of N
    losses; it is added, and N k 2**-1074 for underflow.

    >>> mixed = [Approximate("0.1")] * 20 + [Approximate("0.5")] * 2
    >>> 1.9942 < float(murtagh_vadhan(mixed, delta=1e-3).epsilon) < 2.01
    True
    """
    total, width = read_delta(delta), rational(error, name="error")
    listed = [require_kind(promise, Approximate, "promises") for promise in read_list(promises, "promises")]
    _check(listed, width)
    inner = remaining_delta(listed, total)
    neighbors = listed[0].neighbors
    whole = sum((promise.epsilon for promise in listed), Fraction(0))
    if inner == 0 or whole <= width:  # the sum itself is within the error of every optimum
        return Approximate(whole, total, neighbors=neighbors)
    step = width / len(listed)
    sizes = [math.ceil(promise.epsilon / step) for promise in listed]
    work = sum(sizes) * len(sizes)
    if work > _MOST_WORK:
        msg = (
            f"error is {shown(error)}; with {len(sizes)} promises the table would hold {shown(sum(sizes))} losses. "
            f"Write error={as_text(round_up(width * work / _MOST_WORK))} or more, or add the curves."
        )
        raise ParameterError(msg)
    solved = _solve(_table(sizes, float(step)), sum(sizes), len(sizes), step, inner)
    return Approximate(min(whole, solved), total, neighbors=neighbors)


def _check(promises: Sequence[Approximate], width: Fraction) -> None:
    """Refuse an empty list, mixed relations and an error of zero."""
    if not promises or width <= 0:
        msg = (
            f"error is {shown(width)} for {len(promises)} promises; it needs at least one promise and an error above 0."
        )
        raise ParameterError(msg)
    for promise in promises:
        require_same_relation(promises[0].neighbors, promise.neighbors)


def _table(sizes: Sequence[int], step: float) -> NDArray[np.float64]:
    """Return Pr[the lies weigh s] for s up to half of all; the loss is then (N - 2s) steps."""
    import numpy as np

    half = sum(sizes) // 2 + 1
    table = np.zeros(half)
    table[0] = 1.0
    for size in sizes:
        lie = 1.0 / (1.0 + math.exp(size * step)) if size * step < 700 else 0.0
        moved = table[: max(0, half - size)] * lie
        table *= 1.0 - lie
        if len(moved):
            table[size:] += moved
    return table


def _solve(table: NDArray[np.float64], losses: int, count: int, step: Fraction, delta: Fraction) -> Fraction:
    """Walk down the losses as in `kairouz`, with every mass widened by the float error.

    Between the losses number j and j + 1 from the top, delta(x) = A - e^(x - x') C with x' the lower one, A the mass
    above under P and C = e^(x') times the mass above under Q.
    """
    slack = (4 * count + 4 * losses + 64) * 2.0**-52
    lost = count * (losses + 1) * 5e-324 + 700 * count * 5e-324
    target = float_down(delta) * (1 - 1e-15)
    decay = math.exp(-2 * float(step)) * (1 - 1e-15)
    mass, other = 0.0, 0.0
    for number, term in enumerate(table.tolist()):
        mass += term
        other = (other + term) * decay
        above = (mass + lost) * (1 + slack)
        below = other * (1 - slack)
        if above - below > target:
            corner = (losses - 2 * (number + 1)) * step
            gap = math.log((above - target) / below) + 1e-12 if below > 0 else math.inf
            top = (losses - 2 * number) * step
            return max(Fraction(0), min(top, round_up(corner + Fraction(gap)) if gap < math.inf else top))
    return Fraction(0)
