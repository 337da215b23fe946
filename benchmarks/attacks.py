"""How much attacks find: `python -m benchmarks.attacks [--people 1024]`.

Least squares against counts with bounded noise, the same against a database, and the audit in one run at its best.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

import discreet.privacy as p
from benchmarks.measure import run_once
from benchmarks.report import Direction, Figure, Target, Verdict, format_table
from discreet.checks.attacks import reconstruct
from discreet.checks.audits import audit_one_run
from discreet.noise import gaussian
from discreet.privacy.calibration import gaussian_sigma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.noise import BitSource

SHARES = {0.1: 0.99, 0.25: 0.99, 0.5: 0.93, 1.0: 0.76}
LOWER_BOUNDS = {1: 0.26, 2: 0.64, 4: 1.75, 8: 3.70}
CANARIES = 1000
RUNS = 25
DELTA = "1e-5"


def reconstructions(people: int) -> list[Figure]:
    """Reconstruct coin flips from 4 n counts that are off by at most c sqrt(n)."""
    chance = np.random.default_rng(0)
    secrets = chance.random(people) < 0.5
    figures = []
    for factor, share in SHARES.items():

        def count(subset: NDArray[np.bool_], most: float = factor * people**0.5) -> float:
            return float(secrets[subset].sum() + chance.uniform(-most, most))

        shares: list[float] = []
        seconds = run_once(lambda: shares.append(reconstruct(count, secrets).outcome.share)).wall_ns / 1e9  # noqa: B023
        target = Target(Direction.AT_LEAST, share, "")
        case = f"{people} people, noise within ±{factor:g} √n"
        figures.append(Figure("least squares", case, "discreet", shares[0], "share", wall=seconds, target=target))
    return figures


def one_run() -> list[Figure]:
    """Audit Gaussian noise that is exactly (epsilon, 1e-5)-private, with a coordinate for each canary."""
    figures = []
    for epsilon, bound in LOWER_BOUNDS.items():
        sigma = gaussian_sigma(epsilon=epsilon, delta=DELTA)

        def run(included: NDArray[np.bool_], bits: BitSource, sigma: float = sigma) -> NDArray[np.float64]:
            return included + gaussian(sigma, "1/1048576", included.size, bits)

        claim = p.gaussian(sigma=sigma)
        found = [audit_one_run(run, CANARIES, claim=claim, delta=DELTA) for _ in range(RUNS)]
        case = f"{CANARIES} canaries, true ε = {epsilon}, median of {RUNS}"
        target = Target(Direction.AT_LEAST, bound, "")
        middle = median(one.epsilon for one in found)
        false = sum(one.refuted for one in found)
        note = f"{false} of {RUNS} above the truth"
        figures.append(Figure("one-run audit", case, "discreet", middle, "ε", target=target, note=note))
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables; exit code 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1024)
    wanted = parser.parse_args(arguments)
    figures = [*reconstructions(wanted.people), *one_run()]
    print(format_table(figures))
    sys.exit(any(figure.verdict is Verdict.MISSED for figure in figures))


if __name__ == "__main__":
    main()
