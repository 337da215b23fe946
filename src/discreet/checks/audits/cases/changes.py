"""Change points: the element whose ratio is largest comes or goes, before or behind what it decides between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case
from discreet.checks.audits.cases.above_threshold import law_of_runs
from discreet.checks.audits.laws import flipped, laplace_winner
from discreet.mechanisms import RaceNoise
from discreet.methods.streaming import ChangePoint, ChangeWatch, Given, RankChangePoint
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _scores(values: Sequence[float | None], low: float, high: float) -> list[float]:
    """What speaks for a change from each place on."""
    ratios = [0.0 if value is None else min(max(value, low), high) for value in values]
    return [sum(ratios[place:]) for place in range(len(ratios))]


def _place(found: ChangePoint, values: Sequence[float | None]) -> dict[int, float]:
    low, high = found.evidence.likelihoods.bounds
    changed = found.evidence.relation is not NeighborRelation.ADD_REMOVE
    moved = (high - low if changed else max(-low, high)) * (found.evidence.events or 1)
    winner = flipped if found.noise is RaceNoise.EXPONENTIAL else laplace_winner
    return dict(enumerate(winner(_scores(values, low, high), moved / float(found.epsilon))))


def _split(found: RankChangePoint, values: Sequence[float]) -> dict[int, float]:
    """With a least side of 1: the Mann-Whitney statistics, noise of scale 2 D / epsilon, D = 1 or 2."""
    count, scores = len(values), []
    for place in range(1, count):
        signs = [np.sign(after - before) for before in values[:place] for after in values[place:]]
        scores.append(abs(float(np.nansum(signs))) / (place * (count - place)))
    ways = 1 if found.relation is NeighborRelation.ADD_REMOVE else 2
    return {place + 1: chance for place, chance in enumerate(flipped(scores, 2 * ways / float(found.epsilon)))}


def _watched(watch: ChangeWatch, values: Sequence[float]) -> dict[str, float]:
    """When, by the law of runs of the maxima; then where, by that of the place in the window."""
    low, high = watch.evidence.likelihoods.bounds
    windows = [list(values[max(0, end - watch.window) : end]) for end in range(1, len(values) + 1)]
    maxima = [int(max(_scores(window, low, high))) for window in windows]
    law: dict[str, float] = {}
    for run, chance in law_of_runs(watch.core, maxima).items():
        steps = run.strip("(),").split(", ")
        if steps[-1].strip(",") != "True":
            law[str((None, None))] = chance
            continue
        end = len(steps)
        for place, share in _place(watch.locate, windows[end - 1]).items():
            law[str((end, end - len(windows[end - 1]) + place))] = chance * share
    return law


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    ratios = Given(-1, 2)
    changed = NeighborRelation.CHANGE_ONE
    return (
        Case(
            "an event comes", ChangePoint(ratios, epsilon=2, grid=1), [0, 2, 0], [0, None, 0], law=_place, draws=2_400
        ),
        Case(
            "with Laplace noise",
            ChangePoint(ratios, epsilon=2, noise="laplace", grid=1),
            [0, 2, 0],
            [0, None, 0],
            law=_place,
            draws=2_400,
        ),
        Case(
            "an event changed",
            ChangePoint(ratios, epsilon=2, neighbors=changed, grid=1),
            [0, 2, 0],
            [0, -1, 0],
            law=_place,
            draws=2_400,
        ),
        Case(
            "two events of a person",
            ChangePoint(ratios, epsilon=3, events=2, grid=1),
            [0, 2, 2, 0],
            [0, None, None, 0],
            law=_place,
            draws=2_400,
        ),
        Case(
            "an element less",
            RankChangePoint(epsilon=4, trim="1/10"),
            [0.0, 1.0, 2.0],
            [float("nan"), 1.0, 2.0],
            law=_split,
            draws=4_000,
        ),
        Case(
            "an element changed",
            RankChangePoint(epsilon=4, trim="1/10", neighbors=changed),
            [0.0, 1.0, 2.0],
            [3.0, 1.0, 2.0],
            law=_split,
            draws=4_000,
        ),
        Case(
            "watched",
            ChangeWatch(ratios, window=2, epsilon=4, threshold=2, grid=1),
            [0, 2, 2],
            [0, 2, 0],
            law=_watched,
            draws=3_000,
        ),
        Case(
            "watched, an event changed",
            ChangeWatch(ratios, window=2, epsilon=4, threshold=2, neighbors=changed, grid=1),
            [0, 2, 0],
            [0, -1, 0],
            law=_watched,
            draws=3_000,
        ),
    )
