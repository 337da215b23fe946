"""`discreet stream`: count a table that grows, day after day."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.apps.cli.asking import Confidence, Dialect, Epsilon, File, Question, Rho, read_question
from discreet.apps.cli.opening import Analyst, PolicyFile, Purpose, open_database
from discreet.apps.cli.options import Json, naming_options, print_json
from discreet.apps.cli.screen import folded, screen, table, working
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.methods.streaming import TableStream

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)

Horizon = Annotated[int, typer.Option(min=1, metavar="COUNT", help="How many periods there may be in all.")]
Rows = Annotated[int, typer.Option(min=1, metavar="COUNT", help="How many rows of one unit count in all periods.")]
Start = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="When the first period begins; without it, the column's lower bound."),
]
Name = Annotated[str, typer.Option(metavar="TEXT", help="By which the stream is found again.")]
Now = Annotated[
    str | None, typer.Option(metavar="TIME", help="Up to when periods are over, in UTC; without it, what time it is.")
]


@app.command()
def stream(
    policy: PolicyFile,
    sql: Question = None,
    *,
    horizon: Horizon,
    rows: Rows,
    epsilon: Epsilon = None,
    rho: Rho = None,
    start: Start = None,
    name: Name = "stream",
    now: Now = None,
    file: File = None,
    dialect: Dialect = "duckdb",
    analyst: Analyst = None,
    purpose: Purpose = None,
    confidence: Confidence = 0.95,
    as_json: Json = False,
) -> None:
    """Take a step for each period that is over, and show all sums so far.

    The whole price is charged once, when the stream begins; run again with the same words, daily say, it goes on where
    it was. Rows that come late, or are deleted after their period is over, are ignored.

    Example: discreet stream hospital.toml "SELECT DATE_TRUNC('day', day) AS d, COUNT(*) AS n FROM visits GROUP BY 1"
    --horizon 365 --rows 10 --epsilon 1
    """
    text = read_question(sql, file)
    begin, moment = _moment(start, "--start"), _moment(now, "--now")
    with (
        naming_options(["horizon", "rows", "epsilon", "rho", "start", "name", "now", "analyst", "purpose"]),
        open_database(policy, analyst, purpose) as db,
        db.stream(
            db.sql(text, dialect=dialect, bounding=_bounding(rows)),
            horizon=horizon,
            rows=rows,
            epsilon=epsilon,
            rho=rho,
            start=_plain(begin),
            name=name,
        ) as sums,
    ):
        with working("counting"):
            new = sums.advance(None if moment is None else moment.replace(tzinfo=dt.UTC))
        lines = _lines(sums, confidence)
        left = sums.promise.longest - sums.step
    if as_json:
        print_json({"sums": lines, "new": len(new), "left": left, "promise": sums.promise.promise})
    else:
        _show(lines, sums.promise.promise, len(new), left, confidence)


def _bounding(rows: int) -> Any:  # noqa: ANN401  imported when it is needed
    from discreet.plans.normal import Bounding

    return Bounding(rows=rows)


def _moment(text: str | None, name: str) -> dt.datetime | None:
    try:
        return None if text is None else dt.datetime.fromisoformat(text)
    except ValueError:
        message = f"{name} is {text!r}; write a date or a time such as 2024-01-31 or 2024-01-31T12:00."
        raise ParameterError(message) from None


def _plain(moment: dt.datetime | None) -> dt.date | None:
    """A midnight is a date."""
    return moment.date() if moment is not None and moment.time() == dt.time() and moment.tzinfo is None else moment


def _lines(sums: TableStream, confidence: float) -> list[dict[str, Any]]:
    """Write each sum with its period."""
    groups = [" ".join(map(str, group)) for group in sums.groups]
    lines = []
    for release in sums.releases:
        value: Any = release.value
        errors: Any = release.error(confidence)
        several = sums.promise.dimension > 1
        counts = dict(zip(groups, map(int, value), strict=True)) if several else int(value)
        lines.append(
            {
                "from": release.details["from"],
                "until": release.details["until"],
                "sum": counts,
                "error": float(errors.max() if several else errors),
            }
        )
    return lines


def _show(lines: list[dict[str, Any]], promise: str, new: int, left: int, confidence: float) -> None:
    """Write the sums for a person."""
    from discreet.exact import counted

    first: Any = lines[-1]["sum"] if lines else 0
    groups = list(first) if isinstance(first, dict) else []
    texts = [
        [line["from"], *([str(line["sum"][group]) for group in groups] or [str(line["sum"])]), f"{line['error']:.0f}"]
        for line in lines
    ]
    screen().print(table(["from", *(groups or ["sum"]), "±"], texts, numbers=[*(groups or ["sum"]), "±"]))
    said = f"{counted(new, 'new period')}, {left} left; each ± holds with probability {confidence:g}; {promise} in all"
    typer.echo(folded(said))
