"""The Fourier integral behind the reference values, in multiple-precision arithmetic and apart from the package.

For a finite measure mu of losses with M(s) = integral of exp(s L), and c > 0,

    delta(epsilon) = (1/pi) Re integral over t > 0 of M(c+it) exp(-(c+it) epsilon) / ((c+it) (c+it+1)) dt.

The integral is a trapezoidal sum. Where a law has almost an atom, M hardly falls with t, and the integrand is
multiplied by erfc((t - center) / width) / 2: this convolves exp(c epsilon) delta(epsilon) with a narrow kernel, which
changes nothing where that function is smooth at the kernel's width. Whether it did is seen from a second run with other
settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from mpmath import mp, mpf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpmath import mpc

BITS = 160
"""Fractional bits of the rotating phases."""

DONE = mpf(10) ** -20
"""Nodes smaller than this share of the first one end the sum."""


class Law(Protocol):
    """A measure of losses."""

    def log_moment(self, s: float) -> float:
        """Return log M(s) for a real s, in ordinary precision: it only places the line."""
        ...

    def moments(self, c: mpf, step: mpf) -> Iterator[mpc]:
        """Yield M(c), M(c + i step), M(c + 2 i step), ..."""
        ...


@dataclass(frozen=True)
class Atoms:
    """Finitely many losses with their masses; also a fine quadrature of a density."""

    losses: tuple[mpf, ...]
    masses: tuple[mpf, ...]

    @cached_property
    def _floats(self) -> tuple[np.ndarray, np.ndarray]:
        logs = [float(mp.log(mass)) for mass in self.masses]
        return np.array([float(loss) for loss in self.losses]), np.array(logs)

    def log_moment(self, s: float) -> float:
        """Sum in floats."""
        losses, logs = self._floats
        exponents = s * losses + logs
        top = exponents.max()
        return float(top + np.log(np.exp(exponents - top).sum()))

    def moments(self, c: mpf, step: mpf) -> Iterator[mpc]:
        """Turn all phases by one step a time, in fixed point."""
        unit = mpf(2) ** BITS
        tilted = [mass * mp.exp(c * loss) for mass, loss in zip(self.masses, self.losses, strict=True)]
        total = mp.fsum(tilted)
        real = np.array([int(weight / total * unit) for weight in tilted], dtype=object)
        imaginary = np.zeros(len(real), dtype=object)
        turns = [mp.expj(step * loss) for loss in self.losses]
        cosine = np.array([int(turn.real * unit) for turn in turns], dtype=object)
        sine = np.array([int(turn.imag * unit) for turn in turns], dtype=object)
        while True:
            yield total * mp.mpc(mpf(int(real.sum())) / unit, mpf(int(imaginary.sum())) / unit)
            real, imaginary = (real * cosine - imaginary * sine) >> BITS, (real * sine + imaginary * cosine) >> BITS


@dataclass(frozen=True, slots=True)
class LaplaceLaw:
    """The loss of Laplace noise whose pure epsilon is `each`."""

    each: mpf

    def _moment(self, s: mpc) -> mpc:
        rise, fall = mp.exp(s * self.each), mp.exp(-(1 + s) * self.each)
        return (rise * (1 + s) + fall * s) / (1 + 2 * s)

    def log_moment(self, s: float) -> float:
        """Evaluate the formula."""
        return float(mp.log(self._moment(mpf(s))))

    def moments(self, c: mpf, step: mpf) -> Iterator[mpc]:
        """Evaluate the formula at each node."""
        k = 0
        while True:
            yield self._moment(mp.mpc(c, k * step))
            k += 1


def sampled_gaussian(sigma: mpf, rate: mpf, *, removed: bool, top: mpf, fastest: mpf) -> Atoms:
    """Tabulate the loss of a sampled Gaussian for lines up to c = `top` and t = `fastest`.

    The integrand in x is analytic for |Im x| < pi sigma^2; at height y the trapezoidal error is below
    exp(y t / sigma^2 + y^2 / (2 sigma^2) - 2 pi y / spacing), so the spacing below leaves about exp(-100).
    """
    height = min(mpf("2.5") * sigma**2, 5 * sigma)
    spacing = 2 * mp.pi / (fastest / sigma**2 + 120 / height)
    reach = 13 * sigma
    low, high = -reach - (0 if removed else top), 2 + reach + (top if removed else 0)
    losses, masses = [], []
    for i in range(int(low / spacing), int(high / spacing) + 1):
        x = i * spacing
        ratio = 1 - rate + rate * mp.exp((2 * x - 1) / (2 * sigma**2))
        density = mp.exp(-(x**2) / (2 * sigma**2)) / (sigma * mp.sqrt(2 * mp.pi)) * spacing
        losses.append(mp.log(ratio) if removed else -mp.log(ratio))
        masses.append(density * ratio if removed else density)
    return Atoms(tuple(losses), tuple(masses))


@dataclass(frozen=True, slots=True)
class Nodes:
    """The integrand without exp(-s epsilon) at the nodes of a line, times the trapezoidal weights."""

    line: mpf
    step: mpf
    values: tuple[mpc, ...]

    def delta(self, epsilon: mpf) -> mpf:
        """Return delta of the measure."""
        turn, phase, total = mp.expj(-self.step * epsilon), mp.mpf(1), mpf(0)
        for value in self.values:
            total += (value * phase).real
            phase *= turn
        return total * mp.exp(-self.line * epsilon)


def nodes_of(laws: Sequence[tuple[Law, int]], line: mpf, step: mpf, center: mpf, width: mpf) -> Nodes:
    """Sum along a line until the integrand, with its window, has died."""
    streams = [(law.moments(line, step), count) for law, count in laws]
    values: list[mpc] = []
    while True:
        t = len(values) * step
        s = mp.mpc(line, t)
        value = step / mp.pi / (s * (s + 1)) * mp.erfc((t - center) / width) / 2
        for stream, count in streams:
            value *= next(stream) ** count
        if values and abs(value) < DONE * abs(values[0]):
            return Nodes(line, step, tuple(values))
        values.append(value if values else value / 2)


def chernoff(laws: Sequence[tuple[Law, int]], chance: float, most: float) -> tuple[float, float]:
    """Return (c, epsilon): the best Chernoff bound for this chance over lines c up to `most`, in floats."""

    def bound(c: float) -> float:
        # (1 - exp(-x))+ <= exp(c x) c^c / (1 + c)^(1 + c), with equality at exp(-x) = c / (1 + c)
        factor = c * np.log(c) - (1 + c) * np.log1p(c)
        return (total_log_moment(laws, c) - float(np.log(chance)) + float(factor)) / c

    grid = [float(c) for c in np.geomspace(1e-3, most, 60)]
    start = min(grid, key=bound)
    fine = [float(c) for c in np.geomspace(start / 1.3, min(start * 1.3, most), 30)]
    best = min(fine, key=bound)
    return best, bound(best)


def total_log_moment(laws: Sequence[tuple[Law, int]], c: float) -> float:
    """Return the log-moment of the composition, in floats."""
    return sum(law.log_moment(c) * count for law, count in laws)


def period(laws: Sequence[tuple[Law, int]], line: float, epsilon: float, chance: float) -> float:
    """Return how far apart the copies of the law must lie so that they disturb delta by less than exp(-50), relatively.

    The copy on the left is at most exp(-c P) / delta; the one on the right, by Chernoff at any d > c, at most
    exp(K(d) - d epsilon - (d - c) P) / delta.
    """
    rarity = -float(np.log(chance))
    further = [line * factor for factor in (1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 2)]
    right = min((50 + rarity + total_log_moment(laws, d) - d * epsilon) / (d - line) for d in further)
    return max((50 + rarity) / line, right, 2 * epsilon)
