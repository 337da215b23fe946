"""What clients send: reports that they randomized themselves, and how they travel."""

from __future__ import annotations

import hashlib
import json
import math
from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.carried import carry
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.mechanisms.responses.randomized_response import require_local
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import Pure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["VERSION", "Randomizer", "Reports", "blocks", "truth_chance"]

VERSION = 1
"""The first byte of every report."""

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

    oracle: Randomizer
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


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Randomizer(Mechanism["ArrayLike", Reports]):
    """A mechanism of the local model: it turns one unit's value into a message that anybody may read.

    >>> from discreet.methods.local import Direct
    >>> Direct(4, epsilon=1).neighbors.value
    'change_one_ordered'
    """

    no_error_because: ClassVar[str] = (
        "a report is a message; estimate(reports) returns estimates with their standard errors and intervals."
    )
    _assumes: ClassVar[tuple[str, ...]] = ("each unit reports once: of several reports, the promises add up.",)

    epsilon: Fraction
    neighbors: Relation

    def promise_to(self, epsilon: Number, neighbors: Relation) -> None:
        """Set the fields of the promise; for constructors alone."""
        rate = read_positive(epsilon, "epsilon", zero="a report would tell nothing")
        if rate > _MOST_EPSILON:
            msg = f"epsilon is {shown(epsilon)}; above {_MOST_EPSILON} a report is the value itself."
            raise ParameterError(msg)
        assign(self, epsilon=rate, neighbors=require_local(neighbors))

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

    @abstractmethod
    def report(self, values: ArrayLike, *, bits: BitSource = SYSTEM) -> Reports:
        """Randomize values, one of each unit; one value alone gives one report."""

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[Reports]:
        """Return the reports of one or several units."""
        return Release(self.report(value, bits=bits), self)

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

    def read_reports(self, reports: Reports | Iterable[bytes]) -> Reports:
        """Take reports to this randomizer, at least one: as they are, or as they travel."""
        given = reports if isinstance(reports, Reports) else self.receive(reports)
        if given.oracle != self:
            msg = f"these reports are to {given.oracle!r}, not to {self!r}."
            raise ParameterError(msg)
        if not len(given):
            refused = ", ".join(f"{count} with {why}" for why, count in given.refused.items())
            msg = f"reports holds none to {self!r}{': refused ' + refused if refused else ''}; at least one is needed."
            raise ParameterError(msg)
        return given


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
    oracle = Randomizer.from_record(record["oracle"])
    rows = np.frombuffer(bytes.fromhex(record["rows"]), dtype=np.uint8).reshape(-1, oracle.width)
    messages, kept = oracle.valid(rows)
    if not kept.all():
        msg = "rows holds what is no message of its oracle; take what to_json wrote."
        raise ParameterError(msg)
    return Reports(oracle, messages)


carry("reports", Reports, _written, _read)
