"""Laws of every mechanism, found through the registry: a new one is tested before its author has written a test."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.checks.audits import Case, cases
from discreet.errors import ParameterError
from discreet.exact import rational
from discreet.mechanisms import Laplace, Mechanism, Release, registered
from discreet.mechanisms.registry import modules
from discreet.privacy import ZCDP, Approximate, Curve, NeighborRelation, Pure, Unit
from tests.laws.branches import BRANCHES, Branch
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

ALL = registered()
AUDITED = [
    Branch(case.mechanism, case.first, case.second)
    for kind, known in cases().items()
    for case in known
    if kind in ALL and isinstance(case.mechanism, Mechanism)
]
KNOWN = {branch.mechanism: branch for branch in (*AUDITED, *BRANCHES)}
"""Every mechanism of an audit case, and every branch that no case goes through, once."""
EXAMPLES = [pytest.param(branch, id=f"{made.kind}-{place}") for place, (made, branch) in enumerate(KNOWN.items())]
MOST_COSTLY = 1e-9  # what certified curves may lie above a claim, relatively: their own width


def kept(claim: Pure | Approximate | ZCDP, curve: Curve) -> bool:
    """Tell whether a curve keeps what is claimed."""
    if isinstance(claim, Pure):
        return curve.epsilon(0) <= claim.epsilon * (1 + MOST_COSTLY)
    if isinstance(claim, Approximate):
        return curve.delta(claim.epsilon) <= claim.delta * (1 + MOST_COSTLY) + 1e-14
    if claim.delta:
        return curve.delta(20) <= claim.curve().delta(20) * (1 + MOST_COSTLY) + 1e-14
    return curve.zcdp() <= claim.rho * (1 + MOST_COSTLY)


def registered_by(module: str) -> list[str]:
    """Name the kinds that a file registers."""
    return [kind for kind, each in ALL.items() if each.__module__ == module]


@pytest.mark.parametrize("module", modules())
def test_every_file_registers_a_mechanism(module: str) -> None:
    assert registered_by(module), f"{module} stands among the mechanisms and registers none"
    assert importlib.import_module(module).__all__


def test_a_file_without_a_mechanism_is_seen() -> None:
    assert registered_by("discreet.mechanisms.release") == []


@pytest.mark.parametrize("kind", ALL)
def test_every_mechanism_speaks_for_itself(kind: str) -> None:
    each = ALL[kind]
    assert each.kind == kind
    assert dataclasses.is_dataclass(each)
    assert each.__dataclass_params__.frozen
    for words in (each.guarantee, each.accuracy, each.source):
        assert len(words) > 10
    assert ">>> " in (each.__doc__ or "")
    assert len([mechanism for mechanism in KNOWN if mechanism.kind == kind]) >= 2


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_mechanism_survives_json(example: Branch) -> None:
    mechanism = example.mechanism
    back: Mechanism[Any, Any] = Mechanism.from_record(json.loads(json.dumps(mechanism.record())))
    assert back == mechanism
    assert hash(back) == hash(mechanism)
    assert back.privacy == mechanism.privacy


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_release_survives_json(example: Branch) -> None:
    for value in (example.first, example.second):
        release = example.mechanism.release(value, bits=ReplayBits(7))
        assert isinstance(release, Release)
        assert Release.from_json(release.to_json()) == release
        assert release.mechanism == example.mechanism


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_claim_is_kept_by_the_curve(example: Branch) -> None:
    mechanism = example.mechanism
    assert mechanism.claim.neighbors == mechanism.neighbors == mechanism.privacy.neighbors
    assert kept(mechanism.claim, mechanism.privacy)


def test_a_claim_that_is_too_small_is_seen() -> None:
    curve = Laplace(sensitivity=1, epsilon="0.5").privacy
    assert kept(Pure("0.5"), curve)
    assert not kept(Pure("0.499"), curve)
    assert not kept(Approximate("0.4", 1e-6), curve)
    assert not kept(ZCDP("0.12"), curve)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_error_grows_with_confidence_or_has_a_reason(example: Branch) -> None:
    release = example.mechanism.release(example.first, bits=ReplayBits(3))
    errors = [release.error(confidence) for confidence in (0.5, 0.9, 0.99, 0.999999)]
    if any(error is None for error in errors):
        assert errors == [None] * 4
        assert len(example.mechanism.no_error_because) > 20
        assert example.mechanism.no_error_because in release.explain()
        return
    sizes = [np.max(np.asarray(error, dtype=np.float64), initial=0.0) for error in errors]
    assert sizes == sorted(sizes)
    assert 0 <= sizes[0] <= sizes[-1] < math.inf
    for confidence in (0, 1, -0.5, 2, math.nan):
        with pytest.raises(ParameterError, match="confidence"):
            release.error(confidence)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_release_prints_on_one_line_and_explains_itself(example: Branch) -> None:
    release = example.mechanism.release(example.first, bits=ReplayBits(5))
    line = repr(release)
    assert line.startswith("Release(value=")
    assert "\n" not in line
    assert len(line) < 250
    assert example.mechanism.promise in line
    text = release.explain()
    for words in ("Promise: ", "Because: ", "Error: ", example.mechanism.source, example.mechanism.neighbors.value):
        assert words in text


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_same_bits_release_the_same_value(example: Branch) -> None:
    first, second = (example.mechanism.release(example.first, bits=ReplayBits(11)) for _ in range(2))
    assert first.to_json() == second.to_json()


@pytest.mark.parametrize("example", EXAMPLES)
def test_nothing_but_the_noise_depends_on_the_value(example: Branch) -> None:
    """Two neighbors' releases have the same type, the same promise and the same shape of error."""
    pair = [example.mechanism.release(value, bits=ReplayBits(13)) for value in (example.first, example.second)]
    assert type(pair[0].value) is type(pair[1].value) or None in (pair[0].value, pair[1].value)
    assert pair[0].privacy == pair[1].privacy
    assert isinstance(pair[0], Release)
    assert isinstance(pair[1], Release)
    assert set(pair[0].details) == set(pair[1].details)


COARSER = {"scale": 2.0, "sigma": 2.0, "epsilon": 0.5, "level_epsilon": 0.5, "round_epsilon": 0.5, "rho": 0.5}
DERIVED = {  # fields that a constructor finds again from the promise
    "partition_selection": ("scale", "threshold"),
    "randomized_response": ("truth",),
}
SMOOTH = ("law", "shape", "smoothing")  # of all mechanisms with a smoothing


def noisier(mechanism: Mechanism[Any, Any]) -> Mechanism[Any, Any]:
    """Return the same mechanism with about twice the noise, by the first parameter that says how much there is."""
    record = mechanism.record()
    for name in SMOOTH if "smoothing" in record else DERIVED.get(mechanism.kind, ()):
        record[name] = None
    for name, factor in COARSER.items():
        if record.get(name) is not None:
            record[name] = str(rational(record[name]) * rational(factor))
            return Mechanism.from_record(record)
    for name, inner in record.items():
        if isinstance(inner, dict):  # a statistic holds the mechanism of its noise
            return Mechanism.from_record({**record, name: noisier(Mechanism.from_record(inner)).record()})
    pytest.fail(f"{mechanism.kind} has no parameter of its noise in COARSER; add it there")


@pytest.mark.parametrize("example", EXAMPLES)
def test_more_noise_costs_less(example: Branch) -> None:
    mechanism = example.mechanism
    other = noisier(mechanism)
    delta = "1e-6"
    if isinstance(mechanism.claim, Approximate):
        before, after = (each.privacy.delta(mechanism.claim.epsilon) for each in (mechanism, other))
        assert after <= before * (1 + MOST_COSTLY) + 1e-14
    else:
        assert other.privacy.epsilon(delta) <= mechanism.privacy.epsilon(delta) * 0.76
    wide, narrow = other.error(0.9), mechanism.error(0.9)
    if wide is not None and narrow is not None:
        assert np.all(np.asarray(wide) >= np.asarray(narrow))


def relabeled(record: object, unit: Unit) -> Any:  # noqa: ANN401  as JSON
    """Write another unit into every relation of a record."""
    if isinstance(record, dict):
        return {name: relabeled(item, unit) for name, item in record.items()}
    if isinstance(record, list):
        return [relabeled(item, unit) for item in record]
    known = [relation.value for relation in NeighborRelation]
    return f"{record}/{unit.value}" if record in known else record


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_noise_is_the_same_whatever_a_unit_is_called(example: Branch) -> None:
    mechanism = example.mechanism
    record = relabeled(mechanism.record(), Unit.EVENT)
    if mechanism.neighbors is NeighborRelation.CHANGE_ONE_ORDERED:  # each respondent answers for herself
        with pytest.raises(ParameterError, match="each respondent"):
            Mechanism.from_record(record)
        return
    other: Mechanism[Any, Any] = Mechanism.from_record(record)
    assert other.record() == record
    assert (
        other.claim.neighbors
        == other.neighbors
        == other.privacy.neighbors
        == mechanism.neighbors.relation.of(Unit.EVENT)
    )
    assert other.claim.fields() == mechanism.claim.fields()
    assert other.privacy.record() == relabeled(mechanism.privacy.record(), Unit.EVENT)
    values = [each.release(example.first, bits=ReplayBits(17)) for each in (mechanism, other)]
    assert json.loads(values[0].to_json())["value"] == json.loads(values[1].to_json())["value"]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ParameterError, match="nobody registered"):
        Mechanism.from_record({"kind": "nothing"})


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"mechanism": {}}', '{"mechanism": {"kind": "laplace"}, "value": 1}']
)
def test_what_is_no_release_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        Release.from_json(text)


def test_a_forged_promise_is_refused() -> None:
    record = Laplace(sensitivity=1, epsilon=1).record()
    with pytest.raises(ParameterError, match="scale"):
        Mechanism.from_record({**record, "scale": "-1"})


def test_every_name_is_at_hand_in_the_root() -> None:
    import discreet

    package = importlib.import_module("discreet.mechanisms")
    for name in package.__all__:
        assert getattr(discreet, name) is getattr(package, name)
        assert name in dir(discreet)


WRITTEN = [
    pytest.param(case, id=f"{kind}: {case.name}")
    for kind, known in cases().items()
    for case in known
    if case.law is not None
]


def merged(law: Mapping[Any, float | Fraction], seed: int) -> dict[int, float]:
    """Look at a law through a function of the outcome: each outcome falls into one of three, by a hash."""
    found = dict.fromkeys(range(3), 0.0)
    for outcome, chance in law.items():
        found[zlib.crc32(f"{seed} {outcome}".encode()) % 3] += float(chance)
    return found


def largest_gap(left: Mapping[Any, float | Fraction], right: Mapping[Any, float | Fraction], epsilon: float) -> float:
    """Return the delta of two laws at this epsilon, the larger of both directions."""
    keys = {*left, *right}

    def one_way(over: Mapping[Any, float | Fraction], under: Mapping[Any, float | Fraction]) -> float:
        return math.fsum(max(float(over.get(z, 0)) - math.exp(epsilon) * float(under.get(z, 0)), 0.0) for z in keys)

    return max(one_way(left, right), one_way(right, left))


@pytest.mark.slow
@pytest.mark.parametrize("case", WRITTEN)
def test_post_processing_is_free(case: Case) -> None:
    """Whatever function one looks through, two neighbors are told apart no better than the curve says."""
    assert case.law is not None
    laws = case.law(case.mechanism, case.first), case.law(case.mechanism, case.second)
    for seed in range(3):
        seen = [merged(law, seed) for law in laws]
        for epsilon in (0.0, 0.5, 1.0):
            found = largest_gap(seen[0], seen[1], epsilon)
            assert found <= largest_gap(*laws, epsilon) + 1e-12
            assert found <= case.claim.delta(epsilon) + 1e-9


def test_a_function_that_looks_at_the_data_again_is_seen() -> None:
    """The partner: post-processing that depends on the data is none."""
    half = {"a": 0.5, "b": 0.5}
    assert largest_gap({0: 1.0}, {1: 1.0}, 1.0) > largest_gap(half, half, 1.0)
