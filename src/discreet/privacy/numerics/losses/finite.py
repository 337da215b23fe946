"""Losses with finitely many values: randomized response, boxes, discrete noise, arbitrary finite pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.elementary import exp_minus, log1p
from discreet.privacy.numerics.losses.loss import ULP, Loss, within
from discreet.privacy.numerics.transform import exponential_sums

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals

FARTHEST = 300.0
"""Losses up to this have an exponential that may be multiplied and summed."""

FEW_POINTS = 16
"""A profile is summed anew at so few points; at more of them, once."""

HALF = 0.5
"""Where M - 1 is below minus this, M is summed by itself."""

MATRIX = 1 << 18
"""Entries of one block of exponentials."""


@dataclass(frozen=True, eq=False)
class FiniteLoss(Loss):
    """Finite values of L with their P-masses, in increasing order; the rest of the mass is at infinity.

    `floor` is the mass of Q where P has none: 1 - sum p exp(-L). It enters M - 1 below.
    """

    values: Reals
    masses: Reals
    infinity: float = 0.0
    span: float = 0.0
    floor: float = 0.0
    accuracy: float = field(default=16 * ULP)
    """Bound on the relative error of the masses and the absolute error of values relative to the largest."""

    ceiling: float | None = None
    """The largest value where it is known exactly."""

    cutoff: float = 0.0
    """The part of `infinity`, or of the largest value's mass, that was cut off and may lie lower."""

    mirror: float = 0.0
    """e where the values are -e and e with odds exp(e), scaled by 1 - infinity; 0 where they are not."""

    @property
    def offset(self) -> float:  # type: ignore[override]
        """The smallest value."""
        return float(self.values[0])

    @cached_property
    def top(self) -> float:  # type: ignore[override]
        """The largest finite loss, rounded up."""
        if self.ceiling is not None:
            return self.ceiling
        largest = float(self.values[-1]) if len(self.values) else 0.0
        return largest + self.accuracy * abs(largest)

    @property
    def full_top(self) -> float:
        """The largest value, unless a rest was cut off that may lie beyond it."""
        return math.inf if self.cutoff > 0 else self.top

    @property
    def peak(self) -> float:  # type: ignore[override]
        """The mass of the largest value."""
        return max(float(self.masses[-1]) * (1 - self.accuracy) - self.cutoff, 0.0) if len(self.values) else 0.0

    @property
    def least_top(self) -> float:
        """The largest value, rounded down, if it is there for sure."""
        if not self.peak > 0:
            return -math.inf
        if self.ceiling is not None:
            return self.ceiling * (1 - 1e-13)
        return float(self.values[-1]) - self.accuracy * abs(float(self.values[-1]))

    @property
    def unsure(self) -> float:
        """What was cut off."""
        return self.cutoff

    def delta(self, epsilon: Reals) -> Reals:
        """Pr[L = inf] + sum of p (1 - exp(e - L)) over L > e, from suffix sums of p and p exp(-L)."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        if len(self.values) <= 64:
            gaps = np.minimum(epsilon[..., None] - self.values, 0.0)
            return np.asarray(self.infinity - np.expm1(gaps) @ self.masses)
        flat = epsilon.ravel()
        if len(flat) > FEW_POINTS and max(-float(self.values[0]), float(self.values[-1])) <= FARTHEST:
            return self._between_corners(flat).reshape(epsilon.shape)
        starts = np.searchsorted(self.values, flat, side="right")
        out = np.empty(len(flat))
        for i, (e, start) in enumerate(zip(flat, starts, strict=True)):
            out[i] = self.infinity + float(-np.expm1(e - self.values[start:]) @ self.masses[start:])
        return out.reshape(epsilon.shape)

    def _between_corners(self, epsilon: Reals) -> Reals:
        """Follow the profile's lines in exp(epsilon) down from the next larger value: no digits cancel."""
        heights, under = self._corners
        place = np.minimum(np.searchsorted(self.values, epsilon, side="right"), len(self.values) - 1)
        value = self.values[place]
        rise = np.exp(value) * -np.expm1(np.minimum(epsilon - value, 0.0)) * under[place]
        return np.asarray(self.infinity + heights[place] + rise)

    @cached_property
    def _corners(self) -> tuple[Reals, Reals]:
        """The profile at each value, less what is at infinity, and Q's mass from each value on: sums of positives."""
        under = np.cumsum((self.masses * np.exp(-self.values))[::-1])[::-1]
        rises = np.exp(self.values[:-1]) * np.expm1(np.diff(self.values)) * under[1:]
        return np.append(np.cumsum(rises[::-1])[::-1], 0.0), under

    def slope(self, epsilon: Reals) -> Reals:
        """Q[L > e] = sum of p exp(-L)."""
        weights = self.masses * np.exp(-self.values)
        suffix = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        return np.asarray(suffix[np.searchsorted(self.values, np.asarray(epsilon), side="right")])

    def solve(self, delta: float) -> tuple[float, float] | None:
        """Between two values the profile is a line in exp(epsilon); find the piece by suffix sums, then the point."""
        if not len(self.values) or max(-float(self.values[0]), float(self.values[-1])) > FARTHEST:
            return None  # exp(L) leaves the floats
        growth = np.exp(self.values)
        under = (self.masses / growth)[::-1].cumsum()[::-1]
        over = self.masses[::-1].cumsum()[::-1] + self.infinity
        # The profile at each value, from the line on its left: below delta from some value on.
        fallen = over - growth * under <= delta
        # At the largest value it is 0, which rounding may put above a tiny delta: then the last piece holds the answer.
        fallen[-1] = True
        index = int(fallen.argmax())
        height, slope = float(over[index]) - delta, float(under[index])
        if not (slope > 0 and height > 0):
            return None
        return min(max(math.log(height / slope), 0.0), self.top), height / delta

    def moment(self, order: float) -> float:
        """K on the real axis."""
        if 0 < (order + 1) * self.mirror < FARTHEST:
            value, error = self._mirror_moment(order)
            return value + error
        values, errors = self.line(order, np.zeros(1))
        return float(values[0].real + errors[0])

    def rough(self, order: float) -> float:
        """K by the plain sum."""
        if 0 < (order + 1) * self.mirror < FARTHEST:
            return self._mirror_moment(order)[0]
        if not len(self.values):
            return -math.inf
        if order * self.values[-1] < 600 and order * self.values[0] > -600:
            beyond = float(self.masses @ np.expm1(order * self.values)) - self.infinity
            if beyond > -HALF:
                return math.log1p(beyond)
        return self.moment(order)

    def roughs(self, orders: Reals) -> Reals:
        """K at many orders by the plain sum."""
        heavy = self.masses > 0  # a value without mass says nothing
        values, masses = self.values[heavy], self.masses[heavy]
        if not len(values) or len(orders) * len(values) > MATRIX:
            return super().roughs(orders)
        logs = np.multiply.outer(orders, values)
        peaks = logs.max(axis=1)
        beyond = (np.expm1(np.minimum(logs, 600.0)) * masses).sum(axis=1) - self.infinity
        far = (peaks > 600) | (beyond < -HALF)  # near -1, M would have lost its digits
        moments = np.log1p(np.maximum(beyond, -HALF))
        if far.any():
            logs = logs[far] - peaks[far, None]
            moments[far] = peaks[far] + np.log((np.exp(logs) * masses).sum(axis=1))
        return np.asarray(moments)

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K; for small losses by M - 1 = sum p (exp(sL) - 1 + s (exp(-L) - 1)) - infinity (1 + s) + s floor."""
        largest = max(abs(float(self.values[0])), abs(float(self.values[-1]))) if len(self.values) else 0.0
        if 0 < (real + 1) * self.mirror < FARTHEST:
            return self._mirror_line(real, heights)
        if (real + 2) * largest < 1.0 and len(heights) * len(self.values) <= MATRIX:
            return self._near_one(real + 1j * heights)
        logs = real * self.values
        peak = float(logs.max(where=self.masses > 0, initial=-math.inf))  # a value without mass says nothing
        if peak == -math.inf:  # M = 0: the bound exp(-700) on it stands for it
            return np.full(len(heights), -700.0 + 0j), np.full(len(heights), 1.1)
        weights = self.masses * np.exp(np.minimum(logs - peak, 0.0))
        mass = float(weights.sum())
        heavy = np.flatnonzero(weights > 2.0**-70 * mass)
        keep = np.zeros(len(weights), dtype=np.bool_)
        keep[heavy[0] : heavy[-1] + 1] = True
        sums, error = _sums(self.values[keep], weights[keep], heights, self.span)
        noise = error + (self.accuracy * (1 + (real + heights) * largest) + 16 * ULP) * mass
        noise = noise + float(weights[~keep].sum())
        small = np.maximum(np.abs(sums), 1e-300)
        values, errors = within(np.log(np.where(sums == 0, 1e-300, sums)), noise / small)
        return peak + values, errors + ULP * abs(peak)

    def _mirror_line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K of two values -e and e: M = (1 - infinity) (1 + 2 sinh((s + 1) e/2) sinh(s e/2) / cosh(e/2)).

        Here cosh((s + 1/2) e) / cosh(e/2) is M given that the loss is finite, and the difference of two hyperbolic
        cosines is a product. Each argument is granted `accuracy` of itself, which moves a sine by at most that times
        the argument and the cosine of its real part.
        """
        e, grant = self.mirror, self.accuracy + 2 * ULP
        near, far = (0.5 * e) * (real + 1j * heights), (0.5 * e) * (real + 1 + 1j * heights)
        one, other = np.sinh(near), np.sinh(far)
        scale = 2 / math.cosh(0.5 * e)
        total = scale * (one * other)
        first, second = np.abs(one), np.abs(other)
        rise = math.cosh(0.5 * e * real), math.cosh(0.5 * e * (real + 1))
        moved = np.abs(near) * rise[0] * second + np.abs(far) * rise[1] * first
        error = scale * (grant * moved + (16 * ULP + e * self.accuracy) * first * second)
        level, doubt = self._level
        return level + log1p(total), error / np.abs(1 + total) + doubt

    def _mirror_moment(self, order: float) -> tuple[float, float]:
        """Return K on the real axis by the same formula, and its error."""
        e = self.mirror
        near, far = 0.5 * e * order, 0.5 * e * (order + 1)
        total = 2 * math.sinh(near) * math.sinh(far) / math.cosh(0.5 * e)
        # On the axis x cosh(x) <= (1 + x) sinh(x).
        grant = (self.accuracy + 2 * ULP) * (2 + near + far) + 16 * ULP + e * self.accuracy
        level, doubt = self._level
        return level + math.log1p(total), grant * total / (1 + total) + 2 * ULP * abs(math.log1p(total)) + doubt

    @cached_property
    def _level(self) -> tuple[float, float]:
        """log(1 - infinity) and its error."""
        level = math.log1p(-self.infinity)
        return level, self.accuracy * self.infinity / (1 - self.infinity) + 2 * ULP * abs(level)

    def _near_one(self, orders: Complexes) -> tuple[Complexes, Reals]:
        pieces = _second_order(orders[:, None], self.values)
        total = (pieces * self.masses).sum(axis=1) - self.infinity * (1 + orders) + orders * self.floor
        size = (np.abs(pieces) * self.masses).sum(axis=1) + (self.infinity + self.floor) * np.abs(1 + orders)
        return log1p(total), (self.accuracy + 8 * ULP) * size / np.abs(1 + total)


def _sums(values: Reals, weights: Reals, heights: Reals, span: float) -> tuple[Complexes, Reals]:
    """Return sum w exp(i t L) at each height t: a fast transform for many, repeated products on a lattice."""
    count = len(heights)
    step = float(heights[1]) if count > 1 else 0.0
    if count * len(values) > MATRIX and np.allclose(heights, step * np.arange(count), rtol=1e-13, atol=0.0):
        return exponential_sums(values, weights, step, count)
    spread = float((np.abs(weights) * np.abs(values)).sum())
    rounding = 16 * ULP * math.log2(len(values) + 2) * float(weights.sum())
    if span and len(values) > 8 and len(values) * count <= MATRIX and _even(values, span):
        waves = np.exp(1j * heights * float(values[0]))
        sums = waves * (_powers(np.exp(1j * heights * span), len(values)) * weights).sum(axis=1)
        return sums, 4 * ULP * spread * heights + 2 * rounding
    rows = max(1, MATRIX // len(values))
    sums = np.concatenate(
        [
            (np.exp(1j * np.multiply.outer(heights[i : i + rows], values)) * weights).sum(axis=1)
            for i in range(0, count, rows)
        ]
    )
    return sums, 2 * ULP * spread * heights + rounding


def _even(values: Reals, span: float) -> bool:
    """Whether the values are neighbors on their lattice, up to a few ulps."""
    expected = values[0] + span * np.arange(len(values))
    return bool(np.all(np.abs(values - expected) <= 4 * ULP * (np.abs(values) + abs(float(values[0])))))


def _powers(base: Complexes, count: int) -> Complexes:
    """Return base^0 .. base^(count - 1) along a new axis, each by log2(count) products."""
    table = np.ones((len(base), count), dtype=np.complex128)
    table[:, 1] = base
    done, power = 2, base * base
    while done < count:
        more = min(done, count - done)
        table[:, done : done + more] = table[:, :more] * power[:, None]
        done, power = done + more, power * power
    return table


def _second_order(orders: Complexes, values: Reals) -> Complexes:
    """Return exp(sL) - 1 + s (exp(-L) - 1), which is s (s + 1) L^2 / 2 + ..., without cancellation."""
    return exp_minus(orders * values) + orders * exp_minus(-values + 0j)


def combine(left: FiniteLoss, right: FiniteLoss) -> FiniteLoss:
    """Return the exact composition of two finite losses (the product of their values)."""
    values = np.add.outer(left.values, right.values).ravel()
    masses = np.multiply.outer(left.masses, right.masses).ravel()
    order = np.argsort(values, kind="stable")
    infinity = left.infinity + right.infinity - left.infinity * right.infinity
    floor = left.floor + right.floor - left.floor * right.floor
    accuracy = left.accuracy + right.accuracy + 4 * ULP
    cutoff = left.cutoff + right.cutoff
    return FiniteLoss(values[order], masses[order], infinity, 0.0, floor, accuracy, cutoff=cutoff)


def two_point(epsilon: float, infinity: float = 0.0) -> FiniteLoss:
    """Return the worst pair of an (epsilon, infinity) promise.

    Losses +-epsilon with odds exp(epsilon), scaled by 1 - infinity (Kairouz, Oh & Viswanath 2015, arXiv:1311.0776;
    Murtagh & Vadhan 2016).
    """
    if epsilon == 0:
        return FiniteLoss(np.zeros(1), np.array([1 - infinity]), infinity, 0.0, infinity, ceiling=0.0)
    fall = math.exp(-epsilon)
    masses = np.array([fall, 1.0]) * ((1 - infinity) / (1 + fall))
    values = np.array([-epsilon, epsilon])
    mirror = epsilon if infinity < 1 else 0.0
    return FiniteLoss(values, masses, infinity, 2 * epsilon, infinity, ceiling=epsilon, mirror=mirror)
