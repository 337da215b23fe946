"""Three places to put the noise of a logistic regression, and how well each does for its epsilon."""

from __future__ import annotations

import math

import numpy as np

from discreet.engines.bounded_rows import BoundedRows
from discreet.methods.learning import LogisticRegression
from discreet.methods.learning.tabular.estimator import Task
from discreet.methods.learning.tabular.features import Feature, Features
from discreet.methods.learning.tabular.training import Goal
from discreet.noise.sealed import SealedBits
from docs.pictures.svg import BLUE, GRAY, INK, ORANGE, Drawing

EPSILONS = ("0.05", "0.1", "0.2", "0.5", "1", "2", "5")
ROWS, REPEATS = 3_000, 6
COLORS = {"gradient": (BLUE, ""), "objective": (ORANGE, ""), "output": (INK, ' stroke-dasharray="5 4"')}


def accuracies() -> dict[str, list[float]]:
    """Score each method at each epsilon on rows that it was not trained on, as the mean of a few trainings."""
    chance = np.random.default_rng(6)
    x = chance.uniform(-1, 1, (2 * ROWS, 8))
    y = (x @ chance.normal(size=8) + chance.normal(0, 0.5, 2 * ROWS) > 0).astype(int)
    columns = tuple(Feature(f"x{place}", -1, 1) for place in range(8))
    target = Feature("y", keys=(0, 1))
    given = {f"x{place}": x[:ROWS, place] for place in range(8)} | {"y": y[:ROWS]}
    rows = BoundedRows.of(given, [feature.column for feature in (*columns, target)])
    told: dict[str, list[float]] = {}
    for method in COLORS:
        for number, epsilon in enumerate(EPSILONS):
            task = Task(Features(columns), target, Goal.of(epsilon=epsilon, delta="1e-6"))
            right = []
            for repeat in range(REPEATS):
                bits = SealedBits(bytes([number, repeat] * 16), 0)
                value, _ = LogisticRegression(method=method)._fitted(rows, task, bits)  # noqa: SLF001 - with these bits
                scores = np.column_stack([np.ones(ROWS), x[ROWS:]]) @ value["weights"][:, 0]
                right.append(float(((scores > 0) == y[ROWS:]).mean()))
            told.setdefault(method, []).append(round(float(np.mean(right)), 3))
    return told


def places() -> str:
    """Draw accuracy against epsilon."""
    sheet = Drawing(640, 310, "How often three private logistic regressions are right, by epsilon")
    left, top, width, height = 60.0, 40.0, 440.0, 210.0
    sheet.text((left, 24), "share of new rows that is classified right, by epsilon", size=14)
    sheet.rectangle((left, top, width, height), "none", style=f'stroke="{GRAY}"')

    def at(epsilon: float, value: float) -> tuple[float, float]:
        return left + math.log(epsilon / 0.05) / math.log(100) * width, top + (0.95 - value) / 0.45 * height

    for value in (0.5, 0.6, 0.7, 0.8, 0.9):
        sheet.line(at(0.05, value), at(5, value), "#e4e6ea")
        sheet.text((left - 6, at(0.05, value)[1] + 4), f"{value:.0%}", color=GRAY, anchor="end", size=11)
    for epsilon in EPSILONS:
        sheet.text((at(float(epsilon), 0.5)[0], top + height + 16), epsilon, color=GRAY, anchor="middle", size=11)
    for place, (method, values) in enumerate(accuracies().items()):
        color, dashes = COLORS[method]
        points = [at(float(epsilon), value) for epsilon, value in zip(EPSILONS, values, strict=True)]
        sheet.path(points, color, style=f'stroke-width="3"{dashes}')
        y = top + 40 + 24 * place
        sheet.path([(left + width + 12, y - 4), (left + width + 40, y - 4)], color, style=f'stroke-width="3"{dashes}')
        sheet.text((left + width + 46, y), method, color=color)
    sheet.text((left + width / 2, top + height + 36), "epsilon", color=GRAY, anchor="middle", size=12)
    return sheet.render()


def pictures() -> dict[str, str]:
    """Return each picture by its file's name."""
    return {"noise-places.svg": places()}
