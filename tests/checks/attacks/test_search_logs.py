"""Who searches for the own name and town is found, and who does not is left alone."""

from __future__ import annotations

from collections import Counter

import pytest

from discreet.checks.attacks import SearchLogs, generate_search_logs, identify_searchers
from discreet.errors import ParameterError
from tests.noise.replay import ReplayBits


def test_vain_searchers_are_found() -> None:
    logs = generate_search_logs(300, own="1/4", bits=ReplayBits(0))
    assert identify_searchers(logs).outcome.share > 0.5


def test_searches_for_anything_tell_nothing() -> None:
    """Each of 300 is matched rightly with chance 1/300 at most; more than 15 right have a chance below 1e-12."""
    logs = generate_search_logs(300, own=0, bits=ReplayBits(0))
    assert identify_searchers(logs, eccentricity=0).outcome.right <= 15


def test_generated_logs_search_as_stated() -> None:
    """Of 40,000 words a tenth is the own name or town, and 1 in 500 others is by chance; 6.1 s is 1e-9."""
    logs = generate_search_logs(1000, own="1/10", bits=ReplayBits(1))
    own = sum(word in entry for entry, words in zip(logs.directory, logs.searches, strict=True) for word in words)
    chance = 0.1 + 0.9 * 2 / 500
    assert abs(own - 40_000 * chance) < 6.1 * (40_000 * chance * (1 - chance)) ** 0.5
    assert len(Counter(name for name, _ in logs.directory)) > 150


def test_mistakes_are_named() -> None:
    with pytest.raises(ParameterError, match="own is 2"):
        generate_search_logs(3, own=2)
    with pytest.raises(ParameterError, match="at least two"):
        identify_searchers(SearchLogs((("a",),), (("a",),)))
