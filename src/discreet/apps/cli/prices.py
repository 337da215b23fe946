"""The price of a question, as options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.options import number_option
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from typing import TypedDict

    class Price(TypedDict):
        """What `Question.release` and `.preview` take."""

        epsilon: str | None
        rho: str | None
        delta: str | None
        within: str | dict[str, str] | None
        confidence: float


__all__ = ["Confidence", "Epsilon", "ReleaseDelta", "Rho", "Within", "price"]

Epsilon = Annotated[str | None, number_option("The price of the whole question.")]
Rho = Annotated[str | None, number_option("The price in zCDP, instead of --epsilon.")]
ReleaseDelta = Annotated[str | None, number_option("The delta of this release; the policy's, if not given.", "--delta")]
Within = Annotated[
    list[str] | None,
    number_option(
        "Instead of a price: how far off every column may be, or one column each: --within n=50 --within cost=3.",
        metavar="DISTANCE",
    ),
]
Confidence = Annotated[
    float, typer.Option(min=0.01, max=0.999999, metavar="SHARE", help="With which chance each ± holds.")
]


def price(
    *, epsilon: str | None, rho: str | None, delta: str | None, within: list[str] | None = None, confidence: float
) -> Price:
    """Collect a price, or an error to be priced; one of them must be stated.

    >>> price(epsilon="0.5", rho=None, delta=None, confidence=0.95)["epsilon"]
    '0.5'
    >>> price(epsilon=None, rho=None, delta=None, within=["n=50", "cost=3"], confidence=0.95)["within"]
    {'n': '50', 'cost': '3'}
    """
    if sum(given is not None and given != [] for given in (epsilon, rho, within)) != 1:
        message = "give the price of the question in one way: --epsilon 0.5, or --rho 0.01, or --within 50."
        raise ParameterError(message)
    distances = _distances(within) if within else None
    return {"epsilon": epsilon, "rho": rho, "delta": delta, "within": distances, "confidence": confidence}


def _distances(given: list[str]) -> str | dict[str, str]:
    """Read one distance for all columns, or one for each that is named."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    pairs = [word.rpartition("=") for word in given]
    if any(not name or not distance for name, _, distance in pairs):
        message = f"--within is {' '.join(given)!r}; give one distance for all columns, or COLUMN=DISTANCE for each."
        raise ParameterError(message)
    return {name.strip(): distance.strip() for name, _, distance in pairs}
