"""Checks whether draws follow a law, with a false-alarm probability of 1e-9."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import integrate, stats

from discreet import noise
from discreet.noise import families
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise import BitSource

FALSE_ALARM = 1e-9
DRAWS = 100_000


def follows(draws: NDArray[np.int64], probability: Callable[[NDArray[np.int64]], NDArray[np.float64]]) -> bool:
    """Chi-square of integer draws: a cell per integer in the middle, joined so that each expects at least 25.

    The statistic's own error in the far tail is allowed for by a factor 10 in the bound's level.
    """
    low, high = int(np.quantile(draws, 0.0005)), int(np.quantile(draws, 0.9995))
    width = max(1, (high - low) // 400)
    edges = np.arange(low, high + width + 1, width)
    inside = np.array([probability(np.arange(a, b)).sum() for a, b in pairwise(edges)])
    return _chi_square(np.histogram(draws, bins=edges - 0.5)[0], inside, draws.size)


def follows_cdf(draws: NDArray[np.int64], cdf: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> bool:
    """Chi-square of rounded reals: integer k stands for [k - 1/2, k + 1/2)."""
    reach = np.unique((1.1 ** np.arange(200)).astype(np.int64))  # 1, 2, 3, … and then steps of ten percent
    edges = np.concatenate([-reach[::-1], [0], reach]) - 0.5
    return _chi_square(np.histogram(draws, bins=edges)[0], np.diff(cdf(edges)), draws.size)


def _chi_square(found: NDArray[np.intp], inside: NDArray[np.float64], count: int) -> bool:
    seen, expected = np.append(found, count - found.sum()), np.append(inside, max(1 - inside.sum(), 1e-12)) * count
    groups: list[tuple[float, float]] = []
    sums = [0.0, 0.0]
    for a, b in zip(seen, expected, strict=True):
        sums = [sums[0] + a, sums[1] + b]
        if sums[1] >= 25:
            groups.append((sums[0], sums[1]))
            sums = [0.0, 0.0]
    groups[-1] = (groups[-1][0] + sums[0], groups[-1][1] + sums[1])
    if len(groups) == 1:  # one value has all the mass: then all draws must show it
        return bool(abs(groups[0][0] - groups[0][1]) < 1)
    table = np.array(groups)
    statistic = ((table[:, 0] - table[:, 1]) ** 2 / table[:, 1]).sum()
    return bool(stats.chi2.sf(statistic, len(groups) - 1) > FALSE_ALARM / 10)


def has_moments(draws: NDArray[np.int64], mean: float, variance: float, fourth: float) -> bool:
    """Mean and variance within 6.5 standard errors, beyond which a normal variable lies with probability 8e-11."""
    count = draws.size
    close = abs(draws.mean() - mean) <= 6.5 * np.sqrt(variance / count)
    spread = np.mean((draws - mean) ** 2.0)
    return bool(close and abs(spread - variance) <= 6.5 * np.sqrt((fourth - variance**2) / count))


@dataclass(frozen=True)
class Law:
    """A sampler, the law it claims, and broken variants of the sampler that the check must reject."""

    name: str
    draw: Callable[[int, BitSource], NDArray[np.int64]]
    fits: Callable[[NDArray[np.int64]], bool]
    broken: Callable[[int, BitSource], NDArray[np.int64]]


def laplace_mass(scale: float) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    r = np.exp(-1 / scale)
    return lambda x: (1 - r) / (1 + r) * np.exp(-np.abs(x) / scale)


def gaussian_mass(sigma: float) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    reach = np.arange(-int(12 * sigma) - 12, int(12 * sigma) + 13)
    total = np.exp(-(reach**2.0) / (2 * sigma**2)).sum()
    return lambda x: np.exp(-(x**2.0) / (2 * sigma**2)) / total


def geometric_mass(scale: float) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    return lambda x: np.where(x >= 0, -np.expm1(-1 / scale) * np.exp(-x / scale), 0.0)


def staircase_mass(epsilon: float, period: int, near: int) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    b = np.exp(-epsilon)
    a = (1 - b) / (2 * near + 2 * b * (period - near) - (1 - b))
    return lambda x: a * b ** (np.abs(x) // period + (np.abs(x) % period >= near))


def cauchy_cdf(exponent: float) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """The beta law of |z|**g / (1 + |z|**g) gives the distribution function in closed form."""

    def cdf(x: NDArray[np.float64]) -> NDArray[np.float64]:
        y = np.abs(x) ** exponent
        inside = stats.beta.cdf(y / (1 + y), 1 / exponent, 1 - 1 / exponent)
        return 0.5 + np.sign(x) * inside / 2

    return cdf


def polyplace_cdf(x: NDArray[np.float64], tail: float) -> NDArray[np.float64]:
    far = (1 + np.abs(x) / tail) ** -tail / 2
    return np.where(x < 0, far, 1 - far)


def mixed_cdf(
    inner: Callable[[NDArray[np.float64]], NDArray[np.float64]], shape: float
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """The distribution function of X exp(shape Y): integrate X's over Y."""
    y = np.linspace(-9, 9, 2001)
    weight = stats.norm.pdf(y)
    return lambda x: integrate.simpson(inner(x[:, None] * np.exp(-shape * y)) * weight, x=y, axis=1)


Mass = Callable[["NDArray[np.int64]"], "NDArray[np.float64]"]
Cdf = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
Sampler = Callable[[int, "BitSource"], "NDArray[np.int64]"]
Scaled = Callable[[float], Sampler]


def _laplace(scale: float) -> Sampler:
    return lambda n, bits: noise.discrete_laplace(scale, n, bits)


def _gaussian(sigma: float) -> Sampler:
    return lambda n, bits: noise.discrete_gaussian(sigma, n, bits)


def _geometric(scale: float) -> Sampler:
    return lambda n, bits: noise.geometric(scale, n, bits)


def _grid_laplace(scale: float) -> Sampler:
    return lambda n, bits: noise.laplace_steps(scale, 1, n, bits)


def _grid_gaussian(sigma: float) -> Sampler:
    return lambda n, bits: noise.gaussian_steps(sigma, 1, n, bits)


def _staircase(epsilon: float, period: int, near: int) -> Sampler:
    return lambda n, bits: noise.staircase(epsilon, period, near, n, bits)


def _scaled(name: str, sampler: Scaled, mass: Callable[[float], Mass], scale: float, short: float) -> Law:
    """An integer law; its broken partner has a scale that is a few percent short."""
    return Law(f"{name} {scale}", sampler(scale), lambda d: follows(d, mass(scale)), sampler(scale * short))


def _rounded(name: str, sampler: Scaled, cdf: Cdf, scale: float) -> Law:
    """A rounded real law; its broken partner has a scale that is fifteen percent short."""
    return Law(
        f"{name} {scale}", sampler(scale), lambda d: follows_cdf(d, lambda x: cdf(x / scale)), sampler(scale * 0.85)
    )


def _stairs(epsilon: float, period: int, near: int) -> Law:
    """A staircase; its broken partner has lost its sign."""
    draw = _staircase(epsilon, period, near)
    return Law(
        f"staircase {epsilon} {period} {near}",
        draw,
        lambda d: follows(d, staircase_mass(epsilon, period, near)),
        lambda n, bits: np.abs(draw(n, bits)),
    )


def _integer_laws() -> list[Law]:
    laws = [_scaled("discrete Laplace", _laplace, laplace_mass, s, 0.93) for s in (0.3, 1, 3.7, 31, 33, 1000, 1e6)]
    sigmas = (0.4, 1, 2.5, 15.9, 16.1, 70, 1000, 100_000)
    laws += [_scaled("discrete Gaussian", _gaussian, gaussian_mass, s, 0.95) for s in sigmas]
    laws += [_scaled("geometric", _geometric, geometric_mass, s, 0.93) for s in (0.5, 5, 400)]
    return laws + [_stairs(*each) for each in ((1, 5, 2), (0.2, 3, 3), (2, 1, 1))]


def _real(name: str, family: families.Family, cdf: Cdf) -> Law:
    """A family with a scale of 8 on the integers."""
    return _rounded(name, lambda scale: lambda n, bits: noise.sample(family, scale, 1, n, bits), cdf, 8)


def _real_laws() -> list[Law]:
    laws = [
        _real("Laplace", families.Laplace(), stats.laplace.cdf),
        _real("Gaussian", families.Gaussian(), stats.norm.cdf),
        _real("Cauchy 2", families.Cauchy(2), stats.cauchy.cdf),
        _real("Cauchy 4", families.Cauchy(4), cauchy_cdf(4)),
        _real("Cauchy 1.5", families.Cauchy("1.5"), cauchy_cdf(1.5)),
        _real("Student 1.5", families.StudentT("1.5"), stats.t(1.5).cdf),
        _real("Student 3", families.StudentT(3), stats.t(3).cdf),
        _real("Laplace log-normal", families.LaplaceLogNormal("0.7"), mixed_cdf(stats.laplace.cdf, 0.7)),
        _real("uniform log-normal", families.UniformLogNormal(1), mixed_cdf(stats.uniform(-1, 2).cdf, 1.0)),
        _real("arcsinh normal", families.ArcsinhNormal(2), lambda x: stats.norm.cdf(np.arcsinh(2 * x) / 2)),
        _real("PolyPlace 3", families.PolyPlace(3), lambda x: polyplace_cdf(x, 3)),
        _real("PolyPlace 200", families.PolyPlace(200), lambda x: polyplace_cdf(x, 200)),
        _real("exponential", families.Exponential(), stats.expon.cdf),
        _real("Gumbel", families.Gumbel(), lambda x: np.exp(-np.exp(-np.maximum(x, -9)))),
    ]
    for ratio in (0.4, 3, 5000):
        laws.append(_rounded("grid Laplace", _grid_laplace, stats.laplace.cdf, ratio))
        laws.append(_rounded("grid Gaussian", _grid_gaussian, stats.norm.cdf, ratio))
    return laws


LAWS = _integer_laws() + _real_laws()
__all__ = ["DRAWS", "FALSE_ALARM", "LAWS", "Law", "ReplayBits", "follows", "follows_cdf", "has_moments", "stats"]
