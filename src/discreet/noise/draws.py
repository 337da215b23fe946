"""What all samplers share: reading `size`, filling arrays in blocks, and single draws from a pool."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import SizeError
from discreet.exact import integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.bits import BitSource

__all__ = ["BLOCK", "Shape", "Size", "array", "pooled", "shape_of"]

Size = int | tuple[int, ...] | None
Shape = tuple[int, ...]
Fill = Callable[["NDArray[np.int64]", "BitSource"], None]
"""Writes independent draws into a one-dimensional array."""

BLOCK = 1 << 15  # draws per pass: the temporaries stay in the second-level cache
_POOL = 1 << 10  # single draws sampled ahead
_MOST_POOLS = 256


def shape_of(size: int | tuple[int, ...], *, width: int = 8) -> Shape:
    """Check an array's size against this machine's memory before anything is allocated."""
    sizes = size if isinstance(size, tuple) else (size,)
    shape = tuple(integer(each, name="size", least=0) for each in sizes)
    needed, memory = width * prod(shape), _memory()
    if needed > memory:
        msg = f"size is {size}: {needed:.3g} bytes, more than this machine's memory ({memory:.3g}). Draw in parts."
        raise SizeError(msg)
    return shape


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # no such call on this system
        return 1 << 40


def array(size: int | tuple[int, ...], fill: Fill, bits: BitSource) -> NDArray[np.int64]:
    """Return an array of draws, made in blocks so that the peak memory stays near the output's own."""
    out = np.empty(shape_of(size), dtype=np.int64)
    flat = out.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        fill(flat[start : start + BLOCK], bits)
    return out


def pooled(key: object, maker: Callable[[], Fill], bits: BitSource) -> int:
    """Return one draw that was sampled ahead.

    Settling a rare case takes longer than an ordinary draw, and how rare a case is tells something about the noise.
    So all settling happens while a pool is filled, at every 1024th draw of a scale, whatever was drawn; taking
    from a full pool reads no random bit and does the same work each time.
    """
    pools = bits.pools
    try:
        draw: int = pools[key].pop()  # one atomic step: no draw is handed out twice
    except (KeyError, IndexError, TypeError):  # TypeError: a key that is no number, which the maker refuses by name
        fill, block = maker(), np.empty(_POOL, dtype=np.int64)
        fill(block, bits)
        stock = block.tolist()
        draw = stock.pop()
        while len(pools) >= _MOST_POOLS:
            pools.pop(next(iter(list(pools))), None)
        pools[key] = stock
    return draw
