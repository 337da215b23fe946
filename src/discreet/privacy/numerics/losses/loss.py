"""One direction of a dominating pair, as seen by the integrators.

For a pair (P, Q) let L = log(dP/dQ) under P, the privacy loss. Everything an accountant needs is

    delta(epsilon) = Pr[L = inf] + E[(1 - exp(epsilon - L))+ ; L < inf]
    K(s)           = log E[exp(s L) ; L < inf]

Composition adds K and multiplies Pr[L < inf] (Dwork & Rothblum 2016, arXiv:1603.01887; Zhu, Dong & Wang 2022,
arXiv:2106.08567, Theorem 10).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    Reals: TypeAlias = NDArray[np.floating[Any]]
    Complexes: TypeAlias = NDArray[np.inexact[Any]]

ULP = 2.0**-52
"""Twice the unit roundoff: the assumed relative error of one NumPy or SciPy elementary function is 8 of these.

tests/privacy/test_ulps.py measures the functions used here against mpmath and demands a margin of at least two.
"""

SLACK = 2.0**-36
"""Relative error granted to a single mechanism's own formula; see `Loss.delta`."""


class Loss(ABC):
    """The privacy loss of one mechanism in one direction."""

    infinity: float = 0.0
    """Pr[L = inf], under P."""

    top: float = math.inf
    """An upper bound of the finite values of L; inf if unbounded."""

    @property
    def least_top(self) -> float:
        """A lower bound of the largest finite value of L; -inf if none is known."""
        return self.top * (1 - 1e-13)

    peak: float = 0.0
    """Pr[L = top], a lower bound; 0 if unknown."""

    span: float = 0.0
    """The step of the lattice that holds all finite values of L up to one offset; 0 if there is none."""

    @abstractmethod
    def delta(self, epsilon: Reals) -> Reals:
        """Return the hockey-stick divergence at each epsilon, with relative error at most 2**-40."""

    @abstractmethod
    def slope(self, epsilon: Reals) -> Reals:
        """Return Q[L > epsilon], the negative derivative of delta with respect to exp(epsilon)."""

    @abstractmethod
    def moment(self, order: float) -> float:
        """Return K at a positive real order; inf where the moment does not exist."""

    @abstractmethod
    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """Return K(real + i t) at all heights t >= 0 and a bound on the absolute error of each."""

    def affordable(self, real: float, height: float) -> bool:
        """Whether a line up to this height can be summed at a bearable cost."""
        del real, height
        return True

    closed: bool = True
    """Whether `delta` is a formula of this loss alone; False sends even a single use through the contour."""

    attained: bool = True
    """Whether some mechanism with this promise really has this loss; False where it only dominates theirs.

    What is composed of attained losses is attained, and its epsilon has a lower end. A loss that only dominates says
    nothing from below, and neither does any composition with it: lower ends then come from `below`.
    """

    pairless: bool = False
    """True where only bounds on Renyi divergences are known, so that the contour does not apply."""

    @property
    def certain(self) -> float:
        """The part of `infinity` that is there for sure; the rest was sent there to bound the truth from above."""
        return max(self.infinity - self.unsure, 0.0)

    @property
    def missing(self) -> float:
        """The Q-probability of values that were taken out of the finite part."""
        return 0.0

    @property
    def unsure(self) -> float:
        """How far `delta` may lie above the truth because of a rest that was cut off."""
        return 0.0

    def trimmed(self, mass: float, order: float) -> Loss:
        """Return this loss with at most so much of its largest values sent to infinity, if moments grow too fast.

        The moments are wanted up to the order.
        """
        del mass, order
        return self

    def rough(self, order: float) -> float:
        """Return K at a real order well enough for a search."""
        return self.moment(order)

    def roughs(self, orders: Reals) -> Reals:
        """Return `rough` at many real orders."""
        import numpy as np

        return np.array([self.rough(float(order)) for order in orders])

    def same_moment(self, order: float) -> float:
        """Return `moment`, remembered for the last order asked for."""
        last: tuple[float, float] | None = self.__dict__.get("_last")
        if last is None or last[0] != order:
            last = order, self.moment(order)
            object.__setattr__(self, "_last", last)
        return last[1]

    @property
    def leaks(self) -> bool:
        """Whether L = inf really happens; False where `infinity` only holds a negligible rest that was cut off."""
        return self.infinity > 0

    offset: float = 0.0
    """One point of the lattice, where there is one."""

    def renyi(self, order: float) -> float:
        """Return an upper bound of K that holds for every pair of neighbors; at most `moment`."""
        return self.moment(order)

    def full_renyi(self, order: float) -> float:
        """Return an upper bound of K of everything: values that a table sent to infinity count with what they are."""
        return self.renyi(order)

    @property
    def full_top(self) -> float:
        """The largest loss of everything, beyond the end of a table as well."""
        return self.top

    def below(self) -> Loss | None:
        """Return an attained loss, for lower ends: this one, or one that it dominates; None if only 0 is known."""
        return self if self.attained else None

    apart: bool = False
    """Whether a single use reaches the profile by one pair of neighbors here and another there, so that several may
    reach less than its composition."""

    leans: bool = False
    """Whether every point of the profile is attained, by different pairs of neighbors: see `leaning`."""

    def lean(self, share: float) -> Loss | None:
        """Return the loss of one of these pairs, the one whose largest loss is this share of all; else as `below`."""
        del share
        return self.below()

    def solve(self, delta: float) -> tuple[float, float] | None:
        """Return roughly the epsilon of this delta for a single use and -d log(delta) / de there; None if unknown."""
        del delta
        return None

    @property
    def worst_of(self) -> tuple[Direction, ...]:
        """The compositions of which a single use is the worst, where these are known better than its pair."""
        return ()

    def tail(self, real: float, height: float) -> float:
        """Return an upper bound of log |M(real + i t)| over all t >= height.

        The default is the triangle inequality: no decay.
        """
        del height
        return self.same_moment(real)


@dataclass(frozen=True, slots=True)
class Direction:
    """The composition of losses in one direction: each loss with its count."""

    parts: tuple[tuple[Loss, int], ...]
    valid: float = -math.inf
    """Up to this epsilon what was taken out of the finite parts is known to count in full; see `jumps`."""
    doubt: float = 0.0
    """How much more than that it may count."""

    @property
    def missing(self) -> float:
        """The Q-probability of compositions that were taken out."""
        return -math.expm1(math.fsum(n * math.log1p(-loss.missing) for loss, n in self.parts))

    @property
    def outside(self) -> tuple[float, float, float, float, float]:
        """What contours must know of losses that are not in the finite part."""
        return self.infinity, self.certain, self.missing, self.valid, self.doubt

    @property
    def infinity(self) -> float:
        """Pr[L = inf] of the composition, 1 - prod (1 - p)^n without cancellation."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return min(self.parts[0][0].infinity, 1.0)
        total = math.fsum(n * math.log1p(-loss.infinity) for loss, n in self.parts if 0 < loss.infinity < 1)
        if any(loss.infinity >= 1 for loss, _ in self.parts):
            return 1.0
        return abs(math.expm1(total))

    @property
    def certain(self) -> float:
        """The part of `infinity` that is there for sure."""
        if any(loss.certain >= 1 for loss, _ in self.parts):
            return 1.0
        return abs(math.expm1(math.fsum(n * math.log1p(-loss.certain) for loss, n in self.parts if loss.certain > 0)))

    def trimmed(self, mass: float, order: float) -> Direction:
        """Send at most so much of the largest losses to infinity, an equal share for each use."""
        share = mass / max(sum(n for _, n in self.parts), 1)
        kept = tuple((loss.trimmed(share, order), n) for loss, n in self.parts)
        return (
            self
            if all(one is other for (one, _), (other, _) in zip(kept, self.parts, strict=True))
            else Direction(kept)
        )

    def rough(self, order: float) -> float:
        """K of the composition on the real axis, well enough for a search."""
        return math.fsum(n * loss.rough(order) for loss, n in self.parts)

    def roughs(self, orders: Reals) -> Reals:
        """K of the composition at many real orders, well enough for a search."""
        import numpy as np

        total = np.zeros(len(orders))
        for loss, count in self.parts:
            total += count * loss.roughs(orders)
        return total

    @property
    def top(self) -> float:
        """The largest finite loss, rounded up."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0].top
        total = math.fsum(n * loss.top for loss, n in self.parts)
        return total + 2 * ULP * abs(total)

    @property
    def least_top(self) -> float:
        """A lower bound of the largest finite loss."""
        total = math.fsum(n * loss.least_top for loss, n in self.parts)
        return total - 2 * ULP * abs(total)

    @property
    def pairless(self) -> bool:
        """Whether some part has no pair."""
        return any(loss.pairless for loss, _ in self.parts)

    @property
    def attained(self) -> bool:
        """Whether all parts are attained: one mechanism may consist of them all, and attains their composition."""
        return all(loss.attained for loss, _ in self.parts)

    def below(self) -> Direction:
        """The composition of what the parts are known to reach; this very object if that is everything."""
        if self.attained:
            return self
        lower = ((loss.below(), n) for loss, n in self.parts)
        return Direction(tuple((low, n) for low, n in lower if low is not None))

    def renyi(self, order: float) -> float:
        """The sum of the parts' bounds on K."""
        return math.fsum(n * loss.renyi(order) for loss, n in self.parts)

    def full_renyi(self, order: float) -> float:
        """The sum of the parts' bounds on K of everything."""
        return math.fsum(n * loss.full_renyi(order) for loss, n in self.parts)

    @property
    def full_top(self) -> float:
        """The largest loss of everything, rounded up."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0].full_top
        total = math.fsum(n * loss.full_top for loss, n in self.parts)
        return total + 2 * ULP * abs(total)

    @property
    def peak(self) -> float:
        """Log Pr[L = top], a lower bound; -inf if unknown."""
        if any(loss.peak <= 0 for loss, _ in self.parts):
            return -math.inf
        return math.fsum(n * math.log(loss.peak) for loss, n in self.parts) - 1e-12

    def moment(self, order: float) -> float:
        """K of the composition on the real axis."""
        return math.fsum(n * loss.moment(order) for loss, n in self.parts)

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K of the composition on a vertical line, with its error bound."""
        import numpy as np

        total = np.zeros(len(heights), dtype=np.complex128)
        error = np.zeros(len(heights))
        for loss, count in self.parts:
            values, errors = loss.line(real, heights)
            total += count * values
            error += count * errors + 2 * ULP * np.abs(count * values)
        return total, error

    def affordable(self, real: float, height: float) -> bool:
        """Whether a line up to this height can be summed for all parts."""
        return all(loss.affordable(real, height) for loss, _ in self.parts)

    def tail(self, real: float, height: float) -> float:
        """Bound log |M| above the height, for the composition."""
        return math.fsum(n * loss.tail(real, height) for loss, n in self.parts)


def within(logs: Complexes, errors: Reals) -> tuple[Complexes, Reals]:
    """Where a value is known less well than to itself, let the bound on its size stand for it.

    Given log v and e with |v - M| <= e |v|. For e > 1 take b = (1 + e) |v| >= |M| in place of v: it is off by at most
    2 b < (exp(1.1) - 1) b, while a relative error of e would count as exp(e) - 1.
    """
    import numpy as np

    vague = errors > 1
    if not vague.any():
        return logs, errors
    return np.where(vague, logs.real + np.log1p(errors), logs), np.where(vague, 1.1, errors)


def log_conversion(order: float) -> float:
    """Return log sup_x (1 - exp(-x)) exp(-order x), attained at x = log(1 + 1/order).

    With it E[(1 - exp(e - L))+] <= exp(K(s) - s e + log_conversion(s)): the improved conversion of Renyi divergence
    (Canonne, Kamath & Steinke 2020, arXiv:2004.00010, Proposition 12).
    """
    if order < 1e6:
        return order * math.log(order) - (order + 1) * math.log1p(order)
    return -math.log1p(order) - order * math.log1p(1 / order)


def log_conversions(orders: Reals) -> Reals:
    """Return `log_conversion` at many orders."""
    import numpy as np

    return np.asarray(-np.log1p(orders) - orders * np.log1p(1 / orders))
