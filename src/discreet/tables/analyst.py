"""Who may ask, what, and for how much."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import PolicyError
from discreet.exact import rational, shown
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number

__all__ = ["ACTIONS", "Analyst", "read_limit"]

ACTIONS = ("explain", "preview", "release")
"""See how a question would be answered; see its error beforehand; have it answered. Each includes those before it."""


@dataclass(frozen=True, slots=True, init=False)
class Analyst:
    """One analyst's rights; the tables and limits that are not given are those of the policy.

    >>> ann = Analyst("ann", may=["preview"], tables=["visits"])
    >>> ann.may, ann.allows("release", ["visits"]), ann.allows("preview", ["patients"])
    (('explain', 'preview'), False, False)
    """

    name: str
    may: tuple[str, ...]
    tables: tuple[str, ...] | None
    epsilon: Fraction | None
    delta: Fraction | None

    def __init__(
        self,
        name: str,
        *,
        may: Iterable[str] = ACTIONS,
        tables: Iterable[str] | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
    ) -> None:
        if not isinstance(name, str) or not name or not name.isprintable():
            msg = f"an analyst is named {shown(name)}; names are texts of printable characters."
            raise PolicyError(msg)
        allowed = _texts(f"{name}.may", may)
        for action in allowed:
            if action not in ACTIONS:
                msg = f"{name}.may holds {shown(action)}; the rights are {', '.join(ACTIONS)}.{hint(action, ACTIONS)}"
                raise PolicyError(msg)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "may", ACTIONS[: max((ACTIONS.index(action) + 1 for action in allowed), default=0)])
        object.__setattr__(self, "tables", None if tables is None else tuple(sorted(_texts(f"{name}.tables", tables))))
        object.__setattr__(self, "epsilon", read_limit(f"{name}.epsilon", epsilon))
        object.__setattr__(self, "delta", read_limit(f"{name}.delta", delta))

    def allows(self, action: str, tables: Iterable[str]) -> bool:
        """Tell whether the analyst may do something with these tables."""
        return action in self.may and (self.tables is None or set(tables) <= set(self.tables))

    def describe(self) -> dict[str, object]:
        """Return the rights as plain values, for canonical forms."""
        limits = {"epsilon": self.epsilon, "delta": self.delta}
        return {
            "may": list(self.may),
            "tables": None if self.tables is None else list(self.tables),
            **{word: str(limit) for word, limit in limits.items() if limit is not None},
        }


def _texts(name: str, given: Iterable[str]) -> list[str]:
    """Read a list of texts; a single text is no list."""
    texts = None if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if texts is None or not all(isinstance(text, str) for text in texts):
        msg = f'{name} is {shown(given)}; it must be a list of texts, such as ["visits"].'
        raise PolicyError(msg)
    return texts


def read_limit(name: str, given: Number | None) -> Fraction | None:
    """Read a limit that is not negative, or none.

    >>> read_limit("ann.epsilon", "0.5")
    Fraction(1, 2)
    """
    if given is None:
        return None
    try:
        limit = rational(given, name=name)
    except ValueError as error:
        raise PolicyError(str(error)) from None
    if limit < 0:
        msg = f"{name} is {shown(given)}; it must not be negative."
        raise PolicyError(msg)
    return limit
