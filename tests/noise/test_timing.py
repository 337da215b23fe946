"""A pooled draw reads no bit and settles nothing, whatever is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from discreet import noise
from discreet.noise.blocks import Blocks
from discreet.noise.tables import WeightTable
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.exact import Interval

POOL = 1024
SINGLE: dict[str, Callable[[ReplayBits], object]] = {
    "discrete Laplace": lambda bits: noise.discrete_laplace(33, bits=bits),
    "discrete Gaussian": lambda bits: noise.discrete_gaussian(330, bits=bits),
    "geometric": lambda bits: noise.geometric(33, bits=bits),
    "staircase": lambda bits: noise.staircase(1, 5, 2, bits=bits),
    "coin": lambda bits: noise.bernoulli("1/3", bits=bits),
    "exponential coin": lambda bits: noise.bernoulli_exp("1/3", bits=bits),
    "coin of the truth": lambda bits: noise.truthful("1/3", 2, bits=bits),
    "Laplace": lambda bits: noise.laplace(1, "1/1024", bits=bits),
    "Gaussian": lambda bits: noise.gaussian(1, "1/1024", bits=bits),
}


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record every entry into a slow path."""
    calls: list[str] = []
    for owner, name in (
        (WeightTable, "_slow"),
        (WeightTable, "_settle"),
        (Blocks, "_keep"),
        (Blocks, "_settle"),
        (Blocks, "_far"),
    ):
        original = getattr(owner, name)

        def wrapped(*args: object, _original: Callable[..., object] = original, _name: str = name) -> object:
            calls.append(_name)
            return _original(*args)

        monkeypatch.setattr(owner, name, wrapped)
    return calls


@pytest.mark.parametrize("name", SINGLE)
def test_a_pooled_draw_does_no_refinement(name: str, slow_calls: list[str]) -> None:
    bits = ReplayBits(1)
    draw = SINGLE[name]
    draw(bits)  # fills the pool
    filled, taken = len(slow_calls), bits.taken
    assert taken > 0
    for _ in range(POOL - 1):
        draw(bits)
    assert len(slow_calls) == filled
    assert bits.taken == taken
    draw(bits)  # the pool is empty: it is filled again, after a number of draws that does not depend on them
    assert bits.taken > taken


def test_filling_does_refine_so_the_count_can_see_it(slow_calls: list[str]) -> None:
    noise.discrete_gaussian(330, 5000, ReplayBits(1))
    assert {"_slow", "_keep"} <= set(slow_calls)


@pytest.mark.parametrize("family", [noise.families.Cauchy("1.01"), noise.families.Laplace()], ids=repr)
def test_a_draw_for_a_private_scale_was_worked_out_ahead(
    family: noise.families.Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    bits = ReplayBits(3)
    noise.rounded(family, 0, 1, "1/1024", bits)
    taken = bits.taken
    evaluations: list[object] = []
    original = family.__class__.value

    def recorded(self: noise.families.Family, u: list[Interval]) -> Interval:
        evaluations.append(u)
        return original(self, u)

    monkeypatch.setattr(family.__class__, "value", recorded)
    for scale in (0, "1e-9", 1, 10**9, 2**200, 2**246):
        noise.rounded(family, "0.3", scale, "1/1024", bits)
    assert evaluations == []
    assert bits.taken == taken
    for _ in range(8):
        noise.rounded(family, "0.3", 1, "1/1024", bits)
    assert evaluations  # the pool is empty: filling it evaluates, so the count can see it
