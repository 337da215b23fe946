"""No bit and no draw is handed out twice: after fork, across threads, inside signal handlers."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.noise import SYSTEM, SystemBits
from discreet.noise.sealed import SealedBits

FALSE_ALARM = 1e-9
ROOT = Path(__file__).parents[2]
WORD = 16  # bytes; two random words of 16 bytes agree with probability 2**-128


def pieces(kind: str, work: str) -> list[str]:
    """Run the fork program in a process without threads: libraries of linear algebra end theirs in every fork."""
    command = [sys.executable, "-m", "tests.noise.forks", kind, work]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=alone).stdout.split()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
@pytest.mark.parametrize("kind", ["fork", "raw fork", "pool"])
@pytest.mark.parametrize("work", ["words", "draws"])
def test_a_child_never_repeats_its_parent(kind: str, work: str) -> None:
    found = pieces(kind, work)
    assert len(set(found)) == len(found) >= 96


@needs_fork
@pytest.mark.parametrize("work, least", [("interrupted pool", 30), ("interrupted array", 256)])
def test_a_fork_in_the_middle_of_a_draw_repeats_nothing(work: str, least: int) -> None:
    found = pieces("handler", work)
    assert len(set(found)) == len(found) >= least


@needs_fork
@pytest.mark.parametrize("kind", ["fork", "raw fork", "pool"])
@pytest.mark.parametrize("work, pieces_each", [("sealed words", 32), ("sealed draws", 64)])
def test_a_child_draws_nothing_from_the_bits_of_a_session(kind: str, work: str, pieces_each: int) -> None:
    """They begin again where they are made again: a child with its parent's source would draw its parent's noise."""
    found = pieces(kind, work)
    assert len(set(found)) == len(found) == pieces_each


@needs_fork
def test_the_fork_check_sees_a_source_that_ignores_fork() -> None:
    found = pieces("fork", "forgetful")
    assert len(set(found)) < len(found)


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


INTERRUPTED = """
import signal
from cryptography import utils
from discreet.noise import SYSTEM

plain = utils._ModuleWithDeprecations.__getattr__
asked = set()

def interrupted(module, name):
    if name not in asked:
        asked.add(name)
        signal.raise_signal(signal.SIGINT)
    return plain(module, name)

signal.signal(signal.SIGINT, lambda *_: SYSTEM.take(8))
utils._ModuleWithDeprecations.__getattr__ = interrupted
SYSTEM.take(8)
"""


def test_a_signal_handler_may_draw_in_the_middle_of_the_very_first_draw() -> None:
    """The cipher's library looks its classes up once; a handler that drew meanwhile waited for ever."""
    subprocess.run([sys.executable, "-c", INTERRUPTED], check=True, timeout=300)


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


def test_copies_of_a_source_repeat_nothing() -> None:
    noise.discrete_laplace(2**55)
    for other in (copy.copy(SYSTEM), copy.deepcopy(SYSTEM), pickle.loads(pickle.dumps(SYSTEM))):  # noqa: S301
        assert other.take(16).tobytes() != SYSTEM.take(16).tobytes()
        draws = [noise.discrete_laplace(2**55, bits=each) for each in (other, SYSTEM, other, SYSTEM)]
        assert len(set(draws)) == 4


def test_the_package_exports_no_replayable_source() -> None:
    sources = [each for each in vars(noise).values() if isinstance(each, type) and issubclass(each, noise.BitSource)]
    assert set(sources) == {noise.BitSource, SystemBits}


def test_steps_of_a_session_share_no_bits() -> None:
    key = bytes(range(32))
    steps = [SealedBits(key, step).take(4096).tobytes() for step in (0, 1, 2, 256)]
    others = [SealedBits(bytes(32), step).take(4096).tobytes() for step in (0, 1)]
    assert len({*steps, *others}) == 6
    assert SealedBits(key, 1).take(4096).tobytes() == steps[1]
