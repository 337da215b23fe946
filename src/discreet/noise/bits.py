"""Uniform bits, and what all samplers make of them: arrays filled in blocks, single draws from a pool, uniform draws.

Uniform reals are revealed bit by bit, as far as a decision needs them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.errors import ParameterError, SizeError
from discreet.exact import Interval, Number, integer, rational, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import SupportsIndex

    from numpy.typing import NDArray

__all__ = [
    "BLOCK",
    "LARGEST_SCALE",
    "SMALLEST_SCALE",
    "SYSTEM",
    "BitSource",
    "LazyUniform",
    "Shape",
    "Size",
    "SystemBits",
    "array",
    "checked_scale",
    "from_pool",
    "once",
    "ordered_integers",
    "parts",
    "permutation",
    "pooled",
    "shape_of",
    "toss",
    "uniform_integer",
]

_BLOCK = 1 << 18  # bytes per key: far below the 2**68 at which AES in counter mode is told from random
_ZEROS = bytes(_BLOCK)
Size = int | tuple[int, ...] | None
Shape = tuple[int, ...]

Fill = Callable[["NDArray[np.int64]", "BitSource"], None]
"""Writes independent draws into a one-dimensional array, in blocks where it needs temporaries."""

BLOCK = 1 << 15  # draws per pass: the temporaries stay in the second-level cache
LARGEST_SCALE = Fraction(144 * 10**15)  # just below 2**57, whose float prints as a decimal that is smaller than it
SMALLEST_SCALE = Fraction(1, 1024)
_POOL = 1 << 10  # single draws sampled ahead
_MOST_POOLS = 256
_MOST_DIMENSIONS = 32
_LONGEST = 1 << 60
T = TypeVar("T")
_MOST = 1 << 63
_FEW = 4096
_CHUNK = 1 << 20


class BitSource(ABC):
    """A stream of uniform bits; each bit is handed out once.

    Samplers take their source as an argument and draw from nothing else. `pools` holds noise that was
    sampled ahead from this source for single draws.

    >>> from discreet.noise import SYSTEM
    >>> SYSTEM.words16(4).dtype, SYSTEM.integer(100) < 2**100
    (dtype('uint16'), True)
    """

    @abstractmethod
    def take(self, count: int) -> NDArray[np.uint8]:
        """Return `count` fresh random bytes."""

    @property
    @abstractmethod
    def pools(self) -> dict[object, list[Any]]:
        """Noise sampled ahead, by family and parameters."""

    def words16(self, count: int) -> NDArray[np.uint16]:
        """Return uniform integers below 2**16."""
        return self.take(2 * count).view(np.uint16)

    def words64(self, count: int) -> NDArray[np.uint64]:
        """Return uniform integers below 2**64."""
        return self.take(8 * count).view(np.uint64)

    def integer(self, bits: int) -> int:
        """Return a uniform integer below 2**bits."""
        count = -(-bits // 8)
        return int.from_bytes(self.take(count).tobytes(), "little") >> (8 * count - bits)


class SystemBits(BitSource):
    """The stream behind every release.

    Each block of 256 KiB is the AES-256-CTR key stream (NIST SP 800-38A) of a key and counter read from the
    operating system; the key is used for that block alone and forgotten. There is no seed.

    Why no bit is handed out twice:

    - *threads, signal handlers, finalizers*: a block in stock is taken out by `list.pop`, one atomic step, used
      by its taker alone, and its rest is put back; whoever comes meanwhile finds another block or makes one.
    - *fork*: the child's stock and pools are dropped by a hook, and blocks carry the process they were made in,
      so a child that was forked without Python's hooks refuses them too.

    >>> SystemBits().take(16).size
    16
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._stock: list[tuple[int, NDArray[np.uint8]]] = []
        self._pools: dict[object, list[Any]] = {}
        os.register_at_fork(after_in_child=self._forget)

    def __copy__(self) -> SystemBits:
        """Return the source itself: a copy would hand out the same bits again."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> SystemBits:
        """Return the source itself."""
        return self

    def __reduce__(self) -> tuple[type[SystemBits], tuple[()]]:
        """Pickle as a source with nothing in stock."""
        return SystemBits, ()

    def _forget(self) -> None:
        self._stock = []
        self._pools = {}
        self._process = os.getpid()

    @property
    def pools(self) -> dict[object, list[Any]]:
        """Noise sampled ahead in this process."""
        if self._process != os.getpid():
            self._forget()
        return self._pools

    def take(self, count: int) -> NDArray[np.uint8]:
        """Return `count` fresh random bytes, aligned to eight."""
        padded = -(-count // 8) * 8  # keeps what follows aligned for wide words
        while True:
            process = os.getpid()
            taken = _key_stream(padded) if padded > _BLOCK else self._from_stock(process, padded)
            if os.getpid() == process:  # a handler may have forked meanwhile: then both processes hold these bytes
                return taken[:count]

    def _from_stock(self, process: int, count: int) -> NDArray[np.uint8]:
        try:
            owner, block = self._stock.pop()
        except IndexError:
            owner, block = process, _key_stream(_BLOCK)
        if owner != process or block.size < count:
            block = _key_stream(_BLOCK)
        if block.size > count:
            self._stock.append((process, block[count:]))
        return block[:count]


def _key_stream(count: int) -> NDArray[np.uint8]:
    """Return AES-256-CTR output under a new key."""
    stream = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
    out = np.empty(count + 15, dtype=np.uint8)  # update_into asks for a block of room beyond the text
    view = out.data
    for start in range(0, count, _BLOCK):
        stop = min(start + _BLOCK, count)
        stream.update_into(_ZEROS[: stop - start] if stop - start < _BLOCK else _ZEROS, view[start : stop + 15])
    return out[:count]


# The first stream looks up classes of the cipher's library, under a lock that is not re-entrant: a signal's handler
# that draws in the middle of it would wait for itself for ever. From then on no Python code runs inside.
_key_stream(1)

SYSTEM = SystemBits()
"""The source of every release's randomness."""


def shape_of(size: int | tuple[int, ...], *, width: int = 8, name: str = "size") -> Shape:
    """Check an array's size against this machine's memory before anything is allocated."""
    sizes = size if isinstance(size, tuple) else (size,)
    shape = tuple(integer(length, name=name, least=0) for length in sizes)
    needed, memory = width * prod(shape), _memory()
    if needed > memory:
        msg = f"{name} is {shown(size)}: {_bytes(needed)}, more than this machine's {_bytes(memory)}. Draw in parts."
        raise SizeError(msg)
    if len(shape) > _MOST_DIMENSIONS or any(length >= _LONGEST for length in shape):
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
        drawn = draw()
        if os.getpid() == process:
            return drawn


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
            drawn: T = pools[key].pop()  # one atomic step: no draw is handed out twice
        except (KeyError, IndexError, TypeError):  # TypeError: a key that is no number, which the maker refuses by name
            drawn = _restocked(key, make(), pools)
        if os.getpid() == process:  # as in `once`, spelled out because this is the fast path
            return drawn


def _restocked(key: object, stock: list[T], pools: dict[object, list[Any]]) -> T:
    drawn = stock.pop()
    while len(pools) >= _MOST_POOLS:
        pools.pop(next(iter(list(pools))), None)
    pools[key] = stock
    return drawn


def pooled(key: object, maker: Callable[[], Fill], bits: BitSource) -> int:
    """Return one draw of a sampler that fills arrays, from a pool of 1024."""
    return from_pool(key, lambda: _block(maker(), bits), bits)


def _block(fill: Fill, bits: BitSource) -> list[int]:
    block = np.empty(_POOL, dtype=np.int64)
    fill(block, bits)
    stock: list[int] = block.tolist()
    return stock


def checked_scale(value: Number, *, name: str = "scale") -> Fraction:
    """Read a noise scale that 64-bit integers can carry: from 2**-10 to below 1.44e17, about 2**57.

    Above, the noise would leave the 64-bit range too often; below, Pr[noise is not 0] < 2 exp(-1024), which is no
    noise.
    """
    scale = rational(value, name=name)
    if scale <= 0:
        msg = f"{name} is {shown(value)}; it must be above 0, as noise of scale 0 protects nobody."
        raise ParameterError(msg)
    if scale < SMALLEST_SCALE:
        msg = f"{name} is {shown(value)}; it must be at least 2**-10: below that the noise is practically always 0."
        raise ParameterError(msg)
    if scale >= LARGEST_SCALE:
        msg = (
            f"{name} is {shown(value)}; it must be below 1.44e17, just under 2**57, so that 64 bits hold the noise. "
            "A larger epsilon, closer bounds or larger units need less noise."
        )
        raise ParameterError(msg)
    return scale


@overload
def uniform_integer(upper: SupportsIndex, size: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def uniform_integer(
    upper: SupportsIndex, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.int64]: ...
def uniform_integer(
    upper: SupportsIndex, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Draw integers from 0 to upper - 1, all equally likely.

    As many bits as `upper - 1` has are drawn, and drawn again while they make a number that is too large; a remainder
    would favor small numbers. A single draw may be of any length; arrays are of 64-bit integers.

    >>> 0 <= uniform_integer(10**30) < 10**30
    True
    >>> sorted(set(uniform_integer(3, size=200).tolist()))
    [0, 1, 2]
    """
    if size is None:
        limit = integer(upper, name="upper", least=1)
        return once(lambda: _below(limit, bits))
    limit = integer(upper, name="upper", least=1, most=_MOST)
    return array(size, _Below(limit), bits)


def _below(limit: int, bits: BitSource) -> int:
    width = (limit - 1).bit_length()
    while True:
        draw = bits.integer(width) if width else 0
        if draw < limit:
            return draw


class _Below:
    """Fill arrays with integers below a limit."""

    def __init__(self, limit: int) -> None:
        self._last = limit - 1
        self._shift = 64 - self._last.bit_length()

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        if self._last == 0:
            out[:] = 0
            return
        for part in parts(out):
            left = part.size
            while left:
                words = (bits.words64(left) >> np.uint64(self._shift)).view(np.int64)
                kept = words[words <= self._last]
                part[part.size - left : part.size - left + kept.size] = kept
                left -= kept.size


def permutation(count: SupportsIndex, bits: BitSource = SYSTEM) -> NDArray[np.int64]:
    """Return the integers below `count` in an order that is uniform among all orders.

    Each item gets 64 random bits and the items are sorted by them. Independent keys that are all different are
    in uniform order by symmetry; if two agree, all keys are drawn again (for a billion items, once in 37 times).

    >>> sorted(permutation(5).tolist())
    [0, 1, 2, 3, 4]
    """
    number = integer(count, name="count", least=0)
    shape_of(number, width=32, name="count")
    return once(lambda: _shuffled(number, bits))


def _shuffled(number: int, bits: BitSource) -> NDArray[np.int64]:
    while True:
        keys = np.empty(number, dtype=np.uint64)
        for start in range(0, number, BLOCK):
            keys[start : start + BLOCK] = bits.words64(min(BLOCK, number - start))
        order = np.argsort(keys)
        keys = keys[order]
        if not (keys[1:] == keys[:-1]).any():
            return order.astype(np.int64, copy=False)


def ordered_integers(count: int, width: int, ranks: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
    """Draw `count` independent uniform integers of `width` bits, and return those of the given ranks, exactly.

    The first digits are fair coins: how many of the integers have a 0 there is the number of zeros among `count` coins,
    and given that number, those with a 0 and those with a 1 are uniform in their halves, independently. So the ranks
    are divided among the halves, and a half without one is never looked into. Few integers are drawn and sorted. The
    memory is that of the ranks and of a few thousand integers; the time is one coin for each integer of a half that
    holds a rank, so about two for each in all.

    `ranks` are from 1 to `count`, in rising order.

    >>> from discreet.noise import SYSTEM
    >>> ranked = ordered_integers(10**6, 20, np.array([1, 500_000, 10**6]), SYSTEM)
    >>> bool(ranked[0] < 100 < 2**18 < ranked[1] < 3 * 2**18 < ranked[2] < 2**20)
    True
    """
    ranked = np.empty(ranks.size, dtype=np.int64)
    waiting = [(0, ranks.size, count, 0, width, 0)]
    while waiting:
        low, high, size, before, left, start = waiting.pop()
        if low == high:
            continue
        if not left:
            ranked[low:high] = start
        elif size <= _FEW:
            drawn = np.sort(uniform_integer(1 << left, size, bits))
            ranked[low:high] = start + drawn[ranks[low:high] - before - 1]
        else:
            zeros = _zeros(size, bits)
            middle = low + int(np.searchsorted(ranks[low:high], before + zeros, side="right"))
            waiting.append((low, middle, zeros, before, left - 1, start))
            waiting.append((middle, high, size - zeros, before + zeros, left - 1, start + (1 << (left - 1))))
    return ranked


def _zeros(count: int, bits: BitSource) -> int:
    """Toss so many fair coins and count the zeros."""
    ones = 0
    for tossed in range(0, count, _CHUNK):
        ones += bits.integer(min(_CHUNK, count - tossed)).bit_count()
    return count - ones


class LazyUniform:
    """A uniform real in [0, 1) whose binary digits are drawn when somebody asks for them.

    The same number answers every question about it: digits once drawn stay.

    >>> from discreet.noise import SYSTEM
    >>> u = LazyUniform(SYSTEM)
    >>> rough, fine = u.interval(16), u.interval(100)
    >>> rough.lower <= fine.lower <= fine.upper <= rough.upper
    True
    """

    __slots__ = ("bits", "digits", "known")

    def __init__(self, bits: BitSource, digits: int = 0, known: int = 0) -> None:
        """Start with `known` digits already drawn, as an integer below 2**known."""
        self.bits = bits
        self.digits = digits
        self.known = known

    def interval(self, precision: int) -> Interval:
        """Enclose the number to within 2**-precision."""
        if self.known < precision:
            more = precision - self.known
            self.digits = self.digits << more | self.bits.integer(more)
            self.known = precision
        low = self.digits >> (self.known - precision)
        return Interval(low, low + 1, precision)


def toss(probability: Callable[[int], Interval], bits: BitSource, chance: LazyUniform | None = None) -> bool:
    """Return True with a probability that is known by enclosures of growing precision, exactly.

    A uniform real, a given one or a new one, is compared with the probability; both are refined until they are apart.
    """
    chance = chance or LazyUniform(bits)
    precision = 64
    while True:
        bound, place = probability(precision), chance.interval(precision)
        if place.hi <= bound.lo:
            return True
        if place.lo >= bound.hi:
            return False
        precision *= 2
