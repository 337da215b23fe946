"""Real noise rounded once onto a grid, exactly, by lazy refinement."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.errors import ParameterError, PrecisionError
from discreet.exact import Box, Grid, Interval, Number, rational
from discreet.noise.bits import SYSTEM, BitSource
from discreet.noise.draws import array
from discreet.noise.lazy import LazyUniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.families import Family

__all__ = ["LazyDraw", "read_grid", "rounded", "sample", "sample_steps"]

_AHEAD = 256  # bits to which a draw is worked out before it is needed
_POOL = 8
_HALF = Fraction(1, 2)
_LIMIT = np.iinfo(np.int64).max
_SETTLED = 2.0**52  # floats count steps without gaps up to here
_SMALLEST, _LARGEST = Fraction(1, 2**600), Fraction(2**600)


class LazyDraw:
    """One real draw of a family, known as closely as anyone asks; the same draw answers every time."""

    __slots__ = ("_family", "_known", "_uniforms")

    def __init__(self, family: Family, uniforms: list[LazyUniform]) -> None:
        self._family = family
        self._uniforms = uniforms
        self._known: tuple[int, Interval] | None = None

    @staticmethod
    def fresh(family: Family, bits: BitSource) -> LazyDraw:
        """Draw uniforms until the family keeps them."""
        while True:
            draw = LazyDraw(family, [LazyUniform(bits) for _ in range(family.uniforms)])
            if draw.kept():
                return draw

    def kept(self) -> bool:
        """Tell whether the family keeps these uniforms, with as many bits as that takes."""
        precision = 64
        while True:
            try:
                margin = self._family.margin([u.interval(precision) for u in self._uniforms])
            except PrecisionError:  # an enclosure reached zero: more bits move it away
                precision *= 2
                continue
            if margin is None or margin.lo >= 0:
                return True
            if margin.hi < 0:
                return False
            precision *= 2

    def interval(self, precision: int) -> Interval:
        """Enclose the draw; the working precision is at least the one given, and the result's own says what it is."""
        if self._known is not None and self._known[0] == precision:
            return self._known[1]
        working = precision
        while True:
            try:
                found = self._family.value([u.interval(working) for u in self._uniforms])
            except PrecisionError:
                working *= 2
                continue
            self._known = (precision, found)
            return found

    def steps(self, value: Fraction, scale: Fraction, grid: Grid) -> int:
        """Round value + scale * draw to the nearest grid point, counted in steps."""
        factor, offset = scale / grid.step, value / grid.step + _HALF
        precision = _AHEAD
        while True:
            found = self.interval(precision)
            low = (offset + factor * found.lower).__floor__()
            if low == (offset + factor * found.upper).__floor__():
                return low
            precision *= 2


def read_grid(grid: Grid | Number) -> Grid:
    """Accept a grid or its step."""
    return grid if isinstance(grid, Grid) else Grid(grid)


def rounded(family: Family, value: Number, scale: Number, grid: Grid | Number, bits: BitSource = SYSTEM) -> int:
    """Round value + scale * noise once to the nearest point of a public grid; return how many steps that is.

    This is the sampler for scales that depend on private data (smooth sensitivity): the result is the exact real
    number value + scale * Z, rounded onto a grid that does not know the scale, so the lattice tells nothing about it.
    Noise that is first rounded and then scaled would lie on multiples of the scale and reveal it.

    Draws are worked out to 256 bits ahead of time, so rounding is the same few operations whatever the noise is.

    >>> from discreet.noise import families
    >>> isinstance(rounded(families.Cauchy(4), value=3, scale="0.7", grid="1/1024"), int)
    True
    """
    size, spread = rational(value, name="value"), _read_scale(scale)
    pool = bits.pools.setdefault((rounded, family), [])
    try:
        draw: LazyDraw = pool.pop()
    except IndexError:
        ahead = [LazyDraw.fresh(family, bits) for _ in range(_POOL)]
        for each in ahead:
            each.interval(_AHEAD)
        draw = ahead.pop()
        pool.extend(ahead)
    return draw.steps(size, spread, read_grid(grid))


def _read_scale(scale: Number) -> Fraction:
    size = rational(scale, name="scale")
    if not _SMALLEST <= size <= _LARGEST:
        msg = "scale is out of range; it must be from 2**-600 to 2**600."  # it may be private: it is not quoted
        raise ParameterError(msg)
    return size


@overload
def sample(
    family: Family, scale: Number, grid: Grid | Number, size: None = None, bits: BitSource = SYSTEM
) -> float: ...
@overload
def sample(
    family: Family, scale: Number, grid: Grid | Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.float64]: ...
def sample(
    family: Family,
    scale: Number,
    grid: Grid | Number,
    size: int | tuple[int, ...] | None = None,
    bits: BitSource = SYSTEM,
) -> float | NDArray[np.float64]:
    """Draw noise of a family, with a public scale, rounded to the nearest point of a grid.

    The law is exactly that of the real noise after rounding: total variation distance 0. For a value that lies on the
    grid, adding this noise is the same as rounding value + noise, so the guarantees of the real noise hold.

    >>> from discreet.noise import families
    >>> draws = sample(families.StudentT(3), scale=2, grid="0.25", size=100)
    >>> bool((draws * 4 == np.rint(draws * 4)).all())
    True
    """
    points = read_grid(grid)
    if size is None:
        return points.value(rounded(family, 0, scale, points, bits))
    return np.ldexp(sample_steps(family, scale, points, size, bits).astype(np.float64), points.exponent)


def sample_steps(
    family: Family, scale: Number, grid: Grid | Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.int64]:
    """Draw as `sample` does and return whole numbers of steps; beyond the 64-bit range, its end.

    >>> from discreet.noise import families
    >>> sample_steps(families.Laplace(), scale=1, grid=1, size=(2, 2)).dtype
    dtype('int64')
    """
    return array(size, _filler(family, _read_scale(scale), read_grid(grid)), bits)


@lru_cache(maxsize=64)
def _filler(family: Family, scale: Fraction, grid: Grid) -> _Filler:
    return _Filler(family, scale, grid)


class _Filler:
    """Fill arrays: float intervals settle nearly all entries, big integers the rest with the very same bits."""

    def __init__(self, family: Family, scale: Fraction, grid: Grid) -> None:
        self._family, self._scale, self._grid = family, scale, grid

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        left = np.arange(out.size)
        while left.size:
            left = left[~self._attempt(out, left, bits)]

    def _attempt(self, out: NDArray[np.int64], at: NDArray[np.intp], bits: BitSource) -> NDArray[np.bool_]:
        """Write draws where they are kept and return where that was."""
        words = bits.words64(self._family.uniforms * at.size).reshape(self._family.uniforms, at.size)
        with np.errstate(all="ignore"):  # what floats cannot bound becomes infinite or NaN and is settled exactly
            boxes = [Box.of_words(row) for row in words]
            margin = self._family.margin(boxes)
            real = self._family.value(boxes).scaled(self._scale / self._grid.step)
            place = real + real.constant(_HALF)
            low = np.floor(place.lo)
            settled = (low == np.floor(place.hi)) & (np.abs(low) < _SETTLED)
            kept = np.ones(at.size, dtype=np.bool_) if margin is None else margin.lo >= 0
            unsure = ~settled if margin is None else ~settled & ~(margin.hi < 0) | ~kept & ~(margin.hi < 0)
        sure = kept & settled
        out[at[sure]] = low[sure].astype(np.int64)
        for i in np.flatnonzero(unsure):
            draw = LazyDraw(self._family, [LazyUniform(bits, int(row[i]), 64) for row in words])
            kept[i] = draw.kept()
            if kept[i]:
                out[at[i]] = min(max(draw.steps(Fraction(0), self._scale, self._grid), -_LIMIT), _LIMIT)
        return kept
