"""The public facts about a dataset, and what may ever be spent on it."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, PolicyError
from discreet.exact import integer, rational, shown
from discreet.privacy import Budget, NeighborRelation, Unit
from discreet.privacy.costs import Certificates
from discreet.tables.kinds import Kind, read_value
from discreet.tables.nearest import hint
from discreet.tables.reading import json_facts, located, toml_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from discreet.exact import Number
    from discreet.privacy.relations import Relation
    from discreet.tables.analyst import Analyst
    from discreet.tables.column import Column
    from discreet.tables.purpose import Purpose
    from discreet.tables.table import Table

__all__ = ["FILTERS", "Policy"]

FILTERS = ("pure", "approximate", "zcdp", "best")
_FORM = 1
_LARGEST = 10**6  # ledgers count the losses of a budget in whole units that fit into 64 bits
_MOST_GROUPS = 100_000
_SECONDS = 3600


@dataclass(frozen=True, init=False)
class Policy:
    """What a data owner states once: tables, units, bounds, keys, budget, rights.

    The facts are public: they may be printed, hashed and sent to analysts. They are enforced, not believed. Two
    policies that state the same facts are equal and have the same `hash`; where the data and the ledger lie, and how
    many `seconds` a question may take, shape no answer and do not count.

    >>> from discreet.tables import Column, Table
    >>> visits = Table("visits", unit="patient_id", rows_per_unit=20, columns=[Column("age", lower=0, upper=120)])
    >>> policy = Policy([visits], epsilon=3, delta=1e-6, dataset="hospital")
    >>> policy.filter, policy.release_delta == policy.budget.delta / 1000, policy.table("visits").rows_per_unit
    ('best', True, 20)
    >>> Policy.from_json(policy.to_json()) == policy
    True
    """

    tables: tuple[Table, ...]
    budget: Budget
    filter: str
    release_delta: Fraction
    delta_conversion: Fraction
    dataset: str
    version: str
    today: dt.date | None
    """The day that CURRENT_DATE means, for this version of the data; without one no question may ask for it."""
    population: tuple[tuple[str, int], ...]
    analysts: tuple[Analyst, ...]
    purposes: tuple[Purpose, ...]
    most_groups: int
    seconds: int = field(compare=False)
    source: str | None = field(compare=False)
    ledger: str | None = field(compare=False)
    ledger_group: bool = field(compare=False)
    filter_stated: bool = field(compare=False)
    """Whether the filter was chosen, or is the default of today; a ledger that exists keeps its own."""

    def __init__(  # noqa: PLR0913 - each is a fact of its own
        self,
        tables: Iterable[Table],
        *,
        epsilon: Number,
        delta: Number = 0,
        release_delta: Number | None = None,
        filter: str | None = None,  # noqa: A002 - the word of policies
        delta_conversion: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
        dataset: str = "dataset",
        version: str = "1",
        today: dt.date | str | None = None,
        population: Mapping[str, int] = MappingProxyType({}),
        analysts: Iterable[Analyst] = (),
        purposes: Iterable[Purpose] = (),
        most_groups: int = _MOST_GROUPS,
        seconds: int = _SECONDS,
        source: str | None = None,
        ledger: str | None = None,
        ledger_group: bool = False,
    ) -> None:
        try:
            budget = Budget(epsilon, delta, neighbors=neighbors)
        except ParameterError as error:
            msg = f"budget.{error}"  # such messages begin with the name
            raise PolicyError(msg) from None
        if budget.epsilon > _LARGEST:
            msg = f"budget.epsilon is {shown(epsilon)}; it must be at most {_LARGEST}: beyond, it promises nothing."
            raise PolicyError(msg)
        known = _tables(tables)
        if neighbors.unit is not Unit.PERSON and any(table.private for table in known):
            msg = (
                f"budget.neighbors is {neighbors.value!r}; whom a policy protects its tables say (unit). Write "
                f"{neighbors.relation.value!r}; a ledger for another unit is one of a policy without private tables."
            )
            raise PolicyError(msg)
        facts: dict[str, object] = {
            "tables": known,
            "budget": budget,
            "filter": _filter(filter, budget),
            "release_delta": _part("release_delta", release_delta, budget, Fraction(1, 1000)),
            "delta_conversion": _part("delta_conversion", delta_conversion, budget, Fraction(1, 2)),
            "dataset": _text("dataset.id", dataset),
            "version": _text("dataset.version", version),
            "today": None if today is None else _day("dataset.today", today),
            "population": _population(population, known),
            "analysts": _analysts(analysts, known),
            "purposes": _purposes(purposes),
            "most_groups": _whole("limits.groups", most_groups, least=1),
            "seconds": _whole("limits.seconds", seconds, least=1, most=10**6),
            "source": None if source is None else _text("source.url", source),
            "ledger": None if ledger is None else _text("ledger.url", ledger),
            "ledger_group": _flag("ledger.group", ledger_group),
            "filter_stated": filter is not None,
        }
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)
        _require_kept_deltas(self)

    @cached_property
    def certificates(self) -> Certificates:
        """How a budget with `filter = "best"` is kept, by a public rule; a ledger keeps those of its creation.

        Costs and choices go by them, whatever the budget becomes; limits are those of the budget of today.
        """
        return Certificates.of(self.budget)

    def kept_by(self, filter: str, certificates: Certificates | None) -> Policy:  # noqa: A002 - the word of policies
        """The same policy in a ledger that was created so: with a filter, if this states none, and certificates."""
        other = copy(self)
        if not self.filter_stated and filter in (FILTERS[1:] if self.budget.delta else FILTERS[:2]):
            other.__dict__.pop("hash", None)
            object.__setattr__(other, "filter", filter)
        if certificates is not None:
            object.__setattr__(other, "certificates", certificates)
        return other

    def table(self, name: str) -> Table:
        """Return a table by its name."""
        for table in self.tables:
            if table.name == name:
                return table
        names = [table.name for table in self.tables]
        msg = f"there is no table {shown(name)}; the tables are {', '.join(names)}.{hint(str(name), names)}"
        raise ParameterError(msg)

    def with_columns(self, columns: Mapping[str, Iterable[Column]]) -> Policy:
        """The same policy, and the same `hash`, with the columns of public tables that state none."""
        completed = copy(self)
        tables = (table.with_columns(columns[table.name]) if table.name in columns else table for table in self.tables)
        object.__setattr__(completed, "tables", tuple(tables))
        return completed

    def may(self, analyst: str | None, action: str, tables: Iterable[str]) -> bool:
        """Tell whether somebody may do something with tables; a policy that names no analysts lets everybody.

        >>> from discreet.tables import Analyst
        >>> Policy([], epsilon=1, analysts=[Analyst("ann")]).may("bob", "release", [])
        False
        """
        if not self.analysts:
            return True
        return any(holder.name == analyst and holder.allows(action, tables) for holder in self.analysts)

    def serves(self, purpose: str | None) -> bool:
        """Tell whether a purpose is one of the policy's; a policy that names none serves all.

        >>> from discreet.tables import Purpose
        >>> Policy([], epsilon=1, purposes=[Purpose("research", epsilon="0.5")]).serves(None)
        False
        """
        return not self.purposes or any(allowed.name == purpose for allowed in self.purposes)

    def to_json(self) -> str:
        """Write the facts in canonical form: equal policies give equal texts."""
        return json.dumps(self._plain(), sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the canonical form, in hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def facts_hash(self) -> str:
        """The SHA-256 of what shapes answers: not of who may ask, nor of how much may be spent.

        >>> [Policy([], epsilon=epsilon).facts_hash == Policy([], epsilon=1).facts_hash for epsilon in (2, 3)]
        [True, True]
        """
        facts = self._plain()
        for grant in ("budget", "analysts", "purposes"):
            del facts[grant]
        facts["neighbors"] = self.budget.neighbors.value
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def _plain(self) -> dict[str, object]:
        return {
            "form": _FORM,
            "dataset": {"id": self.dataset, "version": self.version}
            | ({} if self.today is None else {"today": self.today.isoformat()}),
            "budget": {
                "epsilon": str(self.budget.epsilon),
                "delta": str(self.budget.delta),
                "neighbors": self.budget.neighbors.value,
                "filter": self.filter,
                "release_delta": str(self.release_delta),
                "delta_conversion": str(self.delta_conversion),
            },
            "population": dict(self.population),
            "limits": {"groups": self.most_groups},
            "tables": {table.name: table.describe() for table in self.tables},
            "analysts": {analyst.name: analyst.describe() for analyst in self.analysts},
            "purposes": {purpose.name: purpose.describe() for purpose in self.purposes},
        }

    @staticmethod
    def from_json(text: str) -> Policy:
        """Read what `to_json` wrote."""
        facts, lines = json_facts(text)
        return located(lambda: Policy(**facts), "budget", lines, by_key=True)

    @staticmethod
    def from_toml(text: str, *, dataset: str = "dataset") -> Policy:
        r"""Read a policy from TOML text; what is wrong is named with its line.

        >>> text = '[budget]\nepsilon = 3\n[tables.t]\nunit = "id"\nrows_per_unit = 2'
        >>> Policy.from_toml(text).table("t").unit_kind
        'id'
        """
        facts, lines = toml_facts(text)
        return located(lambda: Policy(**{"dataset": dataset} | facts), "budget", lines, by_key=True)

    @staticmethod
    def read(path: str | Path) -> Policy:
        r"""Read a policy file; the dataset is named after the file unless the policy says otherwise.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "hospital.toml"
        ...     _ = file.write_text('[budget]\nepsilon = 1')
        ...     Policy.read(file).dataset
        'hospital'
        """
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            msg = f"the policy {file} cannot be read: {type(error).__name__}. It must be a TOML file in UTF-8."
            raise PolicyError(msg) from None
        return Policy.from_toml(text, dataset=file.stem)


def _flag(name: str, given: object) -> bool:
    if not isinstance(given, bool):
        msg = f"{name} is {shown(given)}; it must be true or false."
        raise PolicyError(msg)
    return given


def _text(name: str, given: object) -> str:
    if not isinstance(given, str) or not given or not given.isprintable():
        msg = f"{name} is {shown(given)}; it must be a text of printable characters."
        raise PolicyError(msg)
    return given


def _day(name: str, given: object) -> dt.date:
    try:
        read = read_value(given, Kind.DATE, name=name)
    except ParameterError as error:
        raise PolicyError(str(error)) from None
    assert isinstance(read, dt.date)  # noqa: S101 - by its kind
    return read


def _whole(name: str, given: int, *, least: int, most: int | None = None) -> int:
    try:
        return integer(given, name=name, least=least, most=most)
    except ParameterError as error:
        raise PolicyError(str(error)) from None


def _filter(given: str | None, budget: Budget) -> str:
    """Choose the filter: the best of several certificates if there is a delta, else pure."""
    name = given if given is not None else "best" if budget.delta else "pure"
    if name not in FILTERS:
        msg = f"budget.filter is {shown(given)}; it must be one of {', '.join(FILTERS)}.{hint(str(given), FILTERS)}"
        raise PolicyError(msg)
    if name == "pure" and budget.delta:
        msg = "budget.filter is 'pure' and delta is above 0; a pure filter has no use for delta. Remove one of the two."
        raise PolicyError(msg)
    if name in {"zcdp", "best"} and not budget.delta:
        msg = f"budget.filter is {name!r} and delta is 0; it turns into (epsilon, delta) only with a delta. Give one."
        raise PolicyError(msg)
    return name


def _part(name: str, given: Number | None, budget: Budget, share: Fraction) -> Fraction:
    """Read a part of delta; by default a fixed share of it."""
    if given is None:
        return budget.delta * share
    try:
        part = rational(given, name=f"budget.{name}")
    except ParameterError as error:
        raise PolicyError(str(error)) from None
    if not 0 <= part <= budget.delta:
        msg = f"budget.{name} is {shown(given)}; it must lie between 0 and delta, {budget.delta}."
        raise PolicyError(msg)
    return part


def _tables(given: Iterable[Table]) -> tuple[Table, ...]:
    """Collect the tables in the order of their names; units of one kind must look alike."""
    tables = sorted(given, key=lambda table: table.name)
    names = [table.name.casefold() for table in tables]
    for place, name in enumerate(names):
        if name in names[:place]:
            msg = f"two tables are named {tables[place].name!r} (letters' case does not tell names apart)."
            raise PolicyError(msg)
    kinds: dict[str, tuple[str, object]] = {}
    for table in tables:
        if table.unit is not None and table.unit_kind is not None:
            kind = table.column(table.unit).kind
            other = kinds.setdefault(table.unit_kind, (table.name, kind))
            if other[1] is not kind:
                msg = (
                    f"units of kind {table.unit_kind!r} are of type {kind.value} in {table.name} and of another in "
                    f"{other[0]}; declare the unit columns with one type, or with different unit_kind."
                )
                raise PolicyError(msg)
    for table in tables:
        if table.row_is_unit and table.unit_kind in kinds:  # nothing tells whose row it is: a union has no unit
            msg = (
                f"{table.name} says row_is_unit and is of the kind {table.unit_kind!r}, whose units have a column in "
                f"{kinds[table.unit_kind or ''][0]}; name the unit's column, or give {table.name} a unit_kind of its "
                "own."
            )
            raise PolicyError(msg)
    return tuple(tables)


def _population(given: Mapping[str, int], tables: tuple[Table, ...]) -> tuple[tuple[str, int], ...]:
    """Read the public numbers of units, per kind."""
    kinds = sorted({table.unit_kind for table in tables if table.unit_kind is not None})
    for kind in given:
        if kind not in kinds:
            msg = f"population.{kind} is no kind of unit; the kinds are {', '.join(kinds)}.{hint(kind, kinds)}"
            raise PolicyError(msg)
    return tuple((kind, _whole(f"population.{kind}", size, least=0)) for kind, size in sorted(given.items()))


def _analysts(given: Iterable[Analyst], tables: tuple[Table, ...]) -> tuple[Analyst, ...]:
    """Collect the analysts; their tables must exist."""
    analysts = sorted(given, key=lambda analyst: analyst.name)
    names = [table.name for table in tables]
    for analyst in analysts:
        for name in analyst.tables or ():
            if name not in names:
                msg = f"analysts.{analyst.name}.tables holds {name!r}, which is no table.{hint(name, names)}"
                raise PolicyError(msg)
    if len({analyst.name for analyst in analysts}) < len(analysts):
        msg = "an analyst is named twice."
        raise PolicyError(msg)
    return tuple(analysts)


def _purposes(given: Iterable[Purpose]) -> tuple[Purpose, ...]:
    """Collect the purposes."""
    purposes = sorted(given, key=lambda purpose: purpose.name)
    if len({purpose.name for purpose in purposes}) < len(purposes):
        msg = "a purpose is named twice."
        raise PolicyError(msg)
    return tuple(purposes)


def _require_kept_deltas(policy: Policy) -> None:
    """Refuse a delta of an analyst or a purpose that the policy's filter cannot keep."""
    for kind, holders in (("analysts", policy.analysts), ("purposes", policy.purposes)):
        for holder in holders:
            name, delta = f"{kind}.{holder.name}.delta", holder.delta
            if delta is not None and delta >= 1:
                msg = f"{name} is {delta}; it must be below 1."
                raise PolicyError(msg)
            if policy.filter == "pure" and delta:
                msg = f"{name} is {delta}, but the budget is pure: it has no delta to spend. Leave it out."
                raise PolicyError(msg)
            if policy.filter == "zcdp" and delta == 0:
                msg = f"{name} is 0; zCDP turns into (epsilon, delta) only with a delta. Leave it out, or give one."
                raise PolicyError(msg)
