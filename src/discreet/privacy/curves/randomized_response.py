"""Randomized response: report the truth, or another of k answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.exact.rational import read_nonnegative
from discreet.privacy.curve import Curve
from discreet.privacy.part import Symmetric, as_float, require_size, require_whole
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["RandomizedResponsePair", "randomized_response"]


@dataclass(frozen=True, slots=True)
class RandomizedResponsePair(Symmetric):
    """The truth with probability e^epsilon / (e^epsilon + k - 1), each other answer with 1 / (e^epsilon + k - 1).

    Warner 1965; Kairouz, Oh & Viswanath 2016 (arXiv:1407.1338). Losses: epsilon, 0 (k - 2 answers), -epsilon.
    """

    kind: ClassVar[str] = "randomized_response"

    epsilon: Fraction
    answers: int

    def check(self) -> None:
        """An epsilon of at least 0 and at least two answers."""
        require_size(self.epsilon, "epsilon")
        require_whole(self.answers, "answers", least=2)

    def loss(self) -> Loss:
        """Two or three values."""
        import math

        import numpy as np

        from discreet.privacy.numerics.losses.finite import FiniteLoss, two_point

        epsilon = as_float(self.epsilon)
        if self.answers == 2 or epsilon == 0:
            return two_point(epsilon)
        fall = math.exp(-epsilon)
        masses = np.array([fall, (self.answers - 2) * fall, 1.0]) / (1 + (self.answers - 1) * fall)
        return FiniteLoss(np.array([-epsilon, 0.0, epsilon]), masses, 0.0, epsilon, ceiling=epsilon)

    def pure(self) -> Fraction:
        """The stated epsilon."""
        return self.epsilon


def randomized_response(
    epsilon: Number, answers: int = 2, *, neighbors: Relation = NeighborRelation.ADD_REMOVE
) -> Curve:
    """Return the curve of one response among `answers` possible ones.

    >>> round((randomized_response("1.0986122886681098") * 10).epsilon(delta=0), 9)
    10.986122887
    """
    count = integer(answers, name="answers", least=1)
    if count < 2:
        msg = f"answers is {shown(answers)}; randomized response needs at least 2 possible answers."
        raise ParameterError(msg)
    return Curve(((RandomizedResponsePair(read_nonnegative(epsilon, "epsilon"), count), 1),), neighbors)
