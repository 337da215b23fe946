"""A ledger from an export: verified line by line, written only into an empty place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.errors import LedgerError, ParameterError
from discreet.exact import counted, shown
from discreet.ledgers.line import FORMAT, Line, canonical, read_amount, read_sums, strict_json
from discreet.ledgers.page import Head, MemoryPage
from discreet.ledgers.rules import apply
from discreet.ledgers.verification import NO_LEDGERS_ENTRY, verified
from discreet.privacy.costs import units_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.ledgers.line import Scope
    from discreet.ledgers.page import Filed, Page

__all__ = ["checked", "copy_into", "replayed", "require_kept", "written"]


def written(lines: Iterable[Line]) -> Iterator[str]:
    """Write entries as lines of JSON, and a last line that says how many they are and which is the last one.

    Without it an export whose end is missing would look like an older ledger, in which less was spent.

    >>> list(written([]))
    ['{"end":{"entries":0,"head":""}}']
    """
    count, head = 0, ""
    for line in lines:
        yield line.to_json()
        count, head = count + 1, str(Head(line.number, line.hash))
    yield canonical({"end": {"entries": count, "head": head}})


def checked(export: Iterable[str]) -> list[Line]:
    """Read an export and check it as `verify` would; raise LedgerError with the first problem.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.tables import Policy
    >>> len(checked(MemoryLedger(Policy([], epsilon=1)).export()))
    1
    """
    if isinstance(export, str | bytes):
        msg = "export is one text; it must be the lines of an export: text.splitlines(), or the opened file."
        raise ParameterError(msg)
    if not isinstance(export, Iterable):
        msg = f"export is {shown(export)}; it must be the lines of an export, as texts."
        raise ParameterError(msg)
    texts = []
    for text in export:
        if not isinstance(text, str):
            msg = f"export holds {shown(text)}; it must be the lines of an export, as texts."
            raise ParameterError(msg)
        if text.strip():
            texts.append(text)
    lines = [_line(place, text) for place, text in enumerate(texts[:-1], start=1)]
    _require_end(texts, lines)
    if lines and lines[0].body.get("format", FORMAT) not in range(1, FORMAT + 1):
        msg = "the export was written by a newer Discreet. Upgrade Discreet to import it."
        raise LedgerError(msg)
    page = MemoryPage.empty()
    copy_into(page, lines)
    page.commit()
    verification = verified(page, [])
    if not verification.ok:
        msg = f"the export is not a whole ledger: {verification.problems[0]} Export it again."
        raise LedgerError(msg)
    return lines


def _line(place: int, text: str) -> Line:
    try:
        return Line.from_json(text)
    except LedgerError as error:
        msg = f"line {place} of the export: {error}"
        raise LedgerError(msg) from None


def _require_end(texts: list[str], lines: list[Line]) -> None:
    """Refuse an export whose last line is not its end, or is that of another."""
    try:
        record = strict_json(texts[-1]) if texts else None
    except (RecursionError, ValueError):
        record = None
    if not isinstance(record, dict) or "end" not in record:
        msg = (
            f"the export has {counted(len(texts), 'line')} and no end line: its tail was cut off, and so is what was "
            "spent there. Export the ledger again."
        )
        raise LedgerError(msg)
    head = str(Head(lines[-1].number, lines[-1].hash)) if lines else ""
    if record != {"end": {"entries": len(lines), "head": head}}:
        msg = (
            f"the end line of the export does not belong to the {counted(len(lines), 'entry')} before it: entries "
            "are missing or changed. Export the ledger again."
        )
        raise LedgerError(msg)


def copy_into(page: Page, lines: Iterable[Line]) -> None:
    """Write entries with their hashes as they are, and the sums that follow.

    >>> page = MemoryPage.empty()
    >>> copy_into(page, [])
    >>> page.state()
    """
    if page.state() is not None:
        msg = "the ledger to import into is not empty; give a new one. Ledgers are never merged."
        raise LedgerError(msg)
    for line in lines:
        try:
            apply(line, page)
        except NO_LEDGERS_ENTRY:
            msg = f"entry {line.number} of the export is not what a ledger writes. Export it again."
            raise LedgerError(msg) from None
        page.append(line)


def replayed(entries: Iterable[Filed]) -> MemoryPage:
    """Follow the entries of a ledger that is brought to this format; one that was edited is not followed.

    >>> replayed([]).all_sums(None)
    []
    """
    page, number = MemoryPage.empty(), -1
    for number, filed in enumerate(entries):
        line = filed.line
        try:
            if line is None or line.number != number or not line.is_genuine:
                raise LedgerError
            apply(line, page)
        except NO_LEDGERS_ENTRY:
            msg = (
                f"the ledger is of an older format, and its entry {number} is missing or was edited, so that it cannot "
                "be brought up to date; nothing was spent. Restore a backup."
            )
            raise LedgerError(msg) from None
    return page


def require_kept(page: MemoryPage, scope: Scope, text: str) -> None:
    """Refuse to go on with less than an older format says was spent.

    >>> require_kept(MemoryPage.empty(), ("dataset", ""), '{"currency": "pure", "epsilon": "0"}')
    Traceback (most recent call last):
    ...
    discreet.errors.LedgerError: the ledger is of an older format, and what it says was spent of the budget of ...
    """
    try:
        due = units_of(read_amount(strict_json(text)))
        less = not read_sums(page.sums("", *scope), due).covers(due)
    except NO_LEDGERS_ENTRY:
        less = True
    if less:
        msg = (
            f"the ledger is of an older format, and what it says was spent of the budget of {' '.join(scope).strip()} "
            "does not follow from its entries; nothing was spent. Restore a backup."
        )
        raise LedgerError(msg)
