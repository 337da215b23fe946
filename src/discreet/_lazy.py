"""Names of a package that are imported when they are first used, listed once: in the stub that type checkers read."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["lazy_names"]


def lazy_names(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package: what its `__init__.pyi` imports.

    >>> load, listed, public = lazy_names("discreet.privacy")
    >>> load("Pure").__name__, "Pure" in public, set(public) <= set(listed())
    ('Pure', True, True)
    >>> load("Pur")
    Traceback (most recent call last):
    ...
    AttributeError: module 'discreet.privacy' has no attribute 'Pur'
    """
    imports = ast.parse(pkgutil.get_data(package, "__init__.pyi") or b"").body
    homes = {name.name: str(line.module) for line in imports if isinstance(line, ast.ImportFrom) for name in line.names}
    known = vars(sys.modules[package])

    def load(name: str) -> object:
        """Import a name from its home, and keep it."""
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        known[name] = value = getattr(importlib.import_module(homes[name]), name)
        return value

    def listed() -> list[str]:
        """List all names, loaded or not."""
        return sorted({*known, *homes})

    return load, listed, sorted(homes)
