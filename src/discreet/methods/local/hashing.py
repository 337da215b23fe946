"""Local hashing as a frequency oracle: the report is a hash function and a noisy hash of the item."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.responses.randomized_response import RandomizedResponse
from discreet.methods.local.linear import digits, is_prime, number, solutions
from discreet.methods.local.oracle import Oracle
from discreet.methods.local.randomizer import blocks, truth_chance
from discreet.noise import uniform_integer
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.noise import BitSource
    from discreet.privacy.relations import Relation

__all__ = ["Hadamard", "LocalHashing"]

_MOST_HASHES = 4096
_MOST_BITS = 62


@dataclass(frozen=True, slots=True, init=False, repr=False)
class LocalHashing(Oracle):
    r"""Send a hash function drawn by yourself, and your item's hash after randomized response: OLH.

    Items are written as vectors v over a field of q elements; a hash is A v for a uniform matrix A of m rows, so it has
    $g = q^m$ values. The client sends A and $c = A v + e$, where e is 0 with chance $p = e^\varepsilon /
    (e^\varepsilon + g - 1)$ and otherwise any other of the g vectors, all equally likely.

    Privacy. A does not depend on the item, and given A the rest is randomized response to one of g values.

    Estimate. The report supports v if A v = c: the own item exactly where e = 0, with chance p. For another item w,
    A (w - v) is uniform, as w - v is not 0; so it is e with chance q = 1/g. The variance is least at $g =
    e^\varepsilon + 1$: q is a prime and m = 1 but for g = 4 = 2².

    With hashes that are linear the server need not try every item on every report: all counts together are one
    Fourier transform (`discreet.methods.local.linear`).

    Wang, Blocki, Li & Jha 2017 (arXiv:1705.04421), section 4.4, with other hash functions; Feldman, Nelson, Nguyen &
    Talwar 2022 (arXiv:2203.00194) for linear ones.

    >>> oracle = LocalHashing(1024, epsilon=1)
    >>> oracle.hashes, oracle.width, round(oracle.variance(), 2)
    (4, 3, 3.69)
    """

    kind: ClassVar[str] = "local_hashing"
    guarantee: ClassVar[str] = (
        "A hash function that does not depend on the item, and the item's hash kept with probability e^epsilon / "
        "(e^epsilon + g - 1) and otherwise replaced by another of the g, are epsilon-locally differentially private."
    )
    source: ClassVar[str] = "Wang, Blocki, Li & Jha 2017, arXiv:1705.04421"

    hashes: int

    def __init__(
        self,
        items: SupportsIndex,
        *,
        epsilon: Number,
        hashes: SupportsIndex | None = None,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        Oracle.__init__(self, items, epsilon=epsilon, neighbors=neighbors)
        chosen = _best(self.items, float(self.epsilon)) if hashes is None else integer(hashes, name="hashes", least=2)
        if (chosen != 4 and not is_prime(chosen)) or _bits(self.items, chosen) > _MOST_BITS:
            msg = (
                f"hashes is {shown(hashes)}; it must be a prime or 4, and a report fit into {_MOST_BITS} bits. "
                "Leave it out to have the best one chosen."
            )
            raise ParameterError(msg)
        assign(self, hashes=chosen)

    @property
    def _field(self) -> tuple[int, int, int]:
        """The prime q, the rows m and the columns t of a matrix: q**t is at least the number of items."""
        return _field(self.items, self.hashes)

    @property
    def chances(self) -> tuple[float, float]:
        """The chance that the own item is hashed to what was sent, and that another one is."""
        return truth_chance(self.epsilon, self.hashes - 1), 1 / self.hashes

    @property
    def messages(self) -> int:
        """A matrix and a hash: q**(m t + m)."""
        base, equations, places = self._field
        return int(base ** (equations * places + equations))

    def randomized(self, items: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
        """Draw matrices; hash, and randomize the hashes. The message is all digits of the matrix, then of the hash."""
        base, equations, places = self._field
        response = RandomizedResponse(self.hashes, epsilon=self.epsilon)
        message = np.empty(items.size, dtype=np.int64)
        for part in blocks(items.size, equations * places):
            vectors = digits(items[part], base, places)
            drawn = uniform_integer(base, (len(vectors), equations, places), bits)
            hashed = np.einsum("nmt,nt->nm", drawn, vectors) % base
            told = np.asarray(response.release(number(hashed, base), bits=bits).value)
            message[part] = number(drawn.reshape(len(vectors), -1), base) * self.hashes + told
        return message

    def supported(self, messages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count for each item how many of the matrices hash it to what was sent."""
        base, equations, places = self._field
        counted = np.zeros(base**places, dtype=np.int64)
        for part in blocks(len(messages), max(equations * places, 1)):
            matrices, told = np.divmod(messages[part], self.hashes)
            rows = digits(matrices, base, equations * places).reshape(-1, equations, places)
            counted += solutions(rows, digits(told, base, equations), base)
        return counted[: self.items]

    def support_of(self, messages: NDArray[np.int64], items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the same for some items alone, where there are too many to count them all: n steps for each.

        >>> oracle = LocalHashing(9, epsilon=1)
        >>> sent = oracle.report([1, 5, 8]).messages
        >>> bool((oracle.support_of(sent, np.arange(9)) == oracle.supported(sent)).all())
        True
        """
        base, equations, places = self._field
        vectors = digits(items, base, places).astype(np.float64)
        counted = np.zeros(items.size, dtype=np.int64)
        for part in blocks(len(messages), equations * max(items.size, places)):
            matrices, told = np.divmod(messages[part], self.hashes)
            rows = digits(matrices, base, equations * places).reshape(-1, places).astype(np.float64)
            hashed = (rows @ vectors.T) % base  # whole numbers below 2**53, so exact
            solved = hashed.reshape(-1, equations, items.size) == digits(told, base, equations)[:, :, None]
            counted += solved.all(axis=1).sum(axis=0)
        return counted


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Hadamard(LocalHashing):
    r"""Send a row of a Hadamard matrix, and the sign at your item, kept with chance e^ε / (e^ε + 1).

    The entry of the matrix at (a, v) is $(-1)^{a \cdot v}$: local hashing to one bit. p as stated, q = 1/2, and the
    variance is $((e^\varepsilon + 1) / (e^\varepsilon - 1))^2$: as good as any for small epsilon, at one bit besides
    the row.

    Acharya, Sun & Zhang 2019 (arXiv:1802.04705), Hadamard response for high privacy; Cormode, Maddock & Maple 2021
    (arXiv:2103.16640) call it the Hadamard mechanism.

    >>> Hadamard(1024, epsilon=1).hashes, Hadamard(1024, epsilon=1).width
    (2, 2)
    """

    kind: ClassVar[str] = "hadamard"
    source: ClassVar[str] = "Acharya, Sun & Zhang 2019, arXiv:1802.04705"

    def __init__(
        self,
        items: SupportsIndex,
        *,
        epsilon: Number,
        hashes: SupportsIndex = 2,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        integer(hashes, name="hashes", least=2, most=2)  # a field, as it stands in the record
        LocalHashing.__init__(self, items, epsilon=epsilon, hashes=2, neighbors=neighbors)


def _field(items: int, hashes: int) -> tuple[int, int, int]:
    base, equations = (2, 2) if hashes == 4 else (hashes, 1)
    places = 1
    while base**places < items:
        places += 1
    return base, equations, places


def _bits(items: int, hashes: int) -> int:
    base, equations, places = _field(items, hashes)
    return int((base ** (equations * (places + 1)) - 1).bit_length())


@lru_cache(maxsize=64)
def _best(items: int, epsilon: float) -> int:
    """Choose how many hashes: (g - 1 + e^ε)² / ((e^ε - 1)² (g - 1)) is the variance of rare items, least at e^ε + 1."""
    grown = math.exp(min(epsilon, 40))
    near = min(int(grown) + 2, _MOST_HASHES)
    some = {2, 3, 4, *range(max(2, near - 60), near + 60)}
    fitting = [g for g in some if (g == 4 or is_prime(g)) and _bits(items, g) <= _MOST_BITS] or [2]
    best: int = min(fitting, key=lambda g: ((g - 1 + grown) ** 2 / (g - 1), g))
    return best
