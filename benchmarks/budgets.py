"""How many questions a budget pays for, by filter: `python -m benchmarks.budgets [--epsilon 3] [--delta 1e-6]`.

Each row is a kind of question, asked until nothing fits any more, alone or after a training run. `best` admits what
any of its certificates does; it must be behind no single filter by more than 2 percent or one question. Searches for
keys have a limit of their own beside that: fifty at a thousandth of delta each.
"""

from __future__ import annotations

import argparse
import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import privacy as p
from discreet.privacy.convert import rdp_allowance, zcdp_allowance
from discreet.privacy.costs import INFINITE, Certificates, cost_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy import Budget, Curve

NEVER = Fraction(INFINITE)
CONVERSION = Fraction(9, 10)
SEARCH = Fraction(1, 1000)
"""The part of delta that a search for keys takes."""
TRAINING = p.gaussian(1).subsample("0.01") * 1000

Sums = tuple[Fraction, Fraction]
"""A loss and a delta: a cost, or a limit."""


def questions(budget: Budget) -> dict[str, Curve]:
    """Name the kinds of questions."""
    search = p.approximate(0, SEARCH * budget.delta)
    return {
        **{f"ε = {epsilon}": p.laplace(1 / Fraction(epsilon)) for epsilon in ("0.5", "0.3", "0.2", "0.1", "0.05")},
        **{f"ρ = {rho}": p.zcdp(rho) for rho in ("0.02", "0.005", "0.0005")},
        **{f"keys, ε = {epsilon}": p.laplace(1 / Fraction(epsilon)) + search for epsilon in ("0.3", "0.1")},
    }


def single_filters(budget: Budget) -> dict[str, tuple[Sums, Callable[[Curve], Sums]]]:
    """Give each filter's limits, and what a curve costs under it."""
    zcdp = zcdp_allowance(budget, share=CONVERSION)
    order = Certificates.of(budget).orders[0]
    renyi = rdp_allowance(budget, order)
    step = budget.delta / 1000

    def pure(curve: Curve) -> Sums:
        largest = curve.largest_loss()
        return (NEVER if largest is None else largest), Fraction(0)

    def approximate(curve: Curve) -> Sums:
        failure, rest = curve.unfailing()
        largest = rest.largest_loss()
        return (largest, failure) if largest is not None else (Fraction(rest.epsilon(step)), failure + step)

    def concentrated(curve: Curve) -> Sums:
        failure, rest = curve.unfailing()
        return Fraction(rest.zcdp()), failure

    def divergent(curve: Curve) -> Sums:
        divergence = curve.rdp(order)
        return (NEVER if divergence == math.inf else Fraction(divergence)), Fraction(0)

    return {
        "pure": ((budget.epsilon, Fraction(0)), pure),
        "approximate": ((budget.epsilon, budget.delta), approximate),
        "zcdp": ((zcdp.rho, zcdp.delta), concentrated),
        "renyi": ((renyi.values[0], Fraction(0)), divergent),
    }


def count(limits: Sums, before: Sums, cost: Sums) -> int:
    """Count how many costs fit after what was spent before."""
    room = [most - spent for most, spent in zip(limits, before, strict=True)]
    if min(room) < 0:
        return 0
    return int(min(left // each for left, each in zip(room, cost, strict=True) if each))


def table(budget: Budget) -> dict[str, dict[str, int]]:
    """Count the questions of every row under every filter."""
    filters, start = single_filters(budget), p.AnyOf(Certificates.of(budget))
    rows: dict[str, dict[str, int]] = {}
    for title, before in (("", None), (" after training", TRAINING)):
        for name, curve in questions(budget).items():
            row = {}
            for word, (limits, cost) in filters.items():
                nothing = (Fraction(0), Fraction(0))
                row[word] = count(limits, nothing if before is None else cost(before), cost(curve))
            spent = None if before is None else cost_of(before, start.certificates)
            fits = spent is None or start.admits(spent)
            after = start if spent is None or not fits else start.spend(spent)
            row["best"] = after.more(cost_of(curve, start.certificates)) if fits else 0
            rows[name + title] = row
    return rows


def behind(rows: dict[str, dict[str, int]], word: str) -> list[str]:
    """Name the rows in which a filter is behind the best single one by more than 2 percent and one question."""
    late = []
    for name, row in rows.items():
        most = max(number for other, number in row.items() if other != "best")
        if row[word] < most - max(1, most // 50):
            late.append(name)
    return late


def main() -> None:
    """Print the table; exit code 1 where `best` is behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", default="3")
    parser.add_argument("--delta", default="1e-6")
    wanted = parser.parse_args()
    rows = table(p.Budget(wanted.epsilon, wanted.delta))
    words = list(next(iter(rows.values())))
    print(f"questions that fit into ε = {wanted.epsilon}, δ = {wanted.delta}")
    print(f"{'':26}", *(f"{word:>12}" for word in words))
    for name, row in rows.items():
        print(f"{name:26}", *(f"{row[word]:12,}" for word in words))
    for word in words:
        late = behind(rows, word)
        print(f"{word:12} is behind by more than 2 % and one question in {len(late)} of {len(rows)} rows")
    sys.exit(1 if behind(rows, "best") else 0)


if __name__ == "__main__":
    main()
