"""Programs on top of the library: the command line, and later the server."""

from __future__ import annotations

__all__: list[str] = []
