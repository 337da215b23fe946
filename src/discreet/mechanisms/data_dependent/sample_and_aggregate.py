"""Any function of the rows, run on random blocks of them, and a private aggregate of what it returns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, integer
from discreet.exact.rational import read_choice
from discreet.mechanisms.choices.quantile import Quantile
from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.values import quietly, read_pair
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import changes_one
from discreet.noise import SYSTEM, BitSource, exponential_race, permutation, uniform_integer
from discreet.privacy import NeighborRelation, Pure, pure
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Aggregator", "SampleAndAggregate"]

_GRID_BITS = 30
_EXCHANGE = NeighborRelation.CHANGE_ONE


class Aggregator(Enum):
    """How the answers of the blocks become one.

    >>> Aggregator("median").value
    'median'
    """

    MEAN = "mean"
    """Laplace noise on their mean: one block moves it by the distance of the bounds over the number of blocks."""
    MEDIAN = "median"
    """The exponential mechanism on their ranks."""
    MODE = "mode"
    """Permute-and-flip on how many blocks say each whole number from the lower to the upper bound."""


@dataclass(frozen=True, slots=True, init=False)
class SampleAndAggregate(Mechanism["tuple[Sequence[Any], Callable[[Any], float]]", float]):
    """Release what any function of the rows says, as the aggregate of what it says about random blocks of them.

    Privacy. Rows are put into random order and each into one of `blocks` blocks, independently and uniformly. Couple
    two neighbors by the same draws for the rows that they share: one row more, less or another changes one block alone,
    so one of the `blocks` answers, whatever the function does. The number of blocks is public and does not depend on
    the number of rows, which is private under add/remove; a block may be empty. Answers are clamped to the bounds, and
    the aggregate is epsilon-differentially private for one changed answer among a public number of them:

    - mean: their sum moves by at most the distance of the bounds: discrete Laplace noise on the grid;
    - median: the exponential mechanism on ranks, `Quantile` for exchanged rows;
    - mode: the counts of two values move by one each: permute-and-flip of scale 2 / epsilon.

    Where the function raises, or returns what is no finite number, the block's answer is the middle of the bounds.

    `release` takes the pair (rows, function); the function gets an array of rows if the rows are an array, a Series or
    a DataFrame, and a list otherwise. Every block becomes an array by itself: a null in one block must not change the
    type in which another block is seen.

    Nissim, Raskhodnikova & Smith 2007; Smith 2011 (doi:10.1145/1993636.1993743).

    >>> import numpy as np
    >>> made = SampleAndAggregate(30, lower=0, upper=100, epsilon=2, aggregator="median")
    >>> 30 < made.release((np.arange(3000) / 30, np.mean)).value < 70
    True
    """

    kind: ClassVar[str] = "sample_and_aggregate"
    guarantee: ClassVar[str] = (
        "One row is in one of a public number of random blocks, so it changes one answer; an aggregate that is "
        "epsilon-differentially private for one changed answer makes the whole so."
    )
    accuracy: ClassVar[str] = (
        "how far the aggregate of the blocks is from the function of all rows depends on the function"
    )
    source: ClassVar[str] = "Nissim, Raskhodnikova & Smith 2007, doi:10.1145/1250790.1250803"
    _assumes: ClassVar[tuple[str, ...]] = (
        "a unit owns one row.",
        "the function tells nothing about a block but by what it returns: it keeps no state and writes nowhere.",
        "the bounds and the number of blocks were not read from the rows.",
    )
    no_error_because: ClassVar[str] = (
        "how far the function of a block is from the function of all rows is private and depends on the function."
    )

    blocks: int
    lower: Fraction
    upper: Fraction
    grid: Grid
    aggregator: Aggregator
    epsilon: Fraction
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        blocks: SupportsIndex,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number,
        aggregator: Aggregator | str = Aggregator.MEAN,
        grid: Grid | Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        how = read_choice(Aggregator, aggregator, "aggregator")
        if how is Aggregator.MODE and grid is None:
            grid = 1
        points = Clamp.of(low, high, default_grid(low, high, bits=_GRID_BITS) if grid is None else grid)
        if how is Aggregator.MODE:
            integer(points.width, name="the number of values from the lower to the upper bound", most=1 << 20)
        changes_one(require_relation(neighbors))
        assign(self, blocks=integer(blocks, name="blocks", least=1, most=1 << 20), lower=low, upper=high)
        assign(self, grid=points.grid, aggregator=how, neighbors=neighbors)
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))

    @property
    def _clamp(self) -> Clamp:
        return Clamp.of(self.lower, self.upper, self.grid)

    @property
    def claim(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The worst curve with this epsilon."""
        return pure(self.epsilon, neighbors=self.neighbors)

    def answers(
        self, rows: Sequence[Any], function: Callable[[Any], float], *, bits: BitSource = SYSTEM
    ) -> NDArray[np.int64]:
        """Return what the function says about each random block, in steps from the lower bound; private."""
        clamp, (count, block) = self._clamp, _blocks_of(rows)
        order = permutation(count, bits=bits)
        place = uniform_integer(self.blocks, size=count, bits=bits)
        of_blocks = [_answer(function, block, order[place == number]) for number in range(self.blocks)]
        return clamp.steps(np.array(of_blocks), missing=clamp.between(self.lower, self.upper))

    def release(
        self, value: tuple[Sequence[Any], Callable[[Any], float]], *, bits: BitSource = SYSTEM
    ) -> Release[float]:
        """Return the private aggregate; `value` is (rows, function)."""
        rows, function = read_pair(value, "rows, function")
        if not callable(function):
            msg = f"the function is of type {type(function).__name__}; it must be a function of a block of rows."
            raise ParameterError(msg)
        steps = self.answers(rows, function, bits=bits)
        clamp = self._clamp
        if self.aggregator is Aggregator.MEAN:
            noise = DiscreteLaplace(clamp.width, epsilon=self.epsilon, neighbors=_EXCHANGE)
            total = int(noise.release(sum(steps.tolist()), bits=bits).value)  # Python integers: nothing wraps
            mean = Fraction(max(0, min(total, self.blocks * clamp.width)), self.blocks)
            return Release(float((clamp.low + mean) * self.grid.step), self)
        if self.aggregator is Aggregator.MEDIAN:
            ranks = Quantile(
                Fraction(1, 2), lower=0, upper=clamp.width, grid=1, epsilon=self.epsilon, neighbors=_EXCHANGE
            )
            return Release(float(clamp.point(int(ranks.release(steps, bits=bits).value))), self)
        winner = exponential_race(np.bincount(steps, minlength=clamp.width + 1), 2 / self.epsilon, bits=bits)
        return Release(float(clamp.point(winner)), self)


def _blocks_of(rows: Any) -> tuple[int, Callable[[NDArray[np.int64]], Any]]:  # noqa: ANN401  rows of any kind
    """Return the number of rows, and a function that returns those of some places as the caller's function gets them.

    A mask stays on, so that the function does not see what lies under it.
    """
    known = isinstance(rows, Iterable | Sized) and not (isinstance(rows, np.ndarray) and rows.ndim == 0)
    if not known:
        msg = f"the rows are of type {type(rows).__name__}; they must be a list, an array, a Series or a DataFrame."
        raise ParameterError(msg)
    if isinstance(rows, np.ndarray):
        return len(rows), lambda places: rows[places]
    if not hasattr(rows, "__array__"):
        given = list(rows)
        return len(given), lambda places: [given[place] for place in places.tolist()]
    if hasattr(rows, "iloc"):  # of pandas
        return len(rows), lambda places: np.asarray(rows.iloc[places])
    if hasattr(type(rows), "to_pylist"):  # of Arrow
        return len(rows), lambda places: np.asarray(rows.take(places))
    return len(rows), lambda places: np.asarray(rows[places])


def _answer(
    function: Callable[[Any], float], block: Callable[[NDArray[np.int64]], Any], places: NDArray[np.int64]
) -> float:
    """Call a function of which nothing is known; what is no finite number becomes missing."""
    try:
        with quietly():
            answer = float(function(block(places)))
    except (Exception, SystemExit):  # noqa: BLE001  whatever private rows make the caller's function raise
        return math.nan
    return answer if math.isfinite(answer) else math.nan
