"""What mechanisms that add noise to numbers share: norms, grids, adding without overflow, searching for a scale."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, Number, counted, float_down, rational, shown, sqrt_upper
from discreet.mechanisms.inputs.parameters import read_grid, read_positive
from discreet.mechanisms.inputs.values import FARTHEST
from discreet.noise import BitSource, discrete_laplace, geometric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.mechanisms.promise import Error

__all__ = [
    "Inputs",
    "Norm",
    "added",
    "choose_grid",
    "converted",
    "ends",
    "float_gap",
    "largest_within",
    "place",
    "read_whole_move",
    "require_size",
    "steps_moved",
    "unbounded_laplace",
]


class Norm(Enum):
    """In which norm a sensitivity is stated.

    >>> Norm("l2")
    <Norm.L2: 'l2'>
    """

    L1 = "l1"
    """The sum of the coordinates' moves."""
    L2 = "l2"
    """The Euclidean length of the move."""
    LINF = "linf"
    """The largest move of a coordinate."""


def converted(sensitivity: Fraction, stated: Norm, wanted: Norm, dimensions: int) -> Fraction:
    """Bound a sensitivity in another norm, rounded up.

    For every v in d dimensions |v|_2 <= |v|_1 <= sqrt(d) |v|_2 (Cauchy and Schwarz), |v|_1 <= d |v|_inf and
    |v|_2 <= sqrt(d) |v|_inf; each is reached, the first by a unit vector, the others by (1, ..., 1).

    >>> converted(Fraction(3), Norm.L2, Norm.L1, 4), converted(Fraction(3), Norm.LINF, Norm.L2, 4)
    (Fraction(6, 1), Fraction(6, 1))
    """
    if stated is wanted or (stated, wanted) == (Norm.L1, Norm.L2):
        return sensitivity
    if (stated, wanted) == (Norm.LINF, Norm.L1):
        return sensitivity * dimensions
    return sensitivity * sqrt_upper(Fraction(dimensions))


_END = (1 << 63) - 1  # where 64 bits end the noise
_FINE = 20  # the step is at most 2**-20 of what one coordinate may move
_COARSE = 38  # and at least 2**-38 of the noise, so that 64 bits hold the noise with room to spare


class Inputs(Enum):
    """For which values a sensitivity is stated.

    >>> Inputs("raw")
    <Inputs.RAW: 'raw'>
    """

    RAW = "raw"
    """For the values as they are given: snapping them to the grid is counted."""
    SNAPPED = "snapped"
    """For the values after snapping, as where rows were snapped before they were summed: nothing is added."""


class _Erring(Protocol):
    def error(self, confidence: float = 0.95) -> Error: ...


Built = TypeVar("Built", bound=_Erring)


def choose_grid(sensitivity: Fraction, scale: Fraction, dimensions: int) -> Grid:
    """Choose the grid on which values are snapped: from public parameters alone.

    Snapping d coordinates adds d steps to an L1 sensitivity (sqrt(d) to an L2 one): with a step of at most
    2**-20 sensitivity / d that is a millionth; and a millionth of the noise, so that the snap does not count beside it.
    A step below 2**-38 of the noise would leave the range of the sampler.

    >>> choose_grid(Fraction(1), Fraction(2), 1).step == Fraction(1, 2**20)
    True
    """
    fine = Grid.below(min(sensitivity / dimensions, scale), bits=_FINE)
    coarse = Grid.below(scale, bits=_COARSE)
    return fine if fine.step >= coarse.step else coarse


def place(  # noqa: PLR0913  each is a public fact of the release
    distance: Fraction,
    rough: Fraction,
    *,
    norm: Norm,
    dimensions: int,
    grid: Grid | Number | None,
    inputs: Inputs,
) -> tuple[Grid, Fraction]:
    """Return the grid, and how far apart in this norm two neighbors' snapped values can be.

    Snapped are d coordinates after summing, each by at most half a step in either of the two: d steps more in L1,
    sqrt(d) steps more in L2.

    >>> place(Fraction(1), Fraction(1), norm=Norm.L1, dimensions=2, grid="1/8", inputs=Inputs.RAW)[1]
    Fraction(5, 4)
    """
    points = choose_grid(distance, rough, dimensions) if grid is None else read_grid(grid)
    if inputs is Inputs.SNAPPED:
        return points, distance
    return points, distance + (points.rounding_l1 if norm is Norm.L1 else points.rounding_l2)(dimensions)


def steps_moved(sensitivity: Fraction, grid: Grid, inputs: Inputs) -> int:
    """Return how many steps apart two neighbors' snapped numbers can be.

    Each is snapped by at most half a step, and what is left is a whole number of steps: floor(sensitivity / step + 1).

    >>> steps_moved(Fraction(1), Grid("1/4"), Inputs.RAW), steps_moved(Fraction(1), Grid("1/4"), Inputs.SNAPPED)
    (5, 4)
    """
    return math.floor(sensitivity / grid.step) + (inputs is Inputs.RAW)


def read_whole_move(sensitivity: Number, stated: Norm, wanted: Norm, dimensions: int | None) -> Fraction:
    """Read how far one unit moves whole numbers; refuse what says nothing in the wanted norm.

    >>> read_whole_move(1, Norm.L1, Norm.L1, None)
    Fraction(1, 1)
    """
    move = rational(sensitivity, name="sensitivity")
    if move < 1:
        msg = f"sensitivity is {shown(sensitivity)}; whole numbers move by at least 1. Snap the bounds first."
        raise ParameterError(msg)
    if dimensions is None and stated is not wanted and (stated, wanted) != (Norm.L1, Norm.L2):
        msg = (
            f"norm is {stated.value!r}, which bounds nothing in {wanted.value!r} without the number of coordinates. "
            "State dimensions."
        )
        raise ParameterError(msg)
    return move


def require_size(size: int, dimensions: int) -> None:
    """Refuse values of another size than was stated; the size is public.

    >>> require_size(3, 3)
    """
    if size != dimensions:
        msg = (
            f"value holds {counted(size, 'number')}, but the mechanism was made for dimensions={dimensions}, on which "
            "depends how far snapping moves neighbors. State dimensions when the mechanism is made."
        )
        raise ParameterError(msg)


def added(values: NDArray[np.int64], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add noise to values below 2**62, and clamp the sums to below 2**62.

    Where a sum wraps around, both terms have its sign, and it is clamped to that side.

    >>> added(np.array([2**61, 5, -(2**61)]), np.array([2**63 - 1, -7, 2**62])).tolist() == [2**62 - 1, -2, 2**61]
    True
    """
    with np.errstate(over="ignore"):
        total = np.asarray(values + noise)
    wrapped = ((values ^ total) & (noise ^ total)) < 0
    np.clip(total, -FARTHEST, FARTHEST, out=total)
    if wrapped.any():
        total = np.where(wrapped, np.where(noise < 0, -FARTHEST, FARTHEST), total)
    return total


def unbounded_laplace(scale: Fraction, bits: BitSource) -> int:
    """Draw discrete Laplace noise without an end: where 64 bits stop a draw it goes on, as the law is geometric there.

    >>> from discreet.noise import SYSTEM
    >>> isinstance(unbounded_laplace(Fraction(10), SYSTEM), int)
    True
    """
    total = discrete_laplace(scale, bits=bits)
    more = abs(total)
    while more == _END:
        more = geometric(scale, bits=bits)
        total += more if total > 0 else -more
    return total


def float_gap(values: float | NDArray[np.float64], grid: Grid) -> float:
    """Return how far a float may lie from the whole number of steps that it stands for: nothing up to 2**53 steps.

    >>> float_gap(5.0, Grid(1)), float_gap(2.0**60, Grid(1))
    (0.0, 128.0)
    """
    farthest = float(np.max(np.abs(values), initial=0.0))
    return float(np.spacing(farthest)) / 2 if farthest > 2**53 * grid.step else 0.0


def ends(step: Fraction) -> str:
    """Say from where on values are clamped, beyond which an error speaks of what they were clamped to.

    >>> ends(Fraction(1, 2**20))
    'the values lie within ± 4.39E+12, or count as these ends, from which ± is meant then.'
    """
    most = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(Decimal(float_down(FARTHEST * step)))
    return f"the values lie within ± {most}, or count as these ends, from which ± is meant then."


def largest_within(build: Callable[[float], Built], *, within: Number, confidence: float, start: float) -> Built:
    """Return the mechanism with the most noise whose error at this confidence is at most `within`.

    The error grows with the scale. The search doubles or halves to a bracket and closes in on a relative width of
    1e-12; what is returned was checked.

    >>> from discreet.mechanisms import Laplace
    >>> made = largest_within(lambda b: Laplace(sensitivity=1, scale=b), within=5, confidence=0.95, start=1.0)
    >>> 4.99 < made.error(0.95) <= 5
    True
    """
    bound = read_positive(within, "within", zero="noise that never errs protects nobody")

    def fits(scale: float) -> bool:
        return Fraction(cast("float", build(scale).error(confidence))) <= bound

    low, high = _bracket(fits, start, within)
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return build(low)


def _bracket(fits: Callable[[float], bool], start: float, within: Number) -> tuple[float, float]:
    """Find a scale that fits and its double that does not."""
    low = start
    try:
        while not fits(low):
            low /= 2
        while fits(2 * low):
            low *= 2
    except ParameterError:
        msg = f"within is {shown(within)}; no noise of an allowed scale comes with this error. Count in other units."
        raise ParameterError(msg) from None
    return low, 2 * low
