"""How many different values occur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.exact import integer
from discreet.mechanisms.inputs.parameters import assign, require_single
from discreet.mechanisms.inputs.rows import identity, listed
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation, Pure

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction
    from typing import SupportsIndex

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["CountDistinct"]


@dataclass(frozen=True, slots=True, init=False)
class CountDistinct(Mechanism["Iterable[object]", int]):
    """Count how many different values occur, where a unit holds at most a few of them.

    Privacy. A unit with at most g values adds at most g to the number of different values, and takes away at most g;
    exchanged for another, its at most g values may vanish while at most g others appear, which again changes the number
    by at most g. So the sensitivity is g under either relation, and whole-number Laplace noise of scale g / epsilon is
    epsilon-private (see `DiscreteLaplace`).

    Numbers are compared by their exact values, whatever their types: 1 and 1.0 are equal. Texts, bytes and tuples are
    compared by what is in them, other objects by their type and their hash. None, NaN, missing values of other
    libraries and what Python cannot hash, such as lists, are no values. What a value counts as depends on it alone: a
    set of raw values would not keep the argument, as equality of NumPy's numbers is not transitive.

    >>> mechanism = CountDistinct(values=1, epsilon=20)
    >>> mechanism.release(["flu", "cold", "flu", None, float("nan")]).value
    2
    """

    kind: ClassVar[str] = "count_distinct"
    guarantee: ClassVar[str] = (
        "The number of different values, which a unit with at most g of them moves by at most g, with discrete Laplace "
        "noise of scale g / epsilon, is epsilon-differentially private."
    )
    accuracy: ClassVar[str] = DiscreteLaplace.accuracy
    source: ClassVar[str] = DiscreteLaplace.source

    values: int
    epsilon: Fraction
    neighbors: Relation

    def __init__(
        self,
        *,
        epsilon: Number,
        values: SupportsIndex = 1,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        count = integer(values, name="values", least=1)
        noise = DiscreteLaplace(count, epsilon=epsilon, dimensions=1, neighbors=require_single(neighbors))
        assign(self, values=count, epsilon=noise.claim.epsilon, neighbors=noise.neighbors)

    @property
    def noise(self) -> DiscreteLaplace:
        """The mechanism that adds the noise."""
        return DiscreteLaplace(self.values, epsilon=self.epsilon, dimensions=1, neighbors=self.neighbors)

    @property
    def claim(self) -> Pure:
        """Epsilon, exactly."""
        return self.noise.claim

    @property
    def privacy(self) -> Curve:
        """The curve of the noise."""
        return self.noise.privacy

    @property
    def assumed(self) -> tuple[str, ...]:
        """How many values a unit holds."""
        return (f"one unit holds at most {self.values} different values.",)

    def error(self, confidence: float = 0.95) -> float:
        """Return the smallest m that the noise exceeds with at most the rest of this probability."""
        return self.noise.error(confidence)

    def release(self, value: Iterable[object], *, bits: BitSource = SYSTEM) -> Release[int]:
        """Return the number of different values, with noise."""
        distinct = {identity(row) for row in listed(value)} - {None}
        noisy = self.noise.release(len(distinct), bits=bits).value
        return Release(int(noisy), self)
