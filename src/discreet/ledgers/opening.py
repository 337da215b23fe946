"""Open the ledger that an address asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.ledgers.ledger import Ledger, require_policy
from discreet.ledgers.memory import MemoryLedger
from discreet.ledgers.paths import HEAD, read_path
from discreet.ledgers.postgres import PostgresLedger
from discreet.ledgers.sqlite import SQLiteLedger
from discreet.tables import Policy

if TYPE_CHECKING:
    from discreet.ledgers.verification import Verification

__all__ = ["ledger_beside", "open_ledger", "verify_ledger"]


def ledger_beside(file: str | Path) -> Path:
    """Where the ledger of a policy file lies unless the policy says otherwise.

    >>> ledger_beside("data/hospital.toml").name
    'hospital.ledger.sqlite'
    """
    path = read_path(file, name="file")
    return path.with_name(f"{path.stem}.ledger.sqlite")


def verify_ledger(
    policy: Policy | None = None,
    address: str | Path | None = None,
    *,
    file: str | Path | None = None,
    head: str | None = None,
) -> Verification:
    """Verify a ledger without opening it for anything else, so that one which was tampered with can be looked at too.

    The ledger is found as by `open_ledger`; nothing is written.

    >>> import tempfile
    >>> from discreet.tables import Policy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy, file = Policy([], epsilon=1), Path(folder) / "hospital.toml"
    ...     open_ledger(policy, file=file).close()
    ...     print(str(verify_ledger(policy, file=file))[:9])
    1 entries
    """
    require_policy(policy)
    found = address if address is not None else policy.ledger if policy is not None else None
    if found is None and file is None:
        msg = "nothing says which ledger; give an address, or the policy's file."
        raise ParameterError(msg)
    scheme, mark, rest = str(found).partition("://") if found is not None else ("", "", "")
    if mark and scheme in {"postgresql", "postgres"}:
        ledger: Ledger = PostgresLedger.unjoined(str(found), _head_file(file))
    else:
        ledger = SQLiteLedger.unjoined(_path(found, mark, rest, file))
    with ledger:
        return ledger.verify(head=head)


def _head_file(file: str | Path | None) -> Path | None:
    return None if file is None else ledger_beside(file).with_suffix(HEAD)


def _path(found: str | Path | None, mark: str, rest: str, file: str | Path | None) -> Path:
    """The file of a ledger, relative to the policy's."""
    if found is None:
        return ledger_beside(file or "")
    named = read_path(rest.removeprefix("/") if mark else found, name="ledger")
    return (Path() if file is None else read_path(file, name="file").parent) / named


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
    if not isinstance(policy, Policy):
        msg = f"policy is {shown(policy)}; it must be a Policy."
        raise ParameterError(msg)
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
    if mark and scheme in {"postgresql", "postgres"}:
        return PostgresLedger(str(found), policy, head_file=_head_file(file))
    if mark and scheme != "sqlite":
        msg = f"ledger is {shown(scheme)}://…; it must be a path, sqlite:///…, 'memory' or postgresql://…."
        raise ParameterError(msg)
    return SQLiteLedger(_path(found, mark, rest, file), policy)
