"""`discreet demo`: a hospital: answers, a budget, a refusal, two attacks."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import screen
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.apps.cli.demonstration import Scene

__all__ = ["SECTION", "app"]

SECTION = "Start"

app = typer.Typer(add_completion=False)

Folder = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Where to make the hospital, and keep it; else it is removed.")
]


@app.command()
def demo(*, folder: Folder = None, as_json: Json = False) -> None:
    """Make a hospital, ask it, show what is left, be refused, and attack it. The data are made up.

    Example: discreet demo --folder hospital
    """
    from discreet.apps.cli.demonstration import story

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            message = f"--folder is {str(folder)!r}, which is not empty; name a new or empty folder."
            raise ParameterError(message)
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") if folder is None else nullcontext(folder) as place:
        steps = story(Path(place))
        if as_json:
            print_json({step.name: step.record for step in steps})
        else:
            _show(steps, folder)


def _show(steps: Iterable[Scene], folder: Path | None) -> None:
    """Tell the story to a person, step by step."""
    from discreet.apps.cli.demonstration import CANCER

    lines = screen()
    for step in steps:
        step.show(lines)
    lines.print("\n[bold magenta]And now[/]")
    if folder is not None:
        lines.print(f"discreet log {folder}/hospital.toml")
        lines.print(f'discreet query {folder}/hospital.toml "{CANCER}" --epsilon 0.1')
    lines.print("discreet explain --epsilon 3 --delta 1e-6 --n 5000     what the promise means, in plain words")
    if folder is None:
        lines.print(
            "discreet demo --folder hospital                        the same, kept, to ask questions of your own"
        )
    lines.print("discreet init YOUR_DATA.csv                            a policy for your own data")
