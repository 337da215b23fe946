"""The price of a question, as options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from typing import TypedDict

    class Price(TypedDict):
        """What `Question.release` and `.preview` take."""

        epsilon: str | None
        rho: str | None
        delta: str | None


__all__ = ["Confidence", "Epsilon", "ReleaseDelta", "Rho", "price"]

Epsilon = Annotated[str | None, typer.Option(metavar="NUMBER", help="The price of the whole question.")]
Rho = Annotated[str | None, typer.Option(metavar="NUMBER", help="The price in zCDP, instead of --epsilon.")]
ReleaseDelta = Annotated[
    str | None, typer.Option("--delta", metavar="NUMBER", help="The delta of this release; the policy's, if not given.")
]
Confidence = Annotated[
    float, typer.Option(min=0.01, max=0.999999, metavar="SHARE", help="With which chance each ± holds.")
]


def price(*, epsilon: str | None, rho: str | None, delta: str | None) -> Price:
    """Collect a price; it must be stated.

    >>> price(epsilon="0.5", rho=None, delta=None)["epsilon"]
    '0.5'
    """
    if (epsilon is None) == (rho is None):
        message = "give the price of the question in one way: --epsilon 0.5, or --rho 0.01."
        raise ParameterError(message)
    return {"epsilon": epsilon, "rho": rho, "delta": delta}
