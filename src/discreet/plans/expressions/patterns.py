r"""Regular expressions that mean one thing to every engine, with a bound on how long a match may take.

A pattern is one or several branches with `|` between them; a branch is a sequence of characters, each perhaps
repeated, and may be tied to the start (`^`) or the end (`$`) of the text. A character is itself, `.` for any, a class
such as `[a-z0-9]` or `[^,]`, or `\d`, `\w`, `\s`, all three of ASCII. There are no groups, so nothing is repeated
within what is repeated. Letters count by their case, `.` is any character, line ends too.

A matcher that goes back tries each place to start at, and at each every length of what is repeated: no more than the
product of both, times the length of the pattern. `steps` states this product; a question whose product is too large is
refused (`require_little_work`). At an end that is not tied, what is repeated need not be: `[0-9]+` is found where
`[0-9]` is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NoReturn

from discreet.plans.expressions.expression import Facts, Strict, require_kind
from discreet.plans.refusals import refuse
from discreet.tables.bounds import UNBOUNDED
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Schema
    from discreet.tables.kinds import Value

__all__ = ["Branch", "Matches", "Repeated", "branches_of"]

_LONGEST_PATTERN = 256
_MOST_TIMES = 100
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": " \t\n\r\f\v"}
_SPECIAL = frozenset("()[]{}*+?|^$.\\")
_COUNTS = re.compile(r"\{([0-9]{1,3})(?:(,)([0-9]{0,3}))?\}")
_WRITTEN = re.compile(r"[0-9A-Za-z \t\n\r\f\v]|[^\x00-\x7f]")
"""What no engine takes for anything but itself."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """One character of a pattern and how often it may stand there; `most=None` is without end.

    `chosen` lists single characters and ranges of them; None is any character.

    >>> Repeated((("a", "z"),), least=1, most=None).written
    '[a-z]+'
    """

    chosen: tuple[tuple[str, str], ...] | None
    negated: bool = False
    least: int = 1
    most: int | None = 1

    @property
    def written(self) -> str:
        """The character with its count, as all engines read it."""
        counts = {(1, 1): "", (0, 1): "?", (0, None): "*", (1, None): "+"}
        most = "" if self.most is None else self.most
        count = counts.get((self.least, self.most), f"{{{self.least},{most}}}")
        if self.chosen is None:
            return "." + count
        if len(self.chosen) == 1 and self.chosen[0][0] == self.chosen[0][1] and not self.negated:
            return _escaped(self.chosen[0][0]) + count
        listed = "".join(_escaped(a) if a == b else f"{_escaped(a)}-{_escaped(b)}" for a, b in self.chosen)
        return f"[{'^' if self.negated else ''}{listed}]{count}"

    def spans(self, length: int) -> int:
        """How many lengths it may have in a text."""
        most = length if self.most is None else min(self.most, length)
        return max(1, most - self.least + 1)


@dataclass(frozen=True, slots=True)
class Branch:
    """One of the alternatives: its characters, and whether it is tied to the start and to the end of the text.

    >>> Branch((Repeated((("a", "a"),)),), at_start=True).written(start="^", end="$")
    '^a'
    """

    characters: tuple[Repeated, ...]
    at_start: bool = False
    at_end: bool = False

    def written(self, *, start: str, end: str) -> str:
        """The branch, with an engine's words for the start and the end of a text."""
        inside = "".join(character.written for character in self.characters)
        return f"{start if self.at_start else ''}{inside}{end if self.at_end else ''}"

    def steps(self, length: int) -> int:
        """Places to start at, times the lengths of all that is repeated, times the length of the branch."""
        steps = (1 if self.at_start else length + 1) * sum(1 + character.least for character in self.characters)
        for character in self.characters:
            steps *= character.spans(length)
        return 1 + steps


@dataclass(frozen=True, slots=True)
class Matches(Strict):
    """x ~ pattern: whether a part of the text matches; a pattern that is tied to both ends matches all of it.

    >>> Matches((), "^a[0-9]+$").apply("a12"), Matches((), "cold|flu").apply("the flu")
    (True, True)
    """

    symbol: ClassVar[str] = "matches"

    pattern: str

    @property
    def branches(self) -> tuple[Branch, ...]:
        """What the pattern says; refused if it says what engines differ on."""
        return branches_of(self.pattern)

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A truth value, NULL where x is."""
        require_kind(given, {Kind.TEXT}, self.symbol)
        _ = self.branches
        return Facts(Kind.BOOLEAN, UNBOUNDED, nullable=given[0].nullable)

    def steps(self, schema: Schema) -> int:
        """Each branch is tried."""
        length = self.operands[0].facts(schema).length
        return sum(branch.steps(length) for branch in self.branches)

    def written(self, *, start: str, end: str) -> str:
        r"""Write the pattern as an engine reads it.

        >>> Matches((), r"^\d\.|x$").written(start=r"\A", end=r"\z")
        '(?:\\A[0-9]\\.)|(?:x\\z)'
        """
        return "|".join(f"(?:{branch.written(start=start, end=end)})" for branch in self.branches)

    def compute(self, *values: str) -> Value:
        """Look for a match."""
        return re.search(self.written(start=r"\A", end=r"\Z"), values[0], re.DOTALL) is not None


def _escaped(char: str) -> str:
    return char if _WRITTEN.fullmatch(char) else "\\" + char


@lru_cache(maxsize=256)
def branches_of(pattern: str) -> tuple[Branch, ...]:
    """Read a pattern.

    >>> [branch.at_start for branch in branches_of("^a|b")]
    [True, False]
    """
    if len(pattern) > _LONGEST_PATTERN:
        _refuse(pattern, f"it has more than {_LONGEST_PATTERN} characters")
    branches, place = [], 0
    while True:
        branch, place = _branch(pattern, place)
        branches.append(branch)
        if place == len(pattern):
            return tuple(branches)
        place += 1  # the bar


def _branch(pattern: str, place: int) -> tuple[Branch, int]:
    """Read up to the next bar or the end."""
    at_start = pattern[place : place + 1] == "^"
    place += at_start
    characters: list[Repeated] = []
    at_end = False
    while place < len(pattern) and pattern[place] != "|":
        if at_end:
            _refuse(pattern, "$ stands at the end of a branch")
        if pattern[place] == "$":
            at_end, place = True, place + 1
            continue
        character, place = _character(pattern, place)
        characters.append(character)
    return Branch(_bare(characters, at_start=at_start, at_end=at_end), at_start, at_end), place


def _bare(characters: list[Repeated], *, at_start: bool, at_end: bool) -> tuple[Repeated, ...]:
    """Leave out what need not be looked at: at an end that is not tied, the fewest repetitions are enough."""
    kept = list(characters)
    for tied, place in ((at_start, 0), (at_end, -1)):
        while kept and not tied and kept[place].most != kept[place].least:
            least = kept[place].least
            if least:
                kept[place] = Repeated(kept[place].chosen, kept[place].negated, least, least)
            else:
                del kept[place]
    return tuple(kept)


def _character(pattern: str, place: int) -> tuple[Repeated, int]:
    """Read one character, or a class, and how often it stands there."""
    char = pattern[place]
    chosen: tuple[tuple[str, str], ...] | None
    negated = False
    if char == ".":
        chosen, place = None, place + 1
    elif char == "\\":
        chosen, place = _escape(pattern, place)
    elif char == "[":
        chosen, negated, place = _class(pattern, place + 1)
    elif char in _SPECIAL:
        _refuse(pattern, f"{char} has a meaning that is not read here")
    elif not (char.isprintable() or char in " \t\n\r"):
        _refuse(pattern, "it holds a character that is not printed")
    else:
        chosen, place = ((char, char),), place + 1
    least, most, place = _times(pattern, place)
    return Repeated(chosen, negated, least, most), place


def _escape(pattern: str, place: int) -> tuple[tuple[tuple[str, str], ...], int]:
    r"""Read a backslash and what follows: a class, a line end or tab, or a sign that stands for itself."""
    char = pattern[place + 1 : place + 2]
    if char in _CLASSES:
        return _ranges(_CLASSES[char]), place + 2
    plain = {"n": "\n", "t": "\t", "r": "\r"}.get(char, char)
    if not char or (char.isalnum() and char == plain):
        _refuse(pattern, f"\\{char} is not read here")
    return ((plain, plain),), place + 2


def _ranges(text: str) -> tuple[tuple[str, str], ...]:
    """Read single characters and ranges."""
    found, place = [], 0
    while place < len(text):
        wide = text[place + 1 : place + 2] == "-" and place + 2 < len(text)
        found.append((text[place], text[place + 2] if wide else text[place]))
        place += 3 if wide else 1
    return tuple(found)


def _class(pattern: str, place: int) -> tuple[tuple[tuple[str, str], ...], bool, int]:
    """Read what stands in brackets."""
    negated = pattern[place : place + 1] == "^"
    place += negated
    chosen: list[tuple[str, str]] = []
    while pattern[place : place + 1] != "]":
        if place >= len(pattern) or pattern[place] == "[":
            _refuse(pattern, "a class in brackets has no end, or another one within")
        if pattern[place] == "\\":
            several, place = _escape(pattern, place)
            if len(several) != 1 or several[0][0] != several[0][1]:
                chosen += several
                continue
            low = several[0][0]
        else:
            low, place = pattern[place], place + 1
        high = low
        if pattern[place : place + 1] == "-" and pattern[place + 1 : place + 2] not in ("]", ""):
            high, place = pattern[place + 1], place + 2
            if high in "\\[" or high < low:
                _refuse(pattern, f"the range {low}-{high} is not read here")
        chosen.append((low, high))
    if not chosen:
        _refuse(pattern, "a class in brackets is empty")
    return tuple(chosen), negated, place + 1


def _times(pattern: str, place: int) -> tuple[int, int | None, int]:
    """Read how often a character stands there."""
    char = pattern[place : place + 1]
    least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(char, (1, 1))
    if char and char in "*+?":
        place += 1
    counts = _COUNTS.match(pattern, place) if char == "{" else None
    if counts is not None:
        least = int(counts[1])
        most = least if counts[2] is None else int(counts[3]) if counts[3] else None
        if not (least <= _MOST_TIMES and (most is None or least <= most <= _MOST_TIMES)) or most == 0:
            _refuse(pattern, f"a character stands there at least once, and counts are at most {_MOST_TIMES}")
        place = counts.end()
    if (char in ("*", "+", "?") or counts) and pattern[place : place + 1] in ("*", "+", "?", "{"):
        _refuse(pattern, "a count is not counted again, nor lazy or possessive")
    return least, most, place


def _refuse(pattern: str, why: str) -> NoReturn:
    refuse(
        f"the pattern '{pattern[:80]}'",
        why=f"Of regular expressions those are read that mean the same to every engine: {why}.",
        instead="characters, ., [a-z], \\d, \\w, \\s, each with *, +, ? or {2,5}; ^ and $ at the ends; | between "
        "alternatives: '^[A-Z][0-9]{2}|cold'; or x LIKE '%part%'.",
    )
