"""Private multiplicative weights: a stream of linear queries, of which only the surprising ones are paid for."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.exact import integer, rational
from discreet.ledgers import Session
from discreet.ledgers.charging import charged
from discreet.mechanisms import AboveThreshold, Laplace, Release
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.values import exact_integers
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import promise_in_words
from discreet.methods.workloads.multiplicative import bent, read_query
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import ZCDP, Approximate, NeighborRelation, Pure
from discreet.privacy.convert import convert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self, SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.ledgers import Entry, Ledger
    from discreet.methods.workloads.algebra.workload import Floats
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

    Counted = Callable[[Session], NDArray[np.int64]]

__all__ = ["MultiplicativeWeights", "WeightsSession"]

_GRID = Fraction(1, 1 << 16)
_TOTAL = Fraction(1, 20)


@register
@dataclass(frozen=True, slots=True, init=False)
class MultiplicativeWeights:
    r"""Answer any number of linear queries over a histogram; only those that a public guess gets wrong are paid for.

    A guess at the histogram, at first even, answers. Whether it is off by more than `threshold` rows is asked of a
    sparse vector: once whether the truth exceeds the guess by that much, and once whether it falls short. If so, the
    query is answered with Laplace noise, and the guess is bent towards the answer. After `updates` of these the session
    is over. What the guess answers is off by the threshold and the noise of the comparison at most.

    Privacy. The guess is computed from answers that were released, so for each answer of the run it is public. One
    row moves each difference of truth and guess by at most 1 (a unit with k rows by k), upward for one of the two and
    downward for the other: `AboveThreshold` without `monotone` (Lyu, Su & Li 2017, arXiv:1603.01699, Algorithm 7) pays
    for all comparisons with half of epsilon. The numbers, at most `updates`, share what is left, each by Laplace noise:
    epsilons add up, as each is chosen after the answers before it. The number of rows is the policy's `population`, or
    is released with noise for a twentieth of epsilon, at the opening.

    Hardt & Rothblum 2010, "A multiplicative weights mechanism for privacy-preserving data analysis"
    (doi:10.1109/FOCS.2010.85); the form with a sparse vector: Dwork & Roth 2014, section 4.2.

    >>> weights = MultiplicativeWeights(cells=4, threshold=100, updates=3, epsilon=2)
    >>> print(weights)
    MultiplicativeWeights(ε = 2: any number of queries of 4 cells, off by at most about 100 rows; 3 updates)
    """

    kind: ClassVar[str] = "multiplicative_weights"
    accuracy: ClassVar[str] = "the threshold and the noise of the comparison, or the quantile of Laplace noise"
    no_error_because: ClassVar[str] = ""

    cells: int
    updates: int
    total: Fraction
    """The price of the number of rows; 0 where it is public."""
    population: int | None
    core: AboveThreshold
    number: Laplace

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        cells: SupportsIndex,
        *,
        threshold: Number,
        updates: SupportsIndex,
        epsilon: Number,
        rows_per_unit: SupportsIndex = 1,
        population: SupportsIndex | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        size = integer(cells, name="cells", least=2, most=1 << 22)
        count = integer(updates, name="updates", least=1, most=1 << 20)
        price = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
        bar = read_positive(threshold, "threshold", zero="every query would be paid for")
        moved = integer(rows_per_unit, name="rows_per_unit", least=1)
        known = None if population is None else integer(population, name="population", least=1)
        total = price * _TOTAL if known is None else Fraction(0)
        rest: dict[str, Any] = {"grid": _GRID, "neighbors": neighbors}
        # Under change-one a unit leaves and another one enters: a difference moves by k at most, either way.
        core = AboveThreshold(bar, sensitivity=moved, epsilon=price / 2, above=count, **rest)
        each = Laplace(moved, epsilon=(price / 2 - total) / count, **rest)
        assign(self, cells=size, updates=count, total=total, population=known, core=core, number=each)

    @property
    def neighbors(self) -> Relation:
        """How neighbors differ."""
        return self.core.neighbors

    @property
    def claim(self) -> Pure:
        """Epsilon of the comparisons, of each number, and of the number of rows."""
        whole = self.core.epsilon + self.updates * self.number.claim.epsilon + self.total
        return Pure(whole, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of a pure promise."""
        from discreet.privacy import curves

        return curves.pure(self.claim.epsilon, neighbors=self.neighbors)

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """What it stands on."""
        return (
            *self.core.argument,
            *self.number.argument,
            f"The guess is computed from released answers; each of {self.updates} numbers adds its own epsilon.",
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """How far a unit moves a query."""
        return self.core.assumed

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the ± of an answer: of a number the noise, of a guess the threshold and the comparisons' noise."""
        del value
        if details.get("updated"):
            return self.number.error(confidence)
        asked = int(str(details.get("asked", 1)))
        return float(self.core.threshold) + self.core.error(confidence, questions=2 * asked)

    def release(self, value: tuple[ArrayLike, Iterable[ArrayLike]], *, bits: BitSource = SYSTEM) -> Release[Any]:
        """Run through a list of queries about counts that the caller holds, until the updates are used up.

        >>> weights = MultiplicativeWeights(2, threshold=20, updates=1, epsilon=80, population=100)
        >>> answers = weights.release(([100, 0], [[1, 1], [1, 0], [0, 1]])).value
        >>> len(answers), round(answers[0]), abs(answers[1] - 100) < 20
        (2, 100, True)
        """
        counts, queries = value
        run = _Run(self, exact_integers(counts).ravel(), self.core.bar(bits), self.rows_of(counts, bits))
        told = []
        for query in queries:
            if not run.left:
                break
            told.append(run.ask(read_query(query, self.cells), bits)[0])
        return Release(tuple(told), self)

    def rows_of(self, counts: ArrayLike, bits: BitSource) -> float:
        """The number of rows that the guess has: the public one, or the true one with noise, at least 1.

        >>> MultiplicativeWeights(2, threshold=9, updates=1, epsilon=1, population=70).rows_of([1, 2], SYSTEM)
        70.0
        """
        if self.population is not None:
            return float(self.population)
        noise = Laplace(self.core.sensitivity, epsilon=self.total, grid=_GRID, neighbors=self.neighbors)
        return max(float(noise.release(int(exact_integers(counts).sum()), bits=bits).value), 1.0)

    def open(self, ledger: Ledger, entry: Entry, counts: Counted) -> WeightsSession:
        """Take the whole price, and begin; or go on with what was begun under this entry's name.

        `counts` gives the exact counts of the cells; it gets the session that has paid.
        """
        return WeightsSession(self, ledger, entry, counts)

    def record(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "kind": self.kind,
            "cells": self.cells,
            "updates": self.updates,
            "total": str(self.total),
            "population": self.population,
            "core": self.core.record(),
            "number": self.number.record(),
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        made = object.__new__(cls)
        assign(made, cells=record["cells"], updates=record["updates"], population=record["population"])
        assign(made, total=rational(record["total"], name="total"))
        assign(made, core=AboveThreshold.from_record(record["core"]), number=Laplace.from_record(record["number"]))
        return made

    def __str__(self) -> str:
        told = f"any number of queries of {self.cells} cells, off by at most about {self.core.threshold} rows"
        return f"MultiplicativeWeights({self.promise}: {told}; {self.updates} updates)"

    __repr__ = __str__


def _rounded(value: float) -> float:
    """Round to a whole multiple of 2**-16, as values with noise are."""
    return float(np.rint(value / float(_GRID)) * float(_GRID))


class _Run:
    """The steps of a run on counts in memory: a noisy bar, a number of rows, a guess."""

    def __init__(self, promise: MultiplicativeWeights, counts: NDArray[np.int64], bar: int, rows: float) -> None:
        if counts.size != promise.cells:
            msg = f"counts holds {counts.size} numbers, and there are {promise.cells} cells."
            raise ParameterError(msg)
        self.promise, self.counts = promise, counts.astype(np.float64)
        self.bar, self.rows = bar, rows
        self.guess: Floats = np.full(promise.cells, rows / promise.cells)
        self.left = promise.updates

    def ask(self, query: Floats, bits: BitSource) -> tuple[float, bool]:
        """Answer one query, and tell whether it took an update."""
        core = self.promise.core
        truth, guessed = float(query @ self.counts), _rounded(float(query @ self.guess))
        above = any(core.is_above(sign * (truth - guessed), self.bar, bits) for sign in (1, -1))
        if not above:
            return guessed, False
        answer = float(self.promise.number.release(truth, bits=bits).value)
        self.left -= 1
        self.guess = bent(self.guess, query, answer, self.rows)
        return answer, True


class WeightsSession:
    """A run of `MultiplicativeWeights` that a ledger keeps: any number of queries, until the updates are used up.

    The whole cost is taken at the opening. Every answer is in the ledger before it is shown, with the query that it is
    of; who opens the session again, in this process or after a crash, goes on with the noisy threshold that was drawn
    and the guess that follows from the answers.

    >>> from discreet.ledgers import Entry, MemoryLedger
    >>> from discreet.tables import Policy
    >>> ledger, counts = MemoryLedger(Policy([], epsilon=50)), np.array([900, 100])
    >>> weights = MultiplicativeWeights(2, threshold=100, updates=1, epsilon=40)
    >>> with weights.open(ledger, Entry("ages", ("visits",), kind="session"), lambda paid: counts) as session:
    ...     first = session.ask([1, 0])
    ...     abs(first.value - 900) < 20, session.left, ledger.remaining
    (True, 0, Pure(epsilon=10))
    """

    def __init__(
        self,
        promise: MultiplicativeWeights,
        ledger: Ledger,
        entry: Entry,
        counts: Counted,
    ) -> None:
        self.promise = promise
        self._session = Session.open(ledger, _price(ledger, promise), entry)
        try:
            self.answers: list[Release[Any]] = self._session.releases
            self._run: _Run | None = None
            self._counts = counts
        except BaseException:
            self._session.leave()
            raise

    @property
    def left(self) -> int:
        """How many updates are left."""
        return self.promise.updates - sum(bool(answer.details.get("updated")) for answer in self.answers)

    def ask(self, query: ArrayLike) -> Release[float]:
        """Answer one more query; what was asked before is shown again."""
        weights = read_query(query, self.promise.cells)
        name = hashlib.sha256(weights.tobytes()).hexdigest()
        before = next((answer for answer in self.answers if answer.details.get("question") == name), None)
        if before is not None:
            return before
        if not self.left:
            msg = "all updates are used up, and the state is forgotten. Open another session, which costs again."
            raise BudgetError(msg)
        if why := self._session.over:
            msg = f"the session of entry {self._session.number} {why}."
            raise LedgerError(msg)
        bits = self._session.bits()
        run = self._going(bits)
        value, updated = run.ask(weights, bits)
        kept = {"question": name, "asked": len(self.answers) + 1, "updated": updated}
        if updated:  # the guess follows from these
            kept["query"] = weights
        answer = Release(value, self.promise, MappingProxyType(kept))
        state = json.dumps({"bar": run.bar, "rows": run.rows}).encode()
        self._session.append([answer], state=state)
        told = charged(answer, self._session.cost)
        self.answers.append(told)
        if not self.left:
            self._session.close()
        return told

    def _going(self, bits: BitSource) -> _Run:
        """The run as the answers so far leave it: begun now, or again where another process left it."""
        if self._run is None:
            sealed = self._session.state
            counts = exact_integers(self._counts(self._session)).ravel()
            if sealed:
                known = json.loads(sealed)
                bar, rows = int(known["bar"]), float(known["rows"])
            else:
                bar, rows = self.promise.core.bar(bits), self.promise.rows_of(counts, bits)
            run = _Run(self.promise, counts, bar, rows)
            for answer in self.answers:
                if answer.details.get("updated"):
                    query = np.asarray(answer.details["query"], dtype=np.float64)
                    run.guess = bent(run.guess, query, float(answer.value), run.rows)
            run.left = self.left
            self._run = run
        return self._run

    def close(self) -> None:
        """Give the session back, so that somebody else may go on with it."""
        self._session.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        asked = len(self.answers)
        return (
            f"WeightsSession({self.promise.promise}, {asked} asked, {self.left} of {self.promise.updates} updates left)"
        )


def _price(ledger: Ledger, promise: MultiplicativeWeights) -> Any:  # noqa: ANN401 - whatever the ledger adds
    """What it costs: by the ledger's certificates from the curve, else the claim in its currency."""
    kinds: dict[str, type[Pure | Approximate | ZCDP]] = {"pure": Pure, "approximate": Approximate, "zcdp": ZCDP}
    kind = kinds.get(ledger.policy.filter)
    return ledger.priced(promise.privacy if kind is None else convert(promise.claim, to=kind))
