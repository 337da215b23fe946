"""The law of all that a proposal releases, enumerated on tiny neighbors: it tells no more than was promised and paid.

A whole proposal is asked of two tables that differ in one person. For each step the exact counts of both are taken,
and the parameters with which its noise and its coins were really drawn; from these alone the loss of the step is worked
out, without the curves, prices or charges of the package. A price of 52 lets a dozen people show every type.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from discreet import noise
from discreet.ledgers import open_ledger
from discreet.mechanisms.thresholds import partition_selection
from discreet.methods.proposals import buying, propose
from discreet.methods.proposals.steps import Desk, Step
from tests.methods.proposals.test_proposals import exact_counts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EPSILON, BUDGET, DELTA = 52, 100, Fraction(1, 10**6)
RELEASE_DELTA = float(DELTA / 1000) + 1e-18
"""What one search for keys has of a policy's delta, unless the policy says otherwise, and what floats may be off."""
USUAL = "".join(f"{unit},{unit}.5,{unit},2021-02-03,a\n" for unit in range(14))
STRANGE = "99,-700.5,5000,1950-01-01,a\n99,0.25,-3,2099-12-31,b\n99,12.5,12,2000-02-29,c\n"
WINDOW = range(-400, 401)
"""Values of noise that are enumerated; the largest scale is 1/4."""


@dataclass
class Drawn:
    """One step on one table: its exact counts, and what its noise and its coins were drawn with."""

    about: str
    counts: dict[object, int]
    scales: list[Fraction] = field(default_factory=list)
    coins: list[tuple[Fraction, Fraction]] = field(default_factory=list)


def drawn(file: Path, ledger: str, share: Fraction) -> tuple[list[Drawn], Fraction, Fraction]:
    """Ask for a whole proposal with this share of the noise; give its steps, and what it says and paid that it cost."""
    steps: list[Drawn] = []
    release, coins = Step.release, partition_selection._coins

    def watched(step: Step) -> Any:  # noqa: ANN401  an answer
        steps.append(Drawn(step.about, exact_counts(step)))
        return release(step)

    def scaled(scale: Fraction, **named: Any) -> Any:  # noqa: ANN401  as the sampler
        steps[-1].scales.append(scale * share)
        return noise.discrete_laplace(scale * share, **named)

    def tossed(counts: Any, epsilon: Fraction, delta: Fraction, bits: Any) -> Any:  # noqa: ANN401  as the coins
        steps[-1].coins.append((epsilon, delta))
        return coins(counts, epsilon, delta, bits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Step, "release", watched)
        patch.setattr(partition_selection, "_coins", tossed)
        mechanisms = [module for name, module in sys.modules.items() if name.startswith("discreet.mechanisms")]
        for module in mechanisms:
            if vars(module).get("discrete_laplace") is noise.discrete_laplace:
                patch.setattr(module, "discrete_laplace", scaled)
        proposal = propose(file, unit="user", epsilon=EPSILON, budget=BUDGET, delta="1e-6", ledger=ledger)
    with open_ledger(proposal.policy, ledger) as kept:
        left = kept.remaining.fields()["epsilon"]
    assert isinstance(left, Fraction)
    return steps, sum(proposal.paid.values(), Fraction(0)), BUDGET - left


def chance(value: int, scale: Fraction) -> float:
    """The law of discrete Laplace noise (Ghosh, Roughgarden, Sundararajan 2009, arXiv:0811.2841)."""
    return math.tanh(1 / (2 * scale)) * math.exp(-abs(value) / scale)


def loss_of_noise(moved: int, scale: Fraction) -> float:
    """The largest logarithm of a ratio of chances, over all values that are enumerated."""
    near = [value for value in WINDOW if abs(value) < 100 * scale]
    return max(abs(math.log(chance(value, scale) / chance(value - moved, scale))) for value in near)


def kept(count: int, epsilon: float, delta: float) -> float:
    """The chance that a key of so many units is shown (Desfontaines, Voss, Gipson, Mandayam 2022, arXiv:2006.03684)."""
    shown = 0.0
    for _ in range(count):
        shown = min(math.exp(epsilon) * shown + delta, 1 - math.exp(-epsilon) * (1 - shown - delta), 1.0)
    return shown


def beyond(one: list[float], two: list[float], epsilon: float) -> float:
    """By how much e^epsilon times a law falls short of another: the delta that is needed, both ways."""
    pairs = list(zip(one, two, strict=True))
    return max(sum(max(0.0, a - math.exp(epsilon) * b) for a, b in way) for way in (pairs, [(b, a) for a, b in pairs]))


def loss_of_keys(one: int, two: int, step: Drawn) -> float:
    """The least epsilon with which a key's law, not shown or shown with a noisy count, needs no more than its delta."""
    ((epsilon, delta),), (scale,) = step.coins, step.scales

    def law(count: int) -> list[float]:
        shown = kept(count, float(epsilon), float(delta))
        return [1 - shown, *(shown * chance(value - count, scale) for value in WINDOW)]

    first, second = law(one), law(two)
    low, high = 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(first, second, middle) <= RELEASE_DELTA else (middle, high)
    return high


def loss_of(one: Drawn, two: Drawn) -> float:
    """What a step tells the two tables apart by."""
    assert (one.about, one.scales, one.coins) == (two.about, two.scales, two.coins)
    moved = [(one.counts.get(place, 0), two.counts.get(place, 0)) for place in {*one.counts, *two.counts}]
    if one.coins:
        return sum(loss_of_keys(a, b, one) for a, b in moved if a != b)
    (scale,) = one.scales
    return sum(loss_of_noise(a - b, scale) for a, b in moved if a != b)


def refuted(folder: Path, share: Fraction = Fraction(1)) -> tuple[list[str], dict[str, float]]:
    """The claims about a proposal that its law does not keep, and the loss of each step."""
    runs = []
    for name, rows in (("without", USUAL), ("with", USUAL + STRANGE)):
        (folder / name).mkdir()
        (folder / name / "t.csv").write_text("user,cost,items,seen,kind\n" + rows)
        runs.append(drawn(folder / name / "t.csv", str(folder / name / "l.sqlite"), share))
    (one, said, charged), (two, *_) = runs
    losses = {a.about: loss_of(a, b) for a, b in zip(one, two, strict=True)}
    whole = sum(losses.values()) - 1e-9
    claims = {"epsilon": Fraction(EPSILON), "the lines": said, "the ledger": charged}
    return [name for name, claim in claims.items() if whole > claim], losses


@pytest.mark.slow
def test_a_proposal_tells_no_more_than_it_promises_says_and_pays(tmp_path: Path) -> None:
    broken, losses = refuted(tmp_path)
    assert broken == []
    assert len(losses) == 9
    # From below: a step that drew more noise than it pays for would waste the owner's budget.
    assert losses["rows per unit"] == pytest.approx(4, rel=1e-3)
    assert losses["type of kind"] == pytest.approx(4, rel=1e-3)
    for column in ("cost", "items", "seen"):
        assert losses[f"type of {column}"] == pytest.approx(4, rel=1e-3)
        assert losses[f"bounds of {column}"] == pytest.approx(8, rel=1e-3)
    assert losses["keys of kind"] <= 8


@pytest.mark.slow
def test_half_the_noise_is_refuted(tmp_path: Path) -> None:
    assert refuted(tmp_path, Fraction(1, 2))[0] == ["epsilon", "the lines", "the ledger"]


@pytest.mark.slow
def test_steps_that_are_not_charged_are_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vote = Desk.vote

    def unpaid(desk: Desk, table: str, column: str, price: Fraction) -> Step:
        return vote(Desk(desk.policy, desk.engine, open_ledger(desk.policy, "memory")), table, column, price)

    monkeypatch.setattr(Desk, "vote", unpaid)
    assert refuted(tmp_path)[0] == ["the ledger"]


@pytest.mark.slow
def test_prices_that_add_up_to_more_than_the_whole_are_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    price: Callable[..., Fraction] = buying._Prices.__getitem__
    monkeypatch.setattr(buying._Prices, "__getitem__", lambda prices, share: price(prices, share) * Fraction(3, 2))
    assert refuted(tmp_path)[0] == ["epsilon"]
