"""A program that kills writers of one ledger: `python -m tests.ledgers.crashes FILE KILLS SEED EPSILON [ADDRESS]`.

Eight children reserve, record and then show (a line in a file of their own) as fast as they can; each is ended by
SIGKILL at a random moment and replaced. It prints as JSON what was shown. With an address the ledger is PostgreSQL's.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path
from random import Random

from discreet.errors import BudgetError
from discreet.ledgers import Entry, PostgresLedger, SQLiteLedger
from discreet.privacy import Pure
from discreet.tables import Policy
from tests.ledgers.stores import VISITS, Text

WRITERS = 8
COSTS = [Fraction(1, 100), Fraction(1, 70), Fraction(3, 1000)]


def policy(epsilon: str) -> Policy:
    return Policy([VISITS], epsilon=epsilon, dataset="hospital")


def write(file: Path, seed: int, epsilon: str, address: str) -> None:
    """Spend until killed, or until nothing is left of any cost."""
    random = Random(seed)
    shown = os.open(file.with_name(f"shown-{seed}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ledger = PostgresLedger(address, policy(epsilon)) if address else SQLiteLedger(file, policy(epsilon))
    number = 0
    while True:
        cost = random.choice(COSTS)
        try:
            paid = ledger.reserve(Pure(cost), Entry(f"{seed}-{number}", ("visits",)))
        except BudgetError:
            if not ledger.admits(Pure(min(COSTS)), Entry("", ("visits",))):
                os._exit(0)
            continue
        ledger.record(paid, Text(f"{seed}-{number}"))
        os.write(shown, f"{cost} {paid.number} {seed}-{number}\n".encode())
        number += 1


def started(file: Path, seed: int, epsilon: str, address: str) -> int:
    child = os.fork()
    if child:
        return child
    try:
        write(file, seed, epsilon, address)
    except BaseException as error:  # noqa: BLE001 - told, and seen by the test
        os.write(2, f"writer {seed}: {error!r}\n".encode())
    os._exit(1)


def shown_bytes(file: Path) -> int:
    return sum(each.stat().st_size for each in file.parent.glob("shown-*"))


def main(file: Path, kills: int, seed: int, epsilon: str, address: str) -> None:
    random = Random(seed)
    seeds = iter(range(10**6))
    children = [started(file, next(seeds), epsilon, address) for _ in range(WRITERS)]
    seen = 0
    for _ in range(kills):
        while (size := shown_bytes(file)) == seen:  # on a busy machine, too, something is shown between two kills
            time.sleep(0.001)
        seen = size
        time.sleep(random.expovariate(200))
        place = random.randrange(WRITERS)
        os.kill(children[place], signal.SIGKILL)
        os.waitpid(children[place], 0)
        children[place] = started(file, next(seeds), epsilon, address)
    if kills:
        for child in children:
            os.kill(child, signal.SIGKILL)
    codes = [os.waitpid(child, 0)[1] for child in children]
    lines = [line for each in file.parent.glob("shown-*") for line in each.read_text().splitlines()]
    sys.stdout.write(json.dumps({"shown": lines, "codes": codes}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], *sys.argv[5:] or [""])
