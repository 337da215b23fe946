"""Options that several commands share, and how they answer."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.errors import ParameterError, QueryRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.privacy.curve import Curve
    from discreet.privacy.relations import NeighborRelation

__all__ = [
    "Delta",
    "Json",
    "Neighbors",
    "Picture",
    "Plot",
    "Rate",
    "Sensitivity",
    "Steps",
    "draw",
    "in_options",
    "naming_options",
    "number_option",
    "print_json",
    "print_lines",
    "require_picture",
    "save_picture",
    "written_number",
]

_METAVARS = {
    "analyst": "NAME",
    "purpose": "NAME",
    "expected_count": "COUNT",
    "within": "COLUMN=DISTANCE",
    "key": "TEXT",
}
_STRANGE = re.compile(r"[xX_]|[^\x00-\x7f]")


def written_number(param: typer.CallbackParam, value: str | list[str] | None) -> str | list[str] | None:
    """Refuse spellings of numbers that a program writes and a person mistypes: 0x1, 1_0, digits of other scripts."""
    given = [value] if isinstance(value, str) else value or []
    for word in given:
        if _STRANGE.search(word.rpartition("=")[2]):
            name = f"--{(param.name or '').replace('_', '-')}"
            message = f"{name} is {word[:40]!r}; write a decimal number or a fraction, such as 0.5, 1e-6 or 1/3."
            raise ParameterError(message)
    return value


def number_option(help: str, *names: str, metavar: str = "NUMBER") -> Any:  # noqa: A002, ANN401 - the framework's words
    """Describe an option that takes a number, which is read exactly.

    >>> number_option("The scale.").metavar
    'NUMBER'
    """
    return typer.Option(*names, metavar=metavar, callback=written_number, help=help)


Delta = Annotated[str, number_option("The chance of failure, at least 0 and below 1.")]
Rate = Annotated[str, number_option("The public chance that a unit enters a step's sample.")]
Steps = Annotated[int, typer.Option(metavar="COUNT", help="How often the mechanism runs.")]
Sensitivity = Annotated[str, number_option("How far one unit moves the answer.")]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw delta against epsilon into FILE (.svg, .png, .pdf).")
]

Picture = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it into FILE (.svg, .png, .pdf).")]


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
        raise type(error)(in_options(str(error), names)) from None
    except QueryRefused as refused:
        words = (in_options(part, names) for part in (refused.part, refused.why, refused.instead))
        part, why, instead = words
        named = QueryRefused(part, why=why, instead=instead)
        for note in getattr(refused, "__notes__", ()):
            named.add_note(note)
        raise named from None


def in_options(text: str, names: Iterable[str]) -> str:
    """Write what an error says of Python's arguments in the words of the command line.

    >>> in_options("purpose is None; give one: purpose=….", ["purpose"])
    '--purpose is not given; give one: --purpose NAME.'
    >>> in_options("analyst None may not release questions about visits; ask the owner.", ["analyst"])
    'nobody may release questions about visits without --analyst; ask the owner.'
    >>> in_options("give expected_count= for a number, or epsilon=0.5.", ["epsilon", "expected_count"])
    'give --expected-count COUNT for a number, or --epsilon 0.5.'
    """
    any_name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    text = re.sub(r"analyst None may not ([^;]*)", r"nobody may \1 without --analyst", text)
    text = re.sub(rf"(?<![-.\w])({any_name})(?= is | must | at )", r"--\1", text)
    text = re.sub(rf"(?<![-.\w])({any_name})=(?=[\w'\"])", r"--\1 ", text)
    text = re.sub(
        rf"(?<![-.\w])({any_name})=(?:…|{{[^}}]*}})?",
        lambda option: f"--{option[1]} {_METAVARS.get(option[1], 'NUMBER')}",
        text,
    )
    text = re.sub(rf"(--(?:{any_name}) is) None", r"\1 not given", text)
    return re.sub(r"--(\w+)", lambda option: f"--{option[1].replace('_', '-')}", text)


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
    save_picture(curve.plot, path)


def save_picture(plot: Callable[[Axes], object], path: Path) -> None:
    """Draw into a file."""
    figure = require_picture(path)
    plot(figure.subplots())
    figure.savefig(path)


def require_picture(path: Path) -> Figure:
    """Refuse a picture that could not be written, before anything is paid for it; else give an empty one."""
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
    return Figure(layout="constrained")
