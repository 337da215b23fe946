"""Mechanisms that are broken on purpose, held to the claims of the right ones: each is refuted.

A partner is put where the audit can see it: its true epsilon is at least 1.5 times the claim, or its delta at least
0.05.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from discreet.checks.audits import Case, cases
from discreet.mechanisms import DiscreteLaplace, Laplace
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from discreet.mechanisms import Mechanism

CONFIDENCE = "0.999999999"


@dataclass(frozen=True)
class Partner:
    """A mechanism in the place of another one, on neighbors of the other's case."""

    flaw: str
    kind: str
    case: str
    mechanism: Mechanism[Any, Any]
    draws: int = 20_000

    def broken(self) -> Case:
        (case,) = (case for case in cases()[self.kind] if case.name == self.case)
        return replace(case, mechanism=self.mechanism, draws=self.draws)


PARTNERS = [
    Partner("half the noise", "discrete_laplace", "a count", DiscreteLaplace(1, epsilon=2)),
    Partner("sensitivity 1", "discrete_laplace", "a sum of up to 3", DiscreteLaplace(1, epsilon=1)),
    Partner(
        "each of three counts by itself",
        "discrete_laplace",
        "three counts moved at once",
        DiscreteLaplace(1, epsilon=2),
    ),
    Partner("half the noise", "laplace", "a number", Laplace(1, epsilon=2)),
    Partner("standard deviation for scale", "laplace", "a number", Laplace(1, scale="0.70710678")),
    Partner(
        "the snap not counted",
        "laplace",
        "neighbors that snapping moves apart",
        Laplace("1.02", epsilon=2, inputs="snapped", grid="1/2"),
    ),
]


@pytest.mark.audit
@pytest.mark.parametrize("partner", PARTNERS, ids=lambda partner: f"{partner.kind}: {partner.flaw}")
def test_the_broken_partner_is_refuted(partner: Partner, seed: int) -> None:
    case = partner.broken()
    found = case.audit(confidence=CONFIDENCE, bits=ReplayBits(seed))
    assert found.refuted, str(found)
    if case.law is not None:
        assert case.audit_exactly().refuted


def test_every_mechanism_has_a_partner() -> None:
    assert sorted(set(cases()) - {partner.kind for partner in PARTNERS}) == []
