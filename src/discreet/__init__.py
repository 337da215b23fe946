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
    from discreet import (
        apps,
        checks,
        database,
        engines,
        errors,
        exact,
        files,
        inference,
        ledgers,
        mechanisms,
        methods,
        noise,
        plans,
        privacy,
        releases,
        tables,
    )
    from discreet.database import Database as Database
    from discreet.database import open as open  # noqa: A004 - discreet.open
    from discreet.errors import QueryRefused as QueryRefused
    from discreet.mechanisms import *  # noqa: F403  its table is the list
    from discreet.methods.proposals import propose as propose
    from discreet.plans import aggregates as agg  # noqa: F401 - discreet.agg
    from discreet.plans import col as col
    from discreet.tables import Policy as Policy

__version__ = "0.1.0.dev0"

__all__ = [
    "apps",
    "checks",
    "database",
    "engines",
    "errors",
    "exact",
    "files",
    "inference",
    "ledgers",
    "mechanisms",
    "methods",
    "noise",
    "plans",
    "privacy",
    "releases",
    "tables",
]

# What a session with a database begins with, by its home.
_NAMES = {
    "Database": ("database", "Database"),
    "Policy": ("tables", "Policy"),
    "QueryRefused": ("errors", "QueryRefused"),
    "agg": ("plans", "aggregates"),
    "col": ("plans", "col"),
    "open": ("database", "open"),
    "propose": ("methods.proposals", "propose"),
}


def __getattr__(name: str) -> object:
    """Import a part of the package, a name of its façade, or a mechanism, when it is first named."""
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        home, inside = _NAMES[name]
        return getattr(importlib.import_module(f"{__name__}.{home}"), inside)
    if not name.startswith("_") and name in _mechanisms():
        return getattr(importlib.import_module(f"{__name__}.mechanisms"), name)
    message = f"module {__name__!r} has no attribute {name!r}; its parts are {', '.join((*__all__, *_NAMES))}"
    raise AttributeError(message)


def _mechanisms() -> list[str]:
    """List what `mechanisms` exports; its table is read without loading any of it."""
    names: list[str] = importlib.import_module(f"{__name__}.mechanisms").__all__
    return names


def __dir__() -> list[str]:
    """List the version, the parts, the façade and the mechanisms, loaded or not."""
    return sorted({*globals(), *__all__, *_NAMES, *_mechanisms()})
