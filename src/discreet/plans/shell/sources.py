"""What a grouped SELECT reads in the shell where one core is not enough: sets of keys, and most frequent values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.sql.reading import refuse_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.plans.shell.grouping import Grouping
    from discreet.plans.shell.shell import Core

__all__ = ["of_modes", "of_sets"]


def of_sets(grouping: Grouping, release: Callable[[Grouping], Core]) -> tuple[exp.Query, list[Core]]:
    """GROUP BY ROLLUP, CUBE and GROUPING SETS: a core for each set of keys, put under each other.

    Each set is counted by itself, and not added up from the finest one, whose noise would add up as well.
    """
    if grouping.modes:
        refuse_part(grouping.select.args["group"], "MODE is answered for one set of keys.", "GROUP BY a, b")
    cores: list[Core] = []
    both: exp.Query | None = None
    for one, arm in sorted(grouping.sets, key=lambda pair: -len(pair[0].keys)):
        if one.keys or one.values:
            cores.append(release(one))
            arm.set("from_", exp.From(this=exp.to_table(cores[-1].name)))
        both = arm if both is None else exp.union(both, arm, distinct=False, copy=False)
    if both is None or not cores:
        refuse_part(grouping.select.args["group"], "It has no keys and no aggregates.", "GROUP BY a, b")
    return both, cores


def of_modes(grouping: Grouping, release: Callable[[Grouping], Core]) -> tuple[exp.Query, list[Core]]:
    """MODE(x): the value with the largest noisy count, of a core that is grouped by it as well.

    What is most frequent is read from a release, so no theorem of its own is needed.
    """
    cores = [release(grouping)] if grouping.keys or grouping.values else []
    whole = exp.Select()
    if cores:
        whole.append("expressions", exp.Column(this=exp.Star(), table=exp.to_identifier(cores[0].name)))
        whole.set("from_", exp.From(this=exp.to_table(cores[0].name)))
    for name, of in grouping.modes.items():
        counted = grouping.by_value(of)
        core = release(counted)
        cores.append(core)
        *keys, value = (exp.column(exp.to_identifier(key, quoted=True)) for key in counted.keys)
        size = exp.column(exp.to_identifier(counted.values[0], quoted=True))
        most = exp.alias_(exp.ArgMax(this=value, expression=size), name, quoted=True)
        chosen = exp.Select(expressions=[*keys, most])
        chosen.set("from_", exp.From(this=exp.to_table(core.name)))
        chosen.set("where", exp.Where(this=exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))))
        if keys:
            chosen.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        alias = f"{core.name}_most"
        source = exp.Subquery(this=chosen, alias=exp.TableAlias(this=exp.to_identifier(alias)))
        whole.append("expressions", exp.column(exp.to_identifier(name, quoted=True), alias))
        if len(cores) == 1:
            whole.set("from_", exp.From(this=source))
            continue
        first = cores[0] if grouping.keys or grouping.values else None
        same = [
            exp.NullSafeEQ(
                this=exp.column(exp.to_identifier(ours, quoted=True), "" if first is None else first.name),
                expression=exp.column(exp.to_identifier(theirs, quoted=True), alias),
            )
            for ours, theirs in zip(grouping.keys, counted.keys, strict=False)
        ]
        on = exp.and_(*same, copy=False) if same else exp.true()
        whole.append("joins", exp.Join(this=source, side="LEFT", on=on))
    return whole, cores
