"""Promises name whom they protect: what is promised to each event is none to a person until a limit says how much."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet import privacy as p
from discreet.errors import ParameterError, PolicyError
from discreet.ledgers import Entry, MemoryLedger, charge
from discreet.mechanisms import Laplace, NoisyMax
from discreet.privacy import Curve, Group, NeighborRelation, Pure, Unit
from discreet.privacy.convert import convert, to_relation
from discreet.privacy.costs import LOSS_UNITS
from discreet.privacy.relations import read_relation, require_same_relation
from discreet.tables import Policy, Table

COMES = NeighborRelation.ADD_REMOVE
EVENT = COMES.of(Unit.EVENT)
ENTRY = Entry("visits by day", ("visits",), kind="method")


@pytest.mark.parametrize("relation", NeighborRelation)
@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("size", [1, 3])
def test_a_relation_survives_its_text(relation: NeighborRelation, unit: Unit, size: int) -> None:
    made = relation.of(unit).group(size)
    assert read_relation(made.value) == made
    assert (made.relation, made.size, made.unit) == (relation, size, unit)


def test_old_texts_are_relations_of_persons() -> None:
    assert read_relation("add_remove") is COMES
    assert read_relation("add_remove*3") == Group(COMES, 3) == Group(COMES, 3, Unit.PERSON)
    assert COMES.of(Unit.PERSON) is COMES
    for text in ("add_remove/", "add_remove/crowd", "add_remove*1/person", "add_remove*0/event", "/event"):
        with pytest.raises(ParameterError):
            read_relation(text)
    with pytest.raises(ParameterError, match=r"Unit\.EVENT"):
        COMES.of("event")  # type: ignore[arg-type]


def test_a_limit_makes_it_a_promise_to_the_holder() -> None:
    assert EVENT.group(4, Unit.PERSON) is COMES
    assert EVENT.group(4, Unit.EVENT) == EVENT.group(4)
    assert COMES.of(Unit.EDGE).group(4, Unit.NODE) == COMES.of(Unit.NODE)
    to_event = p.gaussian(2, neighbors=EVENT)
    assert to_event.group(4, Unit.PERSON) == p.gaussian(2, 4)
    assert to_event.group(1, Unit.PERSON) == p.gaussian(2)
    assert to_event.group(4).neighbors.value == "add_remove*4/event"


@pytest.mark.parametrize(
    "relation, unit",
    [
        (COMES, Unit.EVENT),
        (COMES.of(Unit.NODE), Unit.EDGE),
        (EVENT, Unit.NODE),
        (NeighborRelation.CHANGE_ONE.of(Unit.EVENT), Unit.PERSON),  # two persons may have unequally many
    ],
)
def test_what_no_limit_converts_is_refused(relation: p.Group, unit: Unit) -> None:
    with pytest.raises(ParameterError, match="is none for"):
        relation.group(3, unit)
    with pytest.raises(ParameterError, match="is none for"):
        p.gaussian(2, neighbors=relation).group(3, unit)


def test_other_units_do_not_add() -> None:
    for left, right in ((COMES, EVENT), (EVENT, COMES.of(Unit.ROW)), (COMES.group(3), EVENT.group(3))):
        with pytest.raises(ParameterError, match=r"group\(k, Unit\.PERSON\)"):
            require_same_relation(left, right)
    with pytest.raises(ParameterError, match="different units"):
        p.pure(1) + p.pure(1, neighbors=EVENT)
    with pytest.raises(ParameterError, match="different units"):
        to_relation(Pure(1, neighbors=EVENT), COMES)
    assert to_relation(Pure(1, neighbors=EVENT), NeighborRelation.CHANGE_ONE.of(Unit.EVENT)).epsilon == 2


@pytest.mark.parametrize("size", [1, 3])
def test_a_converted_curve_travels(size: int) -> None:
    """Of samples too, which hold the curve for events inside."""
    curve = p.gaussian(2, neighbors=EVENT).subsample("0.1").group(size, Unit.PERSON)
    assert curve.neighbors is COMES
    assert curve.epsilon(1e-6) == p.gaussian(2).subsample("0.1").group(size).epsilon(1e-6)
    assert Curve.from_json(curve.to_json()) == curve
    forged = curve.to_json().replace("add_remove/event", "change_one/event")
    with pytest.raises(ParameterError):
        Curve.from_json(forged)


def test_parallel_parts_are_of_one_unit() -> None:
    both = p.pure(1, neighbors=EVENT).parallel(p.pure(2, neighbors=EVENT))
    assert both.epsilon(0) == 2
    assert both.neighbors == EVENT
    with pytest.raises(ParameterError, match="different units"):
        p.pure(1).parallel(p.pure(1, neighbors=EVENT))


def test_a_ledger_of_persons_refuses_events_and_says_how_to_convert() -> None:
    ledger = MemoryLedger(Policy([], epsilon=1))
    laplace = Laplace(sensitivity=1, epsilon="0.1", neighbors=EVENT)
    with pytest.raises(ParameterError, match=r"add_remove/event\. Where .* curve\.group\(k, Unit\.PERSON\)"):
        charge(ledger, laplace.claim, ENTRY, lambda _: pytest.fail("it ran"))
    assert ledger.remaining == Pure(1)
    cost = convert(laplace.privacy.group(4, Unit.PERSON), to=Pure)
    release = charge(ledger, cost, ENTRY, lambda _: laplace.release(7))
    assert release.privacy.neighbors == EVENT
    assert 0.4 <= cost.epsilon < 0.400001
    assert ledger.remaining == Pure(1 - Fraction(math.ceil(cost.epsilon * LOSS_UNITS), LOSS_UNITS))  # rounded up


def test_a_ledger_of_events_keeps_events_and_refuses_persons() -> None:
    ledger = MemoryLedger(Policy([], epsilon=1, neighbors=EVENT))
    charge(ledger, Pure("0.5", neighbors=EVENT), ENTRY, lambda _: Laplace(1, epsilon="0.5", neighbors=EVENT).release(7))
    assert ledger.remaining == Pure("0.5", neighbors=EVENT)
    assert ledger.verify().ok
    with pytest.raises(ParameterError, match="different units"):
        ledger.reserve(Pure("0.1"), ENTRY)


def test_a_policy_says_whom_it_protects_by_its_tables() -> None:
    with pytest.raises(PolicyError, match=r"budget\.neighbors is 'add_remove/event'"):
        Policy([Table("visits", unit="id")], epsilon=1, neighbors=EVENT)


def test_scores_are_monotone_for_single_units_of_any_kind() -> None:
    """Of a group one unit may come while another goes, so that some scores rise and others fall."""
    NoisyMax(1, epsilon=1, monotone=True, neighbors=EVENT)
    with pytest.raises(ParameterError, match="monotone"):
        NoisyMax(1, epsilon=1, monotone=True, neighbors=EVENT.group(2))
