"""The secret key of ranks, and where it is kept."""

from __future__ import annotations

from discreet.errors import ParameterError
from discreet.noise import SYSTEM

__all__ = ["fresh_key", "read_key"]

_BYTES = 32


def fresh_key() -> bytes:
    """Draw a new key.

    >>> len(fresh_key())
    32
    """
    return SYSTEM.take(_BYTES).tobytes()


def read_key(key: bytes | None) -> bytes:
    """Check a key that the owner gives; draw one if there is none.

    Two engines with the same data and the same key keep the same rows of each unit.
    """
    if key is None:
        return fresh_key()
    if not isinstance(key, bytes) or len(key) != _BYTES:
        msg = f"rank_key is not shown; it must be {_BYTES} secret bytes, or None for new ones."
        raise ParameterError(msg)
    return key
