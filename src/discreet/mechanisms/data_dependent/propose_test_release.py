"""Propose a bound on the local sensitivity, test whether it is safe, release with noise for it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.mechanisms.adding.grids import ends
from discreet.mechanisms.inputs.parameters import assign, miss, read_grid, read_positive
from discreet.mechanisms.inputs.values import private_number, read_pair
from discreet.mechanisms.numbers.laplace import Laplace
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.stability import DistanceTest, Tested, read_delta
from discreet.mechanisms.words import movers
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.exact import Grid, Number
    from discreet.privacy.relations import Relation

__all__ = ["ProposeTestRelease", "read_split"]


def read_split(share: Number, name: str = "test_share") -> Fraction:
    """Read which part of epsilon one of two steps gets.

    >>> read_split("1/2")
    Fraction(1, 2)
    """
    part = rational(share, name=name)
    if not 0 < part < 1:
        msg = f"{name} is {shown(share)}; it must lie strictly between 0 and 1, as both steps cost something."
        raise ParameterError(msg)
    return part


@dataclass(frozen=True, slots=True, init=False)
class ProposeTestRelease(Tested["tuple[float, float]", "float | None"]):
    r"""Release a number with Laplace noise for a proposed bound on its local sensitivity, or None if that is unsafe.

    Privacy. Let d(x) be 0 wherever the local sensitivity exceeds the bound b, and move by at most one per unit: the
    distance to the nearest data at which it does. The test `DistanceTest` passes at d = 0 with a chance of at most
    delta. Take neighbors x, x'. If the local sensitivity of either is at most b, then $|q(x) - q(x')| \le b$ and the
    test and the noise compose: test_epsilon + release_epsilon. Otherwise both distances are 0, None is equally likely,
    and anything else has a chance of at most delta. So (test_epsilon + release_epsilon, delta): the (2 epsilon, delta)
    of the original for equal parts. The threshold for delta is ln(1/delta) / epsilon of the test, not ln(1/epsilon).

    `release` takes the pair (value, distance); where a value is missing it counts as 0, where a distance is, as 0 too.

    Dwork & Lei 2009 (doi:10.1145/1536414.1536466); Vadhan 2017, "The Complexity of Differential Privacy".

    >>> made = ProposeTestRelease(2, epsilon=1, delta="1e-6")
    >>> made.promise, made.test.threshold, round(made.error(0.95), 1)
    ('ε = 1, δ = 1e-06', 26, 12.0)
    >>> made.release((170, 0)).value is None
    True
    """

    kind: ClassVar[str] = "propose_test_release"
    guarantee: ClassVar[str] = (
        "A number with Laplace noise for a bound on its local sensitivity, shown only if the noisy distance to data "
        "that break the bound passes a threshold, is (test epsilon + release epsilon, delta)-differentially private."
    )
    accuracy: ClassVar[str] = "if shown, bound / release epsilon * ln(1 / (1 - confidence))"
    source: ClassVar[str] = (
        "Dwork & Lei 2009, doi:10.1145/1536414.1536466; Vadhan 2017, The Complexity of Differential Privacy"
    )
    no_error_because: ClassVar[str] = "the test did not pass, so no value was shown."

    bound: Fraction
    epsilon: Fraction
    delta: Fraction
    test_share: Fraction
    grid: Grid | None
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        bound: Number,
        *,
        epsilon: Number,
        delta: Number,
        test_share: Number = Fraction(1, 2),
        grid: Grid | Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        assign(
            self,
            bound=read_positive(bound, "bound", zero="a value that nobody can move is a StableValue"),
            epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"),
            delta=read_delta(delta),
            test_share=read_split(test_share),
            grid=None if grid is None else read_grid(grid),
            neighbors=require_relation(neighbors),
        )

    @property
    def test(self) -> DistanceTest:
        """The test, with its part of epsilon."""
        return DistanceTest(self.epsilon * self.test_share, self.delta)

    @property
    def noise(self) -> Laplace:
        """The noise, with the rest of epsilon; on a grid of its own unless one is stated."""
        rest = self.epsilon * (1 - self.test_share)
        return Laplace(self.bound, epsilon=rest, grid=self.grid, neighbors=self.neighbors)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The distance."""
        return (
            f"the distance is 0 wherever {movers(self.neighbors)} can move the value by more than {self.bound}.",
            f"{movers(self.neighbors)} moves the distance by at most one.",
            ends(self.noise.grid.step),
        )

    def error(self, confidence: float = 0.95) -> float:
        """Return how far a value that is shown stays from the true one, with this probability."""
        return self.noise.error(confidence)

    def error_of(self, value: float | None, details: Mapping[str, object], confidence: float = 0.95) -> float | None:
        """Return the error of a value that was shown; None where none was."""
        del details
        miss(confidence)
        return None if value is None else self.error(confidence)

    def far_enough(self, confidence: float = 0.95) -> int:
        """Return the distance from which on a value is shown with this probability.

        >>> ProposeTestRelease(2, epsilon=2, delta="1e-6").far_enough(0.95)
        16
        """
        return self.test.enough(confidence)

    def release(self, value: tuple[float, float], *, bits: BitSource = SYSTEM) -> Release[float | None]:
        """Return the value with noise, or None; `value` is (value, distance)."""
        number, distance = read_pair(value, "value, distance")
        if not self.test.passes(distance, bits=bits):
            return Release(None, self)
        return Release(float(self.noise.release(private_number(number), bits=bits).value), self)
