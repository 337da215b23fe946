"""The correlation of two bounded columns."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, cast

from discreet.mechanisms.adding.bounded import PairedColumns, around_middles
from discreet.mechanisms.adding.ratios import correlated
from discreet.mechanisms.inputs.parameters import miss
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Correlation", "correlation"]

_PRODUCTS = ((0, 1), (0, 0), (1, 1))  # the covariance, and both variances


@dataclass(frozen=True, slots=True, init=False)
class Correlation(PairedColumns):
    """Release the correlation coefficient of two columns with public bounds.

    Privacy. Nine sums: the products of the three Bernstein polynomials of degree 2 of both columns, which are at least
    0 and add up to 1 for every row. They move by exactly 1 in L1 for a row more or less (by at most 2 for a row
    exchanged), and give both means, both variances and the covariance for one price.

    Where a noisy variance is not above 0, the correlation is released as 0. The ± comes from enclosures of the
    covariance and of both variances that hold together; where one of the variances may be 0 it is 2, which says
    nothing.

    Dwork, McSherry, Nissim & Smith 2006 (doi:10.1007/11681878_14).

    >>> import numpy as np
    >>> x = np.arange(100_000) % 10
    >>> answer = Correlation(first=(0, 10), second=(0, 10), epsilon=1).release((x, -x + 10))
    >>> -1 <= answer.value < -0.95, answer.error(0.95) < 0.2
    (True, True)
    """

    kind: ClassVar[str] = "correlation"
    guarantee: ClassVar[str] = (
        "The sums of the nine products of Bernstein polynomials of degree 2, which one row moves by 1 together under "
        "add/remove and by 2 under change-one, with noise for that, are private; the correlation follows from them."
    )
    accuracy: ClassVar[str] = "enclosures of covariance and variances, from the noise's reach over the noisy total"
    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14"

    degree: ClassVar[int] = 2

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the error of one release, from its noisy moments; records without means have them at a bound."""
        del value
        total, *shares = (float(cast("float", details[name])) for name in ("total", "both", "first", "second"))
        if total <= 0 or min(shares[1:]) <= 0:
            return 2.0
        means = [float(cast("float", details.get(name, 1.0))) for name in ("mean_first", "mean_second")]
        spans, single = [clamp.span for clamp in self._clamps], 1 - float(miss(confidence)) / 3
        estimates = []
        for (one, other), share in zip(_PRODUCTS, shares, strict=True):
            away = (means[one] - 0.5) * spans[one], (means[other] - 0.5) * spans[other]
            error = self._product(*self._columns(one, other)).error(total / self._unit, away, single)
            estimates.append((share * spans[one] * spans[other], error))
        return correlated(*estimates)[1]

    def release(self, value: tuple[ArrayLike, ArrayLike], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private correlation; `value` is a pair of columns."""
        total, split = self._noisy_sums(self._sums(value), bits)
        shares, means, spans = [0.0] * 3, [0.5] * 2, [clamp.span for clamp in self._clamps]
        for number, (one, other) in enumerate(_PRODUCTS if total > 0 else ()):
            columns, count = self._columns(one, other), float(split[0])
            product, totals = self._product(*columns), around_middles(split, *columns)
            shares[number] = product.centered(totals, count) / (spans[one] * spans[other])
            means[other] = product.away(totals, count)[1] / spans[other] + 0.5
        both, first, second = shares
        correlation = correlated((both, 0.0), (first, 0.0), (second, 0.0))[0] if min(first, second) > 0 else 0.0
        details = {"total": total, "count": total / self._unit, "first": first, "second": second, "both": both}
        details |= {"mean_first": means[0], "mean_second": means[1]}
        return Release(correlation, self, MappingProxyType(details))


def correlation(  # noqa: PLR0913
    first: ArrayLike,
    second: ArrayLike,
    *,
    bounds: tuple[tuple[Number, Number], tuple[Number, Number]] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float]:
    """Release the correlation coefficient of two columns; `bounds` is a pair of bounds for each.

    >>> import numpy as np
    >>> x = np.arange(100_000) % 10
    >>> correlation(x, x, bounds=((0, 10), (0, 10)), epsilon=1).value > 0.95
    True
    """
    return Correlation.released((first, second), bounds, neighbors, epsilon=epsilon, delta=delta, rho=rho)
