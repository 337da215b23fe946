"""Tumult Core: exact samplers in Python; its samplers are called directly, without its measurements' checks."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from tmlt.core.random import discrete_gaussian
from tmlt.core.random.continuous_gaussian import gaussian
from tmlt.core.random.laplace import laplace

from benchmarks.cases import Case, Family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.cases import Batch, Single

DISTRIBUTIONS = ("tmlt.core",)


def _repeat(draw: Single) -> Batch:
    return lambda n: [draw() for _ in range(n)]


def _difference(scale: int) -> Single:
    """Below scale 10 its geometric mechanism subtracts two geometric draws instead."""
    rate = 1 / Fraction(scale)
    geometric = discrete_gaussian._sample_geometric_exp_slow  # noqa: SLF001 - what AddGeometricNoise calls
    return lambda: geometric(rate) - geometric(rate)


def _rejection(scale: int) -> Single:
    sample = discrete_gaussian._sample_dlaplace  # noqa: SLF001 - what AddGeometricNoise calls from scale 10 on
    return lambda: sample(float(scale))


def single(case: Case) -> Single:
    """Return the sampler behind its geometric, discrete Gaussian, Laplace and Gaussian noise."""
    scale = case.scale
    match case.family:
        case Family.DISCRETE_LAPLACE if scale < 10:
            return _difference(scale)
        case Family.DISCRETE_LAPLACE:
            return _rejection(scale)
        case Family.DISCRETE_GAUSSIAN:
            return lambda: discrete_gaussian.sample_dgauss(scale * scale)
        case Family.LAPLACE:
            return lambda: laplace(0.0, float(scale))
        case Family.GAUSSIAN:
            return lambda: gaussian(float(scale * scale))


def batches(case: Case) -> Mapping[str, Batch]:
    """Return a loop over single draws: there is no other way."""
    if case == Case(Family.DISCRETE_LAPLACE, 1):
        return {"loop, two geometrics": _repeat(_difference(1)), "loop, by rejection": _repeat(_rejection(1))}
    return {"loop": _repeat(single(case))}


def references() -> Mapping[str, Batch]:
    """Nothing is timed beside the noise."""
    return {}
