"""Open the ledger that an address asks for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import LedgerError, ParameterError, PolicyError
from discreet.exact import shown
from discreet.ledgers.ledger import Ledger
from discreet.ledgers.memory import MemoryLedger
from discreet.ledgers.paths import HEAD, read_path
from discreet.ledgers.postgres import PostgresLedger
from discreet.ledgers.records import require_policy
from discreet.ledgers.register import Register, origin_of
from discreet.ledgers.sqlite import SQLiteLedger
from discreet.ledgers.transfer import checked
from discreet.ledgers.upgrading import upgrade
from discreet.tables import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.ledgers.verification import Verification

__all__ = ["export_ledger", "ledger_beside", "open_ledger", "upgrade_ledger", "verify_ledger"]

_MEMORY = "memory"


def ledger_beside(file: str | Path) -> Path:
    """Where the ledger of a policy file is made unless the policy says otherwise.

    A dataset that is known under another name of its file keeps the ledger that it has.

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

    The ledger is found as by `open_ledger`; a policy that is not given is read from its file, if that is there. Nothing
    is written.

    >>> import tempfile
    >>> from discreet.tables import Policy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy, file = Policy([], epsilon=1), Path(folder) / "hospital.toml"
    ...     open_ledger(policy, file=file).close()
    ...     print(str(verify_ledger(policy, file=file))[:7])
    1 entry
    """
    with _unjoined(policy, address, file) as ledger:
        return ledger.verify(head=head)


def export_ledger(
    policy: Policy | None = None, address: str | Path | None = None, *, file: str | Path | None = None
) -> Iterator[str]:
    """Give a ledger as lines of JSON, as `Ledger.export` does, without opening it for anything else.

    It is found as by `verify_ledger`, and verified first: of one that is not in order nothing is given. Nothing is
    created or written.

    >>> import tempfile
    >>> from discreet.tables import Policy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy, file = Policy([], epsilon=1), Path(folder) / "hospital.toml"
    ...     open_ledger(policy, file=file).close()
    ...     len(list(export_ledger(policy, file=file)))
    2
    """
    with _unjoined(policy, address, file) as ledger:
        verification = ledger.verify()
        if not verification.ok:
            problem = verification.problems[0]
            msg = f"the ledger is not in order: {problem} Nothing was exported. Run verify; restore a backup."
            raise LedgerError(msg)
        yield from ledger.export()


def upgrade_ledger(policy: Policy, address: str | Path | None = None, *, file: str | Path | None = None) -> Ledger:
    """Let the ledger of a policy go on by the best of several certificates, and give it; or raise LedgerError.

    It is found as by `verify_ledger`. The policy, edited or not, is the one that it goes on under: its delta must cover
    what the old filter may have used up, and what the certificates need. What was spent is counted anew from the
    entries: by the curve of each question, and of whatever else was charged by the charge itself.

    >>> import tempfile
    >>> from discreet.tables import Policy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "hospital.toml"
    ...     open_ledger(Policy([], epsilon=1), file=file).close()
    ...     with upgrade_ledger(Policy([], epsilon=1, delta=1e-6), file=file) as ledger:
    ...         ledger.policy.filter
    'best'
    """
    require_policy(policy)
    place = _found(policy, address, file)
    if not place.is_there:
        msg = f"there is no ledger {place.name}; the first opening makes one, by the best of several certificates."
        raise LedgerError(msg)
    ledger = place.open(None, None)
    try:
        upgrade(ledger, policy)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _unjoined(policy: Policy | None, address: str | Path | None, file: str | Path | None) -> Ledger:
    """Open a ledger to look at it."""
    return _found(policy, address, file).unjoined()


def _found(policy: Policy | None, address: str | Path | None, file: str | Path | None) -> _Place:
    """Find a ledger that should be there."""
    if policy is None and address is None and file is not None and read_path(file, name="file").is_file():
        policy = Policy.read(file)
    require_policy(policy)
    named = address if address is not None else policy.ledger if policy is not None else None
    if named is None and file is None:
        msg = "nothing says which ledger; give an address, or the policy's file."
        raise ParameterError(msg)
    if named == _MEMORY:
        msg = f"the ledger {_MEMORY!r} ends with its process; there is none to look at."
        raise LedgerError(msg)
    place = _Place.of(named, file)
    if named is None and policy is not None and not place.is_there:
        known = Register(policy, file=read_path("" if file is None else file, name="file")).ledger()
        if known is not None and "://" not in known:
            place = _Place(known, None)
    return place


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a ledger is: a path, or the address of a server and a file here for the head."""

    address: str
    head: Path | None

    @staticmethod
    def of(named: str | Path | None, file: str | Path | None) -> _Place:
        """Read an address; a path is relative to the policy's file."""
        if not isinstance(named, str | Path | None):
            msg = f"ledger is {shown(named)}; it must be a Ledger, a path, 'memory' or postgresql://…."
            raise ParameterError(msg)
        scheme, mark, rest = str(named).partition("://") if named is not None else ("", "", "")
        if mark and scheme in {"postgresql", "postgres"}:
            return _Place(str(named), _head_file(file))
        if mark and scheme != "sqlite":
            msg = f"ledger is {shown(scheme)}://…; it must be a path, sqlite:///…, 'memory' or postgresql://…."
            raise ParameterError(msg)
        return _Place(str(_path(named, mark, rest, file)), None)

    @property
    def is_server(self) -> bool:
        return self.address.startswith(("postgresql://", "postgres://"))

    @property
    def is_there(self) -> bool:
        return self.is_server or Path(self.address).exists()

    @property
    def name(self) -> str:
        """The place under its one name, without a password."""
        return PostgresLedger.unjoined(self.address).name if self.is_server else os.path.realpath(self.address)

    def unjoined(self) -> Ledger:
        if self.is_server:
            return PostgresLedger.unjoined(self.address, self.head)
        return SQLiteLedger.unjoined(self.address)

    def open(self, policy: Policy | None, export: Iterable[str] | None) -> Ledger:
        if self.is_server:
            return PostgresLedger(self.address, policy, head_file=self.head, export=export)
        return SQLiteLedger(self.address, policy, export=export)

    def origin(self, export: Iterable[str] | None) -> str:
        """Give the first entry of what is there, or of the export that it is made from; "" for a new ledger."""
        if self.is_there:
            with self.unjoined() as ledger:
                origin = origin_of(ledger)
            if origin:
                return origin
        return next((line.hash for line in checked(export)), "") if export is not None else ""


def _given(ledger: Ledger, policy: Policy, export: Iterable[str] | None) -> Ledger:
    """Take a ledger that is open already."""
    with ledger._page(write=False) as page:  # noqa: SLF001 - what it fixed at its creation
        kept = ledger.kept(policy, page)
    if ledger.policy.hash != kept.hash:
        msg = "ledger is that of another policy; open it with the policy of the database, or give its address."
        raise ParameterError(msg)
    if export is not None:
        msg = "export makes a new ledger; give an address where there is none yet."
        raise ParameterError(msg)
    return ledger


def _registered(ledger: Ledger, source: object, file: str | Path | None) -> Ledger:
    """Enter a ledger that is open already, unless the dataset has another or this one ends with the process."""
    name = os.path.realpath(ledger.path) if isinstance(ledger, SQLiteLedger) else ""
    name = ledger.name if isinstance(ledger, PostgresLedger) else name
    register = Register(ledger.policy, source, file=None if file is None else read_path(file, name="file"))
    if name:
        with register.held():
            origin = origin_of(ledger)
            register.choose(name, origin, follow=False)
            register.enter(name, origin)
    return ledger


def _require_durable(policy: Policy) -> None:
    """Refuse a policy file that names the memory: it would promise a budget for ever, and keep it for a moment."""
    if policy.ledger == _MEMORY:
        msg = (
            f"ledger.url is {_MEMORY!r} in a policy file: the budget would end with this process, and whoever opens "
            "the file next would have all of it again. Leave [ledger] out (the ledger then lies beside the file), or "
            "name a path or postgresql://…. To try something out, give ledger='memory' to discreet.open."
        )
        raise PolicyError(msg)


def _head_file(file: str | Path | None) -> Path | None:
    return None if file is None else ledger_beside(file).with_suffix(HEAD)


def _path(given: str | Path | None, mark: str, rest: str, file: str | Path | None) -> Path:
    """The file of a ledger, relative to the policy's."""
    if given is None:
        return ledger_beside("" if file is None else file)
    named = read_path(rest.removeprefix("/") if mark else given, name="ledger")
    return (Path() if file is None else read_path(file, name="file").parent) / named


def open_ledger(
    policy: Policy,
    address: str | Path | Ledger | None = None,
    *,
    file: str | Path | None = None,
    source: object = None,
    export: Iterable[str] | None = None,
) -> Ledger:
    """Open the ledger of a policy.

    - a `Ledger`: itself, which must be that of the policy;
    - `"memory"`: a `MemoryLedger`, which ends with the process;
    - `postgresql://…`: a `PostgresLedger`;
    - a path, or `sqlite:///path`: a `SQLiteLedger`.

    Without an address it is the policy's own (`[ledger] url`), else the file beside the policy's `file`; a policy that
    comes from no file is kept in memory. Paths are relative to the policy's file. A policy file that names `"memory"`
    is refused: whoever opens it next would have the whole budget again. Who wants that gives the address.

    A dataset has one ledger, which is entered in a register beside its data (`source`, or the policy's own): under
    another name of the policy's file it is found there, and a second one for the same id is refused.

    With `export`, the lines of an export, the ledger is made from them, and must not be there yet.

    >>> from discreet.tables import Policy
    >>> open_ledger(Policy([], epsilon=1, dataset="hospital"))
    MemoryLedger('memory', dataset 'hospital')
    """
    if not isinstance(policy, Policy):
        msg = f"policy is {shown(policy)}; it must be a Policy."
        raise ParameterError(msg)
    if isinstance(address, Ledger):
        return _registered(_given(address, policy, export), source, file)
    named = policy.ledger if address is None else address
    if address is None and file is not None:
        _require_durable(policy)
    if named == _MEMORY or (named is None and file is None):
        return MemoryLedger(policy, export=export)
    place = _Place.of(named, file)
    lines = list(export) if isinstance(export, Iterable) and not isinstance(export, str | bytes) else export
    register = Register(policy, source, file=None if file is None else read_path(file, name="file"))
    with register.held():
        name = place.name
        chosen = register.choose(name, place.origin(lines), follow=named is None)
        ledger = (place if chosen == name else _Place(chosen, None)).open(policy, lines)
        register.enter(chosen, origin_of(ledger))
    return ledger
