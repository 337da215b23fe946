"""Real-valued noise of scale 1, each family as a formula in uniform reals, written once for floats and big integers.

A family is sampled on a grid by `discreet.noise.sample`, and added to a value with a private scale by
`discreet.noise.rounded`.

>>> from discreet.noise import families
>>> families.Cauchy(exponent=4).uniforms
2
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, Self, TypeVar

from discreet.errors import ParameterError
from discreet.exact import Number, rational, shown

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


class Real(Protocol):
    """What a formula may do: `Interval` (one number, big integers) and `Box` (an array, floats) both offer it.

    >>> from fractions import Fraction
    >>> from discreet.exact import Interval
    >>> Interval.of(1, precision=8).exp().scaled(Fraction(1, 2))
    Interval(lo=347, hi=348, precision=8)
    """

    def __add__(self, other: Self, /) -> Self:
        """Add."""

    def __sub__(self, other: Self, /) -> Self:
        """Subtract."""

    def __mul__(self, other: Self, /) -> Self:
        """Multiply."""

    def __truediv__(self, other: Self, /) -> Self:
        """Divide."""

    def __neg__(self) -> Self:
        """Change the sign."""

    def constant(self, value: Fraction | int, /) -> Self:
        """Enclose a rational number."""

    def scaled(self, factor: Fraction, /) -> Self:
        """Multiply by a rational number."""

    def exp(self) -> Self:
        """Take the exponential."""

    def log(self) -> Self:
        """Take the logarithm."""

    def sqrt(self) -> Self:
        """Take the square root."""

    def power(self, exponent: Fraction, /) -> Self:
        """Take a rational power."""

    def sinh(self) -> Self:
        """Take the hyperbolic sine."""

    def cos_turn(self) -> Self:
        """Take the cosine of 2 pi x."""


R = TypeVar("R", bound=Real)


class Family(Hashable, Protocol):
    """A law of real noise with scale 1, as a function of independent uniform reals in (0, 1).

    >>> from fractions import Fraction
    >>> from discreet.exact import Interval
    >>> from discreet.noise.families import Laplace
    >>> half = Interval.of(Fraction(1, 2), precision=8)
    >>> Laplace().value([half, half]).contains(Fraction(0))
    True
    """

    @property
    def uniforms(self) -> int:
        """How many uniform reals one draw takes."""

    def value(self, u: Sequence[R], /) -> R:
        """Enclose the noise."""

    def margin(self, u: Sequence[R], /) -> R | None:
        """Enclose a number that is at least 0 where these uniforms are kept; None where all are."""


class _AllKept:
    """A family that keeps every draw."""

    __slots__ = ()

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None


@dataclass(frozen=True, slots=True)
class Laplace(_AllKept):
    """Density exp(-|z|) / 2: the difference of two exponential variables, log U - log V.

    >>> Laplace().uniforms
    2
    """

    uniforms: ClassVar[int] = 2

    def value(self, u: Sequence[R], /) -> R:
        """Enclose log U - log V."""
        return u[0].log() - u[1].log()


def _either_side(u: R) -> R:
    """Enclose 2 U - 1, a uniform on (-1, 1)."""
    return u.scaled(Fraction(2)) - u.constant(1)


def standard_normal(u: R, v: R) -> R:
    """Enclose sqrt(-2 log U) cos(2 pi V): a standard normal variable (Box, Muller 1958).

    >>> from discreet.exact import Interval
    >>> z = standard_normal(Interval.of(Fraction(1, 2), 64), Interval.of(0, 64))
    >>> 1.1774 < z.lower < z.upper < 1.1775
    True
    """
    return u.log().scaled(Fraction(-2)).sqrt() * v.cos_turn()


@dataclass(frozen=True, slots=True)
class Gaussian(_AllKept):
    """The standard normal law.

    >>> Gaussian().uniforms
    2
    """

    uniforms: ClassVar[int] = 2

    def value(self, u: Sequence[R], /) -> R:
        """Enclose a standard normal variable."""
        return standard_normal(u[0], u[1])


@dataclass(frozen=True, slots=True)
class Exponential(_AllKept):
    """Density exp(-z) for z > 0.

    >>> Exponential().uniforms
    1
    """

    uniforms: ClassVar[int] = 1

    def value(self, u: Sequence[R], /) -> R:
        """Enclose -log U."""
        return -u[0].log()


@dataclass(frozen=True, slots=True)
class Gumbel(_AllKept):
    """Distribution function exp(-exp(-z)).

    >>> Gumbel().uniforms
    1
    """

    uniforms: ClassVar[int] = 1

    def value(self, u: Sequence[R], /) -> R:
        """Enclose -log(-log U)."""
        return -(-u[0].log()).log()


@dataclass(frozen=True, slots=True)
class Cauchy:
    """Density proportional to 1 / (1 + |z|**exponent), exponent > 1 (Nissim, Raskhodnikova, Smith 2007, Lemma 2.7).

    With g the exponent, Y = |z|**g has density proportional to y**(1/g - 1) / (1 + y), so Y is X / (1 - X) for a
    beta variable X with parameters 1/g and 1 - 1/g. Jöhnk 1964 makes it from two uniforms S, V, kept if
    S**g + V**(g/(g-1)) <= 1, as S**g / (S**g + V**(g/(g-1))); hence |z| = S / V**(1/(g-1)). A uniform on (-1, 1) for S
    brings the sign. For g = 2 this is the ratio of two coordinates in the half disk, the Cauchy law.

    >>> Cauchy(4).exponent, Cauchy("1.5").exponent
    (Fraction(4, 1), Fraction(3, 2))
    """

    uniforms: ClassVar[int] = 2
    exponent: Fraction

    def __init__(self, exponent: Number = 4) -> None:
        value = rational(exponent, name="exponent")
        if not Fraction(101, 100) <= value <= 100:
            msg = f"exponent is {shown(exponent)}; it must be from 1.01 to 100: at 1 the density has no finite mass."
            raise ParameterError(msg)
        object.__setattr__(self, "exponent", value)

    def value(self, u: Sequence[R], /) -> R:
        """Enclose S / V**(1/(g-1))."""
        side = _either_side(u[0])
        return side * u[1].power(-1 / (self.exponent - 1))

    def margin(self, u: Sequence[R], /) -> R | None:
        """Enclose 1 - |S|**g - V**(g/(g-1))."""
        side = _either_side(u[0])
        first = (side * side).power(self.exponent / 2)
        return u[0].constant(1) - first - u[1].power(self.exponent / (self.exponent - 1))


@dataclass(frozen=True, slots=True)
class StudentT(_AllKept):
    """Density proportional to (1 + z**2 / d)**(-(d + 1) / 2) with d >= 1 degrees of freedom.

    sqrt(d (U**(-2/d) - 1)) cos(2 pi V) has this law for every real d (Bailey 1994, "Polar generation of random variates
    with the t-distribution"). For smooth sensitivity see Bun, Steinke 2019 (arXiv:1906.02830).

    >>> StudentT(3).degrees
    Fraction(3, 1)
    """

    uniforms: ClassVar[int] = 2
    degrees: Fraction

    def __init__(self, degrees: Number = 3) -> None:
        value = rational(degrees, name="degrees")
        if not 1 <= value <= 1000:
            msg = f"degrees is {shown(degrees)}; it must be from 1 to 1000."
            raise ParameterError(msg)
        object.__setattr__(self, "degrees", value)

    def value(self, u: Sequence[R], /) -> R:
        """Enclose sqrt(d (U**(-2/d) - 1)) cos(2 pi V)."""
        stretched = (u[0].power(-2 / self.degrees) - u[0].constant(1)).scaled(self.degrees)
        return stretched.sqrt() * u[1].cos_turn()


@dataclass(frozen=True, slots=True)
class PolyPlace(_AllKept):
    """Density (1 + |z| / tail)**(-tail - 1) / 2: flat like Laplace noise in the middle, a power law far out.

    |z| = tail (U**(-1/tail) - 1) has the tail Pr[|z| > r] = (1 + r / tail)**-tail, which is exp(-r) as the tail grows.
    With U = |S| for S uniform on (-1, 1), S brings the sign. For smooth sensitivity with pure differential privacy;
    the family that Hladík, Tětek 2025 ("Smooth Sensitivity Revisited: Towards Optimality", FORC 2025) proposed.

    >>> PolyPlace(8).tail, PolyPlace("2.5").uniforms
    (Fraction(8, 1), 1)
    """

    uniforms: ClassVar[int] = 1
    tail: Fraction

    def __init__(self, tail: Number = 8) -> None:
        value = rational(tail, name="tail")
        if not Fraction(101, 100) <= value <= 2**20:
            msg = f"tail is {shown(tail)}; it must be from 1.01 to 2**20: at 1 the noise has no mean."
            raise ParameterError(msg)
        object.__setattr__(self, "tail", value)

    def value(self, u: Sequence[R], /) -> R:
        """Enclose tail sign(S) (|S|**(-1/tail) - 1)."""
        side = _either_side(u[0])
        square = side * side  # |S| = sqrt(S**2), sign(S) = S / |S|
        size = square.power(-1 / (2 * self.tail)) - u[0].constant(1)
        return (side * square.power(Fraction(-1, 2)) * size).scaled(self.tail)


@dataclass(frozen=True, slots=True, init=False)
class _Shaped(_AllKept):
    """A family with a shape."""

    shape: Fraction

    def __init__(self, shape: Number = 1) -> None:
        value = rational(shape, name="shape")
        if not 0 < value <= 10:
            msg = f"shape is {shown(shape)}; it must be above 0 and at most 10."
            raise ParameterError(msg)
        object.__setattr__(self, "shape", value)


@dataclass(frozen=True, slots=True, init=False)
class LaplaceLogNormal(_Shaped):
    """The product X exp(shape Y) of a Laplace variable X and a standard normal Y.

    Bun, Steinke 2019 (arXiv:1906.02830), Section 3.

    >>> LaplaceLogNormal("1/2").uniforms
    4
    """

    uniforms: ClassVar[int] = 4

    def value(self, u: Sequence[R], /) -> R:
        """Enclose (log U - log V) exp(shape Y)."""
        return (u[0].log() - u[1].log()) * standard_normal(u[2], u[3]).scaled(self.shape).exp()


@dataclass(frozen=True, slots=True, init=False)
class UniformLogNormal(_Shaped):
    """The product X exp(shape Y) of X uniform on (-1, 1) and a standard normal Y.

    Bun, Steinke 2019 (arXiv:1906.02830), Section 3.

    >>> UniformLogNormal(1).uniforms
    3
    """

    uniforms: ClassVar[int] = 3

    def value(self, u: Sequence[R], /) -> R:
        """Enclose (2 U - 1) exp(shape Y)."""
        side = _either_side(u[0])
        return side * standard_normal(u[1], u[2]).scaled(self.shape).exp()


@dataclass(frozen=True, slots=True, init=False)
class ArcsinhNormal(_Shaped):
    """sinh(shape Y) / shape for a standard normal Y: its inverse hyperbolic sine is normal.

    Bun, Steinke 2019 (arXiv:1906.02830), Section 3.

    >>> ArcsinhNormal(1).uniforms
    2
    """

    uniforms: ClassVar[int] = 2

    def value(self, u: Sequence[R], /) -> R:
        """Enclose sinh(shape Y) / shape."""
        return standard_normal(u[0], u[1]).scaled(self.shape).sinh().scaled(1 / self.shape)
