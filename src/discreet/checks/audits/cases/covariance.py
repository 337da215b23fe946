"""A covariance: a row more in a corner of the two bounds, where one of the sums moves by all that may move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.checks.audits.pairs import pairs
from discreet.mechanisms import Covariance

if TYPE_CHECKING:
    from discreet.checks.audits.case import Case

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    return pairs(Covariance)
