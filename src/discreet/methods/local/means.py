"""Means of bounded numbers and vectors: each client sends a whole number whose law leans toward its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.mechanisms.inputs.columns import read_bounds
from discreet.mechanisms.inputs.parameters import assign, miss
from discreet.methods.local.randomizer import Randomizer, Reports
from discreet.noise import SYSTEM, BitSource, truthful, uniform_integer
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["LocalMean", "Means"]

_FINE = 1024
_ROUNDING = 20  # bits of the uniform number that rounds a value up or down


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """The mean of each coordinate, estimated without bias.

    >>> Means(np.array([0.5]), np.array([0.1]), 100, (-3.0, 3.0)).values
    array([0.5])
    """

    values: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    responses: int
    reach: tuple[float, float]
    """Between which numbers the estimate from one report lies."""
    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends between which each mean lies with this probability, for every truth and n.

        The smaller of Hoeffding's bound and the empirical one of Bernstein's kind (Maurer & Pontil 2009,
        arXiv:0907.3740, Theorem 4), each with half of what may miss; both sides.
        """
        lost, count = math.log(8 / float(miss(confidence))), self.responses
        wide = self.reach[1] - self.reach[0]
        by_range = np.full(self.values.shape, wide * math.sqrt((lost - math.log(2)) / (2 * count)))
        by_spread = self.standard_error * math.sqrt(2 * lost) + 7 * wide * lost / (3 * max(count - 1, 1))
        half = np.minimum(by_range, by_spread)
        return self.values - half, self.values + half


@dataclass(frozen=True, slots=True, init=False, repr=False)
class LocalMean(Randomizer):
    r"""Send a whole number near your own, or any other: the piecewise mechanism, and for one step that of Duchi et al.

    A value within the bounds is rounded to one of N + 1 places j = 0, ..., N, up or down at random so that its mean
    stays. There are M = N + w messages. With chance $p = 1 / (1 + \frac{N}{w} e^{-\varepsilon})$ the message is one of
    the w from j on, else one of the N others, all equally likely.

    Privacy. Each of the w has weight $e^\varepsilon$ and each of the N others weight 1, for every j; so two values give
    one message with chances at most a factor $e^\varepsilon$ apart.

    Estimate. The mean message is $\frac{(e^\varepsilon - 1) w (j + \frac{w-1}{2}) + \frac{M(M-1)}{2}}{e^\varepsilon w +
    N}$: a line in j, which is undone. With N = w = 1 this is a coin (Duchi, Jordan & Wainwright 2018, arXiv:1302.3203,
    section 4.1), for small epsilon best; with $w = N e^{-\varepsilon/2}$ the piecewise mechanism (Wang et al. 2019,
    arXiv:1907.00782), on a grid. Chosen is what has the smaller worst variance, unless `steps` says otherwise.

    A vector of `dimensions` coordinates, each within the bounds: the client draws one coordinate, says which, and
    reports that one with all of epsilon; the estimate is multiplied by the number of coordinates (Wang et al. 2019,
    Algorithm 4 for one coordinate, which is best up to an epsilon of 2.5).

    A value that is missing counts as the middle of the bounds, and one beyond as the nearest bound.

    >>> [LocalMean(0, 1, epsilon=e).steps for e in (1, 4)]
    [1, 1024]
    """

    kind: ClassVar[str] = "local_mean"
    guarantee: ClassVar[str] = (
        "A message that is e^epsilon times as likely among the w next to the value's place as among the N others is "
        "epsilon-locally differentially private, as there are as many of both for every value."
    )
    accuracy: ClassVar[str] = "the deviation of the estimates from single reports, over the root of their number"
    source: ClassVar[str] = "Duchi, Jordan & Wainwright 2018, arXiv:1302.3203; Wang et al. 2019, arXiv:1907.00782"

    lower: Fraction
    upper: Fraction
    steps: int
    dimensions: int

    def __init__(  # noqa: PLR0913  each is a public fact of the report
        self,
        lower: Number,
        upper: Number,
        *,
        epsilon: Number,
        steps: SupportsIndex | None = None,
        dimensions: SupportsIndex = 1,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        low, high = read_bounds((lower, upper))
        assign(self, lower=low, upper=high, dimensions=integer(dimensions, name="dimensions", least=1, most=1 << 30))
        self.promise_to(epsilon, neighbors)
        if steps is None:
            steps = min((1, _FINE), key=lambda some: max(self._line(some)[2]))
        assign(self, steps=integer(steps, name="steps", least=1, most=1 << 20))

    def __repr__(self) -> str:
        return f"LocalMean({self.lower} to {self.upper}, {self.promise})"

    def _window(self, steps: int) -> int:
        return max(1, round(steps * math.exp(-float(self.epsilon) / 2)))

    def _line(self, steps: int) -> tuple[float, float, list[float]]:
        """The line that turns a message into an estimate of the value's share of the bounds, and variances at the ends.

        Between two places rounding adds at most 1/4 of a step squared.
        """
        window = self._window(steps)
        grown, every = math.exp(min(float(self.epsilon), 600.0)), steps + window
        total = grown * window + steps
        slope = (grown - 1) * window / total
        start = ((grown - 1) * window * (window - 1) / 2 + every * (every - 1) / 2) / total
        squares = every * (every - 1) * (2 * every - 1) / 6
        variances = []
        for place in (0, steps // 2, steps):
            near = sum((place + k) ** 2 for k in range(window))
            second = ((grown - 1) * near + squares) / total
            variances.append((second - (start + slope * place) ** 2) / (slope * steps) ** 2)
        variances[1] += 1 / (4 * steps**2)
        return slope * steps, start, variances

    @property
    def messages(self) -> int:
        """One for each coordinate and place."""
        return self.dimensions * (self.steps + self._window(self.steps))

    @property
    def reach(self) -> tuple[float, float]:
        """Between which numbers the estimate from one report lies."""
        ends = self._estimates(np.array([0, self.steps + self._window(self.steps) - 1]))
        if self.dimensions > 1:  # another coordinate's report says 0 of this one
            ends = np.append(ends, 0.0)
        return float(ends.min()), float(ends.max())

    def _estimates(self, told: NDArray[np.int64]) -> NDArray[np.float64]:
        """Estimate a value from each message, times the number of coordinates."""
        slope, start, _ = self._line(self.steps)
        wide = float(self.upper - self.lower)
        return np.asarray(self.dimensions * (float(self.lower) + (told - start) / slope * wide), dtype=np.float64)

    def _places(self, values: NDArray[np.float64], bits: BitSource) -> NDArray[np.int64]:
        """Round to places, up with a chance that is what is left: of whole multiples of 2**-20 steps."""
        low, high = float(self.lower), float(self.upper)
        inside = np.clip(np.where(np.isnan(values), (low + high) / 2, values), low, high)
        shares = np.rint((inside - low) / (high - low) * (self.steps << _ROUNDING)).astype(np.int64)
        whole, rest = np.divmod(np.clip(shares, 0, self.steps << _ROUNDING), 1 << _ROUNDING)
        up: NDArray[np.int64] = whole + (uniform_integer(1 << _ROUNDING, values.size, bits) < rest)
        return up

    def report(self, values: ArrayLike, *, bits: BitSource = SYSTEM) -> Reports:
        """Randomize numbers, or rows of as many coordinates as there are dimensions."""
        try:
            given = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty((0, 0, 0))
        rows = given.reshape((-1, 1) if self.dimensions == 1 else (1, -1)) if given.ndim <= 1 else given
        if rows.ndim != 2 or rows.shape[1] != self.dimensions or given.ndim > 2:
            msg = f"values has the shape {given.shape}; give {self.dimensions} coordinates of each unit, all numbers."
            raise ParameterError(msg)
        count, window = len(rows), self._window(self.steps)
        which = uniform_integer(self.dimensions, count, bits)
        place = self._places(rows[np.arange(count), which], bits)
        near = truthful(self.epsilon, Fraction(self.steps, window), count, bits)
        inside, outside = uniform_integer(window, count, bits), uniform_integer(self.steps, count, bits)
        told = np.where(near, place + inside, outside + window * (outside >= place))
        return Reports(self, which * (self.steps + window) + told)

    def estimate(self, reports: Reports | Iterable[bytes]) -> Means:
        """Estimate the mean of each coordinate; this is post-processing and costs nothing."""
        given = self.read_reports(reports)
        which, told = np.divmod(given.messages, self.steps + self._window(self.steps))
        single, count = self._estimates(told), len(given)
        sums = np.bincount(which, single, self.dimensions)
        squares = np.bincount(which, single**2, self.dimensions)
        variance = np.maximum(squares - sums**2 / count, 0) / max(count - 1, 1)
        return Means(sums / count, np.sqrt(variance / count), count, self.reach, given.refused)

    @property
    def variance(self) -> float:
        """The worst variance of one report's estimate, in squares of the distance of the bounds.

        >>> round(LocalMean(0, 1, epsilon=1).variance, 3)
        1.171
        """
        if self.dimensions > 1:
            msg = f"dimensions is {self.dimensions}; the variance depends on all coordinates: ask the estimate."
            raise ParameterError(msg)
        return max(self._line(self.steps)[2])
