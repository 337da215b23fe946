"""Synthetic tables: what a measurement and a choice of each synthesizer tell of one row more, or of another row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.checks.audits.case import Case, looking_at
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

__all__ = ["Chosen", "cases"]

_REACH = 60


def _domain(columns: int) -> Domain:
    names = [f"c{place}" for place in range(columns)]
    return Domain.declared([Column(name, lower=0, upper=1, nullable=False) for name in names])


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
        pairs = [(0, 1), (0, 2), (1, 2)]
        chosen = run.choose(pairs, choice, even, 0.0)
        return Release(pairs.index(chosen), choice)

    @property
    def privacy(self) -> Curve:
        """What a choice costs: no more than its share of the Gaussian."""
        mu_squared = Fraction(3927, 10_000) * self.epsilon**2
        return curves.gaussian(1 / Fraction(math.sqrt(mu_squared)), neighbors=self.promise.neighbors)


def _counts(columns: tuple[int, ...]) -> Callable[[Any], int]:
    """Look at the first cell of a marginal that was measured, the last time if it was more than once."""

    def seen(release: Any) -> int:  # noqa: ANN401 - of a model
        found = [one for one in release.value.measured if one.columns == columns][-1]
        return int(np.clip(found.counts.ravel()[0], -_REACH, _REACH))

    return seen


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
    both, pair = np.zeros((0, 2), dtype=np.int64), np.zeros((1, 2), dtype=np.int64)
    changed = NeighborRelation.CHANGE_ONE
    told: dict[str, Any] = {"delta": "1e-3", "draws": 1_000, "coarse": True}

    def measured(name: str, made: Synthesis, values: tuple[Any, Any], columns: tuple[int, ...], sigma: float) -> Case:
        return Case(name, made, *values, looking_at(_counts(columns)), law=_law(sigma), **told)

    # rho = 1/2 is a squared mu of 1. The shares: all; 1/3 for two columns, 1/3 for the pair; 9/10 of 1/16.
    chosen = Chosen(Synthesis(_domain(3), rho="0.5"), Fraction(1))
    exchanged = Chosen(Synthesis(_domain(3), rho="0.5", neighbors=changed), Fraction(1))
    crowd = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0], [1, 1, 0]])
    other = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
    rest: dict[str, Any] = {"law": _choices, "draws": 4_000, "coarse": True, "delta": "1e-3"}
    first = Synthesis(_domain(1), method="independent", rho="0.5")
    twice = Synthesis(_domain(1), method="independent", rho="0.5", rows_per_unit=2)
    swapped = Synthesis(_domain(1), method="independent", rho="0.5", neighbors=changed)
    tree = Synthesis(_domain(2), method="mst", rho="0.5")
    rounds = Synthesis(_domain(1), rho="0.5")
    return (
        measured("one column", first, (none, one), (0,), 1.0),
        measured("one column, two rows", twice, (none, np.zeros((2, 1), dtype=np.int64)), (0,), 2.0),
        measured("one column, another value", swapped, (one + 1, one), (0,), math.sqrt(2)),
        measured("columns of a tree", tree, (both, pair), (0,), math.sqrt(6)),
        measured("the pair of a tree", tree, (both, pair), (0, 1), math.sqrt(3)),
        measured("rounds", rounds, (none, one), (0,), 1 / math.sqrt(1 - 0.9 / 16)),
        Case("choice", chosen, crowd[:3], crowd, looking_at(lambda release: release.value), **rest),
        Case("choice, another value", exchanged, crowd, other, looking_at(lambda release: release.value), **rest),
    )
