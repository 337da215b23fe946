"""A replayable source of bits, for tests alone; the package exports none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.noise import BitSource

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ReplayBits(BitSource):
    """The same bits for the same seed, after an optional script of bytes; it counts what was taken."""

    def __init__(self, seed: int, script: bytes = b"") -> None:
        self._stream = np.random.Generator(np.random.PCG64(seed))
        self._script = script
        self._pools: dict[object, list[Any]] = {}
        self.taken = 0

    @property
    def pools(self) -> dict[object, list[Any]]:
        return self._pools

    def take(self, count: int) -> NDArray[np.uint8]:
        self.taken += count
        first, self._script = self._script[:count], self._script[count:]
        rest = self._stream.integers(0, 256, size=count - len(first), dtype=np.uint8)
        return np.concatenate([np.frombuffer(first, dtype=np.uint8), rest])
