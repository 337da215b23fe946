"""How a holdout is worn out by those who ask it, and how one is not that answers from the training set."""

from __future__ import annotations

import math

import numpy as np

from discreet.methods.adaptive import Lord, Saffron, Thresholdout, adaptive_questions
from discreet.noise.sealed import SealedBits
from docs.pictures.svg import BLUE, GRAY, INK, ORANGE, Drawing

ROWS, ATTRIBUTES = 2_000, 2_000
SIZES = (5, 10, 20, 40, 70, 100, 150, 200, 300, 400, 500)
PANEL = (300, 190)


def panel(sheet: Drawing, left: float, title: str, lines: dict[str, tuple[list[float], str, str]]) -> None:
    """Draw curves of accuracy over the number of attributes; each has its color, its style and its name at its end."""
    top, (width, height) = 44.0, PANEL
    sheet.text((left, 24), title, size=14)
    sheet.rectangle((left, top, width, height), "none", style=f'stroke="{GRAY}"')

    def at(size: float, value: float) -> tuple[float, float]:
        return left + size / 500 * width, top + (0.85 - value) / 0.4 * height

    for value in (0.5, 0.6, 0.7, 0.8):
        sheet.line(at(0, value), at(500, value), "#e4e6ea")
        sheet.text((left - 6, at(0, value)[1] + 4), f"{value:.0%}", color=GRAY, anchor="end", size=11)
    for size in (0, 250, 500):
        sheet.text((at(size, 0.45)[0], top + height + 16), str(size), color=GRAY, anchor="middle", size=11)
    for name, (values, color, style) in lines.items():
        sheet.path([at(size, value) for size, value in zip(SIZES, values, strict=True)], color, style=style)
        x, y = at(SIZES[-1], values[-1])
        sheet.text((x + 6, y + 4), name, color=color, size=12)
    sheet.text(
        (left + width / 2, top + height + 34), "attributes in the classifier", color=GRAY, anchor="middle", size=12
    )


def scores(seed: int) -> dict[str, list[float]]:
    """Report accuracies where labels have nothing to do with attributes, for both ways of using a holdout."""
    rng = np.random.default_rng(seed)
    sets = []
    for _ in range(3):
        attributes = 2 * rng.integers(0, 2, (ROWS, ATTRIBUTES)).astype(np.int64) - 1
        sets.append((attributes, 2 * rng.integers(0, 2, ROWS) - 1))
    train, held = (attributes.T @ labels for attributes, labels in sets[:2])
    bits = SealedBits(bytes(32), 0)
    made = Thresholdout(ROWS, threshold="0.09", tolerance="0.0005", answers=2 * len(SIZES))
    told: dict[str, list[float]] = {}
    for way in ("standard", "reusable"):
        good = (train * held > 0) & (np.abs(held) >= math.isqrt(ROWS)) if way == "standard" else np.abs(train) > 0
        order = np.argsort(-np.where(good, np.abs(train), -1), kind="stable")
        for size in SIZES:
            chosen = order[:size]
            right = [
                float((np.sign(attributes[:, chosen] @ np.sign(train[chosen]) + 0.5) == labels).mean())
                for attributes, labels in sets
            ]
            if way == "reusable":
                right[1] = made.release([(right[0], right[1])], bits=bits).value[0]
            for name, value in zip(("training set", "holdout", "fresh rows"), right, strict=True):
                told.setdefault(f"{way} {name}", []).append(value)
    return told


def holdouts() -> str:
    """Draw both ways side by side."""
    told, sheet = scores(4), Drawing(880, 280, "What a holdout reports, asked naively and through Thresholdout")
    for place, (way, title) in enumerate(
        (("standard", "A holdout that also chose the attributes"), ("reusable", "The same through Thresholdout"))
    ):
        lines = {
            "training set": (told[f"{way} training set"], GRAY, 'stroke-width="2"'),
            "holdout": (told[f"{way} holdout"], ORANGE, 'stroke-width="3"'),
            "fresh rows": (told[f"{way} fresh rows"], BLUE, 'stroke-width="2" stroke-dasharray="5 4"'),
        }
        panel(sheet, 48 + 430 * place, title, lines)
    return sheet.render()


def questions() -> str:
    """Draw how many adaptive questions a sample answers, by its size."""
    sheet = Drawing(640, 300, "How many adaptive questions a sample answers within 0.1")
    left, top, width, height = 70.0, 40.0, 430.0, 200.0
    sheet.text((left, 24), "adaptive questions that n rows answer within ± 0.1, with 95 % confidence", size=14)
    sheet.rectangle((left, top, width, height), "none", style=f'stroke="{GRAY}"')
    sizes = [10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7]
    found = [adaptive_questions(n, error=0.1) for n in sizes]

    def at(n: float, count: float) -> tuple[float, float]:
        return left + (math.log10(n) - 4) / 3 * width, top + height - math.log10(count) / 7 * height

    for power in range(0, 8, 2):
        sheet.line(at(10**4, 10**power), at(10**7, 10**power), "#e4e6ea")
        sheet.text((left - 6, at(10**4, 10**power)[1] + 4), f"{10**power:,}", color=GRAY, anchor="end", size=11)
    for power in range(4, 8):
        x = at(10**power, 1)[0]
        sheet.text((x, top + height + 16), f"{10**power:,}", color=GRAY, anchor="middle", size=11)
    for name, counts, color in (
        ("with noise", [each.private for each in found], BLUE),
        ("split rows", [each.split for each in found], ORANGE),
    ):
        sheet.path(
            [at(n, max(1, count)) for n, count in zip(sizes, counts, strict=True)], color, style='stroke-width="3"'
        )
        x, y = at(sizes[-1], counts[-1])
        sheet.text((x + 8, y + 4), name, color=color)
    sheet.text((left + width / 2, top + height + 36), "rows", color=GRAY, anchor="middle", size=12)
    return sheet.render()


def levels() -> str:
    """Draw p-values as they come, and the levels of two rules."""
    rng = np.random.default_rng(11)
    signal = rng.random(120) < 0.2
    values = np.where(signal, 10.0 ** -(1 + 5 * rng.random(120)), rng.random(120))
    rules = {"LORD++": (Lord("0.1"), ORANGE), "SAFFRON": (Saffron("0.1"), BLUE)}
    sheet = Drawing(760, 300, "P-values one after the other, and the levels that decide them")
    left, top, width, height = 60.0, 40.0, 610.0, 200.0
    sheet.text((left, 24), "120 tests in their order; below a line it is a discovery", size=14)
    sheet.rectangle((left, top, width, height), "none", style=f'stroke="{GRAY}"')

    def at(place: float, value: float) -> tuple[float, float]:
        return left + place / 120 * width, top + min(1.0, -math.log10(value) / 6) * height

    for power in range(0, 7, 2):
        sheet.text(
            (left - 6, at(0, 10.0**-power)[1] + 4), f"1e-{power}" if power else "1", color=GRAY, anchor="end", size=11
        )
    for place, (value, real) in enumerate(zip(values, signal, strict=True)):
        sheet.circle(at(place + 0.5, float(value)), 3.2, INK if real else "#c4c8cf")
    for name, (rule, color) in rules.items():
        points = []
        for place, value in enumerate(values):
            points += [at(place, rule.level), at(place + 1, rule.level)]
            rule.test(float(value))
        sheet.path(points, color, style='stroke-width="2"')
        sheet.text((points[-1][0] + 8, points[-1][1] + 4), f"{name}: {rule.discoveries}", color=color)
    sheet.text((left, top + height + 24), "dark: something to discover; light: nothing", color=GRAY, size=12)
    return sheet.render()


def pictures() -> dict[str, str]:
    """All three."""
    return {"holdouts.svg": holdouts(), "adaptive-questions.svg": questions(), "levels.svg": levels()}
