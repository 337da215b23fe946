"""Many questions at once: errors and times of plans, beside baselines and lower bounds.

    python -m benchmarks.workloads                         everything that needs no data
    python -m benchmarks.workloads --data ../shared/data   and Adult, and the sets of DPBench

Errors of plans are computed, not simulated, unless a column says so. Figures of HDMM in brackets are those that its own
implementation reached on the same workloads.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rates import rates
from discreet.mechanisms.adding.grids import Norm
from discreet.methods.workloads import AllRange, Kron, Marginals, Predicates, Prefix, Records, WorkloadPlan, plan
from discreet.methods.workloads.strategies.haar import haar
from discreet.methods.workloads.strategies.margins import best_margins
from discreet.methods.workloads.strategies.residual import residual
from discreet.methods.workloads.strategies.tree import best_tree, hierarchical
from discreet.noise import discrete_laplace
from discreet.privacy import ZCDP, Pure

SIZE = 1024


def notes() -> None:
    """The example of the notes: 128 / epsilon**2 and 12 / epsilon**2."""
    print(plan(Predicates([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]), Pure(1)), end="\n\n")


def lines() -> None:
    """Ranges and prefixes of 1024 cells, and of a million."""
    print("workload        promise    strategy             rmse   (HDMM)   bound    gap in rmse   seconds")
    theirs = {("AllRange", "ε = 1"): 11.18, ("Prefix", "ε = 1"): 9.66}
    theirs |= {("AllRange", "ρ = 0.5"): 3.515, ("Prefix", "ρ = 0.5"): 2.956}
    for promise in (Pure(1), ZCDP("0.5")):
        for made in (AllRange, Prefix):
            start = time.perf_counter()
            found = plan(made(SIZE), promise)
            _line(found, time.perf_counter() - start, theirs[made.__name__, found.promise.promise])
    start = time.perf_counter()
    found = plan(AllRange(1 << 20), ZCDP("0.5"))
    answer = found.release(np.arange(1 << 20) % 7)
    _line(found, time.perf_counter() - start, None)
    print(f"answered as well: {answer.value.size} cells\n")


def _line(found: WorkloadPlan, seconds: float, theirs: float | None) -> None:
    bound = (found.bound / found.workload.queries) ** 0.5
    shown = "" if theirs is None else f"({theirs})"
    gap = 100 * (found.rmse / bound - 1)
    print(
        f"{found.workload!s:<15} {found.promise.promise:<10} {found.strategy.name:<17} {found.rmse:>8.3f} {shown:>8}"
        f" {bound:>8.3f} {gap:>10.2f} %   {seconds:.2f}"
    )


def adult(folder: Path) -> None:
    """Marginals of Adult."""
    names = (folder / "adult-discrete" / "adult.csv").read_text(encoding="utf-8").split("\n", 1)[0].split(",")
    rows = np.loadtxt(folder / "adult-discrete" / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    domain = json.loads((folder / "adult-discrete" / "adult-domain.json").read_text(encoding="utf-8"))
    sizes = [domain[name] for name in names]
    print(f"Adult, {len(rows)} rows, columns of {sizes}")
    for each in (2, 3):
        workload, start = Marginals(sizes, each), time.perf_counter()
        strategy = residual(workload)
        planned = time.perf_counter() - start
        rmse = (strategy.total * float(strategy.reach.l2_squared) / workload.queries) ** 0.5
        print(
            f"  all {each}-way marginals, ρ = 0.5: rmse {rmse:.3f} (the bound by singular values), plan {planned:.2f} s"
        )
    start = time.perf_counter()
    found = plan(Marginals(sizes, 2), ZCDP("0.5"))
    found.release(Records(sizes, rows))
    print(f"  2-way {found.chosen.name}: planned among all, measured, answered in {time.perf_counter() - start:.2f} s")
    strategy, start = residual(Marginals(sizes, 2)), time.perf_counter()
    noisy = strategy.measure(Records(sizes, rows)).astype(float)
    strategy.answers(noisy)
    print(f"  2-way residuals alone: measured and reconstructed in {time.perf_counter() - start:.2f} s")
    for each, theirs in ((2, 25.99), (3, 46.64)):
        workload, start = Marginals(sizes[:8], each), time.perf_counter()
        weighted = best_margins(workload, Norm.L1)
        rmse = (2 * weighted.total * weighted.reach.l1**2 / workload.queries) ** 0.5
        print(f"  {each}-way of 8 columns, ε = 1: rmse {rmse:.2f} ({theirs}), {time.perf_counter() - start:.2f} s")
    print()


def dawa(counts: np.ndarray, epsilon: float) -> np.ndarray:
    """Estimate cells by noisy blocks that look even: a simple mechanism of the class of DAWA (Li et al. 2014).

    A quarter of epsilon buys noisy cells, by which blocks of powers of two are joined bottom up where their cells
    differ by less than noise; the rest buys one count for each block.
    """
    first, rest = epsilon / 4, 3 * epsilon / 4
    rough = counts + discrete_laplace(str(1 / first), size=counts.shape)
    blocks = [(place, place + 1) for place in range(len(counts))]
    size = 1
    while size < len(counts):
        joined, place = [], 0
        while place < len(blocks):
            pair = blocks[place : place + 2]
            whole = len(pair) == 2 and pair[0][1] - pair[0][0] == pair[1][1] - pair[1][0] == size
            if whole and pair[0][0] % (2 * size) == 0:
                cells = rough[pair[0][0] : pair[1][1]]
                spread = np.abs(cells - cells.mean()).sum() - len(cells) / first
                if spread < 1 / rest:
                    joined.append((pair[0][0], pair[1][1]))
                    place += 2
                    continue
            joined.append(blocks[place])
            place += 1
        blocks, size = joined, 2 * size
    estimate = np.zeros(len(counts))
    for begin, end in blocks:
        estimate[begin:end] = (counts[begin:end].sum() + int(discrete_laplace(str(1 / rest)))) / (end - begin)
    return estimate


def dpbench(folder: Path) -> None:
    """Ranges over the sets of DPBench: root mean squared errors over all ranges, that of DAWA simulated."""
    workload, epsilon = AllRange(SIZE), 0.1
    found = plan(workload, Pure("0.1"))
    fixed = {
        "plan": found.rmse,
        "Hay": _rmse(hierarchical(workload), epsilon),
        "Haar": _rmse(haar(workload, Norm.L1), epsilon),
        "tree": _rmse(best_tree(workload, Norm.L1), epsilon),
    }
    print("DPBench 1-D, all ranges of 1024 cells, ε = 0.1")
    print(f"{'set':<34}" + "".join(f"{name:>10}" for name in (*fixed, "DAWA")))
    wins = total = 0
    for file in sorted((folder / "dpbench-1d").glob("*.npy")):
        counts = np.load(file).ravel()
        if counts.size % SIZE or not np.isfinite(counts).all():
            continue
        cells = counts.reshape(SIZE, -1).sum(axis=1).astype(np.int64)
        error = dawa(cells, epsilon) - cells
        adaptive = float(np.sqrt(np.mean(workload.answers(error) ** 2)))
        total += 1
        wins += found.rmse <= min(*list(fixed.values())[1:3], adaptive)
        print(f"{file.stem:<34}" + "".join(f"{value:>10.1f}" for value in (*fixed.values(), adaptive)))
    print(f"the plan is no worse than Hay, Haar and DAWA on {wins} of {total} sets")
    grid = Kron([AllRange(64), AllRange(64)])
    plane = plan(grid, Pure("0.1"))
    print(f"DPBench 2-D, all rectangles of 64 x 64 cells, ε = 0.1: {plane!r}\n")


def _rmse(strategy: Any, epsilon: float) -> float:  # noqa: ANN401 - any strategy
    return float(np.sqrt(2 * strategy.total * strategy.reach.l1**2 / epsilon**2 / strategy.workload.queries))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    notes()
    lines()
    if given.data is not None:
        adult(given.data)
        dpbench(given.data)
    rates()


if __name__ == "__main__":
    main()
