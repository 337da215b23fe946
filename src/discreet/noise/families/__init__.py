"""Real-valued noise of scale 1, each family as a formula in uniform reals.

A family is sampled on a grid by `discreet.noise.sample`, and added to a value with a private scale by
`discreet.noise.rounded`.

>>> from discreet.noise import families
>>> families.Cauchy(exponent=4).uniforms
2
"""

from __future__ import annotations

from discreet.noise.families.cauchy import Cauchy
from discreet.noise.families.extreme import Exponential, Gumbel
from discreet.noise.families.family import Family, Real
from discreet.noise.families.gaussian import Gaussian
from discreet.noise.families.laplace import Laplace
from discreet.noise.families.log_normal import ArcsinhNormal, LaplaceLogNormal, UniformLogNormal
from discreet.noise.families.polyplace import PolyPlace
from discreet.noise.families.student_t import StudentT

__all__ = [
    "ArcsinhNormal",
    "Cauchy",
    "Exponential",
    "Family",
    "Gaussian",
    "Gumbel",
    "Laplace",
    "LaplaceLogNormal",
    "PolyPlace",
    "Real",
    "StudentT",
    "UniformLogNormal",
]
