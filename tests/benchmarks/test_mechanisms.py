"""What the benchmark of mechanisms makes of its workers' words, its yardsticks against simulation, and its numbers."""

from __future__ import annotations

import doctest
import math
import statistics as library_statistics
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks import mechanisms, published, questions, setup, statistics, textbook
from benchmarks.mechanisms import Result, Row, accuracy_figures, best, target_of
from benchmarks.mechanisms_worker import measure
from benchmarks.questions import DECILES, KEYS, QUESTIONS, TOP, Question, Statistic, error, summary
from benchmarks.report import Verdict
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from types import ModuleType


def perfect(question: Question) -> float | list[float]:  # noqa: PLR0911  one case after the other
    """The answer that a question aims at."""
    data = question.data
    match question.statistic:
        case Statistic.DECILES:
            return [sorted(data)[round(q * len(data)) - 1] for q in DECILES]
        case Statistic.TOP_K:
            return [float(i) for i in np.argsort(data)[-TOP:]]
        case Statistic.ARGMAX:
            return float(np.argmax(data))
        case Statistic.THRESHOLD:
            return [float(i) for i in range(KEYS)]
        case Statistic.MEDIAN:
            return float(np.median(data))
        case Statistic.VARIANCE:
            return float(np.var(data))
        case _:
            return float(np.mean(data))


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_the_truth_has_no_error_and_something_else_has(question: Question) -> None:
    answer = perfect(question)
    assert error(question, answer) == pytest.approx(0, abs=1e-9)
    worse: float | list[float]
    if isinstance(answer, list):
        worse = [0.0] * len(answer) if question.statistic is not Statistic.THRESHOLD else []
    else:
        worse = float(np.argmin(question.data)) if question.statistic is Statistic.ARGMAX else answer + 1
    assert error(question, worse) > 0


def test_every_library_gets_the_same_data() -> None:
    assert Question(Statistic.MEDIAN, 1.0).data == Question(Statistic.MEDIAN, 0.1).data
    assert len({str(question) for question in QUESTIONS}) == len(QUESTIONS) == 2 * len(Statistic)
    assert set(statistics.PEERS) | {statistics.OWN} == set(statistics.TITLES)
    assert set(statistics.PEERS) <= set(setup.PEERS)
    for peer in statistics.PEERS:
        assert setup.pins_of(peer).is_file()


def test_a_figure_comes_with_its_standard_error() -> None:
    question = Question(Statistic.MEAN, 1.0)
    draws = np.random.default_rng(1).normal(size=(400, 100))
    figures = [summary(question, row.tolist()) for row in draws]
    assert library_statistics.fmean(figure for figure, _ in figures) == pytest.approx(1, abs=0.02)
    spread = library_statistics.pstdev(figure for figure, _ in figures)
    assert library_statistics.fmean(each for _, each in figures) == pytest.approx(spread, rel=0.15)


def test_a_way_that_raises_is_reported_and_a_slow_one_is_cut() -> None:
    question = Question(Statistic.MEAN, 1.0)

    def broken() -> float:
        raise ValueError

    assert measure(question, broken, 10, 1.0)["refusal"] == "ValueError()"
    assert measure(question, lambda: 0.0, 1000, 0.0)["runs"] == 30
    assert measure(question, lambda: 0.0, 5, 60.0)["runs"] == 5


def row(question: Question, figure: float | None, way: str = "way", spread: float = 0.01) -> Row:
    return Row(question=str(question), way=way, figure=figure, standard_error=spread, runs=9, cpu=0.1, refusal="")


def verdicts(ours: float, theirs: float) -> set[Verdict | None]:
    results = {
        "discreet": Result(missing="", versions={}, rows=[row(question, ours) for question in QUESTIONS]),
        "opendp": Result(missing="", versions={}, rows=[row(question, theirs) for question in QUESTIONS]),
    }
    figures = [figure for figure in accuracy_figures(results, {}) if figure.library == "opendp"]
    return {figure.verdict for figure in figures}


def test_ours_must_not_be_larger_beyond_sampling_error() -> None:
    assert verdicts(1.0, 1.0) == verdicts(1.03, 1.0) == verdicts(0.2, 1.0) == {Verdict.MET}
    assert verdicts(1.1, 1.0) == {Verdict.MISSED}


def test_a_missing_peer_is_not_measured_and_never_met() -> None:
    results = {
        "discreet": Result(missing="", versions={}, rows=[row(question, 1.0) for question in QUESTIONS]),
        "opendp": Result(missing="not installed", versions={}, rows=[]),
    }
    figures = [figure for figure in accuracy_figures(results, {}) if figure.library == "opendp"]
    assert {figure.verdict for figure in figures} == {Verdict.UNMEASURED}


def test_the_best_way_carries_the_target() -> None:
    question = QUESTIONS[0]
    rows = [row(question, 3.0, "a"), row(question, 2.0, "b"), row(question, None, "c")]
    found = best(rows)
    assert found is not None
    assert found["way"] == "b"
    assert best([]) is None
    assert target_of(rows[0], rows[1]).limit > 1


def test_the_yardstick_of_medians_is_the_mechanism_s_error() -> None:
    question = Question(Statistic.MEDIAN, 1.0)
    edges, chances = published.quantile_law(question, 0.5, 1.0)
    draw = np.random.default_rng(3)
    cells = draw.choice(len(chances), size=200_000, p=chances)
    drawn = edges[cells] + draw.random(200_000) * (edges[cells + 1] - edges[cells])
    assert published.median_error(question) == pytest.approx(
        math.sqrt(((drawn - np.median(question.data)) ** 2).mean()), rel=0.03
    )


def test_the_yardstick_of_choices_is_the_mechanism_s_error() -> None:
    question = Question(Statistic.ARGMAX, 1.0)
    scores, draw = np.array(question.data), np.random.default_rng(4)
    winners = np.argmax(scores + draw.exponential(size=(50_000, len(scores))), axis=1)
    lost = math.sqrt(((scores.max() - scores[winners]) ** 2).mean())
    assert published.argmax_error(question) == pytest.approx(lost, rel=0.03)


def test_the_yardstick_of_thresholds_keeps_its_promise_and_no_more() -> None:
    chances = published.kept(1.0, 0.01, 40)
    growth = math.e
    for before, after in pairwise(chances):
        assert after <= growth * before + 0.01 + 1e-12
        assert 1 - before <= growth * (1 - after) + 0.01 + 1e-12
        tight = min(growth * before + 0.01 - after, growth * (1 - after) + 0.01 - (1 - before), 1 - after)
        assert abs(tight) < 1e-9


@pytest.fixture(scope="module")
def numbers() -> list[textbook.Number]:
    return list(textbook.numbers(ReplayBits(2024)))


def test_the_numbers_of_the_textbooks(numbers: list[textbook.Number]) -> None:
    assert len(numbers) == 7
    for number in numbers:
        assert number.off <= number.tolerance, number


@pytest.mark.parametrize(
    "start, misprint",
    [("95 %", 14.5), ("best of 4", 6.8), ("chance of the true", 3 / 12), ("four counts", 32.0), ("the same", 48.0)],
)
def test_a_misprint_of_a_textbook_would_be_seen(start: str, misprint: float, numbers: list[textbook.Number]) -> None:
    (number,) = (each for each in numbers if each.name.startswith(start))
    assert abs(number.found / misprint - 1) > number.tolerance


@pytest.mark.parametrize("module", [mechanisms, published, questions, setup, textbook])
def test_the_examples_run(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
