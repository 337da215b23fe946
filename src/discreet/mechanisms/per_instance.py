"""Per-instance differential privacy: what one release costs one person, given everybody else's rows."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import rational, sqrt_upper
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.mechanisms.numbers.laplace import Laplace
from discreet.privacy import curves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from discreet.privacy import Curve

__all__ = ["largest_move", "pdp"]


def pdp(
    row: object, data: Sequence[Any], statistic: Callable[[list[Any]], ArrayLike], mechanism: Laplace | Gaussian
) -> Curve:
    """Return what a release of statistic(data) promises to one person: the curve of the pair with and without the row.

    `data` are the other rows. With v the move of the statistic that the row makes, Laplace noise loses |v|_1 / scale
    and normal noise is that of a sensitivity |v|_2; snapping to the mechanism's grid adds what it adds to any pair. The
    promise to everybody is the largest over all data and rows, never better than the mechanism's own claim, which is
    that if its sensitivity is right.

    The result depends on private rows and is itself private: look at it where the data are, never release it. To use
    such losses in a release, bound them privately: `LocalSensitivityBound` takes `largest_move` where one unit changes
    that by a known steepness, and pays for the bound; that is the conversion of per-instance promises to a promise to
    all.

    Wang 2019 (arXiv:1707.07708).

    >>> mechanism = Laplace(sensitivity=100, epsilon=1)
    >>> round(pdp(30, [10, 20], sum, mechanism).epsilon(delta=0), 3)
    0.3
    """
    with_row, without = _vector(statistic([*data, row])), _vector(statistic(list(data)))
    if len(with_row) != len(without):
        msg = "statistic returns vectors of different lengths with and without the row; a promise needs one length."
        raise ParameterError(msg)
    moves = [abs(a - b) for a, b in zip(with_row, without, strict=True)]
    if isinstance(mechanism, Laplace):
        moved = sum(moves, start=Fraction(0)) + mechanism.grid.rounding_l1(len(moves))
        return curves.pure(moved / mechanism.scale, neighbors=mechanism.neighbors)
    if isinstance(mechanism, Gaussian):
        moved = sqrt_upper(sum((move**2 for move in moves), start=Fraction(0)))
        moved += mechanism.grid.rounding_l2(len(moves))
        return curves.gaussian(mechanism.sigma, moved, neighbors=mechanism.neighbors)
    msg = f"mechanism is a {type(mechanism).__name__}; per-instance losses are known for Laplace and Gaussian noise."
    raise ParameterError(msg)


def largest_move(
    domain: Iterable[object], data: Sequence[Any], statistic: Callable[[list[Any]], ArrayLike]
) -> Fraction:
    """Return how far in L1 a row of a public domain that joins, or a row that leaves, moves the statistic; private.

    This is the local sensitivity under add/remove, by trying: one call of the statistic per row of the domain and per
    row of the data.

    >>> largest_move(range(11), [10, 20], lambda rows: sum(rows) / 10)
    Fraction(2, 1)
    """
    here = _vector(statistic(list(data)))
    others = [statistic([*data, row]) for row in domain]
    others += [statistic([*data[:i], *data[i + 1 :]]) for i in range(len(data))]
    moves = [
        sum((abs(a - b) for a, b in zip(_vector(other), here, strict=True)), start=Fraction(0)) for other in others
    ]
    return max(moves, default=Fraction(0))


def _vector(value: ArrayLike) -> list[Fraction]:
    """Read a number or an array of numbers exactly."""
    return [rational(coordinate, name="the statistic") for coordinate in np.ravel(np.asarray(value)).tolist()]
