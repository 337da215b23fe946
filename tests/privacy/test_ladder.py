"""The ladder of strategies: whichever is left out, both questions are answered by intervals around the same numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from discreet import privacy as p
from discreet.privacy.numerics.solvers import ladder

if TYPE_CHECKING:
    from discreet.privacy import Curve
    from discreet.privacy.numerics.solvers.ladder import Solver

CURVES = {
    "few values": p.randomized_response("0.3", 3) * 4 + p.randomized_response(1) * 9,
    "a lattice": p.discrete_laplace(5) * 20,
    "a line": p.laplace(10) * 10,
    "large losses": p.gaussian("0.5").subsample("0.001") * 5,
    "a probe": p.staircase(1, "0.3") * 2 + p.laplace(3),
}
DELTA = 1e-9
WHOLE = ladder.STRATEGIES
TRIMMED = 1
"""Without this rung the others would aim at nothing: it stays."""


def check(curve: Curve, strategies: tuple[Solver, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon and delta by these strategies meet those by all of them."""
    upper = curve.interval(DELTA)[1]
    questions = partial(curve.interval, DELTA), partial(curve.delta_interval, 0.7 * upper)
    for question in questions:
        whole = question()
        with monkeypatch.context() as patch:
            patch.setattr(ladder, "STRATEGIES", strategies)
            ends = question()
        assert max(whole[0], ends[0]) <= min(whole[1], ends[1]) * (1 + 1e-9)


@pytest.mark.parametrize("name", CURVES)
def test_answers_without_a_strategy_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in set(range(len(WHOLE))) - {TRIMMED}:
        check(CURVES[name], (*WHOLE[:place], *WHOLE[place + 1 :]), monkeypatch)


def test_the_check_sees_a_strategy_that_understates(monkeypatch: pytest.MonkeyPatch) -> None:
    liar = replace(WHOLE[TRIMMED], solve=lambda aim, _: replace(aim, ends=(0.0, 0.9 * aim.ends[1]), settled=True))
    with pytest.raises(AssertionError):
        check(CURVES["a line"], (*WHOLE[:-1], liar), monkeypatch)
    with pytest.raises(AssertionError):
        check(CURVES["a line"], (*WHOLE[: TRIMMED + 1], liar), monkeypatch)
