"""The general promise: a curve, kept as the symbolic list of what was composed.

A curve never stores numbers that were computed; it stores which mechanisms were composed how often. Every question is
answered from the dominating pairs of the parts (Zhu, Dong, Wang 2022, arXiv:2106.08567), both directions composed
separately and the maximum taken last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.privacy.relations import NeighborRelation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.privacy.curves.part import Part
    from discreet.privacy.curves.sampling import Scheme


@dataclass(frozen=True, slots=True)
class Curve:
    """What a sequence of mechanisms promises, for one neighbor relation.

    `terms` holds each part once with its count, in a canonical order, so that the order of composition does not matter
    and equal compositions are equal values.

    >>> from discreet import privacy as p
    >>> p.gaussian(sigma=1) + p.gaussian(sigma=1) == p.gaussian(sigma=1) * 2
    True
    """

    terms: tuple[tuple[Part, int], ...]
    neighbors: NeighborRelation

    def epsilon(self, delta: float) -> float:
        """Return a certified upper bound on the smallest epsilon such that (epsilon, delta) holds."""
        return self.interval(delta)[1]

    def delta(self, epsilon: float) -> float:
        """Return a certified upper bound on the smallest delta such that (epsilon, delta) holds."""
        return self.delta_interval(epsilon)[1]

    def interval(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) around the smallest epsilon at this delta; the truth lies between them.

        `inf` is the upper end exactly when no finite epsilon exists (the mass at infinity exceeds delta).
        """

    def delta_interval(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) around the smallest delta at this epsilon; the truth lies between them."""

    def rdp(self, order: float) -> float:
        """Return an upper bound on the Renyi divergence of this order (> 1), both directions; inf where infinite."""

    def zcdp(self) -> float:
        """Return the smallest known rho such that rho-zCDP holds; raise ParameterError where none exists."""

    def tradeoff(self, fpr: float) -> float:
        """Return a certified lower bound on the false negative rate of every test with this false positive rate."""

    def subsample(self, rate: object, scheme: Scheme = ...) -> Curve:
        """Return the curve of running all of this on one shared random sample.

        Poisson (each unit independently with probability `rate`) for add/remove, FixedSize for change-one.
        """

    def group(self, size: int) -> Curve:
        """Return the curve for neighbors that differ in up to `size` units."""

    def parallel(self, *others: Curve) -> Curve:
        """Return the curve of running these on disjoint parts of the data."""

    def __add__(self, other: Curve) -> Curve:
        """Compose with another curve for the same relation."""

    def __mul__(self, count: int) -> Curve:
        """Compose `count` times; 0 gives the curve that costs nothing."""

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw delta(epsilon) on a logarithmic axis."""

    def to_json(self) -> str:
        """Return the curve as JSON; `Curve.from_json` returns an equal curve."""

    @staticmethod
    def from_json(text: str) -> Curve:
        """Read what `to_json` wrote."""
