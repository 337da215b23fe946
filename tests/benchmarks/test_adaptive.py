"""The benchmark of adaptive answers: its experiments are what they say, and its peer is pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks import adaptive, adaptive_peers, setup
from benchmarks.report import Verdict
from discreet.methods.adaptive import BinomialTest

if TYPE_CHECKING:
    import pytest


def test_the_peer_is_pinned_and_not_needed_elsewhere() -> None:
    assert {adaptive_peers.OWN, *adaptive_peers.PEERS} == set(adaptive_peers.TITLES)
    for peer in adaptive_peers.PEERS:
        assert peer in setup.PEERS
        assert setup.pins_of(peer).parent.name == "adaptive_peers"
        assert "==" in setup.pins_of(peer).read_text(encoding="utf-8")


def test_the_standard_holdout_is_fooled_and_the_other_is_not() -> None:
    told = adaptive.holdout_run(0, 10_000, 2_000, 100)
    assert told["standard: holdout"] > told["standard: fresh"] + 0.03
    for name in adaptive.HOLDOUTS:
        assert abs(told[f"{name}: holdout"] - told[f"{name}: fresh"]) < 0.04
        assert told[f"{name}: training set"] > 0.55


def test_what_comes_after_the_end_is_no_discovery() -> None:
    signal = np.array([True, False, True, True])
    power, false = adaptive.judged([True, True], signal)
    assert (round(power, 3), false) == (0.333, 0.5)
    assert adaptive.judged([], signal) == (0.0, 0.0)


def test_p_values_of_the_table_are_those_of_the_test() -> None:
    test = BinomialTest(20)
    assert adaptive.table_of(test)[[0, 10, 20]].tolist() == [test.p_value(k) for k in (0, 10, 20)]


def test_a_missing_peer_counts_as_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "why_missing", lambda _: "not installed")
    (figure,) = adaptive.peer_figures()
    assert (figure.verdict, figure.note) == (Verdict.UNMEASURED, "not installed")
