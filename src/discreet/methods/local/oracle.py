"""Frequency oracles: what clients send about one item each, and what a server makes of it."""

from __future__ import annotations

import hashlib
import json
import math
from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.inference import simplex
from discreet.mechanisms.carried import carry
from discreet.mechanisms.inputs.parameters import assign, miss, read_positive
from discreet.mechanisms.inputs.rows import is_absent, read_rows
from discreet.mechanisms.inputs.values import exact_integers
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.mechanisms.responses.randomized_response import require_local
from discreet.noise import SYSTEM, BitSource, uniform_integer
from discreet.privacy import NeighborRelation, Pure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from fractions import Fraction
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["VERSION", "Frequencies", "Oracle", "Reports", "blocks", "truth_chance"]

VERSION = 1
"""The first byte of every report."""

_MOST_ITEMS = 1 << 40
_MOST_COUNTED = 1 << 26
_MOST_EPSILON = 100
_CELLS = 1 << 22


def blocks(count: int, width: int) -> Iterator[slice]:
    """Cut so many rows of a width into slices of a few million cells.

    >>> [part.stop - part.start for part in blocks(5, 1 << 21)]
    [2, 2, 1]
    """
    step = max(1, _CELLS // max(width, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reports:
    """What clients sent, one report each: whole numbers, or rows of bytes.

    A report travels as one byte of version, four bytes that name the oracle and its parameters, and the message, the
    most significant byte first.

    >>> from discreet.methods.local import Direct
    >>> sent = Direct(10, epsilon=1).report([3, 4])
    >>> len(sent), len(sent.encoded()[0]), sent.encoded()[0][0]
    (2, 6, 1)
    """

    oracle: Oracle
    messages: NDArray[Any]
    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many were left out when they were read, by the reason."""

    def __len__(self) -> int:
        return len(self.messages)

    def __add__(self, other: Reports) -> Reports:
        """Join reports to the same oracle."""
        if self.oracle != other.oracle:
            msg = f"these reports are to {other.oracle!r} and to {self.oracle!r}; estimate each by itself."
            raise ParameterError(msg)
        refused = Counter(self.refused) + Counter(other.refused)
        return Reports(self.oracle, np.concatenate([self.messages, other.messages]), MappingProxyType(dict(refused)))

    def rows(self) -> NDArray[np.uint8]:
        """The messages alone, a row of bytes each."""
        if self.messages.ndim == 2:
            return self.messages.astype(np.uint8, copy=False)
        wide = self.messages.astype(">u8").view(np.uint8).reshape(len(self.messages), 8)
        return np.ascontiguousarray(wide[:, 8 - self.oracle.width :])

    def encoded(self) -> list[bytes]:
        """Each report as it travels."""
        head, rows, width = self.oracle.header, self.rows().tobytes(), self.oracle.width
        return [head + rows[start : start + width] for start in range(0, len(rows), width)]

    def __repr__(self) -> str:
        refused = sum(self.refused.values())
        return f"Reports({len(self)} to {self.oracle!r}" + (f", {refused} refused)" if refused else ")")


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


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Oracle(Mechanism["ArrayLike", Reports]):
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
    no_error_because: ClassVar[str] = (
        "a report is a message; estimate(reports) returns counts with their standard errors and intervals."
    )
    _assumes: ClassVar[tuple[str, ...]] = ("each unit reports once: of several reports, the promises add up.",)

    items: int
    epsilon: Fraction
    neighbors: Relation

    def __init__(
        self,
        items: SupportsIndex,
        *,
        epsilon: Number,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        rate = read_positive(epsilon, "epsilon", zero="a report would tell nothing")
        if rate > _MOST_EPSILON:
            msg = f"epsilon is {shown(epsilon)}; above {_MOST_EPSILON} a report is the item itself."
            raise ParameterError(msg)
        assign(self, items=integer(items, name="items", least=2, most=_MOST_ITEMS), epsilon=rate)
        assign(self, neighbors=require_local(neighbors))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.items} items, {self.promise})"

    @property
    def claim(self) -> Pure:
        """Epsilon, of one report."""
        return Pure(self.epsilon, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of one unit's report."""
        return self.claim.curve()

    @property
    @abstractmethod
    def chances(self) -> tuple[float, float]:
        """With which chance a report supports the unit's own item, and any other given one."""

    @property
    @abstractmethod
    def messages(self) -> int:
        """How many different messages there are."""

    @property
    def width(self) -> int:
        """How many bytes a message takes."""
        return max(1, ((self.messages - 1).bit_length() + 7) // 8)

    @property
    def header(self) -> bytes:
        """What a report begins with: the version, and a hash of the oracle with all of its parameters."""
        text = json.dumps(self.record(), sort_keys=True)
        return bytes([VERSION]) + hashlib.sha256(text.encode()).digest()[:4]

    def variance(self, share: float = 0.0) -> float:
        """The variance of an estimated share, times the number of units, for an item that this share of them has.

        >>> from discreet.methods.local import Hadamard
        >>> round(Hadamard(1024, epsilon=1).variance(), 2)
        4.68
        """
        p, q = self.chances
        return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2

    def report(self, items: ArrayLike, *, bits: BitSource = SYSTEM) -> Reports:
        """Randomize items, one of each unit; one item alone gives one report."""
        rows = [items] if isinstance(items, SupportsIndex) and not np.ndim(items) else read_rows(items)
        whole = isinstance(rows, np.ndarray) and rows.dtype.kind in "iu"
        given = exact_integers(rows if whole else [-1 if is_absent(row) else row for row in rows])
        drawn = uniform_integer(self.items, given.size, bits)
        inside = np.where((given >= 0) & (given < self.items), given, drawn)
        return Reports(self, self.randomized(inside, bits))

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[Reports]:
        """Return the reports of one or several units."""
        return Release(self.report(value, bits=bits), self)

    @abstractmethod
    def randomized(self, items: NDArray[np.int64], bits: BitSource) -> NDArray[Any]:
        """Draw the message of each item."""

    @abstractmethod
    def supported(self, messages: NDArray[Any]) -> NDArray[np.int64]:
        """Count for each item how many of the messages support it."""

    def valid(self, rows: NDArray[np.uint8]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Read rows of bytes as messages, and tell which are messages of this oracle."""
        wide = np.zeros((len(rows), 8), dtype=np.uint8)
        wide[:, 8 - self.width :] = rows
        numbers = wide.view(">u8").ravel()
        kept = numbers < self.messages
        return np.where(kept, numbers, 0).astype(np.int64), kept

    def receive(self, encoded: Iterable[bytes]) -> Reports:
        """Read reports as they travel; what is no report to this oracle is refused, counted and left out.

        >>> from discreet.methods.local import Direct
        >>> oracle, other = Direct(10, epsilon=1), Direct(10, epsilon=2)
        >>> dict(oracle.receive([*oracle.report([1, 2]).encoded(), *other.report([3]).encoded(), b"what"]).refused)
        {'other parameters': 1, 'unknown version': 1}
        """
        head, size = self.header, len(self.header) + self.width
        refused: Counter[str] = Counter()
        fitting = []
        for report in encoded:
            if not isinstance(report, bytes | bytearray | memoryview) or not len(report):
                refused["no bytes"] += 1
            elif report[0] != VERSION:
                refused["unknown version"] += 1
            elif len(report) != size:
                refused["not of this length"] += 1
            elif bytes(report[:5]) != head:
                refused["other parameters"] += 1
            else:
                fitting.append(bytes(report[5:]))
        rows = np.frombuffer(b"".join(fitting), dtype=np.uint8).reshape(len(fitting), self.width)
        messages, kept = self.valid(rows)
        if not kept.all():
            refused["no such message"] += int((~kept).sum())
        return Reports(self, messages[kept], MappingProxyType(dict(refused)))

    def estimate(self, reports: Reports | Iterable[bytes]) -> Frequencies:
        """Estimate how many units have each item; this is post-processing and costs nothing."""
        given = reports if isinstance(reports, Reports) else self.receive(reports)
        if given.oracle != self:
            msg = f"these reports are to {given.oracle!r}, not to {self!r}."
            raise ParameterError(msg)
        if not len(given):
            refused = ", ".join(f"{count} with {why}" for why, count in given.refused.items())
            msg = f"reports holds none to {self!r}{': refused ' + refused if refused else ''}; at least one is needed."
            raise ParameterError(msg)
        if self.items > _MOST_COUNTED:
            msg = f"items is {self.items}; up to {_MOST_COUNTED} are counted one by one. Search them: HeavyHitters."
            raise ParameterError(msg)
        return Frequencies(self.supported(given.messages), len(given), self.chances, given.refused)


def truth_chance(epsilon: Fraction, others: Fraction | int) -> float:
    """Return 1 / (1 + others exp(-epsilon)), with which `discreet.noise.truthful` tells the truth, as a float.

    >>> from fractions import Fraction
    >>> truth_chance(Fraction(0), 3)
    0.25
    """
    return 1 / (1 + float(others) * math.exp(-float(epsilon)))


def _written(reports: Reports) -> object:
    return {"oracle": reports.oracle.record(), "rows": reports.rows().tobytes().hex()}


def _read(record: Any) -> Reports:  # noqa: ANN401  JSON
    oracle = Oracle.from_record(record["oracle"])
    rows = np.frombuffer(bytes.fromhex(record["rows"]), dtype=np.uint8).reshape(-1, oracle.width)
    messages, kept = oracle.valid(rows)
    if not kept.all():
        msg = "rows holds what is no message of its oracle; take what to_json wrote."
        raise ParameterError(msg)
    return Reports(oracle, messages)


carry("reports", Reports, _written, _read)
