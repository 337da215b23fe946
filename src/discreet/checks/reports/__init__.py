"""A guarantee in plain words, for three kinds of readers.

>>> from discreet.checks.reports import explain
>>> print(explain(epsilon=1, delta="1e-6").statements[3].text)
These numbers include a chance of 1 in 1,000,000 that the protection fails for you altogether.
"""

from __future__ import annotations

from discreet.checks.reports.explanation import Audience, Explanation, explain
from discreet.checks.reports.facts import PromiseFacts
from discreet.checks.reports.wording import Paragraph

__all__ = ["Audience", "Explanation", "Paragraph", "PromiseFacts", "explain"]
