"""Which mechanism to take: every applicable one, tried on rows that are made up from public facts."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from discreet.errors import ParameterError
from discreet.exact import Number, integer, rational, shown, sqrt_lower
from discreet.mechanisms.adding.sums import adds_rows
from discreet.mechanisms.choices.joint_quantiles import JointQuantiles
from discreet.mechanisms.choices.quantile import Quantile
from discreet.mechanisms.choices.quantiles import Quantiles
from discreet.mechanisms.data_dependent.trimmed_mean import TrimmedMean
from discreet.mechanisms.inputs.columns import read_bounds
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.statistics.count import Count
from discreet.mechanisms.statistics.extremes import Maximum, Minimum
from discreet.mechanisms.statistics.mean import Mean
from discreet.mechanisms.statistics.standard_deviation import StandardDeviation
from discreet.mechanisms.statistics.sum import Sum
from discreet.mechanisms.statistics.variance import Variance
from discreet.mechanisms.words import promise_in_words
from discreet.privacy import ZCDP, Approximate, Pure

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.mechanisms.mechanism import Mechanism

__all__ = ["Option", "Recommendation", "recommend"]

_TRIALS = 200
_MOST_ROWS = 20_000
_QUARTILES = tuple(Fraction(i, 4) for i in range(1, 4))
Promise = Pure | Approximate | ZCDP


@dataclass(frozen=True, slots=True)
class Option:
    """One mechanism with the error that is expected of it.

    >>> from discreet.mechanisms import Count
    >>> Option("discrete Laplace noise", Count(epsilon=1), 1.4).expected_error
    1.4
    """

    name: str
    mechanism: Mechanism[Any, Any]
    expected_error: float


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation:
    """All applicable mechanisms for a statistic, the best first; it prints as a table.

    >>> found = recommend("count", Pure(1), n=1000)
    >>> print(str(found).splitlines()[0])
    count, ε = 1, n = 1000: root mean squared error on made-up rows
    >>> found.chosen.mechanism.promise
    'ε = 1'
    """

    statistic: str
    promise: str
    n: int
    options: tuple[Option, ...]

    @property
    def chosen(self) -> Option:
        """The option with the least expected error."""
        return self.options[0]

    def __repr__(self) -> str:
        lines = [f"{self.statistic}, {self.promise}, n = {self.n}: root mean squared error on made-up rows"]
        width = max(len(option.name) for option in self.options)
        for option in self.options:
            mark = "  <- chosen" if option is self.chosen else ""
            lines.append(f"  {option.name:{width}}  {option.expected_error:.3g}{mark}")
        return "\n".join(lines)


def recommend(
    statistic: str,
    privacy: Promise | Number,
    n: SupportsIndex,
    bounds: tuple[Number, Number] = (0, 1),
    *,
    spread: Number | None = None,
) -> Recommendation:
    """Compare the mechanisms for a statistic on made-up rows, and choose the one with the least error.

    Everything is public: the promise, the number of rows n, the bounds, and `spread`, a guess of the rows' standard
    deviation. The rows are the quantiles of a normal law in the middle of the bounds with this deviation, or evenly
    spread between the bounds without it. Each mechanism is run on them 200 times, so figures are rough to a few
    percent. More than 20,000 rows are represented by 20,000; errors of averages then shrink in proportion.

    A number as `privacy` is a pure epsilon under add/remove.

    >>> recommend("mean", Pure(1), n=1000, bounds=(0, 1000), spread=10).chosen.name
    'trimmed mean'
    >>> sorted(option.name for option in recommend("count", ZCDP("0.5"), n=1000).options)
    ['count, Gaussian noise', 'count, discrete Laplace noise']
    """
    if not isinstance(statistic, str) or statistic not in _STATISTICS:
        msg = f"statistic is {shown(statistic)}; it must be one of {', '.join(_STATISTICS)}."
        raise ParameterError(msg)
    promise = privacy if isinstance(privacy, Pure | Approximate | ZCDP) else Pure(rational(privacy, name="privacy"))
    count, (low, high) = integer(n, name="n", least=1), read_bounds(bounds)
    rows = _rows(min(count, _MOST_ROWS), low, high, spread)
    make, true, average = _STATISTICS[statistic]
    facts = _Facts(promise, low, high, rows.size, spread)
    shrink = rows.size / count if average else 1.0
    truth = true(rows)
    whole = make(facts if rows.size == count else replace(facts, rows=count))  # what is returned is for all rows
    tried = {name: mechanism for name, mechanism in make(facts).items() if name in whole}
    options = [Option(name, whole[name], shrink * _error(mechanism, rows, truth)) for name, mechanism in tried.items()]
    if not options:
        msg = f"no mechanism for {statistic} keeps {promise_in_words(promise)}; ask for a pure epsilon."
        raise ParameterError(msg)
    best = tuple(sorted(options, key=lambda option: option.expected_error))
    return Recommendation(statistic, promise_in_words(promise), count, best)


def _rows(count: int, low: Fraction, high: Fraction, spread: Number | None) -> NDArray[np.float64]:
    """Make up rows: quantiles of a normal law in the middle of the bounds, or of the even one."""
    levels = (np.arange(count) + 0.5) / count
    if spread is None:
        return float(low) + levels * float(high - low)
    guess = rational(spread, name="spread")
    if not 0 < guess <= high - low:
        msg = f"spread is {shown(spread)}; it must be above 0 and at most the distance of the bounds."
        raise ParameterError(msg)
    deviation = float(guess)
    return np.clip(float(low + high) / 2 + deviation * ndtri(levels), float(low), float(high))


def _error(mechanism: Mechanism[Any, Any], rows: NDArray[np.float64], truth: float | NDArray[np.float64]) -> float:
    """Return the root mean squared error of some releases."""
    trials = _TRIALS // 10 if isinstance(mechanism, JointQuantiles) else _TRIALS  # that one takes a while
    off = [np.mean((np.asarray(mechanism.release(rows).value) - truth) ** 2) for _ in range(trials)]
    return math.sqrt(float(np.mean(off)))


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a mechanism is made from."""

    promise: Promise
    low: Fraction
    high: Fraction
    rows: int
    spread: Number | None

    @property
    def budgets(self) -> dict[str, dict[str, Any]]:
        """Return the kinds of noise that keep the promise, with the budget that each is made for."""
        epsilon = {"neighbors": self.promise.neighbors}
        if isinstance(self.promise, ZCDP):  # a pure epsilon is (epsilon**2 / 2)-zCDP
            pure = sqrt_lower(2 * self.promise.rho)
            return {
                "Gaussian noise": {"rho": self.promise.rho, **epsilon},
                "discrete Laplace noise": {"epsilon": pure, **epsilon},
            }
        named: dict[str, dict[str, Any]] = {"discrete Laplace noise": {"epsilon": self.promise.epsilon, **epsilon}}
        if isinstance(self.promise, Approximate) and self.promise.delta > 0:
            named["Gaussian noise"] = {"epsilon": self.promise.epsilon, "delta": self.promise.delta, **epsilon}
        return named

    @property
    def pure(self) -> dict[str, Any]:
        """Return the pure epsilon that keeps the promise: the exponential mechanism is (epsilon**2 / 8)-zCDP."""
        if isinstance(self.promise, ZCDP):
            return {"epsilon": sqrt_lower(8 * self.promise.rho), "neighbors": self.promise.neighbors}
        return {"epsilon": self.promise.epsilon, "neighbors": self.promise.neighbors}

    @property
    def column(self) -> dict[str, Any]:
        """Return the public facts about a column."""
        size = {} if adds_rows(self.promise.neighbors) else {"size": self.rows}
        return {"lower": self.low, "upper": self.high, **size}


def _noises(name: str, build: Callable[..., Mechanism[Any, Any]], facts: _Facts) -> dict[str, Mechanism[Any, Any]]:
    """Make a statistic with each kind of noise; one made for (epsilon, delta) may have Laplace noise as well."""
    made = {}
    for budget in facts.budgets.values():
        mechanism = build(**budget)
        laplace = isinstance(mechanism.noise, DiscreteLaplace)  # type: ignore[attr-defined]
        made[f"{name}, {'discrete Laplace' if laplace else 'Gaussian'} noise"] = mechanism
    return made


def _mean(facts: _Facts) -> dict[str, Mechanism[Any, Any]]:
    noises = _noises("mean", lambda **budget: Mean(**facts.column, **budget), facts)
    promise = facts.promise
    budget: dict[str, Any] = {"neighbors": promise.neighbors}
    if isinstance(promise, ZCDP):
        budget["rho"] = promise.rho
    else:
        budget["epsilon"] = promise.epsilon
    with suppress(ParameterError):  # no smooth bound for groups, and none for the smallest epsilons
        noises["trimmed mean"] = TrimmedMean.for_count(
            facts.rows, lower=facts.low, upper=facts.high, spread=facts.spread, **budget
        )
    return noises


def _median(facts: _Facts) -> dict[str, Mechanism[Any, Any]]:
    return {"quantile by ranks": Quantile("1/2", lower=facts.low, upper=facts.high, **facts.pure)}


def _quartiles(facts: _Facts) -> dict[str, Mechanism[Any, Any]]:
    made = {"joint quantiles": JointQuantiles(_QUARTILES, lower=facts.low, upper=facts.high, **facts.pure)}
    halving = facts.pure
    if isinstance(facts.promise, ZCDP):  # two levels share rho
        rate = sqrt_lower(8 * facts.promise.rho / 2)
        halving = {"level_epsilon": rate, "neighbors": facts.promise.neighbors}
    elif isinstance(facts.promise, Approximate):
        halving = {**halving, "delta": facts.promise.delta}
    return {**made, "quantiles by halving": Quantiles(_QUARTILES, lower=facts.low, upper=facts.high, **halving)}


def _column(name: str, kind: type[Any]) -> Callable[[_Facts], dict[str, Mechanism[Any, Any]]]:
    return lambda facts: _noises(name, lambda **budget: kind(**facts.column, **budget), facts)


def _extreme(name: str, kind: type[Any]) -> Callable[[_Facts], dict[str, Mechanism[Any, Any]]]:
    return lambda facts: {name: kind(lower=facts.low, upper=facts.high, **facts.pure)}


_STATISTICS: dict[str, tuple[Callable[[_Facts], dict[str, Any]], Callable[[NDArray[np.float64]], Any], bool]] = {
    "count": (lambda facts: _noises("count", Count, facts), lambda rows: float(rows.size), False),
    "sum": (_column("sum", Sum), lambda rows: float(rows.sum()), False),
    "mean": (_mean, lambda rows: float(rows.mean()), True),
    "variance": (_column("variance", Variance), lambda rows: float(rows.var()), True),
    "std": (_column("std", StandardDeviation), lambda rows: float(rows.std()), True),
    "median": (_median, lambda rows: float(np.median(rows)), True),
    "quartiles": (_quartiles, lambda rows: np.quantile(rows, [float(q) for q in _QUARTILES]), True),
    "minimum": (_extreme("minimum by rank", Minimum), lambda rows: float(rows.min()), True),
    "maximum": (_extreme("maximum by rank", Maximum), lambda rows: float(rows.max()), True),
}
"""For each statistic: how its mechanisms are made, its true value, and whether its error falls with the rows."""
