"""Composition theorems by name, each in its own file with its source, for readers and comparison.

Which to use: none of them for accounting. Curves compose numerically and are never worse; the theorems show what each
line of the literature gives away (`compare`).

>>> from discreet.privacy.composition import advanced, basic
>>> from discreet.privacy import Approximate
>>> step = Approximate("0.1")
>>> advanced(step, count=1000, slack=1e-6).epsilon < basic([step] * 1000).epsilon
True
"""

from __future__ import annotations

from discreet.privacy.composition.advanced import advanced
from discreet.privacy.composition.basic import basic
from discreet.privacy.composition.compare import Comparison, Row, compare
from discreet.privacy.composition.concentrated import concentrated, concentrated_simple
from discreet.privacy.composition.kairouz import kairouz
from discreet.privacy.composition.moments import moments, sampled_gaussian_rdp
from discreet.privacy.composition.murtagh import murtagh_vadhan
from discreet.privacy.composition.parallel import Parts, parallel
from discreet.privacy.composition.renyi import bad_outcomes, renyi
from discreet.privacy.composition.subsampled import abadi_leading_term, amplified, bun, mironov
from discreet.privacy.groups import group_privacy

__all__ = [
    "Comparison",
    "Parts",
    "Row",
    "abadi_leading_term",
    "advanced",
    "amplified",
    "bad_outcomes",
    "basic",
    "bun",
    "compare",
    "concentrated",
    "concentrated_simple",
    "group_privacy",
    "kairouz",
    "mironov",
    "moments",
    "murtagh_vadhan",
    "parallel",
    "renyi",
    "sampled_gaussian_rdp",
]
