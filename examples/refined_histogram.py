"""A method of one's own: a private histogram of rows on loan, refined in three rounds inside one session."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.ledgers import Session, charge
from discreet.privacy import NeighborRelation, Pure

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines import BoundedRows, Loan
    from discreet.mechanisms import Release


def noisy_counts(rows: BoundedRows, edges: list[float], epsilon: Fraction, bits: dp.noise.BitSource) -> Release[Any]:
    """Count rows in bins: a unit moves all counts together by its rows, and who takes its place by as many."""
    units = 1 if rows.neighbors is NeighborRelation.ADD_REMOVE else 2
    noise = dp.DiscreteLaplace(units * rows.rows_per_unit, epsilon=epsilon, neighbors=rows.neighbors)
    return noise.release(np.histogram(rows.columns["age"][~rows.missing["age"]], edges)[0], bits=bits)


def refined(release: Callable[[list[float]], Release[Any]], rounds: int = 3) -> dict[float, int]:
    """Halve the bins that hold no less than the mean, round by round; give the last counts by their left edges."""
    edges, counts = [0.0, 128.0], np.zeros(1, dtype=np.int64)
    for _ in range(rounds):
        halves = np.array([(left + right) / 2 for left, right in pairwise(edges)])
        counts = release(edges := sorted([*edges, *halves[counts >= counts.mean()].tolist()])).value
    return dict(zip(edges, counts.tolist(), strict=False))


def refined_histogram(loan: Loan, epsilon: Fraction, rounds: int = 3) -> dict[float, int]:
    """Release a histogram of ages: each round has its part of epsilon, and may depend on those before."""
    name, part = f"refined histogram for {epsilon}", epsilon / rounds
    with Session.open(loan.ledger, Pure(epsilon), loan.entry(name, kind="session"), most_parts=rounds) as session:
        return refined(
            lambda edges: charge(
                session,
                Pure(part),
                loan.entry(f"{name} at {edges}"),
                lambda paid: noisy_counts(loan.read(paid), edges, part, session.bits(paid.number)),
            ),
            rounds,
        )


if __name__ == "__main__":
    people = dp.tables.Table("people", row_is_unit=True, columns=[dp.tables.Column("age", lower=0, upper=128)])
    ages = pa.table({"age": np.r_[np.full(6000, 31), np.arange(3000) % 128]})
    with dp.Database(dp.Policy([people], epsilon=2), {"people": ages}) as db:
        first, again = (refined_histogram(db.table("people").select("age").rows(), Fraction(9, 10)) for _ in range(2))
        print(*(f"from {edge:5.1f} on: {count:5}" for edge, count in first.items()), sep="\n")
        print(f"± {dp.DiscreteLaplace(1, epsilon='0.3').error():.0f}; again: {first == again}; {db.remaining} left")
