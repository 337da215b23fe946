"""Workloads: what is asked, as a matrix that is not written out."""

from __future__ import annotations

__all__: list[str] = []
