"""Vectors over a prime field as whole numbers, and counting solutions of linear equations by one Fourier transform."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["digits", "is_prime", "number", "solutions"]


def is_prime(value: int) -> bool:
    """Tell whether a small number is prime.

    >>> [value for value in range(2, 12) if is_prime(value)]
    [2, 3, 5, 7, 11]
    """
    return value > 1 and all(value % factor for factor in range(2, int(value**0.5) + 1))


def digits(values: NDArray[np.int64], base: int, count: int) -> NDArray[np.int64]:
    """Write numbers with so many digits, the first one the most significant.

    >>> digits(np.array([5, 2]), base=3, count=3).tolist()
    [[0, 1, 2], [0, 0, 2]]
    """
    written = np.empty((count, values.size), dtype=np.int64)
    left = values
    for place in range(count - 1, -1, -1):
        left, written[place] = np.divmod(left, base)
    return written.T


def number(vectors: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """Read digits along the last axis as numbers.

    >>> number(np.array([[0, 1, 2]]), base=3).tolist()
    [5]
    """
    total = np.zeros(vectors.shape[:-1], dtype=np.int64)
    for place in range(vectors.shape[-1]):
        total = total * base + vectors[..., place]
    return total


def solutions(rows: NDArray[np.int64], values: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    r"""Count for every vector v how many of the systems A v = c it solves, modulo a prime q; exactly.

    `rows` holds the n matrices A as (n, m, t) and `values` the right sides as (n, m). With $\omega = e^{2\pi i/q}$,

    $$1[A v = c] = q^{-m} \sum_{u \in F_q^m} \omega^{u \cdot (A v - c)},$$

    so the counts are a Fourier transform over $F_q^t$ of $\sum \omega^{-u \cdot c}$ at the row vectors $u^\top A$: n
    additions for each u, and one transform of $q^t$ numbers, in the place of n q^t comparisons. Sums are whole numbers
    and floats are off by far less than a half.

    >>> solutions(np.array([[[1, 0]], [[1, 1]]]), np.array([[1], [0]]), base=2).tolist()
    [1, 0, 1, 2]
    """
    count, equations, places = rows.shape
    size = base**places
    turns = np.exp(-2j * np.pi * np.arange(base) / base)
    weights = np.zeros(size, dtype=np.complex128)
    for combination in digits(np.arange(base**equations), base, equations):
        keys = number(np.tensordot(rows, combination, axes=(1, 0)) % base, base)
        phases = turns[(values @ combination) % base]
        weights += np.bincount(keys, phases.real, size)
        if base > 2:
            weights += 1j * np.bincount(keys, phases.imag, size)
    # the transform with +i is the conjugate one, times the number of cells
    found = np.fft.ifftn(weights.reshape((base,) * places)).real.ravel() * (size / base**equations)
    counted: NDArray[np.int64] = np.rint(found).astype(np.int64) if count else np.zeros(size, dtype=np.int64)
    return counted
