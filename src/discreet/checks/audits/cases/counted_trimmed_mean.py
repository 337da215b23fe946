"""A trimmed mean whose trimming follows a noisy count: a row more, far away or the only one."""

from __future__ import annotations

from discreet.checks.audits.case import Case
from discreet.mechanisms.statistics.trimmed_mean import CountedTrimmedMean

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs; a release takes long, so there are few draws."""
    made = CountedTrimmedMean(lower=0, upper=8, epsilon=2)
    return (Case("the only row", made, [], [8], draws=100),)
