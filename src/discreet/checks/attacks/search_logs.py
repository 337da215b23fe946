"""Search logs: pseudonyms hide nobody who searches for the own name and town."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.attacks.linkage import ECCENTRICITY, Linkage, claim
from discreet.errors import ParameterError
from discreet.exact import integer, rational
from discreet.noise import SYSTEM, BitSource, uniform_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.exact import Number

__all__ = ["SearchLogs", "generate_search_logs", "identify_searchers"]

FINE = 1 << 30


@dataclass(frozen=True)
class SearchLogs:
    """What each pseudonym searched for, word by word, and a directory of people; pseudonym i is person i.

    >>> logs = SearchLogs(directory=(("arnold", "lilburn"),), searches=(("arnold", "lilburn", "numb", "fingers"),))
    >>> logs.directory[0]
    ('arnold', 'lilburn')
    """

    directory: tuple[tuple[str, ...], ...]
    searches: tuple[tuple[str, ...], ...]


def generate_search_logs(  # noqa: PLR0913 - each is a thing of its own
    people: int,
    *,
    names: int = 200,
    towns: int = 50,
    searches: int = 40,
    own: Number = "1/20",
    bits: BitSource = SYSTEM,
) -> SearchLogs:
    """Make up people with a name and a town, and what they search for: with chance `own` one of the two, else any word.

    The other words are all names and towns, and as many that are neither.

    >>> logs = generate_search_logs(3, names=5, towns=2, searches=4)
    >>> len(logs.directory), len(logs.searches[0])
    (3, 4)
    """
    count, many = integer(people, name="people", least=2), integer(searches, name="searches", least=1)
    kinds = integer(names, name="names", least=1), integer(towns, name="towns", least=1)
    chance = rational(own, name="own")
    if not 0 <= chance <= 1:
        msg = f"own is {own}; it must be a chance from 0 to 1."
        raise ParameterError(msg)
    words = [[f"{kind} {place}" for place in range(size)] for kind, size in zip(("name", "town"), kinds, strict=True)]
    every = [*words[0], *words[1], *(f"word {place}" for place in range(sum(kinds)))]
    drawn = [uniform_integer(size, size=count, bits=bits) for size in kinds]
    directory = tuple((words[0][name], words[1][town]) for name, town in zip(*drawn, strict=True))
    vain = uniform_integer(FINE, size=(count, many), bits=bits) < int(chance * FINE)
    which = uniform_integer(2, size=(count, many), bits=bits)
    others = uniform_integer(len(every), size=(count, many), bits=bits)
    return SearchLogs(
        directory,
        tuple(
            tuple(
                directory[person][which[person, i]] if vain[person, i] else every[others[person, i]]
                for i in range(many)
            )
            for person in range(count)
        ),
    )


def identify_searchers(logs: SearchLogs, *, eccentricity: float = ECCENTRICITY) -> Linkage:
    """Match pseudonyms to the people of a directory: who is named by the words that a pseudonym searched for?

    In 2006 AOL published the searches of 650,000 people under numbers; number 4417749 searched for her family's name,
    for homes sold in her town and for landscapers there, and two reporters found Thelma Arnold in the telephone book
    (Barbaro & Zeller 2006, "A face is exposed for AOL searcher no. 4417749", New York Times, August 9).

    An entry scores, for each of its words that was searched for, the number of searches for it by 1 / ln(how many
    entries have it); a match is claimed where one entry stands out, as in `link`.

    >>> logs = SearchLogs(
    ...     directory=(("arnold", "lilburn"), ("smith", "lilburn"), ("smith", "atlanta"), ("jones", "atlanta")),
    ...     searches=(("arnold", "lilburn"), ("weather",), ("tea",), ("atlanta", "coffee")),
    ... )
    >>> identify_searchers(logs, eccentricity=1.0).matches.tolist()
    [0, -1, -1, -1]
    """
    if len(logs.directory) < 2 or len(logs.directory) != len(logs.searches):
        msg = "logs must hold the searches of each person of the directory, at least two of them."
        raise ParameterError(msg)
    entries: dict[str, list[int]] = {}
    for person, words in enumerate(logs.directory):
        for word in set(words):
            entries.setdefault(word, []).append(person)
    matches = [_match(log, entries, len(logs.directory), eccentricity) for log in logs.searches]
    truth = np.arange(len(logs.searches))
    return Linkage(np.array([match for match, _ in matches]), np.array([gap for _, gap in matches]), truth, len(truth))


def _match(log: Sequence[str], entries: dict[str, list[int]], people: int, eccentricity: float) -> tuple[int, float]:
    scores = np.zeros(people)
    for word, times in Counter(log).items():
        if word in entries:
            scores[entries[word]] += times / np.log(max(len(entries[word]), 2))
    return claim(scores, eccentricity)
