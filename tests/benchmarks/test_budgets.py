"""The best of several certificates is behind no single filter, and no single filter does without it."""

from __future__ import annotations

import pytest

from benchmarks.budgets import behind, table
from discreet import privacy as p


@pytest.mark.parametrize("epsilon, delta", [("3", "1e-6"), ("1", "1e-9"), ("0.5", "1e-6")])
def test_best_is_behind_no_single_filter_by_more_than_two_percent_or_one_question(epsilon: str, delta: str) -> None:
    rows = table(p.Budget(epsilon, delta))
    assert behind(rows, "best") == []
    for word in ("pure", "approximate", "zcdp", "renyi"):
        assert behind(rows, word)


def test_two_questions_fewer_are_seen() -> None:
    assert behind({"few": {"pure": 9, "best": 7}, "many": {"pure": 300, "best": 294}}, "best") == ["few"]
