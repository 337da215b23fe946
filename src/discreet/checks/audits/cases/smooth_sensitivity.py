"""Noise for a smooth bound that the caller gives: values a bound apart, and bounds that differ by all they may."""

from __future__ import annotations

from discreet.checks.audits.case import Case
from discreet.mechanisms.instances.smooth_sensitivity import SmoothSensitivity

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs that the mechanism names itself, with as much as they allow in both."""
    names = "value and bound up", "value down, bound up", "with rho"
    return tuple(
        Case(name, example.mechanism, example.value, example.neighbor, draws=400)
        for name, example in zip(names, SmoothSensitivity.examples(), strict=False)
    )
