"""What a proposal asks of private rows: ordinary questions, one value of each unit, each paid for.

Nothing here adds noise or charges. A step is a question of the database's own kind, limited to one row of each unit
(or grouped by unit first), so that one unit moves one number by 1 under add/remove, and two under change-one; planning
derives that, and the question's promise is its price. What is read off an answer afterwards, rounding bounds outward
to 1, 2, 5 times a power of ten included, is post-processing.

Bounds are the ends of the bins of a logarithmic grid, both signs, between which private quantiles of the noisy counts
lie (Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020, arXiv:1909.01917, section 5.1.1: approximate
bounds). The largest bin counts if it holds more than noise alone would in any bin but for a chance of 1 %; another one
far from it, which would make bounds absurdly wide, if that chance is a hundredth of this; and the next one beside a bin
that counts if it holds more than noise alone would in this bin but for a chance of 1 %.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from discreet.plans import Bounding, plan_sql
from discreet.releases import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.engines import Engine
    from discreet.ledgers import Ledger
    from discreet.releases.showing.answer import Answer
    from discreet.tables import Policy

__all__ = ["DATES", "FLOATS", "INTEGERS", "Counted", "Desk", "Step"]

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
FLOATS = ("FLOAT", "DOUBLE", "DECIMAL", "REAL")
DATES = ("DATE", "TIMESTAMP")

_CHANCE = Fraction(1, 100)
"""Of noise alone being taken for rows, in one answer."""
_FAR_CHANCE = _CHANCE / 100
"""The same beside rows that are there, as many columns are asked about."""
_TAIL = Fraction(1, 200)
"""The share of rows that bounds may leave outside at either end."""
_MOST_UNITS = Fraction(95, 100)
"""The share of units all of whose rows are to count."""
_NEAR_ZERO = 10
"""How many times an end may be as far from 0 as the other, which then reaches to 0."""
_MAJORITY = Fraction(2, 3)
"""The share of the votes that makes a column one of numbers or dates; other texts in it are read as NULL."""

_POWERS = [digit * Fraction(10) ** power for power in range(-3, 13) for digit in (1, 2, 5)]
_WHOLE = [end for end in _POWERS if end >= 1]
_YEARS = [Fraction(year) for year in range(1900, 2101, 5)]
ROWS_PER_UNIT = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
KINDS = ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN", "VARCHAR")
"""What a cell can be read as, in the order in which it is tried."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Noisy counts of bins; noise alone stays below `noise` in all of them, and below `near` in any one, mostly.

    It stays below `far` in all of them but for a chance that is small in many columns.

    >>> Counted((2, -40, 35, 1100, 30, 9, 60), 50, 30, 70).solid
    (0, 0, 35, 1100, 0, 0, 0)
    """

    counts: tuple[int, ...]
    noise: float
    near: float
    far: float = 0.0

    @property
    def solid(self) -> tuple[int, ...]:
        """The counts that are more than noise; 0 for the others."""
        most = max(self.counts, default=0)
        kept = [count > self.noise and (count > self.far or count == most) for count in self.counts]
        for places in (range(1, len(kept)), range(len(kept) - 2, -1, -1)):
            step = -places.step
            for place in places:
                kept[place] |= kept[place + step] and self.counts[place] > self.near
        return tuple(count if keep else 0 for count, keep in zip(self.counts, kept, strict=True))

    def span(self) -> tuple[int, int] | None:
        """The first and the last bin with a share of rows that bounds should hold; None if no bin is more than noise.

        >>> Counted((60, 40, 9000, 11000, 70), 50, 50).span(), Counted((9, -9), 50, 50).span()
        ((2, 3), None)
        """
        solid = self.solid
        tail = sum(solid) * _TAIL
        if not any(solid):
            return None
        upward, downward = accumulate(solid), accumulate(reversed(solid))
        first = next(place for place, mass in enumerate(upward) if mass > tail)
        last = next(place for place, mass in enumerate(downward) if mass > tail)
        return first, len(solid) - 1 - last

    def enough(self) -> int | None:
        """The first bin up to which there are 95 % of all; None if no bin is more than noise.

        >>> Counted((500, 470, 30), 9, 9).enough()
        1
        """
        solid = self.solid
        if not any(solid):
            return None
        return next(place for place, mass in enumerate(accumulate(solid)) if mass >= sum(solid) * _MOST_UNITS)

    def elected(self) -> str | None:
        """What the cells of a column are, of `KINDS`; None if no kind has more votes than noise.

        A third of a column may be of another kind: numbers with a few words for what is missing are numbers.

        >>> Counted((900, 200, 0, 0, 0, 60), 50, 50).elected(), Counted((500, 0, 0, 0, 0, 800), 50, 50).elected()
        ('DOUBLE', 'VARCHAR')
        """
        votes = dict(zip(KINDS, self.solid, strict=True))
        needed = sum(votes.values()) * _MAJORITY
        if not needed:
            return None
        if votes["BIGINT"] + votes["DOUBLE"] >= needed:
            return "DOUBLE" if votes["DOUBLE"] else "BIGINT"
        if votes["DATE"] + votes["TIMESTAMP"] >= needed:
            return "TIMESTAMP" if votes["TIMESTAMP"] else "DATE"
        return "BOOLEAN" if votes["BOOLEAN"] >= needed else "VARCHAR"


@dataclass(frozen=True, slots=True)
class Step:
    """One question of a proposal at its price.

    >>> Step.__slots__
    ('about', 'question', 'price', 'delta')
    """

    about: str
    question: Question
    price: Fraction
    delta: Fraction = Fraction(0)
    """Searches for keys need one; the others have groups that are public."""

    def release(self) -> Answer:
        """Pay, and ask; what was paid for before is shown again."""
        return self.question.release(epsilon=self.price, delta=self.delta)

    def counted(self) -> Counted:
        """Pay, and read the counts of a histogram."""
        answer = self.release()
        counts = tuple(int(count) for count in answer.numbers.blocks[0][0])
        in_all = [self._noise(1 - float(chance / len(counts))) for chance in (_CHANCE, _FAR_CHANCE)]
        return Counted(counts, in_all[0], self._noise(1 - float(_CHANCE)), in_all[1])

    def _noise(self, confidence: float) -> float:
        """How far noise goes in one bin, from public facts."""
        noise = self.question.preview(epsilon=self.price, delta=0, confidence=confidence).errors["h"]
        return float("inf") if noise is None else noise


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the questions of a proposal are planned: a draft policy, the data behind it, and what pays.

    >>> Desk.__slots__
    ('policy', 'engine', 'ledger', 'planned')
    """

    policy: Policy
    engine: Engine
    ledger: Ledger
    planned: dict[str, Question] = field(default_factory=dict)
    """The questions that were planned already, by their texts."""

    def rows_per_unit(self, table: str, price: Fraction) -> Step:
        """How many rows units have: each counts once, in the bin of its own number of rows."""
        unit = _quoted(self.policy.table(table).unit or "")
        inside = f'SELECT {unit}, COUNT(*) AS "rows it has" FROM {_quoted(table)} GROUP BY {unit}'  # noqa: S608 - quoted
        edges = [Fraction(rows + 1) for rows in ROWS_PER_UNIT]
        text = f"SELECT {_histogram(_quoted('rows it has'), edges)} FROM ({inside}) AS units"  # noqa: S608 - quoted
        return self._step("rows per unit", text, price, None)

    def vote(self, table: str, column: str, price: Fraction) -> Step:
        """What the cells of a column of texts are: each unit's one row votes for one kind."""
        cell = f"TRIM({_quoted(column)})"
        number = f"TRY_CAST({cell} AS DOUBLE)"
        tests = [
            f"{number} = FLOOR({number})",
            f"{number} IS NOT NULL",
            f"TRY_CAST({cell} AS DATE) IS NOT NULL",
            f"TRY_CAST({cell} AS TIMESTAMP) IS NOT NULL",
            f"LOWER({cell}) IN ('true', 'false')",
            f"{cell} <> ''",
        ]
        cases = " ".join(f"WHEN {test} THEN {place}" for place, test in enumerate(tests))
        vote = _histogram(f"CASE {cases} END", [Fraction(place) for place in range(1, len(tests))])
        return self._one_each(f"type of {column}", table, vote, price)

    def ends(self, table: str, column: str, kind: str, price: Fraction) -> Step:
        """Where the values of a column lie, on the grid of its kind; texts are read as that kind."""
        stored = self.policy.table(table).column(column).kind.value
        cell = _quoted(column)
        if stored == "text":
            cell = f"TRY_CAST(TRIM({cell}) AS {'DOUBLE' if kind == 'BIGINT' else kind})"
        value = f"YEAR({cell})" if kind in DATES else cell
        return self._one_each(f"bounds of {column}", table, _histogram(value, edges_of(kind)), price)

    def keys(self, table: str, column: str, price: Fraction, delta: Fraction) -> Step:
        """Which texts many units have: groups that partition selection finds."""
        cell = f"TRIM({_quoted(column)})"
        text = f"SELECT {cell} AS k, COUNT(*) AS n FROM {_quoted(table)} GROUP BY {cell}"  # noqa: S608 - quoted
        return replace(self._step(f"keys of {column}", text, price, Bounding(rows=1)), delta=delta)

    def _one_each(self, about: str, table: str, selected: str, price: Fraction) -> Step:
        return self._step(about, f"SELECT {selected} FROM {_quoted(table)}", price, Bounding(rows=1))  # noqa: S608 - quoted

    def _step(self, about: str, text: str, price: Fraction, bounding: Bounding | None) -> Step:
        if text not in self.planned:
            plan = plan_sql(self.policy, text, bounding=bounding)
            self.planned[text] = Question(plan, self.engine, self.ledger, asked=text)
        return Step(about, self.planned[text], price)


def edges_of(kind: str) -> list[Fraction]:
    """The grid of a kind of column: 1, 2 and 5 times powers of ten, whole ones for integers; years for dates.

    >>> edges_of("BIGINT")[36:43] == [-5, -2, -1, 0, 1, 2, 5], edges_of("DATE")[-1]
    (True, Fraction(2100, 1))
    """
    if kind in DATES:
        return _YEARS
    powers = _WHOLE if kind == "BIGINT" else _POWERS
    return [-end for end in reversed(powers)] + [Fraction(0)] + powers


def ends_of(kind: str, counted: Counted) -> tuple[Fraction, Fraction] | None:
    """The edges around the bins that count; None if noise hides all, or many rows lie beyond the grid.

    Bounds of numbers on one side of 0 reach to 0 where that makes them hardly wider: a small value is then no larger.

    >>> ends_of("DATE", Counted((0,) * 24 + (900,) + (0,) * 17, 50, 50))
    (Fraction(2015, 1), Fraction(2020, 1))
    """
    edges, span = edges_of(kind), counted.span()
    if span is None or span[0] == 0 or span[1] == len(edges):
        return None
    low, high = edges[span[0] - 1], edges[span[1]]
    if kind not in DATES:
        low = Fraction(0) if 0 < low * _NEAR_ZERO <= high else low
        high = Fraction(0) if low <= high * _NEAR_ZERO < 0 else high
    return low, high


def _histogram(value: str, edges: Sequence[Fraction]) -> str:
    listed = ", ".join(f"{float(edge):.16g}" if edge.denominator > 1 else str(edge) for edge in edges)
    return f"HISTOGRAM({value}, [{listed}]) AS h"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
