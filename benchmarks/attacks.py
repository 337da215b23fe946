"""How much attacks find: `python -m benchmarks.attacks [--people 1024] [--shadows 64]`.

Least squares against counts with bounded noise, and against a database; the likelihood-ratio attack on models that were
trained with and without privacy. The digits come with scikit-learn, where it is installed.
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.measure import run_once
from benchmarks.membership import EPSILON, ODD, PrivateSoftmax, Softmax, data_sets
from benchmarks.report import Direction, Figure, Target, Verdict, format_table
from discreet.checks.attacks import infer_membership, reconstruct
from discreet.database import Database
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SHARES = {0.1: 0.99, 0.25: 0.99, 0.5: 0.93, 1.0: 0.76}
NEAR_GUESSING = Target(Direction.AT_MOST, 0.03, "above guessing")
ASKED = 256
SHADOWS = 64


def reconstructions(people: int) -> list[Figure]:
    """Reconstruct coin flips from 4 n counts that are off by at most c sqrt(n)."""
    chance = np.random.default_rng(0)
    secrets = chance.random(people) < 0.5
    figures = []
    for factor, share in SHARES.items():

        def count(subset: NDArray[np.bool_], most: float = factor * people**0.5) -> float:
            return float(secrets[subset].sum() + chance.uniform(-most, most))

        shares: list[float] = []
        seconds = run_once(lambda: shares.append(reconstruct(count, secrets).outcome.share)).wall_ns / 1e9  # noqa: B023
        target = Target(Direction.AT_LEAST, share, "")
        case = f"{people} people, noise within ±{factor:g} √n"
        figures.append(Figure("least squares", case, "discreet", shares[0], "share", wall=seconds, target=target))
    return figures


def against_a_database(people: int) -> list[Figure]:
    """Reconstruct the same from a database that may spend epsilon = 1, as many questions as share it."""
    chance = np.random.default_rng(0)
    secrets = chance.random(people) < 0.5
    columns = [Column("id", type="integer"), Column("ill", keys=["no", "yes"])]
    table = Table("people", unit="id", unique=["id"], columns=columns)
    rows = pa.table({"id": range(people), "ill": ["yes" if secret else "no" for secret in secrets]})
    figures = []
    for asked in (1, ASKED, 4 * people):
        if asked > 4 * ASKED:
            continue
        with Database(Policy([table], epsilon=1), {"people": rows}, ledger="memory") as db:
            price = Fraction(1, asked)

            def count(subset: NDArray[np.bool_]) -> float:
                those = ", ".join(map(str, np.flatnonzero(subset)))
                sql = f"SELECT COUNT(*) AS n FROM people WHERE ill = 'yes' AND id IN ({those})"  # noqa: S608 - numbers
                return float(db.sql(sql).release(epsilon=price).to_dicts()[0]["n"])  # noqa: B023 - used at once

            found = reconstruct(count, secrets, queries=asked)
        case = f"{people} people, ε = 1 in {asked} questions"
        note = f"{100 * found.outcome.share:.1f} % right, guessing {100 * found.outcome.baseline:.1f} %"
        advantage = found.outcome.advantage
        figures.append(
            Figure("against a database", case, "discreet", advantage, "share", target=NEAR_GUESSING, note=note)
        )
    return figures


def memberships(shadows: int) -> list[Figure]:
    """Infer membership of models that were trained without and with privacy, by either form of the attack."""
    figures = []
    for name, examples, classes in data_sets():
        if examples is None:
            figures.append(Figure("membership", name, "discreet", None, "true positives", note=classes))
            continue
        width, kinds = examples.shape[1], int(classes.max()) + 1
        for trained, build in (
            ("without privacy", partial(Softmax, width, kinds)),
            (f"ε = {EPSILON:g}", partial(PrivateSoftmax, width, kinds, len(classes) // 2)),
        ):
            for inference in ("lira-online", "lira-offline"):
                found = infer_membership(build, examples, classes, inference=inference, shadows=shadows)
                case = f"{name}, {len(classes)} examples, {trained}, {inference}"
                note = f"area {found.auc:.3f}, at 1 % false ones {100 * found.tpr(0.01):.1f} %"
                figures.append(
                    Figure(
                        "membership at 0.1 % false positives", case, "discreet", found.tpr(0.001), "share", note=note
                    )
                )
                if inference == "lira-online" and trained == "without privacy" and name == "purchases":
                    odd = float((found.outliers(20) < ODD).mean())
                    figures.append(
                        Figure("who is found", "of the 20 largest scores, odd ones", "discreet", odd, "share",
                               note=f"{ODD} of {len(classes)} examples have labels of their own")
                    )  # fmt: skip
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables; exit code 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1024)
    parser.add_argument("--shadows", type=int, default=SHADOWS)
    wanted = parser.parse_args(arguments)
    figures = [*reconstructions(wanted.people), *against_a_database(wanted.people), *memberships(wanted.shadows)]
    print(format_table(figures))
    sys.exit(any(figure.verdict is Verdict.MISSED for figure in figures))


if __name__ == "__main__":
    main()
