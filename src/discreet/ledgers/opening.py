"""Open the ledger that an address asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.ledgers.ledger import Ledger
from discreet.ledgers.memory import MemoryLedger
from discreet.ledgers.postgres import PostgresLedger
from discreet.ledgers.sqlite import SQLiteLedger

if TYPE_CHECKING:
    from discreet.tables import Policy

__all__ = ["ledger_beside", "open_ledger"]


def ledger_beside(file: str | Path) -> Path:
    """Where the ledger of a policy file lies unless the policy says otherwise.

    >>> ledger_beside("data/hospital.toml").name
    'hospital.ledger.sqlite'
    """
    path = Path(file)
    return path.with_name(f"{path.stem}.ledger.sqlite")


def open_ledger(
    policy: Policy, address: str | Path | Ledger | None = None, *, file: str | Path | None = None
) -> Ledger:
    """Open the ledger of a policy.

    - a `Ledger`: itself, which must be that of the policy;
    - `"memory"`: a `MemoryLedger`, which ends with the process;
    - `postgresql://…`: a `PostgresLedger`;
    - a path, or `sqlite:///path`: a `SQLiteLedger`.

    Without an address it is the policy's own (`[ledger] url`), else the file beside the policy's `file`; a policy that
    comes from no file is kept in memory. Paths are relative to the policy's file.

    >>> from discreet.tables import Policy
    >>> open_ledger(Policy([], epsilon=1, dataset="hospital"))
    MemoryLedger('memory', dataset 'hospital')
    """
    if isinstance(address, Ledger):
        if address.policy.hash != policy.hash:
            msg = "ledger is that of another policy; open it with the policy of the database, or give its address."
            raise ParameterError(msg)
        return address
    found = policy.ledger if address is None else address
    if found is None:
        return MemoryLedger(policy) if file is None else SQLiteLedger(ledger_beside(file), policy)
    if found == "memory":
        return MemoryLedger(policy)
    if not isinstance(found, str | Path):
        msg = f"ledger is {shown(found)}; it must be a Ledger, a path, 'memory' or postgresql://…."
        raise ParameterError(msg)
    scheme, mark, rest = str(found).partition("://")
    folder = Path() if file is None else Path(file).parent
    if mark and scheme in {"postgresql", "postgres"}:
        heads = None if file is None else ledger_beside(file).with_suffix(".head")
        return PostgresLedger(str(found), policy, head_file=heads)
    if mark and scheme != "sqlite":
        msg = f"ledger is {shown(scheme)}://…; it must be a path, sqlite:///…, 'memory' or postgresql://…."
        raise ParameterError(msg)
    return SQLiteLedger(folder / (rest.removeprefix("/") if mark else found), policy)
