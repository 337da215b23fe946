"""Sessions: a reservation that lives, for whatever answers or spends in steps."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.exact import integer, shown
from discreet.ledgers.charging import charged
from discreet.ledgers.line import Draft, canonical, covers, now, read_amount, read_sums
from discreet.ledgers.purse import Purse, Repeat, Reservation
from discreet.ledgers.records import (
    about,
    plain,
    released_record,
    require_costs,
    require_entry,
    require_repeats,
    require_reservation,
    require_texts,
)
from discreet.ledgers.rules import SESSIONS, session_fact, step_fact, steps_of
from discreet.ledgers.vaults import open_sealed, sealed
from discreet.mechanisms.release import Release
from discreet.noise.bits import SYSTEM
from discreet.noise.sealed import SealedBits
from discreet.privacy.costs import units_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from discreet.ledgers.ledger import Ledger
    from discreet.ledgers.line import Line, Scope
    from discreet.ledgers.page import Page
    from discreet.ledgers.purse import Entry, Released
    from discreet.ledgers.statement import Usage
    from discreet.ledgers.vaults import Lease
    from discreet.noise import BitSource
    from discreet.privacy.costs import Amount, Cost, Promising
    from discreet.privacy.curve import Curve

__all__ = ["HELD", "Session"]


class Session(Purse):
    """Something that goes on: a stream, a sparse-vector run, an adaptive synthesizer, a training run.

    Its whole cost is taken when it is first opened, under a name (`entry.question`) that finds it again. From then on

    - *one* process at a time holds it. The lease ends with the process, however that ends, and whoever opens the
      session next takes it over under a higher fence: what the former holder still tries to write is refused;
    - each part is shown after it is durable, and shown again as it was: nothing is computed twice;
    - `state` is the holder's alone (an exact running sum, noise drawn and not yet shown), and is kept together with the
      part that uses it;
    - `bits()` begin again for whoever takes it over, so that a step which a crash cut off is not drawn anew;
    - it is a purse for steps that are paid inside it (`charge(session, …)`): their costs add up to at most the cost of
      the session, so that steps chosen after seeing earlier ones compose within it.

    Sessions and questions interleave freely: the ledger's filter admits the whole cost at the opening, before the first
    step, and concurrent composition of interactive mechanisms under such a filter is covered by Haney et al. 2023
    (arXiv:2309.05901, Theorems 1 and 2).

    >>> import json
    >>> from discreet.ledgers import Entry, MemoryLedger
    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.privacy import Pure
    >>> from discreet.tables import Policy
    >>> ledger, noise = MemoryLedger(Policy([], epsilon=1)), DiscreteLaplace(sensitivity=1, epsilon="0.5")
    >>> entry = Entry("visits by day", ("visits",), kind="stream")
    >>> with Session.open(ledger, Pure("0.5"), entry) as session:
    ...     first = noise.release(7, bits=session.bits())
    ...     _ = session.append([first], state=b"day 1")
    >>> with Session.open(ledger, Pure("0.5"), entry) as session:
    ...     session.parts == [json.loads(first.to_json())], session.state, ledger.remaining
    (True, b'day 1', Pure(epsilon=0.5))
    """

    def __init__(self, ledger: Ledger, opened: Line, fence: int, lease: Lease, content: tuple[bytes, bytes]) -> None:
        self._ledger = ledger
        self._opened = opened
        self._number = opened.number
        self._fence = fence
        self._lease: Lease | None = lease
        self._key, self._state = content
        self._process = os.getpid()
        self._sources: dict[int, SealedBits] = {}
        HELD.setdefault(ledger, WeakValueDictionary())[self._number] = self

    @classmethod
    def open(
        cls,
        ledger: Ledger,
        cost: Amount,
        entry: Entry,
        *,
        most_parts: int | None = None,
        until: dt.datetime | None = None,
    ) -> Session:
        """Take a cost and begin, or go on with what was begun under this name for this cost and these details.

        After `most_parts` parts, and after the time `until`, nothing can be appended any more.
        """
        require_entry(entry)
        if entry.kind not in SESSIONS or not isinstance(entry.question, str) or not entry.question:
            kinds = " or ".join(SESSIONS)
            msg = f"a session needs a kind ({kinds}) and a name, such as Entry('visits by day', …, kind='stream')."
            raise ParameterError(msg)
        _refuse_key(entry)
        ends = _ends(most_parts, until)
        cost = ledger.priced(cost)
        draft = Draft.of("reserved", {**ledger._body(cost, entry), **ends})  # noqa: SLF001 - a ledger's own part
        session = None
        try:
            with ledger._page(write=True) as page:  # noqa: SLF001 - as above
                known = page.fact(session_fact(entry.question, entry.analyst, entry.purpose))
                if known is None:
                    paid = ledger._reserved(page, cost, entry, draft)  # noqa: SLF001 - as above
                    opened = page.line(paid.number)
                else:
                    ledger._allow(page, entry)  # noqa: SLF001 - as above
                    opened = page.line(int(known))
                    _require_same(opened, draft)
                session = cls._taken_over(ledger, page, opened)
        except BaseException:
            if session is not None:  # what was written may not be durable, and nobody gets the session
                session.leave()
            raise
        return session

    @classmethod
    def _taken_over(cls, ledger: Ledger, page: Page, opened: Line | None) -> Session:
        """Hold the lease under the next fence; no state was sealed before the first one."""
        if opened is None:
            msg = "the entry that opened the session is missing: the ledger is damaged. Run verify; restore a backup."
            raise LedgerError(msg)
        ledger._require_genuine([opened])  # noqa: SLF001 - its cost is what steps may spend
        lease = ledger._vault.hold(opened.number)  # noqa: SLF001 - a ledger's own part
        if lease is None:
            msg = (
                f"the session of entry {opened.number} is held by another program, or was not left in this one; "
                "nothing was spent or drawn. Close it there, and open it again."
            )
            raise LedgerError(msg)
        try:
            return cls._joined(ledger, page, opened, lease)
        except BaseException:
            lease.close()
            raise

    @classmethod
    def _joined(cls, ledger: Ledger, page: Page, opened: Line, lease: Lease) -> Session:
        number, vault = opened.number, ledger._vault  # noqa: SLF001 - as above
        fence = int(page.fact(f"lease {number}") or 0) + 1
        seal = page.fact(f"seal {number}")
        if page.fact(f"closed {number}") is not None:
            return cls(ledger, opened, fence, lease, (b"", b""))
        body: dict[str, object] = {"reservation": number, "fence": fence}
        if seal is None:
            seal, first = sealed(SYSTEM.take(32).tobytes(), b"")
            vault.put(page, number, seal, first)
            body["seal"] = seal
        content = open_sealed(seal, vault.get(page, number, seal))
        vault.settle(number, seal)
        ledger._append(page, Draft.of("lease", body))  # noqa: SLF001 - as above
        return cls(ledger, opened, fence, lease, content)

    # What is known of it

    def belongs_to(self, ledger: Ledger) -> bool:
        """Tell whether it is a session of a ledger, as this program has it open."""
        return self._ledger is ledger

    @property
    def number(self) -> int:
        """The entry of the ledger that paid for it."""
        return self._number

    @property
    def cost(self) -> Amount:
        """What was taken for all of it."""
        cost = self._opened.cost
        if cost is None:
            msg = f"entry {self._number} names no cost: the ledger is damaged. Run verify; restore a backup."
            raise LedgerError(msg)
        return cost

    @property
    def state(self) -> bytes:
        """What the holder sealed last; private. Empty before anything was."""
        self._require_open()
        return self._state

    @property
    def parts(self) -> list[Mapping[str, Any]]:
        """What was shown so far, as JSON objects, in order."""
        with self._ledger._page(write=False) as page:  # noqa: SLF001 - a ledger's own part
            parts = [self._genuine(line).body["answer"] for line in page.parts(self._number)]
        self._ledger._settle()  # noqa: SLF001 - as above
        return parts

    @property
    def releases(self) -> list[Release[Any]]:
        """The same as releases that say what was charged: for a step its own cost, for all others the session's."""
        with self._ledger._page(write=False) as page:  # noqa: SLF001 - a ledger's own part
            parts = [(line.body["answer"], self._paid(page, self._genuine(line))) for line in page.parts(self._number)]
        self._ledger._settle()  # noqa: SLF001 - as above
        return [charged(Release.from_json(json.dumps(answer)), *paid) for answer, paid in parts]

    @property
    def whole(self) -> str:
        """What its cost is for, in words."""
        return f"all parts of {self._opened.question!r} together"

    @property
    def over(self) -> str:
        """Why nothing can be appended any more; empty while something can."""
        with self._ledger._page(write=False) as page:  # noqa: SLF001 - a ledger's own part
            return self._ended(page)

    def bits(self, step: int | None = None) -> BitSource:
        """The bits of the next part, or of a step that was reserved and has no answer yet.

        Here the source goes on however often it is asked for, and whatever else is kept meanwhile, so that no two draws
        are the same. Whoever takes the session over begins it again: what a crash cut off is drawn as it was, and
        nothing of it was shown. So what is drawn for a step is shown in its answer alone.
        """
        self._require_open()
        self._require_key()
        if step is not None:
            step = integer(step, name="step", least=0, most=2**62)
        with self._ledger._page(write=False) as page:  # noqa: SLF001 - a ledger's own part
            if step is None:
                return self._source(2 * self._count(page))
            self._open_step(page, step)
            return self._source(2 * step + 1)

    def _source(self, place: int) -> BitSource:
        return self._sources.setdefault(place, SealedBits(self._key, place))

    def _forget_sources(self, count: int, answered: set[int]) -> None:
        """Forget the sources of parts before this one, and of steps; others, of any thread, go on."""
        for place in list(self._sources):
            if place // 2 in answered if place % 2 else place < 2 * count:
                self._sources.pop(place, None)

    # What it does

    def append(self, parts: Sequence[Released], *, state: bytes | None = None) -> str:
        """Keep parts durably, all or none, and the state that belongs to them; only then may they be shown.

        Without a state the last one stays. It gives the head of the ledger.
        """
        if isinstance(parts, str | bytes) or not isinstance(parts, Iterable):
            msg = f"parts is {shown(parts)}; it must be a list of releases."
            raise ParameterError(msg)
        bodies = [{"answer": released_record(part)} for part in parts]
        if not bodies:
            msg = "there are no parts; give at least one."
            raise ParameterError(msg)
        return self._write("part", bodies, state)

    def close(self) -> None:
        """End the session for good and forget its state; what was not used of its cost stays spent."""
        with self._ledger._page(write=False) as page:  # noqa: SLF001 - a ledger's own part
            is_closed = self._is_closed(page)
        if not is_closed:  # one that is over by itself has a state, too
            self._write("closed", [{"why": self.over or "closed"}], None)
        self.leave()

    def leave(self) -> None:
        """Give the lease back, so that somebody else may go on."""
        lease, self._lease = self._lease, None
        if lease is not None and self._process == os.getpid():
            lease.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.leave()

    def __reduce__(self) -> str:
        """Refuse to be copied or pickled."""
        msg = "a session is not copied or pickled: it has one holder. Open it again there."
        raise TypeError(msg)

    def __repr__(self) -> str:
        return f"Session({self._opened.question!r}, entry {self._number})"

    # A purse for the steps inside it

    @property
    def remaining(self) -> Amount:
        """What steps may still cost."""
        with self._ledger._page(write=False) as page:  # noqa: SLF001 - a ledger's own part
            return self._left(page)

    def remaining_for(self, analyst: str | None, purpose: str | None) -> Amount:
        """What steps may still cost; the budgets of analyst and purpose were charged at the opening."""
        del analyst, purpose
        return self.remaining

    def budgets(self, entry: Entry) -> tuple[Scope, ...]:
        """The session's own alone."""
        del entry
        return (("session", self._opened.question),)

    def admits(self, cost: Amount, entry: Entry) -> bool:
        """Tell whether a step would fit now."""
        require_entry(entry)
        return self.affords({("session", ""): cost})

    def affords(self, charges: Mapping[Scope, Amount]) -> bool:
        """Tell whether charges would fit now."""
        with self._ledger._page(write=False) as page:  # noqa: SLF001 - a ledger's own part
            return all(self._holds(page, self.priced(charge)) for charge in charges.values())

    def priced(self, given: Amount | Curve | Promising) -> Amount:
        """What is charged for something, as the ledger prices it."""
        return self._ledger.priced(given)

    def usage(self, analyst: str | None, purpose: str | None, cost: Amount | None = None) -> Usage:
        """How much is used of the budgets that were charged at the opening."""
        return self._ledger.usage(analyst, purpose, cost)

    def may(self, analyst: str | None, action: str, tables: Iterable[str]) -> bool:
        """Tell whether somebody may do something with tables, by the policy of the day."""
        return self._ledger.may(analyst, action, tables)

    def note(self, kind: str, what: str, facts: Mapping[str, object]) -> str:
        """Keep a public fact for the owner, in the ledger."""
        return self._ledger.note(kind, what, facts)

    def look(self, cost: Amount, entry: Entry) -> Repeat | None:
        """Give what the same step released before, if at least this cost was paid for it."""
        require_entry(entry)
        with self._ledger._page(write=False) as page:  # noqa: SLF001 - a ledger's own part
            part = self._step(page, entry.question, "part")
            step = None if part is None else page.line(int(part.body["step"]))
            paid = None if step is None else read_amount(self._genuine(step).body["inner"])
            if part is None or step is None or paid is None or not covers(paid, self.priced(cost)):
                return None
            head = self._ledger._head(page)  # noqa: SLF001 - as above
        self._ledger._settle()  # noqa: SLF001 - as above
        return Repeat((part.body["answer"],), paid, str(head), (step.number,), (paid,), (frozenset(),))

    def replay(self, cost: Amount, entry: Entry) -> None:
        """Give nothing: a step is found again by its question, and one with a key is refused."""
        del cost
        _refuse_key(entry)

    def take(
        self, costs: Sequence[tuple[Amount, Entry]], repeats: Sequence[tuple[Repeat, Entry]]
    ) -> tuple[tuple[Reservation, ...], tuple[Repeat, ...]]:
        """Take the costs of steps, all or none; repeats are free.

        A step that was taken before under the same name and cost and has no part yet (a crash came between) is given
        again at no cost, and `bits(reservation.number)` are the same: it is the same step.
        """
        costs, repeats = require_costs(costs), require_repeats(repeats)
        if not costs:
            return (), tuple(repeat for repeat, _ in repeats)
        self._require_open()
        for _, entry in costs:
            require_texts(entry)
            _refuse_key(entry)
        with self._ledger._page(write=True) as page:  # noqa: SLF001 - a ledger's own part
            self._require_holder(page, "step")
            reserved = [self._reserved(page, cost, entry) for cost, entry in costs]
        return tuple(reserved), tuple(repeat for repeat, _ in repeats)

    def record(self, reservation: Reservation, answer: Released, *, state: bytes | None = None) -> str:
        """Keep what a step released as a part of the session, once."""
        require_reservation(reservation)
        body = {"answer": released_record(answer), "step": reservation.number, "question": reservation.entry.question}
        return self._write("part", [body], state)

    # How it is done

    def _reserved(self, page: Page, cost: Amount, entry: Entry) -> Reservation:
        cost = self.priced(cost)
        begun = self._step(page, entry.question, "open")
        if begun is not None and read_amount(begun.body["inner"]) == cost:
            return Reservation(begun.number, cost, entry, (), str(self._ledger._head(page)))  # noqa: SLF001 - as above
        left = self._left(page)
        if not self._holds(page, cost):
            msg = (
                f"{cost!r} does not fit into the session: {left!r} is left of {self.cost!r}. Nothing was spent. Ask "
                "for less, or open a session with a larger cost."
            )
            raise BudgetError(msg)
        ((_, _, inner),) = plain([("", "", cost)])
        body = {**about(entry), "reservation": self._number, "fence": self._fence, "inner": inner}
        head = self._ledger._append(page, Draft.of("step", body))  # noqa: SLF001 - a ledger's own part
        return Reservation(head.number, cost, entry, (), str(head))

    def _step(self, page: Page, question: str, stage: str) -> Line | None:
        """The entry of a step at a stage: `open` after it was paid, `part` after its answer was kept."""
        kept = page.fact(step_fact(self._number, question)) if question else None
        word, _, number = (kept or "").partition(" ")
        line = page.line(int(number)) if word == stage else None
        return None if line is None else self._genuine(line)

    def _paid(self, page: Page, part: Line) -> tuple[Amount, str]:
        """What was taken for a part: the cost of its step, if one was reserved, else that of the whole."""
        step = page.line(int(part.body["step"])) if "step" in part.body else None
        return (self.cost, self.whole) if step is None else (read_amount(self._genuine(step).body["inner"]), "")

    def _genuine(self, line: Line) -> Line:
        """Refuse an entry that was edited: it is shown to nobody, and pays for nothing."""
        if not line.is_genuine:
            raise LedgerError(self._ledger._edited(line.number))  # noqa: SLF001 - a ledger's own part
        return line

    def _spent(self, page: Page) -> Cost:
        return read_sums(page.sums(*steps_of(self._number)), units_of(self.cost))

    def _left(self, page: Page) -> Amount:
        return self._ledger._limits.told(units_of(self.cost) - self._spent(page))  # noqa: SLF001 - a ledger's own part

    def _holds(self, page: Page, cost: Amount) -> bool:
        """Whether *every* certificate of the session holds with a step: the ledger may rest on any one of them."""
        return units_of(self.cost).covers(self._spent(page) + units_of(cost))

    def _count(self, page: Page) -> int:
        return int(page.fact(f"parts {self._number}") or 0)

    def _write(self, kind: str, bodies: Sequence[Mapping[str, Any]], state: bytes | None) -> str:
        """Write entries of the holder, the last with the seal of the state that belongs to them."""
        self._require_open()
        if state is not None and not isinstance(state, bytes):
            msg = f"state is of type {type(state).__name__}; it must be bytes."
            raise ParameterError(msg)
        written: list[str] = []
        try:
            self._keep(kind, bodies, state, written)
        except BaseException:
            if written:  # the ledger alone knows whether it is kept: who goes on with an older state draws twice
                self.leave()
            raise
        return written[0]

    def _keep(self, kind: str, bodies: Sequence[Mapping[str, Any]], state: bytes | None, written: list[str]) -> None:
        """Keep entries and state durably; `written` says when it is too late to refuse them."""
        number, vault, head = self._number, self._ledger._vault, None  # noqa: SLF001 - a ledger's own part
        with self._ledger._page(write=True) as page:  # noqa: SLF001 - as above
            self._require_holder(page, kind, len(bodies))
            extra: dict[str, object] = {}
            if state is not None:
                extra["seal"], content = sealed(self._key, state)
                vault.put(page, number, str(extra["seal"]), content)
            for place, body in enumerate(bodies):
                if "step" in body:
                    self._require_step(page, body)
                whole = {**body, "reservation": number, "fence": self._fence}
                last = place == len(bodies) - 1
                head = self._ledger._append(page, Draft.of(kind, {**whole, **extra} if last else whole))  # noqa: SLF001
            count = self._count(page)
            written.append(str(head))
        self._forget_sources(count, {int(body["step"]) for body in bodies if "step" in body})
        if state is not None:
            self._state = state
        if state is not None or kind == "closed":
            vault.settle(number, str(extra.get("seal", "")))

    def _require_step(self, page: Page, body: Mapping[str, Any]) -> None:
        """Refuse an answer to what is no open step of this session."""
        if self._open_step(page, body["step"]).question != body["question"]:
            raise ParameterError(_no_step(body["step"]))

    def _open_step(self, page: Page, number: int) -> Line:
        """Give the entry of a step that was reserved here and has no answer yet."""
        line = page.line(number)
        if line is None or (line.kind, line.reservation) != ("step", self._number):
            raise ParameterError(_no_step(number))
        if page.fact(f"answered {line.number}") is not None:
            msg = f"step {line.number} has its answer already; a cost pays for one. Reserve again."
            raise ParameterError(msg)
        return line

    def _require_open(self) -> None:
        if self._lease is None or self._process != os.getpid():
            msg = "the session was left here, or belongs to the process that opened it; open it again."
            raise LedgerError(msg)

    def _require_key(self) -> None:
        if not self._key:
            msg = f"the session of entry {self._number} was closed, and its bits are forgotten. Open a new one."
            raise LedgerError(msg)

    def _require_holder(self, page: Page, kind: str, parts: int = 0) -> None:
        """Refuse a holder whose session was taken over, and in a session that is over everything but its closing."""
        why = self._ended(page)
        if why and (kind != "closed" or self._is_closed(page)):
            msg = f"the session of entry {self._number} {why}; nothing was written. Open a new one under another name."
            raise LedgerError(msg)
        if page.fact(f"lease {self._number}") != str(self._fence):
            msg = "somebody else took the session over; nothing was written. Open it again to go on."
            raise LedgerError(msg)
        most = self._opened.body.get("most_parts")
        if kind == "part" and most is not None and self._count(page) + parts > most:
            msg = f"{parts} parts are too many; nothing was written. {most - self._count(page)} of {most} are left."
            raise ParameterError(msg)

    def _is_closed(self, page: Page) -> bool:
        return page.fact(f"closed {self._number}") is not None

    def _ended(self, page: Page) -> str:
        body = self._opened.body
        if self._is_closed(page):
            return "was closed"
        state = page.state()
        if (
            "until" in body and max(now(), "" if state is None else state.time) > body["until"]
        ):  # clocks may be set back
            return f"expired at {body['until']}"
        if "most_parts" in body and self._count(page) >= body["most_parts"]:
            return f"is over: it has its {body['most_parts']} parts"
        return ""


def _refuse_key(entry: Entry) -> None:
    """Refuse a key where a name does its work."""
    if entry.key:
        msg = (
            f"key is {shown(entry.key)}; sessions and their steps have none: their names find them again. Leave it out."
        )
        raise ParameterError(msg)


def _no_step(number: int) -> str:
    return f"entry {number} is no step of this session; reserve first."


HELD: WeakKeyDictionary[Ledger, WeakValueDictionary[int, Session]] = WeakKeyDictionary()
"""The sessions that this program opened last, by ledger and number, for as long as somebody has them."""


def _ends(most_parts: int | None, until: dt.datetime | None) -> dict[str, object]:
    """When a session ends by itself, as its first entry says it."""
    ends: dict[str, object] = {"session": True}
    if most_parts is not None:
        ends["most_parts"] = integer(most_parts, name="most_parts", least=1, most=2**62)
    if until is not None:
        if not isinstance(until, dt.datetime) or until.tzinfo is None:
            msg = f"until is {shown(until)}; it must be a datetime with a time zone."
            raise ParameterError(msg)
        try:
            ends["until"] = f"{until.astimezone(dt.UTC).isoformat(timespec='microseconds')[:26]}Z"
        except OverflowError:
            msg = f"until is {shown(until)}; in UTC it is beyond the years 1 to 9999."
            raise ParameterError(msg) from None
    return ends


def _require_same(opened: Line | None, draft: Draft) -> None:
    """Refuse to go on under another cost or with other details than the session was opened with."""
    changed = [
        name for name in sorted({*draft.body, *(opened.body if opened else ())}) if _differs(opened, draft, name)
    ]
    if changed:
        msg = (
            f"the session of this name was opened with other {', '.join(changed)}; nothing was spent. Open it as it "
            "was, or begin one under another name."
        )
        raise ParameterError(msg)


_MAY_CHANGE = frozenset({"asked", "promise", "policy", "version", "verified"})
"""Words and circumstances; what the session is lies in the rest."""


def _differs(opened: Line | None, draft: Draft, name: str) -> bool:
    was = None if opened is None else opened.body.get(name)
    return name not in _MAY_CHANGE and canonical(was) != canonical(draft.body.get(name))
