"""Privacy seen from outside: audits that would expose a mechanism if it lied, attacks on answers, promises in words.

>>> from discreet import checks
>>> checks.audits.__name__
'discreet.checks.audits'
"""

from __future__ import annotations

from discreet.checks import attacks, audits, reports

__all__ = ["attacks", "audits", "reports"]
