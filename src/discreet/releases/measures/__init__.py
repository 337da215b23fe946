"""Measures: one file for each, with how it is made of noisy numbers, read from them, and off by how much."""

from __future__ import annotations

import importlib
import pkgutil

__all__: list[str] = []

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
