"""`discreet audit`: attack the promise of a mechanism or a question with its releases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from discreet.apps.cli.opening import Analyst, Purpose, open_books, read_policy
from discreet.apps.cli.options import Json, Picture, number_option, print_json, save_picture
from discreet.apps.cli.screen import screen, working
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.checks.audits import Audit, Case

__all__ = ["SECTION", "app"]

SECTION = "Calculate"

app = typer.Typer(add_completion=False)

Target = Annotated[
    str, typer.Argument(metavar="TARGET", help="A mechanism, such as laplace or noisy_max; or a policy file.")
]
Asked = Annotated[str | None, typer.Argument(metavar="SQL", help="Of a policy: the question, in quotes.")]
Confidence = Annotated[str, number_option("How sure a refutation must be.")]
Epsilon = Annotated[
    str | None, number_option("Of a mechanism: hold it to this, not to its own promise. Of a question: its price.")
]
Rho = Annotated[str | None, number_option("Of a question: its price in zCDP, instead of --epsilon.")]
Delta = Annotated[str | None, number_option("Of a question: the delta of its price.", "--delta")]
Claim = Annotated[str | None, number_option("Of a question: hold it to this epsilon, not to its own promise.")]
Draws = Annotated[int | None, typer.Option(metavar="COUNT", help="Releases on each of two neighbors.")]
Keep = Annotated[bool, typer.Option("--keep", help="Of a question: write the result into the policy's ledger.")]


@app.command()
def audit(
    target: Target,
    sql: Asked = None,
    *,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    claim: Claim = None,
    confidence: Confidence = "0.999999",
    draws: Draws = None,
    analyst: Analyst = None,
    purpose: Purpose = None,
    keep: Keep = False,
    as_json: Json = False,
    plot: Picture = None,
) -> None:
    """Release on neighbors that press a promise hard, and say which epsilon the releases prove.

    A mechanism is put on the neighbors of its family; a question on tables that are made up from the policy alone, with
    a ledger in memory. No data of yours is read, and nothing is charged. An audit refutes, and never proves: the proof
    of each mechanism stands in its documentation. Exit code 5: a claim is refuted, by all releases together as surely
    as you ask. With --plot the case that proves most is drawn.

    Example: discreet audit laplace
    """
    if sql is None and not target.endswith(".toml"):
        if keep or any(option is not None for option in (rho, delta, claim, analyst, purpose)):
            message = "of these options only --epsilon, --confidence and --draws are for a mechanism; leave others out."
            raise ParameterError(message)
        audits = _audit_mechanism(target, epsilon, confidence, draws)
    else:
        if sql is None:
            message = f"the question is missing; write it in quotes behind {target}."
            raise ParameterError(message)
        audits = [
            _audit_question(Path(target), sql, (epsilon, rho, delta), claim, confidence, draws, (analyst, purpose))
        ]
        if keep:
            _keep(Path(target), audits[0])
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


def _audit_mechanism(name: str, epsilon: str | None, confidence: str, draws: int | None) -> list[Audit]:
    """Audit all cases of a mechanism; they share what the confidence leaves, so that it holds for all together."""
    from discreet.exact import rational

    claims = _held(_cases(name), epsilon)
    each = 1 - (1 - rational(confidence, name="confidence")) / len(claims)
    with working("releasing"):
        return [case.audit(draws=draws, confidence=each) for case in claims]


def _audit_question(  # noqa: PLR0917 - the command's options
    policy: Path,
    sql: str,
    price: tuple[str | None, str | None, str | None],
    claim: str | None,
    confidence: str,
    draws: int | None,
    whose: tuple[str | None, str | None],
) -> Audit:
    """Audit a question of a policy; no check of the owner's is relied on, as the ledger is not opened."""
    from discreet.checks.audits import audit_question
    from discreet.checks.audits.questions import DRAWS
    from discreet.plans.shell import read_sql
    from discreet.privacy.curves import pure

    stated = read_policy(policy)
    epsilon, rho, delta = price
    with working("releasing"):
        return audit_question(
            read_sql(stated, sql),
            asked=sql,
            analyst=whose[0],
            purpose=whose[1],
            epsilon=epsilon,
            rho=rho,
            delta=delta,
            claim=None if claim is None else pure(claim, neighbors=stated.budget.neighbors),
            draws=DRAWS if draws is None else draws,
            confidence=confidence,
        )


def _keep(policy: Path, audit: Audit) -> None:
    with open_books(policy) as ledger:
        audit.keep(ledger)


def _cases(name: str) -> tuple[Case, ...]:
    """Find the cases of a mechanism, or name the nearest one."""
    from discreet.checks.audits import cases
    from discreet.exact import shown
    from discreet.tables.nearest import hint

    audited = cases()
    kind = name.lower().replace("-", "_")
    if kind not in audited:
        message = f"{shown(name)} is not audited.{hint(kind, list(audited))} Audited are {', '.join(audited)}."
        raise ParameterError(message)
    return audited[kind]


def _held(cases: tuple[Case, ...], epsilon: str | None) -> list[Case]:
    """Hold cases to another claim, if one is given; of several those that promise no more than that, if there are any.

    Some cases show what a mechanism promises on harder inputs than its sensitivity says, and promise less privacy.
    """
    if epsilon is None:
        return list(cases)
    from dataclasses import replace

    from discreet.exact import rational
    from discreet.privacy.curves import pure

    most = float(rational(epsilon, name="epsilon"))
    no_more = [case for case in cases if case.claim.epsilon(case.delta) <= most * (1 + 1e-9)]
    return [replace(case, claim=pure(epsilon, neighbors=case.claim.neighbors)) for case in no_more or cases]
