"""A tree with many children and subtraction: the default under pure privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.mechanisms.adding.grids import Norm
from discreet.mechanisms.prefix.factorization import Factorization, Run, read_horizon, several

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.mechanisms.prefix.factorization import Draw

__all__ = ["KaryTree"]

_TALLEST = 24


@dataclass(frozen=True, slots=True, init=False)
class KaryTree(Factorization):
    r"""Noise on blocks of k^0, k^1, ..., k^(h-1) elements, added and subtracted: t has digits from -(k-1)/2 to (k-1)/2.

    With $t = \sum_l d_l k^l$, all digits balanced but the highest, the sum at t is that of $|d_l|$ blocks of each
    length, subtracted where $d_l$ is negative. An element is in one block of each length, so h noises protect it,
    Lap(h / epsilon) each; k is odd, and without k and height the pair with the least mean variance is taken.

    Blocks that are subtracted reach beyond t; their elements are not there yet and count as 0, but their noise is
    drawn. The sum shown is $S_t + (Bz)_t$ with whole numbers B, so nothing is rounded. An adaptive stream is safe with
    Laplace noise: for neighbors that differ in element i by d, map noise z to z + d C e_i. The sums stay the same, as
    BC = A; d may depend on sums before i, which the map leaves alone, as (BC)_ti = 0 for t < i; so it is a bijection,
    and changes the noise's probability by a factor of at most exp(|d| h / scale). For Gaussian noise that argument
    fails (a ratio is not bounded), and `SquareRoot` is better: rho is refused.

    >>> tree = KaryTree(65536)
    >>> tree.children, tree.height, round(float(tree.deviations(epsilon=1).max()), 1)
    (19, 4, 34.4)
    """

    kind: ClassVar[str] = "kary_tree"
    title: ClassVar[str] = "k-ary tree with subtraction"
    source: ClassVar[str] = "Andersson, Pagh, Steiner & Torkamani 2025, arXiv:2408.07021"
    causal: ClassVar[bool] = False

    horizon: int
    children: int
    height: int

    def __init__(self, horizon: int, children: int | None = None, height: int | None = None) -> None:
        steps = read_horizon(horizon)
        if (children is None) != (height is None):
            msg = "give both children and height, or none of them: then the best pair is taken."
            raise ParameterError(msg)
        if children is None or height is None:
            children, height = _best(steps)
        count = integer(children, name="children", least=3, most=1 << 31)
        tall = integer(height, name="height", least=1, most=_TALLEST)
        if count % 2 == 0:
            msg = f"children is {shown(children)}; it must be odd, so that digits are balanced."
            raise ParameterError(msg)
        for name, value in (("horizon", steps), ("children", count), ("height", tall)):
            object.__setattr__(self, name, value)

    def moved(
        self, steps: Fraction, norm: Norm, *, events: int = 1, separation: int = 0, dimension: int = 1
    ) -> Fraction:
        """An event moves the sum of a block of each length."""
        del separation, dimension
        if norm is not Norm.L1:
            msg = (
                "a tree with subtraction shows sums whose blocks are not complete yet, for which Gaussian noise has no "
                "proof on adaptive streams; take epsilon, or SquareRoot or Buffered with rho."
            )
            raise ParameterError(msg)
        return several(steps * self.height, events)

    def digits(self, steps: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Give for each length, from 1 on, the groups of blocks that steps are near, and the digits from there."""
        half = self.children // 2
        for level in range(self.height):
            if level == self.height - 1:
                yield np.zeros_like(steps), steps
                return
            digit = (steps + half) % self.children - half
            steps = (steps - digit) // self.children
            yield steps, digit

    def weights(self, step: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """One noise for each block."""
        count = sum(abs(int(digit[0])) for _, digit in self.digits(np.array([step])))
        return np.ones(1), np.array([count])

    def window(self, step: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """In a group the noises of two digits of one sign cancel; those of different groups are independent."""
        both = self.digits(np.array([step, max(step - width, 0)]))
        counts = (abs(int(d[0] - d[1])) if g[0] == g[1] else int(np.abs(d).sum()) for g, d in both)
        return np.ones(1), np.array([sum(counts)])

    def variances(self) -> NDArray[np.float64]:
        """As many as blocks."""
        steps = np.arange(1, self.horizon + 1)
        return np.asarray(sum(np.abs(digit) for _, digit in self.digits(steps)), dtype=np.float64)

    def start(self, dimension: int = 1) -> Run:
        """Begin."""
        return _Run(self, dimension)


def _best(horizon: int) -> tuple[int, int]:
    """Return the odd k and the height of the least mean variance, h^2 times the mean number of blocks."""
    best = (float("inf"), 3, 1)
    for height in range(1, _TALLEST):
        widest = int(2 * round(horizon ** (1 / max(height - 1, 1)))) + 3
        for children in range(3, min(widest, 4_001), 2):
            top = horizon / children ** (height - 1)
            blocks = (height - 1) * (children**2 - 1) / (4 * children) + max(top, 1) / 2
            best = min(best, (height**2 * blocks, children, height))
            if height == 1:
                break
    return best[1:]


class _Run(Run):
    """The exact sum, and for each length the noise that its digit adds, for all digits of the group that steps are in.

    In a group the noise of digit d is a walk that starts at 0 and goes either way: |d| blocks to the right are added,
    |d| to the left subtracted.
    """

    def __init__(self, tree: KaryTree, dimension: int) -> None:
        super().__init__(dimension)
        self._tree = tree
        self._total = np.zeros(dimension, dtype=np.int64)
        self._walks: list[NDArray[np.int64] | None] = [None] * tree.height

    def extend(self, elements: NDArray[np.int64], draw: Draw) -> NDArray[np.float64]:
        steps = np.arange(self.step + 1, self.step + len(elements) + 1)
        noisy = self._total + np.cumsum(elements, axis=0)
        self._total = noisy[-1].copy()
        half = self._tree.children // 2
        *lower, (_, top) = self._tree.digits(steps)
        for level, (groups, digits) in enumerate(lower):
            walks = self._group(level, int(groups[0]), int(groups[-1]), draw)
            noisy += walks[groups - groups[0], digits + half]
            self._walks[level] = walks[-1]
        noisy += self._top(int(top[0]), int(top[-1]), draw)[top - top[0]]
        self.step += len(steps)
        return noisy.astype(np.float64)

    def _group(self, level: int, first: int, last: int, draw: Draw) -> NDArray[np.int64]:
        """Return the walks of groups; the first goes on if the stream was in it before."""
        (before, _), *_ = list(self._tree.digits(np.array([self.step])))[level:]
        kept = self._walks[level]
        goes_on = kept is not None and int(before[0]) == first
        half, count = self._tree.children // 2, last - first + 1 - goes_on
        drawn = draw((count * 2 * half, self.dimension)).reshape(count, 2, half, self.dimension).cumsum(axis=2)
        middle = np.zeros((count, 1, self.dimension), dtype=np.int64)
        walks = np.concatenate([-drawn[:, 0, ::-1], middle, drawn[:, 1]], axis=1)
        return np.concatenate([kept[None], walks]) if goes_on and kept is not None else walks

    def _top(self, first: int, last: int, draw: Draw) -> NDArray[np.int64]:
        """Return the noise of the highest digit from `first` to `last`, which goes on from the last one."""
        kept = self._walks[-1]
        was, value = (0, np.zeros(self.dimension, dtype=np.int64)) if kept is None else (int(kept[0, 0]), kept[1])
        walk = np.concatenate([value[None], value + draw((last - was, self.dimension)).cumsum(axis=0)])
        self._walks[-1] = np.stack([np.full(self.dimension, last), walk[-1]])
        return walk[first - was :]

    def state(self) -> dict[str, Any]:
        walks = [None if walk is None else walk.tolist() for walk in self._walks]
        return {"step": self.step, "total": self._total.tolist(), "walks": walks}

    def load(self, state: dict[str, Any]) -> None:
        self.step, self._total = state["step"], np.array(state["total"], dtype=np.int64)
        self._walks = [None if walk is None else np.array(walk, dtype=np.int64) for walk in state["walks"]]
