"""Linkage: find a person's row in a table without names, from what is known of the person, with errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.anonymity.uniqueness import read_errors
from discreet.checks.attacks.outcome import Outcome
from discreet.engines.duckdb.owned import OwnedTable
from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["Linkage", "claim", "link"]

ECCENTRICITY = 1.5


@dataclass(frozen=True)
class Linkage:
    """Which row is matched to each target, and by how much it stands out; -1 where none stands out.

    >>> linked = Linkage(np.array([4, -1]), np.array([9.0, 0.2]), np.array([4, 7]), rows=10)
    >>> print(linked.outcome)
    linkage: 1 of 2 right (50.0 %); guessing gets 10.0 %; 0 wrong, 1 not claimed
    """

    matches: NDArray[np.int64]
    eccentricities: NDArray[np.float64]
    truth: NDArray[np.int64]
    rows: int

    @property
    def outcome(self) -> Outcome:
        """How many targets are matched to their own rows.

        >>> Linkage(np.array([4]), np.array([9.0]), np.array([4]), rows=10).outcome.share
        1.0
        """
        right, silent = int((self.matches == self.truth).sum()), int((self.matches < 0).sum())
        tried = len(self.truth)
        note = f"{tried - right - silent} wrong, {silent} not claimed"
        return Outcome("linkage", tried, right, baseline=1 / self.rows, note=note)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw how far the best rows stand out, of right and of other matches (needs the extra `plot`).

        >>> Linkage(np.array([4]), np.array([9.0]), np.array([4]), rows=10).plot().get_xlabel()
        'eccentricity'
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        right = self.matches == self.truth
        axes.hist([self.eccentricities[right], self.eccentricities[~right]], bins=30, label=["right", "wrong or none"])
        axes.set_xlabel("eccentricity")
        axes.set_ylabel("targets")
        axes.set_title(str(self.outcome).partition(";")[0])
        axes.legend()
        return axes


def link(  # noqa: PLR0913 - each is a thing of its own
    released: object,
    known: object,
    columns: Sequence[str],
    *,
    person: str,
    errors: Mapping[str, float] | None = None,
    eccentricity: float = ECCENTRICITY,
) -> Linkage:
    """Match what is known of some people to the rows of a table without names.

    `known` has a row for each target; a cell that is missing is not known. `person` is a column of both tables that
    tells who is who, for the judge; the attacker does not use it. `errors` says how far what is known of a column of
    numbers may be off; other cells must agree. A released cell that is missing agrees with nothing.

    Narayanan & Shmatikov 2008, "Robust de-anonymization of large sparse datasets" (arXiv:cs/0610105), section 4,
    algorithm Scoreboard-RH: a released row scores, for each known cell that agrees, 1 / ln(how many released rows
    agree with it): what is rare says more. A match is claimed if the best score lies `eccentricity` standard
    deviations of all scores above the second best; else nothing is claimed, so that who is not in the table, or is
    like somebody else, is rarely matched. The paper weighs by how many rows have the attribute at all, which says
    nothing where every row has it.

    >>> import pyarrow as pa
    >>> released = pa.table({"id": range(9), "film": [*"aaaabbbbc"], "day": [1, 2, 3, 4, 5, 6, 7, 8, 9]})
    >>> known = pa.table({"id": [8, 2], "film": ["c", "a"], "day": [10, None]})
    >>> linked = link(released, known, ["film", "day"], person="id", errors={"day": 1})
    >>> linked.matches.tolist(), linked.outcome.share
    ([8, -1], 0.5)
    """
    off = read_errors(errors, columns)
    if not eccentricity >= 0:
        msg = f"eccentricity is {shown(eccentricity)}; it must be a number of standard deviations, at least 0."
        raise ParameterError(msg)
    tables = [_read(table, columns, person, off) for table in (released, known)]
    (rows, ids), (targets, people) = tables
    if len(ids) < 2 or not len(people):
        msg = "released must have at least two rows and known at least one; there is nobody to tell apart."
        raise ParameterError(msg)
    place = {name: row for row, name in enumerate(ids.tolist())}
    truth = np.array([place.get(name, -2) for name in people.tolist()])  # -2: not in the table, so no match is right
    matches, gaps = np.empty(len(people), dtype=np.int64), np.empty(len(people))
    for target in range(len(people)):
        scores = np.zeros(len(ids))
        for name in columns:
            agree = _agree(rows[name], targets[name][target], off.get(name))
            if agree.any():
                scores += agree / math.log(max(int(agree.sum()), 2))
        matches[target], gaps[target] = claim(scores, eccentricity)
    return Linkage(matches, gaps, truth, rows=len(ids))


def claim(scores: NDArray[np.float64], eccentricity: float) -> tuple[int, float]:
    """Return the row with the best score if it stands out, else -1; and by how many standard deviations it does.

    >>> claim(np.array([0.0, 0.0, 9.0]), 1.5), claim(np.array([0.0, 9.0, 9.0]), 1.5)[0]
    ((2, 2.121320343559643), -1)
    """
    second, best = np.partition(scores, -2)[-2:]
    spread = float(scores.std())
    gap = float(best - second) / spread if spread else 0.0
    return (int(scores.argmax()) if gap >= eccentricity else -1), gap


def _read(
    source: object, columns: Sequence[str], person: str, errors: Mapping[str, float]
) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
    with OwnedTable(source) as table:
        table.require([*columns, person], name="columns")
        cells = table.arrays([*columns, person])
    try:
        numbers = {name: np.array([np.nan if cell is None else float(cell) for cell in cells[name]]) for name in errors}
    except (TypeError, ValueError):
        msg = f"errors names {', '.join(errors)}; cells of these columns must be numbers."
        raise ParameterError(msg) from None
    return {**{name: cells[name] for name in columns}, **numbers}, cells[person]


def _agree(cells: NDArray[Any], known: Any, error: float | None) -> NDArray[np.bool_]:  # noqa: ANN401 - a cell
    if error is not None:
        return np.asarray(np.abs(cells - known) <= error)  # a comparison with nan is false
    return np.asarray(cells == known) if known is not None else np.zeros(len(cells), dtype=np.bool_)
