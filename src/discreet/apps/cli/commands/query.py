"""`discreet query`: answer a question, for its price."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from discreet.apps.cli.asking import QuestionOptions, asking
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import charges_record, charges_text, left_text, screen, table, working

if TYPE_CHECKING:
    from discreet.releases import Answer

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)

_MOST_LAID_OUT = 2000
_SHOWING = "interrupted; the answer is paid for and recorded: asking again shows it and costs nothing."


@app.command()
@asking
def query(asked: QuestionOptions, *, as_json: Json = False) -> None:
    """Answer a question in SQL: each value with its ±, charged to the ledger.

    The price is the most that is charged to the dataset, and to a budget with a limit. A question that was asked before
    costs the dataset nothing; what somebody else paid for counts once in the budgets of who asks.

    The source is the policy's: CSV, Parquet or Arrow files, a DuckDB file, or the address of a database.

    Example: discreet query hospital.toml "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --epsilon 0.5
    """
    from discreet.ledgers.stopping import interruptible

    with asked.open() as db:
        question = db.sql(asked.sql)
        with working("asking"):
            answer = question.release(**asked.price)
        with interruptible(_SHOWING):
            if as_json:
                print_json(_record(answer, asked.confidence))
            else:
                _show(answer, asked.confidence)
                typer.echo(f"left: {left_text(db.remaining)}")


def _record(answer: Answer, confidence: float) -> dict[str, object]:
    """Write the answer for a program."""
    rows = answer.cells(confidence)
    return {
        "columns": list(answer.columns),
        "rows": [{name: _plain(cell.value) for name, cell in row.items()} for row in rows],
        "errors": [{name: cell.error for name, cell in row.items()} for row in rows],
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


def _show(answer: Answer, confidence: float) -> None:
    """Write the answer for a person."""
    from discreet.releases.showing.texts import cell_text

    rows = answer.cells(confidence)
    texts = [[cell_text(cell.value, cell.error, exact=cell.exact) for cell in row.values()] for row in rows]
    numeric = [name for name in answer.columns if any(isinstance(row[name].value, int | float) for row in rows)]
    if len(texts) <= _MOST_LAID_OUT:
        screen().print(table(answer.columns, texts, numbers=numeric))
    else:  # so many rows are for another program, and would take minutes to lay out
        typer.echo("\n".join("\t".join(row) for row in [list(answer.columns), *texts]))
    charged = f"{'asked before; ' if answer.repeated else ''}charged {charges_text(answer.charges)}"
    typer.echo(f"each ± holds with probability {confidence:g}; {answer.promise}; {charged}; head {answer.head}")
