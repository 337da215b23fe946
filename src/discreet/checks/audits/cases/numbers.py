"""Noise on numbers: neighbors a whole sensitivity apart, in one coordinate or spread over several.

Where snapping moves neighbors further apart, the step of the grid is part of the promise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.audits.case import Case, in_cells, looking_at, summed
from discreet.checks.audits.laws import (
    cells_law,
    convolved,
    discrete_law,
    laplace_above,
    laplace_law,
    normal_above,
    rounded_law,
)
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Staircase, Together

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]

_CELLS = [-3.5, -1.5, -0.7, -0.3, 0.2, 0.6, 1.1, 1.7, 2.6, 4.5]
_ENDS = -6, 7


def _on_grid(mechanism: Laplace | Gaussian, value: float, scale: float, above: Callable[[float], float]) -> Any:  # noqa: ANN401
    """Rounding to a grid, values on the grid: noise in steps."""
    step = float(mechanism.grid.step)
    steps = rounded_law(lambda x: above(x / scale), round(value / step), -60, 60)
    return {k * step: chance for k, chance in steps.items()}


def _laplace(mechanism: Laplace, value: float) -> dict[float, float]:
    law: dict[float, float] = _on_grid(mechanism, value, float(mechanism.scale / mechanism.grid.step), laplace_above)
    return law


def _gaussian(mechanism: Gaussian, value: float) -> dict[float, float]:
    law: dict[float, float] = _on_grid(mechanism, value, float(mechanism.sigma / mechanism.grid.step), normal_above)
    return law


def _laplace_in_cells(mechanism: Laplace, value: float) -> dict[int, float]:
    """On a grid that is so fine that rounding shows nowhere."""
    return cells_law(laplace_above, value, float(mechanism.scale), _CELLS)


def _laplace_sums(mechanism: Laplace, value: Sequence[float]) -> dict[int, float]:
    """The sum of two, whose noise is above x with chance (2 + x) exp(-x) / 4."""
    return cells_law(lambda x: (2 + x) * math.exp(-x) / 4, sum(value), float(mechanism.scale), _CELLS)


def _discrete_laplace(mechanism: DiscreteLaplace, value: int) -> dict[int, float]:
    return laplace_law(float(mechanism.scale), value, -40, 40)


def _discrete_gaussian(mechanism: DiscreteGaussian, value: int, end: int = 30) -> dict[int, float]:
    sigma = float(mechanism.sigma)
    return discrete_law(lambda z: math.exp(-z * z / (2 * sigma * sigma)), value, -end, end)


def _discrete_gaussian_sums(mechanism: DiscreteGaussian, value: list[int]) -> dict[int, float]:
    """The sum of coordinates: between neighbors that move all alike, the likelihood ratio depends on it alone."""
    noise = convolved(_discrete_gaussian(mechanism, 0, 20), len(value))
    return {total + sum(value): chance for total, chance in noise.items()}


def _staircase(mechanism: Staircase, value: float) -> dict[float, float]:
    """Geng & Viswanath 2014: the mass falls by exp(-epsilon) once a period, at `near` steps into it."""
    step = 1.0 if mechanism.grid is None else float(mechanism.grid.step)
    width, near, rate = mechanism.width, mechanism.near, float(mechanism.epsilon)

    def weight(z: int) -> float:
        stairs, rest = divmod(abs(z), width)
        return math.exp(-rate * (stairs + (rest >= near)))

    return {k * step: chance for k, chance in discrete_law(weight, round(value / step), -80, 80).items()}


def _together(mechanism: Together, value: dict[str, int]) -> dict[str, float]:
    """The product of two laws, each with noise for its own part of the price."""
    scales = {name: 1 / float(part.claim.epsilon) for name, part in mechanism.parts.items()}  # type: ignore[union-attr]
    one, other = (laplace_law(scale, value[name], *_ENDS) for name, scale in scales.items())
    return {f"{a} {b}": p * q for a, p in one.items() for b, q in other.items()}


def _both(release: Any) -> str:  # noqa: ANN401  of two mechanisms
    """Look at both numbers, what lies beyond the ends as these."""
    return " ".join(str(max(_ENDS[0], min(int(part.value), _ENDS[1]))) for part in release.value.values())


def _at_once(
    mechanism: DiscreteLaplace | DiscreteGaussian, value: int | list[int], count: int, bits: BitSource
) -> NDArray[np.int64]:
    """Many numbers or vectors in one call, as a large histogram is released; of a vector the sum is looked at."""
    totals: NDArray[np.int64] = np.asarray(mechanism.release(np.tile(value, (count, 1)), bits=bits).value).sum(axis=1)
    return totals


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    four: tuple[Any, Any] = [0] * 4, [1] * 4
    both = Together({"few": DiscreteLaplace(1, epsilon="0.5"), "many": DiscreteLaplace(1, epsilon=1)})
    few, wide = in_cells(_CELLS), Laplace(2, epsilon=1, dimensions=2)
    on_grid: dict[str, Any] = {"delta": "0.1", "law": _gaussian}
    tight: dict[str, Any] = {"delta": "0.1", "law": _discrete_gaussian, "tight": True}
    return (
        Case("a number", Laplace(1, epsilon=1), 0.0, 1.0, few, law=_laplace_in_cells, coarse=True),
        Case("a number on a coarse grid", Laplace(1, epsilon=1, grid="1/2"), 0.0, 1.0, law=_laplace),
        # 0.24 and 1.26 are 1.02 apart and are snapped to 0 and 1.5: the step is part of the promise.
        Case("neighbors that snapping moves apart", Laplace("1.02", epsilon=2, grid="1/2"), 0.24, 1.26, law=_laplace),
        Case("two numbers", wide, [0.0] * 2, [1.0] * 2, in_cells(_CELLS, sum), law=_laplace_sums, coarse=True),
        Case("a number", Gaussian(1, epsilon=1, delta="0.1"), 0.0, 1.0, delta="0.1", draws=4_000),
        Case("a number on a coarse grid", Gaussian(1, sigma=1, grid="1/2"), 0.0, 1.0, **on_grid),
        Case("moved apart by the snap", Gaussian("1.02", sigma=1, grid="1/2"), 0.24, 1.26, **on_grid),
        Case("four numbers", Gaussian(2, sigma=2, dimensions=4), [0.0] * 4, [1.0] * 4, summed, "0.1", 2_000),
        Case("a count", DiscreteLaplace(1, epsilon=1), 0, 1, law=_discrete_laplace, tight=True),
        Case(
            "many counts in one call",
            DiscreteLaplace(1, epsilon="1/2"),
            *(7, 6),
            _at_once,
            law=_discrete_laplace,
            draws=20_000,
        ),
        Case("a sum of up to 3", DiscreteLaplace(3, epsilon=1), 0, 3, law=_discrete_laplace),
        Case("three counts moved at once", DiscreteLaplace(3, epsilon=2), [0] * 3, [1] * 3, _at_once, draws=20_000),
        Case("a count", DiscreteGaussian(1, sigma=1), 0, 1, draws=20_000, **tight),
        Case("a sum of up to 2", DiscreteGaussian(2, sigma=1, dimensions=1), 0, 2, **tight),
        Case("four counts", DiscreteGaussian(2, sigma=1), *four, _at_once, "0.1", 20_000, _discrete_gaussian_sums),
        Case("a count", Staircase(1, epsilon=1), 0, 1, law=_staircase, tight=True),
        Case("a sum of up to 5", Staircase(5, epsilon=1), 0, 5, law=_staircase, tight=True),
        Case("half of what may move", Staircase(5, epsilon=1), 0, 3, law=_staircase),
        Case("a number on a grid", Staircase(1, epsilon=2, grid="1/4"), 0.0, 1.0, law=_staircase),
        Case(
            "both move",
            both,
            {"few": 0, "many": 0},
            {"few": 1, "many": 1},
            looking_at(_both),
            draws=4_000,
            law=_together,
            tight=True,
        ),
    )
