"""Privacy seen from outside: audits that would expose a mechanism if it lied.

>>> from discreet import checks
>>> checks.audits.__name__
'discreet.checks.audits'
"""

from __future__ import annotations

from discreet.checks import audits

__all__ = ["audits"]
