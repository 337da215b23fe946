"""Regular expressions: what is read means the same as Python's, and a match takes no more steps than is claimed."""

from __future__ import annotations

import random
import re

import pytest

from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from discreet.plans.expressions import Column, Matches, Replace
from discreet.plans.expressions.expression import Facts
from discreet.plans.expressions.patterns import Branch, branches_of
from discreet.tables import Column as Declared
from discreet.tables import Kind, Policy, Table

ATOMS = ("a", "b", ".", "[ab]", "[^a]", r"\d", r"\.", "[a-c1]")
COUNTS = ("", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}")
LETTERS = "abc1. \n"


def pattern(chance: random.Random) -> str:
    branches = []
    for _ in range(chance.choice((1, 1, 2))):
        inside = "".join(chance.choice(ATOMS) + chance.choice(COUNTS) for _ in range(chance.randrange(5)))
        branches.append(chance.choice(("", "", "^")) + inside + chance.choice(("", "", "$")))
    return "|".join(branches)


def test_a_pattern_means_what_pythons_own_does() -> None:
    chance = random.Random(5)
    for _ in range(3000):
        wanted = pattern(chance)
        text = "".join(chance.choice(LETTERS) for _ in range(chance.randrange(9)))
        plain = wanted.replace("$", r"\Z")
        assert Matches((), wanted).apply(text) is (re.search(plain, text, re.DOTALL) is not None), (wanted, text)


class Steps:
    """A matcher that goes back, at its slowest: it counts each character that it looks at."""

    def __init__(self, branch: Branch, text: str) -> None:
        self.branch, self.text, self.count = branch, text, 0
        starts = range(1) if branch.at_start else range(len(text) + 1)
        self.found = any(self.match(0, start) for start in starts)

    def match(self, place: int, at: int) -> bool:
        if place == len(self.branch.characters):
            return not self.branch.at_end or at == len(self.text)
        character = self.branch.characters[place]
        most = len(self.text) if character.most is None else character.most
        reach = 0
        while reach < most and at + reach < len(self.text):
            self.count += 1
            if (
                re.fullmatch(
                    character.written.rstrip("*+?")
                    if "{" not in character.written
                    else character.written.partition("{")[0],
                    self.text[at + reach],
                    re.DOTALL,
                )
                is None
            ):
                break
            reach += 1
        return any(self.match(place + 1, at + length) for length in range(reach, character.least - 1, -1))


def slowest(branch: Branch, length: int) -> int:
    return max(Steps(branch, letter * length).count for letter in "ab1.")


def test_no_match_takes_more_steps_than_are_claimed() -> None:
    chance = random.Random(7)
    for _ in range(150):
        for branch in branches_of(pattern(chance)):
            assert slowest(branch, 9) <= branch.steps(9), branch


@pytest.mark.parametrize("wanted", ["aa*a*c", "^a*a*a*b$", "a[ab]*a*c"])
def test_claims_without_starts_or_lengths_would_be_too_small(wanted: str) -> None:
    (branch,) = branches_of(wanted)
    assert slowest(branch, 24) > sum(1 + character.least for character in branch.characters) * 25


def test_a_pattern_that_may_take_too_long_is_refused_from_public_facts() -> None:
    def asked(length: int, wanted: str) -> object:
        table = Table("t", unit="id", rows_per_unit=20, columns=[Declared("x", type="text", max_length=length)])
        return plan_sql(Policy([table], epsilon=1), f"SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(x, '{wanted}')")

    assert asked(200, "a[0-9]+b")
    assert asked(4096, "^a[0-9]+b$")
    with pytest.raises(QueryRefused, match="the time"):
        asked(4096, "a[0-9]+b")
    with pytest.raises(QueryRefused, match="the time"):
        asked(300, "a[0-9]+b[a-z]+c")


@pytest.mark.parametrize(
    "wanted", ["(a)", "a**", "a{0}", "[", "[]", "a{1,200}", r"\b", "a$b", "[z-a]", r"\1", "x" * 300]
)
def test_what_engines_differ_on_is_refused(wanted: str) -> None:
    with pytest.raises(QueryRefused, match="Of regular expressions"):
        branches_of(wanted)


def test_a_text_with_other_constants_is_as_long_as_claimed() -> None:
    for sought, by in (("a", "bbb"), ("ab", "c"), ("ab", "abc"), ("aaa", "")):
        text = (sought * 9)[:9]
        facts = Replace((Column("x"),), sought, by).facts({"x": Facts(Kind.TEXT, length=9)})
        assert len(str(Replace((), sought, by).apply(text))) <= facts.length <= max(9, 9 * len(by))
    with pytest.raises(QueryRefused, match="no text here has more"):
        Replace((Column("x"),), "a", "bb").facts({"x": Facts(Kind.TEXT)})
