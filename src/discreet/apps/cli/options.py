"""Options that several commands share, and how they answer."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from discreet.privacy.curve import Curve
    from discreet.privacy.relations import NeighborRelation

__all__ = [
    "Delta",
    "Json",
    "Neighbors",
    "Plot",
    "Rate",
    "Sensitivity",
    "Steps",
    "draw",
    "naming_options",
    "print_json",
    "print_lines",
]

Delta = Annotated[str, typer.Option(metavar="NUMBER", help="The chance of failure, at least 0 and below 1.")]
Rate = Annotated[str, typer.Option(metavar="NUMBER", help="The public chance that a unit enters a step's sample.")]
Steps = Annotated[int, typer.Option(metavar="COUNT", help="How often the mechanism runs.")]
Sensitivity = Annotated[str, typer.Option(metavar="NUMBER", help="How far one unit moves the answer.")]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw delta against epsilon into FILE (.svg, .png, .pdf).")
]


class Neighbors(StrEnum):
    """Neighbor relations as words of the command line.

    >>> Neighbors.ADD_REMOVE.relation
    <NeighborRelation.ADD_REMOVE: 'add_remove'>
    """

    ADD_REMOVE = "add-remove"
    CHANGE_ONE = "change-one"

    @property
    def relation(self) -> NeighborRelation:
        """The relation behind the word."""
        from discreet.privacy.relations import NeighborRelation

        return NeighborRelation[self.name]


@contextmanager
def naming_options(names: Iterable[str]) -> Iterator[None]:
    """Let errors name what the command line calls an option: --sigma for sigma, and --sigma 1 for sigma=1.

    >>> from discreet import privacy as p
    >>> with naming_options(["rate"]):
    ...     p.gaussian(1).subsample(rate=2)
    Traceback (most recent call last):
    discreet.errors.ParameterError: --rate is 2; it must lie between 0 and 1, such as --rate 0.01.
    """
    try:
        yield
    except ParameterError as error:
        any_name = "|".join(map(re.escape, names))
        text = re.sub(rf"(?<![-\w])({any_name})(?= is | must | at )", r"--\1", str(error))
        text = re.sub(rf"\bsuch as ({any_name})=", r"such as --\1 ", text)
        raise type(error)(text) from None


def print_json(record: Mapping[str, object]) -> None:
    """Answer a program.

    >>> print_json({"epsilon": 1.5})
    {"epsilon": 1.5}
    """
    typer.echo(json.dumps(record, allow_nan=False))


def print_lines(rows: Mapping[str, str]) -> None:
    """Answer a person.

    >>> print_lines({"epsilon": "1.5", "delta": "1e-6"})
    epsilon  1.5
    delta    1e-6
    """
    width = max(map(len, rows))
    for name, text in rows.items():
        typer.echo(f"{name:<{width}}  {text}")


def draw(curve: Curve, path: Path) -> None:
    """Draw a curve into a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        message = "--plot needs matplotlib. Install it with: pip install 'discreet[plot]'."
        raise ParameterError(message) from None
    if path.suffix not in {".svg", ".png", ".pdf"}:
        message = f"--plot is {str(path)!r}; the file must end in .svg, .png or .pdf."
        raise ParameterError(message)
    if not path.parent.is_dir():
        message = f"--plot is {str(path)!r}; the folder does not exist. Create it first."
        raise ParameterError(message)
    figure = Figure(layout="constrained")
    curve.plot(figure.subplots())
    figure.savefig(path)
