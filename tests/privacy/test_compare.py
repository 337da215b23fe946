"""All theorems side by side; none is below the numerical composition."""

from __future__ import annotations

import pytest

from discreet import privacy as p
from discreet.errors import ParameterError

MECHANISMS = {
    "dpsgd": (p.gaussian(1).subsample(0.01), 1000),
    "laplace": (p.laplace(scale=10), 100),
    "gaussian": (p.gaussian(20), 50),
    "response": (p.randomized_response(epsilon="0.1"), 200),
    "single": (p.laplace(scale=1), 1),
    "box": (p.approximate(epsilon="0.05", delta=1e-9), 300),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_no_theorem_beats_the_numerical_composition(name: str, delta: float) -> None:
    mechanism, count = MECHANISMS[name]
    table = p.compare(mechanism, count, delta)
    *theorems, numerical = table.rows
    assert numerical.name == "numerical"
    assert numerical.epsilon is not None
    least = (mechanism * count).interval(delta)[0]
    for row in theorems:
        assert row.epsilon is None or row.epsilon >= least
        assert (row.epsilon is None) == bool(row.reason)
    assert sum(row.epsilon is not None for row in theorems) >= 3


def test_a_table_prints_one_line_per_theorem() -> None:
    table = p.compare(p.gaussian(20), 50, 1e-6)
    lines = str(table).splitlines()
    assert len(lines) == 1 + len(table.rows)
    assert "delta = 1e-06" in lines[0]
    assert lines[-1].startswith("numerical")


def test_a_theorem_that_does_not_apply_says_so() -> None:
    rows = {row.name: row for row in p.compare(p.approximate(epsilon="0.05", delta=1e-9), 100, 1e-5).rows}
    assert rows["zCDP"].epsilon is None
    assert "does not apply" in rows["zCDP"].reason


def test_a_plot_has_one_bar_per_number() -> None:
    table = p.compare(p.laplace(scale=10), 100, 1e-6)
    axes = table.plot()
    assert len(axes.patches) == sum(row.epsilon is not None for row in table.rows)


@pytest.mark.parametrize("n, delta", [(0, 1e-6), (-1, 1e-6), (2.5, 1e-6), (10, 0), (10, 1), (10, float("nan"))])
def test_nonsense_is_refused(n: int, delta: float) -> None:
    with pytest.raises(ParameterError):
        p.compare(p.laplace(scale=10), n, delta)
