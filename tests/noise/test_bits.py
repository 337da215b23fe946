"""No bit and no draw is handed out twice: after fork, across threads, inside signal handlers."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.noise import SYSTEM, SystemBits
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

FALSE_ALARM = 1e-9
WORD = 16  # bytes; two random words of 16 bytes agree with probability 2**-128


def in_child(work: Callable[[], bytes], fork: Callable[[], int] = os.fork) -> bytes:
    """Run work in a forked child and return what it writes."""
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.write(writer, work())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        found = stream.read()
    os.waitpid(child, 0)
    return found


def words() -> bytes:
    return SYSTEM.take(32 * WORD).tobytes()


def draws() -> bytes:
    return np.array([noise.discrete_laplace(10**12) for _ in range(64)]).tobytes()


def raw_fork() -> int:
    """Fork without Python's hooks, as an extension module might."""
    return int(ctypes.CDLL(None).fork())


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
@pytest.mark.parametrize("fork", [os.fork, raw_fork])
@pytest.mark.parametrize("work", [words, draws])
def test_a_child_never_repeats_its_parent(work: Callable[[], bytes], fork: Callable[[], int]) -> None:
    work()  # the parent holds a block and a pool
    children = [in_child(work, fork) for _ in range(2)]
    own = work()
    size = WORD if work is words else 8
    pieces = [part[i : i + size] for part in (*children, own) for i in range(0, len(part), size)]
    assert len(set(pieces)) == len(pieces) >= 96


@needs_fork
def test_the_fork_check_sees_a_source_that_ignores_fork() -> None:
    forgetful = ReplayBits(7)
    child = in_child(lambda: forgetful.take(64).tobytes())
    assert child == forgetful.take(64).tobytes()


def _worker(_: int) -> bytes:
    return words()


@needs_fork
def test_a_pool_of_processes_has_streams_of_its_own() -> None:
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = pool.map(_worker, range(9))
    pieces = [part[i : i + WORD] for part in found for i in range(0, len(part), WORD)]
    assert len(set(pieces)) == len(pieces)


def test_threads_never_share_bits_or_draws() -> None:
    found: list[bytes] = []
    numbers: list[int] = []

    def work() -> None:
        for _ in range(300):
            found.append(SYSTEM.take(WORD).tobytes())
            numbers.append(noise.discrete_laplace(2**55))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == len(found) == 2400
    assert len(set(numbers)) == len(numbers) == 2400


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_a_signal_handler_never_gets_the_bits_it_interrupted() -> None:
    found: list[bytes] = []

    def handler(_: int, __: object) -> None:
        found.append(SYSTEM.take(WORD).tobytes())

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        count = 0
        while count < 200_000 and len(found) < 100_000:
            found.append(SYSTEM.take(WORD).tobytes())
            count += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert len(set(found)) == len(found)


def test_blocks_of_all_sizes_are_fresh_and_of_the_right_length() -> None:
    source = SystemBits()
    sizes = [0, 1, 7, 8, 9, 1000, 2**18 - 1, 2**18, 2**18 + 1, 3 * 2**18 + 5]
    assert [source.take(size).size for size in sizes] == sizes
    assert source.take(64).tobytes() != source.take(64).tobytes()


def test_bytes_are_uniform() -> None:
    counts = np.bincount(SYSTEM.take(1_000_000), minlength=256)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    skewed = np.bincount(SYSTEM.take(1_000_000) & 0xFE, minlength=256)
    assert not stats.chisquare(skewed).pvalue > FALSE_ALARM


def test_each_block_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return os.getrandom(count)

    monkeypatch.setattr(os, "urandom", urandom)
    source = SystemBits()
    for _ in range(4):
        source.take(2**18)
    assert asked == [32, 16] * 4


def test_the_package_exports_no_replayable_source() -> None:
    sources = [each for each in vars(noise).values() if isinstance(each, type) and issubclass(each, noise.BitSource)]
    assert set(sources) == {noise.BitSource, SystemBits}
