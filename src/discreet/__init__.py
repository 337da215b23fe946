"""Discreet: a private statistical database for Python.

A bare import loads nothing but this file; each part is imported when it is first named.

>>> import discreet
>>> discreet.__version__
'0.1.0.dev0'
>>> discreet.noise.__name__
'discreet.noise'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from discreet import apps, errors, exact, noise, plans, privacy, tables

__version__ = "0.1.0.dev0"

__all__ = ["apps", "errors", "exact", "noise", "plans", "privacy", "tables"]


def __getattr__(name: str) -> ModuleType:
    """Import a part of the package when it is first named."""
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}; its parts are {', '.join(__all__)}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """List the version and the parts, loaded or not."""
    return sorted({*globals(), *__all__})
