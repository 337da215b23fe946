"""What a synthetic table keeps: how two columns hang together, as it is, and as two synthesizers draw it."""

from __future__ import annotations

import numpy as np

from discreet.methods.synthesis import Domain, Synthesis
from discreet.methods.workloads import Records
from discreet.noise.sealed import SealedBits
from discreet.tables import Column
from docs.pictures.svg import GRAY, Drawing

ROWS, SCHOOLING, INCOME = 4_000, 8, 10
CELL = 22.0


def survey() -> np.ndarray:
    """A made-up survey: years of schooling, and income, which rises with it."""
    rng = np.random.default_rng(3)
    schooling = np.minimum(rng.poisson(3.2, ROWS), SCHOOLING - 1)
    income = np.clip(np.rint(schooling + rng.normal(0.5, 1.4, ROWS)), 0, INCOME - 1).astype(np.int64)
    return np.stack([schooling, income], axis=1)


def kept() -> str:
    """Draw the counts of both columns together: exact, by AIM, and by independent columns."""
    rows = survey()
    whole = [
        Column("schooling", lower=0, upper=SCHOOLING - 1, nullable=False),
        Column("income", lower=0, upper=INCOME - 1, nullable=False),
    ]
    domain = Domain.declared(whole)
    tables = {"the survey": Records(domain.sizes, rows).marginal((0, 1)).astype(float)}
    for method, name in (("aim", "AIM, ε = 1"), ("independent", "independent columns, ε = 1")):
        made = Synthesis(domain, method=method, epsilon=1, delta="1e-6")
        tables[name] = made.release(rows, bits=SealedBits(bytes(32), 0)).value.marginal("schooling", "income").values
    sheet = Drawing(800, 270, "Schooling and income in a survey and in two synthetic ones")
    most = max(float(table.max()) for table in tables.values())
    for place, (name, table) in enumerate(tables.items()):
        left = 40.0 + 260 * place
        sheet.text((left, 24), name, size=14)
        for (schooling, income), count in np.ndenumerate(table):
            shade = round(255 - 200 * min(1.0, float(count) / most))
            box = (left + CELL * schooling, 40 + CELL * (INCOME - 1 - income), CELL - 1, CELL - 1)
            sheet.rectangle(box, f"rgb({shade},{shade},255)")
        sheet.text((left, 40 + CELL * INCOME + 18), "schooling →, income ↑", color=GRAY, size=11)
    return sheet.render()


def pictures() -> dict[str, str]:
    """Return every picture of this script by its file name."""
    return {"synthetic-table.svg": kept()}
