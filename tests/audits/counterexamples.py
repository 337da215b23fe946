"""Algorithms that were believed, or might be believed, to be private, each on the pair of neighbors that betrays it.

The sparse vector variants are numbered as by Lyu, Su & Li 2017 (arXiv:1603.01699), Figure 1: 1 and 2 keep their
promise, 3 to 6 were published and do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import noise
from discreet import privacy as p

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.checks.audits.black_box import Sampler
    from discreet.noise import BitSource
    from discreet.privacy import Curve

FINE = "1/1024"


@dataclass(frozen=True)
class CounterExample:
    """An algorithm on two neighbors, the claim that somebody makes for it, and how many releases show the truth."""

    name: str
    first: Sampler
    second: Sampler
    claim: Curve
    draws: int = 20_000


def laplace(scale: float, shape: int | tuple[int, ...], bits: BitSource) -> NDArray[np.float64]:
    return noise.laplace(scale, FINE, shape, bits)


def deterministic(votes: Sequence[int]) -> Sampler:
    """The exact sum."""
    return lambda count, _: np.full(count, sum(votes))


def sampled(bob: int, rate: str = "1/4") -> Sampler:
    """The number of Bobs in a random quarter of the table, without noise: seen once, Bob is in the table."""
    return lambda count, bits: bob * noise.bernoulli(rate, count, bits).astype(np.int64)


def majority(bob: int) -> Sampler:
    """The majority of 2, 3 and Bob's vote, decided by a coin at a tie: the others tie, so Bob wins surely."""
    others = [0, 0, 1, 1]

    def vote(count: int, bits: BitSource) -> NDArray[np.int64]:
        lead = 2 * (sum(others) + bob) - len(others) - 1
        coins = noise.bernoulli("1/2", count, bits).astype(np.int64)
        return np.where(lead == 0, coins, np.full(count, int(lead > 0)))

    return vote


@dataclass(frozen=True)
class Variant:
    """One variant of the sparse vector technique for queries of sensitivity 1 and threshold 0.

    `threshold` and `query` give the noise scales for (epsilon, cutoff); `refresh` the scale of a new threshold noise
    after an answer above, None to keep the old one; `halts` whether it stops after `cutoff` answers above.
    """

    number: int
    threshold: Callable[[float, int], float]
    query: Callable[[float, int], float]
    refresh: Callable[[float, int], float] | None = None
    halts: bool = True
    numeric: bool = False

    def sampler(self, queries: Sequence[int], epsilon: float, cutoff: int) -> Sampler:
        def run(count: int, bits: BitSource) -> NDArray[Any]:
            bar = laplace(self.threshold(epsilon, cutoff), count, bits)
            spread = self.query(epsilon, cutoff)
            seen, text = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
            last = np.full(count, np.nan)
            for query in queries:
                noisy = query + (laplace(spread, count, bits) if spread else np.zeros(count))
                running = (seen < cutoff) | (not self.halts)
                above = running & (noisy >= bar)
                text = 3 * text + np.where(running, above.astype(np.int64), 2)
                last = np.where(above, noisy, np.nan)
                seen += above
                if self.refresh is not None:
                    bar = np.where(above, laplace(self.refresh(epsilon, cutoff), count, bits), bar)
            below_before = text == 1  # below at every query but the last
            return np.where(below_before, last, np.nan) if self.numeric else text

        return run


# A query noise of 0 in variant 5 is no slip: that is the variant.
VARIANTS = {
    1: Variant(1, lambda e, _: 2 / e, lambda e, c: 4 * c / e),
    2: Variant(2, lambda e, c: 2 * c / e, lambda e, c: 4 * c / e, refresh=lambda e, c: 2 * c / e),
    3: Variant(3, lambda e, _: 2 / e, lambda e, c: 2 * c / e, numeric=True),
    4: Variant(4, lambda e, _: 4 / e, lambda e, _: 4 / (3 * e)),
    5: Variant(5, lambda e, _: 2 / e, lambda _e, _c: 0.0, halts=False),
    6: Variant(6, lambda e, _: 2 / e, lambda e, _: 2 / e, halts=False),
}

# Queries on one database and on its neighbor, the cutoff: those of the paper's proofs, as short as they still show.
SPARSE_PAIRS: dict[int, tuple[list[int], list[int], int]] = {
    3: ([0] * 5 + [1], [1] * 5 + [0], 1),
    4: ([0] * 3 + [1] * 3, [1] * 3 + [0] * 3, 3),
    5: ([0, 1], [1, 0], 1),
    6: ([0] * 4, [1] * 2 + [-1] * 2, 2),
}
SPARSE_DRAWS = 150_000


def sparse(variant: int, pair: int, epsilon: float = 1.0) -> CounterExample:
    """Put a variant on the pair of neighbors that refutes variant `pair`."""
    first, second, cutoff = SPARSE_PAIRS[pair]
    algorithm = VARIANTS[variant]
    return CounterExample(
        f"sparse vector variant {variant} on the pair of {pair}",
        algorithm.sampler(first, epsilon, cutoff),
        algorithm.sampler(second, epsilon, cutoff),
        p.sparse_vector(epsilon),
        SPARSE_DRAWS,
    )


def counterexamples() -> list[CounterExample]:
    """Everything that must be refuted."""
    votes = [0, 1, 1, 0, 1]
    return [
        CounterExample("deterministic", deterministic(votes), deterministic([*votes, 1]), p.pure(5)),
        CounterExample("sampling without noise", sampled(1), sampled(0), p.pure(3)),
        CounterExample("majority with a tie", majority(1), majority(0), p.pure(4)),
        *(sparse(number, number) for number in SPARSE_PAIRS),
    ]
