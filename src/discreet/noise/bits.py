"""Random bits: AES-256 in counter mode, keyed from the operating system."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SYSTEM", "BitSource", "SystemBits"]

_BLOCK = 1 << 18  # bytes per key: far below the 2**68 at which AES in counter mode is told from random
_ZEROS = bytes(_BLOCK)


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

    def words32(self, count: int) -> NDArray[np.uint32]:
        """Return uniform integers below 2**32."""
        return self.take(4 * count).view(np.uint32)

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
