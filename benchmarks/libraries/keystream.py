"""The AES-256-CTR keystream alone: what random bits cost before they become noise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.cases import Batch, Case

DISTRIBUTIONS = ("cryptography",)
CHUNK = bytes(1 << 16)


def _fill(size: int) -> Batch:
    """Return a function of n that makes n words of `size` bytes of keystream, in chunks that stay in the cache."""
    encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
    target = bytearray(len(CHUNK) + 15)

    def make(words: int) -> None:
        whole, rest = divmod(words * size, len(CHUNK))
        for _ in range(whole):
            encryptor.update_into(CHUNK, target)
        encryptor.update_into(CHUNK[:rest], target)

    return make


def batches(_case: Case) -> Mapping[str, Batch]:
    """Bits are no noise."""
    return {}


def single(_case: Case) -> None:
    """Bits are no noise."""


def references() -> Mapping[str, Batch]:
    """Return the keystream in words of the sizes that a sampler may need a draw."""
    return {f"keystream, {size} bytes a draw": _fill(size) for size in (2, 8)}
