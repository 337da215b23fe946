"""What mechanisms that choose for a price in epsilon have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.choosing.scores import selection_scale
from discreet.mechanisms.mechanism import Given, Mechanism, Released
from discreet.mechanisms.words import movers
from discreet.privacy import Pure, curves

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.privacy import Curve

__all__ = ["ExponentialChoice", "PricedChoice", "ScoredChoice"]


class PricedChoice(Mechanism[Given, Released]):
    """One of many, for a price in epsilon.

    >>> from discreet.mechanisms import Mode
    >>> Mode("ab", epsilon=1).claim
    Pure(epsilon=1)
    """

    __slots__ = ()

    epsilon: Fraction

    @property
    def claim(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon, neighbors=self.neighbors)


class ExponentialChoice(PricedChoice[Given, Released]):
    """A choice by the exponential mechanism: all losses of one pair of neighbors lie in an interval of length epsilon.

    >>> from discreet.mechanisms import Quantile
    >>> round(Quantile("0.5", lower=0, upper=100, epsilon=1, grid=1).privacy.zcdp(), 3)
    0.125
    """

    __slots__ = ()

    @property
    def privacy(self) -> Curve:
        """The curve of bounded range."""
        return curves.exponential(self.epsilon, neighbors=self.neighbors)


class ScoredChoice(PricedChoice[Given, Released]):
    """A choice among candidates that have scores, which one unit moves by at most the sensitivity.

    >>> from discreet.mechanisms import Exponential, NoisyMax
    >>> Exponential(sensitivity=1, epsilon="0.5").scale, NoisyMax(sensitivity=1, epsilon="0.5", monotone=True).scale
    (Fraction(4, 1), Fraction(2, 1))
    """

    __slots__ = ()

    no_error_because: ClassVar[str] = (
        "a candidate has no distance from the best one; score_gap(candidates) bounds what its score lacks."
    )

    sensitivity: Fraction
    monotone: bool

    @property
    def scale(self) -> Fraction:
        """What scores are divided by, and the scale of noise on each."""
        return selection_scale(self.sensitivity, self.epsilon, monotone=self.monotone)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The scores' sensitivity, and that they are monotone."""
        way = " and moves all of them the same way" if self.monotone else ""
        return (f"{movers(self.neighbors)} moves each score by at most {self.sensitivity}{way}.",)
