"""The auditor flags every broken mechanism of the corpus and no right one; one that does not is flagged itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from discreet.checks.audits import audit
from tests.audits.corpus import Entry, corpus
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from discreet.checks.audits import Audit, OneRun

CORPUS = corpus()


@pytest.mark.audit
@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry.flaw)
def test_what_is_broken_is_flagged(entry: Entry, seed: int) -> None:
    found = entry.audited(right=False, bits=ReplayBits(seed))
    assert found.refuted, str(found)


@pytest.mark.audit
@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry.flaw)
def test_what_is_right_is_not(entry: Entry, seed: int) -> None:
    found = entry.audited(right=True, bits=ReplayBits(seed))
    assert not found.refuted, str(found)


def mistakes(auditor: Any, seed: int) -> list[str]:  # noqa: ANN401 - any auditor
    """Name what an auditor gets wrong of the quickest entry of the corpus: broken and passed, or right and flagged."""
    return [
        f"{'flags what is right beside' if right else 'misses'} {entry.flaw}"
        for entry in CORPUS[:1]
        for right in (False, True)
        if entry.audited(right=right, bits=ReplayBits(seed), auditor=auditor).refuted == right
    ]


def never(*given: Any, **named: Any) -> Audit | OneRun:  # noqa: ANN401 - as audit
    """An auditor that never refutes."""
    found: Audit | OneRun = audit(*given, **named)
    return replace(found, refuted=False)


def always(*given: Any, **named: Any) -> Audit | OneRun:  # noqa: ANN401 - as audit
    """One that takes everything for broken."""
    found: Audit | OneRun = audit(*given, **named)
    return replace(found, refuted=True)


def test_an_auditor_that_never_refutes_is_flagged(seed: int) -> None:
    assert mistakes(audit, seed) == []
    assert mistakes(never, seed) == ["misses half the noise"]
    assert mistakes(always, seed) == ["flags what is right beside half the noise"]
