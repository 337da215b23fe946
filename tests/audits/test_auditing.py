"""One entry for every target; what it is given wrong is named, and what it finds is kept beside the claim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import privacy as p
from discreet.checks.audits import Audit, Canaries, OneRun, audit, audit_releases
from discreet.errors import BudgetError, ParameterError
from discreet.ledgers import MemoryLedger
from discreet.mechanisms import DiscreteLaplace, Histogram, Together
from discreet.noise import discrete_laplace, gaussian, uniform_integer
from discreet.tables import Policy
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.checks.audits.black_box import Sampler
    from discreet.noise import BitSource

SURE: dict[str, Any] = {"confidence": "0.999999999"}


def test_a_mechanism_is_held_to_its_own_claim_or_another(seed: int) -> None:
    made = DiscreteLaplace(1, epsilon=2)
    own = audit(made, (0, 1), bits=ReplayBits(seed), **SURE)
    assert isinstance(own, Audit)
    assert own.claimed == 2
    assert not own.refuted
    assert audit(made, (0, 1), claim=p.pure(1), bits=ReplayBits(seed), **SURE).refuted


def test_releases_of_many_numbers_are_seen_whole(seed: int) -> None:
    """Each count of a histogram by itself keeps the claim; together they do not, and the learned score sees it."""
    made = Histogram([0, 1, 2], epsilon=2)
    rows: list[int] = [0, 1]
    found = audit(made, ([], rows), claim=p.pure(2), look=list, bits=ReplayBits(seed), **SURE)
    assert found.refuted
    assert "a learned score" in found.event
    neighbors: tuple[list[int], list[int]] = ([], [0])
    assert not audit(made, neighbors, bits=ReplayBits(seed), **SURE).refuted
    assert audit(made, neighbors, claim=p.pure("0.5"), look=list, bits=ReplayBits(seed), **SURE).refuted


def test_what_is_named_is_seen_as_well(seed: int) -> None:
    both = Together({"few": DiscreteLaplace(1, epsilon="1.5"), "many": DiscreteLaplace(1, epsilon="1.5")})
    neighbors = ({"few": 0, "many": 0}, {"few": 1, "many": 1})
    assert audit(both, neighbors, claim=p.pure(1), draws=4000, bits=ReplayBits(seed), **SURE).refuted
    assert not audit(both, neighbors, draws=1000, bits=ReplayBits(seed), **SURE).refuted


def test_a_black_box_is_a_function_of_the_data(seed: int) -> None:
    bits = ReplayBits(seed)

    def synthesizer(rows: list[int]) -> list[float]:
        """Two noisy cells of a table, as somebody else would make them."""
        return [value + float(discrete_laplace(1, 1, bits)[0]) for value in (len(rows), sum(rows))]

    found = audit(synthesizer, ([1] * 5, [1] * 6), claim=p.pure(2), draws=2000, **SURE)
    assert not found.refuted
    assert audit(synthesizer, ([1] * 5, [1] * 6), claim=p.pure("0.9"), draws=4000, **SURE).refuted
    told = audit(lambda rows: None if len(rows) > 5 else "few", ([1] * 5, [1] * 6), claim=p.pure(2), draws=400)
    assert told.refuted


def test_a_run_is_scored_by_its_canaries() -> None:
    found = audit(lambda coins, _: coins, Canaries(200), claim=p.pure(1), bits=ReplayBits(1), **SURE)
    assert isinstance(found, OneRun)
    assert found.refuted


def test_what_is_found_is_kept_beside_the_claim() -> None:
    ledger = MemoryLedger(Policy([], epsilon=1))
    given: dict[str, Any] = {"claim": p.gaussian(sigma=4), "ledger": ledger, "bits": ReplayBits(0)}
    audit(lambda coins, _: coins, Canaries(200), name="a model", **given)
    audit(constant, constant, name="a constant", draws=200, **given)
    first, second = ledger.entries(kind="audit")
    assert str(first).endswith(f"a model: claimed inf, shown ≥ {first.body['shown']}")
    assert (first.body["refuted"], first.body["canaries"]) == (True, 200)
    assert (second.body["shown"], second.body["claim"]) == ("0", p.gaussian(sigma=4).record())
    assert ledger.verify().ok


def constant(count: int, _: BitSource) -> Any:  # noqa: ANN401 - an array
    return np.zeros(count)


def fails(_: object) -> float:
    raise ZeroDivisionError


def refuses(_: object) -> float:
    raise BudgetError


@pytest.mark.parametrize(
    "target, neighbors, other, message",
    [
        (fails, (0, 1), {"claim": p.pure(1)}, "on the first input, raised ZeroDivisionError"),
        (lambda value: 1 / (1 - value), (0, 1), {"claim": p.pure(1)}, "on the second input, raised ZeroDivisionError"),
        (lambda coins, _: coins / None, Canaries(20), {"claim": p.pure(1)}, "run raised TypeError"),
        (lambda value: value, (0, 1), {}, "claim is missing"),
        (lambda value: value, (0, 1, 2), {"claim": p.pure(1)}, "must be two inputs"),
        (lambda value: value, None, {"claim": p.pure(1)}, "neighbors is None"),
        (7, (0, 1), {"claim": p.pure(1)}, "target is 7"),
        (lambda coins, _: coins, Canaries(20), {"claim": p.pure(1), "look": len}, "look is for targets"),
        (lambda value: value, (0, 1), {"claim": p.pure(1), "epsilon": 1}, "prices of a question"),
        (DiscreteLaplace(1, epsilon=1), (0, 1), {"delta": 1}, "delta is 1"),
    ],
)
def test_mistakes_are_named(target: object, neighbors: Any, other: dict[str, Any], message: str) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match=message):
        audit(target, neighbors, **other)


def test_an_error_of_our_own_is_passed_on() -> None:
    with pytest.raises(BudgetError):
        audit(refuses, (0, 1), claim=p.pure(1))
    with pytest.raises(ParameterError, match="claim is 3; it must be a curve"):
        audit(refuses, (0, 1), claim=3)  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match="gave no numbers"):
        audit(lambda coins, _: ["a"] * len(coins), Canaries(50), claim=p.pure(1))
    with pytest.raises(ParameterError, match="count is 5"):
        Canaries(5)


@pytest.mark.parametrize("wide", [False, True])
def test_infinite_outputs_hide_nothing(wide: bool, seed: int) -> None:  # noqa: FBT001 - a case
    """Beside numbers that say nothing, plus infinity is released twice as often on one side, minus infinity always."""

    def sampler(share: int) -> Sampler:
        def run(count: int, bits: BitSource) -> NDArray[np.float64]:
            chances = uniform_integer(1000, size=count, bits=bits)
            noise = uniform_integer(1 << 30, size=count, bits=bits) / 1.0
            one = np.where(chances < share, np.inf, np.where(chances >= 900, -np.inf, noise))
            return np.column_stack([one, np.full(count, -np.inf)]) if wide else one

        return run

    found = audit_releases(sampler(200), sampler(400), claim=p.pure("1/4"), draws=8_000, bits=ReplayBits(seed))
    assert found.refuted
    assert 0.5 < found.epsilon < math.log(2)
    assert not audit_releases(sampler(200), sampler(400), claim=p.pure(1), draws=8_000, bits=ReplayBits(seed)).refuted


def test_infinite_scores_are_the_surest() -> None:
    found = audit(lambda coins, _: np.where(coins, np.inf, -np.inf), Canaries(100), claim=p.pure(1))
    assert found.refuted
    assert found.rates[0] == (0.0, 1.0)


def noisy(value: int, sigma: str) -> Sampler:
    return lambda count, bits: value + gaussian(sigma, "1/1024", count, bits)


def test_gaussian_noise_that_is_vouched_for_shows_more(seed: int) -> None:
    claim, given = p.gaussian(sigma=1), {"delta": "1e-5", "draws": 4000, "confidence": "0.999999999"}
    blind, fitted = (
        audit_releases(noisy(0, "1"), noisy(1, "1"), claim=claim, assuming=word, bits=ReplayBits(seed), **given)  # type: ignore[arg-type]
        for word in ("nothing", "gaussian")
    )
    truth = claim.epsilon("1e-5")
    assert blind.epsilon < 0.7 * truth < fitted.epsilon < truth
    assert not fitted.refuted
    assert Audit.from_json(fitted.to_json()) == fitted
    assert "standard deviations apart" in str(fitted)
    assert fitted.plot().get_xlabel() == "false positive rate"
    # The partner: nine tenths of the noise, which no event of 4,000 releases shows.
    less = audit_releases(
        noisy(0, "0.85"),
        noisy(1, "0.85"),
        claim=claim,
        assuming="gaussian",
        bits=ReplayBits(seed),
        **given,  # type: ignore[arg-type]
    )
    assert less.refuted


@pytest.mark.parametrize(
    "outputs, delta, message",
    [
        (lambda count, bits: discrete_laplace(5, count, bits), "1e-5", "the outputs are not: their tails"),
        (lambda count, bits: gaussian(1, "1/64", (count, 2), bits), "1e-5", "not one number each"),
        (lambda count, _: np.full(count, np.nan), "1e-5", "not one number each"),
        (noisy(0, "1"), 0, "delta is 0"),
    ],
)
def test_what_is_not_gaussian_is_not_taken_for_it(outputs: Sampler, delta: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        audit_releases(
            outputs,
            outputs,
            claim=p.gaussian(sigma=1),
            delta=delta,
            draws=4000,
            assuming="gaussian",
            bits=ReplayBits(1),
        )
