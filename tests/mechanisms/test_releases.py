"""Releases are open: any registered kind of promise and value travels, and what nobody registered is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from discreet.errors import ParameterError
from discreet.ledgers import Entry, MemoryLedger, charge
from discreet.mechanisms import (
    Count,
    DiscreteGaussian,
    Laplace,
    Mechanism,
    PartitionSelection,
    RandomizedResponse,
    Release,
    Together,
)
from discreet.mechanisms.carried import carry
from discreet.mechanisms.promise import read_promise, register
from discreet.privacy import ZCDP, Approximate, NeighborRelation, Pure
from discreet.tables import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.privacy import Curve


@dataclass(frozen=True)
class Line:
    """A fitted model: no number, no text."""

    slope: float


@dataclass(frozen=True)
class Fitted:
    """The promise of a method that is no mechanism: it has no release, and does not inherit."""

    kind: ClassVar[str] = "test_fitted"
    neighbors = NeighborRelation.ADD_REMOVE
    accuracy: ClassVar[str] = "unknown"
    no_error_because: ClassVar[str] = "a slope has none here."
    argument: ClassVar[tuple[str, ...]] = ("noise on sums (nobody, nowhere)",)
    assumed: ClassVar[tuple[str, ...]] = ()
    claim: ClassVar[Pure] = Pure("0.4")
    promise: ClassVar[str] = "ε = 0.4"

    @property
    def privacy(self) -> Curve:
        return self.claim.curve()

    def error_of(self, value: Line, details: Mapping[str, object], confidence: float = 0.95) -> None:
        """There is none."""

    def record(self) -> dict[str, Any]:
        return {"kind": self.kind}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Fitted:
        assert set(record) == {"kind"}
        return cls()


register(Fitted)
carry("test_line", Line, lambda line: line.slope, Line)
ENTRY = Entry("a slope", ("visits",), kind="method")
LAPLACE = Laplace(sensitivity=1, epsilon="0.4")


def test_a_model_is_released_charged_and_found_again() -> None:
    ledger = MemoryLedger(Policy([], epsilon=1))
    first = charge(ledger, Pure("0.5"), ENTRY, lambda _: Release(Line(2.5), Fitted()))
    again = charge(ledger, Pure("0.4"), ENTRY, lambda _: pytest.fail("it ran twice"))
    assert first == again == Release.from_json(first.to_json())
    assert again.value == Line(2.5)
    assert again.mechanism == Fitted()
    assert again.charged == Pure("0.5")  # what it did cost, not what was asked now
    assert "Charged: ε = 0.5, to the ledger that recorded it." in again.explain()
    assert ledger.remaining == Pure("0.5")


def test_what_was_not_charged_says_so() -> None:
    release = LAPLACE.release(7)
    assert release.charged is None
    assert "Charged: nothing." in release.explain()
    paid = replace(release, charged=Pure(1))
    assert Release.from_json(paid.to_json()).charged == Pure(1)
    assert paid == release  # the same was released, whoever paid for it
    assert hash(paid) == hash(release)
    assert replace(release, value=release.value + 1) != release


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"version": 2}, "a newer one wrote it"),
        ({"version": "1"}, "a newer one wrote it"),
        ({"mechanism": {"kind": "laplasse"}}, "nobody registered. Did you mean 'laplace'"),
        ({"mechanism": {"kind": 7}}, "must be a text"),
        ({"mechanism": {**LAPLACE.record(), "tilt": 1}}, "newer version of discreet"),
        ({"mechanism": {"kind": "together"}}, "no release"),
        ({"value": {"picture": []}}, "'picture', which nobody registered"),
        ({"charged": {"currency": "gold"}}, "no promise"),
    ],
)
def test_what_nobody_registered_or_a_newer_version_wrote_is_refused(fields: dict[str, object], words: str) -> None:
    record = json.loads(LAPLACE.release(7).to_json())
    with pytest.raises(ParameterError, match=words):
        Release.from_json(json.dumps({**record, **fields}))


def test_a_release_without_a_version_is_read() -> None:
    """As they stand in ledgers that are older than versions."""
    release = LAPLACE.release(7)
    old = json.loads(release.to_json())
    del old["version"]
    assert Release.from_json(json.dumps(old)) == release


def test_a_kind_and_a_tag_belong_to_one_type() -> None:
    other = type("Other", (Fitted,), {})
    with pytest.raises(ParameterError, match="test_fitted"):
        register(other)
    assert type(read_promise({"kind": "test_fitted"})) is Fitted
    for tag in ("array", "fraction", "release", "test_line"):
        with pytest.raises(ParameterError, match="another type"):
            carry(tag, Fitted, lambda _: 0, lambda _: Fitted())
    strange: Any = object()
    with pytest.raises(ParameterError, match=r"carried\.carry"):
        Release(strange, LAPLACE).to_json()


def test_a_promise_that_is_no_mechanism_is_not_read_as_one() -> None:
    with pytest.raises(ParameterError, match="is no Mechanism"):
        Mechanism.from_record({"kind": "test_fitted"})
    with pytest.raises(ParameterError, match="is no Count"):
        Count.from_record(LAPLACE.record())


def test_a_fresh_process_reads_what_was_released_together() -> None:
    text = Together({"rows": Count(epsilon=1)}).release({"rows": [1]}).to_json()
    code = (
        "import sys; from discreet.mechanisms import Release; print(Release.from_json(sys.argv[1]).mechanism.promise)"
    )
    shown = subprocess.run([sys.executable, "-c", code, text], capture_output=True, check=True, text=True)
    assert shown.stdout == "ε = 1\n"


SELECTION = PartitionSelection(epsilon="0.5", delta="1e-6")


@pytest.mark.parametrize(
    "parts, claim",
    [
        ((Count(epsilon="0.1"), LAPLACE), Pure("0.5")),
        ((Count(epsilon="0.1"), SELECTION, SELECTION), Approximate("1.1", "2e-6")),
        ((DiscreteGaussian(1, sigma=2), DiscreteGaussian(1, sigma=1)), ZCDP("5/8")),
    ],
)
def test_claims_of_parts_add_up(parts: tuple[Mechanism[Any, Any], ...], claim: Pure | Approximate | ZCDP) -> None:
    together = Together({str(place): part for place, part in enumerate(parts)})
    assert together.claim == claim
    total = parts[0].privacy
    for part in parts[1:]:
        total += part.privacy
    assert together.privacy == total
    assert together == read_promise(json.loads(json.dumps(together.record())))


def test_a_price_in_epsilon_beside_one_in_rho_is_a_price_in_rho() -> None:
    claim = Together({"a": Count(epsilon=1), "b": Count(rho="1/8"), "c": SELECTION}).claim
    assert isinstance(claim, ZCDP)
    assert claim.delta == SELECTION.delta
    assert 0.125 + 0.46 < claim.rho < 0.125 + 0.4622 + 0.1225  # epsilon tanh(epsilon / 2) each


def test_parts_are_of_one_relation_and_each_gets_its_value() -> None:
    with pytest.raises(ParameterError, match="do not combine"):
        Together({"a": LAPLACE, "b": RandomizedResponse(2, epsilon=1)})
    for parts in ({}, [LAPLACE], {1: LAPLACE}, {"a": 1}):
        with pytest.raises(ParameterError, match="mechanism"):
            Together(parts)  # type: ignore[arg-type]
    both = Together({"a": LAPLACE, "b": LAPLACE})
    with pytest.raises(ParameterError, match="the parts are a, b"):
        both.release({"a": 1})
    explained = both.release({"a": 1, "b": 2}).explain()
    assert "Assumed by the caller: b: " in explained
    assert "Because: a: " in explained
