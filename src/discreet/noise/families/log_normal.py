"""Noise with log-normal tails, for smooth sensitivity with concentrated differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import Number, rational, shown
from discreet.noise.families.gaussian import standard_normal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.families.family import R

__all__ = ["ArcsinhNormal", "LaplaceLogNormal", "UniformLogNormal"]


def _shape(value: Number) -> Fraction:
    shape = rational(value, name="shape")
    if not 0 < shape <= 10:
        msg = f"shape is {shown(value)}; it must be above 0 and at most 10."
        raise ParameterError(msg)
    return shape


@dataclass(frozen=True, slots=True)
class LaplaceLogNormal:
    """The product X exp(shape Y) of a Laplace variable X and a standard normal Y.

    Bun, Steinke 2019 (arXiv:1906.02830), Section 3.

    >>> LaplaceLogNormal("1/2").uniforms
    4
    """

    shape: Fraction

    def __init__(self, shape: Number = 1) -> None:
        object.__setattr__(self, "shape", _shape(shape))

    @property
    def uniforms(self) -> int:
        """Four."""
        return 4

    def value(self, u: Sequence[R], /) -> R:
        """Enclose (log U - log V) exp(shape Y)."""
        return (u[0].log() - u[1].log()) * standard_normal(u[2], u[3]).scaled(self.shape).exp()

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None


@dataclass(frozen=True, slots=True)
class UniformLogNormal:
    """The product X exp(shape Y) of X uniform on (-1, 1) and a standard normal Y.

    Bun, Steinke 2019 (arXiv:1906.02830), Section 3.

    >>> UniformLogNormal(1).uniforms
    3
    """

    shape: Fraction

    def __init__(self, shape: Number = 1) -> None:
        object.__setattr__(self, "shape", _shape(shape))

    @property
    def uniforms(self) -> int:
        """Three."""
        return 3

    def value(self, u: Sequence[R], /) -> R:
        """Enclose (2 U - 1) exp(shape Y)."""
        side = u[0].scaled(Fraction(2)) - u[0].constant(1)
        return side * standard_normal(u[1], u[2]).scaled(self.shape).exp()

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None


@dataclass(frozen=True, slots=True)
class ArcsinhNormal:
    """sinh(shape Y) / shape for a standard normal Y: its inverse hyperbolic sine is normal.

    Bun, Steinke 2019 (arXiv:1906.02830), Section 3.

    >>> ArcsinhNormal(1).uniforms
    2
    """

    shape: Fraction

    def __init__(self, shape: Number = 1) -> None:
        object.__setattr__(self, "shape", _shape(shape))

    @property
    def uniforms(self) -> int:
        """Two."""
        return 2

    def value(self, u: Sequence[R], /) -> R:
        """Enclose sinh(shape Y) / shape."""
        return standard_normal(u[0], u[1]).scaled(self.shape).sinh().scaled(1 / self.shape)

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None
