"""Statistics: what one row does to their sums, for all small tables; how often the ± holds; odd rows."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from discreet import mechanisms as m
from discreet.errors import ParameterError
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FALSE_ALARM = 1e-9
ADD_REMOVE, CHANGE_ONE = NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE
VALUES = (-1, 0, 2, None)  # between the bounds -1 and 2, and a missing row


@dataclass(frozen=True)
class Statistic:
    """A statistic for tables of a public size, and how a table of small rows is given to it."""

    name: str
    make: Callable[..., Any]
    rows: tuple[Any, ...]
    table: Callable[[list[Any]], Any]
    sized: bool = True
    loose: bool = False  # the bound under change-one is reached by larger tables only


def pairs(rows: list[Any]) -> tuple[list[Any], list[Any]]:
    return [row[0] for row in rows], [row[1] for row in rows]


CORNERS = tuple(itertools.product((-1, 0, 2), (0, 1)))
BOUNDED: dict[str, Any] = {"lower": -1, "upper": 2, "grid": 1}
PAIRED: dict[str, Any] = {"first": (-1, 2), "second": (0, 1), "grids": (1, 1)}
STATISTICS = [
    Statistic("count", m.Count, VALUES, list, sized=False),
    Statistic("sum", lambda **g: m.Sum(**BOUNDED, **g), VALUES, list),
    Statistic("mean", lambda **g: m.Mean(**BOUNDED, **g), VALUES, list),
    Statistic("variance", lambda **g: m.Variance(**BOUNDED, **g), VALUES, list),
    Statistic("std", lambda **g: m.StandardDeviation(**BOUNDED, **g), VALUES, list),
    Statistic("covariance", lambda **g: m.Covariance(**PAIRED, **g), CORNERS, pairs),
    Statistic("correlation", lambda **g: m.Correlation(**PAIRED, **g), CORNERS, pairs),
    Statistic("histogram", lambda **g: m.Histogram([-1, 0, 1, 2], **g), VALUES, list, sized=False),
    Statistic("table", lambda **g: m.ContingencyTable([(-1, 0, 2)], **g), VALUES, lambda rows: [rows], sized=False),
    Statistic("cdf", lambda **g: m.Cdf([-1, 0, 1], **g), VALUES, list),
    Statistic("tree", lambda **g: m.Cdf([-1, 0, 1], branching=2, **g), VALUES, list),
]


def made(statistic: Statistic, relation: NeighborRelation, size: int) -> Any:  # noqa: ANN401
    given: dict[str, Any] = {"epsilon": 1, "neighbors": relation}
    if statistic.sized and relation is CHANGE_ONE:
        given["size"] = size
    return statistic.make(**given)


def exact_sums(monkeypatch: pytest.MonkeyPatch, mechanism: Any, table: Any) -> list[int]:  # noqa: ANN401
    """Return what the mechanism adds its noise to, with the noise left out."""
    seen: list[int] = []

    def caught(values: Any, *_: object) -> Any:  # noqa: ANN401
        seen.extend(int(each) for each in np.ravel(values))
        return values

    classes = [each for each in type(mechanism).__mro__ if "mechanisms" in each.__module__]
    for home in {sys.modules[each.__module__] for each in classes}:
        for name in ("noisy", "noisy_counts"):
            if hasattr(home, name):
                monkeypatch.setattr(home, name, caught)
    mechanism.release(table)
    return seen


def neighbor_pairs(
    values: tuple[Any, ...], relation: NeighborRelation, size: int
) -> Iterator[tuple[list[Any], list[Any]]]:
    for rest in itertools.combinations_with_replacement(values, size - 1):
        for row in values:
            if relation is ADD_REMOVE:
                yield [*rest, row], list(rest)
            else:
                yield from (([*rest, row], [*rest, other]) for other in values)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda each: each.name)
@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
def test_one_row_moves_the_sums_by_what_the_noise_was_made_for(
    monkeypatch: pytest.MonkeyPatch, statistic: Statistic, relation: NeighborRelation
) -> None:
    """For all tables of three rows: never farther in L1 and L2, and in L1 as far for some pair of neighbors."""
    mechanism = made(statistic, relation, 3)
    farthest, diagonal = 0, 0.0
    for one, other in neighbor_pairs(statistic.rows, relation, 3):
        tables = [statistic.table(rows) for rows in (one, other)]
        first, second = (np.array(exact_sums(monkeypatch, mechanism, table)) for table in tables)
        farthest = max(farthest, int(np.abs(first - second).sum()))
        diagonal = max(diagonal, float(np.linalg.norm(first - second)))
    assert farthest == mechanism.noise.sensitivity
    gaussian = statistic.make(rho=1, neighbors=relation, **({"size": 3} if mechanism_is_sized(mechanism) else {}))
    assert diagonal <= float(gaussian.noise.sensitivity) * (1 + 1e-12)


def mechanism_is_sized(mechanism: Any) -> bool:  # noqa: ANN401
    return getattr(mechanism, "size", None) is not None


def test_the_check_sees_a_wrong_sensitivity() -> None:
    """The sum of rows from -1 to 2 as the notes have it, with the upper bound alone, is short under change-one."""
    assert m.Sum(lower=-1, upper=2, grid=1, epsilon=1, size=3, neighbors=CHANGE_ONE).noise.sensitivity > 2
    assert m.Sum(lower=-5, upper=2, grid=1, epsilon=1).noise.sensitivity > 2


SKEWED = np.concatenate([np.full(1_500, 1.0), np.linspace(0, 40, 500)])
OTHER = np.concatenate([np.linspace(5, 0, 1_000), np.linspace(0, 5, 1_000)])


@dataclass(frozen=True)
class Covered:
    """A statistic of a table whose true value is known, and a part of its ± that is far too small."""

    name: str
    make: Callable[..., Any]
    table: Any
    truth: Any
    part: float = 60.0


TWO = (SKEWED, OTHER)
BOTH: dict[str, Any] = {"first": (0, 50), "second": (0, 5)}
COVERED = [
    Covered("count", m.Count, SKEWED, 2_000.0),
    Covered("sum", lambda **g: m.Sum(lower=0, upper=50, grid="1/64", **g), SKEWED, np.rint(SKEWED * 64).sum() / 64),
    Covered("mean", lambda **g: m.Mean(lower=0, upper=50, **g), SKEWED, SKEWED.mean()),
    Covered("variance", lambda **g: m.Variance(lower=0, upper=50, **g), SKEWED, SKEWED.var()),
    Covered("std", lambda **g: m.StandardDeviation(lower=0, upper=50, **g), SKEWED, SKEWED.std()),
    Covered("covariance", lambda **g: m.Covariance(**BOTH, **g), TWO, np.cov(*TWO, ddof=0)[0, 1]),
    Covered("correlation", lambda **g: m.Correlation(**BOTH, **g), TWO, np.corrcoef(*TWO)[0, 1], 3e3),
    Covered("cdf", lambda **g: m.Cdf([1], **g), SKEWED, np.array([np.mean(SKEWED <= 1)])),
]


@pytest.mark.parametrize("case", COVERED, ids=lambda each: each.name)
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": "0.02"}, {"rho": "1/50"}], ids=str)
def test_the_error_bar_holds(case: Covered, budget: dict[str, Any], seed: int) -> None:
    """At least 80 % of 80 % bars hold, whatever the noise does to the number of rows; a small part of one does not."""
    mechanism, bits = case.make(**budget), ReplayBits(seed)
    releases = [mechanism.release(case.table, bits=bits) for _ in range(200)]
    off = np.array([np.max(np.abs(each.value - case.truth)) for each in releases])
    bars = np.array([np.max(each.error(0.8)) for each in releases])
    assert stats.binomtest(int((off <= bars).sum()), 200, 0.8, alternative="less").pvalue > FALSE_ALARM
    assert (off <= bars / case.part).sum() < 130


ODD = [[], [3.0], [None], [float("nan"), "x"], [float("inf"), float("-inf")], [2**70, -(2**70)]]


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
@pytest.mark.parametrize("rows", ODD, ids=str)
def test_odd_rows_are_answered(rows: list[Any], relation: NeighborRelation) -> None:
    given: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1, "neighbors": relation}
    for ask in (m.sum, m.mean, m.variance, m.std, m.median, m.minimum, m.maximum):
        if rows or relation is ADD_REMOVE or ask in {m.median, m.minimum, m.maximum}:
            answer = ask(rows, **given)
            assert ask is m.sum or 0 <= answer.value <= 100
        else:
            with pytest.raises(ParameterError, match="size is 0"):
                ask(rows, **given)
    assert m.histogram(rows, edges=[0, 5, 10], epsilon=1, neighbors=relation).value.shape == (2,)
    assert isinstance(m.count(rows, epsilon=1, neighbors=relation).value, int)


def test_huge_integers_are_summed_exactly() -> None:
    rows = np.full(1_000, 2**62)
    answer = m.sum(rows, bounds=(0, 2**62), epsilon=10)
    assert abs(answer.value - 1_000 * 2**62) < 2**70
    assert isinstance(answer.value, int)
    near = m.Sum(lower=2**62 - 2**31, upper=2**62, epsilon=1000, grid=2**30)
    assert abs(near.release(rows).value - 1_000 * 2**62) < 2**62


def test_means_of_whole_columns_are_close() -> None:
    rows = np.arange(100_000) % 1_000
    assert abs(m.mean(rows, bounds=(0, 1_000), epsilon=1).value - 499.5) < 1
    assert abs(m.mean(rows, bounds=(0, 1_000), epsilon=1, neighbors=CHANGE_ONE).value - 499.5) < 1
    assert abs(m.variance(rows, bounds=(0, 1_000), epsilon=1, neighbors=CHANGE_ONE).value - rows.var()) < 1_000


def test_the_mean_beats_a_budget_that_is_split(seed: int) -> None:
    """N(170, 10) in [0, 1000]: 1.2, where the centered sum and the count with half of epsilon each have 1.7."""
    bits, rows = ReplayBits(seed), np.linspace(150, 190, 1_000)
    mechanism = m.Mean(lower=0, upper=1_000, epsilon=1)
    off = [mechanism.release(rows, bits=bits).value - rows.mean() for _ in range(2_000)]
    assert 1.1 < np.sqrt(np.mean(np.square(off))) < 1.3


def test_histograms_count_edges_as_numpy_does(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = ["0", "0.1", "0.5", "1"]
    rows = np.array([0.0, 0.1, 0.09999, 0.5, 1.0, 1.0000001, -1e-9, np.nan, np.inf])
    found = exact_sums(monkeypatch, m.Histogram(edges, epsilon=1), rows)
    assert found == np.histogram(rows[:7], bins=[0, 0.1, 0.5, 1])[0].tolist()
    whole = exact_sums(monkeypatch, m.Histogram([0, 1, 2], epsilon=1), np.array([0, 1, 1, 2, 3, -1]))
    assert whole == [1, 3]
    assert exact_sums(monkeypatch, m.Histogram([0, 1, 2], epsilon=1), [0, 1, 1.5, 2, 2**70, None]) == [1, 3]


def test_trees_and_flat_sums_agree_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(1_000) % 37
    truth = [np.mean(rows <= p) for p in range(30)]
    for branching in (2, 3, 5, 31, 64):
        mechanism = m.Cdf(range(30), epsilon=1, branching=branching)
        monkeypatch.setattr(sys.modules[m.Cdf.__module__], "noisy_counts", lambda counts, *_: counts)
        assert np.allclose(mechanism.release(rows).value, truth)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: m.mean([1], bounds=(2, 1), epsilon=1), "must be below"),
        *(
            (lambda ask=ask: ask([1], epsilon=1), "without bounds one row can move the answer")
            for ask in (m.mean, m.sum, m.variance, m.std, m.median, m.minimum, m.maximum, m.trimmed_mean)
        ),
        (lambda: m.quantile([1], "0.5", epsilon=1), "without bounds one row can move the answer"),
        (lambda: m.quantiles([1], ["0.5"], epsilon=1), "without bounds one row can move the answer"),
        (lambda: m.covariance([1], [1], epsilon=1), "without bounds one row can move the answer"),
        (lambda: m.correlation([1], [1], epsilon=1), "without bounds one row can move the answer"),
        (lambda: m.mean([1], bounds=(1, 1), epsilon=1), "must be below"),
        (lambda: m.mean([1], bounds=(0, 1)), "give exactly one of epsilon, rho"),
        (lambda: m.mean([1], bounds=(0, 1), epsilon=1, rho=1), "give exactly one"),
        (lambda: m.mean([1], bounds=(0, 1), epsilon=-1), "must be above 0"),
        (lambda: m.mean([1], bounds=(0, 1), epsilon=1e-300), "ask for more"),
        (lambda: m.mean([1], bounds=(0, 1), rho=1, delta=1e-6), "needs no delta"),
        (lambda: m.Mean(lower=0, upper=1, epsilon=1, size=5), "private"),
        (lambda: m.Mean(lower=0, upper=1, epsilon=1, neighbors=CHANGE_ONE), "size is missing"),
        (lambda: m.Mean(lower=0, upper=1, noise=m.DiscreteLaplace(1, epsilon=1)), "other sums"),
        (lambda: m.Variance(lower=0, upper=1, epsilon=1, grid=Fraction(1, 2**40)), "fewer than"),
        (lambda: m.covariance([1], [1, 2], bounds=((0, 1), (0, 1)), epsilon=1), "pair of columns"),
        (lambda: m.histogram([1], epsilon=1), "exactly one of edges and categories"),
        (lambda: m.histogram([1], edges=[1, 1], epsilon=1), "each above the one before"),
        (lambda: m.contingency_table(([1],), categories=[[]], epsilon=1), "at least one category"),
        (lambda: m.cdf([1], [], epsilon=1), "at least 1 number, "),
        (lambda: m.count([1]), "give exactly one"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call()


@pytest.mark.parametrize("size", [1, 2, 10, 50])
def test_making_shares_rise_brings_none_of_them_further_off(size: int) -> None:
    rising = sys.modules[m.Cdf.__module__]._rising
    for seed in range(50):
        source = np.random.default_rng(seed)
        truth = np.sort(source.uniform(0, 1, size)) * (seed % 3) / 2  # all 0 for a third of them
        noisy = truth + source.laplace(0, 0.3, size)
        found = rising(noisy)
        assert (np.diff(found) >= 0).all()
        assert np.sum((found - truth) ** 2) <= np.sum((noisy - truth) ** 2) + 1e-12
        assert np.abs(found - truth).max() <= np.abs(noisy - truth).max() + 1e-12


@pytest.mark.parametrize("branching", [2, 3, 8, 31])
@pytest.mark.parametrize("neighbors", [ADD_REMOVE, CHANGE_ONE])
def test_the_error_of_a_distribution_function_counts_all_noises(branching: int, neighbors: Any) -> None:  # noqa: ANN401
    """A noise of 1 on every node, of either sign, moves no share by more than the number of noises that is counted."""
    size = None if neighbors is ADD_REMOVE else 100
    made = m.Cdf(range(30), epsilon=1, branching=branching, size=size, neighbors=neighbors)
    module, rows, truth = sys.modules[m.Cdf.__module__], np.full(100, 29.0), np.zeros(30)
    seen: list[tuple[int, float]] = []

    def reach(_noise: object, terms: int, chance: float) -> float:
        seen.append((terms, chance))
        return float(terms)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_sum_reach", reach)
        bound = made._bound(100, 0.95)
        for seed in range(40):
            source = np.random.default_rng(seed)
            patch.setattr(module, "noisy_counts", lambda counts, *_, s=source: counts + s.choice([-1, 1], counts.shape))
            answer = made.release(rows)
            off = np.abs(answer.value[:-1] - truth[:-1]).max()
            assert off <= seen[0][0] / max(int(answer.details["count"]), 1)  # type: ignore[call-overload]
    assert seen[0][1] == pytest.approx(0.05 / (60 if size is None else 30))
    assert bound == pytest.approx(min(1.0, seen[0][0] / 100))


def test_noise_that_is_given_is_for_the_relation_and_the_move() -> None:
    """A row of 0 to 3 moves the sum by 3, an exchange by no more, and noise for another relation promises neither."""
    changed = NeighborRelation.CHANGE_ONE
    facts: dict[str, Any] = {"lower": 0, "upper": 3, "grid": 1}
    m.Sum(**facts, noise=m.DiscreteLaplace(3, epsilon=1))
    with pytest.raises(ParameterError):
        m.Sum(**facts, noise=m.DiscreteLaplace(2, epsilon=1))
    with pytest.raises(ParameterError):
        m.Sum(**facts, noise=m.DiscreteLaplace(100, epsilon=1, neighbors=changed))


@pytest.mark.parametrize("high", ["3.4", "4.4"])
def test_a_missing_row_counts_as_the_middle_of_the_bounds_within_half_a_step_of_any_grid(high: str) -> None:
    """Bounds that are snapped both down: the middle between the snapped ones is up to a whole step off."""
    bounds, rows = ("0.4", high), [float("nan")] * 500 + [float(high)] * 500
    middle, top = (0.4 + float(high)) / 2, float(high)
    price: dict[str, Any] = {"epsilon": 500, "size": len(rows), "neighbors": CHANGE_ONE}
    mean = m.Mean(lower="0.4", upper=high, grid=1, **price).release(rows)
    assert abs(mean.value - (middle + top) / 2) <= mean.error(0.95)  # type: ignore[operator]  # it has one
    alone = m.Mean(lower="0.4", upper=high, grid=1, **price).release(rows[:500] * 2)
    assert abs(alone.value - middle) <= alone.error(0.95)  # type: ignore[operator]  # likewise
    truth = ((top - middle) / 2) ** 2
    for spread in (
        m.Variance(lower="0.4", upper=high, grid=1, **price).release(rows),
        m.Covariance(first=bounds, second=bounds, grids=(1, 1), **price).release((rows, rows)),
    ):
        assert abs(spread.value - truth) <= spread.error(0.95)  # type: ignore[operator]  # likewise
