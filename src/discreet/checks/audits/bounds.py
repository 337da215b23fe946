"""Exact confidence bounds on a probability, from counted events."""

from __future__ import annotations

__all__ = ["chance_at_least", "chance_at_most"]


def chance_at_least(hits: int, draws: int, error: float) -> float:
    """Return a lower bound on a chance, wrong with probability at most `error`.

    Clopper & Pearson 1934 (Biometrika 26): the p at which so many hits or more have probability `error`, the `error`
    quantile of a Beta(hits, draws - hits + 1) law.

    >>> chance_at_least(0, 1000, 0.05), round(chance_at_least(1000, 1000, 0.05), 6)
    (0.0, 0.997009)
    """
    from scipy.special import betaincinv

    return float(betaincinv(hits, draws - hits + 1, error)) if hits else 0.0


def chance_at_most(hits: int, draws: int, error: float) -> float:
    """Return an upper bound on a chance, wrong with probability at most `error`.

    The mirror image: `hits` events are `draws - hits` events that did not happen.

    >>> round(chance_at_most(0, 1000, 0.05), 6)
    0.002991
    """
    return 1.0 - chance_at_least(draws - hits, draws, error)
