"""`discreet account`: what repeated mechanisms promise together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.apps.cli.options import (
    Delta,
    Json,
    Neighbors,
    Plot,
    Rate,
    Sensitivity,
    Steps,
    draw,
    print_json,
    print_lines,
)
from discreet.errors import ParameterError
from discreet.exact import rational
from discreet.privacy.readings import cost_text, read_delta

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.privacy.curve import Curve

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="Compose a mechanism with itself and print the certified epsilon.\n\n"
    "Example: discreet account gaussian --sigma 1 --rate 0.01 --steps 1000 --delta 1e-5",
)

Scale = Annotated[str, typer.Option(metavar="NUMBER", help="The scale of the noise.")]
Sigma = Annotated[str, typer.Option(metavar="NUMBER", help="The standard deviation of the noise.")]
Epsilon = Annotated[str, typer.Option(metavar="NUMBER", help="The epsilon of one run.")]
Compare = Annotated[bool, typer.Option("--compare", help="Show what each composition theorem gives.")]


@app.command()
def gaussian(
    *,
    sigma: Sigma,
    delta: Delta,
    rate: Rate = "1",
    steps: Steps = 1,
    sensitivity: Sensitivity = "1",
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    compare: Compare = False,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Gaussian noise, also on samples (DP-SGD).

    Example: discreet account gaussian --sigma 1 --rate 0.01 --steps 1000 --delta 1e-5
    """
    from discreet.privacy.curves import gaussian as build

    curve = build(sigma, sensitivity=sensitivity, neighbors=neighbors.relation)
    _account(_sampled(curve, rate, neighbors), steps, delta, compare=compare, as_json=as_json, plot=plot)


@app.command()
def discrete_gaussian(
    *,
    sigma: Sigma,
    delta: Delta,
    rate: Rate = "1",
    steps: Steps = 1,
    sensitivity: Sensitivity = "1",
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    compare: Compare = False,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Discrete Gaussian noise on integers.

    Example: discreet account discrete-gaussian --sigma 2 --steps 10 --delta 1e-6
    """
    from discreet.privacy.curves import discrete_gaussian as build

    curve = build(sigma, sensitivity=_whole(sensitivity), neighbors=neighbors.relation)
    _account(_sampled(curve, rate, neighbors), steps, delta, compare=compare, as_json=as_json, plot=plot)


@app.command()
def laplace(
    *,
    scale: Scale,
    delta: Delta = "0",
    rate: Rate = "1",
    steps: Steps = 1,
    sensitivity: Sensitivity = "1",
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    compare: Compare = False,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Laplace noise.

    Example: discreet account laplace --scale 10 --steps 100 --delta 1e-6
    """
    from discreet.privacy.curves import laplace as build

    curve = build(scale, sensitivity=sensitivity, neighbors=neighbors.relation)
    _account(_sampled(curve, rate, neighbors), steps, delta, compare=compare, as_json=as_json, plot=plot)


@app.command()
def discrete_laplace(
    *,
    scale: Scale,
    delta: Delta = "0",
    rate: Rate = "1",
    steps: Steps = 1,
    sensitivity: Sensitivity = "1",
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    compare: Compare = False,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Discrete Laplace (geometric) noise on integers.

    Example: discreet account discrete-laplace --scale 10 --steps 100 --delta 1e-6
    """
    from discreet.privacy.curves import discrete_laplace as build

    curve = build(scale, sensitivity=_whole(sensitivity), neighbors=neighbors.relation)
    _account(_sampled(curve, rate, neighbors), steps, delta, compare=compare, as_json=as_json, plot=plot)


@app.command()
def randomized_response(
    *,
    epsilon: Epsilon,
    delta: Delta = "0",
    rate: Rate = "1",
    steps: Steps = 1,
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    compare: Compare = False,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Randomized response with a yes or no.

    Example: discreet account randomized-response --epsilon 1.0986 --steps 10
    """
    from discreet.privacy.curves import randomized_response as build

    curve = build(epsilon, neighbors=neighbors.relation)
    _account(_sampled(curve, rate, neighbors), steps, delta, compare=compare, as_json=as_json, plot=plot)


def _whole(sensitivity: str) -> int:
    """Read the sensitivity of an integer-valued answer."""
    number = rational(sensitivity, name="--sensitivity")
    if number.denominator != 1:
        message = f"--sensitivity is {sensitivity}; noise on integers needs a whole number."
        raise ParameterError(message)
    return number.numerator


def _sampled(curve: Curve, rate: str, neighbors: Neighbors) -> Curve:
    """Run the curve on a sample: Poisson under add/remove, of fixed size under change-one."""
    from discreet.privacy.curves import FixedSize, Poisson

    return curve.subsample(rate, scheme=Poisson if neighbors is Neighbors.ADD_REMOVE else FixedSize)


def _account(single: Curve, steps: int, delta: str, *, compare: bool, as_json: bool, plot: Path | None) -> None:
    """Compose, and answer."""
    from discreet.privacy.meanings import attacker_accuracy

    curve = single * steps
    chance = read_delta(delta)
    lower, upper = curve.interval(chance)
    finite = upper < float("inf")
    accuracy = attacker_accuracy(curve)
    if plot is not None:
        draw(curve, plot)
    if as_json:
        ends = {"epsilon": upper, "lower": lower} if finite else {"epsilon": None, "lower": None}
        print_json({**ends, "delta": float(chance), "steps": steps, "accuracy": accuracy})
        return
    rows = {
        "epsilon": cost_text(upper, 9) if finite else "none: no finite epsilon at this delta",
        "certified": f"{lower!r} to {upper!r}",
        "delta": delta,
        "attacker": f"right in at most {cost_text(100 * accuracy, 4)} % of guesses at even odds",
    }
    print_lines(rows if finite else {name: rows[name] for name in ("epsilon", "delta", "attacker")})
    if compare:
        from discreet.privacy.composition import compare as side_by_side

        typer.echo(f"\n{side_by_side(single, steps, chance)}")
