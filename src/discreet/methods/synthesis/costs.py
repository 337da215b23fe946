"""What measurements and choices of a synthesizer cost, in one currency."""

from __future__ import annotations

from fractions import Fraction

from discreet.mechanisms import Exponential, Gaussian
from discreet.privacy.currencies import GDP

__all__ = ["cost_of"]

_RANGE = Fraction(3926990817, 10**10)
"""pi / 8, rounded up."""


def cost_of(mechanism: Gaussian | Exponential) -> GDP:
    r"""Return what one measurement, or one choice, costs of a budget in GDP.

    Noise N(0, sigma^2) on counts that move by at most d in L2 is (d / sigma)-GDP (Dong, Roth & Su 2022,
    arXiv:1905.02383, Theorem 2.7); rounding it to whole numbers is post-processing.

    The exponential mechanism with epsilon has losses within an interval of length epsilon (bounded range: Dong, Durfee
    & Rogers 2020, arXiv:1909.13830). Then it is (epsilon sqrt(2 pi) / 4)-GDP:

    1. Likelihood ratios with mean 1 between e^(t - epsilon) and e^t are spread furthest where they take the two ends
       alone, so the pair of neighbors is a post-processing of two coins with chances p and q, p / q = e^t and
       (1 - p) / (1 - q) = e^(t - epsilon) (Blackwell). The logits of p and q differ by exactly epsilon.
    2. The tradeoff of two coins is a broken line with one corner, and that of a Gaussian is convex with the same ends:
       it lies below if it does at the corner, which is mu >= Phi^-1(p) - Phi^-1(q).
    3. Along the logit u of p, Phi^-1 rises by p (1 - p) / phi(Phi^-1(p)), which is at most sqrt(2 pi) / 4: with z =
       Phi^-1(p), 4 Phi(z) Phi(-z) = 1 - (2 Phi(z) - 1)^2 <= e^(-z^2 / 2), as the square [-z, z]^2 holds the disc of
       radius z, whose probability is 1 - e^(-z^2 / 2).

    >>> cost_of(Gaussian(3, sigma=6, grid=1, inputs="snapped"))
    GDP(mu=0.5)
    >>> round(float(cost_of(Exponential(1, epsilon=2)).mu), 4)
    1.2533
    """
    if isinstance(mechanism, Gaussian):
        return GDP(mu_squared=(mechanism.moved / mechanism.sigma) ** 2, neighbors=mechanism.neighbors)
    return GDP(mu_squared=_RANGE * mechanism.epsilon**2, neighbors=mechanism.neighbors)
