"""Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.families.family import R

__all__ = ["Laplace"]


@dataclass(frozen=True, slots=True)
class Laplace:
    """Density exp(-|z|) / 2: the difference of two exponential variables, log U - log V.

    >>> Laplace().uniforms
    2
    """

    @property
    def uniforms(self) -> int:
        """Two."""
        return 2

    def value(self, u: Sequence[R], /) -> R:
        """Enclose log U - log V."""
        return u[0].log() - u[1].log()

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None
