"""The story of `discreet demo`: a hospital asks, pays, is refused, and is attacked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.apps.cli.hospital import patients, write_hospital
from discreet.apps.cli.screen import charge_text, table
from discreet.checks.attacks import Averaging, Differencing, Target, averaging, differencing
from discreet.database import Database
from discreet.database import open as open_policy
from discreet.errors import QueryRefused
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy.curves import pure
from discreet.privacy.meanings import attacker_accuracy
from discreet.releases.showing.texts import cell_text
from discreet.tables import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from discreet.apps.cli.hospital import Patient
    from discreet.releases.showing.shown import ShownAnswer

__all__ = ["Scene", "story"]

QUESTION = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"
SPELLED = "select v.ward, count(*) visits, avg(v.cost) as cost from visits v group by 1"
FORBIDDEN = "SELECT patient_id, diagnosis FROM visits"
CANCER = "SELECT COUNT(*) AS n FROM patients WHERE cancer = 'yes'"
PRICE = "0.3"
DIFFERENCING_PRICE = "0.1"
AVERAGING_PRICE = "0.2"
_TARGETS = 20
_ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class Scene:
    """One step of the story: what is shown to a person, and the same for a program.

    >>> Scene("ask", "Ask", ("text",), {"n": 1}).title
    'Ask'
    """

    name: str
    title: str
    shown: tuple[object, ...]
    record: dict[str, object]

    def show(self, lines: Console) -> None:
        """Print the step for a person."""
        lines.print(f"\n[bold magenta]{self.title}[/]")
        for part in self.shown:
            lines.print(part)


def story(folder: Path) -> Iterator[Scene]:
    """Make a hospital in a folder, ask, repeat, be refused, attack; each step is given as soon as it is done."""
    everybody = list(patients())
    policy = write_hospital(folder, everybody)
    visits = sum(len(patient.visits) for patient in everybody)
    yield Scene(
        "hospital",
        f"A hospital: {len(everybody):,} patients, {visits:,} visits",
        (f"made up, in {folder}", "its policy promises ε = 3, δ = 1e-6 for everything that will ever be answered"),
        {"folder": str(folder), "patients": len(everybody), "visits": visits},
    )
    with open_policy(policy) as db:
        yield from _asked(db)
        yield _repeated(db)
        yield _refused(db)
        yield Scene("budget", "What is left", (str(db.budget),), db.budget.to_dict())
    yield _attacked_by_differencing(policy, everybody)
    yield _attacked_by_averaging(policy, everybody)


def _asked(db: Database) -> Iterator[Scene]:
    """Preview a question, then pay for it."""
    question = db.sql(QUESTION)
    preview = question.preview(epsilon=PRICE, expected_count=1000)
    errors = {name: error for name, error in preview.errors.items() if error is not None}
    foreseen = ", ".join(f"{name} ± {math.ceil(error):,}" for name, error in errors.items())
    yield Scene(
        "preview",
        "A question, before it costs anything",
        (f"[cyan]{QUESTION}[/]", f"for ε = {PRICE} it would be {foreseen} (means: for 1,000 visits in a ward)"),
        {"sql": QUESTION, "errors": errors},
    )
    answer = question.release(epsilon=PRICE)
    yield Scene(
        "answer",
        "The answer",
        (_laid_out(answer), f"each ± holds with 95 %; promise: {answer.promise}; charged: {charge_text(answer.cost)}"),
        {"rows": answer.to_dicts(), "errors": answer.errors(), "promise": answer.promise},
    )


def _laid_out(answer: ShownAnswer) -> object:
    rows = [[cell_text(cell.value, cell.error, exact=cell.exact) for cell in row.values()] for row in answer.cells()]
    return table(answer.columns, rows, numbers=answer.columns[1:])


def _repeated(db: Database) -> Scene:
    """Ask the same in other words: the stored answer, for nothing."""
    before, first = db.remaining, db.sql(QUESTION).release(epsilon=PRICE)
    again = db.sql(SPELLED).release(epsilon=PRICE)
    same, free = again.to_dicts() == first.to_dicts(), db.remaining == before
    return Scene(
        "repeat",
        "The same question again, in other words",
        (f"[cyan]{SPELLED}[/]", f"same numbers: {_yes(same)}; free: {_yes(free)}; asking twice gives nothing away"),
        {"sql": SPELLED, "same": same, "free": free},
    )


def _yes(fact: object) -> str:
    return "[green]yes[/]" if fact else "[red]no[/]"


def _refused(db: Database) -> Scene:
    """Ask for rows: no."""
    try:
        db.sql(FORBIDDEN)
        text = ""
    except QueryRefused as refusal:
        text = str(refusal)
    return Scene(
        "refusal",
        "A question that is refused, before any data is touched",
        (f"[cyan]{FORBIDDEN}[/]", text.replace("[", "\\[")),
        {"sql": FORBIDDEN, "refusal": text},
    )


def _targets(everybody: Sequence[Patient]) -> list[Target]:
    """Choose patients whom year of birth, sex and street single out: as many with cancer as without."""
    seen: dict[tuple[int, str, int], int] = {}
    for patient in everybody:
        seen[patient.birth_year, patient.sex, patient.street] = (
            seen.get((patient.birth_year, patient.sex, patient.street), 0) + 1
        )
    alone = [patient for patient in everybody if seen[patient.birth_year, patient.sex, patient.street] == 1]
    chosen = [
        person
        for secret in (True, False)
        for person in [patient for patient in alone if patient.cancer is secret][: _TARGETS // 2]
    ]
    return [
        Target(
            f"p{patient.number:05}",
            whole=CANCER,
            rest=(
                f"{CANCER} AND NOT (birth_year = {patient.birth_year} AND sex = '{patient.sex}' "
                f"AND street = {patient.street})"
            ),
            secret=patient.cancer,
        )
        for patient in chosen
    ]


def _attacked_by_differencing(policy: Path, everybody: Sequence[Patient]) -> Scene:
    """Count everybody with cancer, with and without one patient, and subtract."""
    targets = _targets(everybody)
    total = sum(patient.cancer for patient in everybody)
    exact = {CANCER: total, **{target.rest: total - target.secret for target in targets}}
    told = differencing(exact.__getitem__, targets)
    with _attackers(policy) as db:
        ours = differencing(lambda sql: _count(db, sql, DIFFERENCING_PRICE), targets)
    most = attacker_accuracy(pure(DIFFERENCING_PRICE) * 2)
    return Scene(
        "differencing",
        "Attack 1: how many have cancer, with and without one patient?",
        (
            table(
                ["answers", "secrets told", "right"],
                [
                    ["exact", f"{told.right} of {told.targets}", f"{told.accuracy:.0%}"],
                    ["Discreet", f"{ours.right} of {ours.targets}", f"{ours.accuracy:.0%}"],
                    ["a coin", "", "50%"],
                ],
                numbers=["secrets told", "right"],
            ),
            f"two questions at ε = {DIFFERENCING_PRICE} promise: right in at most {100 * most:.1f} % in the long run",
        ),
        {"exact": _differencing(told), "discreet": _differencing(ours), "promised": most},
    )


def _attacked_by_averaging(policy: Path, everybody: Sequence[Patient]) -> Scene:
    """Ask again and again, each time a little differently, and average the noise away."""
    truth = sum(patient.cancer for patient in everybody)
    careless = DiscreteLaplace(sensitivity=1, epsilon=AVERAGING_PRICE)
    naive = averaging(lambda _: float(careless.release(truth).value), [CANCER] * 4_000, truth=truth)
    with _attackers(policy) as db:
        same = averaging(lambda sql: _count(db, sql, AVERAGING_PRICE), [CANCER] * 5, truth=truth)
        varied = [f"{CANCER} AND street <= {40 + extra}" for extra in range(1, _ATTEMPTS)]
        ours = averaging(lambda sql: _count(db, sql, AVERAGING_PRICE), [CANCER, *varied], truth=truth)
    alone = careless.error(confidence=0.95)
    rows = [
        _averaged("noise, uncounted", naive, alone),
        _averaged("Discreet, asked again", same, alone),
        _averaged("Discreet, asked anew", ours, alone),
    ]
    columns = ["answers from", "asked", "different", "refused", "mean ±", "off by"]
    return Scene(
        "averaging",
        "Attack 2: ask until the noise is gone",
        (
            table(columns, rows, numbers=columns[1:]),
            f"each answer costs ε = {AVERAGING_PRICE}; a mean within ± 1 would show a single patient",
            "the ledger ends the attack before that",
        ),
        {"uncounted": _averaging(naive), "same": _averaging(same), "other": _averaging(ours)},
    )


def _attackers(policy: Path) -> Database:
    """Open the hospital for an attacker who has the whole budget to herself."""
    return Database(Policy.read(policy), file=policy, ledger="memory")


def _count(db: Database, sql: str, price: str) -> float:
    return float(db.sql(sql).release(epsilon=price).to_dicts()[0]["n"])


def _averaged(who: str, averaging: Averaging, alone: float) -> list[str]:
    """Write what averaging brought: k independent answers leave 1/√k of one answer's ±, equal ones leave all of it."""
    left = alone if averaging.different == 1 else alone / math.sqrt(averaging.answered)
    numbers = (f"{averaging.answered + averaging.refused:,}", f"{averaging.different:,}", f"{averaging.refused:,}")
    return [who, *numbers, f"{left:.2g}", f"{averaging.error:.2g}"]


def _differencing(attack: Differencing) -> dict[str, object]:
    return {"targets": attack.targets, "right": attack.right, "refused": attack.refused, "accuracy": attack.accuracy}


def _averaging(attack: Averaging) -> dict[str, object]:
    return {
        "answered": attack.answered,
        "refused": attack.refused,
        "different": attack.different,
        "error": attack.error,
    }
