"""The one door for data behind a database: a plan, a price and a ledger in, an answer with noise out."""

from __future__ import annotations

from discreet.releases.asking.question import Question
from discreet.releases.asking.questions import Questions
from discreet.releases.measures.measure import Cell
from discreet.releases.shell.answer import ShellAnswer
from discreet.releases.shell.question import ShellQuestion
from discreet.releases.showing.answer import Answer
from discreet.releases.showing.preview import Preview

__all__ = [
    "Answer",
    "Cell",
    "Preview",
    "Question",
    "Questions",
    "ShellAnswer",
    "ShellQuestion",
]
