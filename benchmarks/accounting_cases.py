"""What every accountant is asked for; the standard library alone, so that a peer's environment can import it.

Parameters are decimal texts: the reference and our accountant read them exactly, and peers get the nearest float.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Answer = Callable[[], tuple[float | None, float]]
    """Builds everything anew and returns (certified lower end or None, epsilon)."""


class Family(Enum):
    """A family of cases."""

    SAMPLED_GAUSSIAN = "sampled Gaussian"
    LAPLACE = "Laplace"
    DISCRETE_LAPLACE = "discrete Laplace"
    DISCRETE_GAUSSIAN = "discrete Gaussian"
    RANDOMIZED_RESPONSE = "randomized response"
    BOX = "(ε, δ) box"
    MIX = "mix"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One mechanism: `scale` is sigma, the Laplace scale or epsilon; `extra` the rate, the sensitivity or delta."""

    family: Family
    scale: str
    extra: str = "1"

    @property
    def numbers(self) -> tuple[float, float]:
        """Both parameters as floats.

        >>> Mechanism(Family.BOX, "0.1", "1e-8").numbers
        (0.1, 1e-08)
        """
        return float(Fraction(self.scale)), float(Fraction(self.extra))


@dataclass(frozen=True, slots=True)
class Case:
    """A composition, and the delta at which its epsilon is asked for."""

    family: Family
    terms: tuple[tuple[Mechanism, int], ...]
    delta: str

    @property
    def chance(self) -> float:
        """Delta as a float."""
        return float(Fraction(self.delta))

    def __str__(self) -> str:
        if self.family is Family.MIX:
            return f"{sum(count for _, count in self.terms)} mechanisms, δ={self.delta}"
        ((mechanism, count),) = self.terms
        names = {
            Family.SAMPLED_GAUSSIAN: ("σ", "q"),
            Family.LAPLACE: ("b", ""),
            Family.DISCRETE_LAPLACE: ("b", "Δ"),
            Family.DISCRETE_GAUSSIAN: ("σ", "Δ"),
            Family.RANDOMIZED_RESPONSE: ("ε", ""),
            Family.BOX: ("ε", "δ"),
        }[self.family]
        values = zip(names, (mechanism.scale, mechanism.extra), strict=True)
        inner = " ".join(f"{name}={value}" for name, value in values if name)
        return f"{self.family.value} {inner}, ×{count:,}, δ={self.delta}"


def repeat(family: Family, scale: str, extra: str, count: int, delta: str) -> Case:
    """Return one mechanism composed with itself."""
    return Case(family, ((Mechanism(family, scale, extra), count),), delta)


def mixture() -> Case:
    """Return 200 mechanisms of five families, no two of them equal."""
    terms = []
    for i in range(40):
        terms += [
            Mechanism(Family.SAMPLED_GAUSSIAN, str(5 + Fraction(i, 4)), str(Fraction(10 + i, 1_000))),
            Mechanism(Family.LAPLACE, str(20 + i)),
            Mechanism(Family.DISCRETE_GAUSSIAN, str(10 + i)),
            Mechanism(Family.RANDOMIZED_RESPONSE, str(Fraction(40 + i, 2_000))),
            Mechanism(Family.BOX, str(Fraction(10 + i, 1_000)), "1e-10"),
        ]
    return Case(Family.MIX, tuple((term, 1) for term in terms), "1e-6")


SAMPLED = tuple(
    repeat(Family.SAMPLED_GAUSSIAN, *row)
    for row in (
        ("0.3", "0.01", 1, "1e-5"),
        ("50", "1e-5", 1, "1e-8"),
        ("1", "1", 1, "1e-30"),
        ("0.5", "0.1", 2, "1e-10"),
        ("2", "0.001", 2, "1e-6"),
        ("0.8", "0.3", 5, "1e-12"),
        ("0.5", "1e-5", 5, "1e-10"),
        ("1", "0.001", 10, "1e-6"),
        ("10", "0.5", 10, "1e-20"),
        ("0.3", "0.01", 50, "1e-5"),
        ("1", "0.1", 50, "1e-30"),
        ("1", "0.01", 1_000, "1e-5"),
        ("4", "0.01", 1_000, "1e-5"),
        ("0.3", "1e-5", 1_000, "1e-8"),
        ("0.6", "0.001", 1_000, "1e-30"),
        ("50", "0.5", 1_000, "1e-2"),
        ("1", "0.004", 100_000, "1e-6"),
        ("20", "0.2", 100_000, "1e-10"),
        ("0.5", "1e-5", 100_000, "1e-12"),
        ("50", "1", 1_000_000, "1e-2"),
        ("1", "1e-5", 1_000_000, "1e-6"),
        ("2", "0.001", 1_000_000, "1e-9"),
        ("50", "0.01", 1_000_000, "1e-30"),
    )
)

OTHERS = (
    repeat(Family.LAPLACE, "1", "1", 1, "1e-6"),
    repeat(Family.LAPLACE, "10", "1", 10, "1e-6"),
    repeat(Family.LAPLACE, "2", "1", 50, "1e-10"),
    repeat(Family.LAPLACE, "10", "1", 200, "1e-2"),
    repeat(Family.DISCRETE_LAPLACE, "1", "1", 10, "1e-6"),
    repeat(Family.DISCRETE_LAPLACE, "10", "3", 50, "1e-10"),
    repeat(Family.DISCRETE_LAPLACE, "5", "1", 1_000, "1e-5"),
    repeat(Family.DISCRETE_GAUSSIAN, "1", "1", 1, "1e-6"),
    repeat(Family.DISCRETE_GAUSSIAN, "2", "1", 10, "1e-10"),
    repeat(Family.DISCRETE_GAUSSIAN, "0.5", "1", 3, "1e-30"),
    repeat(Family.DISCRETE_GAUSSIAN, "10", "1", 100, "1e-5"),
    repeat(Family.RANDOMIZED_RESPONSE, "1.0986122886681098", "1", 10, "1e-6"),
    repeat(Family.RANDOMIZED_RESPONSE, "0.1", "1", 1_000, "1e-6"),
    repeat(Family.RANDOMIZED_RESPONSE, "3", "1", 50, "1e-30"),
    repeat(Family.BOX, "0.1", "1e-8", 100, "1e-5"),
    repeat(Family.BOX, "1", "1e-6", 30, "1e-4"),
    repeat(Family.BOX, "0.01", "1e-12", 10_000, "1e-6"),
    repeat(Family.BOX, "0.5", "1e-32", 20, "1e-30"),
)

CASES = (*SAMPLED, *OTHERS, mixture())

FIXED_SIZE = ("4", "0.01", 1_000, "1e-5")
"""Sigma, rate, steps and delta of the case with samples of fixed size, under change-one."""


class Accountant(Protocol):
    """A module of `benchmarks.accountants`.

    `ways` names each accountant that the library has for a case, none if it has none; `fixed_size` gives its epsilon
    for samples of fixed size under change-one, None if it has no such bound.
    """

    DISTRIBUTIONS: tuple[str, ...]

    def ways(self, case: Case) -> Mapping[str, Answer]:
        """Return the ways to answer a case, each of which starts from nothing when it is called."""
        ...

    def fixed_size(self, sigma: float, rate: float, steps: int, delta: float) -> float | None:
        """Return epsilon for samples of fixed size."""
        ...
