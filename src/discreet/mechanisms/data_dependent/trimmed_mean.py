"""The trimmed mean with noise in proportion to its smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, integer, rational, shown
from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import Smooth, changes_one, read_claim
from discreet.mechanisms.sensitivity.spreads import reach, smooth_maximum
from discreet.mechanisms.sensitivity.trimming import best_trim, move_bounds, trimmed_mean
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.mechanisms.sensitivity.smooth_noise import Law
    from discreet.privacy.relations import Relation

__all__ = ["TrimmedMean"]

_GRID_BITS = 26  # so that 2**36 rows times a row are still 64-bit integers
_OUT_BITS = 16  # the mean of grid points is rounded to a grid 2**16 times finer
_MOST_TRIM = 1 << 30


@dataclass(frozen=True, slots=True, init=False)
class TrimmedMean(Smooth):
    r"""Release the mean of all rows but the m smallest and the m largest, with noise fit to how far they reach.

    `trim` is m, a public number. With n rows and $m' = \min(m, \lfloor (n-1)/2 \rfloor)$, the mean is taken over the $N
    = n - 2m'$ rows of rank $B = m'+1$ to $T = n - m'$: the median where n is small, the middle of the bounds where n =
    0.

    Privacy, rows exchanged (n public). Another row moves the sum of the kept rows by at most $W_1 = \max_{i+j=1}
    x_{(T+i)} - x_{(B-j)}$, and $W_k(x') \le W_{k+1}(x)$, so $U_k = W_{k+1} / N$ (Bun, Steinke 2019).

    Privacy, rows added or removed (n private). A new row y brings $(\mathrm{clip}(y) - f)/(N+1)$, clipped to the rows
    of rank B - 1 and T + 1; a row that leaves takes $(f - \mathrm{clip}(y))/(N-1)$ away, clipped to those of rank B and
    T. Both are at most $H_1/\max(1, N-1)$ for $H_k = \max(x_{(T+k)} - f,\ f - x_{(B-k)})$, and $H_1 \le W_1$. At a
    distance of k, c rows came and k - c went, and n + 2c - k are there. As long as those are more than 2m, the window
    has widened by a rank for each row that came; where they are fewer, the median has at most moved to the ranks $w =
    \lfloor (n-k-1)/2 \rfloor$ from either end, $E_w$ apart. So both

    $$U_k = \max_{c \le k} \frac{W_{c+1}}{\max(1, N + 2c - k - 1)},\qquad
      V_k = \max_{c \le k} \frac{H_{c+1} + \sum_{i<k} U_i}{\max(1, N + 2c - k - 1)},$$

    over the c with n + 2c - k > 2m, and $E_w$ if n - k <= 2m, bound the local sensitivity at k = 0 and keep
    $U_k(x) \le U_{k+1}(x')$: a row that is in x' and not in x takes the place of one that came, one that is in x alone
    of one that went, and the same number of rows is left; the sum in V pays for the move of f. So does their smaller
    one, of which the smooth bound is made. V halves the noise of data that lie symmetrically.

    NaN and None are left out under add/remove; where rows are exchanged they count as the middle of the bounds.

    >>> made = TrimmedMean.for_count(1000, lower=0, upper=1000, epsilon=1)
    >>> made.trim, made.law.value, made.privacy.epsilon(delta=0)
    (25, 'polyplace', 1.0)
    """

    kind: ClassVar[str] = "trimmed_mean"
    guarantee: ClassVar[str] = (
        "A trimmed mean plus admissible noise in proportion to a smooth bound on its local sensitivity keeps the "
        "promise for which the noise was calibrated."
    )
    accuracy: ClassVar[str] = "stretch * smooth sensitivity * a quantile of the noise, of which the second is private"
    source: ClassVar[str] = "Bun & Steinke 2019, arXiv:1906.02830; Nissim, Raskhodnikova & Smith 2007"

    trim: int
    lower: Fraction
    upper: Fraction
    grid: Grid

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        trim: SupportsIndex,
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
        points = Clamp.of(low, high, default_grid(low, high, bits=_GRID_BITS) if grid is None else grid)
        if points.width > 1 << (_GRID_BITS + 1):
            msg = f"grid is {shown(points.grid.step)}; the bounds may be at most 2**{_GRID_BITS + 1} steps apart."
            raise ParameterError(msg)
        number = integer(trim, name="trim", least=0, most=_MOST_TRIM)
        assign(self, trim=number, lower=low, upper=high, grid=points.grid)
        self.promise_to(
            epsilon=epsilon, delta=delta, rho=rho, law=law, shape=shape, smoothing=smoothing, neighbors=neighbors
        )

    @classmethod
    def for_count(  # noqa: PLR0913
        cls,
        count: SupportsIndex,
        *,
        lower: Number,
        upper: Number,
        spread: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> Self:
        """Choose how much to trim and how to smooth for about this many rows: a public number, or a paid one.

        Chosen is what would have the least mean squared error if the rows were normal with the deviation `spread`, a
        public guess, 1/64 of the distance of the bounds unless stated. The promise does not depend on either guess.

        >>> TrimmedMean.for_count(100, lower=0, upper=10, epsilon="0.5").trim
        33
        """
        number = integer(count, name="count", least=1)
        low, high = read_bounds((lower, upper))
        guess = (high - low) / 64 if spread is None else rational(spread, name="spread")
        if not 0 < guess <= high - low:
            msg = f"spread is {shown(spread)}; it must be above 0 and at most the distance of the bounds."
            raise ParameterError(msg)
        trim, smoothing = best_trim(number, float(guess / (high - low)), read_claim(epsilon, delta, rho, neighbors))
        return cls(
            trim, lower=low, upper=high, epsilon=epsilon, delta=delta, rho=rho, smoothing=smoothing, neighbors=neighbors
        )

    @property
    def _clamp(self) -> Clamp:
        return Clamp.of(self.lower, self.upper, self.grid)

    def value_and_bound(self, value: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return the trimmed mean and its smooth bound, counted in steps from the lower bound; both are private."""
        clamp = self._clamp
        exchanged = changes_one(self.neighbors)
        rows = np.sort(clamp.steps(value, missing=clamp.between(self.lower, self.upper) if exchanged else None))
        bounds = move_bounds(rows, self.trim, clamp.width, reach(self.smoothing), exchanged=exchanged)
        bound = smooth_maximum(bounds, float(clamp.width), self.smoothing)
        return trimmed_mean(rows, self.trim, clamp.width), bound

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private trimmed mean, clamped to the bounds; `value` holds the rows."""
        fine = Grid(self.grid.step / 2**_OUT_BITS)
        steps = self.noisy(value, Grid(Fraction(1, 2**_OUT_BITS)), bits)
        clamp = self._clamp
        inside = max(Fraction(0), min(steps, Fraction(clamp.width)))
        return Release(fine.value(int((clamp.low + inside) * 2**_OUT_BITS)), self)
