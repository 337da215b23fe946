"""How a plan refuses."""

from __future__ import annotations

from enum import Enum
from typing import NoReturn, TypeVar

from discreet.errors import ParameterError, QueryRefused
from discreet.exact import shown

__all__ = ["one_of", "refuse"]

_Choice = TypeVar("_Choice", bound=Enum)


def refuse(part: str, *, why: str, instead: str) -> NoReturn:
    """Refuse a question: which part, why in one sentence, what to write instead.

    >>> refuse("LIMIT", why="It picks rows of some units.", instead="an aggregate of all rows.")
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: LIMIT: It picks rows of some units. Write instead: an aggregate of all rows.
    """
    raise QueryRefused(part, why=why, instead=instead)


def one_of(choices: type[_Choice], value: _Choice | str, name: str) -> _Choice:
    """Read one of an enumeration, or its name.

    >>> from discreet.plans.bounding import Shape
    >>> one_of(Shape, "sums", "shape")
    <Shape.SUMS: 'sums'>
    """
    try:
        return choices(value)
    except ValueError:
        msg = f"{name} is {shown(value)}; it must be one of {', '.join(repr(each.value) for each in choices)}."
        raise ParameterError(msg) from None
