"""Projective geometry response as a frequency oracle: the report is a point, on the item's hyperplane or beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.mechanisms.inputs.parameters import assign
from discreet.methods.local.linear import digits, is_prime, number, solutions
from discreet.methods.local.oracle import Oracle
from discreet.methods.local.randomizer import blocks, truth_chance
from discreet.noise import truthful, uniform_integer
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.noise import BitSource
    from discreet.privacy.relations import Relation

__all__ = ["ProjectiveGeometry"]

_MOST_BITS = 62


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ProjectiveGeometry(Oracle):
    r"""Report a point of a projective space: one of the item's hyperplane, or one beside it.

    Over a field of q elements, $F_q^t$ has $K = (q^t - 1)/(q - 1)$ lines through the origin, its *points*; each has a
    vector whose first digit that is not 0 is 1. Items are the first points v. A report is a point y; $c = (q^{t-1} -
    1)/(q - 1)$ of them have $v \cdot y = 0$, and of these $s = (q^{t-2} - 1)/(q - 1)$ also $w \cdot y = 0$.

    Privacy. Points with $v \cdot y = 0$ have weight $e^\varepsilon$ and the others weight 1, so two items give one
    point with chances at most a factor $e^\varepsilon$ apart, as every item has equally many. The report is on the
    hyperplane with chance $p = 1 / (1 + \frac{K-c}{c} e^{-\varepsilon})$.

    Estimate. y supports v if $v \cdot y = 0$, another item w with chance $q = p s/c + (1-p)(c-s)/(K-c)$. Nearly the
    error of subset selection, with a report of a few bytes and counts by one Fourier transform.

    Feldman, Nelson, Nguyen & Talwar 2022 (arXiv:2203.00194).

    >>> oracle = ProjectiveGeometry(1024, epsilon=1)
    >>> oracle.field, oracle.messages, oracle.width, round(oracle.variance(), 2)
    (3, 1093, 2, 3.76)
    """

    kind: ClassVar[str] = "projective_geometry"
    guarantee: ClassVar[str] = (
        "A point of a projective space, e^epsilon times as likely on the item's hyperplane as beside it, is "
        "epsilon-locally differentially private, as all hyperplanes have equally many points."
    )
    source: ClassVar[str] = "Feldman, Nelson, Nguyen & Talwar 2022, arXiv:2203.00194"

    field: int

    def __init__(
        self,
        items: SupportsIndex,
        *,
        epsilon: Number,
        field: SupportsIndex | None = None,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        Oracle.__init__(self, items, epsilon=epsilon, neighbors=neighbors)
        chosen = _best(self.items, self.epsilon) if field is None else integer(field, name="field", least=2)
        if not is_prime(chosen) or chosen ** (_places(self.items, chosen) + 1) >> _MOST_BITS:
            msg = f"field is {shown(field)}; it must be a prime such that a report fits into {_MOST_BITS} bits."
            raise ParameterError(msg)
        assign(self, field=chosen)

    @property
    def _places(self) -> int:
        return _places(self.items, self.field)

    @property
    def chances(self) -> tuple[float, float]:
        """The chance that the report is on the own hyperplane, and on another one."""
        return _chances(self.items, self.epsilon, self.field)

    @property
    def messages(self) -> int:
        """One for each point."""
        return _points(self.field, self._places)

    def randomized(self, items: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
        r"""Draw points.

        A vector with $v \cdot y = r$ is uniform if all digits but that of v's first 1 are, and that one makes up for
        them. With r = 0 the origin is drawn again, and each point has equally many vectors; with r = 1 each point
        beside the hyperplane has exactly one.
        """
        base, places = self.field, self._places
        every, on = _points(base, places), _points(base, places - 1)
        message = np.empty(items.size, dtype=np.int64)
        for part in blocks(items.size, places):
            vectors = digits(_code(items[part], base), base, places)
            beside = ~truthful(self.epsilon, Fraction(every - on, on), len(vectors), bits)
            drawn = np.zeros_like(vectors)
            left = np.arange(len(vectors))
            while left.size:
                some, first = uniform_integer(base, (left.size, places), bits), (vectors[left] != 0).argmax(axis=1)
                at = (np.arange(left.size), first)
                some[at] = 0
                some[at] = (beside[left] - (some * vectors[left]).sum(axis=1)) % base
                drawn[left] = some
                left = left[~some.any(axis=1)]
            message[part] = _place(drawn, base)
        return message

    def supported(self, messages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count for each item how many of the points are on its hyperplane."""
        base, places = self.field, self._places
        counted = np.zeros(base**places, dtype=np.int64)
        for part in blocks(len(messages), places):
            points = digits(_code(messages[part], base), base, places)[:, None, :]
            counted += solutions(points, np.zeros((len(points), 1), dtype=np.int64), base)
        found: NDArray[np.int64] = counted[_code(np.arange(self.items), base)]
        return found


def _points(base: int, places: int) -> int:
    return int((base**places - 1) // (base - 1))


def _places(items: int, base: int) -> int:
    places = 2
    while _points(base, places) < items:
        places += 1
    return places


def _code(points: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """Return the number whose digits are a point's vector: q**f + rest, for the f digits behind its first, a 1.

    Before the points with f such digits stand (q**f - 1)/(q - 1) others.
    """
    code = np.empty_like(points)
    free, before = 0, 0
    waiting = np.ones(points.shape, dtype=np.bool_)
    while waiting.any():
        size = base**free
        here = waiting & (points < before + size)
        code[here] = points[here] - before + size
        waiting &= ~here
        free, before = free + 1, before + size
    return code


def _place(vectors: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """Return the point that each vector but the origin lies on: divide by its first digit, and undo `_code`."""
    places = vectors.shape[1]
    first = (vectors != 0).argmax(axis=1)
    inverse = np.array([0] + [pow(digit, -1, base) for digit in range(1, base)], dtype=np.int64)
    scaled = vectors * inverse[vectors[np.arange(len(vectors)), first]][:, None] % base
    size = np.array([base**free for free in range(places)], dtype=np.int64)[places - 1 - first]
    found: NDArray[np.int64] = number(scaled, base) - size + (size - 1) // (base - 1)
    return found


def _chances(items: int, epsilon: Fraction, base: int) -> tuple[float, float]:
    places = _places(items, base)
    every, on, both = (_points(base, places - less) for less in (0, 1, 2))
    p = truth_chance(epsilon, Fraction(every - on, on))
    return p, p * both / on + (1 - p) * (on - both) / (every - on)


@lru_cache(maxsize=64)
def _best(items: int, epsilon: Fraction) -> int:
    """Choose the prime with the least variance near e^ε + 1."""
    near = int(min(math.exp(min(float(epsilon), 20)), 2000)) + 2
    some = [q for q in range(2, near + 60) if is_prime(q) and not q ** (_places(items, q) + 1) >> _MOST_BITS]

    def variance(base: int) -> float:
        p, q = _chances(items, epsilon, base)
        return q * (1 - q) / (p - q) ** 2

    return min(some, key=variance)
