"""Change points: how far evidence moves, how often places err, and when watches end."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledgers import Entry, MemoryLedger
from discreet.mechanisms import Release
from discreet.mechanisms.promise import read_promise
from discreet.methods.streaming import (
    Bernoulli,
    ChangePoint,
    ChangeWatch,
    Evidence,
    Gaussian,
    Given,
    KeptWatch,
    Poisson,
    RankChangePoint,
)
from discreet.methods.streaming.likelihoods import read_likelihoods, read_numbers
from discreet.privacy import NeighborRelation, Unit
from discreet.tables import Policy
from tests.noise.replay import ReplayBits

CHANGED, ORDERED = NeighborRelation.CHANGE_ONE, NeighborRelation.CHANGE_ONE_ORDERED
PAIRS = [Bernoulli("0.2", "0.7"), Gaussian(0, 1, 1, clip=2), Poisson(2, 5, clip=3), Given(-1, 3)]


def far(evidence: Evidence, first: list[float], second: list[float]) -> int:
    """By how much the differences of scores move."""
    one, other = (np.cumsum(evidence.steps(np.array(each))[::-1])[::-1] for each in (first, second))
    moves = np.append(one - other, 0)
    return int(moves.max() - moves.min())


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.kind)
@pytest.mark.parametrize("relation", NeighborRelation)
def test_no_unit_moves_evidence_further_than_stated(pair: Any, relation: NeighborRelation) -> None:  # noqa: ANN401
    evidence, absent = Evidence(pair, grid="1/64", neighbors=relation), math.nan
    values = [-1e9, -1.0, 0.0, 0.4, 1.0, 3.0, 1e9, absent]
    pairs = {
        NeighborRelation.ADD_REMOVE: [([value, 0.0], [absent, 0.0]) for value in values],
        ORDERED: [([a, 0.0], [b, 0.0]) for a in values for b in values],
        CHANGED: [([a, 0.0, absent], [absent, 0.0, b]) for a in values for b in values],
    }[relation]
    moves = [far(evidence, first, second) for first, second in pairs]
    assert max(moves) <= evidence.moved
    assert max(moves) >= evidence.moved - 2  # ends are rounded outward


def test_a_person_with_several_events_moves_it_so_often() -> None:
    one, three = (Evidence(Bernoulli("0.2", "0.7"), events=events) for events in (None, 3))
    assert three.moved == 3 * one.moved
    assert one.neighbors == NeighborRelation.ADD_REMOVE.of(Unit.EVENT)
    assert three.neighbors is NeighborRelation.ADD_REMOVE
    assert ChangePoint(Bernoulli("0.2", "0.7"), epsilon=2).scale == one.moved / 2


def test_what_is_no_number_says_nothing_and_raises_nothing() -> None:
    evidence = Evidence(Poisson(2, 5, clip=3), grid=1)
    steps = evidence.steps(read_numbers([None, math.nan, math.inf, -math.inf, 10**400, "x"]))
    assert steps.tolist() == [0, 0, 3, -3, 3, 0]
    assert ChangePoint(Poisson(2, 5, clip=3), epsilon=1).release([None, None]).value in {0, 1}

    def loud(value: float) -> float:
        raise ValueError(value)

    assert Given.of([1.0, 2.0], loud, abs).tolist() == [0.0, 0.0]
    with pytest.raises(ParameterError, match="no elements"):
        ChangePoint(Poisson(2, 5, clip=3), epsilon=1).release([])


def series(pair: Any, count: int, at: int, random: np.random.Generator) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """Draw elements of a law, and of the other one from a place on."""
    if isinstance(pair, Bernoulli):
        chances = np.where(np.arange(count) < at, float(pair.before), float(pair.after))
        return (random.random(count) < chances).astype(float)
    if isinstance(pair, Gaussian):
        means = np.where(np.arange(count) < at, float(pair.before), float(pair.after))
        return random.normal(means, float(pair.sigma))
    means = np.where(np.arange(count) < at, float(pair.before), float(pair.after))
    return random.poisson(means).astype(float)


@pytest.mark.parametrize("pair", PAIRS[:3], ids=lambda pair: pair.kind)
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_places_err_as_rarely_as_the_bound_says(pair: Any, noise: str, seed: int) -> None:  # noqa: ANN401
    """Binomial, false alarm 1e-9; the bound is no trifle: with a tenth of it the check fails."""
    found, bits, random = (
        ChangePoint(pair, epsilon=1, noise=noise),
        ReplayBits(seed),
        np.random.default_rng(seed % 2**32),
    )
    bound = found.error(0.9)
    assert bound is not None
    assert found.missing(int(bound)) <= 0.1 < found.missing(int(bound) - 1)
    off = [abs(found.release(series(pair, 400, 200, random), bits=bits).value - 200) for _ in range(300)]
    late = sum(each > bound for each in off)
    assert stats.binom.sf(late - 1, len(off), 0.1) > 1e-9
    assert stats.binom.sf(sum(each > bound / 10 for each in off) - 1, len(off), 0.1) < 1e-9


def test_without_noise_the_bound_is_smaller() -> None:
    found = ChangePoint(Bernoulli("0.2", "0.7"), epsilon="0.1")
    assert found.missing(30, exact=True) < found.missing(30)


def test_given_ratios_have_no_bound_and_say_why() -> None:
    found = ChangePoint(Given(-1, 3), epsilon=5)
    answer = found.release(Given.of([0.0] * 300 + [1.0] * 300, lambda x: -x, lambda x: x))
    assert answer.error() is None
    assert "not known" in answer.explain()
    with pytest.raises(ParameterError, match="not known"):
        ChangeWatch(Given(-1, 3), window=9, epsilon=1, horizon=100)


@pytest.mark.parametrize(
    "promise",
    [
        ChangePoint(Gaussian(0, 1, "1.5", clip=2), epsilon="1/3", noise="laplace", neighbors=CHANGED),
        ChangePoint(Given(-1, 3), epsilon=1, events=4, grid="1/8"),
        RankChangePoint(epsilon="1/3", trim="1/7", events=2, neighbors=CHANGED),
        ChangeWatch(Poisson(2, 5, clip=3), window=30, epsilon=2, threshold="7.5", events=1),
    ],
)
def test_promises_and_releases_survive_json(promise: Any) -> None:  # noqa: ANN401
    again = read_promise(json.loads(json.dumps(promise.record())))
    assert again == promise
    assert hash(again) == hash(promise)
    release = promise.release([0.0, 1.0] * 30)
    assert Release.from_json(release.to_json()) == release
    assert "Because: " in release.explain()
    assert promise.privacy.epsilon(0) <= promise.claim.epsilon * (1 + 1e-9)


def test_ranks_are_compared_across_a_split() -> None:
    """By the definition, with ties and missing elements."""
    found = RankChangePoint(epsilon=1, trim="1/5")
    values = np.array([3.0, 1.0, math.nan, 1.0, 7.0, 7.0, 2.0, 9.0, math.nan, 4.0])
    count, scores = len(values), found.scores(values)
    for place, score in zip(range(2, 9), scores, strict=True):
        pairs = [(a, b) for a in values[:place] for b in values[place:] if not math.isnan(a) and not math.isnan(b)]
        total = abs(sum(int(b > a) - int(b < a) for a, b in pairs))
        assert score == total * 2**30 // (place * (count - place))


@pytest.mark.parametrize("relation", [NeighborRelation.ADD_REMOVE, CHANGED])
def test_no_element_moves_ranks_further_than_stated(relation: NeighborRelation) -> None:
    random, count = np.random.default_rng(1), 20
    found = RankChangePoint(epsilon=2, trim="1/5", neighbors=relation)
    most, seen = found.scale(count), 0  # 2 D / 2
    for _ in range(300):
        one = random.integers(0, 3, count).astype(float)
        other, place = one.copy(), int(random.integers(count))
        other[place] = math.nan if relation is NeighborRelation.ADD_REMOVE else random.integers(-9, 9)
        seen = max(seen, int(np.abs(found.scores(one) - found.scores(other)).max()))
    whole = np.r_[np.zeros(4), np.ones(16)]
    other = whole.copy()
    other[0] = math.nan if relation is NeighborRelation.ADD_REMOVE else 2.0
    seen = max(seen, int(np.abs(found.scores(whole) - found.scores(other)).max()))
    assert 0.9 * most < seen <= most


WATCH = ChangeWatch(Bernoulli("0.1", "0.9"), window=40, epsilon=10, threshold=25, events=1)
ENTRY = Entry("fever by day", ("visits",), kind="stream")


def test_a_watch_ends_when_it_has_noticed() -> None:
    run = WATCH.start()
    told = [run.add(0).value for _ in range(100)]
    assert set(told) == {(None, None)}
    while not run.over:
        noticed = run.add(1)
    step, place = noticed.value
    assert step is not None
    assert place is not None
    assert 100 < step <= 140
    assert abs(place - 100) < 30
    with pytest.raises(BudgetError, match="noticed"):
        run.add(1)
    assert WATCH.claim.epsilon == 10
    assert WATCH.core.epsilon == WATCH.locate.epsilon == 5
    assert WATCH.core.sensitivity == WATCH.evidence.moved


def test_half_the_noise_on_comparisons_is_for_one_event_that_comes_or_goes() -> None:
    how: dict[str, Any] = {"window": 9, "epsilon": 1, "threshold": 5}
    pair = Bernoulli("0.1", "0.9")
    assert ChangeWatch(pair, **how).core.monotone
    assert ChangeWatch(pair, **how, events=1).core.monotone
    assert not ChangeWatch(pair, **how, events=2).core.monotone
    assert not ChangeWatch(pair, **how, neighbors=ORDERED).core.monotone


def test_false_alarms_are_as_rare_as_stated(seed: int) -> None:
    watch = ChangeWatch(Bernoulli("0.2", "0.7"), window=60, epsilon=2, horizon=300, false_alarm="0.2")
    assert watch.false_alarms(300) <= 0.2 < watch.false_alarms(300, watch.threshold * 0.9)
    random, bits = np.random.default_rng(seed % 2**32), ReplayBits(seed)
    alarms = [watch.release((random.random(300) < 0.2).astype(float), bits=bits).value[0] for _ in range(60)]
    late = sum(alarm is not None for alarm in alarms)
    assert stats.binom.sf(late - 1, len(alarms), 0.2) > 1e-9


def test_a_kept_watch_goes_on_under_the_same_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger(Policy([], epsilon=20))
    with KeptWatch(WATCH, ledger, ENTRY) as run:
        assert [run.add(0).value for _ in range(5)] == [(None, None)] * 5
        bar = run._state["bar"]
        with pytest.raises(LedgerError, match="held by another"):
            KeptWatch(WATCH, ledger, ENTRY)
    with KeptWatch(WATCH, ledger, ENTRY) as run:
        monkeypatch.setattr(run.session, "append", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.add(1)
        with pytest.raises(LedgerError):
            run.add(1)
    with KeptWatch(WATCH, ledger, ENTRY) as run:
        assert (run._state["bar"], run._state["step"]) == (bar, 5)
        while not run.over:
            noticed = run.add(1)
        with pytest.raises(BudgetError):
            run.add(1)
    with KeptWatch(WATCH, ledger, ENTRY) as run:
        assert run.over
        assert run.releases[-1] == noticed
        assert ledger.remaining.fields()["epsilon"] == 10


def test_nonsense_is_refused() -> None:
    pair = Bernoulli("0.1", "0.9")
    for build in (
        lambda: Bernoulli(0, "0.5"),
        lambda: Bernoulli("0.5", "0.5"),
        lambda: Gaussian(0, 1, 0, clip=1),
        lambda: Gaussian(0, 1, 1, clip=0),
        lambda: Poisson(0, 1, clip=1),
        lambda: Given(1, 2),
        lambda: ChangePoint(pair, epsilon=0),
        lambda: ChangePoint(pair, epsilon=1, noise="gumbel"),
        lambda: RankChangePoint(epsilon=1, trim="1/2"),
        lambda: RankChangePoint(epsilon=1).release([1]),
        lambda: ChangeWatch(pair, window=0, epsilon=1, threshold=1),
        lambda: ChangeWatch(pair, window=9, epsilon=1),
        lambda: ChangeWatch(pair, window=9, epsilon=1, horizon=9, false_alarm=2),
        lambda: read_likelihoods({"kind": "nothing"}),
        lambda: ChangePoint(pair, epsilon=1).release([[1, 2], [3, 4]]),
    ):
        with pytest.raises(ParameterError):
            build()
