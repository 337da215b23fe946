"""Attacks on the floats themselves: they break the textbook's mechanism and find nothing in ours.

The events are those of `tests.noise.test_attacks`: Mironov 2012 (which floats can be logarithms at all) and the
precision attack of Haney et al. 2022 (which bits a sum of floats can have). Here whole mechanisms are attacked, through
what they release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import privacy as p
from discreet.checks.audits import audit
from discreet.mechanisms import Gaussian, Laplace, Mean, Staircase, Sum
from tests.noise.replay import ReplayBits
from tests.noise.test_attacks import reachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.mechanisms import Mechanism
    from discreet.noise import BitSource

CONFIDENCE = "0.999999999"
DRAWS = 1_000


def porous(outputs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whether an output is possible for the value 1 and impossible for the value 0, in floats."""
    return np.array([reachable(y, 1.0) and not reachable(y, 0.0) for y in outputs], dtype=np.int64)


def precise(outputs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whether an output near 0 has bits below 2**-53, which a float sum with 1 never has."""
    scaled = np.ldexp(outputs, 53)
    return np.asarray((scaled != np.rint(scaled)) & (np.abs(outputs) < 1), dtype=np.int64)


ATTACKS = {"porous set": porous, "precision": precise}


def textbook(value: float, count: int, seed: int) -> NDArray[np.float64]:
    """The value plus numpy.random's laplace, in floats."""
    return value + np.random.Generator(np.random.PCG64(seed)).laplace(0.0, 1.0, count)


@pytest.mark.audit
@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_breaks_the_textbook_s_mechanism(name: str) -> None:
    attack = ATTACKS[name]
    found = audit(
        lambda count, _: attack(textbook(1.0, count, 1)),
        lambda count, _: attack(textbook(0.0, count, 2)),
        claim=p.laplace(1),
        draws=DRAWS,
        confidence=CONFIDENCE,
    )
    assert found.refuted, str(found)


def values(made: Mechanism[Any, Any], given: object, count: int, bits: BitSource) -> NDArray[np.float64]:
    return np.array([float(made.release(given, bits=bits).value) for _ in range(count)])


RELEASED: dict[str, tuple[Mechanism[Any, Any], Any, Any]] = {
    "Laplace": (Laplace(1, epsilon=1), 1.0, 0.0),
    "Laplace on a grid that is finer than floats near 1": (Laplace(1, epsilon=1, grid="1/1073741824"), 1.0, 0.0),
    "Gaussian": (Gaussian(1, sigma=1), 1.0, 0.0),
    "Staircase": (Staircase(1, epsilon=1, grid="1/1024"), 1.0, 0.0),
    "Sum": (Sum(lower=0, upper=1, epsilon=1), [1.0], []),
    "Mean": (Mean(lower=0, upper=1, epsilon=1), [1.0, 0.3], [1.0]),
}


@pytest.mark.audit
@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("made, first, second", RELEASED.values(), ids=RELEASED)
def test_the_attack_finds_nothing_in_ours(
    name: str, made: Mechanism[Any, Any], first: object, second: object, seed: int
) -> None:
    attack: Callable[[NDArray[np.float64]], NDArray[np.int64]] = ATTACKS[name]
    found = audit(
        lambda count, bits: attack(values(made, first, count, bits)),
        lambda count, bits: attack(values(made, second, count, bits)),
        claim=made.privacy,
        draws=DRAWS,
        confidence=CONFIDENCE,
        bits=ReplayBits(seed),
    )
    assert not found.refuted, str(found)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, -1e5, 1e-300])
@pytest.mark.parametrize("made", [Laplace(1, epsilon=1), Gaussian(1, sigma=1), Staircase(1, epsilon=1, grid="1/1024")])
def test_every_output_lies_on_the_public_grid(made: Any, value: float, seed: int) -> None:  # noqa: ANN401
    """The low bits of an output are those of the grid, whatever the value; the textbook's are not."""
    steps = values(made, value, 200, ReplayBits(seed)) / float(made.grid.step)
    assert (steps == np.rint(steps)).all()
    floats = textbook(value, 200, 3) / float(made.grid.step)
    assert (floats != np.rint(floats)).any()


def test_a_sum_does_not_depend_on_the_order_of_its_rows(seed: int) -> None:
    """Casacuberta et al. 2022: floats summed in another order differ; rows snapped to a grid first do not."""
    rows = [1e16, *[1.0] * 50]
    made = Sum(lower=0, upper=1e16, epsilon=1, grid=1)
    one, other = (made.release(given, bits=ReplayBits(seed)).value for given in (rows, rows[::-1]))
    assert one == other
    assert np.cumsum(rows)[-1] != np.cumsum(rows[::-1])[-1]
