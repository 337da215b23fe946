"""What mechanisms are given, read without a word about the data: rows, numbers, columns, public parameters."""

from __future__ import annotations

__all__: list[str] = []
