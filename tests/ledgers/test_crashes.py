"""Writers that are killed at random points: what was shown was spent, what was spent fits, and the chain is whole."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.ledgers import Entry, MemoryLedger, PostgresLedger, SQLiteLedger
from discreet.privacy import Pure
from discreet.privacy.costs import LOSS_UNITS
from tests.ledgers.crashes import COSTS, policy
from tests.ledgers.stores import Place, Text

if TYPE_CHECKING:
    from discreet.ledgers import Ledger

PROGRAM = [sys.executable, "-m", "tests.ledgers.crashes"]


def crashed(file: Path, kills: int, epsilon: str, seed: int, address: str = "") -> dict[str, Any]:
    words = [*PROGRAM, str(file), str(kills), str(seed), epsilon, *([address] if address else [])]
    run = subprocess.run(words, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert run.stderr == ""
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def check(ledger: Ledger, shown: list[str], epsilon: str) -> Fraction:
    """Compare what was shown with what the ledger says; give what was spent."""
    verification = ledger.verify()
    assert verification.ok, verification.problems
    recorded = {line.body["answer"]["value"]: line for line in ledger.entries(kind="recorded")}
    spent = ledger.statement.whole.spent
    assert isinstance(spent, Pure)
    costs = []
    for text in shown:
        cost, reservation, answer = text.split()
        assert recorded[answer].reservation == int(reservation)
        assert recorded[answer].cost == Pure(cost)
        costs.append(Fraction(cost))
    reserved = [line.cost for line in ledger.entries(kind="reserved")]
    units = [math.ceil(cost.epsilon * LOSS_UNITS) for cost in reserved if isinstance(cost, Pure)]
    assert Fraction(sum(units), LOSS_UNITS) == spent.epsilon  # each is rounded up
    assert sum(costs) <= spent.epsilon <= Fraction(epsilon)
    return spent.epsilon


@pytest.mark.slow
@pytest.mark.parametrize("kills", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_killed_writers_forget_nothing(tmp_path: Path, kills: int, seed: int) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    found = crashed(file, kills, "1000", seed)
    assert len(found["shown"]) >= kills
    with SQLiteLedger(file) as ledger:
        check(ledger, found["shown"], "1000")


@pytest.mark.slow
def test_eight_writers_never_spend_more_than_there_is(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    found = crashed(file, 0, "0.5", seed)
    assert found["codes"] == [0] * 8
    with SQLiteLedger(file) as ledger:
        spent = check(ledger, found["shown"], "0.5")
        assert Fraction("0.5") - min(COSTS) < spent


@pytest.mark.parametrize("shown", ["1/100 1 never", "1/50 1 answer", "1/100 2 answer", "1/100 1 answer\n" * 2])
def test_the_check_sees_what_was_shown_and_not_paid_for(shown: str) -> None:
    ledger = MemoryLedger(policy("1"))
    ledger.record(ledger.reserve(Pure("1/100"), Entry("q", ("visits",))), Text("answer"))
    check(ledger, ["1/100 1 answer"], "1")
    with pytest.raises((AssertionError, KeyError)):
        check(ledger, shown.splitlines(), "1")
    with pytest.raises(AssertionError):
        check(ledger, [], "1/200")


@pytest.mark.slow
@pytest.mark.engine
def test_killed_writers_forget_nothing_on_a_server(tmp_path: Path, seed: int) -> None:
    address = Place("postgres", tmp_path).address
    file = tmp_path / "unused"
    found = crashed(file, 30, "1000", seed, address)
    assert len(found["shown"]) >= 30
    with PostgresLedger(address) as ledger:
        check(ledger, found["shown"], "1000")
    address = Place("postgres", tmp_path).address
    for each in tmp_path.glob("shown-*"):
        each.unlink()
    found = crashed(file, 0, "0.5", seed, address)
    with PostgresLedger(address) as ledger:
        assert Fraction("0.5") - min(COSTS) < check(ledger, found["shown"], "0.5")
