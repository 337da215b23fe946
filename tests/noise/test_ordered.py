"""Order statistics of uniform integers: their joint law is that of all integers, drawn and sorted."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.noise import bits
from discreet.noise.bits import ordered_integers
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from discreet.noise import BitSource

COUNT, WIDTH, DRAWS = 3, 2, 12_800
LIMIT = 110.0  # chi-square with at most 19 degrees of freedom exceeds it with a probability below 1e-9


def distance(ranks: tuple[int, ...], seed: int) -> float:
    """Chi-square of the drawn integers of some ranks against the law of sorted triples."""
    law: Counter[tuple[int, ...]] = Counter()
    for triple in itertools.product(range(2**WIDTH), repeat=COUNT):
        law[tuple(sorted(triple)[rank - 1] for rank in ranks)] += 1
    bits, found = ReplayBits(seed), Counter[tuple[int, ...]]()
    for _ in range(DRAWS):
        found[tuple(ordered_integers(COUNT, WIDTH, np.array(ranks), bits).tolist())] += 1
    assert set(found) <= set(law)
    means = {value: DRAWS * count / 4**COUNT for value, count in law.items()}
    return float(sum((found[value] - mean) ** 2 / mean for value, mean in means.items()))


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 1, 2])
@pytest.mark.parametrize("ranks", [(1, 2, 3), (2,), (1, 3)])
def test_ranks_follow_the_law_of_all(
    few: int, ranks: tuple[int, ...], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bits, "_FEW", few)
    assert distance(ranks, seed) < LIMIT


def test_the_check_sees_coins_that_are_not_fair(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(count: int, bits: BitSource) -> int:
        return sum(bits.integer(4) < 9 for _ in range(count))

    monkeypatch.setattr(bits, "_FEW", 0)
    monkeypatch.setattr(bits, "_zeros", loaded)
    assert distance((1, 2, 3), seed) > LIMIT


def test_many_are_counted_and_not_kept(seed: int) -> None:
    count, ranks = 3_000_001, np.array([1, 1_500_001, 3_000_001])
    found = ordered_integers(count, 20, ranks, ReplayBits(seed))
    spread = 2**20 / np.sqrt(count)
    assert found[0] < 20
    assert abs(found[1] - 2**19) < 7 * spread  # its deviation is spread / 2: beyond with a probability below 1e-9
    assert found[2] > 2**20 - 20
    assert ordered_integers(5000, 0, np.array([1, 5000]), ReplayBits(seed)).tolist() == [0, 0]
