"""Encoders that are the same at every step: c_0, c_1, ... snapped to a lattice, and what undoes them."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.exact import sqrt_upper
from discreet.mechanisms.adding.grids import Norm
from discreet.mechanisms.prefix.factorization import Factorization, Run, several

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.prefix.factorization import Draw

__all__ = ["LATTICE", "MOST", "Toeplitz", "snapped_series"]

LATTICE = 20
MOST = 1 << 20
_EXACT = 1 << 53
_SUMS = 1 << 60
_BLOCK = 256


class Toeplitz(Factorization):
    """A factorization whose encoder is y_t = c_0 x_t + c_1 x_(t-1) + ..., with coefficients of one sign that fall.

    Coefficients are whole numbers of 2**-20. The encoding is computed in integers, so its noise lies on the lattice on
    which neighbors differ; the move of an event is the norm of the coefficients as they are, rounded up. The decoder
    has the coefficients b with b * c = 1, 1, 1, ..., in floats, and works on noisy encodings alone.

    >>> from discreet.mechanisms.prefix import SquareRoot
    >>> SquareRoot(3).coefficients().tolist() == [1 << 20, 1 << 19, 3 << 17]
    True
    """

    __slots__ = ()

    def coefficients(self) -> NDArray[np.int64]:
        """The coefficients of the encoder, in steps of the lattice."""
        raise NotImplementedError

    def decoder(self) -> NDArray[np.float64]:
        """The coefficients of the decoder."""
        return _decoder(self)

    @property
    def lattice(self) -> int:
        """The lattice of the coefficients."""
        return LATTICE

    @property
    def reach(self) -> int:
        """So that encodings fit into 60 bits."""
        return _SUMS // max(int(self.coefficients().sum()), self.horizon)

    def moved(
        self, steps: Fraction, norm: Norm, *, events: int = 1, separation: int = 0, dimension: int = 1
    ) -> Fraction:
        """The norm of the first column; of the sum of several, if a unit's events are apart.

        With columns of numbers that fall and are not negative, inner products of two columns are largest for the
        earliest two that are as close as allowed, so the worst events are those at 1, 1 + s, 1 + 2s, .... Snapping may
        let a coefficient rise by a step, so the smallest falling sequence above them is taken.
        """
        del dimension
        falling = np.maximum.accumulate(self.coefficients()[::-1])[::-1]
        if norm is Norm.L1:
            return several(steps * int(falling.sum()), events)
        if separation == 0:
            return several(steps * sqrt_upper(_square(falling)), events)
        total = np.zeros(self.horizon, dtype=np.int64)
        for start in range(0, self.horizon, separation)[:events]:
            total[start:] += falling[: self.horizon - start]
        return steps * sqrt_upper(_square(total))

    def weights(self, step: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """All noises so far."""
        return self.decoder()[:step], np.ones(step, dtype=np.int64)

    def window(self, step: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Differences of the decoder's coefficients: late noises are in both sums."""
        later = self.weights(step)[0].copy()
        if width < step:
            later[width:] -= later[: step - width].copy()
        return later, np.ones(step, dtype=np.int64)

    def variances(self) -> NDArray[np.float64]:
        """Sums of the squares."""
        return np.cumsum(self.decoder() ** 2)

    def start(self, dimension: int = 1) -> Run:
        """Begin."""
        return _Run(self, dimension)


def _square(values: NDArray[np.int64]) -> Fraction:
    """Add squares exactly."""
    return Fraction(sum(int(value) ** 2 for value in values.tolist()))


def snapped_series(series: NDArray[np.float64]) -> NDArray[np.int64]:
    """Snap coefficients to the lattice so that their running sums are off by half a step at most.

    Then what undoes them is off by as little, as the errors do not add up.

    >>> snapped_series(np.array([1.0, 0.5, 0.375])).tolist() == [1 << 20, 1 << 19, 3 << 17]
    True
    """
    sums = np.rint(np.cumsum(series) * (1 << LATTICE)).astype(np.int64)
    return np.diff(sums, prepend=0)


@lru_cache(maxsize=8)
def _decoder(factorization: Toeplitz) -> NDArray[np.float64]:
    """Return b with b * c = 1, 1, ...: running sums of the inverse series, by Newton's iteration."""
    series = factorization.coefficients().astype(np.float64) / (1 << LATTICE)
    inverse, size = np.array([1 / series[0]]), 1
    while size < series.size:
        size = min(2 * size, series.size)
        error = -_product(series[:size], inverse, size)
        error[0] += 2
        inverse = _product(inverse, error, size)
    sums = np.cumsum(inverse)
    sums.setflags(write=False)
    return sums


def _product(left: NDArray[np.float64], right: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Multiply two series, up to so many terms."""
    width = 1 << (len(left) + len(right) - 1).bit_length()
    both = np.fft.rfft(left, width) * np.fft.rfft(right, width)
    product: NDArray[np.float64] = np.fft.irfft(both, width)[:size]
    return product


def encoded(coefficients: NDArray[np.int64], elements: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convolve whole numbers exactly, column by column, up to as many terms as there are elements.

    In blocks, as products of matrices of floats, where all sums stay below 2**53, so that no float is rounded.

    >>> encoded(np.array([2, 1, 1]), np.array([[1], [10], [100]])).ravel().tolist()
    [2, 21, 211]
    """
    count, dimension = elements.shape
    series = coefficients[:count]
    largest = int(np.abs(elements).max(initial=0)) * int(np.abs(series).sum())
    if largest >= _EXACT:
        columns = [np.convolve(elements[:, place], series)[:count] for place in range(dimension)]
        return np.stack(columns, axis=1)
    blocks = -(-count // _BLOCK)
    padded = np.zeros((dimension, blocks * _BLOCK))
    padded[:, :count] = elements.T
    parts = padded.reshape(dimension, blocks, _BLOCK)
    spread = np.zeros((blocks + 1) * _BLOCK)
    spread[_BLOCK : _BLOCK + count] = series
    windows = np.lib.stride_tricks.sliding_window_view(spread, _BLOCK)  # row s: spread[s], spread[s + 1], ...
    out = np.zeros_like(parts)
    for lag in range(blocks):
        block = windows[lag * _BLOCK + 1 : (lag + 1) * _BLOCK + 1, ::-1]  # row i, column j: the coefficient of i - j
        out[:, lag:] += parts[:, : blocks - lag] @ block.T.copy()
    return out.reshape(dimension, -1).T[:count].astype(np.int64)


class _Run(Run):
    """All elements so far, and all noisy encodings."""

    arrays = ("elements", "noisy")

    def __init__(self, factorization: Toeplitz, dimension: int) -> None:
        super().__init__(dimension)
        self._of = factorization
        self._elements = np.zeros((0, dimension), dtype=np.int64)
        self._noisy = np.zeros((0, dimension), dtype=np.int64)

    def extend(self, elements: NDArray[np.int64], draw: Draw) -> NDArray[np.float64]:
        before, count = self.step, len(elements)
        self.step = before + count
        self._elements = np.concatenate([self._elements, elements])
        series, decoder = self._of.coefficients(), self._of.decoder()
        if count == 1:
            exact = series[: self.step][::-1] @ self._elements
            self._noisy = np.concatenate([self._noisy, exact + draw((1, self.dimension))])
            sums = decoder[: self.step][::-1] @ self._noisy.astype(np.float64)
            return sums[None] / (1 << LATTICE)
        noisy = encoded(series, self._elements)[before:] + draw((count, self.dimension))
        self._noisy = np.concatenate([self._noisy, noisy])
        columns = [_product(decoder[: self.step], column, self.step) for column in self._noisy.T.astype(np.float64)]
        return np.stack(columns, axis=1)[before:] / (1 << LATTICE)
