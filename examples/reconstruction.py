"""Counts that are nearly right give everybody away; a database that keeps a budget does not.

Sixty-four people, a secret bit each. An attacker asks for the counts of random groups and solves for the bits.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.checks.attacks import reconstruct
from discreet.database import Database
from discreet.noise import uniform_integer
from discreet.tables import Column, Policy, Table

PEOPLE = 64
ASKED = 64

SECRETS = np.arange(PEOPLE) ** 2 % 7 < 2

PEOPLE_TABLE = Table(
    "people", unit="id", unique=["id"], columns=[Column("id", type="integer"), Column("ill", keys=["no", "yes"])]
)


def exact(group: np.ndarray) -> float:
    """Count."""
    return float(SECRETS[group].sum())


def off_by_two(group: np.ndarray) -> float:
    """Count, and be off by up to two."""
    return exact(group) + uniform_integer(5) - 2


def from_database(db: Database, group: np.ndarray) -> float:
    """Ask for the count, for a thirty-second of epsilon 1."""
    those = ", ".join(str(person) for person in np.flatnonzero(group))
    question = db.sql(f"SELECT COUNT(*) AS n FROM people WHERE ill = 'yes' AND id IN ({those})")  # noqa: S608
    return float(question.release(epsilon="1/32").to_dicts()[0]["n"])


def main() -> None:
    """Attack three ways to answer."""
    print("exact counts        ", reconstruct(exact, SECRETS).outcome)
    print("counts ± 2          ", reconstruct(off_by_two, SECRETS).outcome)
    rows = pa.table({"id": range(PEOPLE), "ill": ["yes" if ill else "no" for ill in SECRETS.tolist()]})
    with Database(Policy([PEOPLE_TABLE], epsilon=1), {"people": rows}, ledger="memory") as db:
        attack = reconstruct(lambda group: from_database(db, group), SECRETS, queries=ASKED)
    print("a database at ε = 1 ", attack.outcome)


if __name__ == "__main__":
    main()
