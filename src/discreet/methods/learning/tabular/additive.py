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
from discreet.methods.learning.tabular.descent import clipped, movers
from discreet.methods.learning.tabular.features import SCALE, Feature
from discreet.methods.learning.tabular.linear import Classifier
from discreet.methods.learning.tabular.losses import STEPS, Logistic, Softmax
from discreet.methods.learning.tabular.moments import shares
from discreet.methods.learning.tabular.training import Step, Training
from discreet.noise import uniform_integer

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.methods.learning.tabular.estimator import Task
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
        places, share = bins_of(task.features.columns, rows, bins)[there], shares(rows.units[there])
        loss = Logistic() if len(classes) == 2 else Softmax(len(classes))
        sizes = [(bins if feature.keys is None else len(feature.keys)) + 1 for feature in task.features.columns]
        total, parts = sum(sizes), len(sizes)
        counting = task.goal.gaussian(
            sqrt_upper(Fraction(parts)) * movers(task.goal.claim.neighbors) * SCALE,
            share=_COUNTS,
            times=1,
            dimensions=total,
        )
        boosting = task.goal.gaussian(
            movers(task.goal.claim.neighbors) * STEPS,
            share=1 - _COUNTS,
            times=turns * parts,
            dimensions=max(sizes) * loss.outputs,
        )
        starts = np.r_[0, np.cumsum(sizes)]
        exact = np.bincount((places + starts[:-1]).ravel(), np.repeat(np.trunc(share * SCALE), parts), total)
        counts = np.asarray(counting.release(exact.astype(np.int64), bits=bits).value, dtype=float) / SCALE
        curves, scores = np.zeros((total, loss.outputs)), np.zeros((len(places), loss.outputs))
        spread = float(boosting.sigma) / STEPS
        for turn in range(turns * parts):
            part = turn % parts
            groups = _groups(sizes[part], keyed=task.features.columns[part].keys is not None, bits=bits)
            residuals = clipped(loss.residuals(scores, labels[there]), share, STEPS)
            sums = np.zeros((max(sizes), loss.outputs))
            np.add.at(sums, groups[places[:, part]], residuals)
            noisy = np.asarray(boosting.release(sums.astype(np.int64), bits=bits).value, dtype=float) / STEPS
            piece = slice(starts[part], starts[part + 1])
            heavy = np.bincount(groups, np.maximum(counts[piece], 0), max(sizes))
            step = -_RATE * noisy / (loss.curvature * heavy + spread)[:, None]
            moved = np.round(np.clip(step[groups], -1, 1) * 2**20) / 2**20
            curves[piece] += moved
            scores += moved[places[:, part]]
        value = {"curves": curves, "bins": bins, "classes": classes, "size": float(counts.sum() / parts)}
        steps = [Step("counts of bins", counting), Step("residuals of bins", boosting, turns * parts)]
        return value, Training(self.kind, task.goal.claim, steps)

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


def _groups(size: int, *, keyed: bool, bits: BitSource) -> NDArray[np.int64]:
    """Part bins in groups: keys one by one, bins of a range at three random cuts; what is missing by itself."""
    if keyed:
        return np.arange(size)
    cuts = np.zeros(size - 1, dtype=np.int64)
    cuts[uniform_integer(size - 1, size=3, bits=bits)] = 1
    groups = np.cumsum(cuts) - cuts[0]
    return np.r_[groups, groups[-1] + 1]
