"""Every registered mechanism is attacked on its worst neighbors and never refuted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from discreet.checks.audits import Case, audit, cases
from discreet.checks.audits.black_box import LEAST_DRAWS
from discreet.mechanisms import registered
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

CONFIDENCE = "0.999999999"
FALSE_ALARM = 1e-9
ALL = [pytest.param(case, id=f"{kind}: {case.name}") for kind, found in cases().items() for case in found]
WRITTEN = [each for each in ALL if isinstance(each.values[0], Case) and each.values[0].law is not None]


def without_case(kinds: set[str], found: Mapping[str, tuple[Case, ...]]) -> list[str]:
    """Name the mechanisms that nothing attacks, and the lists of cases that attack another mechanism."""
    idle = [
        kind
        for kind, pairs in found.items()
        if not pairs or any(getattr(case.mechanism, "kind", "") != kind for case in pairs)
    ]
    return sorted({*(kinds - set(found)), *idle})


def test_every_mechanism_has_a_case() -> None:
    """So have the choice of points near ranks, made for databases alone, and several mechanisms together."""
    assert without_case({*registered(), "rank_choice", "together"}, cases()) == []


def test_a_mechanism_without_a_case_is_seen() -> None:
    found = cases()
    assert without_case({*registered(), "unheard_of"}, found) == ["unheard_of"]
    assert without_case(set(registered()), {**found, "laplace": ()}) == ["laplace"]
    assert without_case(set(registered()), {**found, "laplace": found["discrete_laplace"]}) == ["laplace"]


@pytest.mark.audit
@pytest.mark.parametrize("case", WRITTEN)
def test_no_claim_is_below_the_written_laws(case: Case) -> None:
    found = case.audit_exactly()
    assert not found.refuted, str(found)
    assert not case.tight or found.gap <= 1e-12


def follows(draws: NDArray[Any], law: Mapping[Any, float | Fraction]) -> bool:
    """Chi-square of outputs against a written law; outcomes are joined until each cell expects at least 25."""
    if draws.dtype.kind in "if":  # tails are joined
        draws = np.clip(draws, min(law), max(law))
    seen = Counter(draws.tolist())
    if not set(seen) <= set(law):
        return False
    cells, cell = [], np.zeros(2)
    for outcome, chance in sorted(law.items(), key=lambda item: item[1]):
        cell += (seen[outcome], float(chance) * len(draws))
        if cell[1] >= 25:
            cells.append(cell)
            cell = np.zeros(2)
    table = np.array(cells)
    table[-1] += cell
    if len(table) == 1:
        return True
    statistic = ((table[:, 0] - table[:, 1]) ** 2 / table[:, 1]).sum()
    return bool(stats.chi2.sf(statistic, len(table) - 1) > FALSE_ALARM / 10)


@pytest.mark.audit
@pytest.mark.parametrize("case", ALL)
def test_no_claim_is_refuted(case: Case, seed: int) -> None:
    """Releases on both inputs: their audit, and where the law is written out, whether they follow it.

    Half of a case's draws: what they miss, the written laws and the broken partners show.
    """
    bits, count = ReplayBits(seed), max(LEAST_DRAWS, case.draws // 2)
    values = (case.first, case.second, *case.also)
    draws = [case.draw(case.mechanism, value, count, bits) for value in values]
    found = audit(
        lambda _count, _bits: draws[0],
        lambda _count, _bits: draws[1],
        claim=case.claim,
        delta=case.delta,
        draws=count,
        confidence=CONFIDENCE,
    )
    assert not found.refuted, str(found)
    if case.law is not None:
        for value, outputs in zip(values, draws, strict=True):
            law = case.law(case.mechanism, value)
            assert follows(outputs, law)
            likeliest = max(law, key=lambda outcome: law[outcome])
            stuck = np.where(np.arange(len(outputs)) % 2 == 0, outputs, np.array(likeliest, dtype=outputs.dtype))
            assert law[likeliest] > 0.6 or not follows(stuck, law), "the partner: stuck every other time"
