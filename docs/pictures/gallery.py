"""Every picture of the documentation, found by walking this folder."""

from __future__ import annotations

import importlib
from pathlib import Path

SHARED = {"__main__", "gallery", "svg"}


def all_pictures() -> dict[str, str]:
    """Map each file name to the picture that belongs into it."""
    scripts = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in SHARED)
    return {
        name: text
        for script in scripts
        for name, text in importlib.import_module(f"docs.pictures.{script}").pictures().items()
    }
