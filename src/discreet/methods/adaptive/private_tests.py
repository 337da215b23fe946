"""Tests of private data from a released answer: p-values that hold with the noise in them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, rational, shown
from discreet.exact.rational import read_choice
from discreet.noise.sealed import SealedBits
from discreet.plans.aggregates import Count, Sum
from discreet.plans.expressions import Column
from discreet.releases import Answer, Question, ShellAnswer, ShellQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.releases.measures.measure import Cell

__all__ = ["PrivateTest", "Side", "chi_square_test", "mean_test", "proportion_test"]

Asked: TypeAlias = "Question | Answer | ShellQuestion | ShellAnswer"
"""A question, which is released for a price, or the answer to one, which was paid for."""

_LADDER = 2.0 ** (-np.arange(1, 321) / 8)  # down to 2**-40
_LOST = 1e-9
"""The chance that the number of rows lies outside what a test takes for possible; every p-value is larger by it."""


class Side(Enum):
    """Which values speak against a null.

    >>> Side("greater")
    <Side.GREATER: 'greater'>
    """

    GREATER = "greater"
    LESS = "less"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class PrivateTest:
    """A p-value with the answer that it was computed from: the answer was paid for, the p-value costs nothing more.

    >>> PrivateTest.__dataclass_fields__["p_value"].type
    'float'
    """

    p_value: float
    null: str
    answer: Answer
    assumed: tuple[str, ...]


_ROWS = "rows are independent of each other: several rows of one unit often are not. Count units instead."


def proportion_test(  # noqa: PLR0913 - each is a public fact of the test
    asked: Asked,
    *,
    chance: Number = "1/2",
    rows: SupportsIndex | None = None,
    side: Side | str = Side.GREATER,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> PrivateTest:
    """Test whether rows succeed with another chance than stated, from a noisy count of successes.

    The question selects two counts, of successes and of all rows; or the first alone, and `rows` says how many there
    are where that is public. The p-value is the chance that a binomial count and the noise together reach the noisy
    one. The noise enters by the ± of the answer at 320 confidences, each used as if the noise were as far as the next.
    The unknown number of rows is taken at the end of its own ± that makes the p-value largest, and the chance that it
    lies beyond is added (Berger & Boos 1994): the p-value is valid for every number of rows.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> table = Table("t", row_is_unit=True, columns=[Column("x", lower=0, upper=9)])
    >>> with Database(Policy([table], epsilon=3), {"t": pa.table({"x": [1] * 600 + [5] * 400})}) as db:
    ...     asked = db.sql("SELECT COUNT(CASE WHEN x = 1 THEN 1 END) AS hits, COUNT(*) AS n FROM t")
    ...     test = proportion_test(asked, chance="1/2", epsilon=3)
    >>> test.p_value < 1e-4, test.null
    (True, 'each row succeeds with chance at most 0.5')
    """
    null = float(rational(chance, name="chance"))
    if not 0 < null < 1:
        msg = f"chance is {shown(chance)}; a null that can be tested lies strictly between 0 and 1."
        raise ParameterError(msg)
    which = read_choice(Side, side, "side")
    answer = _released(asked, epsilon, rho)
    names = _columns(answer, Count, 1 if rows is not None else 2)
    noises = _Noises(answer)
    noise = _Noise(noises, 0, names[0])
    low, high, lost = _total(noises, names[-1], rows)
    hits = noise.value

    def above() -> float:
        return noise.mean(lambda moved: _binomial_tail(hits - moved, high, null))

    def below() -> float:
        return noise.mean(lambda moved: _binomial_tail(low - hits - moved, low, 1 - null))

    value, said = _sided(which, above, below)
    return PrivateTest(min(1.0, value + lost), f"each row succeeds with chance {said} {null:g}", answer, (_ROWS,))


def mean_test(  # noqa: PLR0913 - each is a public fact of the test
    asked: Asked,
    *,
    mean: Number,
    rows: SupportsIndex | None = None,
    side: Side | str = Side.GREATER,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> PrivateTest:
    """Test whether a bounded column has another mean than stated, from its noisy sum and count.

    The question selects SUM(x) and COUNT(x), or the sum alone where the number of `rows` is public. Bounds are those of
    the column, into which values are clamped. The p-value is Chernoff's bound for means of values between bounds
    (Hoeffding 1963, Theorem 1): it holds for every law and every number of rows, and is larger than that of a t-test.
    The noise and the number of rows enter as in `proportion_test`.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> table = Table("t", row_is_unit=True, columns=[Column("x", lower=0, upper=10)])
    >>> with Database(Policy([table], epsilon=3), {"t": pa.table({"x": [4] * 600 + [8] * 400})}) as db:
    ...     asked = db.sql("SELECT SUM(x) AS s, COUNT(x) AS n FROM t")
    ...     test = mean_test(asked, mean=5, epsilon=3)
    >>> test.p_value < 0.05, mean_test(test.answer, mean=7).p_value > 0.9
    (True, True)
    """
    answer = _released(asked, epsilon, rho)
    names = _columns(answer, Sum, 1 if rows is not None else 2)
    lower, upper = _bounds(answer, names[0])
    null = float(rational(mean, name="mean"))
    if not lower < null < upper:
        msg = f"mean is {shown(mean)}; within its bounds the column's mean lies between {lower:g} and {upper:g}."
        raise ParameterError(msg)
    noises = _Noises(answer)
    noise = _Noise(noises, 0, names[0])
    low, high, lost = _total(noises, names[-1], rows)
    total = noise.value

    def reached(sums: NDArray[np.float64], *law: float) -> NDArray[np.float64]:
        """At the end of the rows' range that is likelier: in between the bound has at most one bend, where it is 1."""
        few, many = (_chernoff(sums, n, *law) for n in (low, high))
        turned = (sums / low > law[2]) != (sums / high > law[2])
        return np.where(turned, 1.0, np.maximum(few, many))

    def above() -> float:
        return noise.mean(lambda moved: reached(total - moved, lower, upper, null))

    def below() -> float:
        return noise.mean(lambda moved: reached(-total - moved, -upper, -lower, -null))

    value, said = _sided(read_choice(Side, side, "side"), above, below)
    return PrivateTest(min(1.0, value + lost), f"the mean is {said} {null:g}", answer, (_ROWS,))


def chi_square_test(  # noqa: PLR0913 - each is a public fact of the test
    asked: Asked,
    *,
    chances: Mapping[Any, Number],
    rows: SupportsIndex | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    draws: SupportsIndex = 1999,
) -> PrivateTest:
    """Test whether groups have other chances than stated, from their noisy counts.

    The question counts rows by one key, whose groups are known. The statistic is the sum of (count − chance · total)² /
    chance; its law under the null is simulated with multinomial counts *and* the noise of the answer (Gaboardi, Lim,
    Rogers & Vadhan 2016, arXiv:1602.03090), for the least and the largest number of rows that the noisy total allows;
    the larger p-value is taken, and the chance that the rows lie beyond, 1 / (draws + 1), is added. The usual table of
    chi-square would call noise a discovery. The same answer gives the same p-value: the simulation's bits follow from
    it.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> table = Table("t", row_is_unit=True, columns=[Column("x", keys=["a", "b"])])
    >>> with Database(Policy([table], epsilon=3), {"t": pa.table({"x": ["a"] * 600 + ["b"] * 400})}) as db:
    ...     asked = db.sql("SELECT x, COUNT(*) AS n FROM t GROUP BY x")
    ...     test = chi_square_test(asked, chances={"a": 0.5, "b": 0.5}, epsilon=3)
    >>> test.p_value < 0.01, chi_square_test(test.answer, chances={"a": 0.6, "b": 0.4}).p_value > 0.01
    (True, True)
    """
    count = integer(draws, name="draws", least=99, most=10**6)
    answer = _released(asked, epsilon, rho)
    key, column, wanted = _grouped(answer, chances)
    cells = answer.to_dicts()
    known = _Noises(answer)
    noises = [_Noise(known, place, column) for place in range(len(cells))]
    likely = np.array([wanted[cell[key]] for cell in cells])
    seen = np.array([noise.value for noise in noises])

    def statistic(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        left = counts - likely * counts.sum(axis=-1, keepdims=True)
        total: NDArray[np.float64] = (left**2 / likely).sum(axis=-1)
        return total

    bits = _Uniform(answer, repr(sorted(map(str, wanted.items()))))
    if rows is None:  # the noise of the total passes the largest of so many draws with chance 1 / (draws + 1)
        far = float(np.abs(sum(noise.drawn(bits, count) for noise in noises)).max())
        totals = {max(0, math.floor(seen.sum() - far)), max(0, math.ceil(seen.sum() + far))}
    else:
        totals = {integer(rows, name="rows", least=1)}
    lost = 1 / (1 + count) if rows is None else 0.0
    values = []
    for total in sorted(totals):
        drawn = bits.multinomial(total, likely, count)
        drawn = drawn + np.column_stack([noise.drawn(bits, count) for noise in noises])
        above = int((statistic(drawn) >= float(statistic(seen)) * (1 - 1e-12)).sum())
        values.append((1 + above) / (1 + count))
    return PrivateTest(min(1.0, max(values) + lost), "each group has its stated chance", answer, (_ROWS,))


def _released(asked: Asked, epsilon: Number | None, rho: Number | None) -> Answer:
    if isinstance(asked, Question):
        return asked.release(epsilon, rho=rho)
    if not isinstance(asked, Answer) or epsilon is not None or rho is not None:
        what = "an answer was paid for: give no price" if isinstance(asked, Answer) else f"asked is {shown(asked)}"
        msg = f"{what}; a test takes a question and its price, or the answer to one."
        raise ParameterError(msg)
    return asked


def _columns(answer: Answer, first: type[Count | Sum], count: int) -> list[str]:
    """Read which measures a question without groups shows: the tested one, and then a count of rows."""
    request = answer.plan.request
    wanted = [first, Count][:count]
    shown_as = [
        (name, dict(request.measures).get(value.name)) for name, value in request.outputs if isinstance(value, Column)
    ]
    fits = len(shown_as) == len(request.outputs) == count and not request.keys
    if not fits or any(not isinstance(measure, kind) for (_, measure), kind in zip(shown_as, wanted, strict=True)):
        verb = {Count: "COUNT(CASE WHEN … THEN 1 END)", Sum: "SUM(x)"}[first]
        rest = " alone, as the number of rows is given" if count == 1 else " and then a COUNT of the rows"
        msg = f"the question shows {', '.join(answer.columns)}; this test reads {verb}{rest}, without groups."
        raise ParameterError(msg)
    return [name for name, _ in shown_as]


def _grouped(answer: Answer, chances: Mapping[Any, Number]) -> tuple[str, str, dict[Any, float]]:
    """Read the key, the count, and the chances of all groups, which add up to 1."""
    request = answer.plan.request
    measures = dict(request.measures)
    counted = [name for name, value in request.outputs if isinstance(value, Column) and value.name in measures]
    fits = len(request.keys) == 1 and len(request.outputs) == 2 and len(counted) == 1
    if not fits or not isinstance(measures[request.measures[0][0]], Count) or not answer.plan.aggregate.known:
        msg = "a chi-square test counts rows by one key whose groups are known: SELECT ward, COUNT(*) … GROUP BY ward."
        raise ParameterError(msg)
    if request.having is not None or request.limit is not None:
        msg = "HAVING and LIMIT choose groups by their noisy counts; leave them out, as the test looks at all groups."
        raise ParameterError(msg)
    (key,) = (name for name, _ in request.outputs if name not in counted)
    wanted = {group: float(rational(chance, name="a chance")) for group, chance in chances.items()}
    groups = {row[key] for row in answer.to_dicts()}
    if set(wanted) != groups or abs(sum(wanted.values()) - 1) > 1e-9 or min(wanted.values()) <= 0:
        msg = f"chances must name each of {', '.join(map(str, sorted(groups, key=str)))}, be above 0 and add up to 1."
        raise ParameterError(msg)
    return key, counted[0], wanted


def _bounds(answer: Answer, name: str) -> tuple[float, float]:
    """Between which numbers a row's value lies in a sum."""
    request = answer.plan.request
    (source,) = (
        value.name for shown_name, value in request.outputs if shown_name == name and isinstance(value, Column)
    )
    measure = dict(request.measures)[source]
    bounds = measure.operands[0].facts(request.relation.schema).bounds
    if bounds.lower is None or bounds.upper is None or bounds.lower == bounds.upper:
        msg = f"{name} is a sum without two bounds for its values; give the column bounds in the policy."
        raise ParameterError(msg)
    return float(bounds.lower), float(bounds.upper)


def _total(noises: _Noises, name: str, rows: SupportsIndex | None) -> tuple[int, int, float]:
    """Between which numbers the rows lie, and the chance that they do not."""
    if rows is not None:
        known = integer(rows, name="rows", least=1)
        return known, known, 0.0
    noise = _Noise(noises, 0, name)
    far = noise.within(_LOST)
    return max(1, math.floor(noise.value - far)), max(1, math.ceil(noise.value + far)), _LOST


def _sided(side: Side, above: Callable[[], float], below: Callable[[], float]) -> tuple[float, str]:
    """The p-value of a side, and how its null compares; both sides cost a factor of 2."""
    if side is Side.GREATER:
        return above(), "at most"
    if side is Side.LESS:
        return below(), "at least"
    return 2 * min(above(), below()), "equal to"


class _Noises:
    """How far the noise of an answer reaches at each confidence, looked up once for all its cells."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self._known: dict[float, list[dict[str, Cell]]] = {}

    def cell(self, confidence: float, place: int, name: str) -> Cell:
        """A cell with its ± at this confidence."""
        if confidence not in self._known:
            self._known[confidence] = self.answer.cells(confidence)
        return self._known[confidence][place][name]


class _Noise:
    """The noise of one cell: how far it reaches at each confidence, and from that a wider law for either side.

    Noise is symmetric, so it passes the ± of confidence 1 − g upwards with chance at most g / 2.
    """

    def __init__(self, noises: _Noises, place: int, name: str) -> None:
        self._noises, self._place, self._name = noises, place, name
        value = noises.cell(0.95, place, name).value
        if not isinstance(value, int | float) or isinstance(value, bool):
            msg = f"{name} is no number: the test has nothing to look at."
            raise ParameterError(msg)
        self.value = float(value)
        self._reach = np.array([self.within(float(lost)) for lost in _LADDER])

    def within(self, lost: float) -> float:
        """How far the noise reaches but for a chance."""
        error = self._noises.cell(1 - lost, self._place, self._name).error
        if error is None:
            msg = "the noise of this answer has no ± that holds; ask for counts or sums, and no groups that are found."
            raise ParameterError(msg)
        return float(error)

    def mean(self, function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
        """Bound the mean of a function, at most 1, that grows with the noise: below 0 it counts as 0."""
        tails = np.array([1.0, *_LADDER])
        values = function(self._reach)
        start = float(function(np.zeros(1))[0])
        steps = float((values * (tails[:-1] - tails[1:])).sum()) + tails[-1]
        return min(1.0, start / 2 + float(steps) / 2)

    def drawn(self, bits: _Uniform, count: int) -> NDArray[np.float64]:
        """Draw noise that reaches as far, and a little farther."""
        places = np.searchsorted(-_LADDER, -bits.draw(count), side="right")
        reach = np.append(self._reach, self._reach[-1])[places]
        signed: NDArray[np.float64] = np.where(bits.draw(count) < 0.5, -reach, reach)
        return signed


class _Uniform:
    """Uniform numbers that follow from an answer, so that nobody simulates until a p-value is small."""

    def __init__(self, answer: Answer, question: str) -> None:
        key = hashlib.sha256(f"{answer.to_dicts()} {question}".encode()).digest()
        self._bits = SealedBits(key, 0)

    def draw(self, count: int) -> NDArray[np.float64]:
        """Draw numbers from 0 to 1."""
        words = self._bits.take(8 * count).view(np.uint64)
        return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def multinomial(self, total: int, chances: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        """Draw counts of groups: one binomial after another, by their quantiles."""
        from scipy import stats

        left, rest = np.full(count, total), 1.0
        columns = []
        for chance in chances[:-1]:
            share = min(1.0, float(chance) / rest) if rest > 0 else 1.0
            drawn = np.asarray(stats.binom.ppf(self.draw(count), left, share)).astype(np.int64)
            columns.append(drawn)
            left, rest = left - drawn, rest - float(chance)
        return np.column_stack([*columns, left]).astype(np.float64)


def _binomial_tail(successes: NDArray[np.float64], rows: int, chance: float) -> NDArray[np.float64]:
    """P(Bin(rows, chance) >= successes)."""
    from scipy.special import betainc

    counts = np.ceil(successes - 1e-9)
    inner = np.clip(counts, 1, rows)
    return np.where(counts <= 0, 1.0, np.where(counts > rows, 0.0, betainc(inner, rows - inner + 1, chance)))


def _chernoff(sums: NDArray[np.float64], rows: int, lower: float, upper: float, mean: float) -> NDArray[np.float64]:
    """Bound P(sum >= this) for so many values within bounds whose mean is at most so large: e^(−n KL)."""
    null = (mean - lower) / (upper - lower)
    part = np.clip((sums / rows - lower) / (upper - lower), null, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(part < 1, (1 - part) * np.log((1 - part) / (1 - null)), 0.0)
        bound: NDArray[np.float64] = np.exp(-rows * (part * np.log(part / null) + one))
    return np.where(sums / rows > upper + 1e-9, 0.0, bound)
