"""Tracing: tell from a published mean of many attributes who was in the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.attacks.outcome import Outcome
from discreet.errors import ParameterError
from discreet.exact import integer, rational, shown
from discreet.noise import SYSTEM, BitSource, gaussian

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.exact import Number

__all__ = ["Tracing", "draw_tracing", "predicted_tracing", "trace_mean"]

GRID = "1/1048576"


@dataclass(frozen=True)
class Tracing:
    """Scores of people who were in the data, and of people who were not; above the middle an attacker says "in".

    >>> found = Tracing(np.array([0.9, 0.2]), np.array([-0.1, 0.1]), threshold=0.5, predicted=0.69)
    >>> print(found.outcome)
    tracing: 3 of 4 right (75.0 %); guessing gets 50.0 %; the theory says 69.0 %
    """

    members: NDArray[np.float64]
    others: NDArray[np.float64]
    threshold: float
    predicted: float

    @property
    def outcome(self) -> Outcome:
        """How many people were told right, of as many members as others.

        >>> Tracing(np.array([0.9]), np.array([-0.1]), threshold=0.5, predicted=0.69).outcome.share
        1.0
        """
        right = int((self.members > self.threshold).sum() + (self.others <= self.threshold).sum())
        tried = len(self.members) + len(self.others)
        return Outcome("tracing", tried, right, baseline=0.5, note=f"the theory says {100 * self.predicted:.1f} %")

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw both kinds of scores (needs the extra `plot`).

        >>> Tracing(np.array([0.9]), np.array([-0.1]), threshold=0.5, predicted=0.69).plot().get_xlabel()
        'score'
        """
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        axes.hist([self.others, self.members], bins=30, label=["not in the data", "in the data"])
        axes.axvline(self.threshold, linestyle=":", color="gray")
        axes.set_xlabel("score")
        axes.set_ylabel("people")
        axes.legend()
        return axes


def predicted_tracing(people: int, attributes: int, sigma: Number) -> float:
    """Return the chance of a right guess against a mean of standard Gaussian rows with noise sigma on each coordinate.

    Of n people and k attributes the score is the product of a person's row x with the published m. Of one who is not in
    the data it has mean 0 and variance k (1/n + sigma^2); of one who is, mean k/n, from |x|^2 / n, and the variance
    k ((n - 1)/n^2 + 2/n^2 + sigma^2). Halfway between the two means an attacker is right with chance
    Phi(sqrt(k) / (2 n sqrt(1/n + sigma^2))), nearly: tracing works if sigma = o(sqrt(k) / n) and k is much larger than
    n, and only then. Dwork, Smith, Steinke, Ullman, Vadhan 2015, "Robust traceability from trace amounts", FOCS.

    >>> round(predicted_tracing(100, 10_000, 0), 6), round(predicted_tracing(100, 10_000, 1), 3)
    (1.0, 0.691)
    """
    count, width = integer(people, name="people", least=1), integer(attributes, name="attributes", least=1)
    spread = float(_spread(sigma))
    return NormalDist().cdf(math.sqrt(width) / (2 * count * math.sqrt(1 / count + spread**2)))


def _spread(sigma: Number) -> Fraction:
    spread = rational(sigma, name="sigma")
    if spread < 0:
        msg = f"sigma is {shown(sigma)}; it must be at least 0."
        raise ParameterError(msg)
    return spread


def trace_mean(people: int, attributes: int, sigma: Number, *, bits: BitSource = SYSTEM) -> Tracing:
    """Draw standard Gaussian rows, publish their mean with Gaussian noise, and trace as many members as others.

    >>> trace_mean(50, 20_000, 0.0).outcome.share, trace_mean(50, 2_000, 100.0).outcome.advantage < 0.4
    (1.0, True)
    """
    count, width = integer(people, name="people", least=2), integer(attributes, name="attributes", least=1)
    spread = _spread(sigma)
    rows = gaussian(1, GRID, size=(2 * count, width), bits=bits)
    noise = gaussian(spread, GRID, size=width, bits=bits) if spread else np.zeros(width)
    published = rows[:count].mean(axis=0) + noise
    scores = rows @ published
    return Tracing(scores[:count], scores[count:], width / (2 * count), predicted_tracing(count, width, sigma))


def draw_tracing(
    people: int,
    attributes: int,
    factors: Sequence[float] = (0.1, 0.25, 0.5, 1, 2, 4),
    *,
    axes: Axes | None = None,
    bits: BitSource = SYSTEM,
) -> Axes:
    """Draw the share of right guesses against sigma in units of sqrt(k) / n, beside the theory (needs `plot`).

    >>> draw_tracing(20, 400, [1]).get_ylabel()
    'share of right guesses'
    """
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure().subplots()
    unit = math.sqrt(attributes) / people
    traced = [trace_mean(people, attributes, factor * unit, bits=bits) for factor in factors]
    axes.plot(factors, [one.outcome.share for one in traced], marker="o", linestyle="", label="attack")
    axes.plot(factors, [one.predicted for one in traced], label="theory")
    axes.axhline(0.5, linestyle=":", color="gray", label="guessing")
    axes.set_xscale("log")
    axes.set_xlabel("σ · n / √k")
    axes.set_ylabel("share of right guesses")
    axes.legend()
    return axes
