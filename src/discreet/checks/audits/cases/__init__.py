"""Worst-case neighbors, a file for each family of mechanisms, found by walking the folder.

Each file offers `cases()`: of every mechanism in the family the pairs that press it hardest.

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
    listed: dict[str, tuple[Case, ...]] = {}
    for item in pkgutil.iter_modules(__path__):
        for case in importlib.import_module(f"{__name__}.{item.name}").cases():
            kind: str = getattr(case.mechanism, "kind", case.name)
            listed[kind] = (*listed.get(kind, ()), case)
    return dict(sorted(listed.items()))
