"""Whatever is handed to a ledger: an error of the package's own, with the name of the argument; nothing is written."""

from __future__ import annotations

import itertools
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import DiscreetError, ParameterError
from discreet.exact import shown
from discreet.ledgers import (
    Entry,
    MemoryLedger,
    PostgresLedger,
    Session,
    SQLiteLedger,
    ledger_beside,
    open_ledger,
    verify_ledger,
)
from discreet.ledgers.purse import Repeat, Reservation
from discreet.privacy import ZCDP, Approximate, Pure
from tests.ledgers.stores import POLICY, Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.ledgers.stores import Place


class Rude:
    """A class of somebody else."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __bool__(self) -> bool:
        raise RuntimeError


ODD: list[Any] = [
    *(None, 0, -1, True, 1.5, float("nan"), float("inf"), 10**400, 2**63, -(2**63), "", "x", "\ud800", "a\0b"),
    *("é" * 5000, b"x", [], [None], [1], {}, {1: 2}, (), (None,), object(), Rude(), {1}, len, Path("x.head")),
    *(Pure(1), ZCDP(1), Approximate(1, "0.1"), Entry("q", ()), Reservation(9, Pure(1), Entry("q", ()))),
    *([(None, None)], [(Pure(1),)], [(Pure(9), Entry("q", ()), 3)], [(Pure(1), None)], [(None, Entry("q", ()))]),
    *(Repeat((), Pure(1)), [(Repeat((), Pure(1)), Entry("q", ()))]),
]
ENTRY = (
    "question",
    "tables",
    "analyst",
    "purpose",
    "kind",
    "asked",
    "promise",
    "policy",
    "version",
    "details",
    "verified",
)
ACTS: dict[str, Callable[[Any, Any], object]] = {
    "reserve a cost": lambda ledger, odd: ledger.reserve(odd, Entry("q", ())),
    "reserve for": lambda ledger, odd: ledger.reserve(Pure(0), odd),
    "reserve all": lambda ledger, odd: ledger.reserve_all(odd),
    "take costs": lambda ledger, odd: ledger.take(odd, []),
    "take repeats": lambda ledger, odd: ledger.take([], odd),
    "take both": lambda ledger, odd: ledger.take([(Pure(0), Entry("q", ()))], odd),
    "look for a cost": lambda ledger, odd: ledger.look(odd, Entry("q", ())),
    "look for": lambda ledger, odd: ledger.look(Pure(0), odd),
    "find": lambda ledger, odd: ledger.find(Pure(0), odd),
    "admit a cost": lambda ledger, odd: ledger.admits(odd, Entry("q", ())),
    "admit for": lambda ledger, odd: ledger.admits(Pure(0), odd),
    "left for an analyst": lambda ledger, odd: ledger.remaining_for(odd, None),
    "left for a purpose": lambda ledger, odd: ledger.remaining_for(None, odd),
    "record": lambda ledger, odd: ledger.record(odd, odd),
    "record what": lambda ledger, odd: ledger.record(ledger.reserve(Pure(0), Entry("q", ())), odd),
    "session": lambda ledger, odd: Session.open(ledger, odd, odd),
    "note a kind": lambda ledger, odd: ledger.note(odd, "x", {}),
    "note what": lambda ledger, odd: ledger.note("audit", odd, {}),
    "note facts": lambda ledger, odd: ledger.note("audit", "x", odd),
    "note a fact": lambda ledger, odd: ledger.note("audit", "x", {"a": odd}),
    "note tables": lambda ledger, odd: ledger.note("check", "x", {"tables": odd}),
    "entries from": lambda ledger, odd: list(itertools.islice(ledger.entries(start=odd), 3)),
    "entries of a kind": lambda ledger, odd: list(itertools.islice(ledger.entries(kind=odd), 3)),
    "verify": lambda ledger, odd: ledger.verify(head=odd),
}


def entry_with(word: str) -> Callable[[Any, Any], object]:
    def act(ledger: Any, odd: object) -> object:  # noqa: ANN401 - what is tried out
        given: dict[str, Any] = {"question": "q", "tables": ()} | {word: odd}
        return ledger.reserve(Pure(0), Entry(**given))

    return act


def reservation_with(word: str) -> Callable[[Any, Any], object]:
    def act(ledger: Any, odd: object) -> object:  # noqa: ANN401 - likewise
        given: dict[str, Any] = {"number": 9, "cost": Pure(1), "entry": Entry("q", ())} | {word: odd}
        return ledger.record(Reservation(**given), Text(1))

    return act


def repeat_with(word: str) -> Callable[[Any, Any], object]:
    def act(ledger: Any, odd: object) -> object:  # noqa: ANN401 - likewise
        given: dict[str, Any] = {"answers": (), "cost": Pure(1)} | {word: odd}
        return ledger.take([], [(Repeat(**given), Entry("q", ()))])

    return act


ACTS |= {f"entry's {word}": entry_with(word) for word in ENTRY}
ACTS |= {f"reservation's {word}": reservation_with(word) for word in ("number", "cost", "entry", "earlier", "head")}
ACTS |= {
    f"repeat's {word}": repeat_with(word)
    for word in ("answers", "cost", "head", "numbers", "costs", "unseen", "limited")
}


@pytest.mark.parametrize("act", ACTS)
def test_acts_refuse_what_is_of_another_kind(place: Place, act: str) -> None:
    ledger = place.open(POLICY)
    for odd in ODD:
        with suppress(DiscreetError):
            ACTS[act](ledger, odd)
    assert ledger.verify().ok


@pytest.mark.parametrize(
    "act, name",
    [
        (lambda ledger: ledger.reserve(Pure(1), None), "entry is None"),
        (lambda ledger: ledger.reserve(Pure(1), Entry("q", (), details=[1])), r"details is \[1\]"),  # type: ignore[arg-type]
        (lambda ledger: ledger.take([None], []), "costs holds None"),
        (lambda ledger: ledger.take([], 7), "repeats is 7"),
        (lambda ledger: ledger.remaining_for([], {}), r"analyst is \[\]"),
        (lambda ledger: ledger.remaining_for("ann", {}), r"purpose is \{\}"),
        (lambda ledger: list(ledger.entries(kind="spent")), "kind is 'spent'; it must be one of opened, policy,"),
        (lambda ledger: list(ledger.entries(start=2**63)), "start is 9223372036854775808"),
        (lambda ledger: ledger.record(Reservation("1", Pure(1), Entry("q", ())), Text(1)), "number is '1'"),  # type: ignore[arg-type]
    ],
)
def test_the_message_names_the_argument(place: Place, act: Callable[[Any], object], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        act(place.open(POLICY))


@pytest.mark.parametrize("number", range(len(ODD)))
def test_opening_refuses_what_is_of_another_kind(tmp_path: Path, number: int) -> None:
    odd = ODD[number]
    refused: list[Callable[[], object]] = [
        lambda: MemoryLedger(odd),
        lambda: open_ledger(odd),
        lambda: SQLiteLedger(tmp_path / f"{number}.sqlite", odd),
        lambda: PostgresLedger(odd, POLICY),
        lambda: SQLiteLedger.unjoined(odd),
        lambda: verify_ledger(odd, tmp_path / "none.sqlite"),
        lambda: verify_ledger(POLICY, tmp_path / "none.sqlite", head=odd),
    ]
    if odd is not None:  # which is no export, and no address
        refused.append(lambda: MemoryLedger(POLICY, export=odd))
    if odd is not None and str(shown(odd)) not in {"'x'", "x.head"}:  # which are names of files
        refused += [lambda: SQLiteLedger(odd, POLICY), lambda: open_ledger(POLICY, odd), lambda: ledger_beside(odd)]
        refused.append(lambda: open_ledger(POLICY, file=odd))
    for act in refused:
        with pytest.raises(DiscreetError):
            act()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["hospital.head", "hospital.HEAD"])
def test_a_ledger_is_not_its_own_head(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        ParameterError, match=r"keeps the hash of its last entry in a file of this name. Give it another"
    ):
        SQLiteLedger(tmp_path / name, POLICY)
    assert not list(tmp_path.iterdir())
