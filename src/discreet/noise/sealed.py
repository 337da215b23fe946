"""The bits of a session: drawn again, they are the same."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.errors import LedgerError
from discreet.noise.bits import BitSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SealedBits"]

_KEY = 32


class SealedBits(BitSource):
    """The stream of one step of a session: AES-256 in counter mode under a key that its holder keeps sealed.

    A step that a crash cut off is taken again with the same bits, so that no second noise is ever drawn for it. That is
    safe because nothing of it was shown: what is shown was recorded, and what was recorded is not computed again. Each
    step has a key of its own, HMAC-SHA-256 of the step under the session's (a pseudorandom function: Bellare 2006), so
    that no two steps share bits. Never use one for a release whose value may have been shown.

    It belongs to the process that made it: a forked child would draw what its parent draws, and the difference of their
    releases would be exact. So a child is refused.

    >>> key = bytes(32)
    >>> same = SealedBits(key, 3).take(8).tolist() == SealedBits(key, 3).take(8).tolist()
    >>> other = SealedBits(key, 3).take(8).tolist() == SealedBits(key, 4).take(8).tolist()
    >>> same, other
    (True, False)
    """

    def __init__(self, key: bytes, step: int) -> None:
        if len(key) != _KEY:
            msg = f"the key has {len(key)} bytes; it must have {_KEY}."
            raise ValueError(msg)
        own = hmac.digest(key, step.to_bytes(16, "little"), hashlib.sha256)
        # The nonce is fixed: the key is of this step alone.
        self._stream = Cipher(algorithms.AES256(own), modes.CTR(bytes(16))).encryptor()
        self._pools: dict[object, list[Any]] = {}
        self._process = os.getpid()

    def _require_own(self) -> None:
        if self._process != os.getpid():
            msg = (
                "these bits are of the session of another process, from which this one was forked; nothing was drawn. "
                "Draw there, or open a session here."
            )
            raise LedgerError(msg)

    def take(self, count: int) -> NDArray[np.uint8]:
        """Return the next `count` bytes of the stream."""
        padded = -(-count // 8) * 8  # so that a stream taken in pieces does not depend on whether a word was split
        taken = self._stream.update(bytes(padded))
        self._require_own()  # last, as a signal's handler may fork meanwhile
        return np.frombuffer(bytearray(taken), dtype=np.uint8)[:count]

    @property
    def pools(self) -> dict[object, list[Any]]:
        """Noise sampled ahead from this stream."""
        self._require_own()
        return self._pools

    def __reduce__(self) -> str:
        """Refuse to be copied: a copy would hand out the same bits again."""
        msg = "the bits of a session are not copied or pickled: they would be handed out twice."
        raise TypeError(msg)

    def __repr__(self) -> str:
        return "SealedBits(…)"
