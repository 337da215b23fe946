"""Reference values for sampled Gaussians at small rates, where Fourier integrals hardly decay; apart from the package.

P is the law of (1-q) N(0, s^2) + q N(1, s^2), Q that of N(0, s^2), r(x) = 1 - q + q exp(a(x)) their ratio at x and
a(x) = (2x-1) / (2 s^2). The divergence of k of them obeys

    delta_k(y) = integral of Q(x) r(x) delta_{k-1}(y - log r(x)) dx,

and delta_k(y) = 1 - exp(y) where y <= k log(1-q), the smallest loss. In y the profile has an essential singularity at
that edge; in the variable W with

    exp(y) = (1-q)^(k-1) (1 - q + q exp(W)),

it is smooth down to W = -infinity. In this variable the step has the same form for every k. The loss log r(x) reaches
the edge at x* = s^2 W + 1/2, where the rest of the integral is known, and below it y - log r(x) belongs to

    W'(x) = W + log(1-q) + log(1 - exp(-(x* - x) / s^2)) - log r(x) <= W.

When a unit is added the divergence at epsilon = -y is exp(-y) h_k(y), h_k(y) = delta_k(y) - 1 + exp(y); it obeys the
same equation, and is 0 where delta_k is known. With a piecewise polynomial this is one matrix for all steps. All terms
of all sums are positive but for interpolation weights, so double precision keeps relative errors. Whether panels and
quadrature suffice is seen from a second run with others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from mpmath import mp, mpf
from numpy.polynomial import chebyshev, legendre
from scipy.special import ndtr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Reals = NDArray[np.float64]

REACH = 9.5
"""Standard deviations after which a normal tail is below 1e-20."""

LEAST = 1e-45
"""Profiles below this are not told from 0; the smallest delta asked for is 1e-30."""

DEEP = 13.5
"""The same for 1e-40: adding a unit costs a delta of 1e-30 only deep in the tail."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How finely W is cut into panels, and x into panels of the quadrature."""

    panel: float
    degree: int
    order: int
    step: float


SETTINGS = (Settings(0.5, 15, 16, 0.5), Settings(0.37, 13, 14, 0.4))


class Panels:
    """Piecewise polynomials in W on Chebyshev points of panels of equal width, up to W = `last`."""

    def __init__(self, first: float, last: float, settings: Settings) -> None:
        """Place the points."""
        self.count = math.ceil((last - first) / settings.panel)
        self.size = settings.degree + 1
        self.first = last - self.count * settings.panel
        self.width = settings.panel
        self.points = chebyshev.chebpts1(self.size)
        places = self.first + self.width * (np.arange(self.count)[:, None] + 0.5 * (1 + self.points))
        self.places = places.ravel()
        self.weights = (-1.0) ** np.arange(self.size) * np.sin(np.pi * (2 * np.arange(self.size) + 1) / 2 / self.size)

    def spread(self, w: Reals, amounts: Reals) -> Reals:
        """Return the row that turns values at the places into the sum of amounts times the interpolant at w."""
        index = np.clip(((w - self.first) / self.width).astype(int), 0, self.count - 1)
        local = 2 * ((w - self.first) / self.width - index) - 1
        gaps = local[:, None] - self.points
        gaps[gaps == 0] = 1e-300
        basis = self.weights / gaps
        basis /= basis.sum(axis=1)[:, None]
        places = (index * self.size)[:, None] + np.arange(self.size)
        masses = (amounts[:, None] * basis).ravel()
        row = np.bincount(places.ravel(), weights=masses, minlength=self.count * self.size)
        return row.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Step:
    """One more mechanism: new = matrix @ old + known part, with sums over what lies below the first panel."""

    matrix: Reals
    below: Reals
    """The mass of P for which W' lies below the first panel."""
    slight: Reals
    """The same, each times q exp(W')."""
    single: Reals
    """delta_1 at the places: what lies beyond x*, for k = 1."""
    beyond: Reals
    """r(x*) times the mass of Q beyond x*."""


def single(w: float, sigma: float, rate: float, *, removed: bool = True) -> float:
    """Return delta_1 at W in multiple precision, q (Pr[N(1, s^2) > x*] - exp(W) Pr[N(0, s^2) > x*]), or h_1.

    >>> round(single(0.0, 1.0, 1.0), 6)  # sigma = 1, rate = 1, epsilon = 0: total variation
    0.382925
    """
    with mp.workdps(40):
        s, edge, sign = mpf(sigma), mpf(sigma) ** 2 * mpf(w) + mpf(1) / 2, 1 if removed else -1
        other, own = mp.ncdf(sign * (1 - edge) / s), mp.ncdf(-sign * edge / s)
        return float(mpf(rate) * sign * (other - mp.exp(mpf(w)) * own))


@cache
def gauss(order: int) -> tuple[Reals, Reals]:
    """Return nodes and weights on [-1, 1]."""
    nodes, weights = legendre.leggauss(order)
    return nodes, weights


def quadrature(edge: float, sigma: float, reach: float, settings: Settings) -> tuple[Reals, Reals]:
    """Return distances x* - x > 0 and weights: panels in x far from x*, in log(x* - x) near it."""
    nodes, weights = gauss(settings.order)
    near = min(sigma**2, sigma) * 0.25
    bottom = edge + reach * sigma  # the distance of the smallest x that counts
    logs = np.arange(math.log(near) - 42.0, math.log(min(near, bottom)), 2 * settings.step)
    logs = np.append(logs, math.log(min(near, bottom)))
    half = 0.5 * np.diff(logs)[:, None]
    z = (0.5 * (logs[1:] + logs[:-1])[:, None] + half * nodes).ravel()
    distances, amounts = np.exp(z), (half * weights).ravel() * np.exp(z)
    if bottom <= near:
        return distances, amounts
    count = max(math.ceil((bottom - near) / (settings.step * min(sigma, 2 * sigma**2))), 1)
    ends = np.linspace(near, bottom, count + 1)
    half = 0.5 * np.diff(ends)[:, None]
    far = (0.5 * (ends[1:] + ends[:-1])[:, None] + half * nodes).ravel()
    return np.append(distances, far), np.append(amounts, (half * weights).ravel())


def step_of(sigma: float, rate: float, panels: Panels, reach: float, settings: Settings) -> Step:
    """Tabulate one step."""
    size = len(panels.places)
    matrix, below, slight = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    for i, w in enumerate(panels.places):
        edge = sigma**2 * w + 0.5
        if edge + reach * sigma <= 0:
            continue
        distances, amounts = quadrature(edge, sigma, reach, settings)
        x = edge - distances
        ratio = 1 - rate + rate * np.exp((2 * x - 1) / (2 * sigma**2))
        masses = amounts * np.exp(-(x**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi)) * ratio
        after = w + math.log1p(-rate) + np.log(-np.expm1(-distances / sigma**2)) - np.log(ratio)
        inside = after >= panels.first
        matrix[i] = panels.spread(after[inside], masses[inside])
        below[i] = masses[~inside].sum()
        slight[i] = (masses[~inside] * rate * np.exp(after[~inside])).sum()
    edges = sigma**2 * panels.places + 0.5
    beyond = (1 - rate + rate * np.exp(panels.places)) * ndtr(-edges / sigma)
    alone = np.array([single(float(w), sigma, rate) for w in panels.places])
    return Step(matrix, below, slight, alone, beyond)


class Profiles:
    """The profiles of 1, 2, 3, ... sampled Gaussians, as far as `count` of them need for `delta`."""

    def __init__(self, sigma: float, rate: float, count: int, delta: float, variant: int = 0) -> None:
        """Tabulate one step."""
        self.rate, settings = rate, SETTINGS[variant]
        reach = DEEP if delta < 1e-15 else REACH
        first, last = -(reach * sigma + 0.5) / sigma**2, highest(sigma, rate, count, delta)
        self.panels = Panels(first, last, settings)
        self.step = step_of(sigma, rate, self.panels, reach, settings)
        self.count, self.removed = 1, self.step.single
        self.added = np.array([single(float(w), sigma, rate, removed=False) for w in self.panels.places])

    def advance(self, count: int) -> None:
        """Compose until there are so many."""
        keep, step = math.log1p(-self.rate), self.step
        for k in range(self.count + 1, count + 1):
            known = -math.expm1((k - 1) * keep) * (step.below + step.beyond) - math.exp((k - 2) * keep) * step.slight
            self.removed = step.matrix @ self.removed + step.single + known
            self.added = step.matrix @ self.added
        self.count = count

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Return epsilon when a unit is removed and when one is added, 0 if delta is never above the target."""
        removed = self._loss(solve(self.panels, _logs(self.removed), math.log(delta)))
        heights = _logs(self.added) - self._loss(self.panels.places)
        added = -float(self._loss(solve(self.panels, -heights, -math.log(delta))))
        return max(float(removed), 0.0), max(added, 0.0)

    def _loss(self, w: Reals | float) -> Reals:
        """Return y at W."""
        return np.asarray((self.count - 1) * math.log1p(-self.rate) + np.log1p(self.rate * np.expm1(w)))


def _logs(values: Reals) -> Reals:
    """Return logarithms; far beyond the answer a value may be lost in rounding, and even be negative."""
    kept = values > LEAST
    return np.where(kept, np.log(np.where(kept, values, 1.0)), math.log(LEAST))


def profile_epsilon(sigma: float, rate: float, count: int, delta: float, variant: int) -> float:
    """Return epsilon of `count` sampled Gaussians when a unit is removed.

    >>> round(profile_epsilon(2.0, 0.001, 2, 1e-6, 0), 12)  # as from the double integral
    0.003607664447
    """
    profiles = Profiles(sigma, rate, count, delta, variant)
    profiles.advance(count)
    return profiles.epsilon(delta)[0]


def highest(sigma: float, rate: float, count: int, delta: float) -> float:
    """Return a W beyond the answer's, from the bound of the moments; rough, as it only places the last panel."""
    x = np.linspace(-REACH * sigma, 62 + REACH * sigma, 20_000)
    losses = np.logaddexp(math.log1p(-rate), math.log(rate) + (2 * x - 1) / (2 * sigma**2))
    logs = -(x**2) / (2 * sigma**2) + math.log((x[1] - x[0]) / sigma / math.sqrt(2 * math.pi))
    found = math.inf
    for order in np.geomspace(1e-2, 60, 120):
        terms = (order + 1) * losses + logs
        peak = float(terms.max())
        moment = peak + math.log(float(np.exp(terms - peak).sum()))
        found = min(found, (count * moment - math.log(delta)) / float(order))
    shifted = found * 1.01 - (count - 1) * math.log1p(-rate)
    return math.log(math.expm1(shifted) / rate + 1)


def solve(panels: Panels, logs: Reals, target: float) -> float:
    """Return the W at which a falling logarithm passes the target, by bisection of its interpolant."""
    low, high = panels.first, panels.first + panels.count * panels.width
    for _ in range(60):
        middle = 0.5 * (low + high)
        row = panels.spread(np.array([middle]), np.ones(1))
        low, high = (middle, high) if float(row @ logs) > target else (low, middle)
    return 0.5 * (low + high)
