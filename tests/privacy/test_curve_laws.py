"""Laws over the registry of all curves."""

from __future__ import annotations

import math
import pkgutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import privacy as p
from discreet.errors import ParameterError
from discreet.privacy import curves
from discreet.privacy.curve import Curve

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = [(name, i, curve) for name, found in curves.examples().items() for i, curve in enumerate(found)]
EACH = pytest.mark.parametrize("curve", [curve for _, _, curve in ALL], ids=[f"{name}{i}" for name, i, _ in ALL])
deltas = st.sampled_from([1e-2, 1e-5, 1e-9])


def test_every_file_has_examples() -> None:
    """The laws below run over them; a file is said to have none where it is not listed."""
    files = {item.name for item in pkgutil.iter_modules(curves.__path__)}
    assert files == set(curves.examples())
    assert all(curves.examples().values())


@EACH
def test_json_returns_an_equal_curve(curve: Curve) -> None:
    total = curve * 3 + curve
    assert Curve.from_json(total.to_json()) == total
    assert hash(Curve.from_json(total.to_json())) == hash(total)


@EACH
def test_the_largest_loss_is_the_epsilon_at_delta_zero(curve: Curve) -> None:
    """Exact where a part states it, and the same number that the accountant finds."""
    largest = (curve * 3).largest_loss()
    truth = (curve * 3).epsilon(0)
    assert (largest is None) is (truth == math.inf)
    assert largest is None or truth * (1 - 1e-12) <= largest <= truth * (1 + 1e-9)


@EACH
@pytest.mark.parametrize("delta", [0, 1e-2, 1e-8])
def test_intervals_are_ordered_and_consistent(curve: Curve, delta: float) -> None:
    lower, upper = curve.interval(delta)
    assert 0 <= lower <= upper
    if math.isfinite(upper):
        assert curve.delta_interval(upper)[0] <= delta * (1 + 1e-6)
    if 0 < lower < math.inf:
        assert curve.delta_interval(lower)[1] >= delta * (1 - 1e-6)


@EACH
def test_k_fold_is_k_times_one(curve: Curve) -> None:
    assert curve * 3 == curve + curve + curve
    three, one = (curve * 3).interval(1e-6), curve.interval(1e-6)
    assert one[0] <= three[1]
    if math.isfinite(one[1]):
        # basic composition: three times (epsilon, delta / 3)
        third = curve.interval(1e-6 / 3)
        assert three[0] <= 3 * third[1] * (1 + 1e-9)


@EACH
def test_nothing_costs_nothing(curve: Curve) -> None:
    assert (curve * 0).interval(0) == (0.0, 0.0)
    assert (curve * 0).delta(0) == 0.0
    assert curve + curve * 0 == curve


@EACH
def test_group_of_one_and_whole_sample_change_nothing(curve: Curve) -> None:
    assert curve.group(1) == curve
    try:
        assert curve.subsample(1) == curve
    except ParameterError:
        assert curve.neighbors is not p.NeighborRelation.ADD_REMOVE


@EACH
def test_epsilon_falls_with_delta(curve: Curve) -> None:
    found = [curve.interval(delta) for delta in (1e-9, 1e-6, 1e-3)]
    assert found[0][1] >= found[1][0]
    assert found[1][1] >= found[2][0]


@EACH
def test_renyi_conversion_is_never_smaller(curve: Curve) -> None:
    lower, _ = curve.interval(1e-6)
    for order in (2, 5, 30):
        value = curve.rdp(order)
        if math.isinf(value):
            continue
        converted = value + math.log((order - 1) / order) - (math.log(1e-6) + math.log(order)) / (order - 1)
        assert max(converted, 0.0) >= lower * (1 - 1e-9)


@EACH
def test_zcdp_bounds_every_order_or_is_refused(curve: Curve) -> None:
    if any(part.rho() is None for part, _ in curve.terms):
        with pytest.raises(ParameterError, match="zCDP"):
            curve.zcdp()
        return
    rho = curve.zcdp()
    for order in (1.5, 3, 20):
        value = curve.rdp(order)
        if not any(part.kind in {"grouped", "parallel", "zcdp"} or "sampled" in part.kind for part, _ in curve.terms):
            assert value <= order * rho * (1 + 1e-9)


@EACH
def test_tradeoff_is_a_tradeoff(curve: Curve) -> None:
    previous = 1.0
    for fpr in (0.0, 0.01, 0.3, 0.8, 1.0):
        value = curve.tradeoff(fpr)
        assert 0 <= value <= 1 - fpr + 1e-12
        assert value <= previous + 1e-9
        previous = value


@settings(max_examples=30, deadline=None)
@given(data=st.data(), delta=deltas)
def test_order_of_composition_is_irrelevant(data: st.DataObject, delta: float) -> None:
    plain = [c for _, _, c in ALL if c.neighbors is p.NeighborRelation.ADD_REMOVE and "sampled" not in repr(c).lower()]
    one, two, three = (data.draw(st.sampled_from(plain)) for _ in range(3))
    left, right = (one + two) + three, three + (two + one)
    assert left == right
    assert left.interval(delta)[1] >= one.interval(delta)[0] * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(sigma=st.floats(0.3, 50), more=st.floats(1.01, 3), count=st.sampled_from([1, 3, 1000]), delta=deltas)
def test_more_noise_costs_less(sigma: float, more: float, count: int, delta: float) -> None:
    for build in (p.gaussian, p.laplace):
        assert (build(sigma * more) * count).interval(delta)[0] <= (build(sigma) * count).interval(delta)[1]


@settings(max_examples=12, deadline=None)
@given(rate=st.floats(0.02, 0.5), more=st.floats(1.05, 2), delta=deltas)
def test_a_larger_sample_costs_more(rate: float, more: float, delta: float) -> None:
    small, large = p.gaussian(2).subsample(rate) * 300, p.gaussian(2).subsample(min(rate * more, 1)) * 300
    assert small.interval(delta)[0] <= large.interval(delta)[1]


@settings(max_examples=25, deadline=None)
@given(scale=st.floats(0.5, 100), count=st.sampled_from([2, 5, 40]), delta=deltas)
def test_laplace_lies_below_pure(scale: float, count: int, delta: float) -> None:
    assert (p.laplace(scale) * count).interval(delta)[0] <= (p.pure(1 / scale) * count).interval(delta)[1] * (1 + 1e-9)


@pytest.mark.parametrize("rate, count", [(0.1, 3), (0.5, 50), (0.01, 1000)])
def test_numbers_are_plain_floats(rate: float, count: int) -> None:
    curve = p.gaussian(sigma=1).subsample(rate) * count
    found = [*curve.interval(1e-5), *curve.delta_interval(1), curve.epsilon(1e-5), curve.delta(1), curve.rdp(4)]
    assert {type(each) for each in found} == {float}  # NumPy's show their type where they are printed


def test_both_directions_are_composed_before_the_maximum() -> None:
    # One direction is the worse one at small epsilon, the other at large epsilon.
    curve = p.finite_pair(["0.5", "0.3", "0.2"], ["0.4", "0.5", "0.1"])
    forward, backward = curve.directions()
    from discreet.privacy.numerics.solvers.account import delta_interval

    for epsilon in (0.05, 0.45, 0.6):
        each = [delta_interval(direction, epsilon)[1] for direction in (forward, backward)]
        assert curve.delta(epsilon) == pytest.approx(max(each), rel=1e-12)
    assert len({delta_interval(d, 0.6)[1] > 0 for d in (forward, backward)}) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: p.gaussian(0),
        lambda: p.gaussian(-1),
        lambda: p.gaussian(float("nan")),
        lambda: p.gaussian(True),  # noqa: FBT003
        lambda: p.discrete_laplace(10, sensitivity="0.5"),  # type: ignore[arg-type]
        lambda: p.discrete_gaussian(1, sensitivity=1.5),  # type: ignore[arg-type]
        lambda: p.gaussian(1).subsample(1.5),
        lambda: p.gaussian(1).subsample(-0.1),
        lambda: p.gaussian(1).subsample(0.1, scheme=p.FixedSize),
        lambda: p.gaussian(1, neighbors=p.NeighborRelation.CHANGE_ONE).subsample(0.1, scheme=p.Poisson),
        lambda: p.gaussian(1) + p.gaussian(1, neighbors=p.NeighborRelation.CHANGE_ONE),
        lambda: p.gaussian(1) * -1,
        lambda: p.gaussian(1) * 1.5,  # type: ignore[operator]
        lambda: p.gaussian(1).epsilon(1),
        lambda: p.gaussian(1).epsilon(-1e-9),
        lambda: p.gaussian(1).epsilon(float("nan")),
        lambda: p.gaussian(1).delta(-1),
        lambda: p.gaussian(1).rdp(1),
        lambda: p.gaussian(1).group(0),
        lambda: p.randomized_response(-1),
        lambda: p.finite_pair(["0.5", "0.6"], ["0.5", "0.5"]),
        lambda: p.approximate(1, 1),
        lambda: p.approximate(1, "1e-6").zcdp(),
        lambda: Curve.from_json("{}"),
        lambda: Curve.from_json('{"neighbors": "add_remove", "terms": [{"kind": "magic", "count": 1}]}'),
    ],
)
def test_bad_input_is_refused(make: Callable[..., object]) -> None:
    with pytest.raises(ParameterError):
        make()


def test_extremes_have_documented_values() -> None:
    assert p.gaussian(1).epsilon(0) == math.inf
    assert p.gaussian(1).delta(math.inf) == 0
    assert p.approximate(1, "1e-6").epsilon("1e-7") == math.inf
    assert p.gaussian(1).subsample(0).epsilon(0) == 0
    lower, upper = (p.laplace(10**6) * 10**12).interval(1e-6)
    assert 0 < lower <= upper < math.inf
    assert p.gaussian(1).delta(1000) > 0


def test_parallel_takes_the_worst_and_refuses_change_one() -> None:
    """The size of one's part costs nothing under change-one, and tells everything when a unit changes parts."""
    change = p.NeighborRelation.CHANGE_ONE
    with pytest.raises(ParameterError, match="loses or gains"):
        p.pure(0, neighbors=change).parallel(p.pure(0, neighbors=change))
    plain = [p.pure(e) for e in (1, 2, 3)]
    assert plain[0].parallel(*plain[1:]).epsilon(0) == pytest.approx(3)


def test_subsample_of_a_sum_is_one_shared_sample() -> None:
    shared = (p.pure("0.5") * 2).subsample("0.1")
    separate = p.pure("0.5").subsample("0.1") * 2
    assert shared.epsilon(0) == pytest.approx(math.log1p(0.1 * math.expm1(1.0)), rel=1e-6)
    assert separate.epsilon(0) == pytest.approx(2 * math.log1p(0.1 * math.expm1(0.5)), rel=1e-6)
    assert shared.epsilon(0) > separate.epsilon(0)


BAD_TERMS = [
    '{"kind": "laplace", "scale": "-1", "sensitivity": "1", "count": 1}',
    '{"kind": "pure", "epsilon": "-1", "count": 1}',
    '{"kind": "gaussian", "sigma": "-1", "sensitivity": "1", "count": 1}',
    '{"kind": "gaussian", "sigma": 0.5, "sensitivity": "1", "count": 1}',
    '{"kind": "gaussian", "sigma": "0", "sensitivity": "1", "count": 1}',
    '{"kind": "poisson_sampled", "rate": "5", "base": {"neighbors": "add_remove", "terms": []}, "count": 1}',
    '{"kind": "poisson_sampled", "rate": "1/2", "base": {"neighbors": "change_one", "terms": []}, "count": 1}',
]


@pytest.mark.parametrize("term", BAD_TERMS)
def test_json_cannot_bring_in_what_constructors_refuse(term: str) -> None:
    with pytest.raises(ParameterError):
        p.Curve.from_json(f'{{"neighbors": "add_remove", "terms": [{term}]}}')


@pytest.mark.parametrize("curve, truth", [(p.pure(1), 1.0), (p.pure(1) * 7, 7.0), (p.discrete_laplace(10) * 10, 1.0)])
def test_intervals_at_delta_zero_hold_the_truth(curve: p.Curve, truth: float) -> None:
    lower, upper = curve.interval(0)
    assert lower <= truth <= upper


def test_a_relation_is_no_text() -> None:
    with pytest.raises(ParameterError, match="NeighborRelation"):
        p.Pure(1, neighbors="change_one")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="NeighborRelation"):
        p.gaussian(1, neighbors="change_one")  # type: ignore[arg-type]
