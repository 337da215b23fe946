"""A made-up hospital for the demo: the same patients everywhere, and none of them real."""

from __future__ import annotations

import csv
import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["POLICY", "WARDS", "Patient", "patients", "write_hospital"]

WARDS = ("cardiology", "maternity", "oncology", "surgery")
_DIAGNOSES = {
    "cardiology": ("arrhythmia", "heart failure", "hypertension"),
    "maternity": ("birth", "pregnancy"),
    "oncology": ("leukemia", "lymphoma", "melanoma"),
    "surgery": ("appendicitis", "fracture", "hernia"),
}
_COSTS = {"cardiology": 3200, "maternity": 2100, "oncology": 7400, "surgery": 4100}
_PATIENTS = 5_000
_STREETS = 40

POLICY = """\
# What is public about the hospital. Bounds and keys come from outside knowledge, never from the data.
[dataset]
id = "hospital"

[source]
url = "."                            # a folder with patients.csv and visits.csv

[budget]
epsilon = 3                          # all that may ever be spent on these patients
delta = 1e-6

[tables.patients]
unit = "patient_id"                  # who is protected: all rows of a patient, in all tables
unit_kind = "patient"
unique = ["patient_id"]

[tables.patients.columns]
birth_year = { lower = 1920, upper = 2026, nullable = false }
sex = { keys = ["f", "m"], nullable = false }
street = { lower = 1, upper = 40, nullable = false }
cancer = { keys = ["no", "yes"], nullable = false }

[tables.visits]
unit = "patient_id"
unit_kind = "patient"
rows_per_unit = 4                    # of a patient with more visits, four are kept

[tables.visits.columns]
ward = { keys = ["cardiology", "maternity", "oncology", "surgery"], nullable = false }
day = { lower = 2026-01-01, upper = 2026-06-30, nullable = false }
cost = { lower = 0, upper = 12_000, nullable = false }
diagnosis = { type = "text", nullable = false }
"""


@dataclass(frozen=True, slots=True)
class Patient:
    """One made-up patient.

    >>> next(patients()).number
    0
    """

    number: int
    birth_year: int
    sex: str
    street: int
    visits: tuple[tuple[str, dt.date, int, str], ...]

    @property
    def cancer(self) -> bool:
        """Whether a visit was for cancer."""
        return any(ward == "oncology" for ward, *_ in self.visits)


def _mixed(*parts: int) -> int:
    """Give a number that looks arbitrary and is always the same: it makes up data, and protects nobody."""
    mixed = 0x9E3779B97F4A7C15
    for part in parts:
        mixed = (mixed ^ part) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
        mixed ^= mixed >> 31
    return mixed


def patients() -> Iterator[Patient]:
    """Make up the patients, one after the other.

    >>> everybody = list(patients())
    >>> len(everybody), sum(patient.cancer for patient in everybody)
    (5000, 931)
    """
    for number in range(_PATIENTS):
        sex = "fm"[_mixed(number, 1) % 2]
        age = 1 + (_mixed(number, 2) % 50 + _mixed(number, 3) % 48)
        visits = tuple(_visit(number, place, sex, age) for place in range(1 + _mixed(number, 4) % 4))
        yield Patient(number, 2026 - age, sex, 1 + _mixed(number, 5) % _STREETS, visits)


def _visit(number: int, place: int, sex: str, age: int) -> tuple[str, dt.date, int, str]:
    """Make up a visit; whoever is older comes more often to oncology and cardiology."""
    roll = _mixed(number, place, 6) % 100
    fertile = sex == "f" and 18 <= age <= 44
    ward = (
        "maternity"
        if fertile and roll < 30
        else "oncology"
        if roll < 4 + age // 8
        else "cardiology"
        if roll < 10 + age // 2
        else "surgery"
    )
    day = dt.date(2026, 1, 1) + dt.timedelta(days=_mixed(number, place, 7) % 181)
    cost = _COSTS[ward] // 4 + _mixed(number, place, 8) % _COSTS[ward] + 20 * age
    names = _DIAGNOSES[ward]
    return ward, day, cost, names[_mixed(number, place, 9) % len(names)]


def write_hospital(folder: Path, everybody: Sequence[Patient]) -> Path:
    """Write two tables and a policy into a folder; give the policy's path."""
    with (folder / "patients.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["patient_id", "birth_year", "sex", "street", "cancer"])
        rows.writerows(
            (f"p{person.number:05}", person.birth_year, person.sex, person.street, "yes" if person.cancer else "no")
            for person in everybody
        )
    with (folder / "visits.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["patient_id", "ward", "day", "cost", "diagnosis"])
        rows.writerows((f"p{person.number:05}", *visit) for person in everybody for visit in person.visits)
    policy = folder / "hospital.toml"
    policy.write_text(POLICY, encoding="utf-8")
    return policy
