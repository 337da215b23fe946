"""The rank that decides which of a unit's rows are kept: a keyed hash, the same on all engines.

Each cell becomes a few limbs of at most 22 bits, in a way that every engine computes alike:

    boolean    0 or 1
    integer    the digits to the base 2**22, the last of which takes the sign and the rest
    date       days since 1970 · timestamp  microseconds since 1970, as an integer
    text       the first 60 bits of SHA-256 of its UTF-8 bytes, as an integer
    float      x * 2**(58 j) for the j that brings it between 2**-6 and 2**58 (0 if it is there): the nearest integer,
               2**58 times what is left, and j; the first two say all about such a double, both as integers

Secret multipliers below 2**26, one for each limb of the unit and of the cells, weigh the limbs; a cell that is NULL
has a secret number in the place of its weighed limbs. With P = 2**31 - 1, two such sums are taken modulo P, A and B.
The rank is (A * A * (A + c) mod P) * 2**31 + B. Limbs differ by less than P, so two rows with other limbs agree in one
sum with a chance of at most 2**-26 over the key, in both with 2**-52. The cubic is there because the order of numbers
a + b x says too much about x: units shift A by different amounts, and what a cubic makes of a shift is another order.
Nothing here needs to resist an attack: which rows of a unit are kept is the unit's own matter, as long as it depends
on that unit's rows and the key alone.

The sums are taken in doubles, which are exact here: sixteen products of 48 bits stay below 2**52. Engines check every
operation on integers for overflow, and take several times as long for it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.sql.words import SQL, all_of, between, binary, call, case, join, number
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.engines.sql.dialect import TypedSQL, Writing

__all__ = ["LIMB_BITS", "PRIME", "lead", "multiplier", "rank"]

LIMB_BITS = 22
PRIME = 2**31 - 1
_MULTIPLIERS = 2**26
_TERMS = 16
_LIMBS = 3
"""So many limbs hold 64 bits."""
_POSITIVE = PRIME * 2**21
"""A multiple of P above every sum in size, and below 2**52."""
_SHIFT = 58
_LEVELS = [*range(1, 10), *range(-1, -9, -1)]
"""How often a float that is settled, so within 2**-500 and 2**500, is multiplied by 2**58."""


def multiplier(key: bytes, label: str) -> int:
    """Draw a secret number below 2**26 for a place from the key.

    >>> multiplier(bytes(32), "row 0 1 0") < 2**26
    True
    """
    return int.from_bytes(hashlib.sha256(key + label.encode()).digest()[:8]) % _MULTIPLIERS


def rank(tag: str, unit: TypedSQL, cells: list[TypedSQL], key: bytes, rows: Writing) -> SQL:
    """Hash the unit and some cells."""
    writer = _Ranks(tag, key, rows)
    places = [(cell, writer.limbs(cell)) for cell in (unit, *cells)]
    first, second = (rows.bind(writer.summed(lane, places)) for lane in (0, 1))
    return binary("+", binary("*", writer.mixed(first), number(2**31)), second)


def lead(tag: str, unit: TypedSQL, cells: list[TypedSQL], key: bytes, rows: Writing) -> SQL:
    """Write what comes first in the rank, less than P, at half its cost: ranks whose leads differ have their order."""
    writer = _Ranks(tag, key, rows)
    places = [(cell, writer.limbs(cell)) for cell in (unit, *cells)]
    return writer.mixed(rows.bind(writer.summed(0, places)))


def _reduced(value: SQL) -> SQL:
    return binary("%", value, number(PRIME))


@dataclass(frozen=True, slots=True)
class _Ranks:
    """Where the rank of one kind is written."""

    tag: str
    key: bytes
    rows: Writing

    def summed(self, lane: int, places: list[tuple[TypedSQL, list[SQL]]]) -> SQL:
        """Write the sum of a lane, within 0 and P; the same limbs at two places are weighed once, by both numbers."""
        weights: dict[SQL, int] = {}
        parts = []
        for place, (cell, limbs) in enumerate(places):
            weighed = [(limb, self._secret(f"{lane} {place} {digit}")) for digit, limb in enumerate(limbs)]
            if cell.facts.nullable:
                total = join("+", [self._weighed(*pair) for pair in weighed])
                parts.append((len(weighed), call("coalesce", total, self._real(self._secret(f"{lane} {place} null")))))
                continue
            for limb, weight in weighed:
                weights[limb] = weights.get(limb, 0) + weight
        for limb, weight in weights.items():
            count = 1 + weight // _MULTIPLIERS
            parts.append((count, self._weighed(limb, weight)))
        sums = [self._whole(join("+", [part for _, part in some])) for some in _packed(parts)]
        return sums[0] if len(sums) == 1 else _reduced(join("+", sums))

    def mixed(self, first: SQL) -> SQL:
        """Write the cubic of the first sum modulo P."""
        shifted = binary("+", first, self._constant(multiplier(self.key, f"{self.tag} shift")))
        square = self.rows.bind(_reduced(binary("*", first, first)))
        return _reduced(binary("*", square, shifted))  # less than 2**31 times less than 2**32

    def _whole(self, total: SQL) -> SQL:
        """A sum of at most sixteen products modulo P."""
        positive = binary("+", total, self._real(_POSITIVE))
        return _reduced(self.rows.dialect.nearest(positive))

    def _weighed(self, limb: SQL, weight: int) -> SQL:
        return binary("*", limb, self._real(weight))

    def _secret(self, label: str) -> int:
        return multiplier(self.key, f"{self.tag} {label}")

    def _real(self, value: int) -> SQL:
        return self.rows.dialect.float(float(value))

    def _constant(self, value: int) -> SQL:
        return self.rows.dialect.literal(value, Kind.INTEGER)

    def limbs(self, cell: TypedSQL) -> list[SQL]:
        """Write the limbs of a cell as doubles; those that its bounds show to be 0 are left out."""

        def real(limb: SQL) -> SQL:
            return self.rows.once(("limb", limb), lambda: self.rows.dialect.to(limb, Kind.FLOAT))

        return [real(limb) for limb in self._integers(cell)]

    def _integers(self, cell: TypedSQL) -> Iterator[SQL]:
        """Write a cell as integers, and those as limbs."""
        dialect, x = self.rows.dialect, self.rows.bind(cell.sql)
        if cell.kind is Kind.BOOLEAN:
            one, zero = (self._constant(value) for value in (1, 0))
            yield case((binary("=", x, exp.Boolean(this=True)), one), (binary("<>", x, exp.Boolean(this=True)), zero))
        elif cell.kind is Kind.TEXT:
            yield from self._digits(dialect.text_number(x), _LIMBS)
        elif cell.kind is Kind.DATE:
            yield dialect.days(x, Kind.DATE)
        elif cell.kind is Kind.TIMESTAMP:
            yield from self._digits(dialect.microseconds(x), _LIMBS)
        elif cell.kind is Kind.INTEGER:
            yield from self._digits(x, _needed(cell.facts.bounds))
        else:
            level = self.rows.bind(self._level(cell))
            power = call("power", dialect.float(2.0), dialect.to(binary("*", level, number(_SHIFT)), Kind.FLOAT))
            # A power of two of whole numbers is exact; most rows are spared it.
            inside = self.rows.bind(case((binary("=", level, number(0)), x), default=binary("*", x, power)))
            whole = self.rows.bind(dialect.nearest(inside))
            left = binary("-", inside, dialect.to(whole, Kind.FLOAT))
            yield from self._digits(whole, _LIMBS)
            yield from self._digits(dialect.nearest(binary("*", left, dialect.float(2.0**_SHIFT))), _LIMBS)
            yield level

    def _level(self, cell: TypedSQL) -> SQL:
        """Write how often a float is multiplied; most rows pass by the first branches."""
        dialect, size = self.rows.dialect, self.rows.bind(call("abs", self.rows.bind(cell.sql)))
        ends = dialect.float(2.0**-6), dialect.float(2.0**_SHIFT)
        branches = [
            (between(size, *ends), self._constant(0)),
            (binary("=", size, dialect.float(0.0)), self._constant(0)),
        ]
        near = cell.facts.bounds.within(Bounds(-(2**_SHIFT), 2**_SHIFT))
        for j in _LEVELS:
            if near and j < 0:
                continue
            low = 2.0 ** (-6 - _SHIFT * j) if j > 0 else 2.0 ** (-_SHIFT * j)
            high = low * 2.0**_SHIFT
            branches.append(
                (
                    all_of([binary("<=", dialect.float(low), size), binary("<", size, dialect.float(high))]),
                    self._constant(j),
                )
            )
        return case(*branches, default=dialect.literal(None, Kind.INTEGER))

    def _digits(self, value: SQL, count: int) -> Iterator[SQL]:
        """Write an integer as so many limbs, the last of which takes the rest."""
        x, dialect = self.rows.once(("digits", value), lambda: value), self.rows.dialect
        for place in range(count):
            rest = dialect.shifted(x, LIMB_BITS * place) if place else x
            yield rest if place == count - 1 else binary("&", rest, self._constant(2**LIMB_BITS - 1))


def _needed(bounds: Bounds) -> int:
    """How many limbs of an integer may differ from 0."""
    if bounds.lower is None or bounds.upper is None or bounds.lower < 0:
        return _LIMBS
    return next((count for count in range(1, _LIMBS) if bounds.upper < 2 ** (LIMB_BITS * count)), _LIMBS)


def _packed(parts: list[tuple[int, SQL]]) -> Iterator[list[tuple[int, SQL]]]:
    """Divide parts, each of so many products, so that each share has at most sixteen."""
    share: list[tuple[int, SQL]] = []
    for part in parts:
        if share and sum(count for count, _ in share) + part[0] > _TERMS:
            yield share
            share = []
        share.append(part)
    yield share
