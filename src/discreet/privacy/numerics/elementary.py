"""Elementary functions near their zeros, for complex arguments, where NumPy's own lose digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Complexes, Reals


def log1p(z: Complexes) -> Complexes:
    """Return log(1 + z) with a small relative error (numpy.log1p forms 1 + z for complex z).

    Re = log1p(x (2 + x) + y^2) / 2, Im = atan2(y, 1 + x); where 1 + z is small, forming it costs nothing.
    """
    x, y = z.real, z.imag
    whole = 1 + z
    far = np.abs(whole) < 0.5
    inside = np.where(far, 0.0, x * (2 + x) + y * y)
    size = np.where(far, np.log(np.maximum(np.abs(whole), 1e-300)), 0.5 * np.log1p(inside))
    return np.asarray(size + 1j * np.arctan2(y, 1 + x))


def log1p_minus(x: Reals, ratio: Reals) -> Reals:
    """Return log(1 + x) - x without cancellation.

    With r = x / (2 + x), log(1 + x) = 2 atanh(r) and r - x/2 = -x^2 / (2 (2 + x)).
    """
    small = np.abs(x) < 0.3
    r = np.where(small, x / (2 + x), 0.0)
    square = r * r
    series = np.zeros_like(r)
    for k in range(21, 1, -2):
        series = series * square + 1 / k
    return np.where(small, 2 * r * square * series - x * r, ratio - x)


def exp_minus(w: Complexes) -> Complexes:
    """Return exp(w) - 1 - w without cancellation (complex)."""
    small = np.abs(w) < 0.5
    tiny = np.where(small, w, 0.0)
    series = np.ones_like(w) / 18
    for k in range(17, 2, -1):
        series = (1 + tiny * series) / k
    near = 0.5 * tiny * tiny * (1 + tiny * series)
    with np.errstate(over="ignore"):
        return np.where(small, near, np.exp(w) - 1 - w)


def sinhc_minus(x: Complexes) -> Complexes:
    """Return sinh(x)/x - 1 without cancellation."""
    small = np.abs(x) < 1
    tiny = np.where(small, x, 0.5)
    square = tiny * tiny
    series = np.zeros_like(tiny)
    for k in range(12, 0, -1):
        series = (series + 1) * square / ((2 * k) * (2 * k + 1))
    with np.errstate(all="ignore"):
        direct = np.sinh(x) / np.where(x == 0, 1, x) - 1
    return np.where(small, series, direct)
