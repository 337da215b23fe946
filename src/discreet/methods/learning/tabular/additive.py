r"""An additive model of classes: for each feature a curve of steps, boosted in turn from noisy sums of residuals.

Privacy. A numeric feature is cut into equal bins of its public range, a key is a bin of its own, and so is what is
missing. In one turn the residuals of all rows are added up by the bin of one feature. A row's residuals are a vector of
whole numbers no longer than c (`_clipped`), which counts 1/m where its unit has m rows; a row falls into one bin, and
bins are added up in groups that random bits choose. So one unit more moves the sums of a turn by at most c in L2, and
those of bins' counts, once for all F features, by at most $\sqrt F$. Under change-one twice that. Boosting with noisy
histograms: Nori, Caruana, Bu, Shen & Kulkarni 2021 (arXiv:2106.09680), whose models these are, with accounting by
Gaussian composition and with all that a turn needs beside its residuals taken from one release of counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.exact import integer, sqrt_upper
from discreet.methods.learning.tabular.descent import clipped
from discreet.methods.learning.tabular.features import SCALE, Feature
from discreet.methods.learning.tabular.linear import Classifier
from discreet.methods.learning.tabular.losses import STEPS, Logistic, Softmax
from discreet.methods.learning.tabular.sums import shares
from discreet.methods.learning.tabular.training import Step, Training, movers
from discreet.noise import uniform_integer

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.methods.learning.tabular.estimator import Task
    from discreet.methods.learning.tabular.losses import Loss
    from discreet.methods.learning.tabular.training import Goal
    from discreet.noise import BitSource

__all__ = ["AdditiveModel", "bins_of"]

_COUNTS = Fraction(1, 10)  # what the counts of bins cost, of the whole
_RATE = 0.3  # how far a turn goes


def bins_of(features: tuple[Feature, ...], rows: BoundedRows, bins: int) -> NDArray[np.int64]:
    """Return the bin of each row in each feature; the last one of a feature is for what is missing or no key.

    >>> from discreet.engines.bounded_rows import BoundedRows
    >>> columns = (Feature("age", 0, 100), Feature("ward", keys=("a", "b")))
    >>> given = {"age": [0, 99, None], "ward": ["b", "x", "a"]}
    >>> bins_of(columns, BoundedRows.of(given, [column.column for column in columns]), 4)[:, 0].tolist()
    [0, 3, 4]
    """
    places = []
    for feature in features:
        cells, missing = rows.columns[feature.name], rows.missing[feature.name]
        if feature.keys is not None:
            places.append(np.asarray(cells, dtype=np.int64))
            continue
        number = np.zeros((cells.size, 1))
        feature.written(cells, missing, number)
        place = np.minimum((number[:, 0] + 1) / 2 * bins, bins - 1).astype(np.int64)
        places.append(np.where(missing, bins, place))
    return np.column_stack(places)


@dataclass(eq=False, repr=False)
class AdditiveModel(Classifier):
    """Classes by a sum of curves, one for each feature: what each contributes can be looked at (`curves_`).

    >>> x = np.random.default_rng(0).uniform(0, 1, (6000, 1))
    >>> model = AdditiveModel(epsilon=2, classes=["out", "in"], bounds=(0, 1))
    >>> model = model.fit(x, np.where(np.abs(x[:, 0] - 0.5) < 0.25, "in", "out"))
    >>> model.predict([[0.05], [0.5], [0.95]]).tolist()
    ['out', 'in', 'out']
    """

    turns: SupportsIndex = field(default=20, kw_only=True)
    bins: SupportsIndex = field(default=32, kw_only=True)

    kind: ClassVar[str] = "additive_model"

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        turns = integer(self.turns, name="turns", least=1, most=1000)
        bins = integer(self.bins, name="bins", least=2, most=1024)
        labels, classes = self._labels(rows, task)
        there = ~np.isnan(labels)
        sizes = [(bins if feature.keys is None else len(feature.keys)) + 1 for feature in task.features.columns]
        boosting = _Boosting(
            bins_of(task.features.columns, rows, bins)[there],
            labels[there],
            shares(rows.units[there]),
            Logistic() if len(classes) == 2 else Softmax(len(classes)),
            np.r_[0, np.cumsum(sizes)],
        )
        counts, first = boosting.counted(task.goal, bits)
        keyed = [feature.keys is not None for feature in task.features.columns]
        curves, second = boosting.boosted(counts, turns, keyed, task.goal, bits)
        value = {"curves": curves, "bins": bins, "classes": classes, "size": float(counts.sum() / len(sizes))}
        return value, Training(self.kind, task.goal.claim, [first, second])

    @property
    def curves_(self) -> dict[str, NDArray[np.float64]]:
        """What each feature adds to the scores: of a number by bin of its range, of keys one by one; last: missing."""
        value, start, curves = self._value, 0, {}
        for feature in self.features.columns:
            size = (value["bins"] if feature.keys is None else len(feature.keys)) + 1
            curves[feature.name] = value["curves"][start : start + size]
            start += size
        return curves

    def decision_function(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the score of each row, for each class where there are more than two."""
        features = self.features
        places = bins_of(features.columns, features.rows(X), self._value["bins"])
        curves = self.curves_
        scores: NDArray[np.float64] = sum(
            (curves[feature.name][places[:, place]] for place, feature in enumerate(features.columns)),
            start=np.zeros((len(places), self._value["curves"].shape[1])),
        )
        return scores[:, 0] if scores.shape[1] == 1 else scores


@dataclass(frozen=True, slots=True)
class _Boosting:
    """Private rows as places of bins, and where the bins of each feature start."""

    places: NDArray[np.int64]
    labels: NDArray[np.float64]
    share: NDArray[np.float64]
    loss: Loss
    starts: NDArray[np.int64]

    def counted(self, goal: Goal, bits: BitSource) -> tuple[NDArray[np.float64], Step]:
        """Release how many units are in each bin of each feature."""
        total, parts = int(self.starts[-1]), self.starts.size - 1
        mechanism = goal.gaussian(
            sqrt_upper(Fraction(parts)) * movers(goal.claim.neighbors) * SCALE,
            share=_COUNTS,
            times=1,
            dimensions=total,
        )
        weights = np.repeat(np.trunc(self.share * SCALE), parts)
        exact = np.bincount((self.places + self.starts[:-1]).ravel(), weights, total)
        noisy = np.asarray(mechanism.release(exact.astype(np.int64), bits=bits).value, dtype=float) / SCALE
        return noisy, Step("counts of bins", mechanism)

    def boosted(
        self, counts: NDArray[np.float64], turns: int, keyed: list[bool], goal: Goal, bits: BitSource
    ) -> tuple[NDArray[np.float64], Step]:
        """Go round the features, and let each explain what is left; scores are sums of whole steps of 2**-20."""
        sizes, outputs = np.diff(self.starts), self.loss.outputs
        most, times = int(sizes.max()), turns * len(keyed)
        mechanism = goal.gaussian(
            movers(goal.claim.neighbors) * STEPS, share=1 - _COUNTS, times=times, dimensions=most * outputs
        )
        spread = float(mechanism.sigma) / STEPS
        curves, scores = np.zeros((int(self.starts[-1]), outputs)), np.zeros((len(self.places), outputs))
        for part in list(range(len(keyed))) * turns:
            groups, places = _groups(int(sizes[part]), keyed=keyed[part], bits=bits), self.places[:, part]
            residuals = clipped(self.loss.residuals(scores, self.labels), self.share, STEPS)
            sums = np.zeros((most, outputs))
            np.add.at(sums, groups[places], residuals)
            noisy = np.asarray(mechanism.release(sums.astype(np.int64), bits=bits).value, dtype=float) / STEPS
            piece = slice(self.starts[part], self.starts[part + 1])
            heavy = np.bincount(groups, np.maximum(counts[piece], 0), most)
            step = -_RATE * noisy.reshape(sums.shape) / (self.loss.curvature * heavy + spread)[:, None]
            moved = np.round(np.clip(step[groups], -1, 1) * 2**20) / 2**20
            curves[piece] += moved
            scores += moved[places]
        return curves, Step("residuals of bins", mechanism, times)


def _groups(size: int, *, keyed: bool, bits: BitSource) -> NDArray[np.int64]:
    """Part bins in groups: keys one by one, bins of a range at three random cuts; what is missing by itself."""
    if keyed:
        return np.arange(size, dtype=np.int64)
    cuts = np.zeros(size - 1, dtype=np.int64)
    cuts[uniform_integer(size - 1, size=3, bits=bits)] = 1
    groups = np.cumsum(cuts) - cuts[0]
    whole: NDArray[np.int64] = np.r_[groups, groups[-1] + 1]
    return whole
