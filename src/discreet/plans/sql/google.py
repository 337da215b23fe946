"""The clause that Google's databases put a price in: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import rational
from discreet.plans.nodes import Scan
from discreet.plans.normal import Bounding
from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.plans.nodes import Node

__all__ = ["Options", "read_options", "require_unit"]

_CLAUSE = re.compile(r"\bWITH\s+(?:DIFFERENTIAL_PRIVACY|ANONYMIZATION)\s+OPTIONS\s*\(([^()']*)\)", re.IGNORECASE)
_OPTION = re.compile(r"\s*(\w+)\s*=\s*([\w.+-]+)\s*")
_NUMBER = r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?"
_ANON = re.compile(r"\bANON_(COUNT|SUM|AVG|VAR_POP|STDDEV_POP|PERCENTILE_CONT)\s*\(", re.IGNORECASE)
_CLAMPED = re.compile(rf"\(\s*([^(),']+?)\s+CLAMPED\s+BETWEEN\s+({_NUMBER})\s+AND\s+({_NUMBER})\s*\)", re.IGNORECASE)
_PER_ROW = re.compile(
    rf"\(\s*([^(),']+?)\s*,\s*contribution_bounds_per_row\s*=>\s*\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)\s*\)",
    re.IGNORECASE,
)
_COUNT_BOUNDS = re.compile(
    r"\b(COUNT\s*\(\s*(?:\*|[^(),']+?))\s*,\s*contribution_bounds_per_group\s*=>\s*\([^()']*\)\s*\)", re.IGNORECASE
)
_PRICES = ("epsilon", "delta")
_LIMITS = {"max_groups_contributed": "groups", "kappa": "groups", "max_rows_contributed": "rows"}
_OTHERS = ("privacy_unit_column",)


@dataclass(frozen=True, slots=True)
class Options:
    """What the clause says: the price that it names, limits per unit, and the column of the unit.

    The price is a remark: what is paid is what the release is given. The limits are those of the question.

    >>> Options(unit="patient_id").unit
    'patient_id'
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    groups: int | None = None
    rows: int | None = None
    unit: str | None = None

    @property
    def bounding(self) -> Bounding:
        """The limits as those of a question."""
        return Bounding(rows=self.rows, groups=self.groups)


def read_options(text: str) -> tuple[str, Options | None]:
    """Take the clause out of a statement; None where there is none, and the statement stays as it is.

    >>> text, options = read_options("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM t")
    >>> text, options.epsilon
    ('SELECT  COUNT(*) FROM t', Fraction(1, 1))
    """
    found = _CLAUSE.search(text)
    if found is None or text.count("'", 0, found.start()) % 2:  # within a text constant it is no clause
        return text, None
    if _CLAUSE.search(text, found.end()):
        refuse("OPTIONS", why="One SELECT has the clause, the outermost.", instead="the clause once.")
    plain = text[: found.start()] + text[found.end() :]
    plain = _ANON.sub(lambda match: f"{match[1]}(", plain)
    plain = _COUNT_BOUNDS.sub(lambda match: f"{match[1]})", plain)
    for pattern in (_CLAMPED, _PER_ROW):
        plain = pattern.sub(lambda match: f"(LEAST(GREATEST({match[1]}, {match[2]}), {match[3]}))", plain)
    return plain, _options(found[1])


def _options(text: str) -> Options:
    given: dict[str, object] = {}
    for part in text.split(","):
        option = _OPTION.fullmatch(part)
        if option is None:
            refuse("OPTIONS", why=f"{part.strip()[:40]} is not read.", instead="OPTIONS (epsilon = 1, delta = 1e-9)")
        name, value = option[1].lower(), option[2]
        if name in _OTHERS:
            given["unit"] = value
            continue
        if name not in (*_PRICES, *_LIMITS):
            known = ", ".join((*_PRICES, *_LIMITS, *_OTHERS))
            refuse(
                "OPTIONS", why=f"{name[:40]} is no option that is read.", instead=f"those of {known} that are meant."
            )
        try:
            number = rational(value, name=name)
        except ParameterError:
            refuse("OPTIONS", why=f"{name} is no number.", instead=f"{name} = 1")
        if name in _LIMITS and (number.denominator != 1 or number < 1):
            refuse("OPTIONS", why=f"{name} is no whole number from 1 on.", instead=f"{name} = 2")
        given[_LIMITS.get(name, name)] = int(number) if name in _LIMITS else number
    return Options(**given)  # type: ignore[arg-type]  # by their names


def require_unit(relation: Node, unit: str | None) -> None:
    """Refuse a clause that names another unit than the policy: what is protected is the owner's to say.

    >>> from discreet.tables import Table
    >>> require_unit(Scan(Table("visits", unit="patient_id")), "visit_id")
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: privacy_unit_column = visit_id: The unit of visits is patient_id. Write instead: \
privacy_unit_column = patient_id, or the clause without it.
    """
    for node in relation.walk():
        if isinstance(node, Scan) and node.private and unit is not None:
            own = node.table.unit or "the row"
            if own.casefold() != unit.rpartition(".")[2].casefold():
                why = f"The unit of {node.table.name} is {own}."
                instead = f"privacy_unit_column = {own}, or the clause without it."
                refuse(f"privacy_unit_column = {unit[:40]}", why=why, instead=instead)
