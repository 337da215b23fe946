"""How wrong and how fast the local model is: `python -m benchmarks.local [--users 1000000] [--strict]`.

Clients and server in one process, exact; seconds are processor time. n·Var is the mean square of the shares of
rare items, times the number of users, beside the theory's. Oracles whose report has a bit for each item are measured
with `--wide` users, and their seconds scaled. pure-ldp, in its own environment (`python -m
benchmarks.setup pure_ldp`, or `--peer` names a Python that has it), runs in the same run with `--peer-users` users, and
its seconds are scaled too.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.setup import interpreter, why_missing
from discreet.mechanisms import DiscreteLaplace
from discreet.methods.local import (
    Direct,
    Hadamard,
    HeavyHitters,
    LocalHashing,
    LocalMean,
    OptimizedUnary,
    ProjectiveGeometry,
    Ranges,
    SubsetSelection,
    Unary,
    frequency_oracle,
)
from discreet.privacy.curves import shuffled, shuffled_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.methods.local import Means, Oracle, Reports

ITEMS = 1024
NARROW: tuple[Callable[..., Oracle], ...] = (LocalHashing, Hadamard, ProjectiveGeometry, Direct)
WIDE: tuple[Callable[..., Oracle], ...] = (OptimizedUnary, Unary, SubsetSelection)
REPEATS = 20
ROOT = Path(__file__).resolve().parents[1]


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    """Time an act by the processor."""
    begun = time.process_time()
    made = act()
    return time.process_time() - begun, made


def counts(oracle: Oracle, reports: Reports) -> NDArray[np.float64]:
    """Estimate."""
    return oracle.estimate(reports).counts


def mean_of(mean: LocalMean, values: NDArray[np.float64]) -> Means:
    """Randomize and estimate."""
    return mean.estimate(mean.report(values))


def oracle_row(oracle: Oracle, users: int) -> tuple[float, float, float]:
    """Measure seconds of the clients and of the server, and n·Var over all items that few have."""
    items = np.minimum(np.arange(users) % (2 * ITEMS), ITEMS - 1)
    truth = np.bincount(items, minlength=ITEMS)
    squares, seconds = [], [0.0, 0.0]
    for _ in range(REPEATS):
        client, reports = timed(lambda: oracle.report(items))
        server, found = timed(partial(counts, oracle, reports))
        squares.append(np.mean((found - truth)[:-1] ** 2) / users)
        seconds = [seconds[0] + client / REPEATS, seconds[1] + server / REPEATS]
    return seconds[0], seconds[1], float(np.mean(squares))


def oracles(users: int, wide: int) -> list[tuple[str, int, float, float, float, float]]:
    """Measure every oracle."""
    rows = []
    for kinds, count in ((NARROW, users), (WIDE, wide)):
        for kind in kinds:
            oracle = kind(ITEMS, epsilon=1)
            client, server, error = oracle_row(oracle, count)
            rows.append(
                (type(oracle).__name__, count, client * users / count, server * users / count, error, oracle.variance())
            )
    return rows


def central_and_local(counts: tuple[int, ...], rounds: int = 40) -> list[tuple[int, float, float]]:
    """Measure the root mean square error of one count, by a curator and by randomized response, ε = 1."""
    rows = []
    for count in counts:
        oracle, noise = Direct(2, epsilon=1), DiscreteLaplace(1, epsilon=1)
        bits = np.arange(count) % 2
        local = [oracle.estimate(oracle.report(bits)).counts[1] - count // 2 for _ in range(rounds)]
        central = [int(noise.release(count // 2).value) - count // 2 for _ in range(rounds)]
        off = [math.sqrt(float(np.mean(np.square(errors)))) for errors in (central, local)]
        rows.append((count, off[0], off[1]))
    return rows


def others() -> list[tuple[str, str]]:
    """Measure means, ranges and strings, 200,000 users."""
    users, random, said = 200_000, np.random.default_rng(7), []
    for epsilon in (0.5, 1, 4):
        mean = LocalMean(-1, 1, epsilon=epsilon)
        values = random.uniform(-1, 1, users)
        spent, found = timed(partial(mean_of, mean, values))
        off = abs(found.values[0] - values.mean())
        said.append(
            (
                f"mean of numbers in [-1, 1], ε = {epsilon:g}",
                f"± {found.standard_error[0]:.5f} (off {off:.5f}), {spent:.2f} s",
            )
        )
    places = random.normal(500, 120, users).astype(int)
    ranges = Ranges(1000, epsilon=1)
    spent, told = timed(lambda: ranges.estimate(ranges.report(places)))
    said.append(
        ("median of places, σ = 120, ε = 1", f"{told.quantile(0.5)} for {int(np.median(places))}, {spent:.2f} s")
    )
    hitters = HeavyHitters("abcdefghijklmnopqrstuvwxyz", 8, epsilon=4)
    words = ["discreet"] * (users // 10) + ["epsilon"] * (users // 20) + ["delta"] * (users // 50)
    words += ["".join(random.choice(list("abcdefgh"), 8)) for _ in range(users - len(words))]
    spent, strings = timed(lambda: hitters.estimate(hitters.report(words)))
    said.append(
        (
            "strings of 8 letters that 10, 5 and 2 % have, ε = 4",
            f"{[one.text for one in strings.strings]}, {spent:.2f} s",
        )
    )
    return said


def peer(python: str | None, users: int) -> str:
    """Run pure-ldp's OUE and Hadamard response."""
    missing = why_missing("pure_ldp") if python is None else None
    if missing:
        return f"not measured: {missing}"
    command = [python or str(interpreter("pure_ldp")), "-m", "benchmarks.local_peers.pure_ldp", str(users), str(ITEMS)]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)  # noqa: S603 - our own
    return run.stdout.strip() if run.returncode == 0 else f"did not run: {run.stderr.strip().splitlines()[-1]}"


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--users", type=int, default=10**6)
    options.add_argument("--wide", type=int, default=10_000)
    options.add_argument("--peer", help="a Python with pure-ldp")
    options.add_argument("--peer-users", type=int, default=2_000)
    options.add_argument("--strict", action="store_true", help="fail where a target is missed")
    wanted = options.parse_args()
    missed: list[str] = []
    chosen = type(frequency_oracle(ITEMS, epsilon=1)).__name__
    print(f"{wanted.users:,} users, {ITEMS:,} items, ε = 1: seconds of clients and server, n·Var, theory")
    for name, measured, client, server, error, theory in oracles(wanted.users, wanted.wide):
        said = "   the default: at most 10 s" if name == chosen else ""
        near = abs(error / theory - 1) <= 0.03
        missed += [f"{name} in 10 s"] if said and client + server > 10 else []
        missed += [] if near else [f"n·Var of {name} within 3 %"]
        print(f"  {name:20} {client:8.2f} {server:8.2f} {error:9.3f} {theory:9.3f}   ({measured:,} measured){said}")
    print(f"  {'pure-ldp':20} {peer(wanted.peer, wanted.peer_users)}")

    print("\nroot mean square error of one count by a curator, and in the local model, ε = 1")
    for count, central, local in central_and_local((100, 1_000, 10_000, 100_000)):
        print(f"  n = {count:9,} {central:9.2f} {local:9.2f}   {local / math.sqrt(count):5.2f} √n")

    print("\nshuffled reports of ε = 1 at δ = 1e-6: the curve, and the closed form")
    for count in (1_000, 10_000, 100_000):
        print(
            f"  n = {count:9,} {shuffled(1, count).epsilon(1e-6):9.4f} {shuffled_epsilon(1, count, delta='1e-6'):9.4f}"
        )

    print("\nother values, 200,000 users")
    for what, figure in others():
        print(f"  {what:54} {figure}")
    print(f"\nmissed: {', '.join(missed) or 'none'}")
    sys.exit(1 if wanted.strict and missed else 0)


if __name__ == "__main__":
    main()
