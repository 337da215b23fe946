"""A value that no neighbor would change, released as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.values import read_pair
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.stability import DistanceTest, Tested, read_delta
from discreet.mechanisms.words import movers
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["StableValue"]


@dataclass(frozen=True, slots=True, init=False)
class StableValue(Tested["tuple[object, float]", object]):
    """Release a value without noise if the data are far from any with another value, and None otherwise.

    Privacy. The distance to instability d(x) is 0 whenever *some neighbor* of x has another value: the number of steps
    to the nearest data with another value, minus one. One step moves it by at most one. Released is the value if d plus
    discrete Laplace noise of scale 1 / epsilon passes a threshold. Two neighbors with the same value: the outcome of
    the test alone differs, epsilon. Two neighbors with different values: both distances are 0, None has the same
    chance, and a value leaves with a chance of at most delta. So (epsilon, delta), for values of any kind. Without the
    minus one, d would be 1 there and the chance up to exp(epsilon) delta.

    `release` takes the pair (value, distance to instability); a distance that is too small is safe, one that is too
    large is not. The value must be such that JSON carries it.

    Dwork & Lei 2009; Smith & Thakurta 2013 (arXiv:1205.6326); Vadhan 2017, "The Complexity of Differential Privacy".

    >>> made = StableValue(epsilon=1, delta="1e-6")
    >>> made.test.threshold, made.far_enough(confidence=0.95)
    (13, 16)
    >>> made.release(("red", 100)).value, made.release(("red", 0)).value
    ('red', None)
    """

    kind: ClassVar[str] = "stable_value"
    guarantee: ClassVar[str] = (
        "A value that is shown only if its distance to instability, with discrete Laplace noise of scale 1 / epsilon, "
        "passes a threshold that 0 passes with a chance of at most delta, is (epsilon, delta)-differentially private."
    )
    accuracy: ClassVar[str] = "exact if shown; shown with probability confidence from the distance far_enough() on"
    source: ClassVar[str] = "Vadhan 2017, The Complexity of Differential Privacy; Smith & Thakurta 2013"
    no_error_because: ClassVar[str] = (
        "a value is shown as it is, or not at all; far_enough() says at which distance it is shown."
    )

    epsilon: Fraction
    delta: Fraction
    neighbors: Relation

    def __init__(self, *, epsilon: Number, delta: Number, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> None:
        size = read_positive(epsilon, "epsilon", zero="the test would be noise alone")
        assign(self, epsilon=size, delta=read_delta(delta), neighbors=require_relation(neighbors))

    @property
    def test(self) -> DistanceTest:
        """The test of the distance."""
        return DistanceTest(self.epsilon, self.delta)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The distance."""
        return (
            "the distance is 0 wherever some neighbor has another value.",
            f"{movers(self.neighbors)} moves the distance by at most one.",
        )

    def far_enough(self, confidence: float = 0.95) -> int:
        """Return the distance to instability from which on the value is shown with this probability."""
        return self.test.enough(confidence)

    def release(self, value: tuple[object, float], *, bits: BitSource = SYSTEM) -> Release[object]:
        """Return the value or None; `value` is (value, distance to instability)."""
        stable, distance = read_pair(value, "value, distance to instability")
        return Release(stable if self.test.passes(distance, bits=bits) else None, self)
