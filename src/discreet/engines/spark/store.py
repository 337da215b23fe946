"""A folder of the engine's own: tables cut down to so many rows per unit, as Parquet files, once for each version.

The driver and all workers must see it. It holds copies of private rows and the key of the ranks; protect it like the
source. It is emptied when the dataset's version changes; what a process that was killed left half written is removed by
the next one that opens the store.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from discreet.engines.keys import fresh_key
from discreet.engines.sql.relations import Emitter, described, kept_mark, kept_name, limits, visible
from discreet.engines.sql.words import SQL
from discreet.engines.sql.words import table as named
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.files import PrivateFolder, made, narrowed, sweep

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.relations import Catalog
    from discreet.plans.nodes import Node
    from discreet.tables import Policy, Table

__all__ = ["SparkStore"]


def _described(about: Path) -> dict[str, str]:
    """Read what a store belongs to; nothing, where it is none yet or was left half written."""
    try:
        described = json.loads(about.read_text())
        return {"version": str(described["version"]), "rank_key": bytes.fromhex(described["rank_key"]).hex()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


class SparkStore:
    """Stored rows in a folder."""

    def __init__(self, folder: Path, policy: Policy, key: bytes | None, prefix: str) -> None:
        self._folder = folder
        self._prefix = prefix
        self._policy = policy
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shared = bool(folder.stat().st_mode & 0o020)  # with workers that are other users of a group
        if not narrowed(folder, group=None if shared else False):
            msg = f"store is {shown(str(folder))}; others may read it, and this user cannot change that: chmod o-rwx."
            raise ParameterError(msg)
        sweep(folder)
        about, version = folder / "about.json", described(policy)
        known = _described(about)
        if known.get("version") == version and key in {None, bytes.fromhex(known["rank_key"])}:
            self.key = bytes.fromhex(known["rank_key"])
        else:
            self.drop()
            self.key = fresh_key() if key is None else key
            with PrivateFolder(folder) as draft:  # renamed, so that nobody finds a half of it
                written = draft / "about.json"
                with os.fdopen(made(written, os.O_WRONLY), "w") as file:
                    file.write(json.dumps({"version": version, "rank_key": self.key.hex()}))
                written.replace(about)
        self._mark = kept_mark(policy, self.key)
        self._empty(apart=self._mark)

    def kept(self, table: Table, limit: int) -> SQL | None:
        """Give the view of kept rows; `fill` makes it before it is read."""
        return None if table.unit is None else named(f"{self._prefix}_{self._name(table.name, limit)}")

    def _name(self, table: str, limit: int) -> str:
        return f"{kept_name(self._policy, table, limit)}_{self._mark}"

    def fill(self, node: Node, dialect: Dialect, catalog: Catalog, session: Any) -> None:  # noqa: ANN401 - pyspark's
        """Store what a plan needs and is not there; what is only half written is in a folder of its own.

        Each writer has one: two that write into one folder would keep the rows of a unit twice.
        """
        emitter = Emitter(dialect, catalog, self.key)
        for scan, limit in limits(node):
            name = self._name(scan.table.name, limit)
            path = self._folder / name
            if not path.exists():
                rows = dialect.written(visible(emitter.limited(emitter.relation(scan), limit)))
                with PrivateFolder(self._folder) as draft:
                    draft.chmod(0o700 | self._folder.stat().st_mode & 0o070)
                    session.sql(rows).write.parquet(str(draft / name))
                    with suppress(OSError):  # another engine has stored the same rows meanwhile
                        (draft / name).rename(path)
            session.read.parquet(str(path)).createOrReplaceTempView(f"{self._prefix}_{name}")

    def drop(self) -> None:
        """Remove all kept rows."""
        self._empty()

    def _empty(self, apart: str | None = None) -> None:
        """Remove kept rows, but for those with a mark; and what earlier versions left half written."""
        for path in self._folder.glob("kept_*"):
            if path.name.rpartition("_")[2] != apart:
                shutil.rmtree(path)
        for path in self._folder.glob("unfinished_*"):
            shutil.rmtree(path, ignore_errors=True)
        for path in self._folder.glob("about_*.json"):
            path.unlink(missing_ok=True)
