"""Samples with heavy tails, few uses and tiny deltas against balls: real numbers with rigorous error bounds (Arb).

At a low rate most losses are tiny and a few are large, and delta hardly falls with epsilon: floating point loses its
digits there, and so did the references of other packages. Here each pair of laws is a list of outcomes whose masses are
balls of 300 bits, sampled by mixing, composed by listing all multisets of outcomes, with no code of the package.

Laplace noise is cut into cells. Joining the outcomes of a cell only hides (post-processing), so its delta is a lower
bound; splitting a cell's masses onto the likelihood ratios at its edges only reveals (the split pair can be garbled
back), which gives an upper bound.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from flint import arb, ctx

from discreet import privacy as p

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Pair = tuple[list[arb], list[arb]]
    Bounds = tuple[Pair, Pair]
    """A pair below and a pair above the truth; the same one where the outcomes are finitely many."""

BITS = 300
CELLS = {1: 600, 2: 120, 3: 32}
"""How finely noise is cut, by how often it is used."""

EXACT, CUT = 1e-6, 1e-2
"""How tight epsilon must be, relatively, where outcomes are listed and where they are cut into cells."""


@pytest.fixture(autouse=True)
def _precise() -> Iterator[None]:
    before, ctx.prec = ctx.prec, BITS
    yield
    ctx.prec = before


def exact(text: str) -> arb:
    """A decimal or fraction as a ball."""
    above, _, below = text.partition("/")
    return arb(above) / arb(below or "1")


def response(epsilon: str, answers: int) -> Bounds:
    """The truth with odds exp(epsilon) against each other answer."""
    high = exact(epsilon).exp()
    total = high + answers - 1
    present = [high / total, *[1 / total] * (answers - 1)]
    pair = present, [present[1], present[0], *present[2:]]
    return pair, pair


def staircase(epsilon: str, share: str) -> Bounds:
    """Integrals of the density of Geng & Viswanath 2016 and of its shift by 1, joined where their ratio is the same."""
    fall, g = (-exact(epsilon)).exp(), exact(share)
    height = (1 - fall) / (2 * (g + fall * (1 - g)))
    narrow = min(float(g), 1 - float(g)) == float(g)
    edge, middle = (g * height, (1 - 2 * g) * height * fall) if narrow else ((1 - g) * height, (2 * g - 1) * height)
    present = [arb("0.5") + edge, middle, (arb("0.5") + edge) * fall]
    pair = present, present[::-1]
    return pair, pair


def discrete_laplace(scale: str, shift: int) -> Bounds:
    """Noise around 0 and around the shift; all whole numbers beyond either have one ratio."""
    a = (-1 / exact(scale)).exp()
    present = [1 / (1 + a), *((1 - a) / (1 + a) * a**x for x in range(1, shift)), a**shift / (1 + a)]
    pair = present, present[::-1]
    return pair, pair


def listed(present: list[str], absent: list[str]) -> Bounds:
    """Any two laws."""
    pair = [exact(mass) for mass in present], [exact(mass) for mass in absent]
    return pair, pair


def laplace(scale: str, cells: int) -> Bounds:
    """Noise around 0 and around 1: constant ratios outside (0, 1), cells inside, joined and split."""
    b = exact(scale)
    places = [arb(i) / cells for i in range(cells + 1)]
    outside = arb("0.5"), (-1 / b).exp() / 2
    inner = [((-x / b).exp() - (-y / b).exp()) / 2 for x, y in itertools.pairwise(places)]
    joined = [outside[0], *inner, outside[1]], [outside[1], *inner[::-1], outside[0]]
    ratios = [((1 - 2 * x) / b).exp() for x in places]
    under = [arb(0)] * (cells + 1)
    under[0], under[-1] = outside[1], outside[0]
    for i in range(cells):
        mass, other = inner[i], inner[cells - 1 - i]
        more = (mass - ratios[i + 1] * other) / (ratios[i] - ratios[i + 1])
        under[i] += more
        under[i + 1] += other - more
    return joined, ([ratio * mass for ratio, mass in zip(ratios, under, strict=True)], under)


def sampled(pair: Pair, rate: str) -> Pair:
    """With the unit the law is a mixture."""
    q, (present, absent) = exact(rate), pair
    return [(1 - q) * b + q * a for a, b in zip(present, absent, strict=True)], absent


def composed(pair: Pair, count: int) -> list[tuple[arb, arb]]:
    """All multisets of outcomes with their chances under both laws."""
    outcomes = []
    for places in itertools.combinations_with_replacement(range(len(pair[0])), count):
        ways = math.factorial(count)
        for times in Counter(places).values():
            ways //= math.factorial(times)
        over = under = arb(ways)
        for place in places:
            over, under = over * pair[0][place], under * pair[1][place]
        outcomes.append((over, under))
    return outcomes


class Reference:
    """Delta of a composition of samples from below and from above, in the worse direction."""

    def __init__(self, bounds: Bounds, rate: str, count: int) -> None:
        self.below, self.above = (composed(sampled(pair, rate), count) for pair in bounds)

    def deltas(self, epsilon: float) -> tuple[float, float]:
        """Return bounds on delta, a little outward."""
        low, high = (self._worst(outcomes, arb(epsilon).exp()) for outcomes in (self.below, self.above))
        return float(low.lower()) * (1 - 1e-15), float(high.upper()) * (1 + 1e-15)

    @staticmethod
    def _worst(outcomes: list[tuple[arb, arb]], factor: arb) -> arb:
        forth = sum((gap for a, b in outcomes if not (gap := a - factor * b) < 0), start=arb(0))
        back = sum((gap for a, b in outcomes if not (gap := b - factor * a) < 0), start=arb(0))
        return forth.max(back)


def check(curve: p.Curve, reference: Reference, delta: float, tight: float) -> None:
    """Both ends of epsilon hold the truth, and no reference of a shorter interval does."""
    lower, upper = curve.interval(delta)
    assert reference.deltas(upper)[0] <= delta * (1 + 1e-12)  # not too little
    assert lower == 0 or reference.deltas(lower)[1] >= delta * (1 - 1e-12)
    assert reference.deltas(upper * (1 - tight))[0] > delta  # not too much
    assert reference.deltas(lower * (1 + tight))[1] < delta
    middle = 0.9 * upper
    (low, high), truth = curve.delta_interval(middle), reference.deltas(middle)
    assert low <= truth[1]
    assert truth[0] <= high
    assert high <= truth[1] * (1 + 10 * tight)
    assert low >= truth[0] * (1 - 10 * tight)


Case = tuple["Callable[[], p.Curve]", "Callable[[], Bounds]", str, int, float]
FINITE: dict[str, Case] = {}
for name, make, law in (
    ("response 3", lambda: p.randomized_response(3, 2), lambda: response("3", 2)),
    ("response 8 among 20", lambda: p.randomized_response(8, 20), lambda: response("8", 20)),
    ("staircase 2", lambda: p.staircase(2, "0.3"), lambda: staircase("2", "0.3")),
    ("staircase 6", lambda: p.staircase(6, "0.8"), lambda: staircase("6", "0.8")),
    ("discrete Laplace 0.5", lambda: p.discrete_laplace("0.5", 3), lambda: discrete_laplace("0.5", 3)),
    ("discrete Laplace 0.2", lambda: p.discrete_laplace("0.2", 1), lambda: discrete_laplace("0.2", 1)),
    (
        "rare outcome",
        lambda: p.finite_pair(["0.5", "0.4999", "0.0001"], ["0.6", "0.39999999", "0.00000001"]),
        lambda: listed(["0.5", "0.4999", "0.0001"], ["0.6", "0.39999999", "0.00000001"]),
    ),
    (
        "rare absence",  # the worse direction is that of the unit that is added
        lambda: p.finite_pair(["0.6", "0.39999999", "0.00000001"], ["0.5", "0.4999", "0.0001"]),
        lambda: listed(["0.6", "0.39999999", "0.00000001"], ["0.5", "0.4999", "0.0001"]),
    ),
):
    for rate, count, delta in (("0.001", 2, 1e-9), ("0.00001", 3, 1e-13), ("0.02", 4, 1e-12)):
        title = name if rate == "0.001" else f"{name}, {count} times"
        FINITE[title] = make, law, rate, count, delta


@pytest.mark.parametrize("name", FINITE)
def test_sampled_pairs_hold_the_reference(name: str) -> None:
    make, law, rate, count, delta = FINITE[name]
    check(make().subsample(rate) * count, Reference(law(), rate, count), delta, EXACT)


LAPLACE = [
    ("1", "0.001", 1, 1e-6),
    ("0.2", "0.0001", 1, 1e-9),
    ("0.1", "0.001", 1, 1e-12),
    ("1", "0.001", 2, 1e-9),
    ("0.3", "0.0001", 2, 1e-10),
    ("0.15", "0.001", 2, 1e-12),
    ("0.5", "0.02", 2, 1e-8),
    ("0.5", "0.001", 3, 1e-9),
]


@pytest.mark.parametrize("scale, rate, count, delta", LAPLACE)
def test_sampled_laplace_noise_holds_the_reference(scale: str, rate: str, count: int, delta: float) -> None:
    check(p.laplace(scale).subsample(rate) * count, Reference(laplace(scale, CELLS[count]), rate, count), delta, CUT)


@pytest.mark.parametrize("noise", ["2.9", "3.1"])
def test_the_check_sees_a_little_too_much_and_too_little_noise(noise: str) -> None:
    _, law, rate, count, delta = FINITE["response 3"]
    with pytest.raises(AssertionError):
        check(p.randomized_response(noise).subsample(rate) * count, Reference(law(), rate, count), delta, EXACT)


@pytest.mark.parametrize("rate", ["0.00095", "0.00105"])
def test_the_check_sees_another_rate(rate: str) -> None:
    with pytest.raises(AssertionError):
        check(p.laplace("0.3").subsample(rate) * 2, Reference(laplace("0.3", 40), "0.001", 2), 1e-9, CUT)
