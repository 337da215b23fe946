"""The sorted degrees of a made-up network: true, noisy, and fitted to be sorted."""

from __future__ import annotations

import math
import random

import numpy as np

from discreet.inference import isotonic
from docs.pictures.svg import BLUE, GRAY, INK, ORANGE, Drawing

PEOPLE, SCALE = 2000, 2.0


def sorted_degrees() -> list[int]:
    """The network of the tutorial."""
    draw, ends, degrees = random.Random(7), [0, 1], [1, 1]  # noqa: S311 - made-up people, no noise
    for person in range(2, PEOPLE):
        degrees.append(0)
        for friend in {draw.choice(ends), draw.choice(ends)}:
            degrees[friend] += 1
            degrees[person] += 1
            ends += [friend, person]
    return sorted(degrees)


def noise(place: int) -> float:
    """Return a quantile of Laplace noise: a lattice stands for draws, so that the picture is always the same."""
    share = (place**2 * (math.sqrt(5) - 1) / 2) % 1.0 - 0.5
    return -SCALE * math.copysign(math.log(max(1 - 2 * abs(share), 1e-9)), share)


def pictures() -> dict[str, str]:
    """Draw the last third of the list, where degrees differ."""
    truth = sorted_degrees()
    noisy = [degree + noise(place) for place, degree in enumerate(truth, start=1)]
    fitted = isotonic(np.array(noisy)).tolist()
    drawing = Drawing(760, 330, "Sorted degrees of a network: true, noisy, and fitted to be sorted")
    first, most = PEOPLE - 700, 40

    def at(place: int, value: float) -> tuple[float, float]:
        return 46 + (place - first), 290 - 6.4 * min(max(value, -2), most)

    for value in range(0, most + 1, 10):
        drawing.line(at(first, value), at(PEOPLE, value), "#e5e7eb")
        drawing.text((38, at(first, value)[1] + 4), str(value), anchor="end", size=11)
    for place in range(first, PEOPLE):
        drawing.circle(at(place, noisy[place]), 1.3, GRAY)
    drawing.path([at(place, truth[place]) for place in range(first, PEOPLE)], BLUE, style='stroke-width="4"')
    drawing.path([at(place, fitted[place]) for place in range(first, PEOPLE)], ORANGE, style='stroke-width="1.8"')
    for row, (words, color) in enumerate((("with noise of scale 2", GRAY), ("true", BLUE), ("fitted", ORANGE))):
        drawing.text((70, 36 + 19 * row), words, color=color)
    drawing.text((396, 322), "people, from fewest to most friends (the last 700 of 2000)", color=INK, anchor="middle")
    return {"degrees.svg": drawing.render()}
