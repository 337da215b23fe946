"""Reference values for very many sampled Gaussians at a tiny rate, apart from the package, in 80-bit floats.

As in `reference_fourier`, delta(epsilon) is an integral of M(s)^T exp(-s epsilon) / (s (s+1)) along a line. Here M - 1
is of the order of q^2, and T times its error counts. It is summed without cancellation: with r the likelihood ratio
and u = r - 1, under Q the mean of u is 0, so

    M(s) - 1 = E_Q[r^(1+s) - 1 - (1+s) u]    when a unit is removed,
    M(s) - 1 = E_Q[r^(-s) - 1 + s u]         when one is added,

by the trapezoidal rule in x, whose error falls exponentially. Sums of 10^4 terms with a relative error of 2^-64 each
leave T log M with an error far below 1e-12. Each value is computed on two lines with two spacings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

DONE = 1e-19
"""Nodes smaller than this share of the first one end the sum."""

BLOCK = 256
"""How many nodes are computed at once."""

CHUNK = 1 << 18
"""How many terms are held at once."""

MOST = 30_000
"""Nodes after which the integral is given up: it does not decay."""

LEAST = np.longdouble(2) ** -63 - 1
"""|M|^2 - 1 where |M| is lost in rounding: the integrand is nothing there."""

PI = np.longdouble("3.14159265358979323846264338327950288")

HEIGHT = 2.2
"""How many sigma^2 the integrand is continued into the complex plane at most."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Sampled Gaussians, `count` of them, in one direction."""

    sigma: float
    rate: str
    count: int
    removed: bool

    def table(self, delta: float, fastest: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return log r, r - 1 and weights under Q, for heights up to `fastest`.

        Values of x are left away of which `count` together have a probability below exp(-40) delta: this changes delta
        by no more, and the moments of what is left do not explode. Continued to x + i y the weights grow to
        exp(y^2 / (2 sigma^2)), and |r^(i t)| to exp(t arg r), whose argument rises with x. The spacing leaves exp(-60)
        of that; log r has its first branch point at y = pi sigma^2.
        """
        sigma, rate = np.longdouble(self.sigma), np.longdouble(self.rate)
        reach = self.sigma * math.sqrt(2 * (40 + math.log(self.count / delta)))
        low, high = -reach, 1 + reach
        height = min(HEIGHT * self.sigma**2, 5 * self.sigma)
        turn, last = height / self.sigma**2, math.exp(min((2 * high - 1) / (2 * self.sigma**2), 300.0))
        growth = math.atan2(float(rate) * last * math.sin(turn), 1 - float(rate) + float(rate) * last * math.cos(turn))
        spacing = 2 * PI / np.longdouble((75 + fastest * growth) / height)
        x = spacing * np.arange(math.floor(low / float(spacing)), math.ceil(high / float(spacing)), dtype=np.longdouble)
        u = rate * np.expm1((2 * x - 1) / (2 * sigma * sigma))
        weights = np.exp(-x * x / (2 * sigma * sigma)) * spacing / (sigma * np.sqrt(2 * PI))
        return np.log1p(u), u, weights

    def log_moments(self, line: float, heights: np.ndarray, table: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return count times log M at the points of a line."""
        losses, u, weights = table
        found = np.empty(len(heights), dtype=np.clongdouble)
        rows = max(CHUNK // len(losses), 1)
        for i in range(0, len(heights), rows):
            s = line + 1j * heights[i : i + rows, None]
            power = 1 + s if self.removed else -s
            less = (_expm1(power * losses) - power * u) @ weights
            found[i : i + rows] = self.count * _log1p(less)
        return found


def _expm1(z: np.ndarray) -> np.ndarray:
    """Return exp(z) - 1 of complex numbers: expm1(x) cos(y) - 2 sin(y/2)^2 + i exp(x) sin(y)."""
    half = np.sin(z.imag / 2)
    return np.asarray(np.expm1(z.real) * np.cos(z.imag) - 2 * half * half + 1j * np.exp(z.real) * np.sin(z.imag))


def _log1p(z: np.ndarray) -> np.ndarray:
    """Return log(1 + z) of complex numbers, with all digits of small ones."""
    size = np.maximum(z.real * (2 + z.real) + z.imag * z.imag, LEAST)
    return np.asarray(np.log1p(size) / 2 + 1j * np.arctan2(z.imag, 1 + z.real))


def place(law: Sampled, delta: float, share: float) -> tuple[float, float, float]:
    """Return a line, a bound on epsilon and a period whose aliases change delta by less than exp(-45), relatively.

    The line lies at this share of the order of the best bound by moments. The copy of the law on the left is at most
    exp(-c P) / delta, the one on the right, for any order d > c, at most exp(K(d) - d epsilon - (d - c) P) / delta.
    """
    rarity, table = -math.log(delta), law.table(delta, 0.0)

    def log_moment(c: float) -> float:
        return float(law.log_moments(c, np.zeros(1, dtype=np.longdouble), table)[0].real)

    def bound(c: float) -> float:
        return (log_moment(c) + rarity + c * math.log(c) - (1 + c) * math.log1p(c)) / c

    best, epsilon = 1e-2, bound(1e-2)
    for factor in (2.0, 1.2, 1.03):
        while (found := bound(best * factor)) < epsilon:
            best, epsilon = best * factor, found
        while (found := bound(best / factor)) < epsilon:
            best, epsilon = best / factor, found
    line = share * best
    further = [line * (1 + 0.05 * i) for i in range(1, 40)]
    right = min((45 + rarity + log_moment(d) - d * 0.8 * epsilon) / (d - line) for d in further)
    return line, epsilon, max((45 + rarity) / line, right) + epsilon


def moments_epsilon(law: Sampled, delta: float, variant: int) -> float:
    """Return epsilon in one direction, 0 if delta is never above the target.

    >>> removed = Sampled(2.0, "0.001", 1_000_000, removed=True)
    >>> round(moments_epsilon(removed, 1e-9, 0), 10)  # as in multiple precision
    3.1204361609
    """
    line, rough, period = place(law, delta, (0.8, 0.65)[variant])
    step = 2 * PI / np.longdouble(period * (1.0, 1.2)[variant])
    values = np.zeros(0, dtype=np.clongdouble)
    fastest = BLOCK * float(step)
    while True:
        heights = step * np.arange(len(values), len(values) + BLOCK, dtype=np.longdouble)
        while float(heights[-1]) > fastest:
            fastest *= 2
        s = line + 1j * heights
        table = law.table(delta, fastest * (1.0, 1.25)[variant])
        logs = law.log_moments(line, heights, table) - s * np.longdouble(rough)
        values = np.append(values, np.exp(logs) / (s * (s + 1)) * step / PI)
        if abs(values[-BLOCK:]).max() < DONE * abs(values[0]):
            break
        if len(values) > MOST:
            message = f"{law} at delta {delta}: the integral does not decay within {MOST} nodes"
            raise ArithmeticError(message)
    values[0] /= 2
    heights = step * np.arange(len(values), dtype=np.longdouble)
    low, high = 0.0, 1.2 * rough
    for _ in range(64):
        middle = 0.5 * (low + high)
        shift = np.longdouble(middle) - np.longdouble(rough)
        found = (values * np.exp(-(line + 1j * heights) * shift)).real.sum()
        low, high = (middle, high) if found > delta else (low, middle)
    return 0.5 * (low + high)
