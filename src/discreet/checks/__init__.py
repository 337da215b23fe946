"""Privacy seen from outside: audits that would expose a mechanism if it lied, attacks on answers, promises in words.

Each part is imported when it is first named.

>>> from discreet import checks
>>> checks.audits.__name__
'discreet.checks.audits'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.checks import anonymity, attacks, audits, exercises, reports

__all__ = ["anonymity", "attacks", "audits", "exercises", "reports"]


def __getattr__(name: str) -> object:
    """Import a part when it is first named: words need no audits."""
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}; its parts are {', '.join(__all__)}"
    raise AttributeError(message)
