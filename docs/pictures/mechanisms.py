"""What every mechanism answers on two neighbors: its written law where an audit has one, otherwise many releases."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.checks.audits import cases
from discreet.mechanisms import registered
from discreet.noise import BitSource
from docs.pictures.svg import BLUE, GRAY, INK, ORANGE, Drawing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.checks.audits.case import Case
    from discreet.mechanisms import Mechanism

LEFT, WIDTH, BOTTOM, HEIGHT = 50.0, 640.0, 220.0, 145.0
RELEASES, BINS, CATEGORIES, MANY = 300, 20, 8, 60
FEWER = {"counted_trimmed_mean": 24}  # a release takes a fifth of a second
NEGLIGIBLE = 2e-4  # of the largest probability: not drawn

Law = dict[Any, float]


class FixedBits(BitSource):
    """The same bits on every machine, so that the picture is the same: SHAKE-256 of a counter."""

    def __init__(self, name: str) -> None:
        self._name, self._used = name, 0
        self._pools: dict[object, list[Any]] = {}

    @property
    def pools(self) -> dict[object, list[Any]]:
        """Noise sampled ahead."""
        return self._pools

    def take(self, count: int) -> NDArray[np.uint8]:
        """Return the next bytes."""
        self._used += 1
        return np.frombuffer(hashlib.shake_256(f"{self._name} {self._used}".encode()).digest(count), dtype=np.uint8)


def file_of(kind: str) -> str:
    """Name the picture of a mechanism.

    >>> file_of("discrete_laplace")
    'mechanism-discrete-laplace.svg'
    """
    return f"mechanism-{kind.replace('_', '-')}.svg"


def pictures() -> dict[str, str]:
    """Draw every registered mechanism."""
    known = cases()
    return {file_of(kind): picture(each, known.get(kind, ())) for kind, each in registered().items()}


def picture(mechanism: type[Mechanism[Any, Any]], known: Sequence[Case]) -> str:
    """Draw one mechanism."""
    kind, title = mechanism.kind, mechanism.__name__
    for case in known:
        if case.law is not None and not case.coarse:
            pair = _plain(case.law(case.mechanism, case.first)), _plain(case.law(case.mechanism, case.second))
            if _is_numeric(pair) or len(pair[0]) <= CATEGORIES:
                return drawn(title, pair, note=f"{_promise(case)}; {case.name}")
    case = known[0]
    pair = sampled(case, case.first, kind), sampled(case, case.second, kind)
    return drawn(title, pair, note=f"{_promise(case)}; {releases(kind)} releases on each of two neighbors")


def _promise(case: Case) -> str:
    return cast("Mechanism[Any, Any]", case.mechanism).promise


def _plain(law: Mapping[Any, Any]) -> Law:
    return {outcome: float(chance) for outcome, chance in law.items()}


def _is_numeric(pair: tuple[Law, Law]) -> bool:
    return all(isinstance(outcome, int | float) for law in pair for outcome in law) and len(pair[0]) > CATEGORIES


def sampled(case: Case, value: object, name: str) -> Law:
    """Release many times; of vectors and lists of numbers the first one is looked at."""
    bits = FixedBits(name)
    found = [_outcome(case.mechanism.release(value, bits=bits).value) for _ in range(releases(name))]
    return {outcome: count / len(found) for outcome, count in Counter(found).items()}


def releases(kind: str) -> int:
    """Tell how often a mechanism is tried."""
    return FEWER.get(kind, RELEASES)


def _outcome(value: object) -> int | float | str:
    if isinstance(value, np.ndarray):
        value = value.ravel()[0].item() if value.size else "nothing"
    if (
        isinstance(value, tuple | list)
        and value
        and isinstance(value[0], int | float)
        and not isinstance(value[0], bool)
    ):
        value = value[0]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return "no answer" if value is None else str(value)


def drawn(title: str, pair: tuple[Law, Law], note: str) -> str:
    """Draw two laws: numbers along an axis, anything else side by side."""
    numeric = all(isinstance(outcome, int | float) for law in pair for outcome in law)
    drawing = Drawing(720, 260, f"{title} on two neighbors")
    if numeric and len({*pair[0], *pair[1]}) > CATEGORIES:
        _axis(drawing, pair)
    else:
        _columns(drawing, pair)
    drawing.line((LEFT, BOTTOM), (LEFT + WIDTH, BOTTOM), INK)
    for row, (color, words) in enumerate(((BLUE, "one dataset"), (ORANGE, "its neighbor"))):
        drawing.line((LEFT, 22 + 18 * row), (LEFT + 16, 22 + 18 * row), color, style='stroke-width="3"')
        drawing.text((LEFT + 24, 27 + 18 * row), words)
    drawing.text((LEFT + WIDTH, 27), note, anchor="end", color=GRAY, size=12)
    return drawing.render()


def _axis(drawing: Drawing, pair: tuple[Law, Law]) -> None:
    """Draw the first law as bars and the second as an outline, in cells of equal width."""
    largest = max(max(law.values()) for law in pair)
    kept = sorted({float(z) for law in pair for z, chance in law.items() if chance >= NEGLIGIBLE * largest})
    low, high, few = kept[0], kept[-1], len(kept)
    if few > MANY:  # releases on a fine grid: leave the outermost percent out
        low, high = kept[few // 100], kept[-1 - few // 100]
    gap = min(b - a for a, b in itertools.pairwise(kept))
    cells = round((high - low) / gap) + 1
    cells = cells if cells <= 120 and few <= MANY else BINS
    span = (high - low) / (cells - 1)
    edges = [low - span / 2 + i * span for i in range(cells + 1)]
    masses = [np.histogram([float(z) for z in law], bins=edges, weights=list(law.values()))[0] for law in pair]
    top, column = max(float(mass.max()) for mass in masses), WIDTH / cells
    outline = []
    for i in range(cells):
        left = LEFT + i * column
        height, other = (HEIGHT * float(mass[i]) / top for mass in masses)
        drawing.rectangle((left, BOTTOM - height, max(column - 1, 1), height), BLUE, style='fill-opacity="0.35"')
        outline += [(left, BOTTOM - other), (left + column, BOTTOM - other)]
    drawing.path(outline, ORANGE, style='stroke-width="1.6"')
    for i in range(0, cells, max(1, cells // 8)):
        place = _rounded(low + i * span, span)
        drawing.text((LEFT + (i + 0.5) * column, BOTTOM + 18), place, anchor="middle", size=12)


def _rounded(value: float, span: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(span)))
    return f"{round(value, digits) + 0.0:.10g}"


def _columns(drawing: Drawing, pair: tuple[Law, Law]) -> None:
    """Draw two columns for each answer, the likeliest answers first in the order of their names."""
    likely = sorted({*pair[0], *pair[1]}, key=lambda z: -max(law.get(z, 0.0) for law in pair))[:CATEGORIES]
    answers = sorted(likely, key=lambda z: (isinstance(z, str), z if not isinstance(z, str) else 0, str(z)))
    top, column = max(max(law.values()) for law in pair), WIDTH / len(answers)
    for i, answer in enumerate(answers):
        for side, (law, color) in enumerate(zip(pair, (BLUE, ORANGE), strict=True)):
            height = HEIGHT * law.get(answer, 0.0) / top
            left = LEFT + column * (i + 0.14 + 0.37 * side)
            drawing.rectangle((left, BOTTOM - height, 0.35 * column, height), color, style='fill-opacity="0.6"')
            chance = f"{law.get(answer, 0.0):.3f}"
            drawing.text((left + 0.17 * column, BOTTOM - height - 5), chance, anchor="middle", size=11)
        words = str(answer) if len(str(answer)) <= 120 // len(answers) else str(answer)[: 120 // len(answers) - 1] + "…"
        drawing.text((LEFT + column * (i + 0.5), BOTTOM + 18), words, anchor="middle", size=12)
