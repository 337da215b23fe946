"""Sums of losses with few values, enumerated: every mechanism's own sum first, equal losses joined, then two halves.

With the sum split into two independent halves, one of values l with masses m, the other with the profile D,

    delta(e) = Pr[some loss is infinite] + sum of m D(e - l),

where D(x) = sum of p (1 - exp(x - L)) over the values L > x of the other half comes from suffix sums of p and
p exp(-L). So the product of both halves is never listed. All terms are positive: there is no cut-off, no alias, and
rounding is relative to the probability of losses above e. See docs/proofs/privacy/contour.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.finite import FiniteLoss
from discreet.privacy.numerics.losses.loss import ULP
from discreet.privacy.numerics.solvers.contour import Inverse

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Direction, Reals

MOST_LISTED = 1 << 17
"""The values of the half whose profile is tabulated."""

MOST_SUMMED = 1 << 12
"""The values of the half that every answer is summed over."""

MOST_PRODUCTS = 1 << 18
"""The values of one product before equal ones are joined."""

FARTHEST = 150.0
"""Losses are at most this, so that p exp(-L) underflows only where that moves delta by less than UNDERFLOW."""

UNDERFLOW = 1e-240

MOST_STEPS = 1 << 12
"""The sums of one part on its own lattice; products of masses take the square of this at most."""

SAME = 2.0**-46
"""Neighboring values that differ by no more than this, relative to the largest, are joined."""


@dataclass(frozen=True)
class Atoms:
    """Increasing values with positive masses; the rest of the mass is at infinity."""

    values: Reals
    masses: Reals
    infinity: float
    blur: float
    """How far a value may be off."""
    doubt: float
    """How far a mass, or the one at infinity, may be off, relatively."""

    @property
    def reach(self) -> float:
        """The largest absolute value."""
        return float(np.abs(self.values).max())

    def joined(self, other: Atoms) -> Atoms:
        """Return the law of the sum; values that agree up to rounding are joined, and their distance is blur."""
        values = np.add.outer(self.values, other.values).ravel()
        order = np.argsort(values)
        values, masses = values[order], np.multiply.outer(self.masses, other.masses).ravel()[order]
        reach = self.reach + other.reach
        first = np.flatnonzero(np.append(True, np.diff(values) > SAME * reach))
        last = np.append(first[1:], len(values)) - 1
        width, most = float((values[last] - values[first]).max()), int((last - first).max()) + 1
        return Atoms(
            values[first],
            np.add.reduceat(masses, first),
            self.infinity + other.infinity * (1 - self.infinity),
            self.blur + other.blur + width + ULP * reach,
            (1 + self.doubt) * (1 + other.doubt) * (1 + ULP * (most + 4)) - 1 + ULP,
        )

    def times(self, count: int) -> Atoms | None:
        """Return the law of the sum of so many, by squaring; None where a product would be too long."""
        result: Atoms | None = None
        power = self
        while True:
            if count & 1:
                if result is not None and len(result.values) * len(power.values) > MOST_PRODUCTS:
                    return None
                result = power if result is None else result.joined(power)
            count >>= 1
            if not count:
                return result
            if len(power.values) ** 2 > MOST_PRODUCTS:
                return None
            power = power.joined(power)


class PositiveSum(Inverse):
    """A profile whose terms are all positive: it is as certain at 0 as anywhere."""

    def epsilon(self, delta: float, guess: float) -> tuple[float, float]:
        """Look at 0 first, where a composition may keep delta already."""
        return (0.0, 0.0) if self.delta(0.0)[1] <= delta else super().epsilon(delta, guess)


@dataclass(frozen=True)
class Enumerated(PositiveSum):
    """Both halves of a sum."""

    summed: Atoms
    listed: Atoms
    over: Reals
    """P-mass of the listed half from each value on, and 0 at the end."""
    under: Reals
    """Q-mass likewise."""
    cutoff: float
    """The mass that may lie lower than it is counted."""
    certain: float
    top: float
    real: float
    valid: float = -math.inf

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a certified (lower, upper): a little below and above epsilon, by as much as values may be off."""
        one, other = self.summed, self.listed
        blur = one.blur + other.blur + 2 * ULP * (one.reach + other.reach + abs(epsilon))
        rounding = ULP * (2 * math.isqrt(len(other.values)) + math.log2(len(one.values)) + 64)
        doubt = (1 + one.doubt) * (1 + other.doubt) * (1 + rounding) - 1
        infinity = one.infinity + other.infinity * (1 - one.infinity)
        over, under = self._sums(epsilon + blur)
        low = infinity + over - under - doubt * (infinity + over + under) - UNDERFLOW - self.cutoff
        over, under = self._sums(epsilon - blur)
        high = infinity + over - under + doubt * (infinity + over + under) + UNDERFLOW
        low = max(low, self.certain * (1 - doubt), 0.0)
        return min(low, 1.0), min(max(high, low), 1.0)

    def _sums(self, epsilon: float) -> tuple[float, float]:
        """Return P- and exp(epsilon) times Q-mass of all sums above epsilon."""
        points = epsilon - self.summed.values
        places = np.searchsorted(self.listed.values, points, side="right")
        over = self.summed.masses * self.over[places]
        # Beyond the largest listed value nothing is left, and the exponential need not be formed.
        growth = np.exp(np.minimum(points, self.listed.values[-1]))
        return float(over.sum()), float((self.summed.masses * growth * self.under[places]).sum())


def enumerated(direction: Direction, real: float = 1.0) -> Enumerated | None:
    """Return both halves; None where a part is no list of values, stands for a bound only, or there are too many."""
    uses = [(loss, n) for loss, n in direction.parts if isinstance(loss, FiniteLoss) and loss.attained]
    laws = laws_of(uses) if len(uses) == len(direction.parts) else None
    if not laws:
        return None
    listed = laws[0]
    summed = Atoms(np.zeros(1), np.ones(1), 0.0, 0.0, 0.0)
    for law in laws[1:]:
        if len(listed.values) * len(law.values) <= MOST_LISTED:
            listed = listed.joined(law)
        elif len(summed.values) * len(law.values) <= MOST_SUMMED:
            summed = summed.joined(law)
        else:
            return None
    if summed.reach + listed.reach > FARTHEST or len(listed.values) > MOST_LISTED:
        return None
    over, under = (_suffix_sums(x) for x in (listed.masses, listed.masses * np.exp(-listed.values)))
    return Enumerated(summed, listed, over, under, cutoff_of(uses), direction.certain, direction.top, real)


def cutoff_of(uses: list[tuple[FiniteLoss, int]]) -> float:
    """Return the mass of all uses that may lie lower than it is counted."""
    return math.fsum(n * loss.cutoff for loss, n in uses) * (1 + 4 * ULP)


def laws_of(uses: list[tuple[FiniteLoss, int]]) -> list[Atoms] | None:
    """Return the law of each mechanism's own sum, the longest first; None where there are too many values."""
    if not uses or not _short(uses):
        return None
    laws = []
    for loss, n in uses:
        heavy = loss.masses > 0
        if not heavy.any():
            return None
        values, masses = loss.values[heavy], loss.masses[heavy]
        reach = float(np.abs(values).max())
        # Masses may have been formed from values, whose error an exponential turns into a share.
        doubt = loss.accuracy * (1 + reach)
        one = Atoms(values, masses, loss.infinity, loss.accuracy * reach, doubt)
        span = loss.span or (float(values[-1] - values[0]) if len(values) == 2 else 0.0)
        law = _on_lattice(one, span, n) if span and n > 1 else one.times(n)
        if law is None:
            return None
        laws.append(law)
    return sorted(laws, key=lambda law: -len(law.values))


def _on_lattice(one: Atoms, span: float, count: int) -> Atoms | None:
    """Return the law of the sum of so many whose values are multiples of the span apart, up to a distance measured."""
    first = float(one.values[0])
    places = np.rint((one.values - first) / span).astype(np.int64)
    if count * int(places[-1]) >= MOST_STEPS:
        return None
    off = float(np.abs(one.values - (first + span * places)).max())
    masses = np.bincount(places, weights=one.masses)
    total, log_doubt = np.ones(1), 0.0
    for bit in f"{count:b}":
        # log_doubt bounds log((1 + doubt) of the power), which squaring doubles.
        total, log_doubt = np.convolve(total, total), 2 * log_doubt + ULP * (len(total) + 1)
        if bit == "1":
            total, log_doubt = np.convolve(total, masses), log_doubt + ULP * (len(masses) + 1)
    heavy = np.flatnonzero(total > 0)
    values = count * first + span * heavy
    blur = count * (one.blur + off + 4 * ULP * (one.reach + span * int(places[-1])))
    doubt = math.expm1(count * (math.log1p(one.doubt) + ULP * len(places)) + log_doubt) + 4 * ULP
    # 1 - (1 - p)^n rises with p by at most the share that p does.
    infinity = -math.expm1(count * math.log1p(-one.infinity)) if one.infinity < 1 else 1.0
    return Atoms(values, total[heavy], infinity, blur, doubt)


def _short(uses: list[tuple[FiniteLoss, int]]) -> bool:
    """Whether both halves together can hold all sums, by the numbers of different sums of each part and their reach."""
    room, reach = math.log(MOST_LISTED) + math.log(MOST_SUMMED), 0.0
    for loss, n in uses:
        count, size = len(loss.values), math.inf
        if n == 1:
            size = float(count)
        elif count == 2 or loss.span:
            steps = n * (round((loss.values[-1] - loss.values[0]) / loss.span) if loss.span else 1)
            size = steps + 1.0 if steps < MOST_STEPS else math.inf
        elif count < 8 and n < MOST_LISTED:
            size = float(math.comb(n + count - 1, count - 1))
        room -= math.log(max(size, 1.0))
        reach += n * max(-float(loss.values[0]), float(loss.values[-1])) if count else 0.0
        if room < 0 or reach > FARTHEST:
            return False
    return True


def _suffix_sums(terms: Reals) -> Reals:
    """Return the sum from each index on, and 0 at the end: within rows, then over rows, so few additions follow."""
    count = len(terms)
    side = math.isqrt(count) + 1
    rows = np.zeros(side * side)
    rows[:count] = terms[::-1]
    rows = rows.reshape(side, side).cumsum(axis=1)
    rows[1:] += rows[:-1, -1].cumsum()[:, None]
    return np.append(rows.ravel()[:count][::-1], 0.0)
