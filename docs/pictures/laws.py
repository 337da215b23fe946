"""The laws of the noise families: probabilities of integers as bars, densities as curves on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from statistics import NormalDist

from docs.pictures.svg import BLUE, GRAY, INK, ORANGE, Drawing

Law = Callable[[float], float]
LEFT, WIDTH, BOTTOM, HEIGHT = 50.0, 640.0, 220.0, 180.0
NORMAL = NormalDist()
DECADES = 6


def bars(title: str, law: Law, *, reach: int, shift: int, step: float = 1) -> str:
    """Draw the probability of each point as a bar, and the neighbor's law, `shift` points away, as an outline."""
    drawing = Drawing(720, 260, title)
    column = WIDTH / (2 * reach + 1)
    largest = max(law(k) for k in range(-reach, reach + 1))

    def top(k: int) -> float:
        return BOTTOM - HEIGHT * law(k) / largest

    outline = []
    for k in range(-reach, reach + 1):
        left = LEFT + (k + reach) * column
        drawing.rectangle((left, top(k), column - 1, BOTTOM - top(k)), BLUE, style='fill-opacity="0.35"')
        outline += [(left, top(k - shift)), (left + column, top(k - shift))]
        if k % max(1, reach // 5) == 0:
            drawing.text((left + column / 2, BOTTOM + 18), f"{k * step:g}", anchor="middle", size=12)
    drawing.path(outline, ORANGE, style='stroke-width="1.6"')
    drawing.line((LEFT, BOTTOM), (LEFT + WIDTH, BOTTOM), INK)
    legend(drawing, [(BLUE, "true value 0"), (ORANGE, f"true value {shift * step:g}")])
    return drawing.render()


def legend(drawing: Drawing, entries: list[tuple[str, str]]) -> None:
    """Name the colors in the upper left corner."""
    for row, (color, words) in enumerate(entries):
        drawing.line((LEFT, 26 + 20 * row), (LEFT + 16, 26 + 20 * row), color, style='stroke-width="3"')
        drawing.text((LEFT + 24, 31 + 20 * row), words)


def curves(title: str, laws: list[tuple[str, str, Law]], *, reach: float) -> str:
    """Draw densities on a logarithmic scale, where tails can be told apart."""
    drawing = Drawing(720, 260, title)
    for decade in range(DECADES + 1):
        y = BOTTOM - HEIGHT * (1 - decade / DECADES)
        drawing.line((LEFT, y), (LEFT + WIDTH, y), "#e4e6ea")
        drawing.text((LEFT - 8, y + 4), "1" if decade == 0 else f"1e-{decade}", anchor="end", size=11, color=GRAY)
    for tick in range(-4, 5):
        x = LEFT + WIDTH * (tick + 4) / 8
        drawing.text((x, BOTTOM + 18), f"{reach * tick / 4:g}", anchor="middle", size=12)
    for color, _, law in laws:
        points = []
        for i in range(321):
            z = reach * (i / 160 - 1)
            depth = min(-math.log10(max(law(z), 1e-300)) / DECADES, 1)
            points.append((LEFT + WIDTH * i / 320, BOTTOM - HEIGHT * (1 - max(depth, 0))))
        drawing.path(points, color, style='stroke-width="1.8"')
    drawing.line((LEFT, BOTTOM), (LEFT + WIDTH, BOTTOM), INK)
    legend(drawing, [(color, words) for color, words, _ in laws])
    return drawing.render()


def discrete_laplace(scale: float) -> Law:
    """Two-sided geometric probabilities."""
    r = math.exp(-1 / scale)
    return lambda k: (1 - r) / (1 + r) * r ** abs(k)


def discrete_gaussian(sigma: float) -> Law:
    """Gaussian weights on the integers, up to their sum."""
    return lambda k: math.exp(-k * k / (2 * sigma**2))


def cells(distribution: Law, step: float) -> Law:
    """Turn a distribution function into the probabilities of its rounding to multiples of a step."""
    return lambda k: distribution((k + 0.5) * step) - distribution((k - 0.5) * step)


def laplace_distribution(z: float) -> float:
    """The distribution function of the Laplace law of scale 1."""
    return math.exp(z) / 2 if z < 0 else 1 - math.exp(-z) / 2


def staircase(epsilon: float, sensitivity: int, near: int) -> Law:
    """Weights of the staircase law, up to their sum."""

    def law(k: float) -> float:
        period, place = divmod(abs(int(k)), sensitivity)
        return math.exp(-epsilon * (period + (place >= near)))

    return law


def cauchy(exponent: float) -> Law:
    """The normalized density of 1 / (1 + |z|**exponent)."""
    mass = 2 * math.pi / (exponent * math.sin(math.pi / exponent))
    return lambda z: 1 / (mass * (1 + abs(z) ** exponent))


def student_t(degrees: int) -> Law:
    """Student's t density."""
    peak = math.gamma((degrees + 1) / 2) / (math.sqrt(degrees * math.pi) * math.gamma(degrees / 2))
    return lambda z: peak * (1 + z * z / degrees) ** (-(degrees + 1) / 2)


def laplace(z: float) -> float:
    """The Laplace density of scale 1."""
    return math.exp(-abs(z)) / 2


def laplace_log_normal(shape: float) -> Law:
    """The density of X exp(shape Y), X Laplace: the trapezoidal rule over the normal Y."""
    grid = [i / 50 for i in range(-400, 401)]

    def law(z: float) -> float:
        return sum(NORMAL.pdf(y) * math.exp(-shape * y) * laplace(z * math.exp(-shape * y)) for y in grid) / 50

    return law


def uniform_log_normal(shape: float) -> Law:
    """The density of X exp(shape Y), X uniform on (-1, 1), in closed form."""

    def law(z: float) -> float:
        if z == 0:
            return math.exp(shape**2 / 2) / 2
        return math.exp(shape**2 / 2) / 2 * NORMAL.cdf(-math.log(abs(z)) / shape - shape)

    return law


def arcsinh_normal(shape: float) -> Law:
    """The density of sinh(shape Y) / shape."""
    return lambda z: NORMAL.pdf(math.asinh(shape * z) / shape) / math.sqrt(1 + (shape * z) ** 2)


def spherical() -> str:
    """Draw the density exp(-|z|) in the plane around two neighboring points."""
    drawing = Drawing(720, 260, "The planar Laplace law around two neighboring values")
    for center, color in (((330.0, 130.0), BLUE), ((390.0, 130.0), ORANGE)):
        for ring in range(24, 0, -1):
            style = f'fill-opacity="{0.9 * (math.exp(-ring / 6) - math.exp(-(ring + 1) / 6)):.4f}"'
            drawing.circle(center, 5 * ring, color, style=style)
        drawing.circle(center, 3, color)
    drawing.text(
        (360, 250), "two neighboring values and the density of the answer around each", anchor="middle", color=GRAY
    )
    return drawing.render()


def permute_and_flip(weights: list[float], i: int) -> float:
    """The probability that candidate i wins a race with exponential noise, by inclusion and exclusion."""
    others = weights[:i] + weights[i + 1 :]
    terms = (
        (-1.0) ** size * math.prod(chosen) / (size + 1)
        for size in range(len(others) + 1)
        for chosen in combinations(others, size)
    )
    return weights[i] * sum(terms)


def races() -> str:
    """Draw who wins with four scores, by the noise of the race."""
    drawing = Drawing(720, 260, "The probability that each of four candidates wins, by the noise of the race")
    scores = [0, 1, 2, 3]
    weights = [math.exp(score - max(scores)) for score in scores]
    gumbel = [weight / sum(weights) for weight in weights]
    exponential = [permute_and_flip(weights, i) for i in range(len(weights))]
    for i, score in enumerate(scores):
        for place, (law, color) in enumerate(((gumbel, BLUE), (exponential, ORANGE))):
            left, height = 90 + 150 * i + 50 * place, HEIGHT * law[i]
            drawing.rectangle((left, BOTTOM - height, 46, height), color, style='fill-opacity="0.6"')
            drawing.text((left + 23, BOTTOM - height - 6), f"{law[i]:.3f}", anchor="middle", size=12)
        drawing.text((138 + 150 * i, BOTTOM + 18), f"score {score}", anchor="middle", size=12)
    drawing.line((LEFT, BOTTOM), (LEFT + WIDTH, BOTTOM), INK)
    legend(drawing, [(BLUE, "gumbel_race, scale 1"), (ORANGE, "exponential_race, scale 1")])
    return drawing.render()


def pictures() -> dict[str, str]:
    """Draw all laws."""
    compared = [(GRAY, "normal, for comparison", NORMAL.pdf)]
    log_normal = [
        (BLUE, "Laplace-log-normal, shape 1", laplace_log_normal(1)),
        (ORANGE, "uniform-log-normal, shape 1", uniform_log_normal(1)),
        (INK, "arcsinh-normal, shape 1", arcsinh_normal(1)),
    ]
    return {
        "discrete-laplace.svg": bars("Discrete Laplace, scale 5", discrete_laplace(5), reach=25, shift=1),
        "discrete-gaussian.svg": bars("Discrete Gaussian, sigma 5", discrete_gaussian(5), reach=25, shift=1),
        "staircase.svg": bars("Staircase, epsilon 1", staircase(1, 5, 2), reach=25, shift=5),
        "laplace.svg": bars("Laplace on a grid", cells(laplace_distribution, 0.125), reach=40, shift=8, step=0.125),
        "gaussian.svg": bars("Gaussian on a grid", cells(NORMAL.cdf, 0.125), reach=40, shift=8, step=0.125),
        "cauchy.svg": curves(
            "Cauchy-type", [(BLUE, "exponent 4", cauchy(4)), (ORANGE, "exponent 2", cauchy(2)), *compared], reach=20
        ),
        "student-t.svg": curves(
            "Student t", [(BLUE, "3 degrees", student_t(3)), (ORANGE, "1 degree", student_t(1)), *compared], reach=20
        ),
        "log-normal.svg": curves("Log-normal tails", [*log_normal, *compared], reach=20),
        "l2-laplace.svg": spherical(),
        "races.svg": races(),
    }
