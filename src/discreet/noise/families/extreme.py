"""Exponential and Gumbel noise, the keys of races."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.families.family import R

__all__ = ["Exponential", "Gumbel"]


@dataclass(frozen=True, slots=True)
class Exponential:
    """Density exp(-z) for z > 0.

    >>> Exponential().uniforms
    1
    """

    @property
    def uniforms(self) -> int:
        """One."""
        return 1

    def value(self, u: Sequence[R], /) -> R:
        """Enclose -log U."""
        return -u[0].log()

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None


@dataclass(frozen=True, slots=True)
class Gumbel:
    """Distribution function exp(-exp(-z)).

    >>> Gumbel().uniforms
    1
    """

    @property
    def uniforms(self) -> int:
        """One."""
        return 1

    def value(self, u: Sequence[R], /) -> R:
        """Enclose -log(-log U)."""
        return -(-u[0].log()).log()

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None
