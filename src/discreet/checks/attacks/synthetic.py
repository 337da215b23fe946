"""Membership inference on a synthetic table: was this row among those that the model was fitted to?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.attacks.membership import Inference, Membership
from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.noise import SYSTEM, BitSource

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import ArrayLike

    from discreet.methods.synthesis import Synthesis

__all__ = ["infer_from_synthesis"]


def infer_from_synthesis(
    promise: Synthesis, rows: ArrayLike, target: ArrayLike, *, runs: SupportsIndex = 50, bits: BitSource = SYSTEM
) -> Membership:
    """Synthesize so often with a row and without it, and guess by how likely each model makes the row.

    The attacker knows all other rows, as a promise has to hold against. `rows` and `target` are cells of the promise's
    domain, one code for each column; the rarer the target, the more exposed. For the owner of the data: it runs on
    the rows themselves and charges nothing. What the promise says holds for every row; an attack that finds nothing
    proves nothing.

    >>> from discreet.methods.synthesis import Domain, Synthesis
    >>> from discreet.tables import Column
    >>> domain = Domain.declared([Column("ward", keys=["a", "b"], nullable=False)])
    >>> loud = Synthesis(domain, method="independent", rho=10_000)
    >>> infer_from_synthesis(loud, [[0]] * 30, [1], runs=5).auc
    1.0
    """
    count = integer(runs, name="runs", least=2, most=1 << 20)
    others = np.asarray(rows, dtype=np.int64)
    row = np.asarray(target, dtype=np.int64)
    sizes = promise.domain.sizes
    if others.ndim != 2 or row.shape != (len(sizes),) or others.shape[1] != len(sizes):
        msg = f"rows and target must hold {len(sizes)} cells a row, one for each column of the promise."
        raise ParameterError(msg)
    if ((row < 0) | (row >= sizes)).any():
        msg = f"target must lie within the cells of the columns, of which there are {sizes}."
        raise ParameterError(msg)
    scores: list[float] = []
    for table in (np.concatenate([others, row[None]]), others):
        scores += [_likelihood(promise.release(table, bits=bits).value, row) for _ in range(count)]
    members = np.arange(2 * count) < count
    return Membership(Inference.LOSS, np.array(scores), members)


def _likelihood(model: Any, row: Any) -> float:  # noqa: ANN401 - of a row of cells
    """The logarithm of how many rows of this kind the model has."""
    chance = float(model.graph.log_chance(row[None])[0])
    return max(chance, -1e9) + float(np.log(model.rows))
