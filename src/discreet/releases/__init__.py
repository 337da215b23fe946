"""The one door for data behind a database: a plan, a price and a ledger in, an answer with noise out."""

from __future__ import annotations

from discreet.releases.answer import Answer
from discreet.releases.decoding import Cell
from discreet.releases.preview import Preview
from discreet.releases.question import Question
from discreet.releases.questions import Questions

__all__ = [
    "Answer",
    "Cell",
    "Preview",
    "Question",
    "Questions",
]
