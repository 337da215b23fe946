"""Recommendations: all applicable mechanisms, from public facts."""

from __future__ import annotations

import math

import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import recommend, recommendation
from discreet.privacy import ZCDP, Approximate, NeighborRelation, Pure

CHANGE_ONE = NeighborRelation.CHANGE_ONE
PROMISES = [Pure(1, neighbors=CHANGE_ONE), Approximate("0.5", 1e-6), ZCDP("0.5")]


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommendation, "_TRIALS", 30)


@pytest.mark.parametrize("statistic", ["count", "sum", "mean", "variance", "std", "median", "minimum", "maximum"])
@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_every_option_keeps_the_promise(statistic: str, promise: Pure | Approximate | ZCDP) -> None:
    found = recommend(statistic, promise, n=200, bounds=(0, 10))
    errors = [option.expected_error for option in found.options]
    assert errors == sorted(errors)
    assert all(0 < error < math.inf for error in errors)
    for option in found.options:
        curve = option.mechanism.privacy
        assert curve.neighbors == promise.neighbors
        if isinstance(promise, ZCDP):
            assert curve.zcdp() <= promise.rho * (1 + 1e-12)
        elif isinstance(promise, Approximate):
            assert curve.delta(promise.epsilon) <= promise.delta
        else:
            assert curve.epsilon(0) <= promise.epsilon * (1 + 1e-12)


def test_the_table_names_the_choice() -> None:
    found = recommend("mean", 1, n=500, bounds=(0, 1000), spread=5)
    assert found.chosen.name == "trimmed mean"
    lines = str(found).splitlines()
    assert lines[0] == "mean, ε = 1, n = 500: root mean squared error on made-up rows"
    assert lines[1].strip().startswith("trimmed mean")
    assert lines[1].endswith("<- chosen")
    assert len(lines) == 1 + len(found.options)


def test_quartiles_have_two_ways() -> None:
    found = recommend("quartiles", 2, n=100, bounds=(0, 100))
    assert {option.name for option in found.options} == {"joint quantiles", "quantiles by halving"}


def test_errors_of_averages_shrink_with_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommendation, "_TRIALS", 300)
    few, many = (recommend("variance", 1, n=n).options[-1].expected_error for n in (20_000, 200_000))
    assert 5 < few / many < 20


@pytest.mark.parametrize(
    "given, message",
    [
        ({"statistic": "mood", "privacy": 1, "n": 5}, "it must be one of count"),
        ({"statistic": "mean", "privacy": 1, "n": 0}, "n is 0"),
        ({"statistic": "mean", "privacy": 1, "n": 5, "bounds": (1, 0)}, "must be below"),
        ({"statistic": "mean", "privacy": 1, "n": 5, "spread": -1}, "spread is -1"),
    ],
)
def test_bad_arguments_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        recommend(**given)  # type: ignore[arg-type]
