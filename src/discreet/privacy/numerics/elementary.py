"""Elementary functions near their zeros, for complex arguments, where NumPy's own lose digits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals


_EXP_MINUS = tuple(1 / math.factorial(k) for k in range(15, 2, -1))
"""The coefficients of (exp(w) - 1 - w) / w^2 - 1/2; for |w| < 1/2 those left out weigh less than 2^-57."""

_LOG1P_MINUS = tuple(1 / k for k in range(21, 1, -2))
"""Those of (atanh(r) - r) / r^3 in r^2."""


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
    series = np.full_like(r, _LOG1P_MINUS[0])
    for coefficient in _LOG1P_MINUS[1:]:
        series *= square
        series += coefficient
    return np.where(small, 2 * r * square * series - x * r, ratio - x)


def exp_minus(w: Complexes) -> Complexes:
    """Return exp(w) - 1 - w without cancellation (complex)."""
    small = np.abs(w) < 0.5
    every = bool(small.all())
    tiny = w if every else np.where(small, w, 0.0)
    near = tiny * _EXP_MINUS[0]
    for coefficient in _EXP_MINUS[1:]:
        near += coefficient
        near *= tiny
    near += 0.5
    near *= tiny
    near *= tiny
    if every:
        return near
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


def real_sinhc_minus(x: float) -> float:
    """Return sinh(x)/x - 1 of a real number without cancellation.

    >>> abs(real_sinhc_minus(1e-3) / (1e-6 / 6) - 1) < 1e-7
    True
    """
    if abs(x) >= 1:
        return math.sinh(x) / x - 1
    square, series = x * x, 0.0
    for k in range(12, 0, -1):
        series = (series + 1) * square / ((2 * k) * (2 * k + 1))
    return series
