"""Statements that are more than one core: their cores are released, and their shell is computed from that for free."""

from __future__ import annotations

from discreet.releases.shell.answer import ShellAnswer
from discreet.releases.shell.question import ShellQuestion

__all__ = ["ShellAnswer", "ShellQuestion"]
