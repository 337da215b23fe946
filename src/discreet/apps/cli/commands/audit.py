"""`discreet audit`: attack a mechanism's promise with its own releases."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from discreet.apps.cli.options import Json, Picture, number_option, print_json, save_picture
from discreet.apps.cli.screen import screen, working
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.checks.audits import Case

__all__ = ["SECTION", "app"]

SECTION = "Calculate"

app = typer.Typer(add_completion=False)

Mechanism = Annotated[str, typer.Argument(metavar="MECHANISM", help="What to audit, such as laplace or noisy_max.")]
Confidence = Annotated[str, number_option("How sure a refutation must be.")]
Claim = Annotated[str | None, number_option("Hold the releases to this epsilon, instead of to their own promise.")]
Draws = Annotated[int | None, typer.Option(metavar="COUNT", help="Releases on each of two neighbors.")]


@app.command()
def audit(
    mechanism: Mechanism,
    *,
    epsilon: Claim = None,
    confidence: Confidence = "0.999999",
    draws: Draws = None,
    as_json: Json = False,
    plot: Picture = None,
) -> None:
    """Release on the neighbors that press a mechanism hardest, and say which epsilon the releases prove.

    An audit refutes, and never proves: the proof of each mechanism stands in its documentation. No data of yours is
    read, and nothing is charged. Exit code 5: a claim is refuted. With --plot the case that proves most is drawn.

    Example: discreet audit laplace
    """
    claims = [_held(case, epsilon) for case in _cases(mechanism)]
    with working("releasing"):
        audits = [case.audit(draws=draws, confidence=confidence) for case in claims]
    worst = max(audits, key=lambda audited: (audited.refuted, audited.epsilon))
    if plot is not None:
        save_picture(worst.plot, plot)
    if as_json:
        print_json({"refuted": worst.refuted, "audits": [json.loads(audited.to_json()) for audited in audits]})
    else:
        lines = screen()
        for audited in audits:
            lines.print(escape(str(audited)))
    raise typer.Exit(5 if worst.refuted else 0)


def _cases(name: str) -> tuple[Case, ...]:
    """Find the cases of a mechanism, or name the nearest one."""
    from discreet.checks.audits import cases
    from discreet.exact import shown
    from discreet.tables.nearest import hint

    found = cases()
    kind = name.lower().replace("-", "_")
    if kind not in found:
        message = f"{shown(name)} is not audited.{hint(kind, list(found))} Audited are {', '.join(found)}."
        raise ParameterError(message)
    return found[kind]


def _held(case: Case, epsilon: str | None) -> Case:
    """Hold a case to another claim, if one is given."""
    if epsilon is None:
        return case
    from dataclasses import replace

    from discreet.privacy.curves import pure

    return replace(case, claim=pure(epsilon, neighbors=case.claim.neighbors))
