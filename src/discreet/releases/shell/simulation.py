r"""The ± of what a shell computes: the same shell over many noisy copies of what was released.

Released numbers are $x = \theta + Z$ with the true $\theta$ and noise $Z$ whose law is public. A shell is a function f
of them, and its error $f(\theta + Z) - f(\theta)$ has a law that depends on $\theta$. With $\theta$ replaced by x, that
is the law of $f(x + Z') - f(x)$ (the parametric bootstrap: Efron & Tibshirani 1993, An Introduction to the Bootstrap,
Section 6.5), which copies of x with fresh noise Z' follow. Of m such distances the k-th smallest, k = ceil(c (m + 1)),
is not exceeded by a further one with probability at least c, as all m + 1 are exchangeable. So where f is linear the ±
holds with probability c, and elsewhere about so, the better the smaller the noise is beside the numbers. Nothing of it
looks at the data: it is post-processing of a release.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines.duckdb.shell import SEALED, ShellTable
from discreet.errors import EngineError
from discreet.noise.sealed import SealedBits
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.engines.duckdb.shell import Result
    from discreet.noise import BitSource
    from discreet.plans.shell import Shell
    from discreet.releases.shell.tables import CoreTable

__all__ = ["COPIES", "FAILED", "distances", "drawn_from", "reach"]

COPIES = 299
"""So many noisy copies: of 299 distances the 285th is not exceeded with probability 285/300 = 0.95."""

FAILED = "no ± could be simulated for it."
_MOST_CELLS = 3_000_000
_HALF = 0.5


def drawn_from(released: bytes) -> BitSource:
    """The bits of copies: a stream under the hash of what was released, so that the same release has the same ±.

    Whoever sees the release knows them, and may: they draw no noise that protects anything. They are not those of the
    release, which came from the system.

    >>> drawn_from(b"7").take(4).tolist() == drawn_from(b"7").take(4).tolist()
    True
    """
    return SealedBits(hashlib.sha256(released).digest(), 0)


def distances(  # noqa: PLR0913 - what is computed, from what, and what it gave
    shell: Shell,
    cores: Sequence[CoreTable],
    tables: Sequence[ShellTable],
    result: Result,
    *,
    wanted: Sequence[int],
    bits: BitSource,
) -> dict[int, NDArray[np.float64]] | None:
    """For each column that is wanted, by its place, how far each row is from itself in all copies, in order.

    Rows of a copy are those of the answer whose exact columns are the same; None where these do not tell rows apart, or
    it would take too long. NaN stands for copies that lack a row, or where it is NULL.
    """
    exact = [place for place, lineage in enumerate(shell.lineage) if lineage.exact]
    keys = [tuple(row[place] for place in exact) for row in result.rows]
    groups = sum(len(core.answer.groups) for core in cores)
    much = COPIES * max(len(result.rows), groups) * len(wanted) > _MOST_CELLS
    if len(set(keys)) < len(keys) or much or not all(core.can_copy(COPIES) for core in cores):
        return None
    copied = [table for core in cores for table in core.copied(COPIES, bits)]
    columns = {f"k{place}": [row[place] for row in result.rows] for place in exact}
    shown_kinds = {" place": (Kind.INTEGER, False)} | {f"k{place}": result.kinds[place] for place in exact}
    shown = ShellTable(" shown", shown_kinds, {" place": list(range(len(keys))), **columns})
    copies = ShellTable("copies", {" copy": (Kind.INTEGER, False)}, {" copy": np.arange(COPIES)})
    try:
        arrays = SEALED.arrays(_text(shell, result, exact, wanted), [*copied, *tables, shown, copies])
    except EngineError:
        return None
    return {place: _sorted(arrays, f"v{place}", result, place) for place in wanted}


def _text(shell: Shell, result: Result, exact: Sequence[int], wanted: Sequence[int]) -> str:
    """Run the copied shell for each copy, and find the row of the answer that each of its rows is."""
    named = ", ".join(f"c{place}" for place in range(len(result.names)))
    same = " AND ".join(f"s.c{place} IS NOT DISTINCT FROM o.k{place}" for place in exact) or "TRUE"
    values = ", ".join(f"CAST(s.c{place} AS DOUBLE) AS v{place}" for place in wanted)
    return (
        f'SELECT copies." copy" AS copy, o." place" AS place, {values} '  # noqa: S608 - our names, and what was allowed
        f'FROM copies, LATERAL ({shell.copied}) AS s({named}) JOIN " shown" AS o ON {same}'
    )


def _sorted(arrays: dict[str, NDArray[Any]], column: str, result: Result, place: int) -> NDArray[np.float64]:
    table = np.full((len(result.rows), COPIES), np.nan)
    values = np.ma.filled(np.ma.asarray(arrays[column], dtype=np.float64), np.nan)
    table[arrays["place"].astype(np.int64), arrays["copy"].astype(np.int64)] = values
    own = np.array([np.nan if row[place] is None else float(row[place]) for row in result.rows])
    return np.sort(np.abs(table - own[:, None]), axis=1)


def reach(rows: NDArray[np.float64], confidence: float) -> list[float | None]:
    """The ± of each row from its distances in order; None where too many copies lack it, or there are too few of them.

    >>> tried = np.stack([np.arange(299.0), np.full(299, np.nan)])
    >>> reach(tried, 0.95), reach(tried, 0.999)
    ([284.0, None], [None, None])
    """
    there = np.count_nonzero(~np.isnan(rows), axis=1)
    places = np.ceil(np.round(confidence * (there + 1), 9)).astype(np.int64) - 1
    enough = (there >= _HALF * rows.shape[1]) & (places < there)
    values = rows[np.arange(len(rows)), np.minimum(places, rows.shape[1] - 1)].tolist()
    return [value if known else None for value, known in zip(values, enough.tolist(), strict=True)]
