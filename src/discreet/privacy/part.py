"""What a curve is made of: one mechanism's pair in both directions, as a frozen value.

A part answers for itself; accountants only compose what parts return.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import fields, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.errors import ParameterError
from discreet.exact import Number, exact_text, float_up, rational, shown
from discreet.privacy.enclosures import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.privacy.numerics.losses.loss import Loss

__all__ = [
    "Noise",
    "Part",
    "Symmetric",
    "as_float",
    "pair_of",
    "read_positive",
    "read_probability",
    "read_whole",
    "require_positive",
    "require_probability",
    "require_size",
    "require_whole",
    "rho_of",
]

_LARGEST = 10**60
_LONGEST = 4096  # binary digits above or below the line


OPERATIONS: dict[str, Callable[..., Any]] = {}
"""What turns a curve into another (`subsample`, `group`, `parallel`), entered by the files of `curves`."""

READERS: dict[str, Callable[[Any], object]] = {}
"""How a nested value is read back from JSON, entered by the file that owns it."""


class Part(ABC):
    """One mechanism inside a curve.

    Subclasses are frozen dataclasses whose fields are fractions, integers, texts, curves or tuples of these, so that
    they hash, compare and travel through JSON unchanged.

    >>> from discreet.privacy.curves.gaussian import GaussianPair
    >>> from fractions import Fraction
    >>> GaussianPair(Fraction(2), Fraction(1)).fields()
    {'sigma': '2', 'sensitivity': '1'}
    """

    __slots__ = ()

    kind: ClassVar[str]
    kinds: ClassVar[dict[str, type[Part]]] = {}

    def __post_init__(self) -> None:
        """Refuse numbers that no such mechanism has, wherever the part comes from: a constructor, a group, JSON."""
        self.check()

    def check(self) -> None:
        """Refuse fields of a wrong type or size with a sentence that names the field.

        Fractions are positive, and whole numbers at least 1, unless a part says otherwise.
        """
        for item in fields(self):  # type: ignore[arg-type]
            require = require_whole if item.type == "int" else require_positive
            require(getattr(self, item.name), item.name)

    def __init_subclass__(cls) -> None:
        """Register the kind, so that JSON finds its class."""
        if "kind" in cls.__dict__:
            Part.kinds[cls.kind] = cls

    @abstractmethod
    def losses(self) -> tuple[Loss, Loss]:
        """Return the losses of (with the unit against without it) and of the reverse; the same object if they agree."""

    def rho(self) -> Fraction | None:
        """Return a rho such that rho-zCDP holds, or None where none is known.

        epsilon^2 / 2 where epsilon-DP holds: Bun & Steinke 2016 (arXiv:1605.02065), Proposition 1.4.
        """
        epsilon = self.pure()
        return None if epsilon is None else epsilon**2 / 2

    def pure(self) -> Fraction | None:
        """Return an epsilon such that epsilon-DP holds, exactly as it was stated; None where floats alone know it."""
        return None

    @property
    def failure(self) -> Fraction | None:
        """The stated probability of an infinite loss, the same in both directions; None if it is not one number."""
        return None

    def infinite(self, side: int) -> tuple[Fraction, Fraction] | None:
        """Return bounds, exact where they can be, on the chance of an infinite loss; None where it is not known.

        Side 0 is with the unit against without it, side 1 the reverse.
        """
        del side
        return None if self.failure is None else (self.failure, self.failure)

    def kept(self) -> Part | None:
        """Return the same mechanism given that its stated failure does not happen; None if nothing is left of it."""
        return self

    def grouped(self, size: int) -> Part | None:
        """Return the same mechanism for groups of `size` units where that has a formula; None otherwise."""
        del size
        return None

    def fields(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {item.name: _encode(getattr(self, item.name)) for item in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_fields(cls, record: dict[str, Any]) -> Part:
        """Read what `fields` wrote."""
        return cls(**{name: _decode(value) for name, value in record.items()})

    @property
    def key(self) -> str:
        """A text by which parts are put into a canonical order."""
        return f"{self.kind}:{json.dumps(self.fields())}"


class Symmetric(Part):
    """A mechanism that loses the same in both directions.

    >>> from discreet.privacy.curves.pure import PureBound
    >>> forward, reverse = PureBound(Fraction(1)).losses()
    >>> forward is reverse
    True
    """

    __slots__ = ()

    @abstractmethod
    def loss(self) -> Loss:
        """Return the loss of either direction."""

    def losses(self) -> tuple[Loss, Loss]:
        """The same object twice."""
        loss = self.loss()
        return loss, loss


class Noise(Symmetric):
    """Noise on a value that one unit moves by at most the sensitivity.

    >>> from discreet.privacy.curves.gaussian import GaussianPair
    >>> GaussianPair(Fraction(2), Fraction(1)).grouped(3)
    GaussianPair(sigma=Fraction(2, 1), sensitivity=Fraction(3, 1))
    """

    __slots__ = ()

    sensitivity: Any  # a fraction, or a whole number

    def grouped(self, size: int) -> Part:
        """A group moves the value by at most size times the sensitivity."""
        return replace(self, sensitivity=shortened(self.sensitivity * size))  # type: ignore[type-var]


@lru_cache(maxsize=512)
def pair_of(part: Part) -> tuple[Loss, Loss]:
    """Return the losses of a part, kept for the parts used last.

    >>> from discreet.privacy.curves.gaussian import GaussianPair
    >>> from fractions import Fraction
    >>> pair_of(GaussianPair(Fraction(2), Fraction(1)))[0].moment(1.0)
    0.25
    """
    return part.losses()


def rho_of(terms: Sequence[tuple[Part, int]]) -> Fraction | None:
    """Return the sum of the parts' rhos; None where some part has none.

    >>> from discreet.privacy.curves.gaussian import GaussianPair
    >>> rho_of([(GaussianPair(Fraction(2), Fraction(1)), 4)])
    Fraction(1, 2)
    """
    rhos = [(part.rho(), count) for part, count in terms]
    return None if any(rho is None for rho, _ in rhos) else sum((n * rho for rho, n in rhos if rho), Fraction(0))


def _encode(value: object) -> object:
    """Write a field: fractions as text, so that nothing is rounded."""
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, (int, str)):
        return value
    return value.record()  # type: ignore[attr-defined]


def _decode(value: object) -> object:
    """Read a field."""
    if isinstance(value, str):
        return rational(value)
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if isinstance(value, dict):
        return READERS["curve"](value)
    return value


def read_positive(value: Number, name: str, meaning: str) -> Fraction:
    """Read a number that must be positive and whose size a float can hold.

    >>> read_positive("0.5", "sigma", "the noise's standard deviation")
    Fraction(1, 2)
    """
    number = rational(value, name=name)
    if number.numerator <= 0:
        msg = f"{name} is {shown(value)}; {meaning} must be positive, such as {name}=1."
        raise ParameterError(msg)
    return require_positive(number, name)


def read_probability(value: Number, name: str) -> Fraction:
    """Read a number between 0 and 1.

    >>> read_probability("1/3", "rate")
    Fraction(1, 3)
    """
    return require_probability(rational(value, name=name), name)


def read_whole(value: int, name: str, meaning: str) -> int:
    """Read a whole number of at least 1.

    >>> read_whole(3, "sensitivity", "integer noise needs an integer sensitivity")
    3
    """
    number = rational(value, name=name)
    if number.denominator != 1 or number.numerator < 1:
        msg = f"{name} is {shown(value)}; {meaning}, at least 1. Snap the bounds to the grid first."
        raise ParameterError(msg)
    return require_whole(number.numerator, name)


def require_size(value: Fraction, name: str) -> Fraction:
    """Return a fraction of at least 0 that is not beyond what curves compute with.

    >>> require_size(Fraction(0), "epsilon")
    Fraction(0, 1)
    """
    if not isinstance(value, Fraction) or value.numerator < 0:
        msg = f"{name} is {shown(value)}; it must be a fraction of at least 0."
        raise ParameterError(msg)
    numerator, denominator = value.as_integer_ratio()
    if numerator > _LARGEST * denominator:
        msg = f"{name} is {shown(value)}; curves compute with numbers up to 1e60. Rescale the data, or ask for less."
        raise ParameterError(msg)
    if max(numerator.bit_length(), denominator.bit_length()) > _LONGEST:
        msg = f"{name} has more than {_LONGEST} binary digits; round it to a float first, toward less privacy."
        raise ParameterError(msg)
    return value


def require_positive(value: Fraction, name: str) -> Fraction:
    """Return a fraction above 0 that floats can hold with room to spare.

    >>> require_positive(Fraction(1, 2), "sigma")
    Fraction(1, 2)
    """
    if require_size(value, name).numerator * _LARGEST < value.denominator:
        msg = f"{name} is {shown(value)}; it must lie between 1e-60 and 1e60. Rescale the data."
        raise ParameterError(msg)
    return value


def require_probability(value: Fraction, name: str) -> Fraction:
    """Return a fraction between 0 and 1.

    >>> require_probability(Fraction(1, 2), "rate")
    Fraction(1, 2)
    """
    if require_size(value, name).numerator > value.denominator:
        msg = f"{name} is {shown(value)}; it must lie between 0 and 1, such as {name}=0.01."
        raise ParameterError(msg)
    return value


def require_whole(value: int, name: str, *, least: int = 1, most: int = 10**60) -> int:
    """Return a whole number within limits.

    >>> require_whole(3, "sensitivity")
    3
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        msg = f"{name} is {shown(value)}; it must be a whole number from {least} to {most:.4g}."
        raise ParameterError(msg)
    return value


def as_float(value: Fraction) -> float:
    """Round a parameter up to a float; the integrators grant every parameter one ulp either way.

    >>> as_float(Fraction(1, 2))
    0.5
    """
    return float_up(value)
