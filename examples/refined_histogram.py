"""A method of one's own: a private histogram that is refined in three rounds, each where the last one says so.

It reads rows on loan, pays for each round out of one session, and shows again what was paid for.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.ledgers import Session, charge
from discreet.privacy import NeighborRelation, Pure
from discreet.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines import BoundedRows, Loan
    from discreet.ledgers import Ledger, Reservation
    from discreet.mechanisms import Release
    from discreet.noise import BitSource

ROUNDS = 3


def noisy_counts(
    rows: BoundedRows, column: str, edges: list[float], epsilon: Fraction, bits: BitSource
) -> Release[Any]:
    """Count rows in bins: a unit moves all counts together by its rows, and who takes its place by as many."""
    units = 1 if rows.neighbors is NeighborRelation.ADD_REMOVE else 2
    noise = dp.DiscreteLaplace(units * rows.rows_per_unit, epsilon=epsilon, neighbors=rows.neighbors)
    return noise.release(np.histogram(rows.columns[column][~rows.missing[column]], edges)[0], bits=bits)


def refined(lower: float, upper: float, release: Callable[[list[float]], Release[Any]]) -> dict[float, int]:
    """Halve the bins that hold no less than the mean, round by round; give the last counts by their left edges."""
    edges, counts = [lower, upper], np.zeros(1, dtype=np.int64)
    for _ in range(ROUNDS):
        halves = np.array([(left + right) / 2 for left, right in pairwise(edges)])
        edges = sorted([*edges, *halves[counts >= counts.mean()].tolist()])
        counts = release(edges).value
    return dict(zip(edges, counts.tolist(), strict=False))


def refined_histogram(loan: Loan, ledger: Ledger, column: str, epsilon: Fraction) -> dict[float, int]:
    """Release the histogram of a bounded column: each round has a third of epsilon, and may depend on those before."""
    name, part, bounds = f"refined histogram of {column} for {epsilon}", epsilon / ROUNDS, loan.schema[column].bounds
    with Session.open(ledger, Pure(epsilon), loan.entry(name, kind="session"), most_parts=ROUNDS) as session:

        def run(edges: list[float], paid: Reservation) -> Release[Any]:
            return noisy_counts(loan.read(paid), column, edges, part, session.bits(paid.number))

        def release(edges: list[float]) -> Release[Any]:
            return charge(session, Pure(part), loan.entry(f"{name} at {edges}"), partial(run, edges))

        return refined(float(bounds.lower or 0), float(bounds.upper or 0), release)


def main() -> None:
    """Show the ages of a made-up town, twice: the second time costs nothing."""
    people = Table("people", row_is_unit=True, columns=[Column("age", lower=0, upper=128)])
    ages = pa.table({"age": np.r_[np.full(6000, 31), np.arange(3000) % 128]})
    with dp.Database(dp.Policy([people], epsilon=2), {"people": ages}) as db:
        loan = db.table("people").select("age").rows()
        first, again = (refined_histogram(loan, db.ledger, "age", Fraction(9, 10)) for _ in range(2))
        error = dp.DiscreteLaplace(loan.rows_per_unit, epsilon=Fraction(9, 10) / ROUNDS).error(confidence=0.95)
        print(*(f"from {edge:5.1f} on: {count:5} ± {error:.0f}" for edge, count in first.items()), sep="\n")
        print(f"shown again as it was: {first == again}; left: {db.remaining}")


if __name__ == "__main__":
    main()
