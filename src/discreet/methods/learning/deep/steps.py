"""The noise on the sums of gradients, step after step: independent, or that of a factorization of running sums."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import sqrt_upper
from discreet.mechanisms.adding.grids import Norm
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.noise import gaussian_steps
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.learning.deep.gradients import ClippedSum
    from discreet.methods.learning.deep.promise import DeepTraining
    from discreet.noise import BitSource

__all__ = ["Correlated", "Independent"]

_WIDER = 1 + Fraction(1, 1 << 10)
"""Noise is so much wider than promised, which makes up for snapping gradients to the grid."""
_WIDEST = 1 << 39


class Independent:
    r"""Fresh Gaussian noise at each step.

    A rule that adapts pays for its noisy count within each step, in squares of multipliers: of $z^{-2}$ the count has
    the share s, so its multiplier is $z / \sqrt s$ for a sensitivity of 1/2, that of gradients $z / \sqrt{1 - s}$.

    >>> Independent.__name__
    'Independent'
    """

    def __init__(self, promise: DeepTraining, dimensions: int) -> None:
        self._promise = promise
        self._dimensions = dimensions
        self._share = getattr(promise.clipping, "share", None)
        self._made: tuple[Fraction, Gaussian] | None = None

    def mechanism(self, norm: Fraction) -> Gaussian:
        """The noise on gradients of a norm; never less than the promise says, snapping included."""
        if self._made is None or self._made[0] != norm:
            promise = self._promise
            multiplier = promise.multiplier * _WIDER
            if self._share is not None:
                multiplier *= sqrt_upper(1 / (1 - self._share))
            moved = norm * (1 if promise.neighbors is NeighborRelation.ADD_REMOVE else 2)
            made = Gaussian(moved, sigma=multiplier * moved, dimensions=self._dimensions, neighbors=promise.neighbors)
            if made.sigma < made.moved * multiplier / _WIDER:
                msg = "the model has too many parameters for the grid of its noise; train fewer of them."
                raise ParameterError(msg)
            self._made = norm, made
        return self._made[1]

    def noisy(self, total: ClippedSum, norm: Fraction, bits: BitSource) -> NDArray[np.float64]:
        """Release one sum."""
        values: NDArray[np.float64] = np.asarray(self.mechanism(norm).release(total.flat(), bits=bits).value)
        return values

    def share_below(self, total: ClippedSum, expected: int, bits: BitSource) -> float:
        """Release the count of gradients that were not shortened, as a share of the expected batch."""
        assert self._share is not None  # noqa: S101 - asked by rules that adapt
        moved = Fraction(1, 2) * (1 if self._promise.neighbors is NeighborRelation.ADD_REMOVE else 2)
        sigma = self._promise.multiplier * _WIDER * sqrt_upper(1 / self._share) * moved
        count = Gaussian(moved, sigma=sigma, grid="1/2", inputs="snapped", neighbors=self._promise.neighbors)
        centered = count.release(total.below - total.units / 2, bits=bits).value
        return float(centered) / expected + 0.5

    def state(self) -> Any:  # noqa: ANN401 - JSON
        """Nothing goes on."""
        return None

    def load(self, state: Any) -> None:  # noqa: ANN401 - JSON
        """Take nothing."""


class Correlated:
    """Noise that later steps take back in part: the difference of two noisy running sums.

    Sums of gradients are rounded to steps of the norm / 2**b, which moves them by at most sqrt(d)/2 steps for either
    neighbor; the factorization bounds how far the encoding of all of a unit's visits moves. b is the largest, up to 20,
    at which the noise still fits the lattice of the encoding.

    >>> Correlated.__name__
    'Correlated'
    """

    def __init__(self, promise: DeepTraining, dimensions: int, events: int, separation: int) -> None:
        assert promise.factorization is not None  # noqa: S101 - by the trainer
        self._run = promise.factorization.start(dimensions)
        far = sqrt_upper(Fraction(dimensions))
        for power in range(20, 9, -1):
            moved = promise.factorization.moved(
                (1 << power) + far, Norm.L2, events=events, separation=separation, dimension=dimensions
            )
            self._sigma = promise.multiplier * moved
            if self._sigma < _WIDEST:
                break
        else:
            msg = "the noise is too wide for this factorization; take a shorter horizon, or a larger epsilon."
            raise ParameterError(msg)
        self._step = promise.clipping.norm / (1 << power)
        self._reach = promise.factorization.reach
        self._last = np.zeros(dimensions)

    def noisy(self, total: ClippedSum, norm: Fraction, bits: BitSource) -> NDArray[np.float64]:
        """Release one sum."""
        del norm
        whole = np.clip(np.rint(total.flat() / float(self._step)), -self._reach, self._reach).astype(np.int64)
        sums = self._run.extend(whole[None], lambda shape: gaussian_steps(self._sigma, 1, shape, bits))[0]
        fresh: NDArray[np.float64] = (sums - self._last) * float(self._step)
        self._last = sums
        return fresh

    def state(self) -> Any:  # noqa: ANN401 - JSON
        """What goes on."""
        return {"run": self._run.state(), "last": self._last.tolist()}

    def load(self, state: Any) -> None:  # noqa: ANN401 - JSON
        """Take what `state` returned."""
        self._run.load(state["run"])
        self._last = np.array(state["last"])
