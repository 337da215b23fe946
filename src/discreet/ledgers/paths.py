"""Paths of ledgers, read at the door."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import ParameterError
from discreet.exact import shown

__all__ = ["HEAD", "read_ledger_path", "read_path"]

HEAD = ".head"
"""How the second file of a ledger ends, which keeps the hash of the last entry."""

_LONGEST = 200
"""Bytes of a name; the lock files and drafts beside the ledger have longer ones, and systems allow 255."""


def read_path(path: str | Path, *, name: str) -> Path:
    """Read the path of a file.

    >>> read_path("", name="path")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: path is ''; it must be the path of a file, such as 'hospital.ledger.sqlite'.
    """
    allowed = "it must be the path of a file, such as 'hospital.ledger.sqlite'."
    if not isinstance(path, str | Path):
        msg = f"{name} is {shown(path)}; {allowed}"
        raise ParameterError(msg)
    try:
        length = len(os.fsencode(Path(path).name))
    except UnicodeEncodeError:  # half of a character that takes two
        length = 0
    if not length or "\0" in str(path):
        msg = f"{name} is {shown(str(path))}; {allowed}"
        raise ParameterError(msg)
    if length > _LONGEST:
        msg = f"{name} is {shown(str(path))}; the name of a file may have {_LONGEST} bytes at most."
        raise ParameterError(msg)
    return Path(path)


def read_ledger_path(path: str | Path, *, name: str) -> Path:
    """Read the path of a ledger, which is another than that of its head.

    >>> read_ledger_path("hospital.head", name="path")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: path is 'hospital.head'; the ledger keeps the hash of its last entry in a file ...
    """
    file = read_path(path, name=name)
    if file.suffix.casefold() == HEAD:
        msg = (
            f"{name} is {shown(str(path))}; the ledger keeps the hash of its last entry in a file of this name. "
            "Give it another ending, such as .ledger.sqlite."
        )
        raise ParameterError(msg)
    return file
