"""What `discreet attack` attacks: counts of a file's rows, exact, with noise or from a database; a file of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.attacks import Inference, Membership, Method, reconstruct
from discreet.engines.duckdb.owned import OwnedTable
from discreet.errors import ParameterError
from discreet.exact import integer, rational
from discreet.files import PrivateFolder
from discreet.noise import uniform_integer

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet.checks.attacks import Reconstruction
    from discreet.checks.attacks.reconstruction import Count
    from discreet.database import Database

__all__ = ["attack_counts", "read_membership"]

STEPS = 1 << 20


def attack_counts(  # noqa: PLR0913 - the command's options
    data: Path,
    secret: str,
    *,
    noise: str,
    epsilon: str | None,
    people: int,
    queries: int | None,
    method: str,
) -> Reconstruction:
    """Reconstruct a column's secret from counts: with bounded noise, or from a database with a budget."""
    column, _, value = secret.rpartition("=")
    with OwnedTable(data) as table:
        cells = table.arrays(table.require([column], name="--secret"))[column]
    secrets = np.array([str(cell) == value for cell in cells[: integer(people, name="--people", least=2)]])
    if not secrets.any():
        message = f"--secret is {secret[:80]!r}; none of the rows has that value."
        raise ParameterError(message)
    if epsilon is None:
        most = float(rational(noise, name="--noise"))

        def count(subset: NDArray[np.bool_]) -> float:
            return float(secrets[subset].sum()) + most * (uniform_integer(2 * STEPS + 1) / STEPS - 1)

        return reconstruct(count, secrets, method=method, queries=queries)
    asked = queries or (1 << len(secrets) if method == Method.ALL_SUBSETS else 4 * len(secrets))
    with PrivateFolder() as folder, _database(secrets, epsilon, folder) as db:
        price = rational(epsilon, name="--epsilon") / asked
        return reconstruct(_counting(db, price), secrets, method=method, queries=queries)


def _database(secrets: NDArray[np.bool_], epsilon: str, folder: Path) -> Database:
    """Put everybody's secret into a database with a budget of its own, in memory."""
    from discreet.database import Database
    from discreet.tables import Column, Policy, Table

    rows = "".join(f"{person},{'yes' if secret else 'no'}\n" for person, secret in enumerate(secrets.tolist()))
    (folder / "people.csv").write_text(f"id,secret\n{rows}")
    columns = [Column("id", type="integer"), Column("secret", keys=["no", "yes"])]
    people = Table("people", unit="id", unique=["id"], columns=columns)
    return Database(Policy([people], epsilon=epsilon), folder, ledger="memory")


def _counting(db: Database, price: Fraction) -> Count:
    def count(subset: NDArray[np.bool_]) -> float:
        those = ", ".join(map(str, np.flatnonzero(subset))) or "-1"
        asked = db.sql(f"SELECT COUNT(*) AS n FROM people WHERE secret = 'yes' AND id IN ({those})")  # noqa: S608
        return float(asked.release(epsilon=price).to_dicts()[0]["n"])

    return count


def read_membership(file: Path, score: str, member: str) -> Membership:
    """Read scores, and who was in: 1 or 0, true or false."""
    with OwnedTable(file) as table:
        cells = table.arrays(table.require([score, member], name="--score and --member"))
    words = {"1": True, "true": True, "0": False, "false": False}
    try:
        scores = np.array([float(cell) for cell in cells[score]])
        members = np.array([words[str(cell).strip().casefold()] for cell in cells[member]])
    except (KeyError, TypeError, ValueError):
        message = f"{score} must hold numbers and {member} 1 or 0; a missing cell is neither."
        raise ParameterError(message) from None
    return Membership(Inference.LOSS, scores, members)
