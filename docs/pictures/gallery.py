"""Every picture of the documentation, found by walking this folder."""

from __future__ import annotations

import importlib
from pathlib import Path

SHARED = {"__main__", "gallery", "svg"}


def scripts() -> list[str]:
    """Name the scripts that draw."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in SHARED)


def drawn_by(script: str) -> dict[str, str]:
    """Map each file name of one script to the picture that belongs into it."""
    pictures: dict[str, str] = importlib.import_module(f"docs.pictures.{script}").pictures()
    return pictures
