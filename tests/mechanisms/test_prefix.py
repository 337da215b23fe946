"""Factorizations of running sums: sums are right, moves are bounded, and errors are as stated."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import Norm
from discreet.mechanisms.prefix import (
    Banded,
    BinaryTree,
    Buffered,
    EveryElement,
    EveryOutput,
    Factorization,
    KaryTree,
    SquareRoot,
    WeightedTree,
    lower_bound,
    read_factorization,
    recommended,
)
from discreet.mechanisms.prefix.choosing import FACTORIZATIONS
from discreet.mechanisms.prefix.toeplitz import encoded
from discreet.noise import discrete_gaussian
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.prefix.factorization import Draw

STEPS = 50
SMALL: list[Factorization] = [
    EveryOutput(STEPS),
    EveryElement(STEPS),
    BinaryTree(STEPS),
    WeightedTree(STEPS),
    KaryTree(STEPS),
    KaryTree(STEPS, 3, 4),
    SquareRoot(STEPS),
    Banded(STEPS, 7),
    Buffered(STEPS, 2),
]
IDS = [f"{place} {each.kind}" for place, each in enumerate(SMALL)]
factorizations = pytest.mark.parametrize("factorization", SMALL, ids=IDS)


def silent(shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.zeros(shape, dtype=np.int64)


class Counted:
    """Draws 1 where it is asked for a place, and 0 elsewhere: shows what one noise does."""

    def __init__(self, place: int, size: int = 1) -> None:
        self.place, self.size, self.drawn = place, size, 0

    def __call__(self, shape: tuple[int, int]) -> NDArray[np.int64]:
        out = np.zeros(shape, dtype=np.int64)
        here = self.place - self.drawn
        if 0 <= here < out.size:
            out.flat[here] = self.size
        self.drawn += out.size
        return out


def in_pieces(
    factorization: Factorization, elements: NDArray[np.int64], draw: Draw, cuts: list[int]
) -> NDArray[np.float64]:
    """Run through pieces, each time in a run that read what the last one wrote as JSON."""
    run, sums = factorization.start(elements.shape[1]), []
    for piece in np.split(elements, cuts):
        state = json.loads(json.dumps(run.state()))
        run = factorization.start(elements.shape[1])
        run.load(state)
        sums.append(run.extend(piece, draw))
    return np.concatenate(sums)


def test_all_are_here() -> None:
    assert {each.kind for each in SMALL} == set(FACTORIZATIONS)


@factorizations
def test_without_noise_sums_are_exact_in_pieces_too(factorization: Factorization) -> None:
    elements = np.arange(2 * STEPS).reshape(STEPS, 2) ** 2 - 700
    exact = np.cumsum(elements, axis=0)
    for cuts in ([], [1, 2, 3], [7, 8, 25, 26, 27, 49], list(range(1, STEPS))):
        assert np.abs(in_pieces(factorization, elements, silent, cuts) - exact).max() < 1e-2


@factorizations
def test_the_weights_are_those_with_which_noise_enters(factorization: Factorization) -> None:
    """Each noise alone, as large as to see it in the sums: squares add up to the stated variances at every step."""
    size, found = 1 << 40, np.zeros(STEPS)
    for place in range(4 * STEPS):
        run, draw = factorization.start(), Counted(place, size)
        moved = run.extend(np.zeros((STEPS, 1), dtype=np.int64), draw)[:, 0]
        if place >= draw.drawn:
            break
        found += (moved * 2.0**factorization.lattice / size) ** 2
    assert found == pytest.approx(factorization.variances(), rel=1e-6)
    assert [factorization.variance(step) for step in (1, 8, 50)] == pytest.approx(found[[0, 7, 49]], rel=1e-6)


@factorizations
def test_a_stream_of_steps_has_the_stated_spread(factorization: Factorization, seed: int) -> None:
    """Chi-square of 4,000 coordinates at each of four steps, false alarm 1e-9; half the noise is seen."""
    bits, sigma, width = ReplayBits(seed), 1000, 4000

    def seen(scale: Fraction) -> NDArray[np.float64]:
        zeros = np.zeros((STEPS, width), dtype=np.int64)

        def draw(shape: tuple[int, int]) -> NDArray[np.int64]:
            return discrete_gaussian(scale, size=shape, bits=bits)

        sums = in_pieces(factorization, zeros, draw, [5, 6, 33])
        spread: NDArray[np.float64] = sums.var(axis=1) * (2.0**factorization.lattice / sigma) ** 2
        return (spread / factorization.variances())[[0, 6, 31, 49]]

    if width * STEPS > 100_000 and isinstance(factorization, Buffered):
        width = 1000  # one coordinate after the other
    most = 6.8 * math.sqrt(2 / width)
    assert np.abs(seen(Fraction(sigma)) - 1).max() < most
    assert np.abs(seen(Fraction(sigma, 2)) - 1).min() > most


@factorizations
def test_windows_have_no_more_noise_than_stated(factorization: Factorization) -> None:
    size, steps = 1 << 40, np.array([3, 9, 27, 50])
    rows = []
    for place in range(4 * STEPS):
        draw = Counted(place, size)
        rows.append(factorization.start().extend(np.zeros((STEPS, 1), dtype=np.int64), draw)[:, 0])
        if place >= draw.drawn:
            break
    sums = np.concatenate([np.zeros((len(rows), 1)), np.array(rows)], axis=1) * 2.0**factorization.lattice / size
    exact = not isinstance(factorization, WeightedTree)
    for width in (1, 5, 26):
        squares = ((sums[:, steps] - sums[:, np.maximum(steps - width, 0)]) ** 2).sum(axis=0)
        stated = [
            float(np.sum(weights**2 * counts))
            for weights, counts in (factorization.window(int(step), width) for step in steps)
        ]
        assert np.all(squares <= np.array(stated) * (1 + 1e-6))
        assert not exact or squares == pytest.approx(stated, rel=1e-6)


def worst(factorization: Factorization, norm: Norm, events: int, separation: int) -> float:
    """How far encodings move, found by drawing: what the decoder makes of it is undone by its own rows."""
    rows = []
    for place in range(STEPS):
        out = np.zeros((STEPS, 1), dtype=np.int64)
        out[place] = 1
        rows.append(exact_encoding(factorization, out))
    columns = np.array(rows).T
    steps = range(STEPS if events == 1 else 12)
    far = [
        np.linalg.norm(columns[:, list(chosen)].sum(axis=1), 1 if norm is Norm.L1 else 2)
        for chosen in combinations(steps, events)
        if all(b - a >= separation for a, b in pairwise(chosen))
    ]
    return float(max(far))


def exact_encoding(factorization: Factorization, elements: NDArray[np.int64]) -> NDArray[np.float64]:
    """Write Cx down independently of the runs."""
    x = elements[:, 0]
    if isinstance(factorization, EveryOutput):
        return np.cumsum(x).astype(float)
    if isinstance(factorization, EveryElement):
        return x.astype(float)
    if isinstance(factorization, BinaryTree | WeightedTree):
        wide = [2**h for h in range(STEPS.bit_length())]
        return np.array([x[j : j + w].sum() for w in wide for j in range(0, STEPS - w + 1, w)], dtype=float)
    if isinstance(factorization, KaryTree):
        wide = [factorization.children**h for h in range(factorization.height)]
        return np.array([x[j : j + w].sum() for w in wide for j in range(0, STEPS, w)], dtype=float)
    if isinstance(factorization, Buffered):
        pairs = list(zip(factorization.filter.decays, factorization.filter.weights, strict=True))
        series = [1.0, *(float(sum(w * d**k for d, w in pairs)) for k in range(STEPS - 1))]
        return np.convolve(x, series)[:STEPS]
    series = factorization.coefficients() / 2**20  # type: ignore[attr-defined]
    return np.convolve(x, series)[:STEPS]


@factorizations
@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("events, separation", [(1, 0), (2, 1), (2, 4), (3, 2)])
def test_no_event_moves_further_than_stated(
    factorization: Factorization, norm: Norm, events: int, separation: int
) -> None:
    if norm is Norm.LINF or (isinstance(factorization, KaryTree) and norm is Norm.L2):
        return
    stated = float(factorization.moved(Fraction(1), norm, events=events, separation=separation))
    found = worst(factorization, norm, events, separation)
    assert found <= stated / 2**factorization.lattice * (1 + 1e-12)
    if events == 1:  # and not much less
        assert found >= stated / 2**factorization.lattice * (1 - 1e-4)


@pytest.mark.parametrize("bits", [3, 11])
def test_rounding_in_buffers_moves_encodings_no_further_than_stated(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a lattice so coarse that rounding is large: neighbors' encodings differ by the column and that at most."""
    monkeypatch.setattr(Buffered, "lattice", property(lambda _: bits))
    factorization, random = Buffered(STEPS, 2), np.random.default_rng(bits)
    pairs = list(zip(factorization.filter.decays, factorization.filter.weights, strict=True))
    series = np.array([1.0, *(float(sum(w * d**k for d, w in pairs)) for k in range(STEPS - 1))]) * 2**bits
    most = float(factorization.rounded)
    largest = 0.0
    for _ in range(60):
        x = random.integers(-5, 6, STEPS)
        y, at = x.copy(), int(random.integers(STEPS))
        y[at] += 1
        one, other = (buffered_encoding(factorization, each.tolist()) for each in (x, y))
        expected = np.zeros(STEPS)
        expected[at:] = series[: STEPS - at]
        gap = np.abs(np.array(other) - np.array(one) - expected)
        largest = max(largest, float(gap.max()))
    assert 0.3 < largest <= most
    whole = float(factorization.moved(Fraction(1), Norm.L2))
    assert whole >= np.linalg.norm(series) + most * math.sqrt(STEPS) * (1 - 1e-9)


def buffered_encoding(factorization: Buffered, x: list[int]) -> list[int]:
    """Read the noisy encodings of a run without noise, by its decoder's input."""
    seen: list[int] = []
    run = factorization.start()

    def decode(_place: int, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        seen.extend(noisy * 2**factorization.lattice)
        return noisy

    run._decode = decode  # type: ignore[attr-defined]
    run.extend(np.array(x)[:, None], silent)
    return seen


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 600])
def test_encodings_are_exact_by_blocks(count: int) -> None:
    random = np.random.default_rng(count)
    series, elements = random.integers(0, 1 << 20, count), random.integers(-(1 << 20), 1 << 20, (count, 2))
    exact = np.stack([np.convolve(column, series)[:count] for column in elements.T], axis=1)
    assert np.array_equal(encoded(series, elements), exact)
    huge = elements << 12  # too large for floats
    assert np.array_equal(encoded(series, huge), exact << 12)


def test_the_figures_of_65536_steps() -> None:
    """Exact root mean squares and largest deviations at mu = 1 and at epsilon = 1."""
    steps = 65536

    def figures(factorization: Factorization, **price: object) -> list[float]:
        found = factorization.deviations(**price)  # type: ignore[arg-type]
        return [float(np.sqrt(np.mean(found**2))), float(found.max())]

    assert lower_bound(steps) == pytest.approx(4.232, abs=1e-3)
    assert figures(BinaryTree(steps), rho="1/2") == pytest.approx([11.66, 16.49], abs=0.01)
    assert figures(BinaryTree(steps), epsilon=1) == pytest.approx([68.0, 96.2], abs=0.1)
    assert np.all(np.array(figures(SquareRoot(steps), rho="1/2")) <= [4.44, 4.60])
    assert figures(Buffered(steps), rho="1/2")[1] <= 4.71
    assert np.all(np.array(figures(KaryTree(steps), epsilon=1)) <= [24.8, 34.5])
    assert figures(SquareRoot(steps), rho="1/2")[0] >= lower_bound(steps)


def test_a_tree_has_as_many_noises_as_the_corrected_notes_say() -> None:
    assert [BinaryTree(steps).levels for steps in (1, 2, 3, 4, 7, 8)] == [1, 2, 2, 3, 3, 4]
    assert [int(BinaryTree(8).variance(step)) for step in range(1, 9)] == [1, 1, 2, 1, 2, 2, 3, 1]


@factorizations
def test_records_are_read_again(factorization: Factorization) -> None:
    again = read_factorization(json.loads(json.dumps(factorization.record())))
    assert again == factorization
    assert again.moved(Fraction(3), Norm.L1) == factorization.moved(Fraction(3), Norm.L1)


def test_nonsense_is_refused() -> None:
    for build in (
        lambda: BinaryTree(0),
        lambda: SquareRoot(1 << 21),
        lambda: Banded(5, 6),
        lambda: KaryTree(9, 4, 2),
        lambda: KaryTree(9, 3),
        lambda: Buffered(9, 0),
        lambda: read_factorization({"kind": "nothing"}),
        lambda: read_factorization({"kind": "binary_tree", "steps": 3}),
        lambda: KaryTree(9).moved(Fraction(1), Norm.L2),
        lambda: SquareRoot(4).deviations(),
    ):
        with pytest.raises(ParameterError):
            build()


def test_the_default_depends_on_public_facts() -> None:
    kinds = [
        recommended(steps, "l2", durable=durable).kind for steps in (365, 5000, 10**6) for durable in (False, True)
    ]
    assert kinds == ["square_root", "square_root", "square_root", "buffered", "buffered", "buffered"]
