"""Staircase noise on a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, exp_lower, exp_upper, float_up, integer, shown
from discreet.exact.rational import read_choice
from discreet.mechanisms.adding.grids import Inputs, ends, largest_within, require_size, steps_moved
from discreet.mechanisms.adding.reach import staircase_reach
from discreet.mechanisms.inputs.parameters import assign, miss, read_grid, read_positive
from discreet.mechanisms.inputs.values import exact_integers, limited, snapped
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import movers
from discreet.noise import SYSTEM, BitSource, staircase
from discreet.noise.bits import checked_scale
from discreet.privacy import NeighborRelation, Pure, curves
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Staircase"]


@dataclass(frozen=True, slots=True, init=False)
class Staircase(Mechanism["float | Fraction", "int | float"]):
    r"""Add staircase noise to one number: the least expected error of all epsilon-private noise.

    Privacy. Counted in steps, a move is a whole number of at most D. For a magnitude $kD + j$, $0 \le j < D$, the
    probability is proportional to $e^{-k\varepsilon}$ where j < near and to $e^{-(k+1)\varepsilon}$ elsewhere. Moving
    by at most D changes the number of stairs by at most one, hence the probability by a factor of at most
    $e^\varepsilon$. Of the moves, D itself tells the most: with $b = e^{-\varepsilon}$ and the probability $p$ of 0,
    the mass of loss epsilon is $t = (1 + p)/2 + \min(\text{near} - 1, D - \text{near})\,p$, that of loss -epsilon is
    b times as much, and the rest tells nothing.

    Without a grid the number must be whole, and D is the sensitivity. With a grid it is snapped: D = floor(sensitivity
    / step) + 1, as each neighbor moves by at most half a step; D = floor(sensitivity / step) where the sensitivity is
    stated for snapped values. Vectors are refused: a move in each of two coordinates could cost two stairs.

    Geng & Viswanath 2014 (arXiv:1212.1186). `near` is chosen for the least expected magnitude.

    >>> mechanism = Staircase(sensitivity=10, epsilon=3)
    >>> mechanism.near, mechanism.promise
    (2, 'ε = 3')
    """

    kind: ClassVar[str] = "staircase"
    guarantee: ClassVar[str] = (
        "One number that moves by at most D steps, with noise whose probability falls by exp(-epsilon) once in every D "
        "steps, is epsilon-differentially private."
    )
    accuracy: ClassVar[str] = "smallest m with Pr[|Z| > m] <= 1 - confidence, in closed form, in steps"
    source: ClassVar[str] = "Geng & Viswanath 2014, arXiv:1212.1186"

    sensitivity: Fraction
    epsilon: Fraction
    near: int
    grid: Grid | None
    inputs: Inputs
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        sensitivity: Number,
        *,
        epsilon: Number,
        near: SupportsIndex | None = None,
        grid: Grid | Number | None = None,
        inputs: Inputs | str = Inputs.RAW,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        stated = read_positive(sensitivity, "sensitivity", zero="what no unit can move needs no noise")
        rate = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
        if grid is None and stated.denominator != 1:
            msg = f"sensitivity is {shown(sensitivity)}; whole numbers move by whole numbers. Give a grid for others."
            raise ParameterError(msg)
        points = None if grid is None else read_grid(grid)
        assign(self, sensitivity=stated, epsilon=rate, grid=points, inputs=read_choice(Inputs, inputs, "inputs"))
        width = integer(self.width, name="sensitivity in steps of the grid", least=1, most=1 << 40)
        checked_scale(width / rate, name="sensitivity / epsilon")
        chosen = _best(rate, width) if near is None else integer(near, name="near", least=1, most=width)
        assign(self, near=chosen, neighbors=require_relation(neighbors))

    @classmethod
    def for_accuracy(  # noqa: PLR0913
        cls,
        sensitivity: Number,
        *,
        within: Number,
        confidence: float = 0.95,
        grid: Grid | Number | None = None,
        inputs: Inputs | str = Inputs.RAW,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> Self:
        """Return the mechanism with the smallest epsilon found that stays within a distance, with this probability.

        >>> made = Staircase.for_accuracy(sensitivity=10, within=20, confidence=0.95)
        >>> made.error(0.95) <= 20
        True
        """
        return largest_within(
            lambda scale: cls(sensitivity, epsilon=1 / scale, grid=grid, inputs=inputs, neighbors=neighbors),
            within=within,
            confidence=confidence,
            start=1.0,
        )

    @property
    def width(self) -> int:
        """D: how many steps apart two neighbors' numbers can be."""
        if self.grid is None:
            return int(self.sensitivity)
        return steps_moved(self.sensitivity, self.grid, self.inputs)

    @property
    def claim(self) -> Pure:
        """Epsilon, exactly."""
        return Pure(self.epsilon, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of laws D steps apart, which is that of the staircase density whose largest loss has the same mass.

        That density, falling at a share g of each period, has t = 1/2 + g (1 - b) / (2 (g + b (1 - g))) for g <= 1/2;
        so g = 2 u b / ((1 - b) (1 - 2 u)) with u = t - 1/2, rounded up. The curve grows with t, hence with g.
        """
        width, near = self.width, self.near
        low, high = exp_lower(-self.epsilon), exp_upper(-self.epsilon)
        if high >= 1 or low <= 0:
            return self.claim.curve()
        peak = (1 - low) / (2 * (near + (width - near) * low) - (1 - low))  # falls as b grows
        above = peak / 2 + min(near - 1, width - near) * peak
        if 2 * above >= 1:
            return self.claim.curve()
        share = min(2 * above * high / ((1 - high) * (1 - 2 * above)), Fraction(1, 2))
        return curves.staircase(self.epsilon, share, neighbors=self.neighbors)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The sensitivity."""
        step = Fraction(1) if self.grid is None else self.grid.step
        return (f"{movers(self.neighbors)} moves the number by at most {self.sensitivity}.", ends(step))

    def error(self, confidence: float = 0.95) -> float:
        """Return how far the number stays from its value, with this probability."""
        reach = staircase_reach(self.epsilon, self.width, self.near, miss(confidence))
        if self.grid is None:
            return float(reach)
        return float_up((reach + (Fraction(1, 2) if self.inputs is Inputs.RAW else 0)) * self.grid.step)

    def release(self, value: float | Fraction, *, bits: BitSource = SYSTEM) -> Release[int | float]:
        """Return the number with noise: whole without a grid, a float on the grid otherwise."""
        steps = exact_integers(value) if self.grid is None else np.asarray(snapped(value, self.grid))
        require_size(steps.size, 1)
        noisy = limited(int(steps.item()) + staircase(self.epsilon, self.width, self.near, bits=bits))
        return Release(noisy if self.grid is None else self.grid.value(noisy), self)


def _best(epsilon: Fraction, width: int) -> int:
    """Return the `near` of least expected magnitude: one of the two integers beside D / (1 + exp(epsilon / 2)).

    With b = exp(-epsilon), S = near + (D - near) b and T the sum of j, or b j from near on, for j < D, the expected
    magnitude is 2 (D S b / (1 - b)**2 + T / (1 - b)) / (2 S / (1 - b) - 1).
    """
    rate = float(epsilon)
    fall, rest = math.exp(-rate), -math.expm1(-rate)

    def magnitude(near: int) -> float:
        period = near + (width - near) * fall
        inner = near * (near - 1) / 2 + fall * (width * (width - 1) - near * (near - 1)) / 2
        return (width * period * fall / rest + inner) / (2 * period - rest)

    middle = math.floor(width / (1 + math.exp(min(rate / 2, 700.0))))
    return min({max(1, min(tried, width)) for tried in range(middle - 2, middle + 4)}, key=magnitude)
