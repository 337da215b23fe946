"""One run of a synthesizer: parts that are paid from its limit, kept before they are used, and never drawn twice."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms.adding.sums import noisy_counts
from discreet.mechanisms.release import Release
from discreet.methods.synthesis.costs import cost_of
from discreet.methods.synthesis.fitting import Fitted, Measured, bend, fit
from discreet.methods.synthesis.model import SyntheticModel
from discreet.methods.synthesis.trees import BYTES, junction_tree
from discreet.privacy.filters import GDPFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.mechanisms import Exponential, Gaussian
    from discreet.mechanisms.adding.sums import Moved
    from discreet.methods.synthesis.domain import Domain
    from discreet.methods.synthesis.trees import Clique
    from discreet.noise import BitSource
    from discreet.privacy.currencies import GDP

    Floats = NDArray[np.float64]
    Watch = Callable[[str, int, int], None]

__all__ = ["METHODS", "Counts", "Run", "Terms", "require_memory", "synthesized"]

_SHARE = Fraction(9, 10)
"""How much of a round is for the measurement; the rest is for the choice."""
_ROUNDS_PER_COLUMN = 16
_PARTS = 1 << 10
"""Scores are whole multiples of 1/1024 of a row."""
_FINE = 1 << 10
_NEARLY = Fraction(1, 1 << 16)
_LARGEST = 1 << 40


class Counts(Protocol):
    """Exact marginals of a table; private.

    >>> from discreet.methods.workloads import Records
    >>> counts: Counts = Records((2,), [[1], [1]])
    """

    def marginal(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        """Count all combinations of the columns at these places."""


class Terms(Protocol):
    """What is public about a run: its method, its limit, how far a unit moves a marginal.

    >>> from discreet.methods.synthesis import Synthesis
    >>> hasattr(Synthesis, "measurement"), hasattr(Synthesis, "choice")
    (True, True)
    """

    @property
    def domain(self) -> Domain:
        """The columns and their cells."""

    @property
    def method(self) -> str:
        """How it is chosen what to measure."""

    @property
    def memory(self) -> int:
        """How many bytes a fit may take."""

    @property
    def forbidden(self) -> tuple[tuple[Clique, tuple[int, ...]], ...]:
        """Combinations that cannot be."""

    @property
    def limit(self) -> GDP:
        """What all parts together may cost."""

    @property
    def moved(self) -> Moved:
        """How far a unit moves a marginal."""

    def measurement(self, cells: int, sigma: Fraction) -> Gaussian:
        """Counts of so many cells, with this noise."""

    def choice(self, epsilon: Fraction) -> Exponential:
        """A choice of what to measure."""


@dataclass
class Run:
    """The parts of a run so far, what is left of its limit, and how the next is kept.

    `groups` are parts that were kept before, by another process perhaps: they are taken as they are. A new part is paid
    from the filter first, then drawn, then kept, and only then used.

    >>> {'bits', 'counts', 'groups'} <= set(Run.__annotations__)
    True
    """

    promise: Terms
    counts: Counts
    bits: Callable[[], BitSource]
    keep: Callable[[list[Release[Any]]], None] = lambda _: None
    groups: list[list[Release[Any]]] = field(default_factory=list)
    watch: Watch = lambda *_: None
    measured: list[Measured] = field(default_factory=list)
    place: int = 0
    filter: GDPFilter = field(init=False)
    forbidden: dict[Clique, Floats] = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the whole limit."""
        self.filter = GDPFilter(self.promise.limit)
        self.forbidden = _zeros(self.promise)

    @property
    def left(self) -> Fraction:
        """The squared mu that is left."""
        return self.filter.remaining.mu_squared

    @property
    def exhausted(self) -> bool:
        """Whether what is left is nothing but what rounding left."""
        return self.left <= self.promise.limit.mu_squared * _NEARLY

    def step(self, mechanisms: Sequence[Any], draw: Callable[[BitSource], list[Release[Any]]]) -> list[Release[Any]]:
        """Take the next group of parts: again as it was kept, or paid, drawn and kept now."""
        if self.place < len(self.groups):
            parts = self.groups[self.place]
            self._pay([part.mechanism for part in parts])
        else:
            self._pay(mechanisms)
            parts = [
                Release(one.value, one.mechanism, MappingProxyType({**one.details, "group": self.place}))
                for one in draw(self.bits())
            ]
            self.keep(parts)
        self.place += 1
        spent = 1 - self.left / self.promise.limit.mu_squared
        self.watch("measuring", round(1000 * spent), 1000)
        return parts

    def _pay(self, mechanisms: Sequence[Any]) -> None:
        for mechanism in mechanisms:
            self.filter = self.filter.spend(cost_of(mechanism))

    def noise(self, share: Fraction) -> Fraction:
        """The sigma of a measurement that costs at most this much, in squared mu."""
        sigma = math.sqrt(self.promise.moved.l2**2 / share)
        return Fraction(math.ceil(sigma * _FINE) + 1, _FINE)

    def measure(self, sets: Sequence[Clique], sigma: Fraction) -> None:
        """Measure marginals together, each with noise of its own."""
        sizes = [math.prod(self.promise.domain.sizes[c] for c in columns) for columns in sets]
        mechanisms = [self.promise.measurement(size, sigma) for size in sizes]

        def draw(bits: BitSource) -> list[Release[Any]]:
            return [
                self._measured(columns, mechanism, bits) for columns, mechanism in zip(sets, mechanisms, strict=True)
            ]

        self._take(self.step(mechanisms, draw))

    def _measured(self, columns: Clique, mechanism: Any, bits: BitSource) -> Release[Any]:  # noqa: ANN401
        exact = np.minimum(self.counts.marginal(columns), _LARGEST)
        return Release(noisy_counts(exact, mechanism, bits), mechanism, MappingProxyType({"columns": columns}))

    def _take(self, parts: list[Release[Any]]) -> None:
        for part in parts:
            if "columns" in part.details:
                columns: Clique = tuple(part.details["columns"])  # type: ignore[arg-type]
                counts = np.asarray(part.value, dtype=np.float64)
                self.measured.append(Measured(columns, counts, float(part.mechanism.sigma)))  # type: ignore[attr-defined]

    def scores(self, candidates: Sequence[Clique], fitted: Fitted, sigma: float) -> Floats:
        """How far each marginal is from the model's in L1, less what noise of this sigma would add to it.

        In whole 1024ths: the model's marginals are rounded to them, so that a unit moves a score by what it moves the
        counts by, and not by a rounding error more.
        """
        expected = fitted.model.marginals(candidates)
        if hasattr(self.counts, "count"):  # in one snapshot
            self.counts.count(candidates)
        values = np.empty(len(candidates))
        for place, columns in enumerate(candidates):
            model = np.rint(fitted.rows * expected[columns] * _PARTS).astype(np.int64)
            exact = np.minimum(self.counts.marginal(columns), _LARGEST)
            off = int(np.abs(exact * _PARTS - model).sum())
            values[place] = (off - round(math.sqrt(2 / math.pi) * sigma * model.size * _PARTS)) / _PARTS
        return values

    def choose(self, candidates: Sequence[Clique], choice: Exponential, fitted: Fitted, sigma: float) -> Clique:
        """Choose a marginal that the model is wrong about."""

        def draw(bits: BitSource) -> list[Release[Any]]:
            chosen = choice.release(self.scores(candidates, fitted, sigma), bits=bits)
            columns = candidates[int(str(chosen.value))]
            return [Release(chosen.value, choice, MappingProxyType({"chosen": columns}))]

        (part,) = self.step([choice], draw)
        return tuple(part.details["chosen"])  # type: ignore[arg-type]

    def fit(self, start: Fitted | None = None) -> Fitted:
        """Fit the model to what was measured so far."""
        sizes, memory = self.promise.domain.sizes, self.promise.memory
        return fit(sizes, self.measured, memory=memory, start=start, zeros=self.forbidden)


def _zeros(promise: Terms) -> dict[Clique, Floats]:
    """The weights of what cannot be, as logarithms."""
    zeros: dict[Clique, Floats] = {}
    for columns, cells in promise.forbidden:
        table = zeros.setdefault(columns, np.zeros([promise.domain.sizes[c] for c in columns]))
        table[cells] = -np.inf
    return zeros


def synthesized(run: Run) -> SyntheticModel:
    """Take all parts of a run, and fit the model."""
    fitted = _METHODS[run.promise.method](run)
    run.watch("measuring", 1000, 1000)
    return SyntheticModel(run.promise.domain, tuple(run.measured), fitted.rows, dict(fitted.factors), run.forbidden)


# What is measured


def _singles(run: Run) -> list[Clique]:
    return [(column,) for column in range(len(run.promise.domain.sizes))]


def _independent(run: Run) -> Fitted:
    """All columns by themselves, for the whole limit."""
    sets = _singles(run)
    run.measure(sets, run.noise(run.left / len(sets)))
    return run.fit()


def _mst(run: Run) -> Fitted:
    """A third for the columns, a third for d - 1 choices of a pair between parts that no pair joins yet, one for these.

    McKenna, Miklau & Sheldon 2021 (arXiv:2108.04978), section 4.
    """
    singles = _singles(run)
    if len(singles) == 1:
        return _independent(run)
    third = run.left / 3
    run.measure(singles, run.noise(third / len(singles)))
    fitted, edges = run.fit(), len(singles) - 1
    part = {column: column for column in range(len(singles))}
    chosen: list[Clique] = []
    choice = run.promise.choice(_epsilon(third / edges))
    for _ in range(edges):
        between = [pair for pair in itertools.combinations(part, 2) if part[pair[0]] != part[pair[1]]]
        pair = run.choose(between, choice, fitted, 0.0)
        chosen.append(pair)
        old, new = part[pair[1]], part[pair[0]]
        part = {column: new if one == old else one for column, one in part.items()}
    run.measure(chosen, run.noise(run.left * (1 - _NEARLY) / edges))
    return run.fit(fitted)


def _aim(run: Run) -> Fitted:
    """Round after round the pair that the model is most wrong about; less noise where the last taught too little.

    McKenna, Mullins, Sheldon & Miklau 2022 (arXiv:2201.12677), Algorithms 2 and 3: a measurement costs 9/10 of a round,
    the choice 1/10; columns are measured first; where the model moved by no more than the noise would, noise is halved;
    the last round takes what is left. Candidates grow with what was spent, so that the tree stays within the memory.
    """
    singles, whole = _singles(run), run.promise.limit.mu_squared
    round_ = whole / (_ROUNDS_PER_COLUMN * len(singles))
    run.measure(singles, run.noise(_SHARE * round_))
    fitted = run.fit()
    if len(singles) == 1:
        run.measure(singles, run.noise(run.left * (1 - _NEARLY)))
        return run.fit(fitted)
    while not run.exhausted:
        if run.left < 2 * round_:
            round_ = run.left * (1 - _NEARLY)
        sigma = run.noise(_SHARE * round_)
        candidates = _candidates(run, 1 - run.left / whole)
        pair = run.choose(candidates, run.promise.choice(_epsilon((1 - _SHARE) * round_)), fitted, float(sigma))
        run.measure([pair], sigma)
        before = fitted.rows * fitted.model.marginal(pair)
        fitted = run.fit(fitted)
        moved = np.abs(fitted.rows * fitted.model.marginal(pair) - before).sum()
        if moved <= math.sqrt(2 / math.pi) * float(sigma) * before.size:
            round_ *= 4  # half the noise, and twice the epsilon of the choice
    return fitted


def _mwem(run: Run) -> Fitted:
    """As many rounds as columns: half of each for the choice of a pair, half for its counts; a model that is bent.

    Hardt, Ligett & McSherry 2012 (arXiv:1012.4763), with marginals for queries, as in `discreet.methods.workloads.Mwem`
    with single queries. A twentieth is for the first column, of which the number of rows is a part.
    """
    sizes, memory = run.promise.domain.sizes, run.promise.memory
    whole = run.left * (1 - _NEARLY)
    run.measure([(0,)], run.noise(whole / 20 if len(sizes) > 1 else whole))
    fitted = bend(sizes, run.measured, memory=memory)
    half = run.left * (1 - _NEARLY) / (2 * len(sizes))
    for _ in sizes if len(sizes) > 1 else ():
        pair = run.choose(_candidates(run, Fraction(1)), run.promise.choice(_epsilon(half)), fitted, 0.0)
        run.measure([pair], run.noise(half))
        fitted = bend(sizes, run.measured, memory=memory, start=fitted)
    return fitted


def _epsilon(share: Fraction) -> Fraction:
    """The epsilon of a choice that costs at most this much, in squared mu: epsilon^2 pi / 8."""
    return Fraction(math.floor(math.sqrt(share * 8 / math.pi) * (1 - 1e-9) * (1 << 40)), 1 << 40)


def _candidates(run: Run, spent: Fraction) -> list[Clique]:
    """The pairs with which the tree takes no more than a share of the memory, or no more than it takes now."""
    sizes, memory = run.promise.domain.sizes, run.promise.memory
    held = [one.columns for one in run.measured] + list(run.forbidden)
    now = junction_tree(sizes, held)
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    needed = {p: 0 if now.home(p) is not None else junction_tree(sizes, [*held, p]).bytes for p in pairs}
    most = max(Fraction(now.bytes), memory * spent)
    return [pair for pair in pairs if needed[pair] <= most] or [pair for pair in pairs if needed[pair] <= memory]


def require_memory(terms: Terms) -> None:
    """Refuse before anything is paid what would not fit into the memory later: by the sizes of columns alone.

    All columns by themselves must fit, and one pair; a tree of pairs, even if it is of the largest ones.
    """
    sizes, forbidden = terms.domain.sizes, [columns for columns, _ in terms.forbidden]
    junction_tree(sizes, forbidden).require(terms.memory)
    pairs = sorted(itertools.combinations(range(len(sizes)), 2), key=lambda pair: sizes[pair[0]] * sizes[pair[1]])
    if terms.method == "mst":
        worst = sum(sizes[one] * sizes[other] for one, other in pairs[len(pairs) - len(sizes) + 1 :])
        if worst * BYTES > terms.memory:
            one, other = pairs[-1]
            msg = (
                f"a tree of pairs may need {worst * BYTES / 2**20:.0f} MB, and the limit is "
                f"{terms.memory / 2**20:.0f} MB. Take fewer bins for {terms.domain.names[one]} or "
                f"{terms.domain.names[other]}, or raise memory=."
            )
            raise ParameterError(msg)
    elif pairs and terms.method != "independent":
        least = min((junction_tree(sizes, [*forbidden, pair]) for pair in pairs), key=lambda tree: tree.bytes)
        least.require(terms.memory)


_METHODS = {"aim": _aim, "mst": _mst, "mwem": _mwem, "independent": _independent}
METHODS = tuple(_METHODS)
"""How it may be chosen what to measure."""
