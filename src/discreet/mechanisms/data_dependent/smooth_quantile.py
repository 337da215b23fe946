"""A quantile with noise in proportion to its smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.exact import Grid
from discreet.mechanisms.choices.quantile import read_share
from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import Smooth, changes_one
from discreet.mechanisms.sensitivity.spreads import ranked, reach, smooth_maximum, spreads
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.mechanisms.sensitivity.smooth_noise import Law
    from discreet.privacy.relations import Relation

__all__ = ["SmoothQuantile"]

_GRID_BITS = 40
_UNIT = Grid(1)


@dataclass(frozen=True, slots=True, init=False)
class SmoothQuantile(Smooth):
    r"""Release the row of rank ⌈q n⌉, with noise in proportion to how far its neighbors in rank are.

    Privacy. Let r = max(1, ⌈q n⌉) and $W_k = \max_{i+j=k} x_{(r+i)} - x_{(r-j)}$, with the bounds where ranks leave the
    rows. Adding or removing a row changes r by at most one in the same direction as the ranks of the rows, and
    exchanging a row moves each rank to the next row at most; so the value moves at most to the next row: by at
    most $W_1$. A window of k steps around the neighbor's rank lies in a window of k + 1 steps around
    r: $W_k(x') \le W_{k+1}(x)$. Hence $\max_k e^{-tk} W_{k+1}$ is a t-smooth bound, for change-one the smallest
    (Nissim, Raskhodnikova, Smith 2007), and value + stretch * bound * noise keeps the promise.

    Without rows the value is the lower bound. NaN and None are left out under add/remove; where rows are exchanged
    their number is public, and they count as the lower bound. The exponential mechanism (`Quantile`) is nearly always
    closer to the true quantile; this one adds symmetric noise to it.

    >>> made = SmoothQuantile("0.5", lower=0, upper=100, epsilon=1)
    >>> made.law.value, made.privacy.epsilon(delta=0)
    ('polyplace', 1.0)
    """

    kind: ClassVar[str] = "smooth_quantile"
    guarantee: ClassVar[str] = (
        "A quantile plus admissible noise in proportion to its smooth sensitivity, the largest exp(-t k) times the "
        "widest window of k + 1 ranks around it, keeps the promise for which the noise was calibrated."
    )
    accuracy: ClassVar[str] = "stretch * smooth sensitivity * a quantile of the noise, of which the second is private"
    source: ClassVar[str] = "Nissim, Raskhodnikova & Smith 2007, doi:10.1145/1250790.1250803"

    q: Fraction
    lower: Fraction
    upper: Fraction
    grid: Grid

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        q: Number,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        grid: Grid | Number | None = None,
        law: Law | str | None = None,
        shape: Number | None = None,
        smoothing: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        points = Clamp.of(low, high, default_grid(low, high, bits=_GRID_BITS) if grid is None else grid).grid
        assign(self, q=read_share(q), lower=low, upper=high, grid=points)
        self.promise_to(
            epsilon=epsilon, delta=delta, rho=rho, law=law, shape=shape, smoothing=smoothing, neighbors=neighbors
        )

    @property
    def _clamp(self) -> Clamp:
        return Clamp.of(self.lower, self.upper, self.grid)

    def value_and_bound(self, value: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return the quantile and its smooth sensitivity, counted in steps from the lower bound; both are private."""
        clamp = self._clamp
        rows = np.sort(clamp.steps(value, missing=0 if changes_one(self.neighbors) else None))
        rank = max(min(1, rows.size), -(-self.q.numerator * rows.size // self.q.denominator))
        most = reach(self.smoothing)
        widths = spreads(rows, rank, rank, clamp.width, most + 1)[1:].astype(np.float64)
        exact = Fraction(int(ranked(rows, np.array([rank]), clamp.width)[0]))
        return exact, smooth_maximum(widths, float(clamp.width), self.smoothing)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private quantile, clamped to the bounds; `value` holds the rows."""
        clamp = self._clamp
        steps = int(self.noisy(value, _UNIT, bits))
        return Release(float(clamp.point(max(0, min(steps, clamp.width)))), self)
