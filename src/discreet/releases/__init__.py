"""The one door for data behind a database: a plan, a price and a purse in, an answer with noise out.

>>> from discreet.privacy import Pure
>>> from discreet.releases import Entry, MemoryPurse
>>> from discreet.tables import Policy
>>> purse = MemoryPurse(Policy([], epsilon=1))
>>> _ = purse.reserve(Pure("0.25"), Entry("a question", ("visits",)))
>>> purse.spent
Pure(epsilon=0.25)
"""

from __future__ import annotations

from discreet.releases.answer import Answer
from discreet.releases.decoding import Cell
from discreet.releases.preview import Preview
from discreet.releases.purse import Entry, MemoryPurse, Purse, Released, Repeat, Reservation
from discreet.releases.question import Question
from discreet.releases.questions import Questions

__all__ = [
    "Answer",
    "Cell",
    "Entry",
    "MemoryPurse",
    "Preview",
    "Purse",
    "Question",
    "Questions",
    "Released",
    "Repeat",
    "Reservation",
]
