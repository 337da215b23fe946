"""The interquartile range, as a scale, by propose-test-release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, float_up, log_upper, rational, shown
from discreet.mechanisms.data_dependent.propose_test_release import ProposeTestRelease
from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import changes_one
from discreet.mechanisms.sensitivity.spreads import ranked
from discreet.mechanisms.sensitivity.stability import Tested
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["ProposedScale"]

_GRID_BITS = 40
_ROUNDING = Fraction(1, 1 << 40)  # a logarithm of at most 2**62, rounded, is off by less than 2**-47
_QUARTER, _THREE = Fraction(1, 4), Fraction(3, 4)


@dataclass(frozen=True, slots=True, init=False)
class ProposedScale(Tested["ArrayLike", "float | None"]):
    r"""Release the interquartile range up to a random factor, or None if a few units could change it by a factor.

    Privacy. Let r1, r3 be the ranks of the quartiles. A step of either relation moves each to the next row at most, so
    at a distance of k the range lies between $\ell_k = x_{(r3-k)} - x_{(r1+k)}$ and $h_k = x_{(r3+k)} - x_{(r1-k)}$,
    and these intervals are nested: that of x' at k lies in that of x at k + 1. So the smallest k with $h_{k+1} >
    f\,\ell_{k+1}$ moves by at most one per unit and is 0 wherever a neighbor's range is more than the factor f away.
    The logarithm of the range goes through `ProposeTestRelease` with the bound ln f, plus 2**-40 for the rounding of
    logarithms, and comes back as an exponential.

    Dwork & Lei 2009 (doi:10.1145/1536414.1536466) propose the factor 1 + 1/ln n by cells of the logarithm;
    the nested intervals here need no cells.

    >>> import numpy as np
    >>> made = ProposedScale("1.2", lower=0, upper=1000, epsilon=2, delta="1e-6")
    >>> 50 < made.release(np.arange(10_000) / 50).value < 200
    True
    """

    kind: ClassVar[str] = "proposed_scale"
    guarantee: ClassVar[str] = ProposeTestRelease.guarantee
    accuracy: ClassVar[str] = (
        "if shown, off by at most a factor exp(ln(factor) / release epsilon * ln(1 / (1 - confidence)))"
    )
    source: ClassVar[str] = "Dwork & Lei 2009, doi:10.1145/1536414.1536466"
    _assumes: ClassVar[tuple[str, ...]] = (
        "a unit owns one row.",
        "the bounds and the factor were not read from the rows.",
    )
    no_error_because: ClassVar[str] = (
        "the noise multiplies; factor_within() bounds by which factor a range that is shown is off."
    )

    factor: Fraction
    lower: Fraction
    upper: Fraction
    grid: Grid
    epsilon: Fraction
    delta: Fraction
    test_share: Fraction
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        factor: Number,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number,
        delta: Number,
        grid: Grid | Number | None = None,
        test_share: Number = Fraction(1, 2),
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        size = rational(factor, name="factor")
        if not 1 < size <= 2**62:
            msg = f"factor is {shown(factor)}; it must be above 1 and at most 2**62, such as 1.2."
            raise ParameterError(msg)
        low, high = read_bounds((lower, upper))
        points = Clamp.of(low, high, default_grid(low, high, bits=_GRID_BITS) if grid is None else grid).grid
        made = ProposeTestRelease(1, epsilon=epsilon, delta=delta, test_share=test_share, neighbors=neighbors)
        changes_one(made.neighbors)
        assign(self, factor=size, lower=low, upper=high, grid=points, epsilon=made.epsilon, delta=made.delta)
        assign(self, test_share=made.test_share, neighbors=made.neighbors)

    @property
    def proposal(self) -> ProposeTestRelease:
        """The mechanism that the logarithm and its distance go through."""
        return ProposeTestRelease(
            log_upper(self.factor) + _ROUNDING,
            epsilon=self.epsilon,
            delta=self.delta,
            test_share=self.test_share,
            neighbors=self.neighbors,
        )

    def factor_within(self, confidence: float = 0.95) -> float:
        """Return by which factor a range that is shown is off at most, with this probability.

        >>> round(ProposedScale("1.1", lower=0, upper=1, epsilon=2, delta="1e-6").factor_within(0.95), 2)
        1.33
        """
        return math.nextafter(math.exp(float_up(rational(self.proposal.error(confidence)))), math.inf)

    def value_and_distance(self, value: ArrayLike) -> tuple[int, int]:
        """Return the range in steps, at least 1, and its distance to an unsafe range; both are private."""
        clamp = Clamp.of(self.lower, self.upper, self.grid)
        rows = np.sort(clamp.steps(value, missing=0 if changes_one(self.neighbors) else None))
        first, third = (max(min(1, rows.size), math.ceil(q * rows.size)) for q in (_QUARTER, _THREE))
        farthest = self.proposal.far_enough(1 - 2**-30)
        k = np.arange(min(farthest, rows.size) + 2)  # beyond the last row no range is safe
        widest = ranked(rows, third + k, clamp.width) - ranked(rows, first - k, clamp.width)
        least = ranked(rows, third - k, clamp.width) - ranked(rows, first + k, clamp.width)
        safe = [
            low > 0 and high * self.factor.denominator <= low * self.factor.numerator
            for high, low in zip(widest[1:].tolist(), least[1:].tolist(), strict=True)
        ]
        return max(1, int(widest[0])), safe.index(False) if False in safe else farthest

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float | None]:
        """Return the range times a random factor, or None; `value` holds the rows."""
        clamp = Clamp.of(self.lower, self.upper, self.grid)
        steps, distance = self.value_and_distance(value)
        noisy = self.proposal.release((math.log(steps), distance), bits=bits).value
        if noisy is None:
            return Release(None, self)
        inside = max(0.0, min(noisy, math.log(clamp.width)))
        return Release(math.exp(inside) * float(self.grid.step), self)
