"""A program that kills holders of one stream: `python -m tests.methods.streaming.crashes FILE KILLS SEED`.

Two children want the stream; the one that holds it adds elements, tells what was drawn and what was acknowledged, until
SIGKILL ends it at a random moment. The stream is that of `promise(SEED)`. It prints as JSON what was told.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from discreet.errors import LedgerError
from discreet.ledgers import Entry, SQLiteLedger
from discreet.methods.streaming import ContinualSum, KeptSum
from discreet.noise import SYSTEM
from discreet.tables import Policy

HOLDERS = 2
POLICY = Policy([], epsilon=10, delta="1e-6", filter="zcdp", dataset="hospital")
ENTRY = Entry("visits by minute", ("visits",), kind="stream")
KINDS: tuple[dict[str, Any], ...] = (
    {"epsilon": "1/1000", "horizon": 100_000},
    {"rho": "1/1000000", "horizon": 100_000},
    {"epsilon": "1/1000", "horizon": None},
    {"rho": "1/1000000", "horizon": 900},
)


def promise(seed: int) -> ContinualSum:
    how = KINDS[seed % len(KINDS)]
    return ContinualSum(**how, grid=1, elements="totals", events=1, durable=True)


def hold(file: Path, seed: int, place: int) -> None:
    told = os.open(file.with_name(f"told-{place}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ledger, of = SQLiteLedger(file, POLICY), promise(seed)
    while True:
        try:
            stream = KeptSum(of, ledger, ENTRY)
        except LedgerError as error:
            if "held by another program" not in str(error):
                raise
            time.sleep(0.002)
            continue
        append = stream.session.append

        def telling(parts: Any, *, state: bytes, append: Any = append) -> str:  # noqa: ANN401
            (part,) = parts
            os.write(told, f"drawn {part.details['step']} {part.value}\n".encode())
            return str(append(parts, state=state))

        stream.session.append = telling  # type: ignore[method-assign, assignment]
        while True:
            sum_ = stream.add(stream.step % 5)
            os.write(told, f"kept {sum_.details['step']} {sum_.value}\n".encode())


def started(file: Path, seed: int, place: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        hold(file, seed, place)
    except BaseException as error:  # noqa: BLE001 - told, and seen by the test
        os.write(2, f"holder {place}: {error!r}\n".encode())
    os._exit(1)


def told_lines(file: Path, word: str) -> int:
    return sum(path.read_text().count(word) for path in file.parent.glob("told-*"))


def main(file: Path, kills: int, seed: int) -> None:
    random, places = Random(seed), iter(range(10**6))
    SQLiteLedger(file, POLICY).close()
    of = promise(seed)  # searched for once, and not by each child
    (of if of.horizon else of.epoch(0)).draw(SYSTEM, (1, 1))
    children = [started(file, seed, next(places)) for _ in range(HOLDERS)]
    for kill in range(kills):
        word = "drawn" if kill % 4 else "kept"
        before = told_lines(file, word)
        while told_lines(file, word) == before:
            time.sleep(0.001)
        time.sleep(random.expovariate(200))
        for place in range(HOLDERS):
            os.kill(children[place], signal.SIGKILL)
            os.waitpid(children[place], 0)
            children[place] = started(file, seed, next(places))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    lines = [line for path in file.parent.glob("told-*") for line in path.read_text().splitlines()]
    sys.stdout.write(json.dumps(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
