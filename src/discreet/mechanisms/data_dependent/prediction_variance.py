"""The prediction variance of a ridge regression at a public point, by smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, float_down, float_up, rational, shown
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.rows import listed
from discreet.mechanisms.inputs.values import quietly, unmasked
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import Smooth
from discreet.mechanisms.sensitivity.spreads import reach, smooth_maximum
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.mechanisms.sensitivity.smooth_noise import Law
    from discreet.privacy.relations import Relation

__all__ = ["PredictionVariance"]

_ROW_BITS = 20
_OUT_BITS = 50
_MOST_DIMENSIONS = 32
_STEP = 1 + 2.0**-10  # how far one row may move the computed smallest eigenvalue, in units of the squared radius


@dataclass(frozen=True, slots=True, init=False)
class PredictionVariance(Smooth):
    r"""Release $v^\top (X^\top X + \lambda I)^{-1} v$: the variance of a ridge prediction at a public point v.

    Privacy. Rows have a norm of at most R (longer ones are shortened). Let $A = X^\top X + \lambda I$ with smallest
    eigenvalue $\mu$. Without a row u the value grows by $(v^\top A^{-1} u)^2 / (1 - u^\top A^{-1} u)$, at most
    $g(\mu) = |v|^2 R^2 / (\mu (\mu - R^2))$ where $\mu > R^2$; with a further row it falls by less; and it lies in
    $[0, |v|^2/\lambda]$ always. Exchanging a row is not more than either. One row moves $\mu$ by at most R**2, so with
    $\mu_k = \max(\lambda, \mu - k R^2)$ the bounds $U_k = \min(|v|^2/\lambda, g(\mu_k))$ keep $U_k(x) \le U_{k+1}(x')$.

    The value is worked out exactly from rows snapped to a grid. The eigenvalue is a float, lowered by 2**-42 of the
    trace, and one row is granted R**2 (1 + 2**-10), which covers rounding up to 2**30 rows. Rows with NaN, infinity or
    what is no number, and rows of a list that have another length than the point, count as zero rows, which change
    nothing; an array of another width is refused, as its shape is public. This does not extend to whole covariance
    matrices: smooth sensitivity needs noise in every coordinate.

    >>> made = PredictionVariance([1, 0], radius=1, ridge=1, epsilon=1)
    >>> value, bound = made.value_and_bound([[1, 0]] * 99 + [[0, 1]] * 99)
    >>> abs(value - Fraction(1, 100)) < 1e-6, bound < value
    (True, True)
    """

    kind: ClassVar[str] = "prediction_variance"
    guarantee: ClassVar[str] = (
        "A prediction variance plus admissible noise in proportion to a smooth bound on its local sensitivity, from "
        "the smallest eigenvalue of the second moments, keeps the promise for which the noise was calibrated."
    )
    accuracy: ClassVar[str] = "stretch * smooth bound * a quantile of the noise, of which the second is private"
    source: ClassVar[str] = "Nissim, Raskhodnikova & Smith 2007, doi:10.1145/1250790.1250803"
    _assumes: ClassVar[tuple[str, ...]] = ("a unit owns one row.", "the point was not read from the rows.")

    point: tuple[Fraction, ...]
    radius: Fraction
    ridge: Fraction

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        point: Sequence[Number],
        *,
        radius: Number,
        ridge: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        law: Law | str | None = None,
        shape: Number | None = None,
        smoothing: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        place = tuple(rational(coordinate, name="point") for coordinate in listed(point, name="point"))
        if not 1 <= len(place) <= _MOST_DIMENSIONS or not any(place):
            msg = f"point is {shown(point)}; it must have 1 to {_MOST_DIMENSIONS} coordinates, not all of them 0."
            raise ParameterError(msg)
        assign(self, point=place, radius=read_positive(radius, "radius", zero="rows of length 0 tell nothing"))
        assign(self, ridge=read_positive(ridge, "ridge", zero="without a ridge the variance has no bound"))
        self.promise_to(
            epsilon=epsilon, delta=delta, rho=rho, law=law, shape=shape, smoothing=smoothing, neighbors=neighbors
        )

    @property
    def most(self) -> Fraction:
        """The largest value there is: |v|**2 / ridge, without rows."""
        return sum((coordinate**2 for coordinate in self.point), start=Fraction(0)) / self.ridge

    def value_and_bound(self, value: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return the variance and its smooth bound; both are private."""
        grid, units = Grid.below(self.radius, bits=_ROW_BITS), self.radius**2
        matrix = self._moments(value, grid)
        scaled = np.array([[float(entry / units) for entry in line] for line in matrix])
        smallest = float(np.linalg.eigvalsh(scaled)[0]) - 2.0**-42 * float(np.trace(scaled))
        floor, top = float_down(self.ridge / units), float_up(self.most)
        eigen = np.maximum(floor, smallest - _STEP * np.arange(reach(self.smoothing) + 1))
        length = float_up(self.most * self.ridge / units)
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.where(eigen > 1, length / (eigen * (eigen - 1)), np.inf)
        return _quadratic(matrix, list(self.point)), smooth_maximum(np.minimum(bounds, top), top, self.smoothing)

    def _moments(self, value: ArrayLike, grid: Grid) -> list[list[Fraction]]:
        """Return X' X + ridge exactly: sums of 2**18 products below 2**42 are 64-bit integers."""
        rows = self._whole_rows(value, grid)
        places = range(len(self.point))
        parts = [rows[start : start + 2**18] for start in range(0, rows.shape[0], 2**18)]
        sums = [part.T @ part for part in parts]
        return [
            [
                sum(int(table[i, j]) for table in sums) * grid.step**2 + (self.ridge if i == j else Fraction(0))
                for j in places
            ]
            for i in places
        ]

    def _whole_rows(self, value: ArrayLike, grid: Grid) -> NDArray[np.int64]:
        """Shorten rows to the radius and snap them towards zero, as whole numbers of steps."""
        rows = _read_rows(value, len(self.point))
        rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
        limit = float_down(self.radius) * (1 - 2.0**-40)
        with np.errstate(all="ignore"):  # a norm beyond all floats makes a zero row
            peak = np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0.0), 2.0**-1000)
            norm = peak * np.sqrt(((rows / peak) ** 2).sum(axis=1, keepdims=True))
            short = np.where(norm > limit, rows / np.maximum(norm, limit) * limit, rows)
        return np.trunc(np.ldexp(short, -grid.exponent)).astype(np.int64)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private variance, clamped to what is possible; `value` holds one row of features per unit."""
        noisy = self.noisy(value, Grid.below(self.most, bits=_OUT_BITS), bits)
        return Release(float(max(Fraction(0), min(noisy, self.most))), self)


def _read_rows(value: ArrayLike, width: int) -> NDArray[np.float64]:
    """Read rows of so many features, each row by itself; what is no number becomes NaN."""
    if hasattr(value, "__array__"):
        array = np.asarray(unmasked(value))
        if array.ndim == 1 and width == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != width or array.dtype.kind not in "biufO":
            msg = (
                f"value is an array of shape {array.shape} and type {array.dtype}; it must hold one row of {width} "
                "numbers per unit, as the point has."
            )
            raise ParameterError(msg)
        if array.dtype.kind != "O":
            with np.errstate(over="ignore"):  # a row beyond all floats becomes infinite, and with it a row of zeros
                return array.astype(np.float64)
        value = list(array)
    if not isinstance(value, list | tuple):
        msg = f"value is of type {type(value).__name__}; it must be an array or a list of rows."
        raise ParameterError(msg)
    return np.array([_read_row(row, width) for row in value], dtype=np.float64).reshape(-1, width)


def _read_row(row: object, width: int) -> list[float]:
    """Read one row; of another length, or with what is no number, it is NaN."""
    cells = list(row) if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim) else [row]
    try:
        with quietly():
            numbers = [math.nan if isinstance(cell, str | bytes) else float(cell) for cell in cells]  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001  whatever a private cell makes Python raise
        return [math.nan] * width
    return numbers if len(numbers) == width else [math.nan] * width


def _quadratic(matrix: list[list[Fraction]], vector: list[Fraction]) -> Fraction:
    """Return v' A**-1 v for a positive definite A, by exact elimination."""
    rows = [[*line, side] for line, side in zip(matrix, vector, strict=True)]
    total = Fraction(0)
    for i, pivot in enumerate(rows):
        total += pivot[-1] ** 2 / pivot[i]
        for below in rows[i + 1 :]:
            factor = below[i] / pivot[i]
            below[i:] = [a - factor * b for a, b in zip(below[i:], pivot[i:], strict=True)]
    return total
