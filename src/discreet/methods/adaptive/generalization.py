"""What a promise says about overfitting: how far a statistic of a sample may lie from that of the population."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, rational, shown
from discreet.exact.rational import read_choice, read_delta, read_nonnegative
from discreet.mechanisms.inputs.parameters import miss as missed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import SupportsIndex

    from discreet.exact import Number

__all__ = [
    "SLACKS",
    "AdaptiveQuestions",
    "GeneralizationBound",
    "Notion",
    "adaptive_questions",
    "generalization_bound",
    "posterior_gap",
    "transferred",
]

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35)
"""Shares of an error that may go to what is bounded by Markov's inequality; any share keeps the bound."""

SLACKS = tuple(2.0 ** (-place / 2) for place in range(2, 25))
"""The same in absolute terms, between 1/4096 and 1/2."""


class Notion(Enum):
    """In which sense an analysis does not overfit.

    >>> Notion("perfect")
    <Notion.PERFECT: 'perfect'>
    """

    EXPECTATION = "expectation"
    """On average over samples, for one function that was chosen with the help of the output."""
    ROBUST = "robust"
    """With the stated confidence, whoever sees the output finds no function that overfits."""
    PERFECT = "perfect"
    """The output could have been made without the sample, by somebody who knows the population alone."""


@dataclass(frozen=True, slots=True)
class GeneralizationBound:
    """How far the mean of a function over the sample may lie from its mean over the population, and why.

    >>> generalization_bound(0.1, n=10_000).theorem
    'max-information (Dwork et al. 2015, arXiv:1506.02629) and Hoeffding 1963'
    """

    overfit: float
    confidence: float | None
    notion: Notion
    theorem: str
    conditions: tuple[str, ...]

    def __str__(self) -> str:
        chance = "on average" if self.confidence is None else f"with probability {self.confidence:.10g}"
        return f"± {self.overfit:.4g} {chance} ({self.theorem}); {'; '.join(self.conditions)}"


_ROWS = "the rows are drawn independently from the population"
_ONE = "neighbors differ in one row's value, and n is public"
_UNIT = "functions of one row, with values in [0, 1]"


def generalization_bound(  # noqa: PLR0913 - each is a public fact
    epsilon: Number,
    delta: Number = 0,
    *,
    n: SupportsIndex,
    confidence: float = 0.95,
    questions: SupportsIndex = 1,
    notion: Notion | str = Notion.ROBUST,
    miss: Number = 0,
) -> GeneralizationBound:
    r"""Bound the overfitting of whatever is chosen with the help of an (ε, δ)-differentially private output.

    **On average.** Given the output, each row's value is drawn from a law whose ratio to the population's lies between
    a and $a e^\varepsilon$ for some a, and has mean 1: such laws are at most $\tanh(\varepsilon/4)$ apart. With δ the
    outputs on neighbors are at most $(e^\varepsilon - 1 + 2\delta)/(e^\varepsilon + 1)$ apart (Kairouz, Oh & Viswanath
    2015), and so is the mean of the function over the sample from that over the population.

    **Robustly, δ = 0.** For a sample S of independent rows the log-likelihood of an output moves by at most ε with each
    row: its distance W from its mean is sub-Gaussian with variance $v = n\varepsilon^2/4$ (McDiarmid), and $E[e^W; W\ge
    k]\le\beta$ for $k = 2v + \sqrt{2v\ln(2/\beta)}$. So all but β of the pairs (S, output) are at most $e^k$ times as
    likely as if they were independent (approximate max-information: Dwork et al. 2015, arXiv:1506.02629), and
    independent functions overfit by α with probability at most $2m e^{-2n\alpha^2}$ (Hoeffding).

    **Robustly, δ > 0.** By transfer (`transferred`) of an output that shows, beside the real one, the function that
    overfits most and its mean over the sample, both with the noise of the theorem's own choosing.

    **Perfectly.** If but for a chance `miss` of the sample the output is (ε, δ)-close to one that does not depend on it
    (Cummings et al. 2016, arXiv:1602.07726), then by Hoeffding's inequality for that one, m functions overfit by α with
    probability at most $2m e^{\varepsilon - 2n\alpha^2} + \delta$ + `miss`.

    `questions` says among how many functions, fixed by the output, the worst is meant.

    >>> bound = generalization_bound(0.1, n=10_000)
    >>> round(bound.overfit, 3), round(generalization_bound(0.1, n=10_000, notion="expectation").overfit, 3)
    (0.059, 0.025)
    """
    rate, chance = float(read_nonnegative(epsilon, "epsilon")), float(read_delta(delta))
    rows = integer(n, name="n", least=1)
    count = integer(questions, name="questions", least=1)
    kind = read_choice(Notion, notion, "notion")
    wrong = float(missed(confidence))
    if kind is Notion.EXPECTATION:
        small = math.exp(-rate)
        average = math.tanh(rate / 4) if chance == 0 else (1 - small + 2 * chance * small) / (1 + small)
        source = "posterior of one row" if chance == 0 else "Kairouz, Oh & Viswanath 2015, arXiv:1311.0776"
        return GeneralizationBound(min(1.0, average), None, kind, source, (_ROWS, _ONE, _UNIT))
    if kind is Notion.PERFECT:
        return _perfect(rate, chance + float(rational(miss, name="miss")), rows, count, wrong)
    if chance == 0:
        k = rate**2 * rows / 2 + rate * math.sqrt(rows * math.log(4 / wrong) / 2)
        overfit = math.sqrt((k + math.log(4 * count / wrong)) / (2 * rows))
        source = "max-information (Dwork et al. 2015, arXiv:1506.02629) and Hoeffding 1963"
    else:
        overfit = _watched(rate, chance, rows, count, wrong)
        source = "Jung et al. 2020, arXiv:1909.03577, applied to the output and the worst function's noisy mean"
    return GeneralizationBound(min(1.0, overfit), 1 - wrong, kind, source, (_ROWS, _ONE, _UNIT))


def _perfect(rate: float, lost: float, rows: int, count: int, wrong: float) -> GeneralizationBound:
    if lost >= wrong:
        msg = (
            f"delta and miss are {shown(lost)} together, and the bound may fail with probability {shown(wrong)} only; "
            "lower the confidence, or the two."
        )
        raise ParameterError(msg)
    overfit = math.sqrt((rate + math.log(2 * count / (wrong - lost))) / (2 * rows))
    source = "Cummings et al. 2016, arXiv:1602.07726, and Hoeffding 1963"
    close = "but for the chance `miss`, the output is (ε, δ)-close to one that is independent of the sample"
    return GeneralizationBound(min(1.0, overfit), 1 - wrong, Notion.PERFECT, source, (_ROWS, close, _UNIT))


def posterior_gap(epsilon: float, delta: float, slack: float) -> tuple[float, float]:
    r"""Return how far a row's law given the output may lie from the population's, and the chance that it lies farther.

    Without δ: never farther than $\tanh(\varepsilon/4)$; the likelihood ratios lie between a and $a e^\varepsilon$ with
    mean 1, and a two-valued one is the worst. With δ: call outputs bad whose gap exceeds $e^\varepsilon - 1$ + s on one
    side. The chance of bad outputs times the function, given one row's value, is at most $e^\varepsilon$ times that
    over all rows, and δ; averaged over rows, s times the chance of bad outputs is at most δ. Two sides give 2δ/s
    (Jung et al. 2020, arXiv:1909.03577, where s = 2d). From ε = 1 on a gap above 1 says nothing, whatever it is.

    >>> posterior_gap(0.0, 0.0, 0.0), [round(x, 3) for x in posterior_gap(0.1, 1e-6, 0.01)]
    ((0.0, 0.0), [0.115, 0.0])
    """
    if delta == 0:
        return math.tanh(epsilon / 4), 0.0
    return math.expm1(min(epsilon, 1.0)) + slack, min(1.0, 2 * delta / slack) if slack else 1.0


def transferred(
    sample_error: Callable[[float], float],
    pairs: Callable[[], Iterator[tuple[float, float]]],
    wrong: float,
) -> float:
    r"""Bound the error of answers against the population by their error against the sample.

    `sample_error(s)`: with probability 1 − s all answers are that close to the sample's. `pairs()`: (ε, δ) that the
    answers keep. Given the answers, another sample drawn from the law of samples that lead to them is as good as the
    real one; so but for a chance s/c the answers are within the sample error + c of its mean (Markov), and that is
    close to the population's by `posterior_gap`. The best c and slack of a list are taken, as they bear on no data.

    >>> round(transferred(lambda s: 0.01, lambda: iter([(0.04, 0.0)]), 0.05), 4)
    0.0202
    """
    best = 1.0
    for epsilon, delta in pairs():
        for c, slack in product(SLACKS, SLACKS if delta else (0.0,)):
            gap, lost = posterior_gap(epsilon, delta, slack)
            if lost < wrong and gap + c < best:
                best = min(best, sample_error((wrong - lost) * c) + gap + c)
    return best


def _watched(rate: float, chance: float, rows: int, count: int, wrong: float) -> float:
    """Bound the gap of the worst of `count` functions: a watcher chooses it and measures it, which costs a little.

    Chosen by the exponential mechanism it is within 2 ln(count / s) / (n e) of the worst, measured with Laplace noise
    it is within ln(1 / s) / (n e); the gap of what was measured is that of the measurement, and its error twice.
    That its error is so small is needed once more, which takes at most the largest slack's share of the chance.
    """
    best, rest = 1.0, wrong / (1 + SLACKS[0])
    for extra in np.geomspace(1e-4, 1, 25):
        spent = rate + float(extra) * (1 if count == 1 else 2)

        def error(s: float, extra: float = float(extra)) -> float:
            chosen = 0.0 if count == 1 else 2 * math.log(3 * count / s) / (rows * extra)
            return 2 * math.log(3 / s) / (rows * extra) + chosen

        def pair(spent: float = spent) -> Iterator[tuple[float, float]]:
            return iter([(spent, chance)])

        best = min(best, transferred(error, pair, rest))
    return best


@dataclass(frozen=True, slots=True)
class AdaptiveQuestions:
    """How many questions, each chosen after the answers before, a sample of n answers within an error.

    >>> adaptive_questions(1_000_000, error=0.05).private > adaptive_questions(1_000_000, error=0.05).split
    True
    """

    n: int
    error: float
    confidence: float
    private: int
    """With Gaussian noise of standard deviation `sigma` on each answer."""
    sigma: float
    split: int
    """With fresh rows for each question, without noise."""
    fixed: int
    """If all were chosen beforehand: what adaptivity costs. At most 2**62."""

    @property
    def most(self) -> int:
        """The better of the two ways that allow for choosing questions by earlier answers."""
        return max(self.private, self.split)


def adaptive_questions(n: SupportsIndex, *, error: float = 0.05, confidence: float = 0.95) -> AdaptiveQuestions:
    r"""Count how many adaptive questions (means of functions into [0, 1]) a sample of n answers within an error.

    k answers with noise N(0, σ²) are $\mu$-GDP for $\mu = \sqrt k/(n\sigma)$, as each moves by 1/n with one row; all
    are within $\sigma\Phi^{-1}(1 - s/2k)$ of the sample's but for a chance s, and the population is reached by
    `transferred`. Splitting the rows needs $\ln(2k/\beta)/(2\cdot\text{error}^2)$ of them for each question
    (Hoeffding). The first grows as n², the second as n.

    >>> found = adaptive_questions(10_000, error=0.1)
    >>> found.split, found.fixed > 10**6
    (28, True)
    """
    rows, wrong = integer(n, name="n", least=1), float(missed(confidence))
    wide = float(rational(error, name="error"))
    if not 0 < wide < 1:
        msg = f"error is {shown(error)}; it must lie strictly between 0 and 1, as the answers do."
        raise ParameterError(msg)
    private = _largest(lambda k: _best_noise(k, rows, wide, wrong)[0] <= wide)
    split = _largest(lambda k: k * math.ceil(math.log(2 * k / wrong) / (2 * wide**2)) <= rows)
    fixed = 2 * rows * wide**2 + math.log(wrong / 2)
    sigma = _best_noise(private, rows, wide, wrong)[1] if private else 0.0
    most = min(2**62, int(math.exp(min(fixed, 43.5))))
    return AdaptiveQuestions(rows, wide, 1 - wrong, private, sigma, split, most)


def _largest(holds: Callable[[int], bool]) -> int:
    if not holds(1):
        return 0
    low = 1
    while holds(2 * low):
        low *= 2
    high = 2 * low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _best_noise(k: int, rows: int, wide: float, wrong: float) -> tuple[float, float]:
    """The least error that k questions can be answered with, and the noise that does it, among a list of splits."""
    from scipy.special import ndtri

    best, chosen = math.inf, 0.0
    for epsilon in np.linspace(0.1, 0.8, 15) * math.log1p(wide):
        for c, slack in product(_SHARES, _SHARES):
            delta, s = wrong * slack * wide / 4, wrong * c * wide / 2
            sigma = math.sqrt(k) / (rows * _gdp(float(epsilon), delta))
            error = -sigma * ndtri(s / (2 * k)) + math.expm1(epsilon) + c * wide + slack * wide
            if error < best:
                best, chosen = float(error), sigma
    return best, chosen


def _gdp(epsilon: float, delta: float) -> float:
    """Return a μ that keeps (ε, δ), from below: δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle & Wang 2018)."""
    from scipy.special import ndtr

    low, high = 0.0, 1.0
    for _ in range(30):
        mu = (low + high) / 2
        lost = ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
        low, high = (mu, high) if lost <= delta else (low, mu)
    return low or 2.0**-30
