"""What is not private is refuted; what is private, on the same neighbors, is not."""

from __future__ import annotations

import pytest

from discreet import privacy as p
from discreet.checks.audits import audit
from tests.audits.counterexamples import SPARSE_PAIRS, CounterExample, counterexamples, sampled, sparse
from tests.noise.replay import ReplayBits

CONFIDENCE = "0.999999999"


@pytest.mark.audit
@pytest.mark.parametrize("example", counterexamples(), ids=lambda example: example.name)
def test_what_is_not_private_is_refuted(example: CounterExample, seed: int) -> None:
    found = audit(
        example.first,
        example.second,
        claim=example.claim,
        draws=example.draws,
        confidence=CONFIDENCE,
        bits=ReplayBits(seed),
    )
    assert found.refuted, str(found)


@pytest.mark.audit
@pytest.mark.parametrize("pair", SPARSE_PAIRS)
@pytest.mark.parametrize("variant", [1, 2])
def test_the_private_variants_of_the_sparse_vector_pass(variant: int, pair: int, seed: int) -> None:
    example = sparse(variant, pair)
    found = audit(
        example.first,
        example.second,
        claim=example.claim,
        draws=example.draws,
        confidence=CONFIDENCE,
        bits=ReplayBits(seed),
    )
    assert not found.refuted, str(found)


def test_a_sample_without_noise_keeps_its_delta(seed: int) -> None:
    """Sampling a quarter is (0, 1/4)-differentially private: what refutes epsilon does not refute that."""
    found = audit(
        sampled(1),
        sampled(0),
        claim=p.approximate(epsilon=0, delta="1/4"),
        delta="1/4",
        confidence=CONFIDENCE,
        bits=ReplayBits(seed),
    )
    assert not found.refuted
    smaller = p.approximate(epsilon=0, delta="1/5")
    assert audit(
        sampled(1), sampled(0), claim=smaller, delta="1/5", confidence=CONFIDENCE, bits=ReplayBits(seed)
    ).refuted
