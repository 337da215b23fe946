"""The only place where randomness is made: bits, and exact samplers.

Every sampler's output law is exactly the stated one, given uniform bits; no float decides an outcome without a
certified interval around it.

>>> from discreet.noise import discrete_laplace
>>> noisy_count = 1203 + discrete_laplace(scale=10)
>>> isinstance(noisy_count, int)
True
"""

from __future__ import annotations

from discreet.noise import families
from discreet.noise.bernoulli import bernoulli, bernoulli_exp, truthful
from discreet.noise.bits import SYSTEM, BitSource, SystemBits, permutation, uniform_integer
from discreet.noise.discrete_gaussian import discrete_gaussian
from discreet.noise.discrete_laplace import discrete_laplace
from discreet.noise.gaussian import gaussian, gaussian_steps
from discreet.noise.geometric import geometric
from discreet.noise.l2_laplace import l2_laplace
from discreet.noise.laplace import laplace, laplace_steps
from discreet.noise.rounded import rounded, sample
from discreet.noise.selection import exponential_race, gumbel_race, laplace_race, lotteries, lottery
from discreet.noise.staircase import staircase
from discreet.noise.subset import poisson_subset, subset

__all__ = [
    "SYSTEM",
    "BitSource",
    "SystemBits",
    "bernoulli",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_race",
    "families",
    "gaussian",
    "gaussian_steps",
    "geometric",
    "gumbel_race",
    "l2_laplace",
    "laplace",
    "laplace_race",
    "laplace_steps",
    "lotteries",
    "lottery",
    "permutation",
    "poisson_subset",
    "rounded",
    "sample",
    "staircase",
    "subset",
    "truthful",
    "uniform_integer",
]
