"""Worst-case neighbors, a file for each mechanism, found by walking the folder.

Each file is named like the kind of the mechanism it presses and offers `cases()`.

>>> {"discrete_laplace", "laplace"} <= set(cases())
True
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.checks.audits.case import Case

__all__ = ["cases"]


def cases() -> dict[str, tuple[Case, ...]]:
    """Return the cases of every mechanism, by its kind.

    >>> cases()["laplace"][0].mechanism.kind
    'laplace'
    """
    names = sorted(item.name for item in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module(f"{__name__}.{name}").cases() for name in names}
