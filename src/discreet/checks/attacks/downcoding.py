"""Downcoding: undo what an anonymizer made coarser, from the fact that it made nothing coarser than it had to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.attacks.outcome import Outcome
from discreet.engines.duckdb.owned import OwnedTable
from discreet.errors import ParameterError
from discreet.exact import integer, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.checks.anonymity import Anonymized, Hierarchy

__all__ = ["Downcoding", "downcode"]

ANY = "*"
SURE = 0.9


@dataclass(frozen=True)
class Downcoding:
    """What is said of each row that was made coarser, how sure the attacker is, and whether it is so.

    >>> told = Downcoding(np.array([3, 4]), ("1305*", "1305*"), np.array([0.95, 0.6]), np.array([True, False]), 0.25)
    >>> print(told.outcome)
    downcoding: 1 of 2 right (50.0 %); guessing gets 25.0 %; of 1 said with 90 % or more, 1 right
    """

    rows: NDArray[np.int64]
    """The places of these rows in the source."""
    guesses: tuple[object, ...]
    sure: NDArray[np.float64]
    """The chance of each guess, worked out from what the release says."""
    right: NDArray[np.bool_]
    baseline: float

    @property
    def outcome(self) -> Outcome:
        """How many rows are told right, one step finer than published.

        >>> Downcoding(np.array([3]), ("a",), np.array([0.95]), np.array([True]), 0.25).outcome.share
        1.0
        """
        said = self.sure >= SURE
        note = f"of {int(said.sum())} said with {100 * SURE:.0f} % or more, {int(self.right[said].sum())} right"
        return Outcome("downcoding", len(self.rows), int(self.right.sum()), self.baseline, note)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw how sure the attacker was, of right and of wrong guesses (needs the extra `plot`).

        >>> Downcoding(np.array([3]), ("a",), np.array([0.95]), np.array([True]), 0.25).plot().get_xlabel()
        'chance that the attacker works out'
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        both = [self.sure[self.right], self.sure[~self.right]]
        axes.hist(both, bins=20, range=(0, 1), stacked=True, label=["right", "wrong"])
        axes.set_xlabel("chance that the attacker works out")
        axes.set_ylabel("rows")
        axes.set_title(str(self.outcome).partition(";")[0])
        axes.legend()
        return axes


def downcode(  # noqa: PLR0913 - each is a thing of its own
    release: Anonymized,
    source: object,
    column: str,
    *,
    quasi: Sequence[str],
    hierarchy: Hierarchy,
    k: int,
    population: object = None,
) -> Downcoding:
    """Say of every row whose `column` was made coarser by `mondrian` which of the next finer values it has.

    The anonymizer cuts a class whenever each piece keeps k rows. So where it left a class of n rows at a coarse value,
    some of the finer values below have fewer than k of them: of two, one has more than n - k. The attacker knows the
    anonymizer, its `quasi`, k and the hierarchy, and how frequent values are in a `population` that anybody may look at
    (without it, she takes all values of the hierarchy for equally frequent). Of the laws of n independent people she
    keeps those that would not have been cut, and says the value with the largest mean share. `source` is what was
    anonymized; it judges the attack.

    Cohen 2022, "Attacks on deidentification's defenses", USENIX Security (arXiv:2202.13470): every anonymizer that
    makes nothing coarser than it has to can be downcoded, for some distributions nearly everywhere; l-diversity and
    t-closeness do not help. Guessing is to say of every row the value that most people of the population have.

    >>> import pyarrow as pa
    >>> from discreet.checks.anonymity import mondrian
    >>> towns = pa.table({"zip": ["130"] * 38 + ["131"] * 2})
    >>> tree = {"130": (), "131": ()}
    >>> release = mondrian(towns, ["zip"], k=5, hierarchies={"zip": tree})
    >>> print(downcode(release, towns, "zip", quasi=["zip"], hierarchy=tree, k=5, population=towns).outcome)
    downcoding: 38 of 40 right (95.0 %); guessing gets 95.0 %; of 40 said with 90 % or more, 38 right
    """
    least = integer(k, name="k", least=2)
    missing = [name for name in (column, *quasi) if name not in release.columns]
    if missing or column not in quasi:
        msg = (
            f"column and quasi must be columns of the release, column among quasi; it has {', '.join(release.columns)}."
        )
        raise ParameterError(msg)
    ways = {value: (value, *above, ANY) for value, above in hierarchy.items()}
    with OwnedTable(source) as table:
        truth = table.arrays([column])[column][release.rows].tolist()
    frequent = Counter([*ways]) if population is None else _frequencies(population, column)
    unknown = {*truth, *frequent} - ways.keys()
    if unknown:
        msg = f"hierarchy lacks {len(unknown)} of the values of {shown(column)}; name every one of them."
        raise ParameterError(msg)
    members = list(zip(*(release.columns[name] for name in quasi), strict=True))
    sizes, labels = Counter(members), release.columns[column]
    steps = {label: _Step.below(label, ways, frequent) for label in dict.fromkeys(labels)}
    rows, said = [], []
    for place, (label, own) in enumerate(zip(labels, members, strict=True)):
        step = steps[label]
        if step is not None:
            finer, chance = step.likeliest(sizes[own], least)
            actual = _finer(ways[truth[place]], label)
            rows.append(int(release.rows[place]))
            said.append((finer, chance, finer == actual, step.usual == actual))
    if not rows:
        msg = f"nothing of {shown(column)} was made coarser; there is nothing to undo."
        raise ParameterError(msg)
    guesses, sure, right, guessed = zip(*said, strict=True)
    names = tuple(guess[0] for guess in guesses)
    return Downcoding(np.array(rows), names, np.array(sure), np.array(right), sum(guessed) / len(rows))


Way = tuple[Any, ...]
"""A value with all that it is called more generally, up to "any"; or the end of one."""


def _finer(way: Way, label: object) -> Way | None:
    """Return the node one step below a label on a value's way, told by the whole rest of the way; None if none is."""
    place = next((place for place in range(1, len(way)) if way[place] == label), None)
    return None if place is None else way[place - 1 :]


def _frequencies(population: object, column: str) -> Counter[Any]:
    with OwnedTable(population) as table:
        table.require([column], name="column")
        return Counter(table.arrays([column])[column].tolist())


@dataclass(frozen=True)
class _Step:
    """The nodes one step below a label, with their shares in the population, and the most usual one of that height."""

    finer: tuple[Way, ...]
    shares: tuple[float, ...]
    usual: Way

    @staticmethod
    def below(label: object, ways: Mapping[Any, Way], known: Counter[Any]) -> _Step | None:
        inside: Counter[Way] = Counter()
        height = 0
        for value, way in ways.items():
            node = _finer(way, label)
            if node is not None:
                inside[node] += known[value]
                height = len(way) - len(node)
        if not inside:
            return None
        whole = sum(inside.values())
        usual = Counter[Way]()
        for value, way in ways.items():
            usual[way[height:]] += known[value]
        shares = tuple(count / whole if whole else 1 / len(inside) for count in inside.values())
        return _Step(tuple(inside), shares, usual.most_common(1)[0][0])

    def likeliest(self, rows: int, least: int) -> tuple[Way, float]:
        means = _mean_shares(self.shares, rows, least)
        best = int(np.argmax(means))
        return self.finer[best], float(means[best])


def _sum_law(laws: Sequence[NDArray[np.float64]], rows: int) -> list[NDArray[np.float64]]:
    """Return the law of the sum of the first j counts, up to so many rows, for each j."""
    nothing = np.zeros(rows + 1)
    nothing[0] = 1.0
    return list(accumulate(laws, lambda law, next_law: np.convolve(law, next_law)[: rows + 1], initial=nothing))


@lru_cache(maxsize=10_000)
def _mean_shares(shares: tuple[float, ...], rows: int, least: int) -> NDArray[np.float64]:
    """Return each finer value's mean share of a class's rows, given that the class was not cut.

    It would have been cut if each finer value that occurs had `least` rows. With independent Poisson counts of means
    n w_j, which given their sum n are the multinomial, the mean of N_j over laws that would have been cut is a
    convolution of counts that are 0 or at least k; the mean over all laws is n w_j.
    """
    from scipy.stats import poisson

    weights = np.array(shares)
    laws = [poisson.pmf(np.arange(rows + 1), rows * weight) for weight in weights]
    cut = [np.where((np.arange(rows + 1) == 0) | (np.arange(rows + 1) >= least), law, 0.0) for law in laws]
    # The law of the sum of all but one: of those before it, and of those behind it.
    before, behind = [_sum_law(laws, rows) for laws in (cut, cut[::-1])]
    means = np.zeros(len(weights))
    for one in range(len(weights)):
        others = np.convolve(before[one], behind[len(weights) - 1 - one])[: rows + 1]
        joint = cut[one] * others[::-1]
        means[one] = rows * weights[one] - (joint * np.arange(rows + 1)).sum() / poisson.pmf(rows, rows)
    means = np.maximum(means, 0.0)
    total = means.sum()
    return means / total if total > 1e-12 else weights
