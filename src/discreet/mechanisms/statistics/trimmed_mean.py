"""The trimmed mean of a column, trimmed by a number of rows that was paid for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.mechanisms.adding.sums import adds_rows
from discreet.mechanisms.data_dependent.trimmed_mean import TrimmedMean
from discreet.mechanisms.inputs.columns import read_bounds, read_column
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import changes_one
from discreet.mechanisms.statistics.count import Count
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation, Pure, curves
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["CountedTrimmedMean", "trimmed_mean"]

_SHARE = Fraction(1, 4)
_MOST_ROWS = 10**9
_DIGITS = 5


@dataclass(frozen=True, slots=True, init=False)
class CountedTrimmedMean(Mechanism["ArrayLike", float]):
    """Release a trimmed mean under add/remove without a public number of rows: first a count, then `TrimmedMean`.

    How much is best trimmed depends on the number of rows, which is private. So a quarter of epsilon buys a noisy
    count, and the rest a trimmed mean whose trimming was chosen for that count. Two releases, the second chosen after
    the first was seen: their epsilons add (Dwork & Roth 2014, doi:10.1561/0400000042, on composition).

    Why a quarter. A count that is off by a half and more trims too few rows, or nearly all, and the noise grows a
    hundredfold. With the share s its deviation is about 1.4 / (s epsilon) rows, so what counts is n epsilon. With the
    error at ideal normal rows averaged over the noisy count, and divided by the error for a known count and all of
    epsilon, the shares 1/6, 1/5, 1/4, 1/3 lose a factor of 4.9, 4.7, 5.0, 7.1 at n = 500 and epsilon = 0.1, of 2.6,
    2.6, 1.8, 2.5 at 50 and 1, of 1.9, 2.0, 1.7, 2.0 at 1000 and 0.1, and of at most 1.05 at 200 and 1. A twentieth is
    enough for many rows, but loses a factor of 6 at 1000 and 0.1, and more for fewer rows. Releases on rows of other
    shapes agree: at 1000 and 0.1 a quarter has a fourth to a twenty-sixth of a twentieth's error, and where the count
    is good either way, at 100 and 1, between 0.9 and 1.4 times as much.

    Bun & Steinke 2019 (arXiv:1906.02830) for the trimmed mean.

    >>> import numpy as np
    >>> answer = CountedTrimmedMean(lower=0, upper=1000, epsilon=1).release(np.linspace(150, 190, 1000))
    >>> 160 < answer.value < 180, answer.mechanism.promise
    (True, 'ε = 1')
    """

    kind: ClassVar[str] = "counted_trimmed_mean"
    guarantee: ClassVar[str] = (
        "A count with epsilon / 4, and then a trimmed mean with the rest, whose trimming was chosen for that count: "
        "adaptive composition adds the two."
    )
    accuracy: ClassVar[str] = "that of the trimmed mean, of which the smooth sensitivity is private"
    source: ClassVar[str] = "Bun & Steinke 2019, arXiv:1906.02830; Dwork & Roth 2014, doi:10.1561/0400000042"
    _assumes: ClassVar[tuple[str, ...]] = ("a unit owns one row.", "the bounds were not read from the rows.")
    no_error_because: ClassVar[str] = (
        "the noise is in proportion to a bound that depends on the rows, and is private with it."
    )

    lower: Fraction
    upper: Fraction
    spread: Fraction
    epsilon: Fraction
    neighbors: Relation

    def __init__(
        self,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number,
        spread: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        guess = (high - low) / 64 if spread is None else rational(spread, name="spread")
        if not 0 < guess <= high - low:
            msg = f"spread is {shown(spread)}; it must be above 0 and at most the distance of the bounds."
            raise ParameterError(msg)
        if changes_one(require_relation(neighbors)):
            msg = f"neighbors is {neighbors.value}; where the number of rows is public, use TrimmedMean.for_count."
            raise ParameterError(msg)
        assign(self, lower=low, upper=high, spread=guess, neighbors=neighbors)
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))
        self.trimmed(1)  # what it refuses it refuses for any count, and before one is paid for

    def trimmed(self, rows: int) -> TrimmedMean:
        """Return the trimmed mean for a noisy count."""
        return TrimmedMean.for_count(
            _rounded(rows),
            lower=self.lower,
            upper=self.upper,
            spread=self.spread,
            epsilon=self.epsilon * (1 - _SHARE),
            neighbors=self.neighbors,
        )

    @property
    def _count(self) -> Count:
        return Count(epsilon=self.epsilon * _SHARE, neighbors=self.neighbors)

    @property
    def claim(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of the count and the worst pure curve of the rest."""
        return self._count.privacy + curves.pure(self.epsilon * (1 - _SHARE), neighbors=self.neighbors)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private trimmed mean; `value` holds the rows."""
        column = read_column(value)
        rows = self._count.release(column, bits=bits).value
        made = self.trimmed(rows)
        mean = made.release(column, bits=bits).value
        return Release(mean, self, MappingProxyType({"count": rows, "trim": made.trim}))


def _rounded(rows: int) -> int:
    """Return a noisy count to five binary digits, at least 1: close enough to trim by, and often the same again.

    >>> [_rounded(rows) for rows in (-3, 31, 1000, 10**12)]
    [1, 31, 992, 973078528]
    """
    inside = max(1, min(rows, _MOST_ROWS))
    drop = max(0, inside.bit_length() - _DIGITS)
    return inside >> drop << drop


def trimmed_mean(  # noqa: PLR0913
    values: ArrayLike,
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    expected_count: SupportsIndex | None = None,
    spread: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float]:
    """Release a trimmed mean with smooth sensitivity: closer than `mean` where the bounds are far wider than the rows.

    How much is trimmed is chosen for a number of rows: the public one under change-one, `expected_count` where it is
    given, or else a count that a quarter of epsilon pays for. `spread` is a public guess of the rows' deviation.

    >>> import numpy as np
    >>> rows = np.linspace(150, 190, 1000)
    >>> 160 < trimmed_mean(rows, bounds=(0, 1000), epsilon=1).value < 180
    True
    >>> 160 < trimmed_mean(rows, bounds=(0, 1000), rho="0.5", expected_count=1000).value < 180
    True
    """
    lower, upper = read_bounds(bounds)
    count = expected_count if adds_rows(neighbors) else read_column(values).size
    if count is not None:
        made = TrimmedMean.for_count(
            count, lower=lower, upper=upper, spread=spread, epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors
        )
        return made.release(values)
    if epsilon is None or delta is not None or rho is not None:
        msg = "without expected_count the number of rows is bought, which is done for a pure epsilon alone. State one."
        raise ParameterError(msg)
    return CountedTrimmedMean(lower=lower, upper=upper, epsilon=epsilon, spread=spread, neighbors=neighbors).release(
        values
    )
