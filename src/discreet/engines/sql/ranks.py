"""The rank that decides which of a unit's rows are kept: a keyed hash in whole numbers, the same on all engines.

Each cell becomes a few limbs below 2**30, in a way that every engine computes alike:

    NULL       a secret number in the place of the first limb
    boolean    0 or 1
    integer    the digits to the base 2**30, with the number's sign
    date       days since 1970 · timestamp  microseconds since 1970 · both as integers
    text       the first 60 bits of SHA-256 of its UTF-8 bytes, as an integer
    float      x * 2**(58 j) for the j that brings it between 2**-6 and 2**58 (0 if it is there): the nearest integer,
               2**58 times what is left, and j; the first two say all about such a double, both as integers

With P = 2**31 - 1 and secret multipliers below 2**30 for each limb of the unit and of the cells, two sums modulo P are
taken, A and B. The rank is (A * A * (A + c) mod P) * 2**31 + B. Limbs differ by less than P, so two rows with other
limbs agree in one sum with a chance of 2**-30 over the key, in both with 2**-60. The cubic is there because the order
of numbers a + b x says too much about x: units shift A by different amounts, and what a cubic makes of a shift is
another order. Nothing here needs to resist an attack: which rows of a unit are kept is the unit's own matter, as long
as it depends on that unit's rows and the key alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.sql.words import SQL, all_of, between, binary, call, case, join, number
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.engines.sql.binding import Cell
    from discreet.engines.sql.writing import Writing

__all__ = ["LIMB_BASE", "PRIME", "multiplier", "rank"]

LIMB_BASE = 2**30
PRIME = 2**31 - 1
_TERMS = 7
"""So many products below 2**60 sum up to less than 2**63."""
_SHIFT = 58
_LEVELS = [*range(1, 10), *range(-1, -9, -1)]
"""How often a float that is settled, so within 2**-500 and 2**500, is multiplied by 2**58."""


def multiplier(key: bytes, label: str) -> int:
    """Draw a secret number below 2**30 for a place from the key.

    >>> multiplier(bytes(32), "row 0 1 0") < 2**30
    True
    """
    return int.from_bytes(hashlib.sha256(key + label.encode()).digest()[:8]) % LIMB_BASE


def rank(tag: str, unit: Cell, cells: list[Cell], key: bytes, rows: Writing) -> SQL:
    """Hash the unit and some cells."""
    writer = _Ranks(tag, key, rows)
    limbs = [
        (f"{place} {digit}", limb)
        for place, cell in enumerate((unit, *cells))
        for digit, limb in enumerate(writer.limbs(place, cell))
    ]
    first, second = (rows.bind(writer.summed(lane, limbs)) for lane in (0, 1))
    shifted = rows.bind(_reduced(binary("+", first, number(multiplier(key, f"{tag} shift")))))
    square = rows.bind(_reduced(binary("*", first, first)))
    high = _reduced(binary("*", square, shifted))
    return binary("+", binary("*", high, number(2**31)), second)


def _reduced(value: SQL) -> SQL:
    return binary("%", value, number(PRIME))


@dataclass(frozen=True, slots=True)
class _Ranks:
    """Where the rank of one kind is written."""

    tag: str
    key: bytes
    rows: Writing

    def summed(self, lane: int, limbs: list[tuple[str, SQL]]) -> SQL:
        """Write the sum of a lane, within 0 and P."""
        terms = [
            binary("*", limb, self._constant(multiplier(self.key, f"{self.tag} {lane} {label}")))
            for label, limb in limbs
        ]
        parts = [_reduced(join("+", terms[at : at + _TERMS])) for at in range(0, len(terms), _TERMS)]
        while len(parts) > 1:  # each is below 2**31 in size
            parts = [join("+", parts[at : at + 2**10]) for at in range(0, len(parts), 2**10)]
        return _reduced(binary("+", _reduced(parts[0]), number(PRIME)))

    def _constant(self, value: int) -> SQL:
        return self.rows.dialect.literal(value, Kind.INTEGER)

    def limbs(self, place: int, cell: Cell) -> list[SQL]:
        """Write the limbs of a cell; those that its bounds show to be 0 are left out."""
        found = list(self._integers(cell))
        hidden = self._constant(multiplier(self.key, f"{self.tag} null {place}"))
        first, *rest = found
        if not cell.facts.nullable:
            return found
        zero = self._constant(0)
        return [self.rows.bind(call("coalesce", first, hidden)), *(call("coalesce", each, zero) for each in rest)]

    def _integers(self, cell: Cell) -> Iterator[SQL]:
        """Write a cell as integers, and those as limbs."""
        dialect, x = self.rows.dialect, self.rows.bind(cell.sql)
        if cell.kind is Kind.BOOLEAN:
            one, zero = (self._constant(value) for value in (1, 0))
            yield case((binary("=", x, exp.Boolean(this=True)), one), (binary("<>", x, exp.Boolean(this=True)), zero))
        elif cell.kind is Kind.TEXT:
            yield from self._digits(dialect.text_number(x), 2)
        elif cell.kind is Kind.DATE:
            yield from self._digits(dialect.days(x, Kind.DATE), 1)
        elif cell.kind is Kind.TIMESTAMP:
            yield from self._digits(dialect.microseconds(x), 2)
        elif cell.kind is Kind.INTEGER:
            low, high = cell.facts.bounds.lower, cell.facts.bounds.upper
            small = low is not None and high is not None and low > -LIMB_BASE and high < LIMB_BASE
            yield from self._digits(x, 1 if small else 3)
        else:
            level = self.rows.bind(self._level(cell))
            scales = [(binary("=", level, self._constant(j)), dialect.float(2.0 ** (_SHIFT * j))) for j in _LEVELS]
            shifted = binary("*", x, case(*scales, default=dialect.float(1.0)))
            inside = self.rows.bind(case((binary("=", level, self._constant(0)), x), default=shifted))
            whole = self.rows.bind(dialect.nearest(inside))
            left = binary("-", inside, dialect.to(whole, Kind.FLOAT))
            yield from self._digits(whole, 2)
            yield from self._digits(dialect.nearest(binary("*", left, dialect.float(2.0**_SHIFT))), 2)
            yield level

    def _level(self, cell: Cell) -> SQL:
        """Write how often a float is multiplied; most rows pass by the first branches."""
        dialect, size = self.rows.dialect, self.rows.bind(call("abs", self.rows.bind(cell.sql)))
        ends = dialect.float(2.0**-6), dialect.float(2.0**_SHIFT)
        branches = [
            (between(size, *ends), self._constant(0)),
            (binary("=", size, dialect.float(0.0)), self._constant(0)),
        ]
        for j in _LEVELS:
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
        rest = self.rows.bind(value)
        for _ in range(count - 1):
            yield self.rows.bind(binary("%", rest, self._constant(LIMB_BASE)))
            rest = self.rows.bind(self.rows.dialect.quotient(rest, LIMB_BASE))
        yield rest
