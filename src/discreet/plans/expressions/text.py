"""Functions of texts. Positions and lengths count code points; letters are changed in the ASCII range only."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.expressions.expression import Facts, Strict, require_kind
from discreet.plans.refusals import refuse
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import LONGEST_TEXT, Kind

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Schema
    from discreet.tables.kinds import Value

__all__ = ["Concat", "Length", "Like", "Lower", "Substring", "Trim", "Upper", "piece_pattern"]

_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_LONGEST_PATTERN = 256
"""A match takes at most so many steps for each character of a text."""


class _TextToText(Strict):
    """Texts in, a text out."""

    __slots__ = ()

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A text, as long as the operand at most; its known values are the images of the operand's."""
        require_kind(given, {Kind.TEXT}, self.symbol)
        return Facts(Kind.TEXT, UNBOUNDED, nullable=self.may_be_null(given), length=given[0].length)


class Lower(_TextToText):
    """A to Z become a to z; every other character stays, so that all engines agree.

    >>> Lower(()).apply("ABC Ä")
    'abc Ä'
    """

    __slots__ = ()
    symbol: ClassVar[str] = "lower"

    def compute(self, *values: str) -> Value:
        """Small letters."""
        return values[0].translate(_LOWER)


class Upper(_TextToText):
    """a to z become A to Z; every other character stays.

    >>> Upper(()).apply("abc ä")
    'ABC ä'
    """

    __slots__ = ()
    symbol: ClassVar[str] = "upper"

    def compute(self, *values: str) -> Value:
        """Capital letters."""
        return values[0].translate(_UPPER)


class Trim(_TextToText):
    """Spaces (U+0020) are taken off both ends.

    >>> Trim(()).apply("  a ")
    'a'
    """

    __slots__ = ()
    symbol: ClassVar[str] = "trim"

    def compute(self, *values: str) -> Value:
        """Without outer spaces."""
        return values[0].strip(" ")


class Concat(_TextToText):
    """x || y; NULL if either is.

    >>> Concat(()).apply("a", "b")
    'ab'
    """

    __slots__ = ()
    symbol: ClassVar[str] = "||"

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A text as long as both together; refused where that may be longer than any text is.

        Were it computed all the same, one row could be made so large that its memory, or its time, told of it.
        """
        length = sum(facts.length for facts in given)
        if all(facts.kind is Kind.TEXT for facts in given) and length > LONGEST_TEXT:
            refuse(
                self.symbol,
                why=f"The text may have {length} characters, and no text here has more than {LONGEST_TEXT}.",
                instead="SUBSTRING(x, 1, 100) || SUBSTRING(y, 1, 100), or a smaller max_length in the policy.",
            )
        return replace(_TextToText.derive(self, given), length=length)

    def compute(self, *values: str) -> Value:
        """One after the other."""
        return values[0] + values[1]


@dataclass(frozen=True, slots=True)
class Substring(_TextToText):
    """SUBSTRING(x, start, length) with constants, start from 1; what lies beyond the end is empty.

    >>> Substring((), 2, 3).apply("abcdef")
    'bcd'
    """

    symbol: ClassVar[str] = "substring"

    start: int
    length: int

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A text of at most `length` characters."""
        if not (1 <= self.start <= LONGEST_TEXT and 0 <= self.length <= LONGEST_TEXT):
            refuse(
                f"SUBSTRING(x, {self.start}, {self.length})",
                why=f"Engines differ on other positions; start is from 1 and length from 0 to {LONGEST_TEXT}.",
                instead="SUBSTRING(x, 1, 3)",
            )
        derived = _TextToText.derive(self, given)
        return replace(derived, length=min(self.length, max(0, derived.length - self.start + 1)))

    def compute(self, *values: str) -> Value:
        """The characters from `start` on."""
        return values[0][self.start - 1 : self.start - 1 + self.length]


class Length(Strict):
    """The number of code points.

    >>> Length(()).apply("Ärzte")
    5
    """

    __slots__ = ()
    symbol: ClassVar[str] = "length"

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """From 0 to the length that is known."""
        require_kind(given, {Kind.TEXT}, self.symbol)
        return Facts(Kind.INTEGER, Bounds(0, given[0].length), nullable=given[0].nullable)

    def compute(self, *values: str) -> Value:
        """The length."""
        return len(values[0])


@dataclass(frozen=True, slots=True)
class Like(Strict):
    r"""x LIKE pattern: % is any text, _ any one character, everything else itself; capital letters matter.

    >>> Like((), "card%").apply("cardiology"), Like((), "_b").apply("ab\n")
    (True, False)
    """

    symbol: ClassVar[str] = "like"

    pattern: str

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A truth value, NULL where x is."""
        require_kind(given, {Kind.TEXT}, self.symbol)
        if "\\" in self.pattern or len(self.pattern) > _LONGEST_PATTERN:
            refuse(
                "LIKE",
                why="A backslash means different things to different engines, and a pattern has at most "
                f"{_LONGEST_PATTERN} characters.",
                instead="_ for a single character of any kind.",
            )
        return Facts(Kind.BOOLEAN, UNBOUNDED, nullable=given[0].nullable)

    def steps(self, schema: Schema) -> int:
        """Each character of the text may be compared with each of the pattern, never more often."""
        return 1 + self.operands[0].facts(schema).length * len(self.pattern)

    @property
    def pieces(self) -> tuple[str, ...]:
        """What stands between the %: the start of the text, what follows one after the other, and its end.

        A single piece is the whole text. Of several % in a row one is as good.

        >>> Like((), "a%%b%").pieces, Like((), "a_").pieces
        (('a', 'b', ''), ('a_',))
        """
        head, *rest = self.pattern.split("%")
        return (head, *filter(None, rest[:-1]), rest[-1]) if rest else (head,)

    @property
    def simple(self) -> bool:
        """Whether at most one piece has to be searched for: then no matcher tries more than once at a place.

        >>> Like((), "a%b").simple, Like((), "%a%").simple, Like((), "a%b%").simple
        (True, True, False)
        """
        return len(self.pieces) <= 2 or (len(self.pieces) == 3 and not self.pieces[0] and not self.pieces[2])

    def compute(self, *values: str) -> Value:
        """Match piece by piece: the first occurrence of each piece is the best one, so time stays linear."""
        head, *rest = self.pieces
        text = values[0]
        if not rest:
            return _matches(head, text)
        *middle, tail = rest
        if not (len(head) + len(tail) <= len(text) and _matches(head, text[: len(head)])):
            return False
        if not _matches(tail, text[len(text) - len(tail) :]):
            return False
        inside = text[len(head) : len(text) - len(tail)]
        for piece in middle:
            there = re.search(piece_pattern(piece), inside, re.DOTALL)
            if there is None:
                return False
            inside = inside[there.end() :]
        return True


def piece_pattern(piece: str) -> str:
    r"""Write a piece of a LIKE pattern as a regular expression, in which a point is any character, line ends too.

    >>> piece_pattern("a_(")
    'a.\\('
    """
    return "".join("." if char == "_" else re.escape(char) for char in piece)


def _matches(piece: str, text: str) -> bool:
    return len(piece) == len(text) and all(p in ("_", c) for p, c in zip(piece, text, strict=True))
