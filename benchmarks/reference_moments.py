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

REACH = 11.0
"""Standard deviations after which a normal tail is below 1e-27."""

DONE = 1e-19
"""Nodes smaller than this share of the first one end the sum."""

BLOCK = 256
"""How many nodes are computed at once."""

PI = np.longdouble("3.14159265358979323846264338327950288")

HEIGHT = 2.2
"""How many sigma^2 the integrand is continued into the complex plane: log r has a branch point at pi sigma^2."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Sampled Gaussians, `count` of them, in one direction."""

    sigma: float
    rate: str
    count: int
    removed: bool

    def table(self, top: float, fastest: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return log r, r - 1 and weights under Q, for lines up to `top` and heights up to `fastest`.

        At height y = HEIGHT sigma^2 in the complex plane |r^(i t)| grows to exp(pi t) at most, but only where r is
        large; the spacing below leaves exp(-60) of it and is checked by the second run.
        """
        sigma, rate = np.longdouble(self.sigma), np.longdouble(self.rate)
        height = HEIGHT * self.sigma**2
        spacing = 2 * PI / np.longdouble((60 + fastest * HEIGHT) / height)
        low = -REACH * self.sigma - (0 if self.removed else top)
        high = REACH * self.sigma + (1 + top if self.removed else 1)
        x = spacing * np.arange(math.floor(low / float(spacing)), math.ceil(high / float(spacing)), dtype=np.longdouble)
        u = rate * np.expm1((2 * x - 1) / (2 * sigma * sigma))
        weights = np.exp(-x * x / (2 * sigma * sigma)) * spacing / (sigma * np.sqrt(2 * PI))
        return np.log1p(u), u, weights

    def log_moments(self, line: float, heights: np.ndarray, table: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return count times log M at the points of a line."""
        losses, u, weights = table
        found = np.empty(len(heights), dtype=np.clongdouble)
        for i, t in enumerate(heights):
            s = np.clongdouble(complex(line, 0)) + np.clongdouble(1j) * t
            power = 1 + s if self.removed else -s
            less = (weights * (_expm1(power * losses) - power * u)).sum()
            found[i] = self.count * _log1p(less)
        return found


def _expm1(z: np.ndarray) -> np.ndarray:
    """Return exp(z) - 1 of complex numbers: expm1(x) cos(y) - 2 sin(y/2)^2 + i exp(x) sin(y)."""
    half = np.sin(z.imag / 2)
    return np.asarray(np.expm1(z.real) * np.cos(z.imag) - 2 * half * half + 1j * np.exp(z.real) * np.sin(z.imag))


def _log1p(z: np.clongdouble) -> np.clongdouble:
    """Return log(1 + z) of a complex number, with all digits of a small one."""
    size = z.real * (2 + z.real) + z.imag * z.imag
    return np.clongdouble(np.log1p(size) / 2 + 1j * np.arctan2(z.imag, 1 + z.real))


def log_moment(law: Sampled, order: float) -> float:
    """Return count times log M at a real order; rough, as it only places the line."""
    table = law.table(order, 0.0)
    return float(law.log_moments(order, np.zeros(1, dtype=np.longdouble), table)[0].real)


def place(law: Sampled, delta: float, share: float) -> tuple[float, float, float]:
    """Return a line, a bound on epsilon and a period whose aliases change delta by less than exp(-45), relatively.

    The line lies at this share of the order of the best bound by moments. The copy of the law on the left is at most
    exp(-c P) / delta, the one on the right, for any order d > c, at most exp(K(d) - d epsilon - (d - c) P) / delta.
    """
    rarity = -math.log(delta)
    orders = [float(order) for order in np.geomspace(1e-2, 79, 160)]
    bounds = {}
    for c in orders:
        bounds[c] = (log_moment(law, c) + rarity + c * math.log(c) - (1 + c) * math.log1p(c)) / c
        if bounds[c] > 2 * min(bounds.values()):
            break
    best = min(bounds, key=bounds.__getitem__)
    line, epsilon = share * best, bounds[best]
    further = [line * (1 + 0.05 * i) for i in range(1, 40)]
    right = min((45 + rarity + log_moment(law, d) - d * 0.8 * epsilon) / (d - line) for d in further)
    return line, epsilon, max((45 + rarity) / line, right) + epsilon


def moments_epsilon(law: Sampled, delta: float, variant: int) -> float:
    """Return epsilon in one direction.

    >>> removed = Sampled(2.0, "0.001", 1_000_000, removed=True)
    >>> round(moments_epsilon(removed, 1e-9, 0), 10)  # as in multiple precision
    3.1204361609
    """
    line, rough, period = place(law, delta, (0.8, 0.65)[variant])
    step = 2 * PI / np.longdouble(period * (1.0, 1.2)[variant])
    values = np.zeros(0, dtype=np.clongdouble)
    fastest = 64.0
    while True:
        heights = step * np.arange(len(values), len(values) + BLOCK, dtype=np.longdouble)
        while float(heights[-1]) > fastest:
            fastest *= 2
        s = line + 1j * heights
        table = law.table(line, fastest * (1.0, 1.25)[variant])
        logs = law.log_moments(line, heights, table) - s * np.longdouble(rough)
        values = np.append(values, np.exp(logs) / (s * (s + 1)) * step / PI)
        if abs(values[-BLOCK:]).max() < DONE * abs(values[0]):
            break
    values[0] /= 2
    heights = step * np.arange(len(values), dtype=np.longdouble)
    low, high = 0.0, 2 * rough
    for _ in range(64):
        middle = 0.5 * (low + high)
        shift = np.longdouble(middle) - np.longdouble(rough)
        found = (values * np.exp(-(line + 1j * heights) * shift)).real.sum()
        low, high = (middle, high) if found > delta else (low, middle)
    return 0.5 * (low + high)
