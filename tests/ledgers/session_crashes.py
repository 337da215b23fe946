"""A program that kills holders of one session: `python -m tests.ledgers.session_crashes FILE KILLS SEED [ADDRESS]`.

Three children want the session; the one that holds it draws, tells what it drew, appends, and tells what was kept, as
fast as it can, until SIGKILL ends it at a random moment and it is replaced. It prints as JSON what was told.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from random import Random

from discreet.errors import LedgerError
from discreet.ledgers import Entry, Ledger, PostgresLedger, Session, SQLiteLedger, charge
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import Pure
from tests.ledgers.stores import POLICY

HOLDERS = 3
COST = Pure(2)
DAILY = Entry("visits by day", ("visits",), kind="stream")
NOISE = DiscreteLaplace(sensitivity=1, epsilon="1/1000000")


def go_on(session: Session, told: int) -> None:
    """Append parts, singly or as steps that are paid inside the session, until killed."""
    while True:
        step = len(session.parts)
        if step % 2:
            name = Entry(f"step {step}", ("visits",), kind="method")

            def run(paid: object) -> object:
                part = NOISE.release(0, bits=session.bits(paid.number))  # type: ignore[attr-defined]
                os.write(told, f"drawn {step} {part.value}\n".encode())  # noqa: B023 - used at once
                return part

            part = charge(session, Pure("1/1000000"), name, run)  # type: ignore[arg-type]
        else:
            part = NOISE.release(0, bits=session.bits())
            os.write(told, f"drawn {step} {part.value}\n".encode())
            session.append([part], state=f"{step}".encode())
        os.write(told, f"kept {step} {part.value}\n".encode())


def opened(file: Path, address: str) -> Ledger:
    return PostgresLedger(address, POLICY) if address else SQLiteLedger(file, POLICY)


def hold(file: Path, seed: int, address: str) -> None:
    told = os.open(file.with_name(f"told-{seed}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ledger = opened(file, address)
    while True:
        try:
            session = Session.open(ledger, COST, DAILY)
        except LedgerError as error:
            if "held by another program" not in str(error):
                raise
            time.sleep(0.002)
        else:
            go_on(session, told)


def started(file: Path, seed: int, address: str) -> int:
    child = os.fork()
    if child:
        return child
    try:
        hold(file, seed, address)
    except BaseException as error:  # noqa: BLE001 - told, and seen by the test
        os.write(2, f"holder {seed}: {error!r}\n".encode())
    os._exit(1)


def told_lines(file: Path, word: str) -> int:
    return sum(path.read_text().count(word) for path in file.parent.glob("told-*"))


def main(file: Path, kills: int, seed: int, address: str) -> None:
    random = Random(seed)
    seeds = iter(range(10**6))
    opened(file, address).close()  # the driver and the sampler are imported once, and not by each child
    NOISE.release(0)
    children = [started(file, next(seeds), address) for _ in range(HOLDERS)]
    for kill in range(kills):
        word = "drawn" if kill % 4 else "kept"  # on a busy machine, too, something happens between two kills
        before = told_lines(file, word)
        while told_lines(file, word) == before:
            time.sleep(0.001)
        time.sleep(random.expovariate(200))
        for place in range(HOLDERS):  # whoever holds it is among them
            os.kill(children[place], signal.SIGKILL)
            os.waitpid(children[place], 0)
            children[place] = started(file, next(seeds), address)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    lines = [line for path in file.parent.glob("told-*") for line in path.read_text().splitlines()]
    sys.stdout.write(json.dumps(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:] or [""])
