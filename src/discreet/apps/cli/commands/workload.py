"""`discreet workload`: counting questions of a file, asked together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.asking import Confidence, Dialect, Epsilon, ReleaseDelta, Rho, read_question
from discreet.apps.cli.opening import Analyst, PolicyFile, Purpose, open_database
from discreet.apps.cli.options import Json, naming_options, print_json
from discreet.apps.cli.screen import folded, screen, table, working

if TYPE_CHECKING:
    from discreet.methods.workloads import WorkloadAnswer, WorkloadPreview

__all__ = ["SECTION", "app"]

SECTION = "Ask"

app = typer.Typer(add_completion=False)

Questions = Annotated[
    Path, typer.Argument(metavar="FILE", help="Counting questions about one table in SQL, each ended by a semicolon.")
]
Release = Annotated[bool, typer.Option("--release", help="Answer all of them, for the price; without it, preview.")]
Key = Annotated[str, typer.Option(metavar="TEXT", help="Such as a UUID: what is sent twice with it is charged once.")]


@app.command()
def workload(
    policy: PolicyFile,
    questions: Questions,
    *,
    dialect: Dialect = "duckdb",
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: ReleaseDelta = None,
    release: Release = False,
    key: Key = "",
    confidence: Confidence = 0.95,
    analyst: Analyst = None,
    purpose: Purpose = None,
    as_json: Json = False,
) -> None:
    """Plan counting questions together: all answers at once err less than each for its share of the price.

    Shows for free what would be measured, the ± of each question, and how far that is from the best there can be. With
    --release the questions are answered and charged. CUBE, ROLLUP and GROUPING SETS are allowed: totals are exactly
    the sums of their parts.

    Example: discreet workload hospital.toml questions.sql --epsilon 1
    """
    from discreet.plans.sql.several import statements_in

    with naming_options(["epsilon", "rho", "delta"]), open_database(policy, analyst, purpose) as db:
        with working("planning"):
            asked = db.workload(statements_in(read_question(None, questions), dialect), dialect=dialect)
            preview = asked.preview(epsilon, rho=rho, delta=delta, confidence=confidence)
        if not release:
            print_json(_preview_record(preview)) if as_json else typer.echo(str(preview))
            return
        with working("asking"):
            answer = asked.release(epsilon, rho=rho, delta=delta, key=key)
        print_json(_record(answer, confidence)) if as_json else _show(answer, confidence)


def _preview_record(preview: WorkloadPreview) -> dict[str, object]:
    plan = preview.plan
    return {
        "strategy": plan.strategy.name,
        "promise": plan.promise.promise,
        "rmse": plan.rmse,
        "gap": plan.gap,
        "considered": {one.name: one.error for one in plan.considered},
        "errors": dict(preview.errors),
        "confidence": preview.confidence,
        "charge": {name: str(amount) for name, amount in preview.cost.fields().items()},
        "fits": preview.fits,
    }


def _record(answer: WorkloadAnswer, confidence: float) -> dict[str, object]:
    tables = [
        {"question": one.text, "rows": one.to_dicts(), "errors": one.error(confidence).tolist()} for one in answer
    ]
    return {"answers": tables, "confidence": confidence, "promise": answer.promise}


def _show(answer: WorkloadAnswer, confidence: float) -> None:
    """Write the answers for a person."""
    for one in answer:
        typer.echo(one.text)
        rows = [
            [
                *(
                    "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
                    for value in row.values()
                )
            ]
            for row in one.to_dicts()
        ]
        texts = [[*row, f"{error:.3g}"] for row, error in zip(rows, one.error(confidence).tolist(), strict=True)]
        screen().print(table([*one.columns, "±"], texts, numbers=["±"]))
    typer.echo(folded(f"each ± holds with probability {confidence:g}; {answer.promise}; charged {answer.charged!r}"))
