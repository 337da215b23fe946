"""Streams of sums: what they cost, whom they protect, what they refuse, and how wrong they say they are."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledgers import Entry, MemoryLedger
from discreet.mechanisms import Release
from discreet.mechanisms.prefix import BinaryTree, EveryElement, EveryOutput, KaryTree, SquareRoot, WeightedTree
from discreet.methods.streaming import ContinualSum, KeptSum, PrefixSum
from discreet.methods.streaming.elements import read_elements
from discreet.methods.streaming.reach import laplace_count_reach, laplace_sum_reach
from discreet.privacy import NeighborRelation, Unit
from discreet.tables import Policy
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from discreet.exact import Number

COUNTS: dict[str, Any] = {"grid": 1, "elements": "totals"}
HUGE: dict[str, Any] = {**COUNTS, "epsilon": 500}
CHANGED = NeighborRelation.CHANGE_ONE


@pytest.mark.parametrize(
    "how, scale",
    [
        ({"epsilon": "1/2", "factorization": BinaryTree(8)}, 4 * 2),
        ({"epsilon": 1, "factorization": EveryOutput(8)}, 8),
        ({"epsilon": 1, "factorization": EveryElement(8)}, 1),
        ({"epsilon": 1, "factorization": WeightedTree(8), "sensitivity": 3}, 12),
        ({"epsilon": 1, "factorization": KaryTree(8, 3, 2)}, 2),
        ({"epsilon": 1, "factorization": KaryTree(8, 3, 2), "events": 5}, 10),
        ({"epsilon": 1, "factorization": KaryTree(8, 3, 2), "neighbors": CHANGED}, 4),
        ({"epsilon": 1, "factorization": KaryTree(8, 3, 2), "neighbors": CHANGED, "events": 5}, 20),
        ({"epsilon": 1, "factorization": EveryElement(8), "dimension": 4, "norm": "linf"}, 4),
        ({"epsilon": 1, "factorization": EveryElement(8), "dimension": 4, "norm": "l2"}, 2),
        ({"epsilon": 1, "factorization": EveryElement(8), "dimension": 4}, 1),
        ({"epsilon": 1, "factorization": EveryElement(8), "grid": "1/4"}, 5),  # totals are snapped for either neighbor
        ({"epsilon": 1, "factorization": EveryElement(8), "grid": "1/4", "elements": "events"}, 4),
        ({"epsilon": 1, "factorization": EveryElement(8), "grid": "1/4", "dimension": 3}, 4 + 3),
        ({"rho": "1/8", "factorization": EveryElement(8)}, 2),
        ({"rho": "1/8", "factorization": BinaryTree(8)}, 4),
        ({"rho": "1/8", "factorization": BinaryTree(8), "events": 3}, 12),
        ({"rho": "1/8", "factorization": BinaryTree(8), "events": 3, "neighbors": CHANGED}, 24),
        ({"rho": "1/8", "factorization": EveryElement(8), "events": 4, "separation": 1}, 4),
        ({"rho": "1/8", "factorization": EveryElement(8), "events": 4, "separation": 1, "neighbors": CHANGED}, 16),
        ({"rho": "1/8", "factorization": EveryElement(8), "dimension": 4, "norm": "linf"}, 4),
        ({"rho": "1/2", "factorization": SquareRoot(3)}, math.sqrt(1 + 1 / 4 + 9 / 64) * 2**20),
    ],
)
def test_the_noise_is_that_of_the_move(how: dict[str, Any], scale: float) -> None:
    """Worked out by hand: no less, and hardly more."""
    promise = ContinualSum(how["factorization"].horizon, **{**COUNTS, **how})
    assert scale <= promise.scale * (1 + Fraction(1, 10**15))
    assert promise.scale <= scale * (1 + 1e-12)


def test_it_says_whom_it_protects() -> None:
    assert ContinualSum(9, epsilon=1).neighbors == NeighborRelation.ADD_REMOVE.of(Unit.EVENT)
    assert ContinualSum(9, epsilon=1, events=2).neighbors is NeighborRelation.ADD_REMOVE
    assert ContinualSum(9, rho=1, neighbors=CHANGED).claim.neighbors == CHANGED.of(Unit.EVENT)
    assert "at most 2 events" in " ".join(ContinualSum(9, epsilon=1, events=2).assumed)


@pytest.mark.parametrize("how", [{"epsilon": 500}, {"rho": 10**9}])
@pytest.mark.parametrize("horizon", [600, None])
def test_steps_and_bulk_give_the_sums(how: dict[str, Any], horizon: int | None) -> None:
    elements = np.arange(600) % 7
    stream, bulk = (PrefixSum(horizon, **COUNTS, **how) for _ in range(2))
    assert [stream.add(int(each)).value for each in elements[:90]] == np.cumsum(elements)[:90].tolist()
    assert np.array_equal(stream.extend(elements[90:]).value, np.cumsum(elements)[90:])
    assert np.array_equal(bulk.extend(elements).value, np.cumsum(elements))


def test_more_steps_than_the_horizon_are_refused_and_the_stream_stays_valid() -> None:
    stream = PrefixSum(3, **HUGE)
    stream.extend([1, 1])
    with pytest.raises(BudgetError, match=r"2 steps more than fit: 1 of 3"):
        stream.extend([1, 1])
    assert stream.add(5).value == 7
    with pytest.raises(BudgetError):
        stream.add(1)


def test_elements_are_clipped_or_refused_and_never_larger() -> None:
    clip = ContinualSum(9, 2, epsilon=1, grid="1/4")
    given = [0.3, 2.2, -7.0, math.nan, math.inf, 1e300]
    assert read_elements(given, clip, many=True).ravel().tolist() == [1, 8, -8, 0, 8, 8]
    stream = PrefixSum(9, 2, epsilon=500, grid="1/4", outside="refuse")
    for bad in (2.2, math.nan, -math.inf, None):
        with pytest.raises(ParameterError) as told:
            stream.add(bad)  # type: ignore[arg-type]
        assert "2.2" not in str(told.value)
    assert (stream.step, stream.add(1.5).value, stream.step) == (0, 1.5, 1)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_vectors_stay_within_their_norm_exactly(norm: str) -> None:
    random = np.random.default_rng(5)
    promise = ContinualSum(10**6, "3.7", rho=1, grid="1/8", dimension=3, norm=norm)
    given = np.concatenate([random.normal(0, 3, (300, 3)), random.normal(0, 1e12, (30, 3)), [[1e100, 0, 0], [0, 0, 0]]])
    rows = read_elements(given, promise, many=True)
    sizes = {"l1": np.abs(rows).sum(axis=1), "l2": np.sqrt((rows**2).sum(axis=1)), "linf": np.abs(rows).max(axis=1)}
    assert sizes[norm].max() <= 3.7 * 8
    assert sizes[norm].max() > 3.7 * 8 - 4
    inside = np.linalg.norm(given, {"l1": 1, "l2": 2, "linf": np.inf}[norm], axis=1) < 3.4
    assert inside.sum() > 20
    assert np.array_equal(rows[inside], np.rint(given[inside] * 8))


def test_the_events_of_a_person_are_counted_and_limited() -> None:
    stream = PrefixSum(5, epsilon=500, grid=1, events=2)
    assert stream.add_events([1, 1, 9, 1], units=["ann", "bob", "ann", None]).value == 3
    assert stream.add_events([1, 1, 1], units=["ann", "bob", "eve"]).value == 5  # ann has had two
    assert stream.add_events([1, 1], units=["ann", "bob"]).value == 5
    with pytest.raises(ParameterError, match="units"):
        stream.add_events([1])
    with pytest.raises(ParameterError, match="one unit for each"):
        stream.add_events([1, 1], units=["ann"])
    with pytest.raises(ParameterError, match="events"):
        PrefixSum(5, epsilon=1).add_events([1], units=["ann"])
    assert PrefixSum(5, epsilon=500, grid=1).add_events([1, 1, 5]).value == 3


def test_events_that_are_too_close_are_left_out() -> None:
    stream = PrefixSum(9, rho=10**9, grid=1, events=3, separation=2)
    sums = [stream.add_events([1, 1], units=["ann", "ann"]).value for _ in range(7)]
    assert sums == [1, 1, 2, 2, 3, 3, 3]


def test_whole_totals_are_whole() -> None:
    with pytest.raises(ParameterError, match="whole number"):
        PrefixSum(3, **HUGE).add(0.5)
    with pytest.raises(ParameterError, match="shape"):
        PrefixSum(3, **HUGE, dimension=2).add([1, 2, 3])
    with pytest.raises(ParameterError, match="no elements"):
        PrefixSum(3, **HUGE).extend(np.array([], dtype=np.int64))


@pytest.mark.parametrize(
    "how",
    [
        {"rho": 1, "epsilon": 1},
        {},
        {"epsilon": 0},
        {"epsilon": 1, "sensitivity": 0},
        {"epsilon": 1, "sensitivity": "1/3", "grid": 1},
        {"epsilon": 1, "horizon": 0},
        {"epsilon": 1, "separation": 3},
        {"epsilon": 1, "horizon": None, "separation": 3, "events": 2},
        {"epsilon": 1, "factorization": BinaryTree(8)},
        {"rho": 1, "factorization": KaryTree(9)},
        {"epsilon": 1, "horizon": None, "factorization": BinaryTree(8)},
        {"epsilon": 1, "norm": "l7"},
        {"epsilon": 1, "neighbors": "add_remove"},
        {"epsilon": "1e-20"},
    ],
)
def test_nonsense_is_refused(how: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        ContinualSum(**{"horizon": 9, **how})


@pytest.mark.parametrize(
    "promise",
    [
        ContinualSum(9, 1, epsilon="1/3", events=2),
        ContinualSum(70_000, "1.5", rho="0.1", dimension=3, norm="linf", outside="refuse", **COUNTS),
        ContinualSum(None, 1, rho="0.1", neighbors=CHANGED),
        ContinualSum(9, 1, rho=1, factorization=WeightedTree(9), events=3, separation=2),
    ],
)
def test_promises_and_releases_survive_json(promise: ContinualSum) -> None:
    again = ContinualSum.read(json.loads(json.dumps(promise.record())))
    assert again == promise
    assert again.epoch(0).scale == promise.epoch(0).scale
    stream = PrefixSum(9, rho=1, dimension=2)
    for release in (stream.add([1, 0]), stream.extend(np.array([[1, 0], [0, 0.5]]))):
        assert Release.from_json(release.to_json()) == release
        assert np.shape(np.asarray(release.error())) == np.shape(release.value)
        assert "Because: " in release.explain()


@pytest.mark.parametrize("how", [{"epsilon": 1}, {"rho": "1/2"}, {"epsilon": 1, "factorization": WeightedTree(40)}])
def test_sums_err_as_rarely_as_stated(how: dict[str, Any], seed: int) -> None:
    """1,200 streams: binomial, false alarm 1e-9; with half the error it is seen."""
    bits, count = ReplayBits(seed), 1200
    stream = PrefixSum(40, dimension=count, norm="linf", bits=bits, keep=6, **{**COUNTS, **how})
    object.__setattr__(stream.promise, "dimension", 1)  # the scale for one coordinate
    stream._running._now = stream.promise
    run = stream.promise.factorized.start(count)
    sums = np.rint(run.extend(np.zeros((40, count), dtype=np.int64), lambda shape: stream.promise.draw(bits, shape)))
    for step, window in ((1, None), (37, None), (40, None), (40, 6)):
        bound = stream.promise.error(0.95, step=step, window=window)
        values = np.abs(sums[step - 1] - (0 if window is None else sums[step - 1 - window]))
        assert np.mean(values > bound) < 0.05 + 6 * math.sqrt(0.05 * 0.95 / count)
        assert "factorization" in how or np.mean(values > bound / 2) > 0.05 + 6 * math.sqrt(0.05 * 0.95 / count)


def test_bounds_on_laplace_sums_are_right() -> None:
    random = np.random.default_rng(3)
    draws = random.laplace(size=(200_000, 5)).sum(axis=1)
    assert np.mean(np.abs(draws) > laplace_count_reach(5, 0.05)) == pytest.approx(0.05, abs=0.003)
    assert laplace_count_reach(5, 0.05) < laplace_sum_reach(5, 1, 0.05) < 1.6 * laplace_count_reach(5, 0.05)
    assert laplace_count_reach(301, 0.05) == laplace_sum_reach(301, 1, 0.05)


ENTRY = Entry("visits by day", ("visits",), kind="stream")


def ledger_of(epsilon: int = 10**6, delta: Number = 0) -> MemoryLedger:
    return MemoryLedger(Policy([], epsilon=epsilon, delta=delta))


def test_a_kept_stream_takes_its_price_at_once_and_goes_on() -> None:
    ledger, promise = ledger_of(10), ContinualSum(5, epsilon=3, events=1, **COUNTS)
    with KeptSum(promise, ledger, ENTRY) as stream:
        shown = [stream.add(each).value for each in (3, 4)]
        before = ledger.remaining
        with pytest.raises(LedgerError, match="held by another program"):
            KeptSum(promise, ledger, ENTRY)
    with KeptSum(promise, ledger, ENTRY) as again:
        assert [each.value for each in again.releases] == shown
        assert again.step == 2
        shown.extend(again.extend([5, 6, 7]).value.tolist())
        assert ledger.remaining == before
        assert before.fields()["epsilon"] == 7
        with pytest.raises(BudgetError, match="more than fit"):
            again.add(1)
        assert again.releases[-1].value.tolist() == shown[2:]
    others: list[dict[str, Any]] = [{"epsilon": 2}, {"epsilon": 3, "sensitivity": 2}, {"epsilon": 3, "events": 2}]
    for other in others:
        with pytest.raises(ParameterError, match="opened with other"):
            KeptSum(ContinualSum(5, **{**COUNTS, "events": 1, **other}), ledger, ENTRY)


@pytest.mark.parametrize(
    "how",
    [{"epsilon": 1}, {"rho": "1/8"}, {"rho": "1/8", "horizon": 5000}, {"epsilon": 1, "horizon": None}],
)
def test_a_step_that_was_cut_off_is_drawn_as_it_was(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it was shown; and what was kept is not drawn anew, which noise of scale > 0 would show."""
    ledger = ledger_of(delta="1e-6" if "rho" in how else 0)
    promise = ContinualSum(**{"horizon": 50, "events": 1, **COUNTS, **how}, durable=True)
    with KeptSum(promise, ledger, ENTRY) as stream:
        kept = [stream.add(3).value for _ in range(7)]
    drawn: list[int] = []

    def cut_off(parts: list[Release[int]], **_: object) -> None:
        drawn.append(parts[0].value)
        raise ZeroDivisionError

    for _ in range(2):
        with KeptSum(promise, ledger, ENTRY) as stream:
            monkeypatch.setattr(stream.session, "append", cut_off)
            with pytest.raises(ZeroDivisionError):
                stream.add(3)
            with pytest.raises(LedgerError, match="open it again"):
                stream.add(3)
    with KeptSum(promise, ledger, ENTRY) as stream:
        assert [each.value for each in stream.releases] == kept
        assert [stream.add(3).value] * 2 == drawn


def test_a_ledger_that_protects_persons_takes_no_promise_to_events() -> None:
    with pytest.raises(ParameterError, match="promises to different units"):
        KeptSum(ContinualSum(5, epsilon=3, **COUNTS), ledger_of(), ENTRY)


def test_a_kept_stream_remembers_whose_events_it_has_counted() -> None:
    ledger, promise = ledger_of(), ContinualSum(5, epsilon=500, grid=1, events=2)
    for expected in (2, 4, 4):
        with KeptSum(promise, ledger, ENTRY) as stream:
            assert stream.add_events([1, 1], units=["ann", "bob"]).value == expected
