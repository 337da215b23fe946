r"""Noisy gradient descent for linear models: a noisy second moment shows the way, noisy gradients go it.

Privacy. Each row is a vector x of whole numbers with $|x| \le s$ = SCALE, and a residual r of whole numbers with
$|r| \le c$ (`clipped`); both are functions of that row, its unit's number of rows and of what was released before. Of
a unit with m rows each row counts 1/m: x is shortened by $\sqrt m$ for the moment and r by m for gradients, both toward
0.

- *Moment.* Released is the upper triangle of $\sum x x^T$, 5 times on the diagonal and 7 times off it. With
  $X = \sum x x^T$ over the rows of one unit, the square of its part is
  $25 \sum_j X_{jj}^2 + 49 \sum_{j<k} X_{jk}^2 \le 25 |X|_F^2$, as $49 \le 2 \cdot 25$, and
  $|X|_F \le \sum |x|^2 \le m \cdot s^2/m$. So one unit more moves it by at most $5 s^2$ in L2.
- *Products.* $\sum x y$ with targets of at most STEPS steps moves as gradients do, by $s$ STEPS; beside it stands
  $\sum y^2$ in units in which it moves by at most a third of that: together by $s$ STEPS $\sqrt{10/9}$.
- *Gradients.* $\sum x r^T$ moves by at most $\sum |x| |r| \le m \cdot s \cdot c/m = sc$ in L2.

Under change-one one unit leaves and another enters: twice as far, by the triangle inequality. All sums are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.methods.learning.tabular.features import SCALE, lengths, unit_rows
from discreet.methods.learning.tabular.losses import STEPS
from discreet.methods.learning.tabular.sums import blocks, product
from discreet.methods.learning.tabular.training import Step, kept, movers
from discreet.noise import poisson_subset
from discreet.privacy import ZCDP
from discreet.privacy.relations import NeighborRelation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.learning.tabular.losses import Loss
    from discreet.methods.learning.tabular.training import Goal
    from discreet.noise import BitSource

__all__ = ["Descent", "Fitted", "Statistics", "Weighed", "clipped", "moment_of"]

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
    units: NDArray[np.int64]

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
        return Weighed(unit_rows(values[there]), goal, 1 / counts[places].astype(np.float64), places)

    def sampled(self, rate: Fraction, bits: BitSource) -> Weighed:
        """Return the rows of units that are each drawn with this chance."""
        if rate == 1:
            return self
        there = np.zeros(int(self.units.max(initial=-1)) + 1, dtype=bool)
        there[poisson_subset(there.size, rate, bits=bits)] = True
        drawn = there[self.units]
        return Weighed(self.vectors[drawn], self.target[drawn], self.share[drawn], self.units[drawn])


@dataclass(frozen=True, slots=True)
class Fitted:
    """What came of it: weights for each output, the steps that saw rows, and about how many units there are, if paid.

    >>> Fitted(np.zeros((2, 1)), 100.0, ()).size
    100.0
    """

    weights: NDArray[np.float64]
    size: float | None
    steps: tuple[Step, ...]
    spread: float = 1.0
    """The mean square of what the weights leave over, if it was paid for."""
    covariance: NDArray[np.float64] | None = None
    """How uncertain the weights are, by the rows and by the noise, if it is known."""


@cache
def _sampled(goal: Goal, first: Step, length: int, dimensions: int, descent: Descent) -> Gaussian:
    """Return the least noise, within 3 %, for which all sampled steps are worth their price."""
    full = goal.gaussian(length, share=1 - descent.moment, times=descent.steps, dimensions=dimensions)
    best, low, high = full, 0.0, 2 * math.log2(1 / descent.rate)
    for _ in range(8):
        middle = (low + high) / 2
        sigma = full.sigma / rational(2**middle)
        narrow = Gaussian(length, sigma=sigma, dimensions=dimensions, neighbors=full.neighbors)
        good = kept(goal.claim, (first, Step("gradients", narrow, descent.steps, descent.rate)))
        best, low, high = (narrow, middle, high) if good else (best, low, middle)
    return best


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
    rate: Fraction = Fraction(1)
    """The chance that a unit takes part in a step, whatever the others do (Poisson sampling)."""

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
        mechanism = self._mechanism(goal, first, SCALE * clip, width * loss.outputs)
        weights, kept = np.zeros((width, loss.outputs)), np.zeros((width, loss.outputs))
        for step in range(self.steps):
            exact = _gradient(rows.sampled(self.rate, bits), loss, weights, clip)
            noisy = np.asarray(mechanism.release(exact, bits=bits).value) / (SCALE * STEPS * float(self.rate))
            weights = _rounded(weights - axes @ ((axes.T @ noisy) / scale[:, None]))
            kept += weights if 2 * step >= self.steps else 0
        mean = kept / (self.steps - (self.steps + 1) // 2)
        return Fitted(mean, float(np.trace(moment)), (first, Step("gradients", mechanism, self.steps, self.rate)))

    def _mechanism(self, goal: Goal, first: Step, length: int, dimensions: int) -> Gaussian:
        """Return the noise of one step; of a sampled one it is as small as the price allows, by bisection."""
        told: dict[str, Any] = {"share": 1 - self.moment, "dimensions": dimensions}
        length = movers(goal.claim.neighbors) * length
        if self.rate == 1:
            return goal.gaussian(length, times=self.steps, **told)
        if isinstance(goal.claim, ZCDP) or goal.claim.neighbors is not NeighborRelation.ADD_REMOVE:
            msg = (
                f"rate is {shown(self.rate)}; sampling units pays for epsilon with delta under add/remove alone. "
                "Write rate=1, or give the price as epsilon."
            )
            raise ParameterError(msg)
        return _sampled(goal, first, length, dimensions, self)


@dataclass(frozen=True, slots=True)
class Statistics:
    r"""Least squares from noisy sums alone: the second moment, the products of rows and targets, and squared targets.

    All that follows is post-processing, the choice of the ridge among it. Wang 2018 (arXiv:1803.02596, Algorithm 2,
    AdaSSP) pays for a look at the smallest eigenvalue of the moment; here it is read from the noisy moment itself,
    which the ridge lifts to at least $2\sigma\sqrt d$, twice the size of its noise. Among the ridges from there to
    four times as much, the one is taken for which the noisy loss is smallest, once what noise makes it look better by
    is added: with $A = M + \text{ridge}$, noise of size $\sigma_M$ on M and $\sigma_v$ on the products, and weights w,
    $2\,\mathrm{tr}(A^{-1})(\sigma_v^2 + \sigma_M^2 |w|^2)$ (Mallows 1973, doi:10.1080/00401706.1973.10489103).

    >>> Statistics().moment
    Fraction(3, 10)
    """

    moment: Fraction = Fraction(3, 10)
    whole: Fraction = Fraction(1)
    """What it may cost, of the goal."""

    def fit(self, rows: Weighed, goal: Goal, bits: BitSource) -> Fitted:
        """Release the sums, and solve."""
        width = rows.vectors.shape[1]
        moment, noise, first = moment_of(rows, goal, self.moment * self.whole, bits)
        most = math.isqrt((SCALE * STEPS) ** 2 * 10 // 9) + 1
        mechanism = goal.gaussian(
            movers(goal.claim.neighbors) * most,
            share=(1 - self.moment) * self.whole,
            times=1,
            dimensions=width + 1,
        )
        whole = np.rint(rows.target * STEPS)
        exact = product(rows.vectors, np.trunc(whole * rows.share)[:, None], most=SCALE * STEPS)[:, 0]
        squares = np.trunc(whole**2 * rows.share * (SCALE / STEPS / 3)).astype(np.int64).sum()
        noisy = np.asarray(mechanism.release(np.r_[exact, squares], bits=bits).value, dtype=float) / (SCALE * STEPS)
        spread = float(mechanism.sigma) / SCALE / STEPS
        steps = (first, Step("products", mechanism))
        return _solved(moment, noisy[:-1], float(noisy[-1]) * 3, (noise, spread), steps)


def _solved(
    moment: NDArray[np.float64],
    products: NDArray[np.float64],
    squares: float,
    noise: tuple[float, float],
    steps: tuple[Step, ...],
) -> Fitted:
    """Choose a ridge, solve, and say how uncertain that is; of released numbers alone."""
    of_moment, of_products = noise
    size, (values, axes) = max(float(np.trace(moment)), 1.0), np.linalg.eigh(moment)
    turned, seen = axes.T @ products, np.maximum(values, 0)
    unit = of_moment * math.sqrt(values.size)
    scores = []
    for ridge in unit * 2.0 ** np.arange(1, 4) + max(-float(values[0]), 0) / 2:
        weights = turned / (seen + ridge)
        luck = (of_products**2 + of_moment**2 * (weights**2).sum()) * (1 / (seen + ridge)).sum()
        scores.append(((seen * weights**2 - 2 * turned * weights).sum() + 2 * luck, ridge))
    least, ridge = min(scores)
    weights = turned / (seen + ridge)
    spread = min(max((squares + float(least) + 6 * of_products) / size, 2.0**-12), 1.0)  # 6: its noise, twice
    # what the weights are off by: A**-1 (noise of products - noise of moment w + rows' own - ridge w)
    own = of_products**2 + 2 * (7 / 5 * of_moment) ** 2 * (weights**2).sum()
    inner = np.diag(own + spread * seen) + ridge**2 * np.outer(weights, weights)
    covariance = inner / np.outer(seen + ridge, seen + ridge)
    return Fitted((axes @ weights)[:, None], size, steps, spread, axes @ covariance @ axes.T)


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
        residuals = clipped(loss.residuals(scores, rows.target[piece]), rows.share[piece], clip)
        total += product(vectors, residuals, most=SCALE * STEPS)
    return total


def clipped(residuals: NDArray[np.float64], share: NDArray[np.float64], clip: int) -> NDArray[np.float64]:
    """Shorten residuals to `clip` steps times the row's share: whole numbers, rounded toward 0.

    The squares of whole numbers add up exactly; 1 - 2**-20 makes up for the roundings of the factor, and truncation
    shortens. Where nothing is to be shortened, a whole number stays as it is.

    >>> clipped(np.array([[3.0, 4.0], [30.0, 40.0]]), np.ones(2), 10).tolist()
    [[3.0, 4.0], [5.0, 7.0]]
    """
    lengths = np.sqrt((residuals**2).sum(axis=1))
    factor = np.where(lengths > clip, clip * (1 - 2.0**-20) / np.maximum(lengths, 1), 1) * share
    short: NDArray[np.float64] = np.trunc(residuals * factor[:, None])
    return short
