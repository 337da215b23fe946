"""The auditor itself: it finds what is there, and does not find what is not."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet import privacy as p
from discreet.checks.audits import Audit, audit, audit_exactly, hockey_stick
from discreet.checks.audits.bounds import chance_at_least, chance_at_most
from discreet.checks.audits.events import choose
from discreet.errors import ParameterError
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.checks.audits.black_box import Sampler
    from discreet.noise import BitSource

CONFIDENCE = "0.999999999"


def laplace(value: int, scale: str) -> Sampler:
    return lambda count, bits: value + noise.discrete_laplace(scale, count, bits)


def gaussian(value: int, sigma: str) -> Sampler:
    return lambda count, bits: value + noise.gaussian(sigma, "1/64", count, bits)


@pytest.mark.parametrize("hits, draws", [(0, 50), (1, 50), (17, 50), (49, 50), (50, 50)])
@pytest.mark.parametrize("error", [0.3, 1e-3, 2.5e-10])
def test_the_bounds_are_the_binomial_tails(hits: int, draws: int, error: float) -> None:
    low, high = chance_at_least(hits, draws, error), chance_at_most(hits, draws, error)
    assert low <= hits / draws <= high
    if hits:
        assert stats.binom.sf(hits - 1, draws, low) == pytest.approx(error, rel=1e-6)
    if hits < draws:
        assert stats.binom.cdf(hits, draws, high) == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("scale, truth", [("2", 0.5), ("1", 1.0), ("1/2", 2.0)])
def test_the_bound_comes_close_to_the_truth_and_stays_below(scale: str, truth: float, seed: int) -> None:
    found = audit(laplace(0, scale), laplace(1, scale), claim=p.pure(truth), confidence="0.99", bits=ReplayBits(seed))
    assert 0.85 * truth - 0.02 <= found.epsilon <= truth
    assert not found.refuted


@pytest.mark.parametrize("flip", [False, True])
def test_both_orders_are_tried(flip: bool, seed: int) -> None:  # noqa: FBT001  pytest's way to give arguments
    """With noise that is never negative, only one of the two orders shows an impossible output."""

    def one_sided(value: int) -> Sampler:
        return lambda count, bits: value + noise.geometric(2, count, bits)

    pair = (one_sided(1), one_sided(0)) if flip else (one_sided(0), one_sided(1))
    found = audit(*pair, claim=p.pure("1/2"), confidence=CONFIDENCE, bits=ReplayBits(seed))
    assert found.refuted
    assert (found.likelier == "second") == flip
    assert found.event == "output is 0"


def test_delta_is_taken_into_account(seed: int) -> None:
    """Gaussian noise keeps no pure epsilon; at its true delta it is not refuted, at a tenth of it it is."""
    sigma, epsilon = "1/2", 2
    truth = Fraction(p.gaussian(sigma).delta(epsilon))
    pair = gaussian(0, sigma), gaussian(1, sigma)
    kept = p.approximate(epsilon=epsilon, delta=truth)
    assert not audit(*pair, claim=kept, delta=truth, confidence=CONFIDENCE, bits=ReplayBits(seed)).refuted
    broken = p.approximate(epsilon=epsilon, delta=truth / 10)
    assert audit(*pair, claim=broken, delta=truth / 10, confidence=CONFIDENCE, bits=ReplayBits(seed)).refuted


def test_the_whole_curve_is_held_against_the_event(seed: int) -> None:
    """At delta = 0 a Gaussian claims no epsilon; its curve is refuted by noise of two thirds all the same."""
    pair = gaussian(0, "2/3"), gaussian(1, "2/3")
    found = audit(*pair, claim=p.gaussian(1), confidence=CONFIDENCE, bits=ReplayBits(seed))
    assert found.claimed == math.inf
    assert found.refuted
    assert not audit(*pair, claim=p.gaussian("2/3"), confidence=CONFIDENCE, bits=ReplayBits(seed)).refuted


def spread(count: int, bits: BitSource) -> NDArray[Any]:
    return noise.discrete_laplace(50, count, bits)


def test_an_event_is_counted_on_draws_that_did_not_choose_it() -> None:
    """Equal laws: an honest audit at 90 % is wrong at most one time in ten; counting the chosen draws again is not."""
    honest, cheating, runs = 0, 0, 200
    for seed in range(runs):
        bits = ReplayBits(seed)
        found = audit(spread, spread, claim=p.pure(0), draws=400, confidence="0.9", bits=bits)
        honest += found.refuted
        over, under = spread(300, bits), spread(300, bits)
        event = choose(over, under, delta=0.0, error=0.025)
        top, bottom = chance_at_least(event.hits(over), 300, 0.025), chance_at_most(event.hits(under), 300, 0.025)
        cheating += top > bottom
    limit = stats.binom.isf(1e-9, runs, 0.1)
    assert honest <= limit
    assert cheating > limit


def test_no_answer_is_an_output_like_any_other(seed: int) -> None:
    def silent(rate: str) -> Sampler:
        return lambda count, bits: np.where(noise.bernoulli(rate, count, bits), np.nan, 1.0)

    found = audit(silent("0.9"), silent("0.1"), claim=p.pure(1), confidence=CONFIDENCE, bits=ReplayBits(seed))
    assert found.refuted
    texts = audit(
        lambda count, _: np.full(count, "a"),
        lambda count, _: np.full(count, "b"),
        claim=p.pure(1),
        confidence=CONFIDENCE,
    )
    assert texts.refuted


def test_a_result_prints_travels_and_is_drawn(seed: int) -> None:
    found = audit(
        laplace(0, "1/3"), laplace(1, "1/3"), claim=p.pure(1), confidence=CONFIDENCE, name="x", bits=ReplayBits(seed)
    )
    assert str(found).startswith("x: REFUTED: ε ≥ 2.")
    assert Audit.from_json(found.to_json()) == found
    endless = audit(laplace(0, "1"), laplace(1, "1"), claim=p.gaussian(1), bits=ReplayBits(seed))
    assert Audit.from_json(endless.to_json()) == endless
    axes = found.plot()
    points = axes.get_lines()[-1].get_xydata()
    assert np.allclose(points, [[found.bounds[1], found.bounds[0]]])


@pytest.mark.parametrize(
    "arguments",
    [{"draws": 10}, {"draws": 1.5}, {"confidence": 1}, {"confidence": 0}, {"confidence": "nan"}, {"delta": -1}],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        audit(laplace(0, "1"), laplace(1, "1"), claim=p.pure(1), **arguments)


def test_a_sampler_that_gives_something_else_is_refused() -> None:
    with pytest.raises(ParameterError, match="gave 3"):
        audit(lambda _count, _bits: np.zeros(3), laplace(0, "1"), claim=p.pure(1))
    with pytest.raises(ParameterError, match="3 dimensions"):
        audit(*[lambda count, _bits: np.zeros((count, 2, 2))] * 2, claim=p.pure(1))


def test_the_exact_audit_sees_a_millionth_of_a_millionth() -> None:
    """A claim that is short by 1e-9 in epsilon is refuted, the true one is not and leaves no gap."""
    epsilon = math.log(3)
    laws = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}, {"yes": Fraction(1, 4), "no": Fraction(3, 4)}
    found = audit_exactly(*laws, claim=p.randomized_response(epsilon=epsilon))
    assert not found.refuted
    assert abs(found.gap) <= 1e-12
    assert found.epsilon == pytest.approx(epsilon, rel=1e-15)
    short = audit_exactly(*laws, claim=p.randomized_response(epsilon=epsilon - 1e-9))
    assert short.refuted
    assert 1e-11 < short.excess < 1e-9


def test_the_exact_audit_finds_what_one_law_alone_can_show() -> None:
    first, second = {0: 0.9, 1: 0.1}, {0: 1.0}
    assert audit_exactly(first, second, claim=p.approximate(epsilon=1, delta="0.1")).refuted is False
    found = audit_exactly(first, second, claim=p.approximate(epsilon=1, delta="0.09"))
    assert found.refuted
    assert found.epsilon == math.inf
    assert found.excess == pytest.approx(0.01)


def test_the_exact_audit_tries_both_orders() -> None:
    law = {0: 0.5, 1: 0.5}, {0: 0.5, 1: 0.499, 2: 0.001}
    claim = p.approximate(epsilon="0.003", delta="0.0005")
    assert audit_exactly(*law, claim=claim).refuted
    assert audit_exactly(*law[::-1], claim=claim).refuted


@pytest.mark.parametrize("law", [{0: 0.5, 1: 0.4}, {0: 1.5, 1: -0.5}, {0: math.nan, 1: 1.0}])
def test_what_is_no_law_is_refused(law: dict[int, float]) -> None:
    with pytest.raises(ParameterError):
        audit_exactly(law, {0: 1.0}, claim=p.pure(1))


def test_the_hockey_stick_is_the_best_event() -> None:
    """Against all 2^5 events of two laws on five outcomes."""
    one, two = np.array([0.1, 0.2, 0.3, 0.25, 0.15]), np.array([0.3, 0.1, 0.1, 0.3, 0.2])
    events = (np.arange(32)[:, None] >> np.arange(5)) & 1
    for epsilon in (0.0, 0.3, 0.9, 2.0):
        best = (events @ one - math.exp(epsilon) * (events @ two)).max()
        assert hockey_stick(one, two, epsilon) == pytest.approx(best, abs=1e-15)


def test_two_bounds_in_two_orders_share_the_error(seed: int) -> None:
    found = audit(
        laplace(0, "1"), laplace(1, "1"), claim=p.pure(1), draws=2000, confidence="0.9", bits=ReplayBits(seed)
    )
    each = (1 - 0.9) / 4
    assert found.bounds[0] == pytest.approx(chance_at_least(found.hits[0], found.draws, each), rel=1e-9)
    assert found.bounds[1] == pytest.approx(chance_at_most(found.hits[1], found.draws, each), rel=1e-9)
