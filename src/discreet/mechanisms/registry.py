"""Where mechanisms live: a folder per group, a file per mechanism, found by walking.

Only the folders of `GROUPS` are walked, and each of their files registers at least one mechanism. What several
mechanisms share stands in folders of its own: `inputs`, `adding`, `choosing` and `sensitivity`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path

__all__ = ["GROUPS", "load", "modules"]

GROUPS = {
    "numbers": "Noise added to numbers, vectors and arrays",
    "choices": "One or several of a set of candidates",
    "thresholds": "Yes or no above a threshold; which keys may be shown",
    "responses": "Answers that a unit randomizes itself",
    "data_dependent": "Noise fit to the data at hand, beyond the worst case",
    "statistics": "Statistics ready to use",
}
"""The folders with what they hold, in the order in which they are listed."""

_PACKAGE = __name__.rpartition(".")[0]
_BESIDE = ("together",)
"""Files beside the folders whose promises are no mechanisms of their own."""


@cache
def modules() -> tuple[str, ...]:
    """Return the full names of all files that hold mechanisms, without importing any.

    >>> "discreet.mechanisms.numbers.laplace" in modules()
    True
    """
    home = Path(__file__).parent
    return tuple(
        f"{_PACKAGE}.{group}.{item.name}"
        for group in GROUPS
        for item in sorted(pkgutil.iter_modules([str(home / group)]), key=lambda module: module.name)
    )


def load() -> tuple[str, ...]:
    """Import them all, and what else releases of this package stand on, and return their names.

    >>> load() == modules()
    True
    """
    for name in (*modules(), *(f"{_PACKAGE}.{name}" for name in _BESIDE)):
        importlib.import_module(name)
    return modules()
