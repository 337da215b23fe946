r"""Noisy gradient descent for linear models: a noisy second moment shows the way, noisy gradients go it.

Privacy. Each row is a vector x of whole numbers with $|x| \le s$ = SCALE, and a residual r of whole numbers with
$|r| \le c$ (`_clipped`); both are functions of that row, its unit's number of rows and of what was released before. Of
a unit with m rows each row counts 1/m: x is shortened by $\sqrt m$ for the moment and r by m for gradients, both toward
0.

- *Moment.* Released is the upper triangle of $\sum x x^T$, 5 times on the diagonal and 7 times off it. With
  $X = \sum x x^T$ over the rows of one unit, the square of its part is
  $25 \sum_j X_{jj}^2 + 49 \sum_{j<k} X_{jk}^2 \le 25 |X|_F^2$, as $49 \le 2 \cdot 25$, and
  $|X|_F \le \sum |x|^2 \le m \cdot s^2/m$. So one unit more moves it by at most $5 s^2$ in L2.
- *Products.* $\sum x y$ with targets of at most STEPS steps moves as gradients do, by $s$ STEPS.
- *Gradients.* $\sum x r^T$ moves by at most $\sum |x| |r| \le m \cdot s \cdot c/m = sc$ in L2.

Under change-one one unit leaves and another enters: twice as far, by the triangle inequality. All sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.methods.learning.tabular.features import SCALE, lengths, unit_rows
from discreet.methods.learning.tabular.losses import STEPS
from discreet.methods.learning.tabular.sums import blocks, product
from discreet.methods.learning.tabular.training import Step
from discreet.privacy.relations import NeighborRelation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.learning.tabular.losses import Loss
    from discreet.methods.learning.tabular.training import Goal
    from discreet.noise import BitSource
    from discreet.privacy.relations import Relation

__all__ = ["Descent", "Fitted", "Statistics", "Weighed", "moment_of"]

_DIAGONAL, _OFF = 5, 7
_WEIGHT = 1 << 20  # steps of a weight of the model
_LARGEST = 1 << 18  # how long the weights of an output may be


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Weighed:
    """Private rows as vectors, each unit weighing 1 however many rows it has.

    >>> Weighed.of(np.array([[1.0, 0.0], [1.0, 0.0]]), np.zeros(2), np.array([7, 7])).share.tolist()
    [0.5, 0.5]
    """

    vectors: NDArray[np.float64]
    target: NDArray[np.float64]
    share: NDArray[np.float64]

    @staticmethod
    def of(
        values: NDArray[np.float64], target: NDArray[np.float64], units: NDArray[np.int64], *, scaled: bool = False
    ) -> Weighed:
        """Scale the rows to length 1 and count those of each unit; a row whose target is missing (NaN) is left out.

        With `scaled` targets are divided by the length of their row, so that they stay the same linear function of it.
        """
        there = ~np.isnan(target)
        _, places, counts = np.unique(units[there], return_inverse=True, return_counts=True)
        goal = target[there] / lengths(values[there]) if scaled else target[there]
        return Weighed(unit_rows(values[there]), goal, 1 / counts[places].astype(np.float64))


@dataclass(frozen=True, slots=True)
class Fitted:
    """What came of it: weights for each output, how many units there are about, and the steps that saw rows.

    >>> Fitted(np.zeros((2, 1)), 100.0, ()).size
    100.0
    """

    weights: NDArray[np.float64]
    size: float
    steps: tuple[Step, ...]


def movers(neighbors: Relation) -> int:
    """How many units two neighbors differ in: one that is there or not, or one that leaves and one that enters.

    >>> movers(NeighborRelation.ADD_REMOVE), movers(NeighborRelation.CHANGE_ONE)
    (1, 2)
    """
    return 1 if neighbors is NeighborRelation.ADD_REMOVE else 2


def moment_of(rows: Weighed, goal: Goal, share: Fraction, bits: BitSource) -> tuple[NDArray[np.float64], float, Step]:
    """Release the second moment of the rows; give it, the size of its noise, and the step.

    >>> from discreet.methods.learning.tabular.training import Goal
    >>> from discreet.noise import SYSTEM
    >>> rows = Weighed.of(np.ones((500, 1)), np.zeros(500), np.arange(500))
    >>> moment, noise, step = moment_of(rows, Goal.of(rho=1000), Fraction(1), SYSTEM)
    >>> bool(490 < moment[0, 0] < 510)
    True
    """
    width = rows.vectors.shape[1]
    upper = np.triu_indices(width)
    factor = np.where(upper[0] == upper[1], _DIAGONAL, _OFF)
    mechanism = goal.gaussian(
        movers(goal.claim.neighbors) * _DIAGONAL * SCALE**2, share=share, times=1, dimensions=factor.size
    )
    short = np.trunc(rows.vectors * np.sqrt(rows.share)[:, None])
    exact = product(short, short, most=SCALE**2)[upper] * factor
    noisy = np.asarray(mechanism.release(exact, bits=bits).value) / factor / SCALE**2
    moment = np.zeros((width, width))
    moment[upper] = noisy
    moment = moment + np.triu(moment, 1).T
    return moment, float(mechanism.sigma) / _OFF / SCALE**2, Step("second moment", mechanism)


@dataclass(frozen=True, slots=True)
class Descent:
    """How gradients are taken: public numbers that were chosen once, on no data of the user's.

    >>> Descent().steps
    40
    """

    steps: int = 40
    moment: Fraction = Fraction(15, 100)

    def fit(self, rows: Weighed, loss: Loss, goal: Goal, bits: BitSource) -> Fitted:
        """Go down from 0; the mean of the last half of the way is the model.

        Each step divides the noisy gradient by the noisy second moment, to which the size of that moment's own noise,
        sigma sqrt(d), is added: directions that the noise hides are not trusted.
        """
        width = rows.vectors.shape[1]
        moment, noise, first = moment_of(rows, goal, self.moment, bits)
        values, axes = np.linalg.eigh(moment)
        scale = loss.curvature * (np.maximum(values, 0) + noise * np.sqrt(width))
        clip = int(loss.clip * STEPS)
        mechanism = goal.gaussian(
            movers(goal.claim.neighbors) * SCALE * clip,
            share=1 - self.moment,
            times=self.steps,
            dimensions=width * loss.outputs,
        )
        weights, kept = np.zeros((width, loss.outputs)), np.zeros((width, loss.outputs))
        for step in range(self.steps):
            exact = _gradient(rows, loss, weights, clip)
            noisy = np.asarray(mechanism.release(exact, bits=bits).value) / (SCALE * STEPS)
            weights = _rounded(weights - axes @ ((axes.T @ noisy) / scale[:, None]))
            kept += weights if 2 * step >= self.steps else 0
        mean = kept / (self.steps - (self.steps + 1) // 2)
        return Fitted(mean, float(np.trace(moment)), (first, Step("gradients", mechanism, self.steps)))


@dataclass(frozen=True, slots=True)
class Statistics:
    """Least squares from noisy sums alone: the second moment, and the products of rows and targets.

    To the moment twice the size of its noise is added, sigma sqrt(d), which keeps it invertible (the ridge of Wang
    2018, arXiv:1803.02596, Algorithm 2, without its look at the smallest eigenvalue).

    >>> Statistics().moment
    Fraction(3, 10)
    """

    moment: Fraction = Fraction(3, 10)

    def fit(self, rows: Weighed, goal: Goal, bits: BitSource) -> Fitted:
        """Release both sums, and solve."""
        width = rows.vectors.shape[1]
        moment, noise, first = moment_of(rows, goal, self.moment, bits)
        most = movers(goal.claim.neighbors) * SCALE * STEPS
        mechanism = goal.gaussian(most, share=1 - self.moment, times=1, dimensions=width)
        short = np.trunc(np.rint(rows.target * STEPS) * rows.share)[:, None]
        exact = product(rows.vectors, short, most=SCALE * STEPS)
        noisy = np.asarray(mechanism.release(exact, bits=bits).value) / (SCALE * STEPS)
        values, axes = np.linalg.eigh(moment)
        ridge = np.maximum(values, 0) + 2 * noise * np.sqrt(width)
        weights: NDArray[np.float64] = axes @ ((axes.T @ noisy) / ridge[:, None])
        return Fitted(weights, float(np.trace(moment)), (first, Step("products", mechanism)))


def _rounded(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound the weights, and round them so that scores of whole rows are exact sums."""
    lengths = np.linalg.norm(weights, axis=0)
    short: NDArray[np.float64] = weights * np.minimum(1, _LARGEST / np.maximum(lengths, 1e-300))
    return np.trunc(short * _WEIGHT) / _WEIGHT


def _gradient(rows: Weighed, loss: Loss, weights: NDArray[np.float64], clip: int) -> NDArray[np.int64]:
    """Return the sum over all rows, in whole numbers.

    Scores are exact: every partial sum of x w, in whole numbers, is at most |x| |w| <= 2**14 2**38, by Cauchy and
    Schwarz: below 2**53.
    """
    total = np.zeros(weights.shape, dtype=np.int64)
    whole = weights * _WEIGHT
    for piece in blocks(rows.target.size):
        vectors = rows.vectors[piece]
        scores = (vectors @ whole) / (SCALE * _WEIGHT)
        residuals = _clipped(loss.residuals(scores, rows.target[piece]), rows.share[piece], clip)
        total += product(vectors, residuals, most=SCALE * STEPS)
    return total


def _clipped(residuals: NDArray[np.float64], share: NDArray[np.float64], clip: int) -> NDArray[np.float64]:
    """Shorten residuals to `clip` steps times the row's share: whole numbers, rounded toward 0.

    The squares of whole numbers add up exactly; 1 - 2**-20 makes up for the roundings of the factor, and truncation
    shortens. Where nothing is to be shortened, a whole number stays as it is.
    """
    lengths = np.sqrt((residuals**2).sum(axis=1))
    factor = np.where(lengths > clip, clip * (1 - 2.0**-20) / np.maximum(lengths, 1), 1) * share
    short: NDArray[np.float64] = np.trunc(residuals * factor[:, None])
    return short
