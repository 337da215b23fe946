"""Subset selection as a frequency oracle: the report is a set of items of a fixed size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.mechanisms.inputs.parameters import assign
from discreet.methods.local.oracle import Oracle
from discreet.methods.local.randomizer import blocks, truth_chance
from discreet.methods.local.unary import Unary
from discreet.noise import truthful, uniform_integer
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.noise import BitSource
    from discreet.privacy.relations import Relation

__all__ = ["SubsetSelection"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class SubsetSelection(Unary):
    r"""Report a set of d items, likelier one with the own item in it.

    Privacy. A set with the item has weight $e^\varepsilon$, one without it weight 1, so two items give one set with
    chances at most a factor $e^\varepsilon$ apart. Of the sets $\binom{k-1}{d-1}$ have the item and $\binom{k-1}{d}$
    have not, which is (k - d)/d times as many: it is in the report with chance $p = 1 / (1 + \frac{k-d}{d}
    e^{-\varepsilon})$. Given that, the other d - 1 or d are a uniform set of the other k - 1, so another item is in it
    with chance $q = (d - p) / (k - 1)$.

    Of all oracles none has a smaller error for all truths (Ye & Barg 2018, arXiv:1702.00610). A report takes a bit for
    each item. d is the whole number near $k / (e^\varepsilon + 1)$ with the least variance.

    >>> oracle = SubsetSelection(1024, epsilon=1)
    >>> oracle.size, round(oracle.variance(), 2)
    (275, 3.67)
    """

    kind: ClassVar[str] = "subset_selection"
    guarantee: ClassVar[str] = (
        "A set of d items, e^epsilon times as likely if it has the unit's own as if it has not, is epsilon-locally "
        "differentially private."
    )
    source: ClassVar[str] = "Ye & Barg 2018, arXiv:1702.00610; Wang et al. 2016, arXiv:1607.08025"

    size: int

    def __init__(
        self,
        items: SupportsIndex,
        *,
        epsilon: Number,
        size: SupportsIndex | None = None,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        Oracle.__init__(self, items, epsilon=epsilon, neighbors=neighbors)
        if size is None:
            near = int(self.items / (math.exp(min(float(self.epsilon), 100)) + 1))
            some = [d for d in (near, near + 1) if 1 <= d < self.items]
            size = min(some, key=self._variance_at)
        chosen = integer(size, name="size", least=1)
        if chosen >= self.items:
            msg = f"size is {shown(size)}; a set of all {self.items} items tells nothing: fewer."
            raise ParameterError(msg)
        assign(self, size=chosen)

    def _variance_at(self, size: int) -> float:
        p, q = self._chances_at(size)
        return q * (1 - q) / (p - q) ** 2

    def _chances_at(self, size: int) -> tuple[float, float]:
        p = truth_chance(self.epsilon, Fraction(self.items - size, size))
        return p, (size - p) / (self.items - 1)

    @property
    def chances(self) -> tuple[float, float]:
        """The chance that the own item is in the set, and that another one is."""
        return self._chances_at(self.size)

    @property
    def messages(self) -> int:
        """One for each set of this size."""
        return math.comb(self.items, self.size)

    def randomized(self, items: NDArray[np.int64], bits: BitSource) -> NDArray[np.uint8]:
        """Draw sets, packed as a bit for each item.

        Floyd's way to a uniform set of s out of k - 1, for many at once: for j = k - 1 - s, ..., k - 2 take a uniform
        number from 0 to j, or j itself where that is in the set already (Bentley & Floyd 1987,
        doi:10.1145/30401.315746). Numbers from the own item on stand for the item after.
        """
        packed = np.empty((items.size, self.width), dtype=np.uint8)
        for part in blocks(items.size, 4 * self.items):
            own = items[part]
            taken = np.zeros((own.size, self.items), dtype=np.bool_)
            told = truthful(self.epsilon, Fraction(self.items - self.size, self.size), own.size, bits)
            for inside in (True, False):
                at = np.flatnonzero(told == inside)
                taken[at] = self._sets(own[at], self.size - inside, bits)
                taken[at, own[at]] = inside
            packed[part] = np.packbits(taken, axis=1)
        return packed

    def _sets(self, own: NDArray[np.int64], size: int, bits: BitSource) -> NDArray[np.bool_]:
        """Draw a set of the items besides the own one, each."""
        taken = np.zeros((self.items - 1, own.size), dtype=np.bool_)
        every = np.arange(own.size)
        for last in range(self.items - 1 - size, self.items - 1):
            place = uniform_integer(last + 1, own.size, bits)
            taken[np.where(taken[place, every], last, place), every] = True
        others = np.arange(self.items - 1)
        spread = np.zeros((own.size, self.items), dtype=np.bool_)
        spread[every[:, None], others + (others >= own[:, None])] = taken.T
        return spread

    def valid(self, rows: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Accept sets of the right size."""
        read, kept = Unary.valid(self, rows)
        return read, kept & (np.bitwise_count(rows).sum(axis=1) == self.size)
