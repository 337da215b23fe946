"""MWEM: multiplicative weights offline, bent towards the worst query of a list, round after round."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.exact import integer
from discreet.mechanisms import Exponential, Laplace, Release
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.values import exact_integers
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import promise_in_words
from discreet.methods.workloads.multiplicative import bent, read_queries
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation, Pure, curves

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self, SupportsIndex

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.methods.workloads.algebra.workload import Floats
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Mwem"]

_GRID = Fraction(1, 1 << 16)
_TOTAL = Fraction(1, 20)
_PASSES = 20


@register
@dataclass(frozen=True, slots=True, init=False)
class Mwem:
    r"""Fit a histogram to a list of linear queries: choose one that is far off, measure it, and bend, `rounds` times.

    Privacy. One row moves a query by at most 1 and thus each score, the absolute difference of truth and guess, by at
    most 1 (a unit with k rows: k); the guess follows from earlier answers. Each round chooses by the exponential
    mechanism and measures with Laplace noise, each for epsilon / (2 rounds) of what is left of epsilon after a
    twentieth for the number of rows, unless it is the public `population`. Epsilons add up.

    Hardt, Ligett & McSherry 2012, "A simple and practical algorithm for differentially private data release"
    (arXiv:1012.4763), with several passes over all measurements and the average of all guesses.

    >>> mwem = Mwem(rounds=2, epsilon=40)
    >>> mwem.release(([80, 20, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])).value.shape, mwem.promise
    ((3,), 'ε = 40')
    """

    kind: ClassVar[str] = "mwem"
    accuracy: ClassVar[str] = "none: how far the guess is off depends on the data"
    no_error_because: ClassVar[str] = (
        "how far the fitted histogram is off depends on the data and on the list of queries; ask a few of the queries "
        "with noise of their own to see it."
    )

    rounds: int
    epsilon: Fraction
    population: int | None
    sensitivity: int
    neighbors: Relation

    def __init__(
        self,
        *,
        rounds: SupportsIndex,
        epsilon: Number,
        rows_per_unit: SupportsIndex = 1,
        population: SupportsIndex | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        known = None if population is None else integer(population, name="population", least=1)
        assign(
            self,
            rounds=integer(rounds, name="rounds", least=1, most=1 << 16),
            epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"),
            population=known,
            sensitivity=integer(rows_per_unit, name="rows_per_unit", least=1),
            neighbors=neighbors,
        )

    @property
    def _total(self) -> Fraction:
        return self.epsilon * _TOTAL if self.population is None else Fraction(0)

    @property
    def _each(self) -> Fraction:
        """The price of one choice, and of one measurement."""
        return (self.epsilon - self._total) / (2 * self.rounds)

    @property
    def choice(self) -> Exponential:
        """How the next query is chosen."""
        return Exponential(self.sensitivity, epsilon=self._each, neighbors=self.neighbors)

    @property
    def number(self) -> Laplace:
        """How a query is measured."""
        return Laplace(self.sensitivity, epsilon=self._each, grid=_GRID, neighbors=self.neighbors)

    @property
    def claim(self) -> Pure:
        """All rounds, and the number of rows."""
        rounds = self.rounds * (self.choice.epsilon + self.number.claim.epsilon)
        return Pure(rounds + self._total, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of a pure promise."""
        return curves.pure(self.claim.epsilon, neighbors=self.neighbors)

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """What it stands on."""
        return (*self.choice.argument, *self.number.argument, f"Each of {self.rounds} rounds adds both epsilons.")

    @property
    def assumed(self) -> tuple[str, ...]:
        """How far a unit moves a query."""
        return self.choice.assumed

    def error_of(self, value: Floats, details: Mapping[str, object], confidence: float = 0.95) -> None:
        """Return None: how far the fit is off depends on the data."""
        del value, details, confidence

    def release(self, value: tuple[ArrayLike, ArrayLike], *, bits: BitSource = SYSTEM) -> Release[Floats]:
        """Return a histogram that is fitted to queries about counts; which were measured is in the details."""
        counts, queries = exact_integers(value[0]).ravel(), read_queries(value[1])
        truth = queries @ counts.astype(np.float64)
        rows = self._rows(int(counts.sum()), bits)
        guess = np.full(queries.shape[1], rows / queries.shape[1])
        measured: list[tuple[int, float]] = []
        mean = np.zeros_like(guess)
        for _ in range(self.rounds):
            scores = np.abs(truth - np.rint(queries @ guess / float(_GRID)) * float(_GRID))
            chosen = int(str(self.choice.release(scores, bits=bits).value))
            measured.append((chosen, float(self.number.release(float(truth[chosen]), bits=bits).value)))
            for place, answer in measured * _PASSES:
                guess = bent(guess, queries[place], answer, rows)
            mean += guess / self.rounds
        details = {"chosen": np.array([place for place, _ in measured]), "answers": np.array([a for _, a in measured])}
        return Release(mean, self, MappingProxyType(details))

    def _rows(self, count: int, bits: BitSource) -> float:
        """The number of rows: public, or with noise, and at least 1."""
        if self.population is not None:
            return float(self.population)
        noise = Laplace(self.sensitivity, epsilon=self._total, grid=_GRID, neighbors=self.neighbors)
        return max(float(noise.release(count, bits=bits).value), 1.0)

    def record(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "kind": self.kind,
            "rounds": self.rounds,
            "epsilon": str(self.epsilon),
            "population": self.population,
            "rows_per_unit": self.sensitivity,
            "neighbors": self.neighbors.value,
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        from discreet.privacy.relations import read_relation

        given = {name: value for name, value in record.items() if name not in {"kind", "neighbors"}}
        return cls(**given, neighbors=read_relation(str(record["neighbors"])))
