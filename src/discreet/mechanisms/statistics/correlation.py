"""The correlation of two bounded columns."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, cast

from discreet.mechanisms.bernstein import PairedColumns
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Correlation", "correlation"]


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
        """Return the error of one release, from its noisy moments.

        With m a bound on all nine noises over the noisy total: a mean of products of weights at most 1 in magnitude is
        off by at most 9 m from the noise and 9 m from the total, so both means by 18 m, a second moment too, and a
        variance or a covariance by 18 m (1 + 2) + (18 m)**2.
        """
        total, s, t, both = (float(cast("float", details[name])) for name in ("total", "first", "second", "both"))
        if total <= 0:
            return 2.0
        m = 18 * self.reach(total, confidence) * (1 if self.size is None else 2)
        off = 3 * m + m**2 + sum(1 / clamp.width for clamp in self._clamps)  # the last: rows moved by half a step
        if min(s, t) <= off:
            return 2.0
        signs = itertools.product((-1, 1), repeat=3)
        ends = [(both + a * off) / math.sqrt((s + b * off) * (t + c * off)) for a, b, c in signs]
        found = float(cast("float", value))
        return min(2.0, max(abs(min(max(end, -1.0), 1.0) - found) for end in ends))

    def release(self, value: tuple[ArrayLike, ArrayLike], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private correlation; `value` is a pair of columns."""
        shares = self.noisy_shares(value, bits)
        s, t, both = float(shares.variance(0)), float(shares.variance(1)), float(shares.covariance)
        found = min(max(both / math.sqrt(s * t), -1.0), 1.0) if min(s, t) > 0 else 0.0
        details = {"total": shares.total, "count": shares.total / self._unit, "first": s, "second": t, "both": both}
        return Release(found, self, MappingProxyType(details))


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
