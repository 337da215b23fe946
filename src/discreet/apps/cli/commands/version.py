"""`discreet version`: tell that the data changed; the budget stays what it is."""

from __future__ import annotations

import json
import os
import re
import tomllib
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.opening import PolicyFile, open_books, read_policy
from discreet.apps.cli.options import Json, print_json
from discreet.errors import ParameterError
from discreet.files import made

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    before = policy.read_bytes()  # bytes: the ends of lines stay what they are
    _replace(policy, _with_version(before.decode(), chosen, policy).encode())
    try:
        _require_version(policy, chosen)
        with open_books(policy) as ledger:
            head, used = ledger.head, ledger.usage(None, None)
    except BaseException:  # the ledger did not take it: the file must not say otherwise
        _replace(policy, before)
        raise
    text = f"{stated.dataset} is now version {chosen} (was {stated.version}). The budget stays: {used}."
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


_VALUE = r"""(\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s#,}]+)"""
_VERSION = re.compile(rf"""(?<![\w-])(["']?)version\1[ \t]*=[ \t]*{_VALUE}""", re.DOTALL)
_TABLE = re.compile(r"""^[ \t]*\[[ \t]*(["']?)dataset\1[ \t]*\][^\n]*\n""", re.MULTILINE)


def _with_version(text: str, version: str, path: Path) -> str:
    """Put a version into the text of a policy; nothing else changes, comments stay.

    Where in the text the version stands is guessed, and each guess is read back: only one after which the file says
    the new version, and all else as before, is taken. So a text between quotes that looks like a table is left alone.
    """
    stated = tomllib.loads(text)
    wanted = stated | {"dataset": stated.get("dataset", {}) | {"version": version}}
    for edited in _edits(text, json.dumps(version, ensure_ascii=False)):
        try:
            if tomllib.loads(edited) == wanted:
                return edited
        except tomllib.TOMLDecodeError:
            continue
    message = (
        f"the version cannot be changed in {str(path)!r} without changing something else; nothing was written. Write "
        f"it yourself: version = {json.dumps(version, ensure_ascii=False)} in the table [dataset]."
    )
    raise ParameterError(message)


def _edits(text: str, value: str) -> Iterator[str]:
    """Guess: in place of a version that is there, in a table that is there, or in a new one."""
    for match in _VERSION.finditer(text):
        yield text[: match.start(2)] + value + text[match.end(2) :]
    end = "\r\n" if "\r\n" in text else "\n"
    line = f"version = {value}{end}"
    for match in _TABLE.finditer(text):
        yield text[: match.end()] + line + text[match.end() :]
    yield f"[dataset]{end}{line}{end}{text}"
    yield f"{text}{'' if text.endswith(end) else end}[dataset]{end}{line}"


def _replace(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all; a link still points to it, and nobody reads it who could not before."""
    place = path.resolve()
    beside = place.with_name(f".{place.name}.new")
    with os.fdopen(made(beside, os.O_WRONLY | os.O_TRUNC, group=False), "wb") as file:
        file.write(content)
    beside.chmod(place.stat().st_mode & 0o777)
    beside.replace(place)
