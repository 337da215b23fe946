"""The median by propose-test-release."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.exact import Grid
from discreet.mechanisms.adding.grids import choose_grid
from discreet.mechanisms.data_dependent.propose_test_release import ProposeTestRelease
from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import changes_one
from discreet.mechanisms.sensitivity.spreads import ranked, widest_window
from discreet.mechanisms.sensitivity.stability import Tested
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["ProposedMedian"]

_GRID_BITS = 40


@dataclass(frozen=True, slots=True, init=False)
class ProposedMedian(Tested["ArrayLike", "float | None"]):
    r"""Release the median with Laplace noise for a proposed bound, or None if a few units could move it further.

    Privacy. The row of rank r = max(1, ⌈n/2⌉) moves by at most $W_1$ to a neighbor, and $W_k(x') \le W_{k+1}(x)$ for
    the widest window $W_k$ of k ranks around r (`SmoothQuantile`). So the smallest k with $W_{k+1} > b$ is 0 wherever
    the local sensitivity exceeds b and moves by at most one per unit, as `ProposeTestRelease` needs; for exchanged rows
    it is the distance itself. Windows are looked at up to a length at which the test passes for certain enough; a
    longer distance counts as that one.

    Rows are clamped to the bounds and snapped to the grid; missing rows as in `SmoothQuantile`. `Quantile` needs no
    bound and no delta.

    >>> import numpy as np
    >>> made = ProposedMedian(1, lower=0, upper=1000, epsilon=4, delta="1e-6")
    >>> 490 < made.release(np.arange(100_001) / 200 + 250).value < 510
    True
    """

    kind: ClassVar[str] = "proposed_median"
    guarantee: ClassVar[str] = ProposeTestRelease.guarantee
    accuracy: ClassVar[str] = ProposeTestRelease.accuracy
    source: ClassVar[str] = ProposeTestRelease.source
    no_error_because: ClassVar[str] = ProposeTestRelease.no_error_because
    _assumes: ClassVar[tuple[str, ...]] = (
        "a unit owns one row.",
        "the bounds and the proposal were not read from the rows.",
    )

    bound: Fraction
    lower: Fraction
    upper: Fraction
    grid: Grid
    epsilon: Fraction
    delta: Fraction
    test_share: Fraction
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        bound: Number,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number,
        delta: Number,
        grid: Grid | Number | None = None,
        test_share: Number = Fraction(1, 2),
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        points = Clamp.of(low, high, default_grid(low, high, bits=_GRID_BITS) if grid is None else grid).grid
        made = ProposeTestRelease(bound, epsilon=epsilon, delta=delta, test_share=test_share, neighbors=neighbors)
        changes_one(made.neighbors)
        assign(self, lower=low, upper=high, grid=points, bound=made.bound, epsilon=made.epsilon, delta=made.delta)
        assign(self, test_share=made.test_share, neighbors=made.neighbors)

    @property
    def proposal(self) -> ProposeTestRelease:
        """The mechanism that the median and its distance go through."""
        return ProposeTestRelease(
            self.bound,
            epsilon=self.epsilon,
            delta=self.delta,
            test_share=self.test_share,
            grid=self._noise_grid,
            neighbors=self.neighbors,
        )

    @property
    def _noise_grid(self) -> Grid:
        """The grid that the noise has by itself, or one on which 2**61 steps reach both bounds."""
        scale = self.bound / (self.epsilon * (1 - self.test_share))
        fine = choose_grid(self.bound, scale, 1)
        coarse = Grid.below(max(abs(self.lower), abs(self.upper)), bits=60)
        return fine if fine.step >= coarse.step else coarse

    def error(self, confidence: float = 0.95) -> float:
        """Return how far a median that is shown stays from the true one, with this probability."""
        return self.proposal.error(confidence)

    def error_of(self, value: float | None, details: Mapping[str, object], confidence: float = 0.95) -> float | None:
        """Return the error of a median that was shown; None where none was."""
        return self.proposal.error_of(value, details, confidence)

    def value_and_distance(self, value: ArrayLike) -> tuple[Fraction, int]:
        """Return the median and a lower bound on its distance to data that break the bound; both are private."""
        clamp = Clamp.of(self.lower, self.upper, self.grid)
        rows = np.sort(clamp.steps(value, missing=0 if changes_one(self.neighbors) else None))
        rank = max(min(1, rows.size), (rows.size + 1) // 2)
        farthest, allowed = self.proposal.far_enough(1 - 2**-30), int(self.bound / self.grid.step)
        last = min(farthest, rows.size + 2)  # windows of more ranks than there are rows reach from bound to bound
        steps = bisect_right(range(last), allowed, key=lambda k: widest_window(rows, rank, clamp.width, k + 1))
        distance = steps if steps < last or clamp.width > allowed else farthest
        median = clamp.low + int(ranked(rows, np.array([rank]), clamp.width)[0])
        return median * self.grid.step, distance

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float | None]:
        """Return the median with noise, or None; `value` holds the rows."""
        return Release(self.proposal.release(self.value_and_distance(value), bits=bits).value, self)  # type: ignore[arg-type]
