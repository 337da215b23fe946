"""Synthetic tables: what a measurement and a choice of each synthesizer tell of one row more, or of another row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import normal_above, rounded_law
from discreet.mechanisms.release import Release
from discreet.methods.synthesis import Domain, Synthesis
from discreet.methods.synthesis.fitting import Measured, fit
from discreet.methods.synthesis.running import Run
from discreet.methods.workloads import Records
from discreet.noise import SYSTEM
from discreet.privacy import NeighborRelation, curves
from discreet.tables import Column

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.noise import BitSource
    from discreet.privacy import Curve

__all__ = ["Chosen", "Taken", "cases"]

_REACH = 60


def _domain(columns: int) -> Domain:
    names = [f"c{place}" for place in range(columns)]
    return Domain.declared([Column(name, lower=0, upper=1, nullable=False) for name in names])


@dataclass(frozen=True)
class Taken:
    """One measurement of a run, for a share of its limit: the count of the first cell is looked at.

    >>> abs(Taken(Synthesis(_domain(1), rho=50), (0,)).release([[0], [0]]).value - 2) < 5
    True
    """

    kind: ClassVar[str] = "synthesis"

    promise: Synthesis
    columns: tuple[int, ...]

    def release(self, value: Any, *, bits: BitSource = SYSTEM) -> Release[int]:  # noqa: ANN401 - rows of codes
        """Measure once, for the whole limit."""
        counts = Records(self.promise.domain.sizes, np.asarray(value, dtype=np.int64))
        run = Run(self.promise, counts, lambda: bits)
        run.measure([self.columns], run.noise(run.left))
        return Release(int(np.clip(run.measured[0].counts.ravel()[0], -_REACH, _REACH)), self.promise)

    @property
    def privacy(self) -> Curve:
        """What the whole run promises: it has no other part."""
        return self.promise.privacy


@dataclass(frozen=True)
class Chosen:
    """One choice among the pairs of three columns, by how far each is from four rows that are spread evenly.

    >>> Chosen(Synthesis(_domain(3), rho=1), Fraction(2)).release(np.zeros((0, 3), dtype=int)).value in {0, 1, 2}
    True
    """

    kind: ClassVar[str] = "synthesis"

    promise: Synthesis
    epsilon: Fraction

    def release(self, value: Any, *, bits: BitSource = SYSTEM) -> Release[Any]:  # noqa: ANN401 - rows of codes
        """Choose once."""
        run = Run(self.promise, Records((2, 2, 2), value), lambda: bits)
        even = fit((2, 2, 2), [Measured((place,), np.array([2.0, 2.0]), 1e-3) for place in range(3)], memory=1 << 20)
        choice = self.promise.choice(self.epsilon)
        pairs: list[tuple[int, ...]] = [(0, 1), (0, 2), (1, 2)]
        chosen = run.choose(pairs, choice, even, 0.0)
        return Release(pairs.index(chosen), choice)

    @property
    def privacy(self) -> Curve:
        """What a choice costs: no more than its share of the Gaussian."""
        mu_squared = Fraction(3927, 10_000) * self.epsilon**2
        return curves.gaussian(1 / Fraction(math.sqrt(mu_squared)), neighbors=self.promise.neighbors)


def _law(sigma: float) -> Callable[[Any, Any], dict[int, float]]:
    """A rounded normal law around how many rows are in the first cell."""

    def law(made: Any, value: Any) -> dict[int, float]:  # noqa: ANN401
        del made
        count = int((np.asarray(value) == 0).all(axis=1).sum())
        return rounded_law(lambda x: normal_above(x / sigma), count, -_REACH, _REACH)

    return law


def _choices(made: Chosen, value: Any) -> dict[int, float]:  # noqa: ANN401
    """The exponential mechanism, written out: each pair is as far off as its table is from one row in each cell."""
    rows, moved = np.asarray(value), 1 if made.promise.neighbors is NeighborRelation.ADD_REMOVE else 2
    scores = []
    for pair in ((0, 1), (0, 2), (1, 2)):
        cells = [int(((rows[:, pair] == (i, j)).all(axis=1)).sum()) for i in (0, 1) for j in (0, 1)]
        scores.append(sum(abs(count - 1) for count in cells))
    weights = [math.exp(float(made.epsilon) * score / (2 * moved)) for score in scores]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


def cases() -> tuple[Case, ...]:
    """Return the pairs: a row where there was none, and a row with another value."""
    none, one = np.zeros((0, 1), dtype=np.int64), np.zeros((1, 1), dtype=np.int64)
    changed = NeighborRelation.CHANGE_ONE

    def measured(name: str, values: tuple[Any, Any], sigma: float, **named: Any) -> Case:  # noqa: ANN401
        columns = values[0].shape[1]
        made = Taken(Synthesis(_domain(columns), rho="0.5", **named), tuple(range(columns)))
        return Case(name, made, *values, law=_law(sigma), delta="1e-3", draws=2_000, coarse=True)

    # rho = 1/2 is a squared mu of 1: sigma is how far a unit moves the counts in L2.
    chosen = Chosen(Synthesis(_domain(3), rho="0.5"), Fraction(1))
    exchanged = Chosen(Synthesis(_domain(3), rho="0.5", neighbors=changed), Fraction(1))
    crowd = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0], [1, 1, 0]])
    other = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
    rest: dict[str, Any] = {"law": _choices, "draws": 4_000, "coarse": True, "delta": "1e-3"}
    two = np.zeros((2, 1), dtype=np.int64)
    return (
        measured("a column", (none, one), 1.0),
        measured("a column, two rows", (none, two), 2.0, rows_per_unit=2),
        measured("a column, another value", (one + 1, one), math.sqrt(2), neighbors=changed),
        measured("a pair", (np.zeros((0, 2), dtype=np.int64), np.zeros((1, 2), dtype=np.int64)), 1.0),
        Case("choice", chosen, crowd[:3], crowd, **rest),
        Case("choice, another value", exchanged, crowd, other, **rest),
    )
