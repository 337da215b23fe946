"""Spherical Laplace noise: vectors whose density falls with their length."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError, PrecisionError
from discreet.exact import Box, Grid, Interval, Number, integer, rational, shown
from discreet.noise.bits import SYSTEM, BitSource, LazyUniform, once, shape_of
from discreet.noise.families import standard_normal
from discreet.noise.rounded import read_grid

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

__all__ = ["l2_laplace"]

_HALF = Fraction(1, 2)
_SETTLED = 2.0**52
_AT_ONCE = 1 << 16  # coordinates per pass


def l2_laplace(
    scale: Number,
    grid: Grid | Number,
    dimensions: SupportsIndex,
    size: SupportsIndex | None = None,
    bits: BitSource = SYSTEM,
) -> NDArray[np.float64]:
    """Draw vectors with density proportional to exp(-||z|| / scale), each coordinate rounded onto a grid, exactly.

    ||z|| is the Euclidean length. A query with L2 sensitivity s and this noise of scale s / epsilon is epsilon-DP:
    the density's logarithm moves by at most ||z - z'|| / scale. The radius is a gamma variable of shape d, minus the
    sum of d logarithms, because the density times the sphere's area r**(d-1) is r**(d-1) exp(-r / scale); the
    direction is that of d normal variables (Chaudhuri, Monteleoni, Sarwate 2011, arXiv:0912.0071). For d = 2 it is the
    planar Laplace law (Andrés et al. 2013, arXiv:1212.1984). Independent Laplace noise of the same scale in each
    coordinate would cost sqrt(d) times the epsilon. A result has the shape (dimensions,) or (size, dimensions).

    >>> l2_laplace(1, grid="1/1024", dimensions=3).shape, l2_laplace(1, "1/1024", 2, size=5).shape
    ((3,), (5, 2))
    """
    spread, points = rational(scale, name="scale"), read_grid(grid)
    width = integer(dimensions, name="dimensions", least=1)
    rows = 1 if size is None else integer(size, name="size", least=0)
    ratio = spread / points.step
    if not Fraction(1, 1024) <= ratio <= 1 << 40:
        msg = f"scale is {shown(scale)} on a grid of {points.step}; scale / grid must be from 2**-10 to 2**40."
        raise ParameterError(msg)
    shape_of((rows, width), name="size * dimensions")
    shape_of(width, width=256, name="dimensions")
    out = points.values(once(lambda: _steps(rows, width, ratio, bits)))
    return out[0] if size is None else out


def _steps(rows: int, width: int, ratio: Fraction, bits: BitSource) -> NDArray[np.float64]:
    out = np.empty((rows, width))
    at_once = max(1, _AT_ONCE // width)
    for start in range(0, rows, at_once):
        out[start : start + at_once] = _vectors(min(at_once, rows - start), width, ratio, bits)
    return out


def _vectors(rows: int, width: int, ratio: Fraction, bits: BitSource) -> NDArray[np.float64]:
    """Return vectors counted in steps: float intervals first, big integers for a vector that they leave open."""
    words = bits.words64(3 * rows * width).reshape(3, rows, width)
    with np.errstate(all="ignore"):  # an entry that floats cannot bound is settled exactly
        radius, u, v = (Box.of_words(part) for part in words)
        normal = standard_normal(u, v)
        length = (normal * normal).total().sqrt()
        place = (normal * (-radius.log()).total()).scaled(ratio) / length
        place = place + place.constant(_HALF)
        low = np.floor(place.lo)
        settled = ((low == np.floor(place.hi)) & (np.abs(low) < _SETTLED)).all(axis=1)
    for i in np.flatnonzero(~settled):
        low[i] = _exactly(words[:, i, :], ratio, bits)
    return low


def _exactly(words: NDArray[np.uint64], ratio: Fraction, bits: BitSource) -> list[int]:
    """Round one vector with enclosures that narrow until every coordinate is decided."""
    uniforms = [[LazyUniform(bits, int(word), 64) for word in part] for part in words]
    precision = 192
    while True:
        try:
            radii, us, vs = ([u.interval(precision) for u in part] for part in uniforms)
            normals = [standard_normal(u, v) for u, v in zip(us, vs, strict=True)]
            length = _total([z * z for z in normals]).sqrt()
            radius = _total([-u.log() for u in radii])
            places = [(z * radius).scaled(ratio) / length for z in normals]
        except PrecisionError:
            precision *= 2
            continue
        lows = [(place.lower + _HALF).__floor__() for place in places]
        if lows == [(place.upper + _HALF).__floor__() for place in places]:
            return lows
        precision *= 2


def _total(parts: list[Interval]) -> Interval:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
