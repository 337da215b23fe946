"""Functions of rows into [0, 1], evaluated so that one row moves the sum by at most 1, whatever the function does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["STEPS", "Predictor", "Rows", "Valued", "evaluated", "mean_of_public", "read_arrays"]

Rows: TypeAlias = Any
"""An array of rows, a tuple of several with as many rows each, or a function of the session that gives one of them."""
Valued: TypeAlias = Callable[..., Any]
"""Gives each row a value in [0, 1]: one array for all rows, which may hold truth values."""

STEPS = 1 << 20
"""Into how many parts a value between 0 and 1 is divided, so that sums are exact."""


class Predictor(Protocol):
    """A model as scikit-learn has it.

    >>> class Always:
    ...     def predict(self, x):
    ...         return [1] * len(x)
    >>> model: Predictor = Always()
    """

    def predict(self, x: Any, /) -> Any:  # noqa: ANN401  whatever the model takes and gives
        """Predict a label for each row."""


def _steps(raw: Any) -> NDArray[np.int64]:  # noqa: ANN401  whatever a function gives
    numbers = np.nan_to_num(np.asarray(raw, dtype=np.float64), nan=0.0, posinf=1.0, neginf=0.0)
    steps: NDArray[np.int64] = np.rint(np.clip(numbers, 0.0, 1.0) * STEPS).astype(np.int64)
    return steps


def _row(array: Any, place: int) -> Any:  # noqa: ANN401  as above
    return array.iloc[place : place + 1] if hasattr(array, "iloc") else array[place : place + 1]


def _alone(function: Valued, arrays: tuple[Any, ...], place: int) -> int:
    """The value of one row by itself: 0 where the function fails or gives no single number."""
    try:
        raw = np.asarray(function(*(_row(array, place) for array in arrays)), dtype=np.float64)
    except Exception:  # noqa: BLE001 - whatever the function raises, as an error would tell of a row
        return 0
    return int(_steps(raw).item()) if raw.size == 1 else 0


def evaluated(function: Valued, arrays: tuple[Any, ...]) -> int:
    """Sum the values of private rows, in steps of 2**-20; no error and no warning depends on a row.

    Where the function fails for all rows at once, each is evaluated by itself, and counts as 0 where it still fails: so
    one row moves the sum by at most 2**20, whatever the function does with the others.

    >>> evaluated(lambda x: x > 1, (np.array([1.0, 2.0, 3.0]),)) / 2**20
    2.0
    >>> evaluated(lambda x: [1 / int(x[0])], ([0, 2, 4],)) / 2**20
    0.75
    """
    rows = len(arrays[0])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            raw = np.asarray(function(*arrays), dtype=np.float64)
        except Exception:  # noqa: BLE001 - as above
            raw = None
        if raw is not None and raw.shape == (rows,):
            return int(_steps(raw).sum())
        return sum(_alone(function, arrays, place) for place in range(rows))


def read_arrays(sample: Rows, name: str) -> tuple[Any, ...]:
    """Read one array of rows, or several with as many rows each.

    >>> [len(array) for array in read_arrays(([1, 2], [3, 4]), "train")]
    [2, 2]
    """
    arrays = sample if isinstance(sample, tuple) else (sample,)
    sizes = {len(array) for array in arrays}
    if len(sizes) != 1:
        msg = f"{name} holds {counted(len(arrays), 'array')} of different lengths; give as many rows of each."
        raise ParameterError(msg)
    return arrays


def mean_of_public(function: Valued, arrays: tuple[Any, ...]) -> Fraction:
    """Return the mean over rows that need no protection, whose errors are shown.

    >>> mean_of_public(lambda x: x > 1, (np.array([1.0, 2.0]),))
    Fraction(1, 2)
    """
    rows = len(arrays[0])
    raw = np.asarray(function(*arrays), dtype=np.float64)
    if raw.shape != (rows,):
        msg = f"the function gave an array of shape {raw.shape} for {rows} rows; give each row one value in [0, 1]."
        raise ParameterError(msg)
    return Fraction(int(_steps(raw).sum()), STEPS * rows)
