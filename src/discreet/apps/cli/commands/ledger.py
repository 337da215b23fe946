"""`discreet ledger`: export it, make it from an export, or change its filter."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.opening import PolicyFile, read_policy
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import working
from discreet.errors import LedgerError, ParameterError
from discreet.exact import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Export the ledger of a policy, make it from an export, or let it go on by several certificates. Ledgers are "
    "never merged.\n\n"
    "Example: discreet ledger export hospital.toml hospital.jsonl",
)

Target = Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the lines; it must not be there yet.")]
Source = Annotated[Path, typer.Argument(metavar="FILE", help="What `discreet ledger export` wrote.")]


@app.command("export")
def export_lines(policy: PolicyFile, file: Target, *, as_json: Json = False) -> None:
    """Write every entry of the ledger into a new file, one JSON object per line, and an end line that counts them.

    The ledger is verified first, and not changed. The file holds all questions and answers; only its owner may read it.

    Example: discreet ledger export hospital.toml hospital.jsonl
    """
    from discreet.ledgers import export_ledger

    stated = read_policy(policy)
    count, last = -1, ""  # the end line is no entry
    with working("reading the ledger"), _new_file(file) as target:
        for line in export_ledger(stated, file=policy):
            target.write(f"{line}\n")
            count, last = count + 1, line
    head = _head_of(last)
    if as_json:
        print_json({"file": str(file), "entries": count, "head": head})
    else:
        typer.echo(f"exported {counted(count, 'entry')} to {file}; head {head}")


@app.command("import")
def import_lines(policy: PolicyFile, file: Source, *, as_json: Json = False) -> None:
    """Make the ledger of a policy from an export; every hash and sum is checked, and the policy must fit it.

    There must be no ledger yet where the policy says. An export that is older than the head file beside it is refused:
    what was spent since would be forgotten. Import a ledger that was lost or moved; one that lives on in two places has
    two budgets.

    Example: discreet ledger import hospital.toml hospital.jsonl
    """
    from discreet.ledgers import MemoryLedger, open_ledger

    stated = read_policy(policy)
    with working("checking the export"):
        lines = _lines(file)
        MemoryLedger(stated, export=lines)  # refuses another dataset's before anything is written
        with open_ledger(stated, file=policy, export=lines) as ledger:
            head, used, count = ledger.head, ledger.usage(None, None), ledger.head.number + 1
    if as_json:
        print_json({"file": str(file), "dataset": stated.dataset, "entries": count, "head": str(head)})
    else:
        typer.echo(f"the ledger of {stated.dataset} has {counted(count, 'entry')}; {used}; head {head}")


@app.command("upgrade")
def upgrade_filter(policy: PolicyFile, *, as_json: Json = False) -> None:
    """Let a ledger that began under one filter go on by the best of several certificates.

    What was spent is counted anew, from the curves on record. What was shown before keeps the promise of the old
    filter, so the policy's delta must cover that and the certificates: of a zcdp or approximate budget with delta =
    1e-6, write delta = 2e-6 first. A pure one needs any delta. Where it is not covered, nothing is changed, and the
    reason is said.

    Example: discreet ledger upgrade hospital.toml
    """
    from discreet.ledgers import upgrade_ledger

    stated = read_policy(policy)
    with working("counting what was spent anew"), upgrade_ledger(stated, file=policy) as ledger:
        head, used = ledger.head, ledger.usage(None, None)
    if as_json:
        print_json({"dataset": stated.dataset, "filter": "best", "used": used.share, "head": str(head)})
    else:
        typer.echo(
            f"the ledger of {stated.dataset} is kept by the best of several certificates now; {used}; head {head}"
        )


def _head_of(end: str) -> str:
    """Read the head from the end line of an export."""
    import json

    return str(json.loads(end)["end"]["head"])


def _lines(file: Path) -> list[str]:
    if "\0" in str(file) or not file.is_file():
        message = f"there is no file {str(file)!r}; name what `discreet ledger export` wrote."
        raise ParameterError(message)
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        message = f"{file} is no text; it must be what `discreet ledger export` wrote."
        raise LedgerError(message) from None


@contextmanager
def _new_file(path: Path) -> Iterator[TextIO]:
    """Open a file that only its owner may read: there as a whole when the block ends, or not at all."""
    if "\0" in str(path) or not path.name or not path.parent.is_dir():
        message = f"the file is {str(path)!r}; it must be a name in a folder that exists."
        raise ParameterError(message)
    if path.exists():
        message = f"{path} is there already; name a new file, so that no older export is lost."
        raise ParameterError(message)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as target:  # noqa: PTH123 - with its mode
            yield target
            target.flush()
            os.fsync(target.fileno())
        os.link(draft, path)
    except FileExistsError:
        message = f"{path} is there already; name a new file, so that no older export is lost."
        raise ParameterError(message) from None
    finally:
        draft.unlink(missing_ok=True)
