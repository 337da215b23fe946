"""Frequency oracles: what a server makes of reports about one item of each unit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.inference import simplex
from discreet.mechanisms.inputs.parameters import assign, miss
from discreet.mechanisms.inputs.rows import is_absent, read_rows
from discreet.mechanisms.inputs.values import exact_integers
from discreet.methods.local.randomizer import Randomizer, Reports
from discreet.noise import SYSTEM, BitSource, uniform_integer
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Frequencies", "Oracle", "read_items"]

_MOST_ITEMS = 1 << 60
_MOST_COUNTED = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """How many units have each item, estimated without bias from their reports.

    A report of a unit supports its own item with chance p and every other one with chance q; `support` counts. So
    (support - n q) / (p - q) has the number of units with the item as its expectation. It may be negative.

    >>> from discreet.methods.local import Direct
    >>> oracle = Direct(3, epsilon=20)
    >>> found = oracle.estimate(oracle.report([0, 0, 1, 2]))
    >>> found.counts.round(3).tolist(), found.responses
    ([2.0, 1.0, 1.0], 4)
    """

    support: NDArray[np.int64]
    responses: int
    chances: tuple[float, float]
    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def _unbiased(self, support: NDArray[Any]) -> NDArray[np.float64]:
        p, q = self.chances
        counts: NDArray[np.float64] = (support - self.responses * q) / (p - q)
        return counts

    @property
    def counts(self) -> NDArray[np.float64]:
        """The unbiased estimate of how many units have each item."""
        return self._unbiased(self.support)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The same as shares of the units."""
        return self.counts / self.responses

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """The deviation of each count that comes from the clients' coins, at the estimated counts.

        Of n_v units with the item and n - n_v others, each supports it independently: n_v p(1-p) + (n-n_v) q(1-q).
        """
        p, q = self.chances
        inside = np.clip(self.counts, 0, self.responses)
        variance = inside * p * (1 - p) + (self.responses - inside) * q * (1 - q)
        return np.sqrt(variance) / (p - q)

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the two ends between which each count lies with this probability, for every truth and n.

        The support is a sum of independent coins of two kinds. Its tails are at most those of a binomial law with the
        same mean (Hoeffding 1956, doi:10.1214/aoms/1177728178, Theorem 4), so the interval of Clopper & Pearson 1934
        for that law's chance holds, and the count is a line in it. It is for confidences of at least one half.
        """
        from scipy.special import betaincinv

        half = float(miss(confidence)) / 2
        if half > 0.25:
            msg = f"confidence is {shown(confidence)}; an interval is given for at least 0.5."
            raise ParameterError(msg)
        count, support = self.responses, self.support.astype(np.float64)
        with np.errstate(all="ignore"):
            low = np.where(support > 0, betaincinv(support, count - support + 1, half), 0.0)
            high = np.where(support < count, betaincinv(support + 1, count - support, 1 - half), 1.0)
        return np.clip(self._unbiased(low * count), 0, count), np.clip(self._unbiased(high * count), 0, count)

    def consistent(self) -> NDArray[np.float64]:
        """Return the nearest counts that are not negative and add up to the number of responses: biased, and closer."""
        return simplex(self.counts, self.responses)

    def to_arrow(self, labels: Sequence[object] | None = None, *, confidence: float = 0.95) -> pa.Table:
        """Return a table of the estimates: a public table of a database, for it holds no private row."""
        import pyarrow as pa

        low, high = self.interval(confidence)
        names = list(range(self.support.size)) if labels is None else list(labels)
        if len(names) != self.support.size:
            msg = f"labels names {len(names)} items of {self.support.size}."
            raise ParameterError(msg)
        columns = {"count": self.counts, "standard_error": self.standard_error, "low": low, "high": high}
        return pa.table({"item": names, **columns})


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Oracle(Randomizer):
    r"""A frequency oracle: every client reports its item with noise of its own, the server counts what supports what.

    Items are 0, ..., items - 1. A message y supports some items; a client whose item is x sends a message that supports
    x with chance p, and one that supports any other given item with chance q < p. What each oracle proves is its p and
    its q, and that two items give one message with chances at most a factor $e^\varepsilon$ apart (Wang, Blocki, Li &
    Jha 2017, arXiv:1705.04421, "pure" protocols). An item that is missing or none of these is replaced by one that is
    drawn uniformly, so that no report, and no error, tells of it.

    `release(items)` gives reports with their promise, `report(items)` the reports alone.

    >>> from discreet.methods.local import Direct, Oracle
    >>> issubclass(Direct, Oracle), Direct(4, epsilon=1).promise
    (True, 'ε = 1')
    """

    accuracy: ClassVar[str] = "a count has variance (n_v p (1-p) + (n - n_v) q (1-q)) / (p-q)^2"

    items: int

    def __init__(
        self,
        items: SupportsIndex,
        *,
        epsilon: Number,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        assign(self, items=integer(items, name="items", least=2, most=_MOST_ITEMS))
        self.promise_to(epsilon, neighbors)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.items} items, {self.promise})"

    @property
    @abstractmethod
    def chances(self) -> tuple[float, float]:
        """With which chance a report supports the unit's own item, and any other given one."""

    def variance(self, share: float = 0.0) -> float:
        """The variance of an estimated share, times the number of units, for an item that this share of them has.

        >>> from discreet.methods.local import Hadamard
        >>> round(Hadamard(1024, epsilon=1).variance(), 2)
        4.68
        """
        p, q = self.chances
        return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2

    def report(self, values: ArrayLike, *, bits: BitSource = SYSTEM) -> Reports:
        """Randomize items, one of each unit; one item alone gives one report."""
        given = read_items(values)
        drawn = uniform_integer(self.items, given.size, bits)
        inside = np.where((given >= 0) & (given < self.items), given, drawn)
        return Reports(self, self.randomized(inside, bits))

    @abstractmethod
    def randomized(self, items: NDArray[np.int64], bits: BitSource) -> NDArray[Any]:
        """Draw the message of each item."""

    @abstractmethod
    def supported(self, messages: NDArray[Any]) -> NDArray[np.int64]:
        """Count for each item how many of the messages support it."""

    def estimate(self, reports: Reports | Iterable[bytes]) -> Frequencies:
        """Estimate how many units have each item; this is post-processing and costs nothing."""
        given = self.read_reports(reports)
        if self.items > _MOST_COUNTED:
            msg = f"items is {self.items}; up to {_MOST_COUNTED} are counted one by one. Search them: HeavyHitters."
            raise ParameterError(msg)
        return Frequencies(self.supported(given.messages), len(given), self.chances, given.refused)


def read_items(values: ArrayLike) -> NDArray[np.int64]:
    """Read whole numbers, one of each unit or one alone; a missing one as -1.

    >>> read_items([3, None]).tolist(), read_items(7).tolist()
    ([3, -1], [7])
    """
    rows = [values] if isinstance(values, SupportsIndex) and not np.ndim(values) else read_rows(values)
    whole = isinstance(rows, np.ndarray) and rows.dtype.kind in "iu"
    return exact_integers(rows if whole else [-1 if is_absent(row) else row for row in rows])
