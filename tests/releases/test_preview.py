"""The ± before a release: never smaller than what a release then has, for whatever values within the bounds."""

from __future__ import annotations

import itertools
import operator
from random import Random

import pyarrow as pa
import pytest

import discreet as dp
from discreet.plans.terms import col
from discreet.releases.showing.arithmetic import Expected, expected
from discreet.tables import Column, Policy, Table

COLUMNS = [Column("x", lower=0, upper=100, nullable=False), Column("y", lower=-1.0, upper=3.0, nullable=False)]
POLICY = Policy([Table("people", row_is_unit=True, columns=COLUMNS)], epsilon=10**6)
MEASURES = {
    "s": "STDDEV(x)",
    "p": "STDDEV_POP(y)",
    "share": "SUM(x) / COUNT(*)",
    "half": "COUNT(*) / 2 + 1",
    "gap": "COUNT(*) - SUM(y)",
    "area": "AVG(x) * AVG(y)",
    "scaled": "-3 * SUM(x)",
}


@pytest.mark.slow
def test_a_release_has_no_larger_error_than_its_preview() -> None:
    """A thousand rows: even, all at one end, half at each."""
    random = Random(3)
    tables = [
        {"x": [random.randrange(101) for _ in range(1000)], "y": [random.uniform(-1, 3) for _ in range(1000)]},
        {"x": [100] * 1000, "y": [-1.0] * 1000},
        {"x": [0, 100] * 500, "y": [3.0, -1.0] * 500},
    ]
    for name, text in MEASURES.items():
        for rows in tables:
            with dp.Database(POLICY, {"people": pa.table(rows)}) as opened:
                question = opened.sql(f"SELECT {text} AS v FROM people")
                seen = question.preview(epsilon=1, expected_count=1000).errors["v"]
                assert seen is not None, name
                (made,) = question.release(epsilon=1).errors()
                assert made["v"] is None or made["v"] <= seen * 1.1, name  # the noisy count is a little off 1000
    with dp.Database(POLICY, {"people": pa.table(tables[0])}) as opened:
        plain = opened.sql("SELECT -3 * SUM(x) AS v, SUM(x) / COUNT(*) AS r, CORR(x, y) AS c FROM people")
        shown = plain.preview(epsilon=1)
        assert shown.errors["v"] is not None  # whatever the number of rows
        assert shown.errors["r"] is None
        assert "expected_count" in shown.notes["r"]
        assert "about ±" in plain.preview(epsilon=1, expected_count=10**5).notes["c"]
        assert plain.preview(within={"v": 9000}).promise.startswith("ε = ")


def test_bounds_hold_for_every_value_and_noise() -> None:
    """Brute force over ends: sizes within their limits, noise within its own."""
    x, y = Expected(0.0, 4.0, 0.5), Expected(2.0, 3.0, 1.0)
    sizes = [(a, b) for a in (-4.0, -1.0, 0.0, 2.5, 4.0) for b in (-3.0, -2.0, 2.0, 2.5, 3.0)]
    noises = list(itertools.product((-0.5, 0.0, 0.5), (-1.0, 0.0, 1.0)))
    forms = {
        "+": (col("x") + col("y"), operator.add),
        "-": (col("x") - col("y"), operator.sub),
        "*": (col("x") * col("y"), operator.mul),
        "/": (col("x") / col("y"), operator.truediv),
    }
    for symbol, (term, compute) in forms.items():
        found = expected(term.expression, {"x": x, "y": y})
        assert found is not None
        off = max(abs(compute(a + u, b + v) - compute(a, b)) for a, b in sizes for u, v in noises if abs(b + v) > 1e-9)
        assert off <= found.error + 1e-12
        assert off >= found.error * 0.6, symbol  # and is not far above it
        assert all(found.least - 1e-12 <= abs(compute(a, b)) <= found.most + 1e-12 for a, b in sizes)
    assert expected((col("y") / col("x")).expression, {"x": x, "y": y}) is None
    assert expected((col("x") * col("z")).expression, {"x": x}) is None


@pytest.mark.parametrize("count", [None, 50])
def test_what_has_no_error_says_why(count: int | None) -> None:
    with dp.Database(POLICY, {"people": pa.table({"x": [1], "y": [1.0]})}) as opened:
        asked = "SELECT COUNT(*) / (SUM(y) - 5) AS v, MEDIAN(x) + 1 AS w FROM people"
        seen = opened.sql(asked).preview(epsilon=1, expected_count=count)
        assert seen.errors == {"v": None, "w": None}
        assert all(seen.notes.values())
