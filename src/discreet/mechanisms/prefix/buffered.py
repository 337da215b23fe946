"""A strategy with a handful of numbers of state: the default under zCDP for long horizons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.exact import Interval, integer, sqrt_upper
from discreet.mechanisms.adding.grids import Norm
from discreet.mechanisms.prefix.buffered_search import Filter, best_filter, decoding
from discreet.mechanisms.prefix.factorization import Factorization, Run, read_horizon, several

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.prefix.factorization import Draw

__all__ = ["Buffered"]

_PRECISION = 192


@dataclass(frozen=True, slots=True, init=False)
class Buffered(Factorization):
    r"""A buffered linear Toeplitz strategy: c_k is a sum of a few decaying exponentials, held in as many buffers.

    With decays $\theta_j$ and weights $\omega_j$, $c_0 = 1$ and $c_k = \sum_j \omega_j \theta_j^{k-1}$; the inverse is
    of the same form. Both are found by a search that makes the largest deviation least, then snapped to few bits.

    What is really encoded. Buffers are whole numbers of $2^{-p}$ steps: $r \mathrel{-}= \lfloor r(1-\theta)\rfloor$,
    $r \mathrel{+}= 2^p x$, and $y = 2^p x + \sum_j \lfloor \omega_j r_j \rfloor$. Neighbors' buffers differ by
    $\theta^m$ times the move plus what rounding adds, less than 1 at each step and decaying, so less than
    $1/(1-\theta)$, or m after m steps; so y differs by $2^p c_m$ times the move plus at most
    $\sum_j(\omega_j\min(T, 1/(1-\theta_j)) + 1)$. `moved` is the norm of the first, by exact geometric sums, plus that
    of the second, by the triangle inequality: p is chosen so that the second is a hundred-thousandth.

    >>> Buffered(65536).buffers, round(float(Buffered(65536).deviations(rho="1/2").max()), 2)
    (3, 4.7)
    """

    kind: ClassVar[str] = "buffered"
    title: ClassVar[str] = "buffered linear Toeplitz"
    source: ClassVar[str] = (
        "Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024, arXiv:2404.16706; "
        "McMahan, Xu & Zhang 2024, arXiv:2408.08868 (the search)"
    )

    horizon: int
    filter: Filter

    def __init__(self, horizon: int, buffers: int = 3, *, filter: Filter | None = None) -> None:  # noqa: A002
        steps = read_horizon(horizon)
        count = integer(buffers, name="buffers", least=1, most=8)
        chosen = best_filter(steps, count) if filter is None else Filter.of(filter)
        object.__setattr__(self, "horizon", steps)
        object.__setattr__(self, "filter", chosen)

    @property
    def buffers(self) -> int:
        """How many buffers."""
        return len(self.filter.decays)

    @property
    def rounded(self) -> Fraction:
        """How far rounding moves neighbors' encodings apart, at each step and in each coordinate."""
        pairs = zip(self.filter.decays, self.filter.weights, strict=True)
        return sum((weight * min(Fraction(self.horizon), 1 / (1 - decay)) + 1 for decay, weight in pairs), Fraction(0))

    @property
    def lattice(self) -> int:
        """So fine that rounding adds a hundred-thousandth."""
        return math.ceil(math.log2(1e5 * math.sqrt(self.horizon) * float(self.rounded)))

    def moved(
        self, steps: Fraction, norm: Norm, *, events: int = 1, separation: int = 0, dimension: int = 1
    ) -> Fraction:
        """The norm of the first column, and what rounding adds in all coordinates at all steps."""
        del separation
        cells = Fraction(self.horizon * dimension)
        column = _column(self, norm) * (1 << self.lattice)
        rounding = self.rounded * (cells if norm is Norm.L1 else sqrt_upper(cells))
        return several(steps * column, events) + rounding

    def weights(self, step: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """All noises so far."""
        return self._decoder(step), np.ones(step, dtype=np.int64)

    def window(self, step: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Differences of the decoder's coefficients: late noises are in both sums."""
        later = self.weights(step)[0].copy()
        if width < step:
            later[width:] -= later[: step - width].copy()
        return later, np.ones(step, dtype=np.int64)

    def _decoder(self, count: int) -> NDArray[np.float64]:
        decays, weights = decoding(self.filter)
        places = np.arange(count)
        return np.asarray(sum(weight * decay**places for decay, weight in zip(decays, weights, strict=True)))

    def variance(self, step: int) -> float:
        """A double sum of geometric sums."""
        decays, weights = decoding(self.filter)
        ratio = np.outer(decays, decays)
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = np.where(ratio == 1, step, (1 - ratio**step) / (1 - ratio))
        return float(weights @ sums @ weights)

    def variances(self) -> NDArray[np.float64]:
        """Sums of the squares."""
        return np.cumsum(self._decoder(self.horizon) ** 2)

    def record(self) -> dict[str, Any]:
        """Return the horizon and the filter."""
        return {"kind": self.kind, "horizon": self.horizon, "filter": self.filter.record()}

    def start(self, dimension: int = 1) -> Run:
        """Begin."""
        return _Run(self, dimension)


@lru_cache(maxsize=16)
def _column(of: Buffered, norm: Norm) -> Fraction:
    """Return the norm of 1, c_1, ..., c_(T-1), rounded up: geometric sums, (1 - r^(T-1)) / (1 - r) for each product."""
    filter_, last = of.filter, of.horizon - 1
    pairs = list(zip(filter_.decays, filter_.weights, strict=True))

    def summed(ratio: Fraction) -> Fraction:
        kept = Interval.of(ratio, _PRECISION).power(Fraction(last)).lower if last else Fraction(1)
        return (1 - kept) / (1 - ratio)

    if norm is Norm.L1:
        return 1 + sum((weight * summed(decay) for decay, weight in pairs), Fraction(0))
    squares = (a * b * summed(x * y) for x, a in pairs for y, b in pairs)
    return sqrt_upper(1 + sum(squares, Fraction(0)))


class _Run(Run):
    """The buffers of the encoder, which are private, and those of the decoder, of noisy encodings alone."""

    def __init__(self, of: Buffered, dimension: int) -> None:
        super().__init__(dimension)
        self._shift = of.lattice
        self._filter = of.filter
        self._poles, self._weights = (values.tolist() for values in decoding(of.filter))
        self._buffers = [[0] * of.buffers for _ in range(dimension)]
        self._decoded = [[0.0] * len(self._poles) for _ in range(dimension)]

    def extend(self, elements: NDArray[np.int64], draw: Draw) -> NDArray[np.float64]:
        noise = draw(elements.shape)
        columns = [
            self._column(place, elements[:, place].tolist(), noise[:, place].tolist())
            for place in range(self.dimension)
        ]
        self.step += len(elements)
        return np.stack(columns, axis=1)

    def _column(self, place: int, elements: list[int], noise: list[int]) -> NDArray[np.float64]:
        """Encode exactly, add noise, and decode in floats."""
        buffers = self._buffers[place]
        scaled = [element << self._shift for element in elements]
        noisy = [z + x for z, x in zip(noise, scaled, strict=True)]
        for j, ((slow, down), (weight, low)) in enumerate(self._filter.integers):
            held = list(accumulate(scaled, lambda r, x: r - (r * slow >> down) + x, initial=buffers[j]))  # noqa: B023
            # what a step adds to the buffer is weighed from the next one on, after it has decayed from there
            noisy = [y + (weight * r >> low) for y, r in zip(noisy, held, strict=False)]
            buffers[j] = held[-1]
        return self._decode(place, np.array(noisy, dtype=np.float64) / float(1 << self._shift))

    def _decode(self, place: int, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Filter by each pole, and add up with its weight."""
        kept, out = self._decoded[place], np.zeros(len(noisy))
        for j, (pole, weight) in enumerate(zip(self._poles, self._weights, strict=True)):
            if len(noisy) == 1:
                kept[j] = pole * kept[j] + float(noisy[0])
                out[0] += weight * kept[j]
                continue
            from scipy.signal import lfilter

            passed, _ = lfilter([1.0], [1.0, -pole], noisy, zi=[pole * kept[j]])
            kept[j] = float(passed[-1])
            out += weight * passed
        return out

    def state(self) -> dict[str, Any]:
        return {"step": self.step, "buffers": self._buffers, "decoded": self._decoded}

    def load(self, state: dict[str, Any]) -> None:
        self.step, self._buffers, self._decoded = state["step"], state["buffers"], state["decoded"]
