"""What classes of a published table tell of the people in them: homogeneity, background knowledge, two releases."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from discreet.checks.anonymity.measures import require_roles
from discreet.checks.attacks.outcome import Outcome
from discreet.engines.duckdb.classes import count_classes
from discreet.engines.duckdb.owned import OwnedTable
from discreet.errors import ParameterError
from discreet.exact import counted, integer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.checks.anonymity import Anonymized

__all__ = ["background_knowledge", "composition", "homogeneity"]


MOST_KNOWN = 100_000


def homogeneity(source: object, quasi: Sequence[str], sensitive: str) -> Outcome:
    """Guess of everybody the most frequent sensitive value of the class; where the class has one alone, for certain.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, "l-diversity", ACM TKDD 1(1), section 1: k-anonymity does
    not prevent it, whatever k is. Guessing is to say the most frequent value of the whole table.

    >>> import pyarrow as pa
    >>> ward = pa.table({"zip": ["130"] * 3 + ["148"] * 3, "ill": ["ulcer"] * 3 + ["flu", "flu", "cold"]})
    >>> print(homogeneity(ward, ["zip"], "ill"))
    homogeneity: 5 of 6 right (83.3 %); guessing gets 50.0 %; 3 rows for certain
    """
    return _disclosed("homogeneity", source, quasi, sensitive, known=0)


def background_knowledge(source: object, quasi: Sequence[str], sensitive: str, *, known: int = 1) -> Outcome:
    """Guess with `known` values ruled out beforehand, for each person those that help most.

    An attacker who knows of a person that she has not this or that illness is left with the other values of the class,
    and says the most frequent of them: so whoever has one of the `known` + 1 most frequent values of the class is told,
    and in a class with no more values everybody is, for certain. That is why l-diversity asks for l values
    (Machanavajjhala et al. 2007, section 1). Guessing is the same without the classes.

    >>> import pyarrow as pa
    >>> ward = pa.table({"zip": ["130"] * 4 + ["148"] * 3, "ill": ["ulcer"] * 3 + ["cold", "flu", "cold", "ulcer"]})
    >>> print(background_knowledge(ward, ["zip"], "ill", known=1))
    background knowledge: 6 of 7 right (85.7 %); guessing gets 85.7 %; 4 rows for certain
    """
    facts = integer(known, name="known", least=1, most=MOST_KNOWN)
    return _disclosed("background knowledge", source, quasi, sensitive, known=facts)


def _disclosed(attack: str, source: object, quasi: Sequence[str], sensitive: str, *, known: int) -> Outcome:
    with OwnedTable(source) as table:
        names = require_roles(table, quasi, sensitive)
        rows, _, _ = count_classes(table, names, sensitive)
        if not rows:
            msg = "the table has no rows; there is nobody to attack."
            raise ParameterError(msg)
        most = f"list_sum(max(c, {known + 1}))"
        right, certain = table.ask(
            f"SELECT sum(told)::BIGINT, sum(n) FILTER (many <= {known + 1}) FROM "  # noqa: S608 - numbers
            f"(SELECT {most} AS told, any_value(n) AS n, count(*) AS many FROM counted GROUP BY id)"
        )[0]
        guessed = table.ask(f"SELECT {most} FROM (SELECT sum(c)::BIGINT AS c FROM histogram GROUP BY s)")[0][0]  # noqa: S608
    note = f"{counted(int(certain or 0), 'row')} for certain"
    return Outcome(attack, tried=rows, right=right, baseline=guessed / rows, note=note)


def composition(first: Anonymized, second: Anonymized, sensitive: str) -> Outcome:
    """Intersect what two releases about the same people say of each person.

    Both releases were made of one table, whose row numbers tell the people apart for the judge. The attacker knows a
    person's quasi-identifiers, so the person's class in either release: a value that the person has is in both. Told is
    who has one value left in the intersection; guessing is to use the better one of the releases alone.

    Ganta, Kasiviswanathan, Smith 2008, "Composition attacks and auxiliary information in data privacy", KDD
    (arXiv:0803.0032): each release alone may be k-anonymous, l-diverse and t-close. A promise of differential privacy
    survives: the epsilons add.

    >>> import numpy as np
    >>> from discreet.checks.anonymity import Anonymized
    >>> rows, ill = np.arange(4), ["flu", "cold", "ulcer", "flu"]
    >>> hospital = Anonymized({"age": ["<30", "<30", ">=30", ">=30"], "ill": ill}, rows, 0)
    >>> clinic = Anonymized({"age": ["odd", "even", "odd", "even"], "ill": ill}, rows, 0)
    >>> print(composition(hospital, clinic, "ill"))
    composition: 2 of 4 right (50.0 %); guessing gets 0.0 %; 4 people in both releases
    """
    left, right = _candidates(first, sensitive), _candidates(second, sensitive)
    both = sorted(left.keys() & right.keys())
    if not both:
        msg = "the two releases have no person in common; composition intersects what they say of the same people."
        raise ParameterError(msg)
    alone = [sum(len(side[person]) == 1 for person in both) for side in (left, right)]
    told = sum(len(left[person] & right[person]) == 1 for person in both)
    baseline = max(alone) / len(both)
    return Outcome("composition", len(both), told, baseline, note=f"{len(both)} people in both releases")


def _candidates(release: Anonymized, sensitive: str) -> dict[int, frozenset[Any]]:
    """Say of each person which sensitive values the person's class has."""
    columns: Mapping[str, Sequence[Any]] = release.columns
    if sensitive not in columns:
        msg = f"sensitive is {sensitive!r}, which is no column of the release; it has {', '.join(columns)}."
        raise ParameterError(msg)
    quasi = [cells for name, cells in columns.items() if name != sensitive]
    keys = list(zip(*quasi, strict=True)) if quasi else [()] * len(release.rows)
    values: dict[Any, Counter[Any]] = {}
    for key, value in zip(keys, columns[sensitive], strict=True):
        values.setdefault(key, Counter())[value] += 1
    sets = {key: frozenset(possible) for key, possible in values.items()}
    return {person: sets[key] for person, key in zip(release.rows.tolist(), keys, strict=True)}
