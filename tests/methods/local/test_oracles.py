"""Frequency oracles: estimates, intervals, reports on their way, and what a server refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.checks.audits.cases import local
from discreet.errors import ParameterError
from discreet.mechanisms.release import Release
from discreet.methods.local import (
    Direct,
    Frequencies,
    Hadamard,
    LocalHashing,
    OptimizedUnary,
    Oracle,
    ProjectiveGeometry,
    SubsetSelection,
    Unary,
    frequency_oracle,
)
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Callable[..., Oracle]
KINDS: list[Kind] = [
    Direct,
    Unary,
    OptimizedUnary,
    LocalHashing,
    Hadamard,
    SubsetSelection,
    ProjectiveGeometry,
]
ITEMS, UNITS = 12, 6000
TRUTH = np.where(np.arange(UNITS) % 3, 0, np.arange(UNITS) % (ITEMS - 1))  # the last item is nobody's
COUNTS = np.bincount(TRUTH, minlength=ITEMS)
FAR = 6.8  # a normal variable lies farther off with a chance below 1e-11; support is a sum of thousands of coins


def off(found: Frequencies, chances: tuple[float, float]) -> NDArray[np.float64]:
    """How many deviations the estimates are off, by the deviation at the true counts."""
    p, q = chances
    deviation = np.sqrt(COUNTS * p * (1 - p) + (UNITS - COUNTS) * q * (1 - q)) / (p - q)
    return np.abs(found.counts - COUNTS) / deviation


def test_every_oracle_has_a_case() -> None:
    """Its audit, its written law, and that half the noise turns them red, follow from that."""
    assert {type(case.mechanism) for case in local.cases() if case.law is not None} >= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["1/2", 3])
def test_estimates_are_unbiased_and_as_far_off_as_stated(kind: Kind, epsilon: str, seed: int) -> None:
    oracle = kind(ITEMS, epsilon=epsilon)
    reports = oracle.report(TRUTH, bits=ReplayBits(seed))
    found = oracle.estimate(reports)
    assert (off(found, oracle.chances) < FAR).all()
    low, high = found.interval(1 - 1e-10)
    assert ((low <= COUNTS) & (high >= COUNTS)).all()
    # the partner: a server that takes clients to be noisier than they are
    bolder = kind(ITEMS, epsilon=oracle.epsilon / 4)
    wrong = Frequencies(found.support, UNITS, bolder.chances)
    assert (off(wrong, oracle.chances) > FAR).any()


@pytest.mark.parametrize("kind", KINDS)
def test_squared_errors_are_the_variance_that_is_stated(kind: Kind, seed: int) -> None:
    """Sixty surveys of 800: the mean square over rare items has a deviation of 2 %, so 14 % is 7 of them."""
    oracle, bits = kind(90, epsilon=1), ReplayBits(seed)
    truth, rounds = np.repeat([0, 1], 400), 60
    errors = np.array([oracle.estimate(oracle.report(truth, bits=bits)).counts[2:] for _ in range(rounds)])
    ratio = (errors**2).mean() / (truth.size * oracle.variance())
    assert abs(ratio - 1) < 0.14
    half = kind(90, epsilon=2)  # the partner: clients with half the noise
    errors = np.array([half.estimate(half.report(truth, bits=bits)).counts[2:] for _ in range(4)])
    assert abs((errors**2).mean() / (truth.size * oracle.variance()) - 1) > 0.14


def test_variances_are_those_of_the_papers() -> None:
    """Wang et al. 2017, Table 1, for epsilon = 1 and 1,024 items; Acharya et al. 2019 for Hadamard response."""
    grown = math.e
    theory: dict[Kind, float] = {
        Direct: (1024 - 2 + grown) / (grown - 1) ** 2,
        Unary: math.sqrt(grown) / (math.sqrt(grown) - 1) ** 2,
        OptimizedUnary: 4 * grown / (grown - 1) ** 2,
        Hadamard: ((grown + 1) / (grown - 1)) ** 2,
    }
    for kind, expected in theory.items():
        assert math.isclose(kind(1024, epsilon=1).variance(), expected, rel_tol=1e-9)
    assert theory[OptimizedUnary] <= LocalHashing(1024, epsilon=1).variance() <= 1.005 * theory[OptimizedUnary]
    assert SubsetSelection(1024, epsilon=1).variance() < theory[OptimizedUnary]


def test_intervals_cover_as_often_as_they_say(seed: int) -> None:
    """Of 400 surveys at 90 %: at least 300 cover, with a chance far above 1 - 1e-9; half as wide ones do not."""
    oracle, bits, covered, narrow = Hadamard(2, epsilon=1), ReplayBits(seed), 0, 0
    for _ in range(400):
        found = oracle.estimate(oracle.report(np.zeros(50, dtype=np.int64), bits=bits))
        low, high = found.interval(0.9)
        covered += int(low[1] <= 0 <= high[1])
        middle, wide = found.counts[1], 1.6449 * found.standard_error[1]
        narrow += int(abs(middle) <= wide / 2)
    assert covered >= 320
    assert narrow < 300


@pytest.mark.parametrize("kind", KINDS)
def test_items_beyond_the_domain_are_spread_evenly(kind: Kind, seed: int) -> None:
    oracle = kind(4, epsilon=4)
    outside = [4, -1, 2**62, None] * 1000
    found = oracle.estimate(oracle.report(np.array(outside, dtype=object), bits=ReplayBits(seed)))
    assert (np.abs(found.counts - 1000) < 7 * np.sqrt(4000 * (oracle.variance(0.25) + 3 / 16))).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("items", [2, 9, 300])
def test_reports_come_back_as_they_were_sent(kind: Kind, items: int, seed: int) -> None:
    oracle = kind(items, epsilon="1.3")
    reports = oracle.report(np.arange(50) % items, bits=ReplayBits(seed))
    sent = reports.encoded()
    assert {len(report) for report in sent} == {5 + oracle.width}
    again = oracle.receive(sent)
    assert (again.messages == reports.messages).all()
    assert not again.refused
    released = oracle.release(np.arange(50) % items)
    assert Release.from_json(released.to_json()) == released
    assert released.mechanism.neighbors is NeighborRelation.CHANGE_ONE_ORDERED


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_report_is_refused_and_counted_and_never_averaged_in(kind: Kind, seed: int) -> None:
    oracle, other = kind(ITEMS, epsilon=1), kind(ITEMS, epsilon=2)
    good = oracle.report(TRUTH[:100], bits=ReplayBits(seed)).encoded()
    newer = bytes([2]) + good[0][1:]
    bad = [newer, good[0][:-1], good[0] + b"\0", b"", *other.report([1]).encoded()]
    foreign: list[Any] = [b"\xff" * len(good[0]), "text", None]
    found = oracle.estimate([*good, *bad, *foreign])
    assert found.responses == 100
    assert (found.support == oracle.estimate(good).support).all()
    counted = {"unknown version": 2, "not of this length": 2, "no bytes": 3, "other parameters": 1}
    assert dict(found.refused) == counted
    with pytest.raises(ParameterError, match="at least one is needed"):
        oracle.estimate(bad)
    with pytest.raises(ParameterError, match="these reports are to"):
        oracle.estimate(other.report([1]))


def test_messages_that_no_client_sends_are_refused() -> None:
    head = Direct(10, epsilon=1).header
    assert dict(Direct(10, epsilon=1).receive([head + b"\x0a"]).refused) == {"no such message": 1}
    bits, sets = Unary(3, epsilon=1), SubsetSelection(8, epsilon=1, size=2)
    assert dict(bits.receive([bits.header + b"\x10", bits.header + b"\xe0"]).refused) == {"no such message": 1}
    assert dict(sets.receive([sets.header + b"\x07", sets.header + b"\x03"]).refused) == {"no such message": 1}


def test_other_parameters_have_other_headers() -> None:
    heads = {kind(items, epsilon=e).header for kind in KINDS for items in (5, 6) for e in (1, 2)}
    assert len(heads) == 4 * len(KINDS)


def test_the_choice_is_the_one_with_the_least_variance() -> None:
    for items in (2, 3, 10, 100, 1024, 10**6):
        for epsilon in ("1/4", 1, 4):
            chosen = frequency_oracle(items, epsilon=epsilon)
            assert chosen.variance() <= 1.01 * LocalHashing(items, epsilon=epsilon).variance()
            assert chosen.variance() <= 1.01 * Direct(items, epsilon=epsilon).variance()
            assert chosen.width <= 32


def test_consistent_counts_are_no_farther_from_the_truth(seed: int) -> None:
    oracle = LocalHashing(ITEMS, epsilon=1)
    found = oracle.estimate(oracle.report(TRUTH, bits=ReplayBits(seed)))
    nearer = found.consistent()
    assert nearer.min() >= 0
    assert math.isclose(nearer.sum(), UNITS)
    assert np.linalg.norm(nearer - COUNTS) <= np.linalg.norm(found.counts - COUNTS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "how, match",
    [
        ({"items": 1}, "items is 1"),
        ({"items": 10**19}, "items is"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": 101}, "epsilon is 101"),
        ({"neighbors": NeighborRelation.ADD_REMOVE}, "neighbors is"),
    ],
)
def test_nonsense_is_refused(kind: Kind, how: dict[str, object], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        kind(**{"items": 5, "epsilon": 1, **how})
