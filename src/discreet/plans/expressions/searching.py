"""Looking for a constant in a text: where it stands, what stands between two of it, another text in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.expressions.expression import Facts, Strict, require_kind
from discreet.plans.refusals import refuse
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import LONGEST_TEXT, Kind

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Schema
    from discreet.tables.kinds import Value

__all__ = ["Position", "Replace", "SplitPart"]

_LONGEST_SOUGHT = 256
"""Each place of a text is compared with so many characters at most."""
_MOST_PARTS = 1000


class _Searching(Strict):
    """An operation that looks for a constant; engines differ on where nothing at all is found."""

    __slots__ = ()

    sought: str

    def require_sought(self, given: tuple[Facts, ...], spelled: str) -> None:
        """Refuse a constant that is empty or too long, and what is no text."""
        require_kind(given, {Kind.TEXT}, self.symbol)
        if not 1 <= len(self.sought) <= _LONGEST_SOUGHT:
            refuse(
                spelled,
                why=f"What is looked for has {len(self.sought)} characters; it has 1 to {_LONGEST_SOUGHT}.",
                instead="a constant of one character or more.",
            )

    def steps(self, schema: Schema) -> int:
        """Each character of the text may be compared with each of the constant; the result is written once."""
        return 1 + self.operands[0].facts(schema).length * len(self.sought) + self.facts(schema).size


@dataclass(frozen=True, slots=True)
class Position(_Searching):
    """POSITION(sought IN x): the place of the first character of the first occurrence, from 1; 0 if there is none.

    >>> Position((), "b").apply("abcb"), Position((), "z").apply("abc")
    (2, 0)
    """

    symbol: ClassVar[str] = "position"

    sought: str

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """At most the place at which the constant still fits in."""
        self.require_sought(given, f"POSITION('{self.sought}' IN x)")
        last = max(0, given[0].length - len(self.sought) + 1)
        return Facts(Kind.INTEGER, Bounds(0, last), nullable=given[0].nullable)

    def compute(self, *values: str) -> Value:
        """Code points count."""
        return values[0].find(self.sought) + 1


@dataclass(frozen=True, slots=True)
class Replace(_Searching):
    """REPLACE(x, sought, by): every occurrence, from left to right, none within another.

    >>> Replace((), "aa", "b").apply("aaa-a")
    'ba-a'
    """

    symbol: ClassVar[str] = "replace"

    sought: str
    by: str

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """As long as the text, or longer by what each occurrence gains; refused where that is longer than any text is.

        Were it computed all the same, one row could be made so large that its memory, or its time, told of it.
        """
        self.require_sought(given, f"REPLACE(x, '{self.sought}', '{self.by}')")
        length = given[0].length
        length += length // len(self.sought) * max(0, len(self.by) - len(self.sought))
        if length > LONGEST_TEXT:
            refuse(
                f"REPLACE(x, '{self.sought}', '{self.by}')",
                why=f"The text may have {length} characters, and no text here has more than {LONGEST_TEXT}.",
                instead=f"REPLACE(SUBSTRING(x, 1, 100), '{self.sought}', '{self.by}'), or a smaller max_length in the "
                "policy.",
            )
        return Facts(Kind.TEXT, UNBOUNDED, nullable=given[0].nullable, length=length)

    def compute(self, *values: str) -> Value:
        """The text with the other constant in all places."""
        return values[0].replace(self.sought, self.by)


@dataclass(frozen=True, slots=True)
class SplitPart(_Searching):
    """SPLIT_PART(x, sought, place): what stands between two occurrences; empty behind the last.

    >>> SplitPart((), ",", 2).apply("a,b,c"), SplitPart((), ",", 9).apply("a,b,c")
    ('b', '')
    """

    symbol: ClassVar[str] = "split_part"

    sought: str
    place: int

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A part of the text."""
        self.require_sought(given, f"SPLIT_PART(x, '{self.sought}', {self.place})")
        if not 1 <= self.place <= _MOST_PARTS:
            refuse(
                f"SPLIT_PART(x, '{self.sought}', {self.place})",
                why=f"Parts are counted from the start; the number is from 1 to {_MOST_PARTS}.",
                instead=f"SPLIT_PART(x, '{self.sought}', 1)",
            )
        facts = Facts(Kind.TEXT, UNBOUNDED, nullable=given[0].nullable)
        return replace(facts, length=given[0].length)

    def compute(self, *values: str) -> Value:
        """The part of that number."""
        parts = values[0].split(self.sought)
        return parts[self.place - 1] if self.place <= len(parts) else ""
