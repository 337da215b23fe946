"""What a promise says about overfitting: held against laws that are written out, and against the limits of theorems."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.methods.adaptive import Notion, adaptive_questions, generalization_bound
from discreet.methods.adaptive.generalization import posterior_gap, transferred


def posterior_of_responses(epsilon: float, share: float, count: int) -> float:
    """The largest gap between the law of a bit and its law given `count` noisy copies that are epsilon-DP together."""
    keep = 1 / (1 + math.exp(-epsilon / count))
    gaps = []
    for told in product((0, 1), repeat=count):
        likely = [math.prod(keep if bit == seen else 1 - keep for seen in told) for bit in (0, 1)]
        given = share * likely[1] / (share * likely[1] + (1 - share) * likely[0])
        gaps.append(abs(given - share))
    return max(gaps)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_row_s_law_given_the_output_is_as_far_as_stated_and_no_farther(epsilon: float) -> None:
    gap, lost = posterior_gap(epsilon, 0.0, 0.0)
    worst = max(posterior_of_responses(epsilon, share, 1) for share in np.linspace(0.001, 0.999, 999))
    assert lost == 0
    assert worst <= gap <= worst * 1.001


def test_with_delta_a_gap_is_passed_as_seldom_as_stated() -> None:
    """Shown with probability delta, a bit is known then: its gap is 1/2, and passes any slack below it."""
    delta, slack = 0.1, 0.4
    gap, lost = posterior_gap(0.0, delta, slack)
    assert gap == slack
    assert delta <= lost == pytest.approx(2 * delta / slack)


def test_two_sides_of_a_gap_share_no_delta() -> None:
    """Half of the outputs show a rare 1, the other half a rare 0: one side of the bound would be passed by both."""
    share, delta, slack = 0.5, 0.2, 0.49
    shown = {0: delta, 1: delta}
    passed = sum(chance * part for chance, part in zip(shown.values(), (share, 1 - share), strict=True))
    assert posterior_gap(0.0, delta, slack)[1] >= passed
    assert posterior_gap(0.0, delta, slack)[1] == pytest.approx(2 * delta / slack)


def test_on_average_is_never_below_what_randomized_response_does() -> None:
    for epsilon in (0.1, 1.0, 4.0):
        told = math.exp(epsilon) / (1 + math.exp(epsilon)) - 0.5
        bound = generalization_bound(epsilon, n=1, notion="expectation")
        assert told <= bound.overfit <= 2.01 * told
        assert bound.confidence is None


def test_robust_bounds_hold_where_the_sample_is_shown_by_noisy_bits(seed: int) -> None:
    """Bits by randomized response: the function that says for each place what was told overfits by tanh(ε/2)/2."""
    rng, n, epsilon = np.random.default_rng(seed), 2_000, 0.2
    bits = rng.integers(0, 2, (200, n))
    told = np.where(rng.random((200, n)) < 1 / (1 + math.exp(-epsilon)), bits, 1 - bits)
    overfit = (told == bits).mean(axis=1) - 0.5
    bound = generalization_bound(epsilon, n=n, confidence=0.95).overfit
    assert (overfit > bound).mean() <= 0.05
    assert overfit.mean() > bound / 4


def test_without_a_promise_s_loss_the_bound_is_hoeffding_s() -> None:
    assert generalization_bound(0, n=1000).overfit == pytest.approx(math.sqrt(math.log(80) / 2000))
    perfect = generalization_bound(0, n=1000, notion=Notion.PERFECT).overfit
    assert perfect == pytest.approx(math.sqrt(math.log(40) / 2000))
    more = generalization_bound("0.5", "0.01", n=1000, miss="0.01", questions=3, notion="perfect").overfit
    assert more == pytest.approx(math.sqrt((0.5 + math.log(6 / 0.03)) / 2000))


def test_more_rows_less_epsilon_and_fewer_questions_overfit_less() -> None:
    for delta in (0, 1e-8):
        at = generalization_bound("0.05", delta, n=10**5).overfit
        assert generalization_bound("0.05", delta, n=10**6).overfit < at
        assert generalization_bound("0.02", delta, n=10**5).overfit < at
        assert generalization_bound("0.05", delta, n=10**5, questions=50).overfit > at
        assert generalization_bound("0.05", delta, n=10**5, confidence=0.999).overfit > at


def test_the_transfer_takes_markov_s_price() -> None:
    """With one slack c, s = 0.05 c, and the error is that at s, the gap and c."""
    seen: list[float] = []

    def error(s: float) -> float:
        seen.append(s)
        return 0.25

    found = transferred(error, lambda: iter([(0.0, 0.0)]), 0.05)
    assert found == pytest.approx(0.25 + 2**-12)
    assert max(seen) <= 0.05 * 0.5
    assert transferred(error, lambda: iter([(0.0, 1.0)]), 0.05) == 1


def test_questions_grow_as_the_square_of_the_rows_and_by_splitting_as_the_rows() -> None:
    few, many = (adaptive_questions(n, error=0.1) for n in (10**5, 10**6))
    assert 70 < many.private / few.private < 120
    assert 6 < many.split / few.split < 11
    assert few.most == max(few.private, few.split)
    assert few.fixed > 2**60
    k, sigma = few.private, few.sigma
    assert -stats.norm.ppf(0.05 * 0.1 / (2 * k)) * sigma < 0.1
    assert math.sqrt(k) / (10**5 * sigma) < 0.2


def test_split_rows_are_enough_for_each_question_and_one_more_is_too_many() -> None:
    found = adaptive_questions(10_000, error=0.1)
    for k in (found.split, found.split + 1):
        rows = 10_000 // k
        assert (2 * k * math.exp(-2 * rows * 0.01) <= 0.05) == (k == found.split)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("notion", ["expectation", "robust"])
def test_a_promise_that_is_none_bounds_nothing(delta: str, notion: str) -> None:
    assert generalization_bound(10**6, delta, n=100, notion=notion).overfit == 1


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="error is 1"):
        adaptive_questions(10, error=1)
    with pytest.raises(ParameterError, match="delta and miss"):
        generalization_bound(1, "0.03", n=10, miss="0.03", notion="perfect")
    with pytest.raises(ParameterError, match="notion is 'strong'"):
        generalization_bound(1, n=10, notion="strong")
    with pytest.raises(ParameterError, match="n is 0"):
        generalization_bound(1, n=0)
    with pytest.raises(ParameterError, match="confidence"):
        generalization_bound(1, n=10, confidence=1)
