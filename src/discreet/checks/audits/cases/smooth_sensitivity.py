"""Noise for a smooth bound that the caller gives: values a bound apart, and bounds that differ by all they may."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.checks.audits.case import Case, in_cells
from discreet.checks.audits.laws import cells_law, polyplace_above
from discreet.mechanisms.instances.smooth_sensitivity import SmoothSensitivity

__all__ = ["cases"]

_EDGES = [0.5625, 1.5625, 2.5625, 3.5625, 4.5625, 5.5625, 6.5625]  # between points of the grids
_WHOLE = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]


def _law(mechanism: SmoothSensitivity, value: tuple[int, int | Fraction]) -> dict[int, float]:
    """The value with noise in proportion to the bound; cells do not see that ends are clamped."""
    edges = _WHOLE if mechanism.grid.step == 1 else _EDGES
    scale = float(mechanism.noise.stretch * value[1])
    return cells_law(polyplace_above(float(mechanism.shape)), float(value[0]), scale, edges)


def _law_of_rho(mechanism: SmoothSensitivity, value: tuple[int, int | Fraction]) -> dict[int, float]:
    """Laplace noise times exp(shape Y) for a standard normal Y: its tail is a mean over Y, by the trapezoidal rule."""
    shape, step = float(mechanism.shape), 1 / 16
    nodes = [(k * step, math.exp(-((k * step) ** 2) / 2) * step / math.sqrt(2 * math.pi)) for k in range(-160, 161)]

    def above(x: float) -> float:
        return math.fsum(weight * math.exp(-x * math.exp(-shape * y)) / 2 for y, weight in nodes)

    return cells_law(above, float(value[0]), float(mechanism.noise.stretch * value[1]), _EDGES)


def cases() -> tuple[Case, ...]:
    """Return values as far apart as the bound, with bounds a factor exp(smoothing) apart."""
    wide = Fraction(math.exp(0.125))

    def made(grid: str, **price: object) -> SmoothSensitivity:
        return SmoothSensitivity(lower=0, upper=8, grid=grid, smoothing="1/8", **price)  # type: ignore[arg-type]

    rho = made("1/8", rho=1, law="laplace_log_normal", shape="1/4")
    shown, whole = in_cells(_EDGES), in_cells(_WHOLE)
    return (
        Case("value and bound up", made("1", epsilon=1), (3, 1), (4, wide), whole, draws=400, law=_law, coarse=True),
        Case(
            "value down, bound up", made("1/8", epsilon=1), (4, 1), (3, wide), shown, draws=400, law=_law, coarse=True
        ),
        Case("with rho", rho, (4, 1), (3, wide), shown, draws=400, law=_law_of_rho, coarse=True),
    )
