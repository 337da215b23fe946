"""A folder of the engine's own: tables cut down to so many rows per unit, as Parquet files, once for each version.

The driver and all workers must see it. It holds copies of private rows and the key of the ranks; protect it like the
source. It is emptied when the dataset's version changes.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from discreet.engines.keys import fresh_key
from discreet.engines.sql.keeping import described, kept_mark, kept_name, limits, visible
from discreet.engines.sql.relations import Emitter
from discreet.engines.sql.words import SQL
from discreet.engines.sql.words import table as named

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
        found = json.loads(about.read_text())
        return {"version": str(found["version"]), "rank_key": bytes.fromhex(found["rank_key"]).hex()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


class SparkStore:
    """Stored rows in a folder."""

    def __init__(self, folder: Path, policy: Policy, key: bytes | None, prefix: str) -> None:
        self._folder = folder
        self._prefix = prefix
        self._policy = policy
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about, version = folder / "about.json", described(policy)
        found = _described(about)
        if found.get("version") == version and key in {None, bytes.fromhex(found["rank_key"])}:
            self.key = bytes.fromhex(found["rank_key"])
        else:
            self.drop()
            self.key = fresh_key() if key is None else key
            written = folder / f"about_{uuid4().hex}.json"  # renamed, so that nobody finds a half of it
            written.touch(mode=0o600)
            written.write_text(json.dumps({"version": version, "rank_key": self.key.hex()}))
            written.replace(about)
        self._mark = kept_mark(policy, self.key)

    def kept(self, table: Table, limit: int) -> SQL | None:
        """Give the view of kept rows; `fill` makes it before it is read."""
        return None if table.unit is None else named(f"{self._prefix}_{self._name(table.name, limit)}")

    def _name(self, table: str, limit: int) -> str:
        return f"{kept_name(self._policy, table, limit)}_{self._mark}"

    def fill(self, node: Node, dialect: Dialect, catalog: Catalog, session: Any) -> None:  # noqa: ANN401 - pyspark's
        """Store what a plan needs and is not there; a file that is only half written has another name.

        Each writer has a name of its own: two that write into one folder would keep the rows of a unit twice.
        """
        emitter = Emitter(dialect, catalog, self.key)
        for scan, limit in limits(node):
            name = self._name(scan.table.name, limit)
            path, unfinished = self._folder / name, self._folder / f"unfinished_{name}_{uuid4().hex}"
            if not path.exists():
                rows = dialect.written(visible(emitter.limited(emitter.relation(scan), limit)))
                try:
                    session.sql(rows).write.parquet(str(unfinished))
                    unfinished.rename(path)
                except Exception:
                    shutil.rmtree(unfinished, ignore_errors=True)
                    if not path.exists():  # else another engine has stored the same rows meanwhile
                        raise
            session.read.parquet(str(path)).createOrReplaceTempView(f"{self._prefix}_{name}")

    def drop(self) -> None:
        """Remove all kept rows."""
        for path in [*self._folder.glob("kept_*"), *self._folder.glob("unfinished_*")]:
            shutil.rmtree(path)
