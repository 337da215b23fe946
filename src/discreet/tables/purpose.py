"""What answers are for, and for how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import PolicyError
from discreet.exact import shown
from discreet.tables.analyst import read_limit

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number

__all__ = ["Purpose"]


@dataclass(frozen=True, slots=True, init=False)
class Purpose:
    """A purpose with a budget of its own; limits that are not given are those of the policy.

    >>> Purpose("research", epsilon="0.5").describe()
    {'epsilon': '1/2'}
    """

    name: str
    epsilon: Fraction | None
    delta: Fraction | None

    def __init__(self, name: str, *, epsilon: Number | None = None, delta: Number | None = None) -> None:
        if not isinstance(name, str) or not name or not name.isprintable():
            msg = f"a purpose is named {shown(name)}; names are texts of printable characters."
            raise PolicyError(msg)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "epsilon", read_limit(f"{name}.epsilon", epsilon))
        object.__setattr__(self, "delta", read_limit(f"{name}.delta", delta))

    def describe(self) -> dict[str, object]:
        """Return the limits as plain values, for canonical forms."""
        limits = {"epsilon": self.epsilon, "delta": self.delta}
        return {word: str(limit) for word, limit in limits.items() if limit is not None}
