"""The decays and weights of a buffered strategy: searched for, snapped to few bits, and inverted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import exact_text, rational, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Filter", "best_filter", "decoding"]

_BITS = 16


@dataclass(frozen=True, slots=True)
class Filter:
    """Decays below 1, and weights above 0 that sum to at most 1, each a fraction with few binary digits.

    Then c_0 = 1, c_k = sum of weight times decay^(k-1) falls and is never negative.

    >>> Filter((Fraction(1, 2),), (Fraction(1, 4),)).integers
    (((1, 1), (1, 2)),)
    """

    decays: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        """Refuse what does not fall, and what is no fraction of a power of two."""
        numbers = (*self.decays, *self.weights)
        dyadic = all(
            isinstance(number, Fraction) and number.denominator & (number.denominator - 1) == 0 for number in numbers
        )
        falls = all(0 < number < 1 for number in self.decays) and all(number > 0 for number in self.weights)
        if not (dyadic and falls and 0 < len(self.decays) == len(self.weights) and sum(self.weights) <= 1):
            msg = (
                f"filter is {shown(self)}; decays lie between 0 and 1, weights above 0 and sum to at most 1, as many "
                "of them, and all are fractions of powers of two."
            )
            raise ParameterError(msg)

    @staticmethod
    def of(given: Filter | Mapping[str, Any]) -> Filter:
        """Read what `record` wrote."""
        if isinstance(given, Filter):
            return given
        return Filter(*(tuple(rational(number) for number in given[name]) for name in ("decays", "weights")))

    def record(self) -> dict[str, Any]:
        """Return it as a JSON object, exactly."""
        return {
            "decays": [exact_text(number) for number in self.decays],
            "weights": [exact_text(w) for w in self.weights],
        }

    @property
    def integers(self) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
        """For each buffer 1 - decay and the weight as m, s, for m 2**-s."""

        def parts(value: Fraction) -> tuple[int, int]:
            return value.numerator, value.denominator.bit_length() - 1

        return tuple((parts(1 - decay), parts(w)) for decay, w in zip(self.decays, self.weights, strict=True))


@lru_cache(maxsize=32)
def best_filter(horizon: int, buffers: int) -> Filter:
    """Search for the filter with the least largest deviation, ||c|| ||b||, and snap it to few bits.

    c(z) is the product of (1 - q_j z) / (1 - p_j z); with p_1 > q_1 > p_2 > q_2 > ... its coefficients fall and are
    positive, and b(z) = 1 / ((1 - z) c(z)) is a sum of exponentials, too. Both norms are double sums of geometric sums,
    so that a step of the search costs the same for every horizon.

    >>> len(best_filter(1000, 2).decays)
    2
    """
    from scipy.optimize import minimize

    low = math.log(0.5 / (horizon + 1))
    gap = (math.log(0.8) - low) / (2 * buffers - 1)
    start = np.concatenate([[low], np.full(2 * buffers - 1, math.log(gap))])
    search = minimize(_loss, start, args=(horizon,), method="L-BFGS-B", options={"maxiter": 300})
    slow, fast = _rates(search.x)
    weights = _coded(slow, fast)
    room = Fraction(1, 1 << _BITS)
    decays = tuple(1 - max(_few_bits(rate), Fraction(1, 1 << 60)) for rate in slow.tolist())
    return Filter(decays, tuple(max(_few_bits(weight), room**2) for weight in weights.tolist()))


def _few_bits(value: float) -> Fraction:
    """Round to so many significant binary digits."""
    mantissa, exponent = math.frexp(value)
    return Fraction(math.floor(mantissa * (1 << _BITS))) * Fraction(2) ** (exponent - _BITS)


def _rates(at: Floats) -> tuple[Floats, Floats]:
    """Return 1 - p and 1 - q, which alternate and rise."""
    with np.errstate(over="ignore"):
        rates = np.exp(np.cumsum(np.concatenate([at[:1], np.exp(at[1:])])))
    return rates[0::2], rates[1::2]


def _coded(slow: Floats, fast: Floats) -> Floats:
    """Return the weights of c: its residues."""
    residues = []
    for j, rate in enumerate(slow):
        others = np.delete(slow, j)
        residues.append(np.prod(fast - rate) / np.prod(others - rate))
    return np.array(residues)


def _decoded(slow: Floats, poles: Floats) -> Floats:
    """Return the weights of b at the poles 1 - rates, of which the first is 1: its residues."""
    residues = []
    for j, rate in enumerate(poles):
        others = np.delete(poles, j)
        residues.append(np.prod(slow - rate) / np.prod(others - rate))
    return np.array(residues)


def _geometric(left: Floats, right: Floats, count: int) -> Floats:
    """Return the sums of ((1 - a)(1 - b))^t for t below count."""
    rate = np.log1p(-left)[:, None] + np.log1p(-right)[None]
    falls = np.minimum(rate, -1e-300)
    return np.where(rate < 0, np.expm1(count * falls) / np.expm1(falls), float(count))


def _loss(at: Floats, horizon: int) -> float:
    slow, fast = _rates(at)
    if not fast[-1] < 1 or not slow[0] > 0:
        return 1e3
    weights, poles = _coded(slow, fast), np.concatenate([[0.0], fast])
    coded = 1 + weights @ _geometric(slow, slow, horizon - 1) @ weights
    decoder = _decoded(slow, poles)
    decoded = decoder @ _geometric(poles, poles, horizon) @ decoder
    return 0.5 * math.log(coded * decoded) if 0 < coded * decoded < math.inf else 1e3


@lru_cache(maxsize=32)
def decoding(of: Filter) -> tuple[Floats, Floats]:
    """Return poles and weights of b, in floats: what undoes the filter as it is, and sums.

    The zeros of c lie between its poles and one below the last: each is bracketed, and found to the last bits.

    >>> poles, weights = decoding(Filter((Fraction(1, 2),), (Fraction(1, 4),)))
    >>> poles.tolist(), weights.sum().round(12)
    ([1.0, 0.25], np.float64(1.0))
    """
    order = sorted(range(len(of.decays)), key=lambda j: -of.decays[j])
    slow = np.array([float(1 - of.decays[j]) for j in order])
    weights = np.array([float(of.weights[j]) for j in order])
    fast = np.array([_zero(slow, weights, j) for j in range(len(slow))])
    poles = np.concatenate([[0.0], fast])
    return 1 - poles, _decoded(slow, poles)


def _zero(slow: Floats, weights: Floats, j: int) -> float:
    """Find the rate x above slow[j] with 1 = sum of weights / (x - slow): c(1 / (1 - x)) = 0; the sum falls in x."""
    low, high = 0.0, (slow[j + 1] - slow[j] if j + 1 < len(slow) else 1.0)
    others = slow - slow[j]
    for _ in range(200):
        middle = (low + high) / 2
        if np.sum(weights / (middle - others)) > 1:
            low = middle
        else:
            high = middle
    return float(slow[j] + (low + high) / 2)
