"""What `query` and `preview` share: a question behind a policy, with its price."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.opening import Analyst, PolicyFile, Purpose, open_database
from discreet.apps.cli.options import naming_options, number_option
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from discreet.database import Database

    class PriceOptions(TypedDict):
        """What `Question.release` and `.preview` take."""

        epsilon: str | None
        rho: str | None
        delta: str | None
        within: str | dict[str, str] | None
        narrow: str | None
        confidence: float


__all__ = [
    "Confidence",
    "Dialect",
    "Epsilon",
    "File",
    "Question",
    "QuestionOptions",
    "Rho",
    "asking",
    "price",
    "read_question",
]

Question = Annotated[
    str | None, typer.Argument(metavar="SQL", help="The question, in quotes; or -, to read it from standard input.")
]
File = Annotated[Path | None, typer.Option(metavar="FILE", help="Read the question from a file, instead of SQL.")]
Dialect = Annotated[str, typer.Option(metavar="NAME", help="How SQL is spelled: duckdb, postgres or spark.")]
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
Narrow = Annotated[
    str | None,
    number_option(
        "This part of the price, such as 0.1, first buys closer bounds of what is summed: two private quantiles.",
        metavar="SHARE",
    ),
]
Confidence = Annotated[
    float, typer.Option(min=0.01, max=0.999999, metavar="SHARE", help="With which chance each ± holds.")
]


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """A question of the command line: where, what, for how much, by whom and what for.

    >>> named = price(epsilon="1", rho=None, delta=None, confidence=0.9)
    >>> QuestionOptions(Path("hospital.toml"), "SELECT 1", named).confidence
    0.9
    """

    policy: Path
    sql: str
    price: PriceOptions
    analyst: str | None = None
    purpose: str | None = None
    dialect: str = "duckdb"

    @property
    def confidence(self) -> float:
        """With which chance each ± holds."""
        return self.price["confidence"]

    def open(self) -> Database:
        """Open the database behind the policy for whoever asks."""
        return open_database(self.policy, self.analyst, self.purpose)


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments and options of a question, as one value before its own options.

    >>> @asking
    ... def ask(asked: QuestionOptions, *, loud: bool = False) -> None: ...
    >>> [*inspect.signature(ask).parameters][:3], "loud" in inspect.signature(ask).parameters
    (['policy', 'sql', 'file'], True)
    """

    def run(  # noqa: PLR0913 - each is an option
        policy: PolicyFile,
        sql: Question = None,
        *,
        file: File = None,
        dialect: Dialect = "duckdb",
        epsilon: Epsilon = None,
        rho: Rho = None,
        delta: ReleaseDelta = None,
        within: Within = None,
        narrow: Narrow = None,
        analyst: Analyst = None,
        purpose: Purpose = None,
        confidence: Confidence = 0.95,
        **own: object,
    ) -> None:
        named = price(epsilon=epsilon, rho=rho, delta=delta, within=within, confidence=confidence, narrow=narrow)
        with naming_options(shared_names):
            command(QuestionOptions(policy, read_question(sql, file), named, analyst, purpose, dialect), **own)

    shared = list(inspect.signature(run, eval_str=True).parameters.values())[:-1]
    shared_names = [parameter.name for parameter in shared[2:]]
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    update_wrapper(run, command)
    run.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]  # what inspect reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*shared, *own)}
    return run


def read_question(sql: str | None, file: Path | None) -> str:
    """Read the question that was given as an argument, in a file, or (as -) on standard input.

    >>> read_question("SELECT COUNT(*) FROM visits", None)
    'SELECT COUNT(*) FROM visits'
    """
    if (sql is None) == (file is None):
        message = "give the question in one way: in quotes, as - (standard input), or with --file question.sql."
        raise ParameterError(message)
    try:
        text = sys.stdin.read() if sql == "-" else sql if file is None else file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        message = f"{'--file' if file else 'standard input'} is no text in UTF-8; a question is."
        raise ParameterError(message) from None
    return text or ""


def price(  # noqa: PLR0913 - each is an option
    *,
    epsilon: str | None,
    rho: str | None,
    delta: str | None,
    within: list[str] | None = None,
    confidence: float,
    narrow: str | None = None,
) -> PriceOptions:
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
    return {
        "epsilon": epsilon,
        "rho": rho,
        "delta": delta,
        "within": distances,
        "narrow": narrow,
        "confidence": confidence,
    }


def _distances(given: list[str]) -> str | dict[str, str]:
    """Read one distance for all columns, or one for each that is named."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    pairs = [word.rpartition("=") for word in given]
    if any(not name or not distance for name, _, distance in pairs):
        message = f"--within is {' '.join(given)!r}; give one distance for all columns, or COLUMN=DISTANCE for each."
        raise ParameterError(message)
    return {name.strip(): distance.strip() for name, _, distance in pairs}
