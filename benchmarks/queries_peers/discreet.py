"""Discreet: questions in SQL and in Python, with a ledger that keeps no answers.

Any other would give the stored answer to a repeated question for free; what is measured is a new answer each time.
"""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.queries_cases import EPSILON, LEVELS, Rows, Statistic
from discreet.engines import open_engine
from discreet.ledgers import MemoryLedger
from discreet.plans import aggregates as agg
from discreet.plans import plan_sql, table
from discreet.releases import Question
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.queries_cases import Way
    from discreet.engines import Engine
    from discreet.ledgers import Released, Reservation
    from discreet.plans import Plan

DISTRIBUTIONS = ("discreet", "duckdb")

MEASURES = {
    Statistic.COUNT: "COUNT(*)",
    Statistic.SUM: "SUM(value)",
    Statistic.MEAN: "AVG(value)",
    Statistic.VARIANCE: "VAR_POP(value)",
    Statistic.MEDIAN: "MEDIAN(value)",
}
_OPENED: dict[tuple[str, int], Asker] = {}


def policy(groups: int | None, bounds: tuple[float, float], rows_per_unit: int | None) -> Policy:
    """State the public facts; the budget is large enough for every repetition.

    Without a number of groups, the keys are not known: they are selected privately, with a delta of a millionth.
    """
    low, high = bounds
    columns = [
        Column("key", type="integer") if groups is None else Column("key", keys=range(groups)),
        Column("value", type="float", lower=low, upper=high, nullable=False),
        Column("unit", type="integer"),
    ]
    if rows_per_unit is None:
        visits = Table("visits", columns=columns, row_is_unit=True)
    else:
        visits = Table("visits", columns=columns, unit="unit", rows_per_unit=rows_per_unit)
    if groups is None:
        return Policy([visits], epsilon=10**6, delta="0.01", release_delta="1e-6")
    return Policy([visits], epsilon=10**6, most_groups=max(groups, 100_000))


class Forgetful(MemoryLedger):
    """A ledger that charges and keeps no answer, so that nothing is ever found again."""

    def record(self, reservation: Reservation, answer: Released) -> str:
        """Keep nothing."""
        del reservation, answer
        return ""


@dataclass(frozen=True, slots=True)
class Asker:
    """A source with its public facts, and a budget without a memory."""

    policy: Policy
    engine: Engine
    ledger: Forgetful

    @staticmethod
    def of(facts: Policy, source: object) -> Asker:
        """Open what `discreet.engines.open_engine` opens."""
        return Asker(facts, open_engine(facts, source), Forgetful(facts))

    def sql(self, text: str) -> Question:
        """Plan a question in SQL."""
        return self.planned(plan_sql(self.policy, text))

    def planned(self, plan: Plan) -> Question:
        """Prepare a planned question."""
        return Question(plan, self.engine, self.ledger)

    def close(self) -> None:
        """Close the source."""
        self.engine.close()


def opened(rows: Rows) -> Asker:
    """Open the rows where they are, once; closed at the end of the process."""
    name = (rows.name, len(rows.keys))
    if name not in _OPENED:
        data = pa.table({"key": rows.keys, "value": rows.values, "unit": rows.units})
        _OPENED[name] = Asker.of(policy(rows.groups, rows.bounds, rows.rows_per_unit), {"visits": data})
        atexit.register(_OPENED[name].close)
    return _OPENED[name]


def ways(rows: Rows, statistic: Statistic) -> Mapping[str, Way]:
    """Ask with the defaults; the number of rows of a group is private throughout."""
    source = opened(rows)
    if statistic is Statistic.QUANTILES:
        groups = table(source.policy, "visits").group_by("key")
        question = source.planned(groups.agg(v=agg.quantile("value", *LEVELS)))
        name = "agg.quantile, four levels"
    else:
        name = MEASURES[statistic]
        question = source.sql(f"SELECT key, {name} AS v FROM visits GROUP BY key")  # noqa: S608  our own names

    def answer() -> list[float | None]:
        found: list[float | None] = question.release(epsilon=EPSILON).to_arrow()["v"].to_pylist()
        return found

    return {name: answer}


def together(rows: Rows) -> Callable[[], object]:
    """Count, sum and mean in one question, planned anew each time."""
    source = opened(rows)
    text = "SELECT key, COUNT(*) AS n, SUM(value) AS s, AVG(value) AS m FROM visits GROUP BY key"
    return lambda: source.sql(text).release(epsilon=EPSILON).to_arrow()
