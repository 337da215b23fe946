"""`discreet synth`: rows like those of a private table, with nobody in them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from discreet.apps.cli.asking import Epsilon, ReleaseDelta, Rho  # noqa: TC001 - typer reads them
from discreet.apps.cli.opening import Analyst, PolicyFile, Purpose, open_database
from discreet.apps.cli.options import Json, naming_options, print_json
from discreet.apps.cli.screen import charge_text, counting, folded
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.methods.synthesis import SyntheticModel
    from discreet.privacy.costs import Amount

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)

Table = Annotated[str, typer.Option(metavar="NAME", help="The table that the rows are like.")]
Out = Annotated[Path, typer.Option(metavar="FILE", help="Where the rows are written, as CSV; a new file.")]
Rows = Annotated[
    int | None, typer.Option(min=0, help="How many rows; without it as many as the table has, with noise.")
]
Method = Annotated[str, typer.Option(metavar="NAME", help="aim, mst (for many columns), mwem, or independent.")]
Model = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where the model is kept, as JSON, to draw more rows from for free.")
]
Columns = Annotated[
    str | None, typer.Option(metavar="COLUMNS", help="Which columns; without it all that have keys or two bounds.")
]
Bins = Annotated[int, typer.Option(min=1, help="Into how many bins numbers and dates are cut at most.")]
Name = Annotated[str, typer.Option(metavar="TEXT", help="By which a run that was killed is found again.")]


@app.command()
def synth(
    policy: PolicyFile,
    *,
    table: Table,
    out: Out,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: ReleaseDelta = None,
    rows: Rows = None,
    method: Method = "aim",
    columns: Columns = None,
    bins: Bins = 32,
    model: Model = None,
    name: Name = "synthesis",
    analyst: Analyst = None,
    purpose: Purpose = None,
    as_json: Json = False,
) -> None:
    """Write rows like those of a private table, for one price: no row is that of a person.

    A model is fitted to noisy counts of columns and pairs; the rows are drawn from it. Killed in between and called
    again, it goes on where it was, and nothing is counted or charged twice; called again afterwards, it draws new rows
    from the same model, for nothing.

    Example: discreet synth hospital.toml --table patients --epsilon 1 --rows 10000 --out people.csv
    """
    for path in filter(None, (out, model)):
        if path.exists():
            message = f"{str(path)!r} is there already; name a new file, so that nothing is lost."
            raise ParameterError(message)
    from discreet.methods.synthesis import save

    named = None if columns is None else [column.strip() for column in columns.split(",")]
    with naming_options(["epsilon", "rho", "delta", "method", "bins", "columns", "name"]), counting() as watch:  # noqa: SIM117
        with open_database(policy, analyst, purpose) as db:
            released = db.synthesize(
                table,
                epsilon=epsilon,
                rho=rho,
                delta=delta,
                method=method,
                columns=named,
                bins=bins,
                name=name,
                watch=watch,
            )
    count = _write(released.value, out, rows)
    if model is not None:
        save(released, model)
    promise = released.mechanism.promise
    charge = charge_text(cast("Amount", released.charged))  # a ledger has paid
    if as_json:
        print_json({"file": str(out), "rows": count, "promise": promise, "charged": charge})
        return
    typer.echo(folded(f"{count} rows in {out}: {promise}, charged {charge}. More rows cost nothing."))


def _write(model: SyntheticModel, out: Path, rows: int | None) -> int:
    """Draw rows and write them; an empty cell is a missing value."""
    drawn = model.sample(rows)
    with out.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(drawn)
        writer.writerows(zip(*(column.tolist() for column in drawn.values()), strict=True))
    return len(next(iter(drawn.values())))
