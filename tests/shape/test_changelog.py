"""The changelog: four kinds are explained, and the entries of a version stand in the order of their kinds."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

KINDS = ["promise", "fix", "feature", "removal"]
TEXT = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")


def kinds_by_section(text: str) -> list[list[str]]:
    """List the kinds of the entries under each heading, what stands above the first version included."""
    return [re.findall(r"^- \*\*(\w+)\*\*:", section, re.MULTILINE) for section in text.split("\n## ")]


def in_order(text: str) -> bool:
    """Tell whether the kinds are explained once each, and entries of one kind stand together."""
    legend, *versions = kinds_by_section(text)
    grouped = [[kind for kind, _ in itertools.groupby(kinds)] for kinds in versions]
    return legend == KINDS and all(kinds == [kind for kind in KINDS if kind in kinds] for kinds in grouped)


def test_entries_stand_where_their_kind_does() -> None:
    assert in_order(TEXT)
    assert sum(map(len, kinds_by_section(TEXT)[1:])) > 0


@pytest.mark.parametrize(
    "broken",
    [
        TEXT.replace("- **fix**: something did", "- **fix**: an entry\n- **fix**: something did"),
        TEXT.replace("## Unreleased\n\n", "## Unreleased\n\n- **feature**: too early\n"),
        TEXT + "- **promise**: too late\n",
    ],
)
def test_the_check_sees_entries_out_of_place(broken: str) -> None:
    assert not in_order(broken)
