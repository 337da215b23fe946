"""Bounds that a question buys for itself: one price, two parts, and noise for the bounds that were chosen."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.errors import BudgetError, ParameterError
from discreet.privacy import Pure
from discreet.privacy.costs import Cost
from discreet.releases.noise.protection import Protection
from discreet.tables import Column, Policy, Table
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = [Column("pay", lower=0, upper=10**6), Column("ward", keys=["a", "b"])]
PEOPLE = Table("people", unit="id", rows_per_unit=1, columns=COLUMNS)
SQL = "SELECT ward, AVG(pay) AS p, SUM(pay) AS s, COUNT(*) AS n FROM people GROUP BY ward"


def rows(pay: int | None = None) -> pa.Table:
    found = [{"id": str(n), "pay": 80 + n % 41 if pay is None else pay, "ward": "ab"[n % 2]} for n in range(5000)]
    return pa.Table.from_pylist(found)


def test_one_price_pays_for_bounds_and_answer() -> None:
    with dp.Database(Policy([PEOPLE], epsilon=10), {"people": rows()}) as opened:
        question = opened.sql(SQL)
        seen = question.preview(epsilon=1, narrow="0.4", expected_count=2500)
        assert (seen.promise, seen.cost) == ("ε = 1", Pure(1))
        assert "ε = 0.4" in seen.notes["bounds"]
        dearer = question.preview(epsilon="0.6", expected_count=2500)
        assert seen.errors == dearer.errors  # at most: those of the policy's bounds for the rest of the price
        assert "chosen first, for 2/5 of the price" in question.explain(narrow="0.4")
        answer = question.release(epsilon=1, narrow="0.4")
        assert (answer.promise, answer.cost, opened.remaining) == ("ε = 1", Pure(1), Pure(9))
        for row, error in zip(answer.to_dicts(), answer.errors(), strict=True):
            assert abs(row["p"] - 100) < 3
            assert error["p"] < seen.errors["p"] / 100  # type: ignore[operator]
        assert "limits, which no ± includes: pay to " in str(answer)
        assert ", chosen for ε = 0.4" in str(answer)


def test_noise_is_for_the_chosen_bounds() -> None:
    """The claim of the second part rests on the plan between the bounds, not on the policy's."""
    with dp.Database(Policy([PEOPLE], epsilon=10), {"people": rows()}) as opened:
        answer = opened.sql("SELECT SUM(pay) AS s FROM people").release(epsilon=1, narrow="0.25", cut="0.1")
        assert answer.bounds is not None
        ((low, high),) = answer.bounds.to_dicts()[0].values()
        assert 60 < low < high < 140
        (statistic,) = answer.plan.aggregate.statistics
        assert statistic.reach(answer.plan.row_schema) == (0, int(-(-high // 1)))
        wanted = Protection.of(answer.recipe, answer.parts[0].price)
        assert answer.numbers.noises == wanted.noises
        assert answer.numbers.noises[0].claim.epsilon <= Fraction(3, 4)
        assert answer.bounds.parts[0].price.epsilon == Fraction(1, 4)
        # A row of the largest pay moves the exact sum by the chosen bound and no more.
        more = pa.concat_tables([rows(), pa.Table.from_pylist([{"id": "x", "pay": 10**6, "ward": "a"}])])
        found = []
        for data in (rows(), more):
            with DuckDB(answer.plan.policy, {"people": data}) as engine:
                exact = engine.prepare(answer.plan.aggregate).run()
                found.append(int(exact.unprotected(0)[0, 0]))
        assert found[1] - found[0] == int(-(-high // 1))


def test_rho_is_divided_too_and_repeats_are_free(tmp_path: Path) -> None:
    policy = Policy([PEOPLE], epsilon=3, delta="1e-6")
    with dp.Database(policy, {"people": rows()}, ledger=str(tmp_path / "ledger.sqlite")) as opened:
        question = opened.sql(SQL)
        answer = question.release(rho="0.1", narrow="0.1")
        assert answer.promise == "ρ = 0.1"
        assert isinstance(answer.cost, Cost)
        assert 0 < answer.cost.losses[1] <= 8 * 10**11 + 2  # two releases at order 8, each rounded up
        left = opened.remaining
        again = question.release(rho="0.1", narrow="0.1")
        assert again.to_dicts() == answer.to_dicts()
        assert (again.cost, opened.remaining) == (answer.cost * 0, left)


def test_equal_values_leave_some_width() -> None:
    """Everybody earns 70: the bounds fall on one value, and the question is answered all the same."""
    with dp.Database(Policy([PEOPLE], epsilon=100), {"people": rows(70)}) as opened:
        for row in opened.sql(SQL).release(epsilon=50, narrow="0.5").to_dicts():
            assert abs(row["p"] - 70) < 20


def test_nothing_is_bought_unless_both_parts_fit() -> None:
    with dp.Database(Policy([PEOPLE], epsilon=1), {"people": rows()}) as opened:
        question = opened.sql(SQL)
        with pytest.raises(BudgetError, match="Nothing was spent"):
            question.release(epsilon=2, narrow="0.1")
        assert opened.remaining == Pure(1)
        for wrong in ("0", "1", "-0.5"):
            with pytest.raises(ParameterError, match="narrow is"):
                question.release(epsilon=1, narrow=wrong)
        with pytest.raises(ParameterError, match="narrow is a part of a price"):
            question.release(within=5, narrow="0.1")
        with pytest.raises(dp.QueryRefused, match="Nothing in the question is summed"):
            opened.sql("SELECT COUNT(*) AS n FROM people").release(epsilon=1, narrow="0.1")
        assert opened.remaining == Pure(1)


def test_an_aggregate_of_a_constant_is_refused_when_it_is_asked() -> None:
    """Public bounds tell: neither a price nor rows are needed for it."""
    sql = "SELECT AVG(LEAST(GREATEST(pay, 3), 3)) FROM people"
    with (
        dp.Database(Policy([PEOPLE], epsilon=1), {"people": rows()}) as opened,
        pytest.raises(dp.QueryRefused, match="an aggregate of a constant"),
    ):
        opened.sql(sql)


FAR = [
    # Two bounds that no double tells apart, or beyond 64 bits as a double.
    (Column("pay", lower=2**53, upper=2**53 + 3), [2**53 + 1], "SELECT VARIANCE(pay) AS v FROM people"),
    (Column("pay", lower=0, upper=2**63 - 1), [2**63 - 2], "SELECT AVG(pay) AS v FROM people"),
    (Column("pay", lower=2**63 - 3, upper=2**63 - 1), [2**63 - 2], "SELECT AVG(pay) AS v FROM people"),
    (Column("pay", lower=-(2**63), upper=3 - 2**63), [1 - 2**63], "SELECT VAR_POP(pay) AS v FROM people"),
    # Bounds so close together, and so far from 0, that a sum between them has no grid, or no sampler for its noise.
    (Column("pay", lower=0.0, upper=1e12), [1e12 - 8.0, 1e12], "SELECT SUM(pay) AS v FROM people"),
    (Column("pay", lower=0.0, upper=1e12), [1e12 - 20.0, 1e12], "SELECT SUM(pay) AS v FROM people"),
]


@pytest.mark.parametrize("column, values, sql", FAR)
def test_what_bounds_were_bought_for_is_answered(column: Column, values: list[float], sql: str) -> None:
    """Wherever they fall: a question is not refused once a part of its price is spent."""
    kind = pa.float64() if column.kind is Kind.FLOAT else pa.int64()
    data = pa.table({"id": range(5000), "pay": pa.array(values * (5000 // len(values)), kind)})
    people = Table("people", unit="id", rows_per_unit=1, columns=[column])
    with dp.Database(Policy([people], epsilon=10_000), {"people": data}) as opened:
        question = opened.sql(sql)
        answer = question.release(epsilon=50, narrow="0.9", cut="0.25")
        assert answer.to_dicts()[0]["v"] is not None
        assert answer.cost == Pure(50)
        again = question.preview(epsilon=50, narrow="0.9", cut="0.25")
        assert (again.cost, question.release(epsilon=50, narrow="0.9", cut="0.25").cost) == (Pure(0), Pure(0))
        assert question.narrowed(epsilon=50, cut="0.25").release(epsilon=500).to_dicts()[0]["v"] is not None
