"""Elements of a stream: read, snapped and bounded, one by one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms.adding.grids import Norm
from discreet.mechanisms.inputs.values import exact_integers, private_number, snapped
from discreet.methods.streaming.continual_sum import Elements, Outside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.streaming.continual_sum import ContinualSum

__all__ = ["bounded", "read_elements"]

_SMALL = 1 << 20


def read_elements(values: Any, promise: ContinualSum, *, many: bool) -> NDArray[np.int64]:  # noqa: ANN401  any numbers
    """Read one element, or many, as rows of whole numbers of steps, within their bounds.

    >>> from discreet.methods.streaming import ContinualSum
    >>> read_elements([0.5, 7.0], ContinualSum(9, 1, rho=1, grid="1/4"), many=True).tolist()
    [[2], [4]]
    """
    whole = promise.grid.step == 1 and promise.elements is Elements.TOTALS
    steps = np.asarray(exact_integers(values) if whole else snapped(values, promise.grid), dtype=np.int64)
    shape = ((-1,) if many else ()) + ((promise.dimension,) if promise.dimension > 1 else ())
    if steps.ndim != len(shape) or (promise.dimension > 1 and steps.shape[-1] != promise.dimension):
        need = "a list of elements, each" if many else "one element:"
        msg = f"an element has shape {steps.shape}; give {need} {promise.dimension} number(s)."
        raise ParameterError(msg)
    rows = steps.reshape(-1, promise.dimension)
    if promise.outside is Outside.REFUSE:
        _require_numbers(values)
    return bounded(rows, promise, whole=promise.elements is Elements.TOTALS)


def _require_numbers(values: Any) -> None:  # noqa: ANN401
    """Refuse NaN and what is no number; the caller chose that, and sees the data."""
    array = np.asarray(values)
    floats = array.dtype.kind == "f"
    absent = (
        np.isnan(array).any()
        if floats
        else array.dtype.kind not in "iu"
        and any(isinstance(n, float) and math.isnan(n) for n in (private_number(each) for each in array.ravel()))
    )
    if absent:
        msg = "an element is no number; nothing was added. Leave it out, or take outside='clip', which counts it as 0."
        raise ParameterError(msg)


def bounded(rows: NDArray[np.int64], promise: ContinualSum, *, whole: bool) -> NDArray[np.int64]:
    """Scale rows down to the sensitivity, unless they are totals; and to what all sums can hold.

    >>> from discreet.methods.streaming import ContinualSum
    >>> bounded(np.array([[3, 4], [30, 40]]), ContinualSum(9, 5, rho=1, grid=1, dimension=2), whole=False).tolist()
    [[3, 4], [3, 4]]
    """
    reach = promise.reach
    if whole:
        return np.clip(rows, -reach, reach)
    most = promise.sensitivity / promise.grid.step
    if promise.norm is Norm.LINF or promise.dimension == 1:
        end = min(math.floor(most), reach)
        inside = np.clip(rows, -end, end)
        over = (inside != rows).any(axis=1)
    else:
        inside, over = _scaled(rows, promise, math.floor(most if promise.norm is Norm.L1 else most**2))
    if promise.outside is Outside.REFUSE and over.any():
        msg = (
            f"an element is outside its bound, {promise.sensitivity} in {promise.norm.value}; nothing was added. Clip "
            "it, or take outside='clip'."
        )
        raise ParameterError(msg)
    return np.clip(inside, -reach, reach)


def _scaled(rows: NDArray[np.int64], promise: ContinualSum, limit: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Scale rows whose norm (L2: its square) is above a limit toward 0, in whole numbers that are checked exactly."""
    first = promise.norm is Norm.L1

    def size(row: NDArray[np.int64]) -> int:
        numbers = row.tolist()
        return sum(map(abs, numbers)) if first else sum(number * number for number in numbers)

    if int(np.abs(rows).max(initial=0)) < _SMALL:  # then 64 bits hold the sums
        over = (np.abs(rows) if first else rows**2).sum(axis=1) > limit
    else:
        over = np.array([size(row) > limit for row in rows], dtype=bool)
    inside = rows.copy()
    for place in np.flatnonzero(over):
        row, whole = rows[place], size(rows[place])
        up, down = (limit, whole) if first else (math.isqrt(limit), math.isqrt(whole - 1) + 1)
        inside[place] = [abs(number) * up // down * (1 if number > 0 else -1) for number in row.tolist()]
    return inside, over
