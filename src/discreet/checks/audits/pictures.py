"""Pictures of audits (needs the extra `plot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.privacy import Curve

__all__ = ["draw_audit", "draw_claim"]

POINTS = 40


def draw_claim(claim: Curve, axes: Axes | None = None) -> Axes:
    """Draw the largest true positive rate that a claim allows at each false positive rate.

    >>> import discreet.privacy as p
    >>> draw_claim(p.pure(epsilon=1)).get_xlabel()
    'false positive rate'
    """
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure().subplots()
    places = [i / POINTS for i in range(POINTS + 1)]
    axes.plot(places, [1 - claim.tradeoff(place) for place in places], label="allowed by the claim")
    axes.plot(places, places, linestyle=":", color="gray", label="guessing")
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate")
    axes.legend(loc="lower right")
    return axes


def draw_audit(
    claim: Curve,
    bounds: tuple[float, float],
    *,
    refuted: bool,
    seen: tuple[float, float] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw what a claim allows, the bounds on an event's two chances, and how often it was seen.

    >>> import discreet.privacy as p
    >>> len(draw_audit(p.pure(epsilon=1), (0.5, 0.2), refuted=False, seen=(0.52, 0.18)).lines)
    4
    """
    axes = draw_claim(claim, axes)
    if seen is not None:
        axes.plot([seen[1]], [seen[0]], marker=".", linestyle="", label="seen")
    axes.plot([bounds[1]], [bounds[0]], marker="x" if refuted else "o", linestyle="", label="proven")
    axes.legend(loc="lower right")
    return axes
