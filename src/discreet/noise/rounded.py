"""Real noise rounded once onto a grid, exactly, by lazy refinement."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.errors import ParameterError, PrecisionError
from discreet.exact import Box, Grid, Interval, Number, rational, shown
from discreet.noise.bits import SYSTEM, BitSource, LazyUniform, array, from_pool, once, parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.families import Family

__all__ = ["LazyDraw", "checked_family", "read_grid", "rounded", "sample"]

_AHEAD = 384  # bits after the point to which a draw is worked out before it is needed
_ROUGH = 128  # bits with which a draw that was not worked out ahead is first enclosed
_POOL = 8
_HALF = Fraction(1, 2)
_LIMIT = np.iinfo(np.int64).max
_SETTLED = 2.0**52  # floats count steps without gaps up to here
_LARGEST = Fraction(2**256)


class LazyDraw:
    """One real draw of a family, known as closely as anyone asks; the same draw answers every time."""

    __slots__ = ("_family", "_known", "_precision", "_uniforms")

    def __init__(self, family: Family, uniforms: list[LazyUniform]) -> None:
        self._family = family
        self._uniforms = uniforms
        self._precision = 0
        self._known: Interval | None = None

    @staticmethod
    def ahead(family: Family, bits: BitSource) -> LazyDraw:
        """Draw uniforms until the family keeps them, and work the draw out to 2**-384, however large it is."""
        while True:
            draw = LazyDraw(family, [LazyUniform(bits) for _ in range(family.uniforms)])
            if draw.kept():
                break
        known = draw.interval(_AHEAD)
        while (known.hi - known.lo) << _AHEAD > 1 << known.precision:
            known = draw.interval(2 * known.precision)
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
        """Enclose the draw, worked out with at least this many bits after the point."""
        working = precision
        while self._known is None or self._precision < precision:
            try:
                self._known = self._family.value([u.interval(working) for u in self._uniforms])
                self._precision = working
            except PrecisionError:  # an enclosure reached zero: more bits move it away
                working *= 2
        return self._known

    def steps(self, value: Fraction, scale: Fraction, grid: Grid) -> int:
        """Round value + scale * draw to the nearest grid point, counted in steps."""
        factor, offset = scale / grid.step, value / grid.step + _HALF
        known = self.interval(_ROUGH)
        while True:
            low = (offset + factor * known.lower).__floor__()
            if low == (offset + factor * known.upper).__floor__():
                return low
            known = self.interval(2 * known.precision)


def read_grid(grid: Grid | Number) -> Grid:
    """Accept a grid or its step."""
    if isinstance(grid, Grid):
        return grid
    return _grid(grid) if isinstance(grid, Hashable) else Grid(grid)


@lru_cache(maxsize=64, typed=True)
def _grid(step: Number) -> Grid:
    return Grid(step)


def rounded(family: Family, value: Number, scale: Number, grid: Grid | Number, bits: BitSource = SYSTEM) -> int:
    """Round value + scale * noise once to the nearest point of a public grid; return how many steps that is.

    This is the sampler for scales that depend on private data (smooth sensitivity): the result is the exact real
    number value + scale * Z, rounded onto a grid that does not know the scale, so the lattice tells nothing about it.
    Noise that is first rounded and then scaled would lie on multiples of the scale and reveal it.

    Draws are worked out to 2**-384 ahead of time. For scale / grid up to 2**256, the largest that is accepted, that
    settles the rounding but for a chance of 2**-128, so a call does the same operations whatever the noise is. A scale
    of 0, where the private bound is 0, returns the rounded value. `value` and `scale` may be private: no message
    quotes them.

    >>> from discreet.noise import families
    >>> isinstance(rounded(families.Cauchy(4), value=3, scale="0.7", grid="1/1024"), int)
    True
    """
    points = read_grid(grid)
    size, spread = _private(value, "value"), _private(scale, "scale")
    if not 0 <= spread <= _LARGEST * points.step:
        msg = "scale is out of range; it must be from 0 to 2**256 steps of the grid."
        raise ParameterError(msg)
    checked = checked_family(family)
    draw = from_pool((rounded, checked), lambda: [LazyDraw.ahead(checked, bits) for _ in range(_POOL)], bits)
    return once(lambda: draw.steps(size, spread, points))


def _private(value: Number, name: str) -> Fraction:
    """Read a number that no message may quote."""
    try:
        return rational(value, name=name)
    except ParameterError:
        msg = f"{name} is no finite number; clamp it before it gets here."
    raise ParameterError(msg)


def checked_family(family: Family) -> Family:
    """Refuse what is no family, such as the class of one."""
    if isinstance(family, type) or not hasattr(family, "uniforms"):
        msg = f"family is {shown(family)}; it must be a family such as families.Cauchy(4)."
        raise ParameterError(msg)
    return family


@overload
def sample(family: Family, scale: Number, grid: Grid | Number, size: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def sample(
    family: Family, scale: Number, grid: Grid | Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.int64]: ...
def sample(
    family: Family,
    scale: Number,
    grid: Grid | Number,
    size: int | tuple[int, ...] | None = None,
    bits: BitSource = SYSTEM,
) -> int | NDArray[np.int64]:
    """Draw noise of a family, with a public scale, rounded to the nearest point of a grid; counted in steps.

    The law is exactly that of the real noise after rounding: total variation distance 0. For a value that lies on the
    grid, adding this noise is the same as rounding value + noise, so the guarantees of the real noise hold.

    Add in steps, as integers, and turn the sum into a float last: heavy tails leave the range in which floats are
    exact. In arrays, noise beyond the 64-bit range is set to its end; for values of at most 2**62 steps, clamp the sum
    to 2**62 steps, which gives the same as with unbounded integers. A single draw is an integer of any length.

    >>> from discreet.noise import families
    >>> sample(families.StudentT(3), scale=2, grid="0.25", size=100).dtype
    dtype('int64')
    >>> grid = Grid("0.25")
    >>> grid.value(grid.steps(7) + sample(families.StudentT(3), 2, grid)) % 0.25
    0.0
    """
    points = read_grid(grid)
    spread = rational(scale, name="scale")
    if not points.step / _LARGEST <= spread <= points.step * _LARGEST:
        msg = f"scale is {shown(scale)} on a grid of {points.step}; scale / grid must be from 2**-256 to 2**256."
        raise ParameterError(msg)
    if size is None:
        return rounded(family, 0, spread, points, bits)
    return array(size, _filler(checked_family(family), spread, points), bits)


@lru_cache(maxsize=64)
def _filler(family: Family, scale: Fraction, grid: Grid) -> _Filler:
    return _Filler(family, scale, grid)


class _Filler:
    """Fill arrays: float intervals settle nearly all entries, big integers the rest with the very same bits."""

    def __init__(self, family: Family, scale: Fraction, grid: Grid) -> None:
        self._family, self._scale, self._grid = family, scale, grid

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        for part in parts(out):
            left = np.arange(part.size)
            while left.size:
                left = left[~self._attempt(part, left, bits)]

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
