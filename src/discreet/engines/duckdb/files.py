"""Paths that DuckDB would read otherwise than the system does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["require_plain"]


def require_plain(path: Path) -> None:
    """Refuse a database in whose path DuckDB takes a backslash for a slash: it would open another file.

    >>> import pathlib
    >>> require_plain(pathlib.Path("/data/hospital.duckdb"))
    """
    if os.sep == "/" and "\\" in str(path):
        msg = (
            f"the path {shown(str(path))} holds a backslash, which DuckDB takes for a slash; rename the folder or file."
        )
        raise ParameterError(msg)
