"""Asking: questions, their prices, and what a ledger is told of them."""

from __future__ import annotations

__all__: list[str] = []
