"""Synthetic tables of a database, and of data frames: what `Database.synthesize` gives."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.engines.bounded_rows import BoundedRows
from discreet.engines.engine import Snapshot
from discreet.errors import EngineError, LedgerError, ParameterError, QueryRefused
from discreet.exact import shown
from discreet.ledgers import Entry, Session
from discreet.ledgers.charging import charged
from discreet.ledgers.lending import require_paid
from discreet.ledgers.pricing import price
from discreet.mechanisms.release import Release
from discreet.methods.synthesis.domain import BINS, Domain
from discreet.methods.synthesis.promise import MEMORY, Synthesis
from discreet.methods.synthesis.running import Run, synthesized
from discreet.methods.workloads.axes import Axis
from discreet.methods.workloads.compiled import Compiled, Statement, asked
from discreet.plans import plan_sql
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.engines import Engine
    from discreet.exact import Number
    from discreet.ledgers import Ledger
    from discreet.methods.synthesis.model import SyntheticModel
    from discreet.methods.synthesis.running import Watch
    from discreet.plans import Plan
    from discreet.privacy.relations import Relation
    from discreet.tables import Column, Policy

__all__ = ["Asker", "load", "save", "synthesize", "synthesize_rows"]


class Asker(Protocol):
    """A database, as far as a synthesizer needs one.

    >>> from discreet.database import Database
    >>> hasattr(Database, "table")
    True
    """

    @property
    def policy(self) -> Policy:
        """What is public about the data."""

    @property
    def ledger(self) -> Ledger:
        """What pays."""


def synthesize(  # noqa: PLR0913 - each is a public fact of the release
    asker: Asker,
    engine: Engine,
    who: tuple[str | None, str | None],
    table: str,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    method: str = "aim",
    columns: Iterable[str] | None = None,
    bins: int | Mapping[str, int] = BINS,
    forbidden: Iterable[Mapping[str, object]] = (),
    memory: SupportsIndex = MEMORY,
    name: str = "synthesis",
    watch: Watch = lambda *_: None,
) -> Release[SyntheticModel]:
    """Synthesize a table for an analyst and a purpose; see `Database.synthesize`."""
    policy, ledger = asker.policy, asker.ledger
    if not isinstance(name, str) or not name.strip():
        msg = f"name is {shown(name)}; it must be a text by which the run is found again."
        raise ParameterError(msg)
    plan = plan_sql(policy, _counting(policy, table), verified=ledger.verified)
    domain = _domain(plan, columns, bins)
    counted = _countable(plan, domain, engine, pairs=method != "independent")
    given = policy.release_delta if delta is None and rho is None else delta
    if epsilon is not None and not given:
        msg = (
            "synthesis adds Gaussian noise, which needs a delta, and the policy has none. Give delta=1e-9, if the "
            "policy's budget has one; a pure budget cannot pay for it."
        )
        raise ParameterError(msg)
    promise = Synthesis(
        domain,
        method=method,
        epsilon=epsilon,
        delta=given,
        rho=rho,
        rows_per_unit=counted.rows,
        memory=memory,
        forbidden=forbidden,
        neighbors=policy.budget.neighbors,
    )
    if not ledger.may(who[0], "release", plan.tables):
        msg = f"analyst {shown(who[0])} may not release anything about {table}; ask the owner of the policy."
        raise ParameterError(msg)
    entry = Entry(
        f"{name}: {method} of {table}",
        plan.tables,
        *who,
        "session",
        asked=f"synthetic rows like those of {table}",
        promise=promise.promise,
        policy=policy.facts_hash,
        version=policy.version,
        details={"synthesis": promise.record()},
        verified=plan.verified,
    )
    if not engine.alive():
        msg = "the source does not answer; nothing was spent. Open it again."
        raise EngineError(msg)
    return _kept(promise, ledger, entry, counted, watch)


def _kept(promise: Synthesis, ledger: Ledger, entry: Entry, counted: _Counted, watch: Watch) -> Release[SyntheticModel]:
    """Run as a session: the whole cost at its opening, and each part in the ledger before the next one is chosen.

    Who opens it again after a crash goes on behind the last part that was kept; once it is over, the model is shown
    again for nothing.
    """
    with Session.open(ledger, price(ledger, promise), entry) as session:
        parts = session.releases
        if parts and isinstance(parts[-1].mechanism, Synthesis):
            return parts[-1]
        if why := session.over:
            msg = f"the session of entry {session.number} {why}. Begin another under a new name=."
            raise LedgerError(msg)
        counted.pay(ledger, session, entry)
        groups = [list(group) for _, group in itertools.groupby(parts, lambda part: part.details["group"])]
        run = Run(promise, counted, session.bits, lambda new: _append(session, new), groups, watch)
        released = Release(synthesized(run), promise)
        session.append([released])
        shown_ = charged(released, session.cost)
        session.close()
    return shown_


def _append(session: Session, parts: list[Release[Any]]) -> None:
    session.append(parts)


def _counting(policy: Policy, name: str) -> str:
    """Write the question that counts all rows of a private table."""
    table = policy.table(name)
    if not table.private:
        msg = f"{shown(name)} is public: read it as it is."
        raise ParameterError(msg)
    quoted = table.name.replace('"', '""')
    return f'SELECT COUNT(*) AS n FROM "{quoted}"'  # noqa: S608 - a name of the policy, quoted, in a plan


def _domain(plan: Plan, columns: Iterable[str] | None, bins: int | Mapping[str, int]) -> Domain:
    """Take the columns that are named, or all that have keys or two bounds."""
    schema = plan.request.relation.schema
    if columns is None:
        usable = {name: facts for name, facts in schema.items() if not facts.unit and _usable(facts)}
    else:
        named = [] if isinstance(columns, str) else list(columns)
        if not named:
            msg = f"columns is {shown(columns)}; it must be a list of names, such as ['age', 'ward']."
            raise ParameterError(msg)
        if lost := [name for name in named if name not in schema or schema[name].unit]:
            msg = f"columns names {shown(lost[0])}; there are {', '.join(n for n in schema if not schema[n].unit)}."
            raise ParameterError(msg)
        usable = {name: schema[name] for name in named}
    return Domain.of(usable, bins)


def _usable(facts: Any) -> bool:  # noqa: ANN401 - facts of a column
    from discreet.plans.extract import code_book

    return code_book(facts) is not None or (facts.bounds.lower is not None and facts.bounds.upper is not None)


def _countable(plan: Plan, domain: Domain, engine: Engine, *, pairs: bool) -> _Counted:
    """Prepare the widest marginals that may be asked for, so that what is too wide is refused before it costs."""
    widest = sorted(range(len(domain.sizes)), key=lambda place: -domain.sizes[place])[: 2 if pairs else 1]
    try:
        counted = _Counted(plan, domain, engine)
        counted.prepare([(place,) for place in range(len(domain.sizes))] + [tuple(sorted(widest))])
    except QueryRefused:
        told = " and ".join(f"{domain.names[place]} ({domain.sizes[place]} cells)" for place in widest)
        msg = (
            f"{told} cannot be counted in one statement. Take fewer bins for them, list the frequent keys and the rest "
            "as other, or leave one out: columns=[…]."
        )
        raise ParameterError(msg) from None
    return counted


class _Counted:
    """Marginals that an engine counts, in one snapshot as far as they are asked for together."""

    def __init__(self, plan: Plan, domain: Domain, engine: Engine) -> None:
        axes = tuple(
            Axis(one.name, one.expression(), tuple(range(one.size)), np.arange(one.size), {}, {}, rest=False)
            for one in domain.attributes
        )
        self._compiled = Compiled((Statement("", ("n",), (asked(plan),)),), axes)
        self._engine, self._domain = engine, domain
        self._known: dict[tuple[int, ...], NDArray[np.int64]] = {}
        self._paid: Callable[[], None] | None = None

    @property
    def rows(self) -> int:
        """The most rows of one unit."""
        return self._compiled.rows

    def prepare(self, parts: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], Any]:
        """Write the statements that count marginals, or refuse them; nothing is read."""
        return {part: self._engine.prepare(one.aggregate) for part, one in self._compiled.needed(parts).items()}

    def pay(self, ledger: Ledger, session: Session, entry: Entry) -> None:
        """From now on the engine may be asked, as long as the session is held."""
        self._paid = lambda: require_paid(ledger, session, entry.tables, entry.verified)

    def count(self, parts: Iterable[tuple[int, ...]]) -> None:
        """Count marginals together that will be asked for."""
        if self._paid is None:
            msg = "nothing was paid; open a session first."
            raise LedgerError(msg)
        self._paid()
        missing = [part for part in dict.fromkeys(parts) if part not in self._known]
        if not missing:
            return
        snapshot = Snapshot(self._engine)
        counts = {part: snapshot.add(one) for part, one in self.prepare(missing).items()}
        margins = self._compiled.margins(missing, counts)
        self._known |= {part: margins.marginal(part) for part in missing}

    def marginal(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        """Count all combinations of the columns at these places."""
        self.count([places])
        return self._known[places]


def synthesize_rows(  # noqa: PLR0913 - each is a public fact of the release
    table: Any,  # noqa: ANN401 - a mapping of columns, or a data frame
    columns: Iterable[Column],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    method: str = "aim",
    units: object = None,
    rows_per_unit: int = 1,
    bins: int | Mapping[str, int] = BINS,
    forbidden: Iterable[Mapping[str, object]] = (),
    memory: SupportsIndex = MEMORY,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[SyntheticModel]:
    """Synthesize rows that the caller holds, such as a data frame, with declared columns; nothing is charged.

    What the columns may hold is declared and never read from the rows: values that are not listed become "other",
    numbers are clamped to their bounds. `units` says whose each row is; of each at most `rows_per_unit` rows count.

    >>> from discreet.tables import Column
    >>> columns = [Column("ward", keys=["a", "b"]), Column("age", lower=0, upper=99)]
    >>> rows = {"ward": ["a"] * 900 + ["b"] * 100, "age": [33] * 1000}
    >>> model = synthesize_rows(rows, columns, epsilon=60, delta=1e-6, method="mst").value
    >>> model.domain.names, len(model.sample(5)["age"])
    (('ward', 'age'), 5)
    """
    declared = list(columns)
    domain = Domain.declared(declared, bins=bins)
    promise = Synthesis(
        domain,
        method=method,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        rows_per_unit=rows_per_unit,
        memory=memory,
        forbidden=forbidden,
        neighbors=neighbors,
    )
    named = {name: table[name] for name in domain.names if _has(table, name)}
    rows = BoundedRows.of(named, declared, units=units, rows_per_unit=rows_per_unit, neighbors=neighbors)
    return promise.release(domain.coded(rows))


def _has(table: Any, name: str) -> bool:  # noqa: ANN401 - as above
    there = list(table) if isinstance(table, Mapping) else [str(each) for each in getattr(table, "columns", ())]
    return name in there


def save(released: Release[SyntheticModel], path: str | Path) -> None:
    """Write a released model to a new file, as JSON: with its promise and what it was charged.

    >>> import pathlib, tempfile
    >>> from discreet.tables import Column
    >>> released = synthesize_rows({"ward": ["a"] * 90}, [Column("ward", keys=["a", "b"])], rho=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(released, pathlib.Path(folder) / "model.json")
    ...     load(pathlib.Path(folder) / "model.json") == released
    True
    """
    with Path(path).open("x", encoding="utf-8") as file:
        file.write(released.to_json())


def load(path: str | Path) -> Release[SyntheticModel]:
    """Read what `save` wrote.

    >>> load("/nowhere/model.json")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: '/nowhere/model.json' cannot be read: No such file or directory.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        msg = f"{str(path)!r} cannot be read: {error.strerror}."
        raise ParameterError(msg) from None
    released = Release.from_json(text)
    if not isinstance(released.mechanism, Synthesis):
        msg = f"{str(path)!r} is a release of {type(released.mechanism).__name__}, and no synthetic table."
        raise ParameterError(msg)
    return released
