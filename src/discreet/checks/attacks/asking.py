"""What an attacker asks: a function of somebody else's, which may refuse, fail, or answer nonsense."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from discreet.errors import BudgetError, DiscreetError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["answer_to"]

Asked = TypeVar("Asked")


def answer_to(ask: Callable[[Asked], float], question: Asked, *, name: str = "ask") -> float:
    """Ask, and return the answer; nan where nothing is left to spend.

    >>> answer_to(len, "four"), answer_to(ord, "4")
    (4.0, 52.0)
    """
    try:
        answer = float(ask(question))
    except BudgetError:
        return math.nan
    except DiscreetError:
        raise
    except Exception as error:
        msg = (
            f"{name} raised {type(error).__name__}; it must return a number, or raise BudgetError where nothing is "
            "left."
        )
        raise ParameterError(msg) from error
    if not math.isfinite(answer):
        msg = f"{name} answered no finite number; it must return one, or raise BudgetError."
        raise ParameterError(msg)
    return answer
