"""Peers of the local model, each in its own environment."""

from __future__ import annotations

__all__ = ["PEERS"]

PEERS = ("pure_ldp",)
