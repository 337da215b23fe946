"""Oracles of which each client draws one: prefixes of strings, and the levels of a hierarchy."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.inference import tree
from discreet.methods.local.choosing import frequency_oracle
from discreet.methods.local.hashing import LocalHashing
from discreet.methods.local.oracle import read_items
from discreet.noise import SYSTEM, BitSource, uniform_integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.methods.local.oracle import Frequencies, Oracle
    from discreet.methods.local.randomizer import Reports

__all__ = ["Found", "FoundStrings", "HeavyHitters", "RangeEstimates", "Ranges"]


def _report(oracles: Sequence[Oracle], items: NDArray[np.int64], bits: BitSource) -> list[bytes]:
    """Let each client draw one of the oracles, without looking at its item; `items` has a row for each oracle."""
    which = uniform_integer(len(oracles), items.shape[1], bits)
    sent = [b""] * items.shape[1]
    for layer, oracle in enumerate(oracles):
        here = np.flatnonzero(which == layer)
        if here.size:
            for place, report in zip(here, oracle.report(items[layer, here], bits=bits).encoded(), strict=True):
                sent[place] = report
    return sent


def _sorted(oracles: Sequence[Oracle], reports: Iterable[bytes]) -> tuple[list[Reports], dict[str, int]]:
    """Give each report to the oracle whose header it bears; the first one says why it refuses what is no report."""
    heads = {oracle.header: layer for layer, oracle in enumerate(oracles)}
    layers: list[list[bytes]] = [[] for _ in oracles]
    for report in reports:
        head = bytes(report[:5]) if isinstance(report, bytes | bytearray | memoryview) else b""
        layers[heads.get(head, 0)].append(report)
    read = [oracle.receive(layer) for oracle, layer in zip(oracles, layers, strict=True)]
    refused: Counter[str] = Counter()
    for one in read:
        refused.update(one.refused)
    if not all(len(one) for one in read):
        msg = f"reports holds none to {next(one.oracle for one in read if not len(one))!r}; more clients are needed."
        raise ParameterError(msg)
    return read, dict(refused)


@dataclass(frozen=True, slots=True)
class Found:
    """A string that many have, how many by estimate, and the deviation of that.

    >>> Found("ab", 120.0, 10.0).text
    'ab'
    """

    text: str
    count: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class FoundStrings:
    """What was found, the most frequent first, and among how many reports.

    >>> FoundStrings((Found("ab", 120.0, 10.0),), 500, {}).strings[0].count
    120.0
    """

    strings: tuple[Found, ...]
    responses: int
    refused: Mapping[str, int]


class HeavyHitters:
    """Find the strings that many clients have, among more than can be counted one by one: prefix extending.

    Each client draws one of the lengths `step`, 2 `step`, ..., and reports the prefix of its string of that length by
    local hashing: one report, with all of epsilon. The server counts all prefixes of the first length, keeps the
    likeliest, extends these by every text of `step` letters, counts again, and so on; so it never looks at more than
    `keep` times as many candidates as there are such texts. Letters that are not in the alphabet, and what is beyond
    `length`, are left out; shorter strings end with a mark of their own.

    Wang, Li & Jha 2021 (arXiv:1708.06674), prefix extending; Bassily, Nissim, Stemmer & Thakurta 2017
    (arXiv:1707.04982).

    >>> hitters = HeavyHitters("ab", 4, epsilon=8)
    >>> found = hitters.estimate(hitters.report(["abba"] * 900 + ["bab"] * 900))
    >>> sorted(one.text for one in found.strings)
    ['abba', 'bab']
    """

    def __init__(
        self,
        alphabet: str,
        length: SupportsIndex,
        *,
        epsilon: Number,
        step: SupportsIndex = 1,
        keep: SupportsIndex = 64,
    ) -> None:
        if not isinstance(alphabet, str) or not alphabet or len(set(alphabet)) != len(alphabet):
            msg = f"alphabet is {shown(alphabet)}; it must be a text of different letters."
            raise ParameterError(msg)
        self.alphabet, self.length = alphabet, integer(length, name="length", least=1, most=60)
        self.step, self.keep = integer(step, name="step", least=1), integer(keep, name="keep", least=1)
        self.base = len(alphabet) + 1
        self.lengths = [*range(self.step, self.length, self.step), self.length]
        if self.base**self.length >= 1 << 60:
            msg = f"length is {self.length}; {self.base}**{self.length} strings do not fit into 60 bits. Shorten them."
            raise ParameterError(msg)
        self.oracles = [LocalHashing(self.base**size, epsilon=epsilon) for size in self.lengths]

    def _codes(self, texts: Iterable[str]) -> NDArray[np.int64]:
        place = {letter: number for number, letter in enumerate(self.alphabet, start=1)}
        codes = []
        for text in texts:
            known = [place[letter] for letter in (text if isinstance(text, str) else "") if letter in place]
            code = 0
            for digit in (known + [0] * self.length)[: self.length]:
                code = code * self.base + digit
            codes.append(code)
        return np.array(codes, dtype=np.int64)

    def _text(self, code: int) -> str:
        letters = []
        for _ in range(self.length):
            code, digit = divmod(code, self.base)
            letters.append(self.alphabet[digit - 1] if digit else "")
        return "".join(reversed(letters))

    def report(self, texts: str | Iterable[str], *, bits: BitSource = SYSTEM) -> list[bytes]:
        """Randomize strings, one of each unit; the header of a report says the length that was drawn."""
        codes = self._codes([texts] if isinstance(texts, str) else texts)
        prefixes = [codes // self.base ** (self.length - size) for size in self.lengths]
        return _report(self.oracles, np.array(prefixes).reshape(len(self.lengths), -1), bits)

    def estimate(self, reports: Iterable[bytes], *, deviations: float = 5.0) -> FoundStrings:
        """Return the strings whose estimated count is so many deviations above 0, the most frequent first.

        A string that nobody has passes 5 deviations with a chance of about 3 in ten million; `Found.standard_error`
        is for a string that was fixed before.
        """
        layers, refused = _sorted(self.oracles, reports)
        total = sum(map(len, layers))
        candidates, spread, before = np.zeros(1, dtype=np.int64), math.inf, 0
        estimates = candidates.astype(np.float64)
        for oracle, size, given in zip(self.oracles, self.lengths, layers, strict=True):
            grown, (p, q) = self.base ** (size - before), oracle.chances
            candidates = (candidates[:, None] * grown + np.arange(grown)).ravel()
            scale = total / len(given) / (p - q)
            estimates = np.asarray((oracle.support_of(given.messages, candidates) - len(given) * q) * scale)
            spread = math.sqrt(len(given) * q * (1 - q)) * scale
            best = np.argsort(-estimates, kind="stable")[: self.keep]
            candidates, estimates, before = candidates[best], estimates[best], size
        sure = estimates > deviations * spread
        pairs = zip(candidates[sure].tolist(), estimates[sure].tolist(), strict=True)
        return FoundStrings(tuple(Found(self._text(code), count, spread) for code, count in pairs), total, refused)


@dataclass(frozen=True, slots=True, eq=False)
class RangeEstimates:
    """How many units lie in each place, made consistent over all levels: sums of it estimate ranges and quantiles.

    >>> RangeEstimates(np.array([3.0, 1.0]), 4, {}).count(0, 1)
    3.0
    """

    places: NDArray[np.float64]
    responses: int
    refused: Mapping[str, int]

    def count(self, start: int, stop: int) -> float:
        """Estimate how many units lie from `start` up to, and without, `stop`."""
        return float(self.places[max(start, 0) : max(stop, 0)].sum())

    def quantile(self, level: float) -> int:
        """Return the first place at and before which at least this share lies, by the estimates."""
        if not 0 <= level <= 1:
            msg = f"level is {shown(level)}; it must be from 0 to 1."
            raise ParameterError(msg)
        reached = np.maximum.accumulate(np.cumsum(self.places)) >= level * self.places.sum()
        return int(reached.argmax()) if reached.any() else len(self.places) - 1


class Ranges:
    """Count ranges of an ordered domain, and find its quantiles: each client reports its block on one level of a tree.

    Places are 0, ..., places - 1. The client draws a level, and reports with all of epsilon in which of its blocks its
    place is; blocks of the level above hold `branching` of them. The estimates of all levels are made consistent by
    least squares, each level with its variance, which is optimal among linear estimates. A range of any length then
    adds up a few blocks, where that of single places would add up its length.

    Cormode, Kulkarni & Srivastava 2019 (arXiv:1812.10942), with `branching` near their best.

    >>> ranges = Ranges(64, epsilon=9)
    >>> found = ranges.estimate(ranges.report([10] * 500 + [50] * 500))
    >>> abs(found.count(0, 32) - 500) < 100, found.quantile(0.4)
    (True, 10)
    """

    def __init__(self, places: SupportsIndex, *, epsilon: Number, branching: SupportsIndex = 4) -> None:
        self.places = integer(places, name="places", least=2, most=1 << 24)
        self.branching = integer(branching, name="branching", least=2, most=1 << 10)
        self.height = 1
        while self.branching**self.height < self.places:
            self.height += 1
        sizes = [self.branching**level for level in range(self.height, 0, -1)]
        self.oracles = [frequency_oracle(size, epsilon=epsilon) for size in sizes]

    def report(self, places: ArrayLike, *, bits: BitSource = SYSTEM) -> list[bytes]:
        """Randomize places, one of each unit; one beyond counts as the nearest end, a missing one as 0."""
        given = np.clip(read_items(places), 0, self.places - 1)
        blocks = np.array([given // self.branching**level for level in range(self.height)])
        return _report(self.oracles, blocks, bits)

    def estimate(self, reports: Iterable[bytes]) -> RangeEstimates:
        """Estimate all places; this is post-processing and costs nothing."""
        layers, refused = _sorted(self.oracles, reports)
        found: list[Frequencies] = [oracle.estimate(layer) for oracle, layer in zip(self.oracles, layers, strict=True)]
        total = sum(one.responses for one in found)
        levels = [one.shares * total for one in found] + [np.array([float(total)])]
        spread = [
            total**2 * oracle.variance(1 / oracle.items) / one.responses
            for oracle, one in zip(self.oracles, found, strict=True)
        ]
        leaves = tree(levels, branching=self.branching, variances=[*spread, 1e-9 * spread[-1]])[0]
        return RangeEstimates(leaves[: self.places], total, refused)
