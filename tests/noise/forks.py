"""A program for the fork tests, run in a process of its own: `python -m tests.noise.forks KIND WORK`.

It prints, one per line in hexadecimal, the pieces of random output that two forked children and their parent got. (A
process that has threads, such as a test runner's worker, must not fork.)
"""

from __future__ import annotations

import ctypes
import faulthandler
import multiprocessing
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import noise
from discreet.errors import LedgerError
from discreet.noise import SYSTEM
from discreet.noise.sealed import SealedBits
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

SCALES = iter(range(10**12 + 1, 10**13))  # each new: its pool is empty
PATIENCE = 300  # seconds, after which a process that hangs is ended: a child by its alarm, its parent with a trace


def raw_fork() -> int:
    """Fork without Python's hooks, as an extension module might; PyDLL keeps the interpreter's lock meanwhile."""
    return int(ctypes.PyDLL(None).fork())


def words() -> bytes:
    return SYSTEM.take(32 * 16).tobytes()


def draws() -> bytes:
    return np.array([noise.discrete_laplace(10**12) for _ in range(64)]).tobytes()


SEALED = SealedBits(bytes(32), 1)


def sealed(work: Callable[[], bytes]) -> bytes:
    """Draw from the bits of a session; nothing where they are refused."""
    try:
        return work()
    except LedgerError:
        return b""


def sealed_words() -> bytes:
    return sealed(lambda: SEALED.take(32 * 16).tobytes())


def sealed_draws() -> bytes:
    return sealed(lambda: np.array([noise.discrete_laplace(10**12, bits=SEALED) for _ in range(64)]).tobytes())


def interrupted(inside: str, work: Callable[[], object], lines: int) -> bytes:
    """Fork inside a signal handler after so many lines of a function: both processes go on with the same frames."""
    reader, writer = os.pipe()
    children: list[int] = []
    seen = [0]

    def handler(_: int, __: object) -> None:
        children.append(os.fork())
        if children == [0]:
            signal.alarm(PATIENCE)

    def trace(frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401 - what sys.settrace asks for
        if event == "line" and frame.f_code.co_name == inside and not children:
            seen[0] += 1
            if seen[0] == lines:
                signal.raise_signal(signal.SIGUSR1)
        return trace

    signal.signal(signal.SIGUSR1, handler)
    sys.settrace(trace)
    found = np.array(work()).tobytes()
    sys.settrace(None)
    if children == [0]:
        os.write(writer, found)
        os._exit(0)
    os.close(writer)
    if not children:
        return b""
    os.waitpid(children[0], 0)
    with os.fdopen(reader, "rb") as stream:
        return found + stream.read()


def interrupted_pool() -> bytes:
    """Interrupt around the moment a draw leaves the pool (not once it is returned), and while the pool is filled."""
    parts = [interrupted("from_pool", lambda: [noise.discrete_laplace(10**12)], lines) for lines in range(1, 5)]
    parts += [interrupted("_fill", lambda: [noise.discrete_laplace(next(SCALES))], lines) for lines in range(1, 12)]
    return b"".join(parts)


def interrupted_array() -> bytes:
    """Interrupt an array that is being filled."""
    parts = [interrupted("_fill", lambda: noise.discrete_laplace(10**12, 16), lines) for lines in range(1, 12)]
    return b"".join(parts)


FORGETFUL = ReplayBits(7)
WORK: dict[str, tuple[Callable[[], bytes], int]] = {
    "words": (words, 16),
    "draws": (draws, 8),
    "interrupted pool": (interrupted_pool, 8),
    "interrupted array": (interrupted_array, 8),
    "sealed words": (sealed_words, 16),
    "sealed draws": (sealed_draws, 8),
    "forgetful": (lambda: FORGETFUL.take(512).tobytes(), 16),
}


def in_child(work: Callable[[], bytes], fork: Callable[[], int]) -> bytes:
    """Run work in a forked child and return what it writes."""
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        signal.alarm(PATIENCE)
        os.write(writer, work())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        found = stream.read()
    os.waitpid(child, 0)
    return found


def worker(name: str) -> bytes:
    return WORK[name][0]()


def main(kind: str, name: str) -> None:
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    work, size = WORK[name]
    work()  # the parent holds a block and a pool
    if kind == "handler":
        parts = []
    elif kind == "pool":
        with multiprocessing.get_context("fork").Pool(3) as pool:
            parts = pool.map(worker, [name] * 9)
            pool.close()
            pool.join()  # to terminate workers that wait for work can, rarely, wait for a lock that one of them holds
    else:
        parts = [in_child(work, os.fork if kind == "fork" else raw_fork) for _ in range(2)]
    for part in (*parts, work()):
        for start in range(0, len(part), size):
            sys.stdout.write(part[start : start + size].hex() + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
