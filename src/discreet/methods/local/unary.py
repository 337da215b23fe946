"""Unary encoding as a frequency oracle: the report is one bit for each item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.methods.local.oracle import Oracle
from discreet.methods.local.randomizer import blocks, truth_chance
from discreet.noise import bernoulli, truthful

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["OptimizedUnary", "Unary"]

_MOST_BITS = 1 << 20


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Unary(Oracle):
    r"""Send one bit for each item, 1 at the unit's own, every one of them flipped with a chance: basic RAPPOR.

    Privacy. Two items differ in two bits of the encoding. With each bit told truly with chance $e^{\varepsilon/2} /
    (e^{\varepsilon/2} + 1)$ the chances of one report differ by at most a factor $e^{\varepsilon/2}$ for each of the
    two. A report supports the items whose bit is 1: $p = e^{\varepsilon/2} / (e^{\varepsilon/2} + 1)$, $q = 1 - p$.

    Erlingsson, Pihur & Korolova 2014 (arXiv:1407.6981), without memoization, which is `Memo`, and without hashing.

    >>> round(Unary(1024, epsilon=1).variance(), 2)
    3.92
    """

    kind: ClassVar[str] = "unary"
    guarantee: ClassVar[str] = (
        "Bits of a unary encoding, of which two items differ in two, each told truly with probability "
        "e^(epsilon/2) / (e^(epsilon/2) + 1), are epsilon-locally differentially private."
    )
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014, arXiv:1407.6981; Wang et al. 2017, arXiv:1705.04421"

    @property
    def chances(self) -> tuple[float, float]:
        """The chance of a 1 at the own item, and at another one."""
        p = truth_chance(self.epsilon / 2, 1)
        return p, 1 - p

    @property
    def messages(self) -> int:
        """One for each set of items."""
        return 1 << self.items

    @property
    def width(self) -> int:
        """A bit for each item."""
        return (self.items + 7) // 8

    def _bits(self, rows: int, bits: BitSource) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Draw the bits of other items for so many reports, and the bits of the own item."""
        lies = ~truthful(self.epsilon / 2, 1, (rows, self.items), bits)
        return lies, truthful(self.epsilon / 2, 1, rows, bits)

    def randomized(self, items: NDArray[np.int64], bits: BitSource) -> NDArray[np.uint8]:
        """Draw all bits, packed."""
        if self.items > _MOST_BITS:
            msg = f"items is {self.items}; for more than {_MOST_BITS} take LocalHashing, whose reports are short."
            raise ParameterError(msg)
        packed = np.empty((items.size, self.width), dtype=np.uint8)
        for part in blocks(items.size, self.items):
            own = items[part]
            drawn, told = self._bits(own.size, bits)
            drawn[np.arange(own.size), own] = told
            packed[part] = np.packbits(drawn, axis=1)
        return packed

    def supported(self, messages: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Count the ones of each item."""
        total = np.zeros(self.items, dtype=np.int64)
        for part in blocks(len(messages), self.items):
            total += np.unpackbits(messages[part], axis=1, count=self.items).sum(axis=0, dtype=np.int64)
        return total

    def valid(self, rows: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Accept rows whose bits beyond the last item are 0."""
        spare = 8 * self.width - self.items
        return rows, (rows[:, -1] & ((1 << spare) - 1)) == 0


@dataclass(frozen=True, slots=True, init=False, repr=False)
class OptimizedUnary(Unary):
    r"""Send one bit for each item, and spend all of epsilon on the zeros: optimized unary encoding (OUE).

    Privacy. The bit of the own item is a fair coin; every other bit is 1 with chance $q = 1 / (e^\varepsilon + 1)$. For
    two items the chances of a report differ in two bits: by at most $\frac{1/2}{q} \cdot \frac{1-q}{1/2} =
    e^\varepsilon$. p = 1/2. Of all oracles with a bit for each item this has the least variance for rare items,
    $4 e^\varepsilon / (e^\varepsilon - 1)^2$.

    Wang, Blocki, Li & Jha 2017 (arXiv:1705.04421), section 4.3.

    >>> round(OptimizedUnary(1024, epsilon=1).variance(), 2)
    3.68
    """

    kind: ClassVar[str] = "optimized_unary"
    guarantee: ClassVar[str] = (
        "Bits of a unary encoding, a fair coin at the item and 1 with probability 1 / (e^epsilon + 1) elsewhere, are "
        "epsilon-locally differentially private."
    )
    source: ClassVar[str] = "Wang, Blocki, Li & Jha 2017, arXiv:1705.04421"

    @property
    def chances(self) -> tuple[float, float]:
        """The chance of a 1 at the own item, and at another one."""
        return 0.5, 1 - truth_chance(self.epsilon, 1)

    def _bits(self, rows: int, bits: BitSource) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Draw the bits of other items for so many reports, and the bits of the own item."""
        return ~truthful(self.epsilon, 1, (rows, self.items), bits), bernoulli("1/2", rows, bits)
