"""What all factorizations of running sums share: how far an event moves, how wrong each sum is, how a stream runs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from discreet.exact import integer, sqrt_upper
from discreet.mechanisms.adding.grids import Norm
from discreet.mechanisms.inputs.parameters import exactly_one, read_positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.exact import Number

__all__ = ["LONGEST", "Draw", "Factorization", "Run", "draw_errors", "lower_bound", "read_horizon"]

Draw: TypeAlias = Callable[[tuple[int, int]], "NDArray[np.int64]"]
"""Draws independent noise on the lattice, so many rows of so many coordinates."""

LONGEST = 1 << 30
_SUMS = 1 << 60


def read_horizon(horizon: int, most: int = LONGEST) -> int:
    """Read the number of steps of a stream.

    >>> read_horizon(365)
    365
    """
    return integer(horizon, name="horizon", least=1, most=most)


class Factorization(ABC):
    r"""A way A = BC to release all prefix sums Ax of a stream x: noise on Cx, and B of the result.

    C is the *encoder*. What it makes of whole numbers are whole numbers of steps of a lattice, 2**-lattice of a step of
    the stream's grid, and noise is drawn on that lattice. So the noisy encoding is exact, and `moved` bounds how far
    an event moves what is really encoded, roundings included. B is the *decoder*: whatever floats it computes are
    computed from noisy encodings alone, which is post-processing; where B and C are whole numbers (trees) the sums come
    out exactly.

    Adaptive streams. The next element may depend on the sums that were shown. If a sum shown at step t uses noise of
    encodings alone that are complete by then (`causal`), each encoding is a release of its own whose move is settled
    by the past, and moves that are bounded along every path compose, for Laplace and for Gaussian noise (Denisov,
    McMahan, Rush, Smith & Guha Thakurta 2022, arXiv:2202.08312, Theorem 2.1; for filters Whitehouse, Ramdas, Rogers &
    Wu 2023). Otherwise Laplace noise alone is safe: see `KaryTree`.

    >>> from discreet.mechanisms.prefix import SquareRoot
    >>> SquareRoot(4).variances().shape
    (4,)
    """

    __slots__ = ()

    kind: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    causal: ClassVar[bool] = True

    horizon: int

    def __post_init__(self) -> None:
        """Refuse what is no horizon."""
        read_horizon(self.horizon)

    @property
    def lattice(self) -> int:
        """How many bits finer the lattice of the noise is than the grid of the stream."""
        return 0

    @property
    def reach(self) -> int:
        """How large one element may be, in steps of the grid, so that all sums fit; larger ones count as this."""
        return _SUMS // self.horizon

    @abstractmethod
    def moved(
        self, steps: Fraction, norm: Norm, *, events: int = 1, separation: int = 0, dimension: int = 1
    ) -> Fraction:
        """Bound how far neighbors' encodings are apart, in steps of the lattice, rounded up.

        One unit has at most `events` events, each of which moves its element by `steps` steps of the grid in the norm,
        L1 or L2, and two of which are at least `separation` steps of time apart (0: they may fall on the same one).
        """

    @abstractmethod
    def weights(self, step: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return with which weights noises enter the sum at a step, and how many with each: B's row, grouped."""

    @abstractmethod
    def start(self, dimension: int = 1) -> Run:
        """Begin a stream at step 0."""

    def window(self, step: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the same of the sum at a step minus the one `width` steps before: of the elements between.

        Noises that are in both sums with the same sign cancel; where a factorization does not say which, they are
        counted twice, which is an upper bound.
        """
        if width >= step:
            return self.weights(step)
        both = self.weights(step), self.weights(step - width)
        weights, counts = (
            np.concatenate([np.broadcast_to(pair[place], pair[1].shape) for pair in both]) for place in (0, 1)
        )
        return weights, counts

    def variance(self, step: int) -> float:
        """Return the variance of the noise of one sum, where each noise has variance 1."""
        weights, counts = self.weights(step)
        return float(np.sum(weights**2 * counts))

    def variances(self) -> NDArray[np.float64]:
        """Return the variances of all sums, from step 1 to the horizon."""
        return np.array([self.variance(step) for step in range(1, self.horizon + 1)])

    def deviations(self, *, epsilon: Number | None = None, rho: Number | None = None) -> NDArray[np.float64]:
        """Return the standard deviation of each sum, for events that move one element by 1, on a fine grid.

        >>> from discreet.mechanisms.prefix import EveryElement
        >>> EveryElement(4).deviations(rho="1/2").tolist()[0]
        1.0
        """
        exactly_one(epsilon=epsilon, rho=rho)
        fine = 1 << 20  # steps of the grid in 1
        norm = Norm.L1 if rho is None else Norm.L2
        moved = float(self.moved(Fraction(fine), norm)) / (fine << self.lattice)
        if rho is None:
            spread = math.sqrt(2) * moved / float(read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))
        else:
            spread = moved / math.sqrt(2 * float(read_positive(rho, "rho", zero="no finite noise reaches it")))
        return spread * np.sqrt(self.variances())

    def plot(self, *, epsilon: Number | None = None, rho: Number | None = None, axes: Axes | None = None) -> Axes:
        """Draw the standard deviation of each sum (needs the extra `plot`); see `draw_errors` for several."""
        return draw_errors([self], epsilon=epsilon, rho=rho, axes=axes)

    def record(self) -> dict[str, Any]:
        """Return the factorization as a JSON object; `read_factorization` reads it."""
        return {"kind": self.kind, **{item.name: getattr(self, item.name) for item in fields(self)}}  # type: ignore[arg-type]


class Run(ABC):
    """A stream that runs: the private state of an encoder and what the decoder keeps.

    >>> from discreet.mechanisms.prefix import EveryElement
    >>> run = EveryElement(3).start()
    >>> run.extend(np.array([[1], [2], [3]]), lambda shape: np.zeros(shape, dtype=np.int64)).tolist()
    [[1.0], [3.0], [6.0]]
    """

    arrays: ClassVar[tuple[str, ...]] = ()
    """The names of the arrays that go on: `_total` for "total"; with the number of steps they are the state."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.step = 0

    @abstractmethod
    def extend(self, elements: NDArray[np.int64], draw: Draw) -> NDArray[np.float64]:
        """Take elements, one row each in steps of the grid, and return the noisy sums after each, in steps."""

    def state(self) -> dict[str, Any]:
        """Return all that goes on, as a JSON object: private."""
        return {"step": self.step, **{name: getattr(self, f"_{name}").tolist() for name in self.arrays}}

    def load(self, state: dict[str, Any]) -> None:
        """Take what `state` returned."""
        self.step = state["step"]
        for name in self.arrays:
            begun = getattr(self, f"_{name}")
            setattr(self, f"_{name}", np.array(state[name], dtype=begun.dtype).reshape(-1, *begun.shape[1:]))


def several(column: Fraction, events: int) -> Fraction:
    """Bound how far several events move, whenever they come: the triangle inequality; reached on one step of time.

    >>> several(Fraction(2), 3)
    Fraction(6, 1)
    """
    return column * events


def by_norm(count: int, norm: Norm) -> Fraction:
    """Return the norm of so many ones, rounded up.

    >>> by_norm(9, Norm.L2), by_norm(9, Norm.L1)
    (Fraction(3, 1), Fraction(9, 1))
    """
    return Fraction(count) if norm is Norm.L1 else sqrt_upper(Fraction(count))


def lower_bound(horizon: int) -> float:
    """Return what no factorization undercuts: the rms over steps of the deviation at rho = 1/2, moves of 1.

    |BC|_* <= |B|_F |C|_F <= |B|_F sqrt(T) |C|_(1->2), so the rms |B|_F |C|_(1->2) / sqrt(T) is at least |A|_* / T, the
    mean of the singular values of A, 1 / (2 sin((2j - 1) pi / (4T + 2))) (Henzinger, Upadhyay & Upadhyay 2023,
    arXiv:2211.05006, Section 5).

    >>> round(lower_bound(65536), 2)
    4.23
    """
    count = read_horizon(horizon, 1 << 24)
    places = np.arange(1, count + 1)
    return float(np.mean(0.5 / np.sin((2 * places - 1) * (math.pi / (4 * count + 2)))))


def draw_errors(
    factorizations: Sequence[Factorization],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw the standard deviation of each sum of several factorizations side by side (needs the extra `plot`).

    >>> from discreet.mechanisms.prefix import BinaryTree, SquareRoot
    >>> axes = draw_errors([BinaryTree(64), SquareRoot(64)], rho="1/2")
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['binary tree', 'square root']
    """
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure().subplots()
    for factorization in factorizations:
        axes.plot(
            range(1, factorization.horizon + 1),
            factorization.deviations(epsilon=epsilon, rho=rho),
            linewidth=1,
            label=factorization.title,
        )
    axes.set_xlabel("step")
    axes.set_ylabel("standard deviation of the sum")
    axes.set_ylim(bottom=0)
    axes.legend()
    return axes
