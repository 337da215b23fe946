"""The notes' table of error rates for k counting queries, with measured errors beside it."""

from __future__ import annotations

import numpy as np

from discreet.mechanisms import DiscreteLaplace, Gaussian, RandomizedResponse
from discreet.methods.workloads import BlumLigettRoth, KNorm, MultiplicativeWeights, Mwem
from discreet.privacy import NeighborRelation

__all__ = ["rates"]

_ROWS, _CELLS, _QUERIES, _EPSILON, _DELTA = 2000, 16, 200, 1.0, 1e-6


def rates() -> None:
    """Print one line for each guarantee of the table: rate, lower bound, and the largest error as a share of n."""
    rng = np.random.default_rng(7)  # chooses the queries and the data, protects nobody
    counts = rng.multinomial(_ROWS, rng.dirichlet(np.full(_CELLS, 0.4)))
    queries = rng.integers(0, 2, (_QUERIES, _CELLS))
    truth = queries @ counts
    print(f"largest error over k = {_QUERIES} queries of {_CELLS} cells, n = {_ROWS}, ε = {_EPSILON}, δ = {_DELTA}")
    print(f"{'guarantee':<12}{'mechanism':<34}{'rate':<34}{'lower bound':<34}measured")
    for guarantee, name, rate, bound, error in (
        ("local ε", "randomized response", "1/(ε√n)", "1/(ε√n)", _local(counts, queries)),
        ("ε", "Laplace", "k/(εn)", "k/(εn)", _laplace(truth)),
        ("(ε, δ)", "Gaussian", "√k/(εn)", "√k/(εn)", _gaussian(truth)),
        ("ε", "multiplicative weights, online", "(ln|X| ln k/(εn))^(1/3)", "", _online(counts, queries)),
        (
            "ε",
            "multiplicative weights, offline",
            "(√ln|X| ln k/(εn))^(1/2), δ > 0",
            "the same",
            _offline(counts, queries),
        ),
    ):
        print(f"{guarantee:<12}{name:<34}{rate:<34}{bound:<34}{error / _ROWS:.4f}")
    few = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1]]
    four = counts.reshape(4, 4).sum(axis=1)
    shaped = KNorm(few, epsilon=1)
    drawn = np.array([shaped.release(four).value for _ in range(200)])
    plain = DiscreteLaplace(3, epsilon=1)
    print(
        "3 queries of 4 cells, root mean squared error: "
        f"K-norm noise {np.sqrt(np.mean((drawn - few @ four) ** 2)):.2f}, "
        f"Laplace {float(np.sqrt(2) * plain.scale):.2f}"
    )
    search = BlumLigettRoth(few, size=8, population=_ROWS, epsilon=1)
    found = np.array([np.abs(few @ np.array(search.release(four).value) - few @ four).max() for _ in range(20)])
    print(f"Blum, Ligett & Roth, databases of 8 rows: largest error {found.mean() / _ROWS:.4f} of n\n")


def _local(counts: np.ndarray, queries: np.ndarray) -> float:
    """Each person answers which cell it is in."""
    rows = np.repeat(np.arange(len(counts)), counts)
    response = RandomizedResponse(len(counts), epsilon=_EPSILON)
    told = np.bincount([int(response.release(int(row)).value) for row in rows], minlength=len(counts))
    keep = np.exp(_EPSILON) / (np.exp(_EPSILON) + len(counts) - 1)
    other = (1 - keep) / (len(counts) - 1)
    estimate = (told - len(rows) * other) / (keep - other)
    return float(np.abs(queries @ estimate - queries @ counts).max())


def _laplace(truth: np.ndarray) -> float:
    noisy = DiscreteLaplace(len(truth), epsilon=_EPSILON).release(truth).value
    return float(np.abs(noisy - truth).max())


def _gaussian(truth: np.ndarray) -> float:
    made = Gaussian(
        np.sqrt(len(truth)),
        epsilon=_EPSILON,
        delta=_DELTA,
        dimensions=len(truth),
        neighbors=NeighborRelation.ADD_REMOVE,
    )
    return float(np.abs(made.release(truth.astype(float)).value - truth).max())


def _online(counts: np.ndarray, queries: np.ndarray) -> float:
    weights = MultiplicativeWeights(len(counts), threshold=150, updates=12, epsilon=_EPSILON, population=_ROWS)
    told = np.array(weights.release((counts, queries)).value)
    return float(np.abs(told - (queries @ counts)[: len(told)]).max())


def _offline(counts: np.ndarray, queries: np.ndarray) -> float:
    fitted = Mwem(rounds=8, epsilon=_EPSILON, population=_ROWS).release((counts, queries)).value
    return float(np.abs(queries @ fitted - queries @ counts).max())
