"""A program that sends one request: `python -m tests.ledgers.key_races PLACE [killed]`.

It says when it is ready, waits for a line, and sends the request until it has the answer, which it prints. Killed, it
ends itself by SIGKILL after the cost was taken and before the answer is recorded.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledgers import Entry, PostgresLedger, SQLiteLedger, charge
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import Pure
from tests.ledgers.stores import POLICY

if TYPE_CHECKING:
    from discreet.ledgers import Reservation
    from discreet.mechanisms.release import Release

COUNT = Entry("a count", ("visits",), kind="method", key="k1")
NOISE = DiscreteLaplace(sensitivity=1, epsilon="1/1000000")


def noisy(_: Reservation) -> Release[Any]:
    return NOISE.release(0)


def killed(_: Reservation) -> Release[Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def main(place: str, *, is_killed: bool) -> None:
    ledger = PostgresLedger(place, POLICY) if "://" in place else SQLiteLedger(place, POLICY)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    while True:
        try:
            release = charge(ledger, Pure(1), COUNT, killed if is_killed else noisy)
        except LedgerError as error:
            if "has no answer yet" not in str(error):
                raise
        else:
            sys.stdout.write(f"{release.value}\n")
            return


if __name__ == "__main__":
    main(sys.argv[1], is_killed=sys.argv[2:] == ["killed"])
