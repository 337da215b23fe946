"""How commands speak to people: tables and colors on a terminal, plain text elsewhere, progress on the side."""

from __future__ import annotations

import shutil
import sys
import textwrap
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING, cast

from discreet.releases.showing.texts import amount_text, charge_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from rich.console import Console
    from rich.table import Table

    from discreet.privacy.costs import Amount

__all__ = [
    "amounts",
    "charge_text",
    "charges_record",
    "charges_text",
    "counting",
    "folded",
    "left_text",
    "screen",
    "table",
    "whole_text",
    "working",
]


def screen() -> Console:
    """Give the console for answers; without a terminal it writes plain text, and never breaks words into colors.

    >>> screen().print("[bold]42[/] patients")
    42 patients
    """
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not sys.stdout.isatty(), emoji=False)


def folded(line: str) -> str:
    """Fold a sentence to the width of the terminal; without one it stays one line.

    >>> folded("limits, which no ± includes: 4 rows of each patient")
    'limits, which no ± includes: 4 rows of each patient'
    """
    if not sys.stdout.isatty():
        return line
    return textwrap.fill(line, shutil.get_terminal_size().columns, subsequent_indent="  ", break_on_hyphens=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something takes its time, on a terminal and beside the answer only.

    >>> with working("reading"):
    ...     print("done")
    done
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …"):
        yield


@contextmanager
def counting() -> Iterator[Callable[[str, int, int], None]]:
    """Show how many of several things are done, on a terminal and beside the answer only.

    >>> with counting() as watch:
    ...     watch("bounds of cost", 1, 3)
    """
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("")
        yield lambda what, done, total: progress.update(task, description=what, completed=done, total=total)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()) -> Table:
    """Lay out rows under columns; those named in `numbers` are flush right.

    >>> table(["ward", "n"], [["surgery", "12"]], numbers=["n"]).row_count
    1
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=True, header_style="bold", show_edge=False)
    for name in columns:
        table.add_column(Text(name), justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def charges_text(charges: Mapping[str, Amount]) -> str:
    """Write what budgets are charged: once where it is the same for all, else one by one; nothing is left out.

    >>> from discreet.privacy import Pure
    >>> charges_text({"dataset": Pure(0), "analyst bob": Pure("0.5"), "purpose care": Pure("0.5")})
    'nothing to dataset, ε = 0.5 to analyst bob and purpose care'
    >>> charges_text({"dataset": Pure(1), "analyst bob": Pure(1)}), charges_text({"dataset": Pure(0)})
    ('ε = 1', 'nothing')
    """
    titles: dict[str, list[str]] = {}
    for title, charge in charges.items():
        titles.setdefault(charge_text(charge) if charge != charge * 0 else "nothing", []).append(title)
    if len(titles) == 1:
        return next(iter(titles))
    return ", ".join(f"{text} to {' and '.join(those)}" for text, those in titles.items())


def charges_record(charges: Mapping[str, Amount]) -> dict[str, object]:
    """Write for a program what budgets are charged: each of them, and the most that one is.

    >>> from discreet.privacy import Pure
    >>> charges_record({"dataset": Pure(0), "analyst bob": Pure("0.5")})["charge"]
    {'epsilon': 0.5}
    """
    charged = {title: amounts(charge) for title, charge in charges.items()}
    names = list(dict.fromkeys(name for numbers in charged.values() for name in numbers))
    most = {name: max(numbers[name] for numbers in charged.values()) for name in names}
    return {"charge": most, "charges": charged}


def whole_text(charge: Amount) -> str:
    """Write what was charged by every certificate of the ledger, rounded up to four digits.

    >>> from discreet.privacy import Pure
    >>> whole_text(Pure("0.12345"))
    'ε = 0.1235'
    """
    return amount_text(charge, ROUND_CEILING, whole=True)


def left_text(left: Amount) -> str:
    """Write what is left in symbols, rounded down to four digits.

    >>> from discreet.privacy import Pure
    >>> left_text(Pure("0.99999"))
    'ε = 0.9999'
    """
    return amount_text(left, ROUND_FLOOR)


def amounts(cost: Amount) -> dict[str, float]:
    """Write an amount for a program, by every certificate, in decimal numbers; entries of the ledger hold exact ones.

    >>> from discreet.privacy import ZCDP
    >>> amounts(ZCDP("0.125", delta="1e-9"))
    {'rho': 0.125, 'delta': 1e-09}
    """
    return {name: float(cast("Fraction", value)) for name, value in cost.fields().items()}
