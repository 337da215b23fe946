"""Whether the embedded engine lives: asked after a failure, and known after a success."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from discreet.engines.duckdb import DuckDB
from tests.engines.test_interrupts import DATA, POLICY

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE = ["SELECT 1::BIGINT AS one"]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[DuckDB]:
    """An engine that counts how often it is asked."""
    with DuckDB(POLICY, DATA) as found:
        answers = found._answers
        asked: list[int] = []

        def counted() -> bool:
            asked.append(1)
            return answers()

        monkeypatch.setattr(found, "_answers", counted)
        monkeypatch.setattr(found, "asked", asked, raising=False)
        yield found


def asked(engine: DuckDB) -> int:
    assert engine.alive()
    return len(engine.asked)  # type: ignore[attr-defined]  # the fixture's


def test_what_answered_last_is_not_asked_again(engine: DuckDB) -> None:
    assert asked(engine) == 1
    assert engine._results(ONE) is not None
    assert asked(engine) == 1


def test_what_failed_last_is_asked(engine: DuckDB) -> None:
    assert engine._results(ONE) is not None
    assert engine._results(["SELECT no_such_column"]) is None
    assert asked(engine) == 1
    assert engine._results(ONE) is not None
    assert asked(engine) == 1


def test_what_was_interrupted_is_asked(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine._results(ONE) is not None

    def interrupted(_: object, *, take: object) -> None:
        del take
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engine, "_found", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine._results(ONE)
    assert asked(engine) == 1


def test_another_process_asks_for_itself(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine._results(ONE) is not None
    own = os.getpid()
    monkeypatch.setattr("discreet.engines.duckdb.engine.os.getpid", lambda: own + 1)
    assert asked(engine) == 1


def test_what_was_closed_does_not_live() -> None:
    engine = DuckDB(POLICY, DATA)
    assert engine._results(ONE) is not None
    engine.close()
    assert not engine.alive()
