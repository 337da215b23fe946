"""What audits show, and how often they show too much: `python -m benchmarks.audits [--runs 1000]`.

Medians and coverage of lower bounds on noise whose epsilon is known. What a bound promises is that it lies above the
truth in at most one run of twenty; a selection that nobody pays for is run beside it. jax-privacy 2.0, whose best
medians are the targets, needs JAX, which is too large for a peer's environment: its figures are quoted, not measured.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import beta, norm

import discreet.privacy as p
from benchmarks.report import Direction, Figure, Target, Verdict, format_table
from discreet.checks.audits import audit_one_run, audit_releases
from discreet.noise import SYSTEM
from discreet.privacy.calibration import gaussian_sigma

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.checks.audits.black_box import Sampler
    from discreet.noise import BitSource
    from discreet.privacy import Curve

DELTA = "1e-5"
CANARIES = 1000
MEDIANS = {1: 0.26, 2: 0.64, 4: 1.75, 8: 3.70}
"""The best of jax-privacy 2.0 at so many canaries, as published with the task that this benchmark answers."""
COVERAGE = Target(Direction.AT_LEAST, 0.95, "of the runs below the truth")
QUOTED = "quoted, not measured: jax is too large"
DRAWS = 4_000


def one_run(runs: int) -> list[Figure]:
    """Audit Gaussian noise that is exactly (epsilon, 1e-5)-private in one run, with a coordinate for each canary."""
    chance, figures = np.random.default_rng(0), []
    for epsilon, least in MEDIANS.items():
        sigma = float(gaussian_sigma(epsilon=epsilon, delta=DELTA))
        claim = p.gaussian(sigma=sigma)

        def run(coins: NDArray[np.bool_], _: BitSource, sigma: float = sigma) -> NDArray[np.float64]:
            return coins + chance.normal(0, sigma, coins.size)

        for assumed in ("nothing", "gaussian"):
            start = time.perf_counter()
            found = [audit_one_run(run, CANARIES, claim=claim, delta=DELTA, assuming=assumed) for _ in range(runs)]
            wall = (time.perf_counter() - start) / runs
            case = f"{CANARIES} canaries, true ε = {epsilon}, assuming {assumed}"
            below = sum(one.epsilon <= epsilon and not one.refuted for one in found) / runs
            target = Target(Direction.AT_LEAST, least, "ε") if assumed == "gaussian" else None
            figures += [
                Figure(
                    "median of one run",
                    case,
                    "discreet",
                    median(one.epsilon for one in found),
                    "ε",
                    wall,
                    target=target,
                ),
                Figure("coverage of one run", case, "discreet", below, "runs", target=COVERAGE, note=f"{runs} runs"),
            ]
        case = f"{CANARIES} canaries, true ε = {epsilon}"
        figures.append(Figure("median of one run", case, "jax-privacy 2.0", least, "ε", note=QUOTED))
    return figures


def many_runs(runs: int) -> list[Figure]:
    """Audit noise on one number by its releases: an event chosen on a part of them, or, if it is vouched for, a fit."""
    chance, figures = np.random.default_rng(1), []

    def gauss(value: float, sigma: float) -> Callable[[int, BitSource], NDArray[np.float64]]:
        return lambda count, _: chance.normal(value, sigma, count)

    def laplace(value: float, scale: float) -> Callable[[int, BitSource], NDArray[np.float64]]:
        return lambda count, _: chance.laplace(value, scale, count)

    sigma = float(gaussian_sigma(epsilon=1, delta=DELTA))
    cases: list[tuple[str, Callable[..., Sampler], float, Curve, str, str]] = [
        ("Laplace, ε = 1", laplace, 1.0, p.laplace(1), "0", "nothing"),
        ("Laplace, ε = 4", laplace, 0.25, p.laplace("0.25"), "0", "nothing"),
        ("Gaussian, ε = 1", gauss, sigma, p.gaussian(sigma=sigma), DELTA, "nothing"),
        ("Gaussian, ε = 1, vouched for", gauss, sigma, p.gaussian(sigma=sigma), DELTA, "gaussian"),
    ]
    for name, draw, scale, claim, delta, assumed in cases:
        truth = claim.epsilon(delta)
        found = [
            audit_releases(
                draw(0.0, scale), draw(1.0, scale), claim=claim, delta=delta, draws=DRAWS, assuming=assumed, bits=SYSTEM
            )
            for _ in range(runs)
        ]
        below = sum(one.epsilon <= truth and not one.refuted for one in found) / runs
        case = f"{name}, {DRAWS:,} releases of each"
        figures += [
            Figure("median of releases", case, "discreet", median(one.epsilon for one in found), "ε"),
            Figure("coverage of releases", case, "discreet", below, "runs", target=COVERAGE, note=f"{runs} runs"),
        ]
    return figures


def unpaid_selection(runs: int) -> list[Figure]:
    """Read mu off the best of all thresholds, each bound as if its threshold had been fixed beforehand.

    Once with mu from its own side; once with the larger of its two signs, as jax-privacy's `epsilon_from_gdp` takes it.
    Upper bounds on both rates prove nothing of a mu below zero: they overlap.
    """
    chance, figures = np.random.default_rng(2), []
    for epsilon in MEDIANS:
        mu = 1 / float(gaussian_sigma(epsilon=epsilon, delta=DELTA))
        below = np.zeros(2)
        for _ in range(runs):
            over, under = np.sort(chance.normal(mu, 1, CANARIES // 2)), np.sort(chance.normal(0, 1, CANARIES // 2))
            places = np.concatenate([over, under])
            missed = np.searchsorted(over, places)
            alarms = len(under) - np.searchsorted(under, places)
            misses = beta.ppf(0.975, missed + 1, len(over) - missed)
            false = beta.ppf(0.975, alarms + 1, len(under) - alarms)
            found = np.asarray(norm.isf(false) - norm.ppf(misses))
            found = found[np.isfinite(found)]
            below += found.max() <= mu, np.abs(found).max() <= mu
        for sign, share in zip(("its sign", "either sign"), below / runs, strict=True):
            case = f"{CANARIES} canaries, true ε = {epsilon}, {sign}"
            note = "no way to audit: a threshold chosen on the scores that it is judged by"
            figures.append(Figure("coverage of the best threshold", case, "unpaid selection", share, "runs", note=note))
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables; exit code 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    wanted = parser.parse_args(arguments)
    figures = [*one_run(wanted.runs), *many_runs(wanted.runs), *unpaid_selection(wanted.runs)]
    sections = list(dict.fromkeys(figure.section for figure in figures))
    figures.sort(key=lambda figure: sections.index(figure.section))
    print(format_table(figures))
    sys.exit(any(figure.verdict is Verdict.MISSED for figure in figures))


if __name__ == "__main__":
    main()
