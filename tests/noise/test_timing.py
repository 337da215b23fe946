"""A pooled draw reads no bit and settles nothing, whatever is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from discreet import noise
from discreet.noise.blocks import Blocks
from discreet.noise.rounded import LazyDraw
from discreet.noise.table import Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

POOL = 1024
SINGLE: dict[str, Callable[[ReplayBits], object]] = {
    "discrete Laplace": lambda bits: noise.discrete_laplace(33, bits=bits),
    "discrete Gaussian": lambda bits: noise.discrete_gaussian(330, bits=bits),
    "geometric": lambda bits: noise.geometric(33, bits=bits),
    "staircase": lambda bits: noise.staircase(1, 5, 2, bits=bits),
    "coin": lambda bits: noise.bernoulli("1/3", bits=bits),
    "exponential coin": lambda bits: noise.bernoulli_exp("1/3", bits=bits),
    "Laplace": lambda bits: noise.laplace(1, "1/1024", bits=bits),
    "Gaussian": lambda bits: noise.gaussian(1, "1/1024", bits=bits),
}


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record every entry into a slow path."""
    calls: list[str] = []
    for owner, name in ((Table, "_slow"), (Table, "_settle"), (Blocks, "_keep"), (Blocks, "_settle"), (Blocks, "_far")):
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


def test_a_draw_for_a_private_scale_was_worked_out_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = ReplayBits(3)
    noise.rounded(noise.families.Cauchy(4), 0, 1, "1/1024", bits)
    taken = bits.taken
    precisions: list[int] = []
    original = LazyDraw.interval

    def recorded(self: LazyDraw, precision: int) -> object:
        precisions.append(precision)
        return original(self, precision)

    monkeypatch.setattr(LazyDraw, "interval", recorded)
    for scale in ("1e-9", 1, 10**9):
        noise.rounded(noise.families.Cauchy(4), "0.3", scale, "1/1024", bits)
    assert precisions == [256, 256, 256]
    assert bits.taken == taken
