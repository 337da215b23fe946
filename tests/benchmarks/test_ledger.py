"""What the benchmark of ledgers makes of its rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.ledger import COST, ENTRY, Round, bare_file, entry_size, insert, long_ledger, one_round, spend
from discreet.privacy import Pure

if TYPE_CHECKING:
    from pathlib import Path


def test_a_round_counts_acts_and_the_worst_wait() -> None:
    found = Round(2.0, [[1, 1, 1], [1, 7]])
    assert (found.rate, found.worst) == (2.5, 7)


def test_a_writer_that_gets_nothing_waits_all_the_time() -> None:
    assert Round(2.0, [[10**6] * 9, []]).worst == pytest.approx(2000)


def test_writers_act_in_processes_of_their_own(tmp_path: Path) -> None:
    bare_file(tmp_path / "bare.sqlite")
    for opened, name in ((insert, "bare.sqlite"), (spend, "ours.ledger.sqlite")):
        found = one_round(opened, tmp_path / name, 0.5, 2)
        assert len(found.waits) == 2
        assert found.rate > 0


def test_a_bare_insert_is_as_long_as_an_entry(tmp_path: Path) -> None:
    ledger = long_ledger(tmp_path / "a.ledger.sqlite", 2)
    ledger.reserve(COST, ENTRY)
    *_, line = ledger.entries()
    assert entry_size() == pytest.approx(len(line.text) + 64, rel=0.25)
    ledger.close()


def test_a_long_ledger_is_one_that_verifies(tmp_path: Path) -> None:
    with long_ledger(tmp_path / "a.ledger.sqlite", 300) as ledger:
        assert ledger.head.number == 299
        assert ledger.verify().problems == ()
        assert ledger.statement.whole.spent == Pure(COST.epsilon * 299)
