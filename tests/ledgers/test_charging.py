"""The order of a spend that is no question: found again, or reserved, run, recorded, and only then shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import BudgetError, TimeLimitError
from discreet.ledgers import Entry, MemoryLedger, charge, charge_all
from discreet.ledgers.charging import _Run
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import Pure
from tests.ledgers.stores import NESTED, POLICY, Place

if TYPE_CHECKING:
    from discreet.ledgers import Reservation
    from discreet.mechanisms.release import Release

COUNT = Entry("a count", ("visits",), kind="method")
NOISE = DiscreteLaplace(sensitivity=1, epsilon="1/1000000")


def noisy(_: Reservation) -> Release[Any]:
    return NOISE.release(0)


def test_a_run_is_paid_recorded_and_found_again(place: Place) -> None:
    ledger = place.open(POLICY)
    first = charge(ledger, Pure(1), COUNT, noisy)
    assert charge(place.open(), Pure(1), COUNT, lambda _: pytest.fail("it ran twice")) == first
    assert charge(ledger, Pure("0.5"), COUNT, lambda _: pytest.fail("it ran twice")) == first
    assert ledger.remaining == Pure(2)
    assert ledger.verify().ok


def test_the_cost_is_durable_before_anything_runs(place: Place) -> None:
    def run(paid: Reservation) -> Release[Any]:
        assert paid.cost == Pure(1)
        assert place.open().remaining == Pure(2)
        return NOISE.release(0)

    charge(place.open(POLICY), Pure(1), COUNT, run)


def test_what_fails_stays_spent_and_is_paid_again(place: Place) -> None:
    ledger = place.open(POLICY)
    with pytest.raises(ZeroDivisionError):
        charge(ledger, Pure(1), COUNT, lambda _: 1 / 0)  # type: ignore[arg-type, return-value]
    assert ledger.remaining == Pure(2)
    charge(ledger, Pure(1), COUNT, noisy)
    assert ledger.remaining == Pure(1)


def test_what_does_not_fit_runs_nothing(place: Place) -> None:
    with pytest.raises(BudgetError, match="does not fit"):
        charge(place.open(POLICY), Pure(4), COUNT, lambda _: pytest.fail("it ran"))


def test_runs_without_a_name_are_never_the_same() -> None:
    nameless = Entry("", ("visits",), kind="method")
    ledger = MemoryLedger(POLICY)
    one, other = charge_all(ledger, [_Run(Pure(1), nameless, noisy), _Run(Pure(1), nameless, noisy)])
    assert one != other  # but for a chance of 1e-6
    assert ledger.remaining == Pure(1)


def test_the_same_run_twice_at_once_is_one() -> None:
    ledger = MemoryLedger(POLICY)
    one, other = charge_all(ledger, [_Run(Pure(1), COUNT, noisy), _Run(Pure(1), COUNT, noisy)])
    assert one == other
    assert ledger.remaining == Pure(2)


def test_what_is_shown_again_was_paid_for_by_itself() -> None:
    """Two releases of a method do not combine, so that two halves are no whole."""
    ledger = MemoryLedger(POLICY)
    first = charge(ledger, Pure("0.5"), COUNT, noisy)
    second = charge(ledger, Pure(1), COUNT, noisy)
    third = charge(ledger, Pure("1.5"), COUNT, noisy)  # 0.5 and 1 were paid together, and neither is enough
    assert len({release.to_json() for release in (first, second, third)}) == 3  # but for a chance of 3e-6
    assert ledger.remaining == Pure(0)


def test_somebody_else_pays_once_in_a_budget_of_their_own() -> None:
    ledger = MemoryLedger(NESTED)
    first = charge(ledger, Pure("0.5"), COUNT.by("bob", "research"), noisy)
    again = charge(ledger, Pure("0.5"), COUNT.by("ann", "research"), lambda _: pytest.fail("it ran twice"))
    assert first == again
    assert ledger.remaining == Pure("2.5")
    assert ledger.remaining_for("ann", None) == Pure("0.5")


def test_the_owner_is_told_of_a_run_that_took_too_long() -> None:
    ledger = MemoryLedger(POLICY)

    def late(_: Reservation) -> Release[Any]:
        raise TimeLimitError(7)

    with pytest.raises(TimeLimitError):
        charge(ledger, Pure(1), COUNT, late)
    (line,) = ledger.entries(kind="stopped")
    assert (line.body["entry"], line.body["seconds"]) == (1, 7)
    assert ledger.remaining == Pure(2)


def test_the_owner_is_told_of_all_that_was_paid_with_a_run_that_took_too_long() -> None:
    """Several are paid at once; where one runs out of time, none after it is computed, and all stay spent."""
    ledger = MemoryLedger(POLICY)

    def late(_: Reservation) -> Release[Any]:
        raise TimeLimitError(7)

    spends = [
        _Run(Pure("0.5"), replace(COUNT, question=name), run)
        for name, run in zip("abc", (noisy, late, noisy), strict=True)
    ]
    with pytest.raises(TimeLimitError):
        charge_all(ledger, spends)
    stopped = [(line.body["entry"], line.body["what"]) for line in ledger.entries(kind="stopped")]
    assert [entry for entry, _ in stopped] == [2, 3]
    assert stopped[1][1] == "entry 3 was paid together with entry 2, which took longer than 7 seconds"
    assert ledger.remaining == Pure("1.5")
