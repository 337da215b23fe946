"""`discreet predict`: what a trained model says of rows, for nothing."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.options import Json, print_json
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.methods.learning.tabular.features import Feature

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `discreet train` wrote.")]
Rows = Annotated[Path, typer.Argument(metavar="ROWS", help="A CSV file with a column for each feature.")]


@app.command()
def predict(model: ModelFile, rows: Rows, *, as_json: Json = False) -> None:
    """Predict for rows that you hold: each row as it is, and a column `predicted` behind it, as CSV.

    Nothing is charged: the model was paid for when it was trained.

    Example: discreet predict model.json new-people.csv > predicted.csv
    """
    from discreet.methods.learning import load

    for file in (model, rows):
        if not file.is_file():
            message = f"there is no file {str(file)!r}."
            raise ParameterError(message)
    trained = load(model)
    names, lines = _read(rows)
    columns = {
        feature.name: [_cell(line.get(feature.name), feature) for line in lines]
        for feature in trained.features.columns
        if feature.name in names
    }
    predicted = trained.predict(columns).tolist() if lines else []  # type: ignore[attr-defined]  # of all that train
    if as_json:
        print_json({"predicted": predicted})
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*names, "predicted"])
    writer.writerows([*(line.get(name) for name in names), value] for line, value in zip(lines, predicted, strict=True))


def _read(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            return list(reader.fieldnames or []), list(reader)
    except (UnicodeDecodeError, csv.Error):
        message = f"{str(path)!r} is no CSV file in UTF-8."
        raise ParameterError(message) from None


def _cell(text: str | None, feature: Feature) -> object:
    """Read a cell as a number, or as the key that it is written like."""
    if text is None or not text.strip():
        return None
    if feature.keys is not None:
        return {str(key): key for key in feature.keys}.get(text.strip(), text)
    try:
        return float(text)
    except ValueError:
        return None
