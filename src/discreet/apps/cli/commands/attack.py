"""`discreet attack`: what somebody could learn from data or answers, tried out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from discreet.apps.cli.options import Json, Picture, number_option, print_json, save_picture
from discreet.apps.cli.screen import screen, working
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from discreet.checks.attacks import Outcome

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Attack your own data, as somebody else would: how many people are told right, beside guessing.\n\n"
    "This is for the owner: what it prints are exact facts about private rows. Nothing is charged or recorded.\n\n"
    "Example: discreet attack disclose patients.csv --quasi zip,age --sensitive disease",
)

Data = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV, Parquet or Arrow file.")]
Known = Annotated[Path, typer.Argument(metavar="KNOWN", help="A file of what is known; empty cells are not known.")]
Scores = Annotated[Path, typer.Argument(metavar="SCORES", help="A file with a score for each example.")]
Columns = Annotated[str, typer.Option(metavar="COLUMNS", help="What may be known of people, such as zip,age.")]
Errors = Annotated[
    list[str] | None, typer.Option("--error", metavar="COLUMN=NUMBER", help="How far a known number may be off.")
]
Ids = Annotated[int, typer.Option("--known", metavar="COUNT", help="Values ruled out beforehand, of each person.")]


@app.command()
def disclose(
    data: Data,
    *,
    quasi: Columns,
    sensitive: Annotated[str, typer.Option(metavar="COLUMN", help="What they should not learn.")],
    known: Ids = 0,
    as_json: Json = False,
    plot: Picture = None,
) -> None:
    """Guess everybody's sensitive value from the rows that agree with the person in all quasi-identifiers.

    Example: discreet attack disclose patients.csv --quasi zip,age --sensitive disease --known 1
    """
    from discreet.checks.attacks import background_knowledge, homogeneity

    names = _listed(quasi)
    with working("reading all rows"):
        outcome = (
            background_knowledge(data, names, sensitive, known=known) if known else homogeneity(data, names, sensitive)
        )
    _answer(outcome, outcome.plot, as_json=as_json, plot=plot)


@app.command()
def reconstruct(
    data: Data,
    *,
    secret: Annotated[str, typer.Option(metavar="COLUMN=VALUE", help="What is counted, such as disease=flu.")],
    noise: Annotated[str, number_option("Answers are off by up to so much.")] = "0",
    epsilon: Annotated[str | None, number_option("Ask a database with this budget instead.")] = None,
    people: Annotated[int, typer.Option(metavar="COUNT", help="Attack the first rows, at most so many.")] = 64,
    queries: Annotated[int | None, typer.Option(metavar="COUNT", help="Random subsets to ask; 4 a person.")] = None,
    method: Annotated[
        str, typer.Option(metavar="METHOD", help="least-squares, linear-program or all-subsets (up to 16 people).")
    ] = "least-squares",
    as_json: Json = False,
    plot: Picture = None,
) -> None:
    """Ask for counts of subsets of people, and reconstruct who has the secret, as Dinur and Nissim did.

    Against exact answers, or noise well below the square root of the number of people, everybody is told. With
    --epsilon the same is asked of a database, whose whole budget that is; it is in memory, and nothing is charged.

    Example: discreet attack reconstruct patients.csv --secret disease=flu --noise 2
    """
    from discreet.apps.cli.attacked import attack_counts

    with working("asking"):
        attacked = attack_counts(
            data, secret, noise=noise, epsilon=epsilon, people=people, queries=queries, method=method
        )
    _answer(attacked.outcome, attacked.plot, as_json=as_json, plot=plot)


@app.command()
def link(
    data: Data,
    known: Known,
    *,
    columns: Columns,
    person: Annotated[str, typer.Option(metavar="COLUMN", help="Who is who, in both files: judges the attack only.")],
    error: Errors = None,
    as_json: Json = False,
    plot: Picture = None,
) -> None:
    """Match people of whom something is known to rows without names, where one row stands out.

    Example: discreet attack link ratings.csv known.csv --columns film,day --person id --error day=14
    """
    from discreet.checks.attacks import link as link_tables

    errors = {}
    for word in error or []:
        name, _, number = word.rpartition("=")
        try:
            errors[name] = float(number)
        except ValueError:
            message = f"--error is {word[:40]!r}; write a column and a number, such as day=14."
            raise ParameterError(message) from None
    with working("matching"):
        linked = link_tables(data, known, _listed(columns), person=person, errors=errors)
    _answer(linked.outcome, linked.plot, as_json=as_json, plot=plot)


@app.command()
def member(
    scores: Scores,
    *,
    score: Annotated[str, typer.Option(metavar="COLUMN", help="Larger where the example was rather in.")] = "score",
    membership: Annotated[
        str, typer.Option("--member", metavar="COLUMN", help="1 where the example was in the training set, else 0.")
    ] = "member",
    as_json: Json = False,
    plot: Picture = None,
) -> None:
    """Say how well scores of a model tell its training examples from others.

    Any score does, such as minus the loss. To make better ones with shadow models, see infer_membership in Python.

    Example: discreet attack member scores.csv --score loss --member used --plot roc.svg
    """
    from discreet.apps.cli.attacked import read_membership

    read = read_membership(scores, score, membership)
    rates = {f"{rate:g}": read.tpr(rate) for rate in (0.001, 0.01, 0.1)}
    extra = {"auc": read.auc, "tpr": rates}
    _answer(read.outcome, read.plot, as_json=as_json, plot=plot, extra=extra)


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


def _answer(
    outcome: Outcome,
    draw: Callable[[Axes], object],
    *,
    as_json: bool,
    plot: Path | None,
    extra: dict[str, object] | None = None,
) -> None:
    """Print what came of an attack, and draw it."""
    if plot is not None:
        save_picture(draw, plot)
    if as_json:
        print_json({**outcome.record(), **(extra or {})})
        return
    lines = screen()
    lines.print("exact facts about private rows, for their owner alone")
    lines.print(escape(str(outcome)))
