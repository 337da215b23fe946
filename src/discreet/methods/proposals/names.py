"""What names of columns say by themselves, whatever the rows are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Usual", "like_a_record", "person_in", "usual"]

_PERSON = re.compile(
    r"^(patient|person|people|user|customer|client|member|student|pupil|employee|subject|citizen|household|account|"
    r"participant|respondent|resident|taxpayer|voter|driver|passenger|device)s?"
    r"[_ -]?(id|no|nr|num|number|key|uuid|code)$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*")
_DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T].*)?")
_MISSING = {"", "?", "na", "n/a", "nan", "null", "none", "true", "false"}


@dataclass(frozen=True, slots=True)
class Usual:
    """What a usual name says: facts in the form of a policy, why, and whether they leave nothing to ask the rows.

    >>> Usual("{ lower = 1, upper = 12 }", "the calendar").whole
    True
    """

    facts: str
    why: str
    whole: bool = True

    @property
    def kind(self) -> str:
        """The SQL type that the facts go with.

        >>> Usual('{ type = "text" }', "leading zeros count", whole=False).kind
        'VARCHAR'
        """
        kinds = {"text": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMP"}
        return next((kind for word, kind in kinds.items() if f'"{word}"' in self.facts), "BIGINT")


_WORDS = (
    (
        r"age|age_?in_?years",
        Usual("{ lower = 0, upper = 120 }", "years of a life; narrower if the law or your register says so"),
    ),
    (
        r"((birth|death|school|study|start|end)_?)?year(_?of_?birth)?|yob",
        Usual("{ lower = 1900, upper = 2100 }", "the calendar; narrower if you know more"),
    ),
    (r"month", Usual("{ lower = 1, upper = 12 }", "the calendar")),
    (r"week", Usual("{ lower = 1, upper = 53 }", "the calendar")),
    (r"week_?day|day_?of_?week", Usual("{ lower = 0, upper = 7 }", "the calendar")),
    (r"quarter", Usual("{ lower = 1, upper = 4 }", "the calendar")),
    (r"hour", Usual("{ lower = 0, upper = 23 }", "the clock")),
    (r"minute|second", Usual("{ lower = 0, upper = 59 }", "the clock")),
    (r"lat(itude)?", Usual("{ lower = -90.0, upper = 90.0 }", "the globe; narrower for a country")),
    (r"lon(gitude)?|lng", Usual("{ lower = -180.0, upper = 180.0 }", "the globe; narrower for a country")),
    (r"percent(age)?|pct", Usual("{ lower = 0.0, upper = 100.0 }", "a percentage")),
    (
        r"zip(_?code)?|post(al)?_?code|plz",
        Usual('{ type = "text" }', "digits that are no number; keys = […] to group by known ones", whole=False),
    ),
    (
        r"sex|gender|race|ethnicity|nationality|country|region|state|province|marital_?status|education|occupation",
        Usual('{ type = "text" }', "keys = […] to group by known ones", whole=False),
    ),
    (
        r"(\w+_)?(e-?mail|phone|address|comments?|notes?)",
        Usual('{ type = "text" }', "of use in conditions; its values are nobody's keys"),
    ),
    (
        r"(\w+_)?(date|day)",
        Usual('{ type = "date" }', "bounds make dates countable: lower = 2020-01-01, upper = 2029-12-31", whole=False),
    ),
    (r"(\w+_)?(time|timestamp|at)", Usual('{ type = "timestamp" }', "bounds as for dates", whole=False)),
)


def usual(name: str) -> Usual | None:
    """Say what a column is by a name that people use for nothing else; None for other names.

    >>> usual("Age").facts, usual("zip_code").kind, usual("ward")
    ('{ lower = 0, upper = 120 }', 'VARCHAR', None)
    """
    return next((meaning for pattern, meaning in _WORDS if re.fullmatch(pattern, name, re.IGNORECASE)), None)


def person_in(columns: Iterable[str]) -> str | None:
    """Name the first column that sounds like the number of a person.

    >>> person_in(["ward", "patient_id"]), person_in(["ward"])
    ('patient_id', None)
    """
    return next((name for name in columns if _PERSON.match(name)), None)


def like_a_record(tables: Mapping[str, Iterable[str]]) -> str | None:
    """Name the first table whose column names look like the values of a record: numbers, dates, "?", nothing.

    Years may well be names (2019, 2020, …), but not for all to see unasked: if the first line is a person, the policy
    would publish it.

    >>> like_a_record({"visits": ["patient_id", "ward"], "adult": ["39", "State-gov", "Never-married"]})
    'adult'
    """
    return next((table for table, names in tables.items() if any(_is_value(name) for name in names)), None)


def _is_value(name: str) -> bool:
    stripped = name.strip()
    return (
        stripped.lower() in _MISSING
        or bool(_NUMBER.fullmatch(stripped) or _DATE.fullmatch(stripped))
        or "@" in stripped
    )
