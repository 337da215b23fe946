"""The law of a noisy count, with one person in the data and without."""

from __future__ import annotations

import math

from docs.pictures.svg import BLUE, GRAY, INK, ORANGE, Drawing

EPSILON = 0.1
WITH, WITHOUT = 347, 346
REACH, ERROR_BAR = 45, 30
LEFT, WIDTH, BOTTOM, HEIGHT = 30.0, 660.0, 265.0, 200.0


def probability(noise: int) -> float:
    """The probability of one value of discrete Laplace noise of scale 1/epsilon."""
    p = math.exp(-EPSILON)
    return (1 - p) / (1 + p) * p ** abs(noise)


def pictures() -> dict[str, str]:
    """Draw both laws over each other."""
    drawing = Drawing(720, 330, "The probability of each answer, with Ann in the data and without her")
    column = WIDTH / (2 * REACH + 1)

    def left_edge(answer: int) -> float:
        return LEFT + (answer - WITH + REACH) * column

    def top(answer: int, center: int) -> float:
        return BOTTOM - HEIGHT * probability(answer - center) / probability(0)

    answers = range(WITH - REACH, WITH + REACH + 1)
    for answer in answers:
        y = top(answer, WITH)
        drawing.rectangle((left_edge(answer), y, column - 1, BOTTOM - y), BLUE, style='fill-opacity="0.35"')
    outline = [(x, top(a, WITHOUT)) for a in answers for x in (left_edge(a), left_edge(a) + column)]
    drawing.path(outline, ORANGE, style='stroke-width="1.6"')
    drawing.line((LEFT, BOTTOM), (LEFT + WIDTH, BOTTOM), INK)
    for answer in range(WITH - REACH - WITH % 5, WITH + REACH + 1, 5):
        if answer % 10 == 0 and answer in answers:
            drawing.text((left_edge(answer) + column / 2, BOTTOM + 18), str(answer), anchor="middle", size=12)
    low, high = left_edge(WITH - ERROR_BAR), left_edge(WITH + ERROR_BAR) + column
    drawing.line((low, BOTTOM + 34), (high, BOTTOM + 34), GRAY, style='stroke-width="2"')
    drawing.text(((low + high) / 2, BOTTOM + 52), "95 % of the answers", color=GRAY, anchor="middle")
    drawing.rectangle((LEFT, 22, 14, 14), BLUE, style='fill-opacity="0.35"')
    drawing.text((LEFT + 22, 34), "Ann is in the data")
    drawing.line((LEFT, 52), (LEFT + 14, 52), ORANGE, style='stroke-width="2"')
    drawing.text((LEFT + 22, 57), "Ann is not")
    drawing.text((LEFT + WIDTH, 34), "probability of each answer, epsilon = 1/10", color=GRAY, anchor="end")
    return {"neighbors.svg": drawing.render()}
