"""Whatever is handed over, the accountant answers with a number or with a sentence of its own."""

from __future__ import annotations

import math
import random
import time
from decimal import Decimal
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import privacy as p
from discreet.errors import DiscreetError
from discreet.privacy import composition as c
from discreet.privacy import meanings as m
from discreet.privacy.convert import convert, gdp_allowance, rdp_allowance, to_relation, zcdp_allowance
from tests.privacy.strategies import SHAPES, number

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = [0, 1, 2, 0.1, 0.5, "1/3", 1e-5, "1e-9", 10, 30, 1e-12, Decimal("0.3"), "0.999999999999"]
NASTY: list[Any] = [
    *(-1, math.nan, math.inf, -math.inf, True, None, "x", "", [], b"1", 10**400, Fraction(1, 10**400), "1e-310", 1e308),
    *(1 + Fraction(1, 10**30), "1e-60", 10**60, 5e-324, "1e99999", 10**5000),
]
numbers: st.SearchStrategy[Any] = st.sampled_from(PLAIN) | st.sampled_from(NASTY)
counts: st.SearchStrategy[Any] = st.sampled_from([0, 1, 2, 7, 1000, -1, 2.5, True, None, "3", 10**18, 10**19, 10**400])
relations: st.SearchStrategy[Any] = st.sampled_from([*p.NeighborRelation, p.NeighborRelation.ADD_REMOVE.group(2), "x"])
targets: st.SearchStrategy[Any] = st.sampled_from([p.Pure, p.Approximate, p.ZCDP, p.GDP, p.RDP, int, None])

Number = Any
Thing = Any

CURVES: list[Callable[[Number, Number], p.Curve]] = [
    p.gaussian,
    p.laplace,
    lambda a, _: p.pure(a),
    p.approximate,
    p.zcdp,
    lambda a, b: p.rdp([2, a], [b, 3]),
    p.staircase,
    lambda a, _: p.exponential(a),
    lambda a, _: p.randomized_response(a, 3),
    lambda a, b: p.gaussian(b).subsample(a),
    lambda a, b: p.laplace(a).subsample(b),
    lambda a, b: p.pure(a).with_sampling_error(b),
    lambda a, b: p.finite_pair([a, b], [b, a]),
]
PROMISES: list[Callable[[Number, Number], Any]] = [
    lambda a, _: p.Pure(a),
    p.Approximate,
    p.ZCDP,
    lambda a, _: p.GDP(a),
    lambda a, b: p.RDP([a], [b]),
    lambda a, b: p.RDP([2, 8], [a, b]),
]
THEOREMS: list[Callable[[Any, Number, Number, Any], object]] = [
    lambda promise, a, _, k: c.advanced(promise, k, a),
    lambda promise, a, _, k: c.kairouz(promise, min(k, 2000) if isinstance(k, int) else k, a),
    lambda promise, a, _, __: c.murtagh_vadhan([promise, promise], a, error="0.1"),
    lambda promise, a, _, k: c.renyi(promise, k, a),
    lambda promise, a, _, k: c.concentrated(promise, k, a),
    lambda promise, a, _, k: c.concentrated_simple(promise, k, a),
    lambda promise, a, _, __: c.bad_outcomes(promise, a),
    lambda promise, a, _, __: c.amplified(promise, a),
    lambda promise, _, __, ___: c.basic([promise, promise]),
    lambda promise, _, __, ___: c.parallel([promise, promise]),
    lambda promise, _, __, k: c.group_privacy(promise, k),
    lambda _, a, b, __: c.mironov(a, 5, b),
    lambda _, a, b, __: c.bun(a, 5, b),
    lambda _, a, b, __: c.abadi_leading_term(a, 5, b),
    lambda _, a, b, __: c.sampled_gaussian_rdp(a, b, 5),
    lambda _, a, b, k: c.moments("0.1", a, k, b),
]
OTHERS: list[Callable[[Number, Number, Any], object]] = [
    lambda a, b, _: p.gaussian_sigma(epsilon=a, delta=b),
    lambda a, b, _: p.gaussian_sigma(epsilon=1, delta=a, sensitivity=b),
    lambda a, b, k: p.laplace_scale(epsilon=a, delta=b, sensitivity=k),
    lambda a, b, _: p.calibrate(p.laplace, epsilon=1, delta=a, start=b),
    lambda a, b, _: zcdp_allowance(p.Budget(a, b)),
    lambda a, _, __: zcdp_allowance(p.Budget(1, 1e-6), share=a),
    lambda a, b, _: rdp_allowance(p.Budget(1, a), b),
    lambda a, b, _: gdp_allowance(p.Budget(a, b)),
    lambda a, _, __: m.semantic_bound(a),
    lambda a, _, k: m.exposed_units(a, k),
    lambda a, _, __: m.meaningful_population(a),
    lambda a, b, _: m.log_odds_shift(p.laplace(b), failure=a),
    lambda a, b, _: p.PureFilter(p.Pure(a)).spend(p.Pure(b)).remaining,
    lambda a, b, _: p.ApproximateFilter(p.Approximate(1, a)).spend(p.Approximate(1, b)).remaining,
    lambda a, b, k: p.AdvancedFilter(epsilon=a, delta=b, slack="0.1", squares=k).spend(p.Approximate("0.1")),
    lambda a, b, k: p.RDPOdometer(a, b, k).spend(p.RDP([64], [1])).reading,
    lambda a, b, _: p.ZCDPOdometer(a, b).spend(p.ZCDP(1)).reading,
]


def sound(value: object) -> bool:
    """Whether an answer holds no NaN, and its ends are in order."""
    if isinstance(value, float):
        return not math.isnan(value)
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, float) for end in value):
        return bool(0 <= value[0] <= value[1])
    return True


def outcome(call: Callable[[], object]) -> tuple[Any, str | None]:
    """Return the answer, or the sentence of a refusal; anything else that is raised passes on and fails the test."""
    try:
        return call(), None
    except DiscreetError as error:
        return None, str(error)


def ask(call: Callable[[], object]) -> None:
    answer, complaint = outcome(call)
    assert sound(answer)
    assert complaint is None or 10 < len(complaint) < 1000


@pytest.mark.parametrize("build", CURVES)
@settings(max_examples=60)
@given(numbers, numbers, numbers, counts)
def test_curves(build: Callable[..., p.Curve], a: Number, b: Number, asked: Number, count: Thing) -> None:
    curve, complaint = outcome(lambda: build(a, b))
    if complaint is not None:
        assert len(complaint) < 1000
        return
    assert p.Curve.from_json(curve.to_json()) == curve
    ask(lambda: curve.interval(asked))
    ask(lambda: curve.delta_interval(asked))
    ask(lambda: curve.rdp(asked))
    ask(curve.zcdp)
    ask(lambda: curve * count)
    ask(lambda: curve + asked)
    ask(lambda: asked + curve)
    ask(lambda: curve.group(count))
    ask(lambda: convert(curve, to=p.Approximate, delta=asked))


@pytest.mark.parametrize("build", PROMISES)
@settings(max_examples=100)
@given(numbers, numbers, numbers, counts, targets, relations)
def test_promises(  # noqa: PLR0913, PLR0917  one argument for each strategy
    build: Callable[..., Any],
    a: Number,
    b: Number,
    asked: Number,
    count: Thing,
    to: Thing,
    neighbors: Thing,
) -> None:
    promise, complaint = outcome(lambda: build(a, b))
    if complaint is not None:
        assert len(complaint) < 1000
        return
    assert len(repr(promise)) < 1000
    ask(lambda: convert(promise, to=to, delta=asked))
    ask(lambda: convert(promise, to=p.RDP, orders=[asked]))
    ask(lambda: to_relation(promise, neighbors))
    ask(lambda: promise * count)
    ask(lambda: promise + asked)
    for theorem in THEOREMS:
        ask(lambda theorem=theorem: theorem(promise, asked, b, count))  # type: ignore[misc]


@pytest.mark.parametrize("call", OTHERS)
@settings(max_examples=80)
@given(numbers, numbers, counts | numbers)
def test_calibration_meaning_filters(call: Callable[..., object], a: Number, b: Number, count: Thing) -> None:
    ask(lambda: call(a, b, count))


def complaints(curve: p.Curve, deltas: list[str], epsilons: list[str]) -> list[str]:
    """Return what is wrong with a curve's certified answers; a warning that two of them contradict is an error here."""
    ends = {delta: curve.interval(delta) for delta in deltas}
    heights = {epsilon: curve.delta_interval(epsilon) for epsilon in epsilons}
    wrong = [f"interval({delta}) is {pair}" for delta, pair in ends.items() if not sound(pair)]
    wrong += [
        f"delta_interval({epsilon}) is {pair}" for epsilon, pair in heights.items() if not sound(pair) or pair[1] > 1
    ]
    for (delta, (lower, upper)), (epsilon, (low, high)) in product(ends.items(), heights.items()):
        # delta falls with epsilon: where it exceeds a target for sure, the upper end lies beyond, and the reverse
        if low > float(delta) * (1 + 1e-9) and upper < float(epsilon) * (1 - 1e-9):
            wrong.append(f"delta({epsilon}) > {delta} for sure, and epsilon({delta}) <= {upper} < {epsilon} for sure")
        if high < float(delta) * (1 - 1e-9) and lower > float(epsilon) * (1 + 1e-9):
            wrong.append(f"delta({epsilon}) < {delta} for sure, and epsilon({delta}) >= {lower} > {epsilon} for sure")
    return wrong


def sweep(shape: str, part: int) -> None:
    """Ask random curves of one shape, a part of those of a whole sweep, and say how many."""
    count, build = SHAPES[shape]
    started, wrong, refused = time.process_time(), [], []
    drawn = range(0, count, part)
    for number_ in drawn:
        source = random.Random(f"{shape} {number_}")
        curve = build(source)
        deltas = [number(source, 1e-12, 1e-6), number(source, 1e-6, 0.1)]
        epsilons = [number(source, 1e-2, 1), number(source, 1, 10)]
        try:
            wrong += [f"{shape} {number_}, {curve}: {text}" for text in complaints(curve, deltas, epsilons)]
        except DiscreetError as refusal:  # a sentence: hardly any noise in a large group, or no finite epsilon
            refused.append(f"{shape} {number_}: {refusal}")
        except Exception as error:
            error.add_note(f"{shape} {number_}: {curve} at {deltas} and {epsilons}")
            raise
    print(f"{shape}: {len(drawn)} curves, {len(refused)} refused, {time.process_time() - started:.1f} s of one core")  # noqa: T201  what -rP shows
    assert not wrong, "\n".join(wrong)
    assert 20 * len(refused) <= len(drawn), "\n".join(refused)


@pytest.mark.parametrize("shape", SHAPES)
def test_certified_intervals_agree(shape: str) -> None:
    sweep(shape, 16)


@pytest.mark.fuzz
@pytest.mark.parametrize("shape", SHAPES)
def test_certified_intervals_of_thousands_of_curves_agree(shape: str) -> None:
    sweep(shape, 1)


def test_a_whole_sweep_has_thousands_of_curves() -> None:
    assert sum(count for count, _ in SHAPES.values()) >= 5000


def test_the_check_sees_bad_answers() -> None:
    assert not sound(math.nan)
    assert not sound((2.0, 1.0))
    assert not sound((0.0, math.nan))
    lying = SimpleNamespace(interval=lambda _: (0.1, 0.2), delta_interval=lambda _: (0.5, 0.6))
    assert complaints(lying, ["0.1"], ["1"]), "delta(1) exceeds 0.1, so epsilon(0.1) exceeds 1"  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        ask(lambda: 1 // 0)
