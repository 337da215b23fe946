r"""Noise in the objective, and models that are drawn: minima whose law itself is the promise.

Both have a continuous law that a program only comes close to. What it computes lies within a stated distance $\tau$ of
a draw from the exact law, surely; then Gaussian noise for a distance of $2\tau$ is added on a public grid. Given the
exact draw, neighbors differ in what was added to it by at most $2\tau$, so this costs what that noise costs, on top
(the approximate minima of Iyengar et al. 2019, doi:10.1109/SP.2019.00001; Redberg, Koskela & Wang 2023).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, rational, shown, sqrt_upper
from discreet.mechanisms.inputs.parameters import read_positive
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.mechanisms.release import Release
from discreet.methods.learning.tabular.descent import Fitted, Statistics, Weighed
from discreet.methods.learning.tabular.features import SCALE
from discreet.methods.learning.tabular.losses import Squared
from discreet.methods.learning.tabular.minimum import SMALL, Objective, minimizer
from discreet.methods.learning.tabular.sums import blocks
from discreet.methods.learning.tabular.training import Step, kept, movers
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import ZCDP, NeighborRelation, curves
from discreet.privacy.convert import convert

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.methods.learning.tabular.losses import Loss
    from discreet.methods.learning.tabular.training import Goal
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

    Floats = NDArray[np.float64]
    Fit = Callable[[Weighed, Loss, "Price", BitSource], Fitted]

__all__ = [
    "LEAST_RIDGE",
    "PerturbedObjective",
    "PosteriorSample",
    "Price",
    "fit_adapted",
    "fit_objective",
    "fit_output",
    "fit_posterior",
]

_ORDERS = (1.1, 1.25, 1.5, 1.75, *range(2, 33), 40, 48, 64, 96, 128, 192, *(1 << power for power in range(8, 45)))
_SLIP = Fraction(1, 100)  # what the distance from the exact law costs, of the whole
_FIRST = Fraction(1, 3)  # what the first stage of two costs, of the whole
LEAST_RIDGE = Fraction(1, 64)
"""With less, the gradient that proves a minimum would be as small as what a sum of 2**24 floats may be off by."""
_UP = 1 + 2.0**-40  # covers what floats are off by where a cost is computed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn(Mechanism["Objective", Any]):
    """A law with Renyi divergences of its own, and Gaussian noise for the distance from it.

    `reach` is how long a unit's gradient is at most, in units of the noise: mu. `shift` is what one unit changes the
    curvature by at most, in units of the ridge.
    """

    ridge: Fraction
    reach: Fraction
    shift: Fraction
    slip: Gaussian
    neighbors: Relation = NeighborRelation.ADD_REMOVE

    accuracy: ClassVar[str] = "that of predictions is measured on rows that were not trained on"
    no_error_because: ClassVar[str] = "how far noise moves a minimum depends on the rows."

    def __post_init__(self) -> None:
        for name in ("ridge", "reach", "shift"):
            object.__setattr__(self, name, read_positive(getattr(self, name), name, zero="there is nothing to protect"))

    @abstractmethod
    def _divergence(self, order: float) -> float:
        """Return a bound on the Renyi divergences of this order, in both directions; infinity where there is none."""

    @property
    @abstractmethod
    def rho(self) -> Fraction:
        """A bound on all of them, as zCDP; that of the slip excluded."""

    @property
    def privacy(self) -> Curve:
        """The curve of these divergences, and that of the slip."""
        known = [(order, value) for order in _ORDERS if math.isfinite(value := self._divergence(order))]
        values = [max(value, 0.0) * _UP for _, value in known]
        return curves.rdp([order for order, _ in known], values, neighbors=self.neighbors) + self.slip.privacy

    @property
    def claim(self) -> ZCDP:
        """The divergences as zCDP, and what the slip costs."""
        slip = self.slip.claim
        assert isinstance(slip, ZCDP)  # noqa: S101 - it is made from a rho
        return ZCDP(self.rho + slip.rho, neighbors=self.neighbors)

    def _slipped(self, drawn: Floats, bits: BitSource) -> Release[Floats]:
        """Add the noise that covers the distance from the exact law."""
        noisy = np.asarray(self.slip.release(drawn, bits=bits).value, dtype=float)
        return Release(noisy.reshape(drawn.shape), self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedObjective(_Drawn):
    r"""The minimum of a convex loss with a random linear part: objective perturbation.

    Privacy. Let $\theta$ minimize $\sum \ell_i(\theta) + \frac\Lambda2|\theta|^2 + \langle b, \theta\rangle$ with
    $b \sim N(0, \sigma^2 I)$. Given the rows, $b$ and $\theta$ determine each other, $b = -\nabla$ of the rest, with
    the determinant of the Hessian $H \succeq \Lambda$. Let a unit more have the gradient
    $g = \sum_j \frac1m \ell'_j x_j$, with $|x_j| \le 1$ and $|\ell'_j| \le L$, and the Hessian $A \succeq 0$ of trace
    at most $\beta$. Then the log-ratio of the two densities of $\theta$ is at most

    - $\ln\det(I + H^{-1}A) \le \mathrm{tr}(H^{-1}A) \le \beta/\Lambda$, and in the other direction at most 0, plus
    - $(2\langle b, g\rangle + |g|^2)/(2\sigma^2)$, where g depends on b. But
      $|\langle b, g\rangle| \le \frac Lm \sum_j |\langle b, x_j\rangle|$, a mean of numbers that are each distributed
      as $\sigma|N(0,1)|$ or less, and the mean of exponentials is at most what one of them has (Jensen).

    With $\mu = L/\sigma$, $c = \beta/\Lambda$ and Renyi order $\alpha$ the divergence is at most
    $c + \alpha\mu^2/2 + \ln(2\Phi((\alpha-1)\mu))/(\alpha-1)$: Theorem 3.2 of Redberg, Koskela & Wang 2023
    (arXiv:2401.00583), who correct the proof of Kifer, Smith & Thakurta 2012, which took $\langle b, g\rangle$ for a
    normal number. As $\ln(2\Phi(x)) \le x\sqrt{2/\pi}$, it is $(c + \mu\sqrt{2/\pi} + \mu^2/2)$-zCDP. Where one unit
    leaves and another enters, the gradients add up to 2L, and the determinants are compared with the one without
    either. Only scores that are one number for a row have gradients along x: two classes, or a regression.

    >>> slip = Gaussian(1, rho="0.001")
    >>> made = PerturbedObjective(ridge=10, reach="0.2", shift="0.025", slip=slip)
    >>> round(float(made.claim.rho), 4), 0.6 < made.privacy.epsilon("1e-6") < 1.6
    (0.206, True)
    """

    kind: ClassVar[str] = "perturbed_objective"
    guarantee: ClassVar[str] = (
        "The minimum of a convex loss of linear scores, with a ridge and a normal linear part, has bounded Renyi "
        "divergences from that of neighbors; noise covers the distance of the computed minimum from the exact one."
    )
    source: ClassVar[str] = "Redberg, Koskela & Wang 2023, arXiv:2401.00583, Theorem 3.2"

    def _divergence(self, order: float) -> float:
        from scipy.special import log_ndtr

        mu, more = float(self.reach), order - 1
        return float(self.shift) + order * mu**2 / 2 + (math.log(2) + float(log_ndtr(more * mu))) / more

    @property
    def rho(self) -> Fraction:
        """4 / 5 is more than sqrt(2 / pi) = 0.7979."""
        return self.shift + self.reach * Fraction(4, 5) + self.reach**2 / 2

    def release(self, value: Objective, *, bits: BitSource = SYSTEM) -> Release[Floats]:
        """Return a minimum; what rounds the random part moves it by less than SMALL / 2."""
        sigma = rational(value.loss.steepest) * movers(self.neighbors) / self.reach
        noise = Gaussian(1, sigma=sigma, dimensions=value.tilt.size, grid=Grid.below(sigma, bits=38), inputs="snapped")
        if noise.grid.rounding_l2(value.tilt.size) > rational(SMALL) / 2 * self.ridge:
            msg = f"ridge is {shown(self.ridge)}; it is too small beside noise of {float(sigma):.3g}. Leave it out."
            raise ParameterError(msg)
        tilt = np.asarray(noise.release(np.zeros(value.tilt.shape), bits=bits).value, dtype=float)
        perturbed = Objective(value.rows, value.loss, float(self.ridge), tilt.reshape(value.tilt.shape))
        return self._slipped(minimizer(perturbed), bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorSample(_Drawn):
    r"""A draw from the posterior of a linear regression whose mode lies within a ball: one posterior sample.

    Privacy. Let $H = \sum s_i x_i x_i^\top + \Lambda I$, let $c$ minimize
    $J(\theta) = \frac12\sum s_i (y_i - x_i\theta)^2 + \frac\Lambda2|\theta|^2$ over $|\theta| \le P$, and release
    $\theta \sim N(c, (\gamma H)^{-1})$. A unit more adds $A \succeq 0$ to H, with $\mathrm{tr}(A) \le 1$, and to the
    gradient on the ball at most $R = 1 + P$. J is a square of curvature H, so $(c'-c)^\top H (c'-c) \le R^2/\Lambda$,
    and the same with H', A added. With $t = 1/\Lambda$ and $\mu^2 = \gamma R^2/\Lambda$, two normal laws whose
    covariances have eigenvalues $1 : 1/(1+b_k)$, $\sum b_k \le t$, have Renyi divergences of at most

    - $\frac\alpha2\mu^2\frac{1+t}{1-(\alpha-1)t} - \frac{\ln(1-(\alpha-1)t)}{2(\alpha-1)} - \frac12\ln(1+t)$, and
    - $\frac\alpha2\mu^2 + \frac{\alpha\ln(1+t) - \ln(1+\alpha t)}{2(\alpha-1)}$

    (Gil, Alajaji & Linder 2013, doi:10.1016/j.ins.2013.06.018), the logarithms being convex in $b \le t$ where
    $(\alpha - 1)t < 1$ and $\alpha t^2 \le 1$. Posterior sampling: Wang, Fienberg & Smola 2015 (arXiv:1502.07645); for
    regression Wang 2018 (arXiv:1803.02596), whose bound on c holds with high probability, where ours is a ball.

    >>> made = PosteriorSample(ridge=100, reach="0.2", shift="0.01", slip=Gaussian(1, rho="0.0001"))
    >>> 0.7 < made.privacy.epsilon("1e-6") < 1.3
    True
    """

    kind: ClassVar[str] = "posterior_sample"
    guarantee: ClassVar[str] = (
        "A normal draw around the minimum of a sum of squares within a ball, with its curvature, has bounded Renyi "
        "divergences from that of neighbors; noise covers the distance of the computed draw from the exact one."
    )
    source: ClassVar[str] = "Wang, Fienberg & Smola 2015, arXiv:1502.07645; Wang 2018, arXiv:1803.02596"

    def _divergence(self, order: float) -> float:
        square, shift, more = float(self.reach) ** 2, float(self.shift), order - 1
        if 2 * more * shift > 1 or order * shift**2 > 1:
            return math.inf
        log = math.log1p
        there = order / 2 * square * (1 + shift) / (1 - more * shift)
        there += -log(-more * shift) / (2 * more) - log(shift) / 2
        back = order / 2 * square + (order * log(shift) - log(order * shift)) / (2 * more)
        return max(there, back)

    @property
    def rho(self) -> Fraction:
        """Refuse: at high orders there is none."""
        msg = "a posterior sample has no zCDP promise; give the price as epsilon and delta."
        raise ParameterError(msg)

    def release(self, value: Objective, *, bits: BitSource = SYSTEM) -> Release[Floats]:
        """Return a draw; `steepest` of the loss is 1 + P."""
        rows, ridge, steepest = value.rows, float(self.ridge), value.loss.steepest
        matrix, products = ridge * np.eye(value.tilt.shape[0]), np.zeros(value.tilt.shape)
        for piece in blocks(rows.target.size):
            vectors = rows.vectors[piece] / SCALE
            matrix = matrix + (vectors * rows.share[piece, None]).T @ vectors
            products = products + vectors.T @ (rows.target[piece] * rows.share[piece])[:, None]
        values, axes = np.linalg.eigh(matrix)
        values = np.maximum(values, ridge)
        mode = _within(values, axes.T @ products, steepest - 1)
        noise = Gaussian(1, sigma=1, dimensions=mode.size, grid=2.0**-40, inputs="snapped")
        drawn = np.asarray(noise.release(np.zeros(mode.shape), bits=bits).value, dtype=float)
        narrow = float(self.reach) / steepest * np.sqrt(ridge * values)  # sqrt(gamma H)
        return self._slipped(axes @ (mode + drawn.reshape(mode.shape) / narrow[:, None]), bits)


def _within(values: Floats, products: Floats, radius: float) -> Floats:
    """Minimize a square of these eigenvalues over a ball: with a further ridge, where the minimum lies outside."""
    low, high = 0.0, float(np.linalg.norm(products)) / radius
    if np.linalg.norm(products / values[:, None]) <= radius:
        return products / values[:, None]
    for _ in range(200):
        middle = (low + high) / 2
        inside = np.linalg.norm(products / (values + middle)[:, None]) <= radius
        low, high = (low, middle) if inside else (middle, high)
    return products / (values + high)[:, None]


@dataclass(frozen=True, slots=True)
class Price:
    """What a minimum may cost: a goal, less the steps before it; and the ridge, if it is given.

    >>> from discreet.methods.learning.tabular.training import Goal
    >>> round(Price(Goal.of(rho="0.5")).left, 6)
    1.0
    """

    goal: Goal
    ridge: Fraction | None = None
    before: tuple[Step, ...] = ()

    @property
    def share(self) -> Fraction:
        """What is left, of the whole."""
        spent = (convert(step.mechanism.claim, to=ZCDP).rho * step.times for step in self.before)
        return 1 - sum(spent, start=Fraction(0)) / self.goal.rho

    @property
    def left(self) -> float:
        """How far a unit may move what is left to pay for, in units of Gaussian noise."""
        return math.sqrt(2 * float(self.goal.rho * self.share))

    def strong(self, size: float) -> Fraction:
        """Return the ridge that is given, or one of about this size: a number with few digits."""
        return self.ridge or max(Fraction(math.ceil(size * 1000), 1000), LEAST_RIDGE)

    def slip(self, distance: Fraction, dimensions: int) -> Gaussian:
        """Return the noise for two points that are both so far from the same one."""
        return self.goal.gaussian(2 * distance, share=self.share * _SLIP, times=1, dimensions=dimensions)

    def law(self, make: type[_Drawn], ridge: Fraction, shift: Fraction, slip: Gaussian) -> _Drawn:
        """Return the law with the least noise that the price allows."""
        return _calibrated(self.goal, make, (ridge, shift, slip), self.before)


@cache
def _calibrated(
    goal: Goal, make: type[_Drawn], public: tuple[Fraction, Fraction, Gaussian], before: tuple[Step, ...]
) -> _Drawn:
    """Return the law with the least noise that the price allows, beside the steps before it."""
    ridge, shift, slip = public
    low, high = Fraction(0), 2 * sqrt_upper(2 * goal.rho)
    for _ in range(26):
        middle = (low + high) / 2
        law = make(ridge=ridge, reach=middle, shift=shift, slip=slip, neighbors=goal.claim.neighbors)
        low, high = (middle, high) if kept(goal.claim, (*before, Step("a law", law))) else (low, middle)
    if not low:
        msg = f"ridge is {shown(ridge)}; at this price it takes a larger one. Leave it out, or give more epsilon."
        raise ParameterError(msg)
    return make(ridge=ridge, reach=low, shift=shift, slip=slip, neighbors=goal.claim.neighbors)


def fit_output(rows: Weighed, loss: Loss, price: Price, bits: BitSource) -> Fitted:
    r"""Minimize, and add noise to the minimum: output perturbation.

    A unit more adds a loss whose gradient is at most L long to one that is $\Lambda$-strongly convex, so the minimum
    moves by at most $L/\Lambda$ (Chaudhuri, Monteleoni & Sarwate 2011, arXiv:0912.0071, Lemma 7); where one unit leaves
    and another enters, by $2L/\Lambda$. Of least squares $|y - \langle\theta, x\rangle|\,|x|$ is such an L: with
    $|y| \le N$, $|x| \le M$ and $|\theta| \le P$ it is $NM + PM^2$. Both computed minima may lie SMALL off.
    """
    dimensions = rows.vectors.shape[1] * loss.outputs
    strong = price.strong(4 * math.sqrt(dimensions) * loss.steepest / price.left)
    moved = movers(price.goal.claim.neighbors) * rational(loss.steepest) / strong + 2 * rational(SMALL)
    minimum = minimizer(Objective(rows, loss, float(strong), np.zeros((rows.vectors.shape[1], loss.outputs))))
    mechanism = price.goal.gaussian(moved, share=price.share, times=1, dimensions=dimensions)
    noisy = np.asarray(mechanism.release(minimum, bits=bits).value, dtype=float).reshape(minimum.shape)
    return Fitted(noisy, None, (*price.before, Step("minimum", mechanism)))


def fit_objective(rows: Weighed, loss: Loss, price: Price, bits: BitSource) -> Fitted:
    """Minimize with noise in the objective; without a ridge it is such that curvature costs a tenth of the price."""
    if loss.outputs > 1:
        msg = "objective perturbation is proved for two classes; write method='gradient' or 'output' for more."
        raise ParameterError(msg)
    claim = price.goal.claim
    whole = claim.rho if isinstance(claim, ZCDP) else claim.epsilon
    wide = math.sqrt(rows.vectors.shape[1]) * loss.steepest / price.left
    strong = price.strong(max(10 * loss.trace / float(whole * price.share), 2 * wide))
    slip = price.slip(rational(SMALL), rows.vectors.shape[1])
    law = price.law(PerturbedObjective, strong, rational(loss.trace) / strong, slip)
    objective = Objective(rows, loss, float(strong), np.zeros((rows.vectors.shape[1], 1)))
    weights = np.asarray(law.release(objective, bits=bits).value)
    return Fitted(weights, None, (*price.before, Step("perturbed objective", law)))


def fit_posterior(rows: Weighed, loss: Loss, price: Price, bits: BitSource) -> Fitted:
    """Draw from the posterior of a regression; without a ridge it is such that the ball hardly matters to the draw."""
    if price.goal.claim.neighbors is not NeighborRelation.ADD_REMOVE:
        msg = "posterior sampling is proved here for units that are there or not; leave neighbors at add/remove."
        raise ParameterError(msg)
    width = rows.vectors.shape[1]
    strong = price.strong(max(2 * math.sqrt(width) * loss.steepest / (loss.steepest - 1), 20) / price.left)
    law = price.law(PosteriorSample, strong, 1 / strong, price.slip(sqrt_upper(1 / strong) / 1024, width))
    weights = np.asarray(law.release(Objective(rows, loss, float(strong), np.zeros((width, 1))), bits=bits).value)
    return Fitted(weights, None, (*price.before, Step("posterior sample", law)))


def fit_adapted(rows: Weighed, fit: Fit, price: Price, bits: BitSource, *, radius: float) -> Fitted:
    """Learn from noisy sums where the model is and how far rows are from it; then look there, at that scale.

    The first third of the price buys sums, from which follow weights and the mean square of what they leave over.
    Targets are replaced by what is left over, clipped at twice its root, and divided by it: numbers between -1 and 1
    again, each a function of its row and of what was released. So the second stage keeps its promise whatever the
    first one came to, and its noise is smaller by the factor that they were divided by.
    """
    first = Statistics(whole=_FIRST).fit(rows, price.goal, bits)
    scale = min(max(2 * math.sqrt(first.spread), 1 / 64), 1.0)
    left = np.clip((rows.target - (rows.vectors / SCALE) @ first.weights[:, 0]) / scale, -1, 1)
    again = Price(price.goal, price.ridge, first.steps)
    second = fit(Weighed(rows.vectors, left, rows.share, rows.units), Squared(steepest=1 + radius), again, bits)
    return Fitted(first.weights + scale * second.weights, first.size, second.steps)
