"""Which ledger a dataset has: a small register beside the data, so that no other name of a policy is a new budget.

The ledger of a policy lies beside the policy's file unless the policy says otherwise, and files are renamed, linked and
copied. So the first opening enters the dataset's id in a register, and later ones find the ledger there: the same one
for the same id, whatever the policy's file is called.

The register lies where the data do, in `.discreet.ledgers`. Where that folder cannot be written, it lies in the user's
own folder for such things (`$XDG_STATE_HOME/discreet/ledgers`, else `~/.local/state/…`). A source that is no file has
both a register beside the policy and that one.
"""

from __future__ import annotations

import json
import os
import tomllib
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from discreet.errors import LedgerError
from discreet.ledgers.lock import hold, opened, released
from discreet.ledgers.sqlite import SQLiteLedger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.ledgers.ledger import Ledger
    from discreet.tables import Policy

__all__ = ["Entered", "Register", "origin_of"]

_NAME = ".discreet.ledgers"
_WAIT_SECONDS = 30.0


def origin_of(ledger: Ledger) -> str:
    """Give the hash of a ledger's first entry: copies of one ledger have the same, and no two others do.

    >>> from discreet.ledgers import MemoryLedger
    >>> from discreet.tables import Policy
    >>> len(origin_of(MemoryLedger(Policy([], epsilon=1))))
    64
    """
    with ledger._page(write=False) as page:  # noqa: SLF001 - also of one whose other entries are damaged
        first = page.line(0)
    return "" if first is None else first.hash


@dataclass(frozen=True, slots=True)
class Entered:
    """What a register says of a dataset: its ledger, as seen from a folder, and that ledger's first entry.

    >>> Entered("hospital", "hospital.ledger.sqlite", "0f3a", "", "/data").ledger_from(Path("/data"))
    '/data/hospital.ledger.sqlite'
    """

    dataset: str
    ledger: str
    origin: str
    source: str
    folder: str

    def ledger_from(self, folder: Path) -> str:
        """Name the ledger from where the register is, or was."""
        return self.ledger if "://" in self.ledger else os.path.realpath(folder / self.ledger)

    def lives(self, place: str) -> bool:
        """Tell whether the ledger is at a place; one that cannot be read may be it."""
        if "://" in place:
            return False  # it answers, if at all, to whoever knows the password
        if not Path(place).exists():
            return False
        try:
            with SQLiteLedger.unjoined(place) as ledger:
                return origin_of(ledger) in {self.origin, ""}
        except LedgerError:
            return True


@dataclass(frozen=True, slots=True)
class _Seat:
    """The file of a register; `source` is what its entries are about, where it has those of several."""

    file: Path
    source: str
    shared: bool = False

    def read(self) -> list[Entered]:
        """Read what was entered; a last line that was not written to its end is none."""
        self.require_file()
        try:
            text = self.file.read_bytes().decode()
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, UnicodeDecodeError) as error:
            msg = (
                f"{self.file} cannot be read ({type(error).__name__}); it says which ledger the data have, and without "
                "it a second one would begin with the whole budget. Let its owner make it readable to this user: "
                "group = true below [ledger] in the policy, for several users of one group."
            )
            raise LedgerError(msg) from None
        return [self._line(line) for line in text.split("\n")[:-1] if line.strip("\0 ")]

    def require_file(self) -> None:
        """Refuse what is there and is no file: a pipe would be waited for, and a device keeps nothing."""
        if self.file.exists() and not self.file.is_file():
            msg = f"{self.file} is no file; it says which ledger the data have. Restore it, or remove what is there."
            raise LedgerError(msg)

    def _line(self, line: str) -> Entered:
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            read = json.loads(line)
            words = [str(read[word]) for word in Entered.__slots__]
            if not any("\0" in word for word in words):
                return Entered(*words)
        msg = (
            f"{self.file} holds a line that is none of a register: it was edited. It says which ledger the data have; "
            "restore it, or remove that line."
        )
        raise LedgerError(msg)

    def about(self, entered: Entered, dataset: str) -> bool:
        """Tell whether a line is about a dataset here."""
        return entered.dataset == dataset and (not self.shared or entered.source == self.source)

    def write(self, handle: int, entered: Entered) -> None:
        """Add a line to the open file, after what was not written to its end is taken away."""
        size = os.fstat(handle).st_size
        whole = os.pread(handle, size, 0).rfind(b"\n") + 1
        os.ftruncate(handle, whole)
        words = {word: getattr(entered, word) for word in Entered.__slots__}
        os.pwrite(handle, f"{json.dumps(words, ensure_ascii=False)}\n".encode(), whole)
        os.fsync(handle)


class Register:
    """Where the ledger of a policy's dataset is looked up and entered.

    >>> import tempfile
    >>> from discreet.tables import Policy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     register = Register(Policy([], epsilon=1, source="."), file=Path(folder) / "hospital.toml")
    ...     with register.held():
    ...         register.enter(f"{folder}/hospital.ledger.sqlite", "0f3a")
    ...     register.entered().ledger
    'hospital.ledger.sqlite'
    """

    def __init__(self, policy: Policy, source: object = None, *, file: Path | None = None) -> None:
        self._policy = policy
        self._file = file
        self._handles: dict[_Seat, int] = {}
        address = policy.source if source is None else source
        beside = Path() if file is None else file.parent
        self._seats: list[_Seat] = []
        named = _named(address)
        if isinstance(address, Path) or (isinstance(address, str) and not named):
            place = (beside / address).resolve()
            folder = place if place.is_dir() else place.parent
            named = str(folder)
            homes = dict.fromkeys([folder, *_homes(policy, folder)])
            self._seats += [_Seat(home / _NAME, "") for home in homes]
        elif file is not None:
            self._seats.append(_Seat(beside.resolve() / _NAME, named))
        self._own = _state(named) if named else None
        if self._own is not None:
            self._seats.append(self._own)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody else look up or enter anything meanwhile; where no file can be written, nobody enters anything."""
        process = os.getpid()
        with ExitStack() as stack:
            for seat in self._seats:
                seat.require_file()
                if seat is self._own and self._handles and not self._seats[0].source:
                    continue  # the folder of the data has a register
                with suppress(OSError):  # it cannot be written
                    if seat is self._own:
                        seat.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    file = stack.enter_context(opened(seat.file, group=self._policy.ledger_group))
                    self._handles[seat] = file.fileno()
            for seat, handle in self._handles.items():
                try:
                    hold(handle, _WAIT_SECONDS)
                except BlockingIOError:
                    self._handles.clear()
                    msg = f"{seat.file} is locked for more than {_WAIT_SECONDS:.0f} seconds; nothing was opened."
                    raise LedgerError(msg) from None
                stack.callback(released, handle, process)
            try:
                yield
            finally:
                self._handles.clear()

    def _last(self) -> tuple[_Seat, Entered] | None:
        for seat in self._seats:
            lines = [line for line in seat.read() if seat.about(line, self._policy.dataset)]
            if lines:
                return seat, lines[-1]
        return None

    def entered(self) -> Entered | None:
        """Give what was entered last about the dataset here."""
        last = self._last()
        return None if last is None else last[1]

    def ledger(self) -> str | None:
        """Name the dataset's ledger: where it was when it was entered, or else where it would be if all was moved."""
        last = self._last()
        if last is None:
            return None
        before, now = (last[1].ledger_from(Path(folder)) for folder in (last[1].folder, last[0].file.parent))
        return before if last[1].lives(before) else now

    def choose(self, wanted: str, origin: str, *, follow: bool) -> str:
        """Give the ledger to open: the wanted one, by name and first entry ("" where there is none), or the known one.

        With `follow`, the known one is taken where nothing is at the wanted place. A second one is refused, and so is a
        new one where the known one is gone.
        """
        known, place = self.entered(), self.ledger()
        if known is None or place is None:
            if not origin:
                self.require_named()
            return wanted
        if wanted == place:
            self._require_same(known, place, origin)
            return wanted
        lives = known.lives(place) or ("://" in place and origin != known.origin)
        if lives and follow and not origin and "://" not in place:
            return place
        if lives:
            msg = (
                f"dataset {known.dataset!r} has its ledger at {place}; {wanted} would be a second one, with the whole "
                "budget again. Name the first, or none. To move a ledger, move its file and its head file, or export "
                f"it, take the file away and import the export. Only for other data: give them another id. ({self})"
            )
            raise LedgerError(msg)
        self._require_same(known, place, origin)
        return wanted

    def _require_same(self, known: Entered, place: str, origin: str) -> None:
        """Refuse another ledger than the one that was entered, wherever it is now."""
        if origin == known.origin:
            return
        what = "is another one, by its first entry" if origin else "is gone, and a new one would have the whole budget"
        msg = (
            f"the ledger of dataset {known.dataset!r} was at {place}; what is there now {what}. Restore the ledger, or "
            "import an export of it. Only if the owner is sure that nothing was ever released: remove the lines of "
            f"this dataset from {self}."
        )
        raise LedgerError(msg)

    def enter(self, ledger: str, origin: str) -> None:
        """Enter the ledger of the dataset, in every register that is held and does not say so already."""
        for seat, handle in self._handles.items():
            folder = seat.file.parent
            place = ledger if "://" in ledger or seat is self._own else os.path.relpath(ledger, folder)
            line = Entered(self._policy.dataset, place, origin, seat.source, str(folder))
            known = [row for row in seat.read() if seat.about(row, self._policy.dataset)]
            if known[-1:] != [line]:
                seat.write(handle, line)

    def require_named(self) -> None:
        """Refuse a dataset that is new here and has its name from the policy's file alone, where another is known.

        A policy that was renamed, copied or linked would be a new dataset, with a budget of its own.
        """
        if self._file is None or _states_id(self._file):
            return
        for seat in self._seats:
            known = [line for line in seat.read() if line.source == seat.source]
            if known and all(line.dataset != self._policy.dataset for line in known):
                last = known[-1]
                msg = (
                    f"{self._file.name} names no dataset, so that it would be a new one, {self._policy.dataset!r}, "
                    f"with a budget of its own; but its data are known as {last.dataset!r}, with the ledger "
                    f"{last.ledger_from(seat.file.parent)}. If this is the same policy under another name, write "
                    f"id = {last.dataset!r} below [dataset]; if it is another dataset, id = {self._policy.dataset!r}."
                )
                raise LedgerError(msg)

    def __str__(self) -> str:
        """Name the files."""
        return " and ".join(str(seat.file) for seat in self._seats if seat.file.exists())


def _homes(policy: Policy, folder: Path) -> Iterator[Path]:
    """Where files of a folder really lie: one that is a link is data that may be known elsewhere."""
    for table in policy.tables:
        with suppress(OSError, ValueError):  # a name that no file has
            yield from (file.resolve().parent for file in sorted(folder.glob(f"{escape(table.name)}.*")))


def _named(address: object) -> str:
    """Name a source that is no file, without user and password; files and frames have no such name."""
    if not isinstance(address, str) or ("://" not in address and not address.startswith("local[")):
        return ""
    with suppress(ValueError):
        parts = urlsplit(address)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return ""


def _state(source: str) -> _Seat | None:
    """The user's own register, of all sources."""
    with suppress(RuntimeError):  # a user without a home
        given = os.environ.get("XDG_STATE_HOME", "")
        folder = Path(given) if given else Path.home() / ".local" / "state"
        return _Seat(folder / "discreet" / "ledgers", source, shared=True)
    return None


def _states_id(file: Path) -> bool:
    """Tell whether a policy file names its dataset itself; one that is not there or is no TOML says nothing."""
    with suppress(OSError, ValueError, AttributeError):
        return tomllib.loads(file.read_text(encoding="utf-8-sig")).get("dataset", {}).get("id") is not None
    return True
