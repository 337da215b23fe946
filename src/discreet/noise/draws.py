"""What all samplers share: reading `size`, filling arrays in blocks, and single draws from a pool."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.errors import ParameterError, SizeError
from discreet.exact import integer, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.bits import BitSource

__all__ = ["BLOCK", "Shape", "Size", "array", "from_pool", "once", "parts", "pooled", "shape_of"]

Size = int | tuple[int, ...] | None
Shape = tuple[int, ...]
Fill = Callable[["NDArray[np.int64]", "BitSource"], None]
"""Writes independent draws into a one-dimensional array, in blocks where it needs temporaries."""

BLOCK = 1 << 15  # draws per pass: the temporaries stay in the second-level cache
_POOL = 1 << 10  # single draws sampled ahead
_MOST_POOLS = 256
_MOST_DIMENSIONS = 32
_LONGEST = 1 << 60
T = TypeVar("T")


def shape_of(size: int | tuple[int, ...], *, width: int = 8, name: str = "size") -> Shape:
    """Check an array's size against this machine's memory before anything is allocated."""
    sizes = size if isinstance(size, tuple) else (size,)
    shape = tuple(integer(each, name=name, least=0) for each in sizes)
    needed, memory = width * prod(shape), _memory()
    if needed > memory:
        msg = f"{name} is {shown(size)}: {_bytes(needed)}, more than this machine's {_bytes(memory)}. Draw in parts."
        raise SizeError(msg)
    if len(shape) > _MOST_DIMENSIONS or any(each >= _LONGEST for each in shape):
        msg = f"{name} is {shown(size)}; it may have at most {_MOST_DIMENSIONS} dimensions, each below 2**60."
        raise ParameterError(msg)
    return shape


def _bytes(count: int) -> str:
    return f"{min(count, 10**300):.3g} bytes"


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # no such call on this system
        return 1 << 40


def once(draw: Callable[[], T]) -> T:
    """Return what `draw` returns, drawn in this process alone.

    A signal handler may fork in the middle of a draw; then parent and child both hold it, and the child draws again.
    """
    while True:
        process = os.getpid()
        found = draw()
        if os.getpid() == process:
            return found


def array(size: int | tuple[int, ...], fill: Fill, bits: BitSource) -> NDArray[np.int64]:
    """Return an array of draws."""
    shape = shape_of(size)

    def draw() -> NDArray[np.int64]:
        out = np.empty(shape, dtype=np.int64)
        fill(out.reshape(-1), bits)
        return out

    try:
        return once(draw)
    except MemoryError:  # a limit below the machine's memory
        msg = f"size is {shown(size)}: {_bytes(8 * prod(shape))} could not be had. Draw in parts."
        raise SizeError(msg) from None


def parts(out: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Cut an array into blocks, so that a fill's temporaries stay small."""
    for start in range(0, out.size, BLOCK):
        yield out[start : start + BLOCK]


def from_pool(key: object, make: Callable[[], list[T]], bits: BitSource) -> T:
    """Return one draw that was made ahead; make more where there is none.

    Settling a rare case takes longer than an ordinary draw, and how rare a case is tells something about the noise.
    So all settling happens while a pool is filled, after a number of draws that does not depend on them; taking from a
    full pool reads no random bit and does the same work each time.
    """
    while True:
        process, pools = os.getpid(), bits.pools  # a child gets pools of its own, so a block begun before stays out
        try:
            found: T = pools[key].pop()  # one atomic step: no draw is handed out twice
        except (KeyError, IndexError, TypeError):  # TypeError: a key that is no number, which the maker refuses by name
            found = _restocked(key, make(), pools)
        if os.getpid() == process:  # as in `once`, spelled out because this is the fast path
            return found


def _restocked(key: object, stock: list[T], pools: dict[object, list[Any]]) -> T:
    found = stock.pop()
    while len(pools) >= _MOST_POOLS:
        pools.pop(next(iter(list(pools))), None)
    pools[key] = stock
    return found


def pooled(key: object, maker: Callable[[], Fill], bits: BitSource) -> int:
    """Return one draw of a sampler that fills arrays, from a pool of 1024."""
    return from_pool(key, lambda: _block(maker(), bits), bits)


def _block(fill: Fill, bits: BitSource) -> list[int]:
    block = np.empty(_POOL, dtype=np.int64)
    fill(block, bits)
    stock: list[int] = block.tolist()
    return stock
