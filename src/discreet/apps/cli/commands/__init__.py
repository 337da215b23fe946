"""One command per file; a file here is found by its name and holds a Typer application named `app`."""

from __future__ import annotations

__all__: list[str] = []
