"""No statement crashes the planner, or says anything but why it is refused, however it is spelled."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from discreet.plans.shell import splitting
from tests.corpus.engines import opened
from tests.doors.mutated import mutated, raw_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet import Database


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with opened("duckdb") as shop:
        yield shop


def test_some_statements_with_changed_words(database: Database, seed: int) -> None:
    wrong, answered = raw_errors(database, Random(seed), 300)
    assert wrong == []
    assert answered > 2  # not all of them are nonsense


@pytest.mark.fuzz
@pytest.mark.parametrize("block", range(4))
def test_statements_with_changed_words(database: Database, seed: int, block: int) -> None:
    """`python -m tests.doors.mutated 50000` asks more of them."""
    wrong, _ = raw_errors(database, Random(f"{seed} {block}"), 1250)
    assert wrong == []


def test_a_raw_error_is_seen(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError

    monkeypatch.setattr(splitting, "planned", broken)
    wrong, _ = raw_errors(database, Random(0), 50)
    assert len(wrong) > 5
    assert mutated(Random(1)) == mutated(Random(1))
