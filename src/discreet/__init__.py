"""Discreet: a private statistical database for Python.

A bare import loads nothing but this file; each part is imported when it is first named, and so is each mechanism.

>>> import discreet
>>> discreet.__version__
'0.1.0.dev0'
>>> discreet.noise.__name__
'discreet.noise'
>>> discreet.Laplace(sensitivity=1, epsilon="0.5").promise
'ε = 0.5'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import apps, checks, errors, exact, mechanisms, noise, plans, privacy, tables
    from discreet.mechanisms import *  # noqa: F403  its table is the list

__version__ = "0.1.0.dev0"

__all__ = ["apps", "checks", "errors", "exact", "mechanisms", "noise", "plans", "privacy", "tables"]


def __getattr__(name: str) -> object:
    """Import a part of the package, or a mechanism, when it is first named."""
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    if not name.startswith("_") and name in _mechanisms():
        return getattr(importlib.import_module(f"{__name__}.mechanisms"), name)
    message = f"module {__name__!r} has no attribute {name!r}; its parts are {', '.join(__all__)}"
    raise AttributeError(message)


def _mechanisms() -> list[str]:
    """List what `mechanisms` exports; its table is read without loading any of it."""
    names: list[str] = importlib.import_module(f"{__name__}.mechanisms").__all__
    return names


def __dir__() -> list[str]:
    """List the version, the parts and the mechanisms, loaded or not."""
    return sorted({*globals(), *__all__, *_mechanisms()})
