"""A run of the tests without --fresh-seeds is the same every time, in releases of a database too."""

from __future__ import annotations

import hashlib
import os
from itertools import chain

import mpmath
import numpy as np
import pytest

from discreet.noise import SYSTEM, bits


def replayed(name: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    digest = hashlib.sha256(f"{name} 0".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest))).integers(0, 256, 1 << 18, dtype=np.uint8)


@pytest.mark.fixed_bits
def test_what_few_bits_would_break_never_gets_fresh_ones(request: pytest.FixtureRequest) -> None:
    assert np.array_equal(SYSTEM.take(64), replayed(request.node.nodeid)[:64])


@pytest.mark.parametrize("turn", [0, 1])
def test_the_system_source_gives_a_test_the_bits_of_its_name(request: pytest.FixtureRequest, turn: int) -> None:
    del turn
    assert np.array_equal(SYSTEM.take(64), replayed(request.node.nodeid)[:64]) != request.config.getoption(
        "--fresh-seeds"
    )


@pytest.mark.parametrize("digits", [15, 200])
def test_no_test_inherits_the_precision_of_another(digits: int) -> None:
    assert mpmath.mp.dps == 60
    mpmath.mp.dps = digits


def test_no_bit_comes_twice_within_a_test() -> None:
    words = list(chain.from_iterable(SYSTEM.words64(1 << 15).tolist() for _ in range(4)))  # four blocks
    assert len(set(words)) == len(words)  # 2**17 words of 64 bits: by chance with probability 2**-31, and replayed
    assert bits._key_stream(16).tobytes() != bits._key_stream(16).tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_without_the_name_draws_fresh_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a child does: with the process it has, the stream is another one in each call and each run."""
    before = SYSTEM.take(32).tobytes()
    monkeypatch.setattr(os, "getpid", lambda: 1)
    SYSTEM._forget()
    after = SYSTEM.take(32).tobytes()
    monkeypatch.undo()
    assert before != after
