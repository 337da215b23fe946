"""`discreet query`: answer a question, for its price."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.asking import QuestionOptions, asking
from discreet.apps.cli.options import Json, print_json, require_picture, save_picture
from discreet.apps.cli.screen import charges_record, charges_text, folded, screen, table, working
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.releases.showing.shown import ShownAnswer

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)

Csv = Annotated[bool, typer.Option("--csv", help="Answer with lines of CSV, each ± in a column beside its value.")]
Picture = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Also draw the answer into FILE (.svg, .png, .pdf).")
]
Key = Annotated[
    str,
    typer.Option(
        metavar="TEXT", help="Such as a UUID: what is sent twice with it is charged once, and answered alike."
    ),
]

_MOST_LAID_OUT = 2000
_SHOWING = "interrupted; the answer is paid for and recorded: asking again shows it and costs nothing."


@app.command()
@asking
def query(
    asked: QuestionOptions, *, key: Key = "", as_csv: Csv = False, plot: Picture = None, as_json: Json = False
) -> None:
    """Answer a question in SQL: each value with its ±, charged to the ledger.

    The price is the most that is charged to the dataset, and to a budget with a limit. A question that was asked before
    costs the dataset nothing; an answer that somebody else paid for is charged once to your own budgets.

    The source is the policy's: CSV, Parquet or Arrow files, a DuckDB file, or the address of a database.

    Example: discreet query hospital.toml "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --epsilon 0.5
    """
    from discreet.ledgers.charging import interruptible

    if as_csv and as_json:
        message = "--csv and --json are two forms of one answer; give one of them."
        raise ParameterError(message)
    if plot is not None:
        require_picture(plot)
    with asked.open() as db:
        question = db.sql(asked.sql, dialect=asked.dialect)
        with working("asking"):
            answer = question.release(**asked.price, key=key)
        with interruptible(_SHOWING):
            if as_json:
                print_json(_record(answer, asked.confidence))
            elif as_csv:
                _write_csv(answer, asked.confidence)
                _write_footer(answer, asked.confidence, err=True)
            else:
                _show(answer, asked.confidence)
                _write_footer(answer, asked.confidence)
                typer.echo(str(question.usage(answer.cost)))
            if plot is not None:
                save_picture(lambda axes: answer.plot(confidence=asked.confidence, axes=axes), plot)


def _record(answer: ShownAnswer, confidence: float) -> dict[str, object]:
    """Write the answer for a program."""
    rows = answer.cells(confidence)
    return {
        "columns": list(answer.columns),
        "rows": [{name: _plain(cell.value) for name, cell in row.items()} for row in rows],
        "errors": [{name: cell.error for name, cell in row.items()} for row in rows],
        "reasons": [
            {name: cell.reason for name, cell in row.items() if not cell.exact and cell.reason} for row in rows
        ],
        "notes": answer.notes(confidence),
        "confidence": confidence,
        "promise": answer.promise,
        **charges_record(answer.charges),
        "repeated": answer.repeated,
        "combined": answer.combined,
        "head": answer.head,
    }


def _plain(value: object) -> object:
    """Dates as texts, lists as lists; numbers and texts as they are."""
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _write_csv(answer: ShownAnswer, confidence: float) -> None:
    """Write the answer for a spreadsheet; what is missing is an empty cell."""
    rows = answer.to_dicts(errors=True, confidence=confidence)
    columns = list(dict.fromkeys(name for row in rows for name in row)) or list(answer.columns)
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _show(answer: ShownAnswer, confidence: float) -> None:
    """Write the answer for a person."""
    from discreet.releases.showing.texts import cell_text

    rows = answer.cells(confidence)
    texts = [[cell_text(cell.value, cell.error, exact=cell.exact) for cell in row.values()] for row in rows]
    numeric = [name for name in answer.columns if any(isinstance(row[name].value, int | float) for row in rows)]
    if len(texts) <= _MOST_LAID_OUT:
        screen().print(table(answer.columns, texts, numbers=numeric))
    else:  # so many rows are for another program, and would take minutes to lay out
        typer.echo("\n".join("\t".join(row) for row in [list(answer.columns), *texts]))


def _write_footer(answer: ShownAnswer, confidence: float, *, err: bool = False) -> None:
    """Say what is missing and why, which limits no ± includes, what was promised and charged."""
    charged = f"{'asked before; ' if answer.repeated else ''}charged {charges_text(answer.charges)}"
    head = f"head {answer.head}" if answer.head else ""  # of public tables alone nothing is in the ledger
    promised = (f"each ± holds with probability {confidence:g}", answer.promise, charged, head)
    for line in (*answer.notes(confidence), "; ".join(filter(None, promised))):
        typer.echo(folded(line), err=err)
