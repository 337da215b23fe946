"""A ledger as lines of JSON: whole elsewhere, or refused with what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledgers import Line
from discreet.ledgers.line import FORMAT
from discreet.ledgers.transfer import written
from discreet.privacy import Pure
from tests.ledgers.stores import NESTED, POLICY
from tests.ledgers.test_conformance import COUNT, answered, by

if TYPE_CHECKING:
    from tests.ledgers.stores import Place


def test_an_export_is_a_whole_ledger_elsewhere(place: Place) -> None:
    ledger = place.open(NESTED)
    answered(ledger, Pure("0.5"), by("ann"))
    ledger.find(Pure("0.5"), by("bob", "planning"))
    lines = list(ledger.export())
    other = place.another()
    copy = other.open(export=lines)
    assert copy.head == ledger.head
    assert copy.statement == ledger.statement
    assert copy.verify(head=ledger.head).ok
    assert copy.find(Pure("0.5"), by("ann")) is not None
    with pytest.raises(BudgetError):
        copy.reserve(Pure("0.75"), by("ann", question="x"))
    if place.kind != "memory":
        with pytest.raises(LedgerError, match="not empty"):
            other.open(export=lines)
    other.close()


CUT = "no end line: its tail was cut off"
OTHER_END = "end line of the export does not belong"
WRONG_EXPORTS = {
    "edit": "was edited",
    "swap": "removed or reordered",
    "drop": "removed or reordered",
    "head": "removed or reordered",
    "json": "line 6 of the export",
    "none": "has 0 lines and no end line",
    "cut": CUT,
    "cut with its end": OTHER_END,
    "end of a shorter one": OTHER_END,
    "end alone": "the ledger has no entries",
    "newer": "newer Discreet",
    "NaN": "line 2 of the export",
    "no entry": "line 2 of the export",
    "deep": "line 2 of the export",
}


@pytest.mark.parametrize("fault", WRONG_EXPORTS)
def test_a_wrong_export_is_not_imported(place: Place, fault: str) -> None:
    ledger = place.open(POLICY)
    answered(ledger, Pure("0.5"), COUNT)
    answered(ledger, Pure("1.5"), COUNT)
    lines = list(ledger.export())
    *entries, end = lines
    head = end.partition('"head":')[2]
    first = Line.from_json(entries[0])
    newer = Line.after(None, "opened", {**first.body, "format": FORMAT + 1}, first.time)
    faults: dict[str, list[str]] = {
        "edit": [*entries[:-1], entries[-1].replace('"value":7', '"value":8'), end],
        "swap": [lines[0], lines[2], lines[1], *lines[3:]],
        "drop": [lines[0], *lines[2:-1], '{"end":{"entries":4,"head":' + head],
        "head": [*lines[1:-1], '{"end":{"entries":4,"head":' + head],
        "json": [*entries, "{}", end],
        "none": [],
        "cut": entries,
        "cut with its end": [*entries[:-1], end],
        "end of a shorter one": [*entries, list(written([first]))[-1]],
        "end alone": list(written([])),
        "newer": list(written([newer])),
        "NaN": [entries[0], '{"hash":"0","line":{"number":NaN}}', *lines[2:]],
        "no entry": [entries[0], '{"hash":"0","line":{"number":1,"kind":"x","time":5}}', *lines[2:]],
        "deep": [entries[0], "[" * 100_000, *lines[2:]],
    }
    assert faults["edit"] != lines
    other = place.another()
    with pytest.raises(LedgerError, match=WRONG_EXPORTS[fault]):
        other.open(export=faults[fault])
    other.close()


@pytest.mark.parametrize("strange", ["one text", b"bytes", [b"bytes"], [None]])
def test_what_is_no_list_of_lines_is_no_export(place: Place, strange: Any) -> None:  # noqa: ANN401 - anything
    with pytest.raises(ParameterError, match="the lines of an export"):
        place.open(export=strange)
