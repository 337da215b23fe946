"""Which stored releases answer a question again: first those the asker has paid for, then the cheapest of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from discreet.releases.showing.stored import needed, read_stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from discreet.ledgers.purse import Repeat
    from discreet.plans import Plan
    from discreet.privacy.currencies import Currency
    from discreet.releases.showing.stored import Stored

__all__ = ["alike", "amounts", "shown_again"]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A stored release: where it stands in the repeat, what it cost, and in which budgets it does not count yet."""

    place: int
    stored: Stored
    cost: Currency
    unseen: frozenset[tuple[str, str]]


def shown_again(plan: Plan, repeat: Repeat, cost: Currency) -> Repeat | None:
    """Choose the releases that answer a question for a price, the dearest first; None if it is to be asked anew.

    The releases must be worth the price: the costs of those that combine add up; of those that do not (groups found in
    data, chosen points, bins) one must be worth it alone. A release that counts in all of the asker's budgets already
    is free, and is taken first. If that is not enough, releases that others bought are added, as few as possible, and
    never so many that a budget with a limit would be charged more than the price. The dataset pays nothing either way.
    """
    kept = [
        _Kept(place, stored, repeat.costs[place], repeat.unseen[place])
        for place, record in enumerate(repeat.answers)
        if (stored := read_stored(plan, record)) is not None
    ]
    kept.sort(key=lambda release: amounts(release.stored.protection.cost), reverse=True)
    sets = _sets(kept)
    seen = [[release for release in releases if not release.unseen] for releases in sets]
    paid = [parts for releases in seen if (parts := _enough(releases, cost))]
    if paid:
        best = max(paid, key=lambda parts: amounts(parts[0].stored.protection.cost))
    else:
        owed = [parts for releases in sets if (parts := _with_others(releases, cost, repeat.limited))]
        best = min(owed, key=lambda parts: _owed(repeat, parts), default=[])
    places = [part.place for part in best]
    return repeat.only([*places[:1], *sorted(places[1:])]) if best else None


def amounts(cost: Currency) -> list[Fraction]:
    """The numbers of a cost, the delta last; all costs of one question are in one currency.

    >>> from discreet.privacy import Pure
    >>> amounts(Pure(1))
    [Fraction(1, 1)]
    """
    return list(cast("dict[str, Fraction]", cost.fields()).values())


def alike(first: Stored, second: Stored) -> bool:
    """Tell whether two releases can be combined: the same blocks for the same groups, and groups not found in data."""
    same = first.recipe.blocks == second.recipe.blocks and first.recipe.plan.aggregate == second.recipe.plan.aggregate
    return first is second or (same and first.protection.selection is None and first.groups == second.groups)


def _sets(kept: Iterable[_Kept]) -> list[list[_Kept]]:
    """Part releases into sets of those that can be combined."""
    sets: list[list[_Kept]] = []
    for release in kept:
        mine = next((known for known in sets if alike(known[0].stored, release.stored)), None)
        if mine is None:
            sets.append([release])
        else:
            mine.append(release)
    return sets


def _enough(parts: Sequence[_Kept], cost: Currency) -> list[_Kept]:
    """The releases of a set to be shown, if they are worth a cost; else none."""
    if parts and parts[0].stored.recipe.combines:
        return list(parts) if _worth(parts, cost) else []
    best = next((part for part in parts if _worth([part], cost)), None)
    return [] if best is None else _made_of(best, parts)


def _with_others(parts: Sequence[_Kept], cost: Currency, limited: frozenset[tuple[str, str]]) -> list[_Kept]:
    """The releases of a set that are worth a cost, some bought from others; none if that would charge more than it."""
    free = [part for part in parts if not part.unseen]
    others = sorted((part for part in parts if part.unseen), key=lambda part: (len(part.unseen), amounts(part.cost)))
    combines = parts[0].stored.recipe.combines
    for part in others:  # one that is enough, the cheapest of them
        if _below([part], cost, limited) and _worth([part, *free] if combines else [part], cost):
            return _in_order([part, *free]) if combines else _made_of(part, free)
    if not combines:
        return []
    taken: list[_Kept] = []
    for part in reversed(others):
        if _below([*taken, part], cost, limited):
            taken.append(part)
    if not _worth([*taken, *free], cost):
        return []
    for part in sorted(taken, key=lambda other: amounts(other.cost)):
        fewer = [other for other in taken if other is not part]
        taken = fewer if _worth([*fewer, *free], cost) else taken
    return _in_order([*taken, *free])


def _made_of(best: _Kept, others: Sequence[_Kept]) -> list[_Kept]:
    """A release and those that its sums are combined with; the asker pays for these and no others."""
    both = [best, *(part for part in others if part is not best)]
    used = needed([part.stored for part in both])
    return [part for part in both if any(part.stored is stored for stored in used)]


def _in_order(parts: Iterable[_Kept]) -> list[_Kept]:
    return sorted(parts, key=lambda part: amounts(part.stored.protection.cost), reverse=True)


def _worth(parts: Sequence[_Kept], cost: Currency) -> bool:
    paid = sum((part.stored.protection.cost for part in parts), start=cost * 0)
    return all(have >= need for have, need in zip(amounts(paid), amounts(cost), strict=True))


def _below(parts: Sequence[_Kept], most: Currency, limited: Iterable[tuple[str, str]]) -> bool:
    """Tell whether showing releases charges no limited budget more than a cost."""
    for budget in limited:
        charge = sum((part.cost for part in parts if budget in part.unseen), start=most * 0)
        if any(have > allowed for have, allowed in zip(amounts(charge), amounts(most), strict=True)):
            return False
    return True


def _owed(repeat: Repeat, parts: Sequence[_Kept]) -> list[Fraction]:
    """What showing releases charges in all budgets together, to choose the least."""
    charges = [amounts(charge) for charge in repeat.only([part.place for part in parts]).owed.values()]
    return [sum(numbers, start=0 * numbers[0]) for numbers in zip(*charges, strict=True)]
