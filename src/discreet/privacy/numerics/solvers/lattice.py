r"""The contour on a lattice: all values of the composed loss are o + w j, so M is periodic up to a phase.

With N nodes on one period (step h = 2 pi / (N w)) the trapezoidal sum is exact up to the aliases of `contour`, whose
period is X = N w, and there is no cut-off. The kernel of (1 - exp(-x))+ at the values above e, the first of which
exceeds e by r, is 1/(1 - z) - exp(-r) / (1 - z exp(-w)) with z = exp(-s w), and each node carries
exp(K(s) - s (e + r)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.privacy.numerics.losses.loss import ULP, Direction
from discreet.privacy.numerics.solvers.contour import Contour, place

MOST_POINTS = 1 << 19


@dataclass(frozen=True)
class Lattice(Contour):
    """A contour whose kernel knows the lattice."""

    span: float = 0.0
    offset: float = 0.0

    def _solve(self, target: float, guess: float) -> float:
        """Solve with the lattice's own kernel, which has kinks."""
        return self.solve_slowly(target, guess)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return a certified (lower, upper) around delta at this epsilon."""
        if epsilon >= self.top:
            return self.certain * (1 - 8 * ULP), self.infinity * (1 + 8 * ULP)
        ticks = math.floor((epsilon - self.offset) / self.span) + 1
        first = self.offset + ticks * self.span
        # Rounding may put the first value just below e, where it weighs nothing, or skip one just above: the weight
        # of a
        # value within the slack of e is at most the slack times its mass, and masses are below exp(K(c) - c e).
        gap = first - epsilon
        fuzz = 16 * ULP * (abs(first) + abs(self.offset) + abs(epsilon))
        decay = np.exp(-self.span * self.orders)
        # 1/(1 - z) - 1/(1 - z b) = z (1 - b) / ((1 - z) (1 - z b)); written so that small spans do not cancel.
        kernel = decay * -math.expm1(-self.span) / ((1 - decay) * (1 - decay * math.exp(-self.span))) + -math.expm1(
            -gap
        ) / (1 - decay * math.exp(-self.span))
        exponents = self.values - self.orders * first
        shift = float(exponents[0].real)
        waves = np.exp(exponents - shift)
        sizes = np.abs(waves) * np.abs(kernel) * self.weights.real
        scale = self.span * self.step / math.pi
        noise = self.errors + ULP * (16 + 2 * np.abs(self.values) + 2 * np.abs(self.orders) * (abs(first) + self.span))
        total = scale * float((waves * kernel * self.weights.real).real.sum())
        rounding = scale * float((sizes * np.expm1(np.minimum(noise, 50.0))).sum())
        rounding += scale * ULP * math.log2(len(sizes) + 2) * float(sizes.sum())
        size = math.exp(min(shift, 700.0))
        inflate = 1 + ULP * (4 + abs(shift))
        lower = total - rounding - fuzz - self._alias(epsilon, shift)
        high = self.infinity * (1 + 8 * ULP) + (total + rounding + fuzz) * size * inflate
        low = self.certain * (1 - 8 * ULP) + max(lower, 0.0) * size / inflate
        return max(min(low, 1.0), 0.0), min(max(high, low), 1.0)


def on_lattice(  # noqa: PLR0913, PLR0917  the numbers that make one line
    direction: Direction, span: float, offset: float, order: float, epsilon: float, log_delta: float
) -> Lattice | None:
    """Build the sum over one period, or None if it needs too many nodes."""
    where = place(direction, order, epsilon, log_delta)
    real = where.real
    points = math.ceil(where.period / span) + 1
    points += points % 2
    if points > MOST_POINTS:
        return None
    step = 2 * math.pi / (points * span)
    heights = step * np.arange(points // 2 + 1)
    values, errors = direction.line(real, heights)
    weights = np.ones(len(heights), dtype=np.complex128)
    weights[0] = 0.5
    weights[-1] = 0.5
    return Lattice(
        *(real, step, real + 1j * heights, values, errors, weights, -math.inf, where.right, direction.top, 0.0),
        *direction.outside,
        span=span,
        offset=offset,
    )
