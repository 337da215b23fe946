"""Audits: what releases on two neighboring inputs prove about a claim.

`audit` attacks a claim from outside, with releases alone, whatever the target is; `audit_exactly` writes both output
laws out and holds the claim against them. A claim that survives is not proven by that: the proof stands in each
mechanism's docstring.

>>> import discreet.privacy as p
>>> from discreet.checks.audits import audit
>>> vote = lambda bob: lambda count, bits: [bob] * count
>>> audit(vote(0), vote(1), claim=p.pure(epsilon=2)).refuted
True
"""

from __future__ import annotations

from discreet.checks.audits.auditing import Canaries, audit
from discreet.checks.audits.black_box import audit_releases
from discreet.checks.audits.case import Auditable, Case
from discreet.checks.audits.cases import cases
from discreet.checks.audits.enumerated import ExactAudit, audit_exactly, hockey_stick
from discreet.checks.audits.one_run import OneRun, audit_one_run, guesses_are_too_good
from discreet.checks.audits.questions import audit_question
from discreet.checks.audits.result import Assumed, Audit

__all__ = [
    "Assumed",
    "Audit",
    "Auditable",
    "Canaries",
    "Case",
    "ExactAudit",
    "OneRun",
    "audit",
    "audit_exactly",
    "audit_one_run",
    "audit_question",
    "audit_releases",
    "cases",
    "guesses_are_too_good",
    "hockey_stick",
]
