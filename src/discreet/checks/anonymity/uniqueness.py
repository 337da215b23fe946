"""How much somebody has to know about a person to find the person's row: the question that Netflix did not ask."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING

from discreet.engines.duckdb.classes import keep_known, unique_rows
from discreet.engines.duckdb.owned import OwnedTable
from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.noise import SYSTEM, BitSource, subset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

__all__ = ["Known", "Uniqueness", "read_errors", "uniqueness"]


@dataclass(frozen=True, slots=True)
class Known:
    """How many rows are unique to who knows so many columns: on average over the choices of columns, and at worst.

    >>> str(Known(2, choices=3, mean=0.25, most=0.5, worst=("zip", "age")))
    '2 known: 25.0 % of the rows unique on average, 50.0 % by zip, age'
    """

    columns: int
    choices: int
    mean: float
    most: float
    worst: tuple[str, ...]

    def __str__(self) -> str:
        share, most, worst = 100 * self.mean, 100 * self.most, ", ".join(self.worst)
        return f"{self.columns} known: {share:.1f} % of the rows unique on average, {most:.1f} % by {worst}"


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """How many rows are unique, by how many columns are known: exact facts, for the owner.

    >>> print(Uniqueness((Known(1, 1, 0.0, 0.0, ("zip",)),)))
    1 known: 0.0 % of the rows unique on average, 0.0 % by zip
    """

    known: tuple[Known, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.known))

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the share of unique rows against the number of known columns (needs the extra `plot`).

        >>> Uniqueness((Known(1, 1, 0.0, 0.0, ("zip",)),)).plot().get_xlabel()
        'known columns'
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        places = [known.columns for known in self.known]
        axes.plot(places, [known.most for known in self.known], marker="o", label="the worst choice")
        axes.plot(places, [known.mean for known in self.known], marker="o", label="on average")
        axes.set_xlabel("known columns")
        axes.set_ylabel("share of unique rows")
        axes.legend()
        return axes


def uniqueness(  # noqa: PLR0913 - each is a thing of its own
    source: object,
    columns: Sequence[str],
    *,
    errors: Mapping[str, float] | None = None,
    targets: int = 1000,
    choices: int = 70,
    bits: BitSource = SYSTEM,
) -> Uniqueness:
    """Tell how many rows are alone with what somebody knows of them, for each number of known columns.

    `errors` says how far what is known of a column of numbers may be off: a row is unique if no other row's cell lies
    within that of its own, and a cell that is missing is near none. With errors, `targets` rows are looked at. Of each
    number of columns all choices are tried, or `choices` of them, drawn at random.

    Sweeney 2000, "Simple demographics often identify people uniquely"; Narayanan & Shmatikov 2008 (arXiv:cs/0610105)
    for what is known with errors.

    >>> import pyarrow as pa
    >>> people = pa.table({"zip": ["130", "130", "148"], "age": [31, 33, 33]})
    >>> print(uniqueness(people, ["zip", "age"]))
    1 known: 33.3 % of the rows unique on average, 33.3 % by zip
    2 known: 100.0 % of the rows unique on average, 100.0 % by zip, age
    >>> print(uniqueness(people, ["zip", "age"], errors={"age": 2}).known[1])
    2 known: 33.3 % of the rows unique on average, 33.3 % by zip, age
    """
    off, few = read_errors(errors, columns), integer(choices, name="choices", least=1)
    looked = integer(targets, name="targets", least=1)
    with OwnedTable(source) as table:
        names = table.require(columns, name="columns")
        if not keep_known(table, names, off):
            msg = "the table has no rows; nobody is unique in it."
            raise ParameterError(msg)
        rates = []
        for size in range(1, len(names) + 1):
            shares = {tried: unique_rows(table, tried, off, looked) for tried in _choices(names, size, few, bits)}
            worst = max(shares, key=lambda tried: shares[tried])
            rates.append(Known(size, len(shares), sum(shares.values()) / len(shares), shares[worst], worst))
    return Uniqueness(tuple(rates))


def read_errors(errors: Mapping[str, float] | None, columns: Sequence[str]) -> dict[str, float]:
    """Read how far what is known of some columns may be off.

    >>> read_errors({"day": 14}, ["film", "day"])
    {'day': 14.0}
    """
    read: dict[str, float] = {}
    for name, error in (errors or {}).items():
        if name not in columns or not isinstance(error, Real) or not 0 <= error < math.inf:
            msg = (
                f"errors[{shown(name)}] is {shown(error)}; it must be a finite number, at least 0, for one of columns."
            )
            raise ParameterError(msg)
        read[name] = float(error)
    return read


def _choices(names: Sequence[str], size: int, few: int, bits: BitSource) -> list[tuple[str, ...]]:
    if math.comb(len(names), size) <= few:
        return list(combinations(names, size))
    drawn = {tuple(names[place] for place in subset(len(names), size, bits)) for _ in range(few)}
    return sorted(drawn)
