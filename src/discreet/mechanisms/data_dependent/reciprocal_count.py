"""One over a count, with noise in proportion to its smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.exact import Grid
from discreet.mechanisms.inputs.values import whole_number
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import Smooth
from discreet.mechanisms.sensitivity.spreads import eased, rounded_up
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from discreet.exact import Number
    from discreet.mechanisms.sensitivity.smooth_noise import Law
    from discreet.privacy.relations import Relation

__all__ = ["ReciprocalCount"]

_GRID = Grid(Fraction(1, 1 << 60))


@dataclass(frozen=True, slots=True, init=False)
class ReciprocalCount(Smooth):
    r"""Release 1 / max(1, count), where one unit changes the count by at most one.

    Privacy. At a count c the value moves by at most $L(c) = 1/(c(c-1))$ for c >= 2, 1/2 for c = 1 and nothing for c =
    0. Its logarithm is convex in c >= 2, so $\max_{c'} e^{-t|c-c'|} L(c')$ is reached at c' = c or c' = 2: $S =
    \max(L(c), e^{-t(c-2)}/2)$ for c >= 2, 1/2 for c = 1 and $e^{-t}/2$ for c = 0. This is the smallest t-smooth bound,
    whichever relation, for neighbors' counts differ by at most one under all of them.

    For a share of a table use a noisy count instead: 1 / (count + noise) is closer unless the count is small.

    >>> made = ReciprocalCount(epsilon=1)
    >>> [float(bound) < 0.5 + 1e-9 for _, bound in map(made.value_and_bound, [0, 1, 2, 50])]
    [True, True, True, True]
    """

    kind: ClassVar[str] = "reciprocal_count"
    guarantee: ClassVar[str] = (
        "1 / max(1, count) plus admissible noise in proportion to its smooth sensitivity keeps the promise for which "
        "the noise was calibrated."
    )
    accuracy: ClassVar[str] = "stretch * max(1 / (c (c - 1)), exp(-t (c - 2)) / 2) * a quantile of the noise, c private"
    source: ClassVar[str] = "Nissim, Raskhodnikova & Smith 2007, doi:10.1145/1250790.1250803"
    _assumes: ClassVar[tuple[str, ...]] = ("one unit changes the count by at most one.",)

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        law: Law | str | None = None,
        shape: Number | None = None,
        smoothing: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        self.promise_to(
            epsilon=epsilon, delta=delta, rho=rho, law=law, shape=shape, smoothing=smoothing, neighbors=neighbors
        )

    def value_and_bound(self, value: SupportsIndex) -> tuple[Fraction, Fraction]:
        """Return the reciprocal and its smooth sensitivity; both are private.

        Counts are clamped to [0, 2**62), and what is missing counts as 0.
        """
        count = max(0, whole_number(value))
        t = eased(self.smoothing)
        if count <= 1:
            return Fraction(1), rounded_up(0.5 * math.exp(-t * (1 - count)))
        tail = 0.5 * math.exp(-t * min(count - 2, 1e6))  # beyond a million steps the tail is far below any noise
        return Fraction(1, count), rounded_up(max(1 / (count * (count - 1)), tail))

    def release(self, value: SupportsIndex, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private reciprocal, clamped to [0, 1]; `value` is the count."""
        reciprocal = self.noisy(value, _GRID, bits)
        return Release(float(max(Fraction(0), min(reciprocal, Fraction(1)))), self)
