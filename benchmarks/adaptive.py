"""How right adaptive answers are: `python -m benchmarks.adaptive [--parts holdout discoveries vectors peers]`.

Three experiments and a check. The holdout of Dwork et al. 2015 (Science 349, 636): n rows without any signal, of which
an analyst selects the attributes that look best on the training set and on the holdout. The table of PAPRIKA (Zhang,
Kamath & Cummings 2021, arXiv:2002.12321): power and false discoveries among 800 binomial tests, where nobody is told
how many signals there are. Sparse vectors against the exponential mechanism and against asking everything. And the
levels of LORD++ and SAFFRON beside those of the package online-fdr.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Direction, Figure, Target, format_table, summarize
from benchmarks.setup import interpreter, why_missing
from discreet import noise
from discreet.methods.adaptive import (
    BinomialTest,
    Lord,
    MultiplicativeSensitivity,
    Paprika,
    Saffron,
    SparseVector,
    Thresholdout,
    TruncatedExponentialTest,
)
from discreet.noise import SYSTEM
from discreet.privacy import gaussian_sigma

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.methods.adaptive import OnlineTesting

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("holdout", "discoveries", "vectors", "peers")
OURS = "discreet"

# The reusable holdout


HOLDOUTS = {
    "Laplace": Thresholdout(10_000, threshold="0.06", tolerance="0.0005", answers=20),
    "Gaussian": Thresholdout(10_000, threshold="0.06", tolerance="0.0005", answers=20, noise="gaussian"),
}


def rows_of(rng: np.random.Generator, n: int, d: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Attributes from a normal law, and labels that have nothing to do with them."""
    return rng.standard_normal((d, n), dtype=np.float32), rng.choice(np.array([-1, 1], dtype=np.float32), n)


def voted(attributes: NDArray[np.float32], labels: NDArray[np.float32], signs: NDArray[np.float64]) -> float:
    """Share of rows that the vote of the chosen attributes gets right."""
    return float((np.sign(signs.astype(np.float32) @ attributes) == labels).mean())


class Answers:
    """A holdout that answers one question after the other, as its session does, without a ledger."""

    def __init__(self, made: Thresholdout) -> None:
        self.made, self.left = made, made.answers
        self._bar: int | None = None

    def ask(self, train: float, holdout: float) -> float | None:
        """Answer from the training set or the holdout; None when the answers are gone."""
        if not self.left:
            return None
        self._bar = self.made.run.bar(SYSTEM) if self._bar is None else self._bar
        apart, told = self.made.told(Fraction(train), Fraction(holdout), self._bar, SYSTEM)
        if apart:
            self.left, self._bar = self.left - 1, None
        return told


def selected(
    train: NDArray[np.float64], told: NDArray[np.float64], n: int, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k attributes that look best on the training set, of those that look good on both sides (as in the paper)."""
    least = 1 / math.sqrt(n)
    good = (np.abs(train) >= least) & (np.abs(told) >= least) & ((train > 0) == (told > 0))
    order = np.argsort(-np.where(good, np.abs(train), -1.0))[: min(k, int(good.sum()))]
    return order.astype(np.int64), np.sign(train[order])


def holdout_run(seed: int, n: int, d: int, k: int) -> dict[str, float]:
    """One run: what each holdout reports, and how the same classifier does on fresh rows.

    An attribute is asked about by the mean of 1/2 + x y / 6, clipped: three standard deviations on each side.
    """
    rng = np.random.default_rng(seed)
    (train, train_labels), (held, held_labels) = (rows_of(rng, n, d) for _ in range(2))
    correlations = [(x @ y / n).astype(np.float64) for x, y in ((train, train_labels), (held, held_labels))]

    def scores(chosen: NDArray[np.int64], signs: NDArray[np.float64]) -> list[float]:
        fresh, labels = rows_of(rng, n, len(chosen))
        sets = ((train[chosen], train_labels), (held[chosen], held_labels), (fresh, labels))
        return [voted(attributes, y, signs) for attributes, y in sets]

    names = ("training set", "holdout", "fresh")
    told = {
        f"standard: {name}": score
        for name, score in zip(names, scores(*selected(correlations[0], correlations[1], n, k)), strict=True)
    }
    asked = [0.5 + each / 6 for each in correlations]
    for name, made in HOLDOUTS.items():
        reusable = Answers(made)
        seen = [reusable.ask(float(a), float(b)) for a, b in zip(*asked, strict=True)]
        if None in seen:
            continue
        answers = (np.array(seen, dtype=np.float64) - 0.5) * 6
        on_train, on_holdout, fresh = scores(*selected(correlations[0], answers, n, k))
        answer = reusable.ask(on_train, on_holdout)
        if answer is not None:
            told[f"{name}: training set"], told[f"{name}: fresh"] = on_train, fresh
            told[f"{name}: holdout"], told[f"{name}: answers left"] = answer, float(reusable.left)
    return told


def holdout_figures(runs: int, n: int, d: int, k: int) -> list[Figure]:
    """The experiment, averaged."""
    section = f"holdout without signal: n = {n:,}, d = {d:,}, k = {k}, {runs} runs"
    rows = [holdout_run(seed, n, d, k) for seed in range(runs)]
    figures = []
    for name in sorted(
        {name for row in rows for name in row}, key=lambda name: (not name.startswith("standard"), name)
    ):
        values = [row[name] for row in rows if name in row]
        spread = f"sd {np.std(values):.4f}, {len(values)} runs"
        who, what = name.split(": ")
        figures.append(Figure(section, what, who, float(np.mean(values)), "", note=spread))
    for name, made in HOLDOUTS.items():
        gaps = [row[f"{name}: holdout"] - row[f"{name}: fresh"] for row in rows if f"{name}: holdout" in row]
        worst = max(map(abs, gaps)) if len(gaps) == runs else None
        off = abs(float(np.mean(gaps))) if len(gaps) == runs else None
        goal = Target(Direction.AT_MOST, 0.02, "")
        figures.append(
            Figure(
                section, "mean distance from fresh", name, off, "", target=goal, note=f"{made.promise}; largest {worst}"
            )
        )
    return figures


# Discoveries


def table_of(test: BinomialTest) -> NDArray[np.float64]:
    """The p-value of every count."""
    return np.array([test.p_value(k) for k in range(test.rows + 1)])


def judged(decided: Sequence[bool], signal: NDArray[np.bool_]) -> tuple[float, float]:
    """Power, and the share of discoveries that is false; what comes after the end is no discovery."""
    found = np.zeros(len(signal), dtype=bool)
    found[: len(decided)] = decided
    return float(found[signal].mean()), float((found & ~signal).sum() / max(1, found.sum()))


def online(rule: OnlineTesting, values: NDArray[np.float64]) -> list[bool]:
    """All decisions of a rule without privacy."""
    return [rule.test(float(value)) for value in values]


def discovery_figures(runs: int, target: str) -> list[Figure]:
    """Power and FDR by share of signals and epsilon; no method is told how many signals there are."""
    rows, tests = 1000, 800
    test = BinomialTest(rows, nu="1e-60")
    p_values = table_of(test)
    printed = MultiplicativeSensitivity(math.sqrt(math.log(rows) / rows), "1e-60")
    section = (
        f"discoveries among {tests} binomial tests of {rows} rows, chance 1/2 against 3/4, target {target}, {runs} runs"
    )
    methods: dict[str, Callable[[NDArray[np.float64]], Sequence[bool]]] = {
        "LORD++, no privacy": lambda values: online(Lord(target), values),
        "SAFFRON, no privacy": lambda values: online(Saffron(target), values),
    }
    for epsilon, counts in {1: (1, 5), 3: (5, 15), 5: (5, 15), 10: (5, 15, 40)}.items():
        for most in counts:
            made = Paprika(test.sensitivity, epsilon=epsilon, discoveries=most, target=target)
            methods[f"Paprika, ε = {epsilon}, at most {most}"] = lambda values, made=made: made.release(values).value  # type: ignore[misc]
    wrong = Paprika(printed, epsilon=5, discoveries=40, target=target)
    methods["with η = sqrt(ln n / n), which is too small: not ε = 5"] = lambda values: wrong.release(values).value
    figures = []
    for share in (0.01, 0.02, 0.03, 0.04, 0.05):
        told: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
        for seed in range(runs):
            rng = np.random.default_rng([seed, int(1000 * share)])
            signal = rng.permutation(tests) < round(tests * share)
            values = p_values[rng.binomial(rows, np.where(signal, 0.75, 0.5))]
            for name, method in methods.items():
                told[name].append(judged(method(values), signal))
        for name, pairs in told.items():
            power, false = (float(np.mean([pair[i] for pair in pairs])) for i in (0, 1))
            spread = float(np.std([pair[1] for pair in pairs])) / math.sqrt(runs)
            limit = Target(Direction.AT_MOST, float(target) + 3 * spread, "")
            figures.append(
                Figure(section, f"FDR, π₁ = {share}", name, false, "", target=limit, note=f"power {power:.3f}")
            )
    return figures


def sensitivity_figures() -> list[Figure]:
    """How far one row moves ln max(p, nu) in the tests of the paper, against what its experiments take."""
    section = "multiplicative sensitivity η of 1,000 rows"
    figures = [Figure(section, "sqrt(ln n / n)", "as printed", math.sqrt(math.log(1000) / 1000), "")]
    for nu in ("1e-3", "1e-6", "1e-20", "1e-60"):
        binomial, exponential = BinomialTest(1000, nu=nu), TruncatedExponentialTest(1000, nu=nu)
        figures.append(Figure(section, f"binomial, nu = {nu}", OURS, float(binomial.sensitivity.eta), ""))
        figures.append(
            Figure(section, f"truncated exponential, nu = {nu}", OURS, float(exponential.sensitivity.eta), "")
        )
    return figures


# Sparse vectors


def vector_figures(runs: int) -> list[Figure]:
    """Among k counts, 10 above a threshold: how far from it all must be for 95 % of runs to tell them apart."""
    rng, above = np.random.default_rng(0), 10
    figures = []
    for k in (10**3, 10**4, 10**5, 10**6):
        section = f"counts at ε = 1, {above} above among {k:,}: distance that 95 % of {runs} runs tell apart"
        vector = SparseVector(0, sensitivity=1, epsilon=1, above=above, monotone=True, grid=1, inputs="snapped").core
        first, rest = vector.scales
        sigma = float(gaussian_sigma(epsilon=1, delta="1e-6")) * math.sqrt(k)
        reached: dict[str, list[float]] = {
            "sparse vector": [],
            "exponential mechanism": [],
            "ask all, Laplace": [],
            "ask all, Gaussian": [],
        }
        for _ in range(runs):
            bar = float(noise.discrete_laplace(first, bits=SYSTEM))
            drawn = noise.discrete_laplace(rest, size=k, bits=SYSTEM).astype(np.float64)
            reached["sparse vector"].append(max(float(drawn[above:].max()) - bar, bar - float(drawn[:above].min())))
            best = rng.gumbel(0, above, k)  # one shot for all 10, monotone scores, ε / 10 each
            reached["exponential mechanism"].append((float(best[above:].max()) - float(best[:above].min())) / 2)
            wide = rng.laplace(0, k, k)
            reached["ask all, Laplace"].append(max(float(wide[above:].max()), -float(wide[:above].min())))
            normal = rng.normal(0, sigma, k)
            reached["ask all, Gaussian"].append(max(float(normal[above:].max()), -float(normal[:above].min())))
        figures += [
            Figure(section, "distance", name, float(np.quantile(values, 0.95)), "rows")
            for name, values in reached.items()
        ]
        figures.append(Figure(section, "by the formula", "sparse vector", vector.error(0.95, questions=k), "rows"))
    return figures


# Peers


def peer_figures() -> list[Figure]:
    """The largest relative difference of our levels from those of online-fdr, and of decisions."""
    section = "levels beside online-fdr"
    reason = why_missing("online_fdr")
    if reason is not None:
        return [
            Figure(
                section,
                "LORD++ and SAFFRON",
                "online-fdr",
                None,
                "",
                target=Target(Direction.AT_MOST, 1e-8, ""),
                note=reason,
            )
        ]
    rng, figures = np.random.default_rng(7), []
    values = [float(value) for value in rng.beta(0.25, 1, 5_000)]
    for target, wealth in ((0.05, 0.025), (0.2, 0.01)):
        given = {"target": target, "wealth": wealth, "p_values": values}
        command = [str(interpreter("online_fdr")), "-m", "benchmarks.adaptive_peers.online_fdr"]
        run = subprocess.run(  # noqa: S603 - our own interpreter
            command, input=json.dumps(given), capture_output=True, text=True, check=True, cwd=ROOT
        )
        theirs = json.loads(run.stdout)
        for name, rule in (("lord", Lord(target, wealth=wealth)), ("saffron", Saffron(target, wealth=wealth))):
            worst, other = 0.0, 0
            for value, (level, found) in zip(values, theirs[name], strict=True):
                worst = max(worst, abs(rule.level / level - 1))
                other += rule.test(value) != found
            case = f"{name}, target {target}, wealth {wealth}"
            limit = Target(Direction.AT_MOST, 1e-8, "")
            note = f"{rule.discoveries} of {rule.tested} found, {other} decided otherwise"
            figures.append(Figure(section, case, "online-fdr", worst, "relative", target=limit, note=note))
    return figures


def main() -> int:
    """Print the tables; with --strict exit code 1 unless every target is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adaptive", description=__doc__)
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--runs", type=int, default=100, help="how often each experiment is repeated")
    parser.add_argument("--rows", type=int, default=10_000, help="rows and attributes of the holdout's experiment")
    parser.add_argument("--target", default="0.05", help="share of discoveries that may be false")
    parser.add_argument("--strict", action="store_true")
    wanted = parser.parse_args()
    made: dict[str, Callable[[], list[Figure]]] = {
        "holdout": lambda: holdout_figures(wanted.runs, 10_000, wanted.rows, 500),
        "discoveries": lambda: [*sensitivity_figures(), *discovery_figures(wanted.runs, wanted.target)],
        "vectors": lambda: vector_figures(wanted.runs),
        "peers": peer_figures,
    }
    figures: list[Figure] = []
    for part in wanted.parts:
        found = made[part]()
        print(format_table(found), flush=True)
        figures += found
    print(summarize(figures))
    unmet = [figure for figure in figures if figure.target is not None and figure.verdict.value != "met"]  # type: ignore[union-attr]
    return int(wanted.strict and bool(unmet))


if __name__ == "__main__":
    sys.exit(main())
