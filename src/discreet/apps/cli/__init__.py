"""The command `discreet`: one file per command in `commands/`, imported when the command is named."""

from __future__ import annotations

import io
import json
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.errors import BudgetError, DiscreetError, ParameterError, PolicyError, QueryRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]

# What failed decides the code; the first match counts.
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (QueryRefused, 3),
    (BudgetError, 4),
    (ParameterError, 2),
    (PolicyError, 2),
    (DiscreetError, 1),
    (OSError, 1),  # a file that cannot be read or written
)

_STOPPED = (
    "interrupted; what was taken from a budget before stays spent, and nothing else was: see discreet budget POLICY."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 done; 1 failed; 2 asked for something impossible; 3 the question is refused; 4 the budget does not suffice; 5 a
    check found something wrong; 130 interrupted; 143 ended by SIGTERM.

    >>> main(["calibrate", "laplace", "--epsilon", "0.1"])
    scale  10
    0
    """
    with _terminable() as terminated:
        try:
            code = _run(arguments)
        except KeyboardInterrupt:  # while modules were still being imported
            sys.stderr.write(f"discreet: {_STOPPED}\n")
            code = 130
    return 143 if code == 130 and terminated else code


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """Let SIGTERM end a command as Ctrl-C does, so that its temporary folder is removed; tell whether it came.

    Left to itself it ends Python at once. Only here: in a program of somebody else's its signals are its own.
    """
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    main_thread = threading.current_thread() is threading.main_thread()
    if not main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield came
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(arguments: Sequence[str] | None) -> int:
    from typer import Abort, TyperException

    from discreet.apps.cli.commands_group import Interrupted, build

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no ± shows a ?, and no traceback
    given = None if arguments is None else list(arguments)
    as_json = "--json" in (sys.argv[1:] if given is None else given)
    try:
        code = build().main(args=given, prog_name="discreet", standalone_mode=False)
    except SystemExit as stop:  # a completion script was shown
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except TyperException as error:  # the framework could not read the arguments
        return _complain(error, error.format_message(), error.exit_code, as_json=as_json)
    except (Abort, Interrupted) as stop:
        return _complain(stop, str(stop) or _STOPPED, 130, as_json=as_json)
    except Exception as error:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
        if code is None:
            raise
        message = _file_trouble(error) if isinstance(error, OSError) else str(error)
        return _complain(error, message, code, as_json=as_json)
    if code == 130:  # before a command began
        return _complain(KeyboardInterrupt(), _STOPPED, 130, as_json=as_json)
    return code if isinstance(code, int) else 0


def _file_trouble(error: OSError) -> str:
    """Say which file could not be read or written, and why, in the operating system's words."""
    name = str(error.filename or "a file")
    return f"{name if len(name) <= 200 else name[:199] + '…'}: {error.strerror or type(error).__name__}."


def _complain(error: BaseException, message: str, code: int, *, as_json: bool) -> int:
    """Print an error as a sentence, without a traceback; for a program as JSON.

    Notes of an error, such as the place in the question, stand below it. What has lines is a help text, shown as it is.
    """
    from typer import echo

    notes = getattr(error, "__notes__", [])
    if as_json:
        parts = {part: getattr(error, part) for part in ("part", "why", "instead") if isinstance(error, QueryRefused)}
        record = {"error": type(error).__name__, "code": code, "message": message, **parts, "notes": notes}
        echo(json.dumps(record), err=True)
    elif message.strip():
        echo(message if "\n" in message.strip() else "\n".join([f"discreet: {message}", *notes]), err=True)
    return code
