"""`discreet version`: tell that the data changed; the budget stays what it is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.opening import PolicyFile, open_books, read_policy
from discreet.apps.cli.options import Json, print_json
from discreet.apps.cli.screen import left_text
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SECTION", "app"]

SECTION = "Own"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Show or change the version of the data. Questions are repeats only within one version.\n\n"
    "Example: discreet version new hospital.toml 2026-07",
)

Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="The new version; one more than the last without it.")
]


@app.command()
def show(policy: PolicyFile, *, as_json: Json = False) -> None:
    """Show the version that the policy names.

    Example: discreet version show hospital.toml
    """
    stated = read_policy(policy)
    _tell(
        {"dataset": stated.dataset, "version": stated.version}, f"{stated.dataset}, version {stated.version}", as_json
    )


@app.command()
def new(policy: PolicyFile, name: Name = None, *, as_json: Json = False) -> None:
    """Write a new version into the policy file and enter it in the ledger. The budget is not renewed by new data.

    Example: discreet version new hospital.toml 2026-07
    """
    stated = read_policy(policy)
    chosen = name or _following(stated.version)
    if chosen == stated.version:
        message = f"the version is {chosen!r} already; a new one needs another name."
        raise ParameterError(message)
    before = policy.read_text(encoding="utf-8")
    _replace(policy, _with_version(before, chosen))
    try:
        _require_version(policy, chosen)
        with open_books(policy) as ledger:
            head, left = ledger.head, ledger.remaining
    except BaseException:  # the ledger did not take it: the file must not say otherwise
        _replace(policy, before)
        raise
    text = f"{stated.dataset} is now version {chosen} (was {stated.version}). The budget stays: {left_text(left)} left."
    _tell({"dataset": stated.dataset, "version": chosen, "was": stated.version, "head": str(head)}, text, as_json)


def _require_version(policy: Path, chosen: str) -> None:
    """Refuse to say that a version is new which did not reach the policy."""
    if read_policy(policy).version != chosen:
        message = (
            f"[dataset] is written in {policy} in a way that this command does not change; write it there yourself."
        )
        raise ParameterError(message)


def _tell(record: dict[str, str], text: str, as_json: bool) -> None:  # noqa: FBT001 - an option, passed on
    if as_json:
        print_json(record)
    else:
        typer.echo(text)


def _following(version: str) -> str:
    """Count on; a version that is no number must be named."""
    if not version.isdecimal():
        message = f"the version is {version!r}, which is no number; name the new one: discreet version new POLICY NAME."
        raise ParameterError(message)
    return str(int(version) + 1)


def _with_version(text: str, version: str) -> str:
    """Put a version into the text of a policy; nothing else changes, comments stay."""
    line = f"version = {json.dumps(version, ensure_ascii=False)}"
    section = re.search(r"^\s*\[dataset\][^\n]*\n", text, re.MULTILINE)
    if section is None:
        return (
            f"[dataset]\n{line}\n\n{text}" if not re.match(r"\s*[\w\"']+\s*=", text) else f"{text}\n[dataset]\n{line}\n"
        )
    rest = text[section.end() :]
    upto = re.search(r"^\s*\[", rest, re.MULTILINE)
    inside, after = (rest, "") if upto is None else (rest[: upto.start()], rest[upto.start() :])
    if re.search(r"^\s*version\s*=", inside, re.MULTILINE):
        inside = re.sub(
            r"^(\s*)version\s*=\s*(\"[^\"\n]*\"|'[^'\n]*'|[^#\n]*?)(\s*(?:#[^\n]*)?)$",
            lambda found: f"{found[1]}{line}{found[3]}",
            inside,
            count=1,
            flags=re.MULTILINE,
        )
    else:
        inside = f"{line}\n{inside}"
    return text[: section.end()] + inside + after


def _replace(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.chmod(path.stat().st_mode & 0o777)
    beside.replace(path)
