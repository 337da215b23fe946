"""Tests of a distance: whether the data are far from any at which an answer would be unsafe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import exp_lower, log_upper, rational, shown
from discreet.mechanisms.inputs.parameters import read_positive
from discreet.mechanisms.inputs.values import whole_number
from discreet.mechanisms.mechanism import Given, Mechanism, Released
from discreet.noise import SYSTEM, BitSource, discrete_laplace
from discreet.privacy import Approximate
from discreet.privacy.curves import approximate

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy import Curve

__all__ = ["DistanceTest", "Tested", "read_delta", "read_distance"]


def read_delta(delta: Number | None) -> Fraction:
    """Read the chance with which a test may pass that should not.

    >>> read_delta("1e-6")
    Fraction(1, 1000000)
    """
    chance = rational(delta if delta is not None else 0, name="delta")
    if not 0 < chance < 1:
        msg = (
            f"delta is {shown(delta)}; it must be above 0 and below 1: a noisy test passes with some chance whatever "
            "the data. Choose it well below 1/n for n units."
        )
        raise ParameterError(msg)
    return chance


def read_distance(distance: float) -> int:
    """Read a private distance without an error: rounded down, at least 0, below 2**62; what is missing counts as 0.

    >>> read_distance(3.9), read_distance(-2), read_distance(float("nan")), read_distance(float("inf")) == 2**62 - 1
    (3, 0, 0, True)
    """
    return max(0, whole_number(distance))


@dataclass(frozen=True, slots=True)
class DistanceTest:
    """Pass if a whole distance, which one unit moves by at most one, plus noise is above a threshold.

    At a distance of 0 it passes with a chance of at most delta. The noise is discrete Laplace of scale 1 / epsilon, so
    the outcome is epsilon-differentially private. With r = exp(-epsilon) and the threshold T,
    Pr[Z > T] = r**(T + 1) / (1 + r); the smallest T with that at most delta is
    ceil(ln(1 / (delta (1 + r))) / epsilon) - 1, below the ln(1 / delta) / epsilon of real noise.

    >>> DistanceTest(epsilon=rational(1), delta=rational("1e-6")).threshold
    13
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def threshold(self) -> int:
        """The largest noisy distance that fails."""
        return _threshold(self.epsilon, self.delta)

    def enough(self, confidence: float) -> int:
        """Return the smallest distance at which the test passes with this probability.

        >>> DistanceTest(epsilon=rational(1), delta=rational("1e-6")).enough(0.95)
        16
        """
        fail = 1 - rational(confidence, name="confidence")
        if not 0 < fail < 1:
            msg = f"confidence is {shown(confidence)}; it must lie strictly between 0 and 1, such as 0.95."
            raise ParameterError(msg)
        # Pr[Z <= -m] = r**m / (1 + r) for m >= 1
        margin = math.ceil(log_upper(1 / (fail * (1 + exp_lower(-self.epsilon)))) / self.epsilon)
        return self.threshold + max(1, margin)

    def passes(self, distance: float, *, bits: BitSource = SYSTEM) -> bool:
        """Draw the noise and decide; the distance is private, the outcome is not."""
        noisy = read_distance(distance) + discrete_laplace(1 / self.epsilon, bits=bits)
        return noisy > self.threshold


class Tested(Mechanism[Given, Released]):
    """What is released after a test that may pass, with a chance of delta, where it should not.

    >>> from discreet.mechanisms import StableValue
    >>> StableValue(epsilon=1, delta="1e-6").promise
    'ε = 1, δ = 1e-06'
    """

    __slots__ = ()

    epsilon: Fraction
    delta: Fraction

    @property
    def claim(self) -> Approximate:
        """Epsilon, all of it, and delta."""
        return Approximate(self.epsilon, self.delta, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The worst curve with this epsilon and delta."""
        return approximate(self.epsilon, self.delta, neighbors=self.neighbors)


@lru_cache(maxsize=256)
def _threshold(epsilon: Fraction, delta: Fraction) -> int:
    read_positive(epsilon, "epsilon", zero="the test would be noise alone")
    needed = log_upper(1 / (delta * (1 + exp_lower(-epsilon)))) / epsilon
    return max(0, math.ceil(needed) - 1)
