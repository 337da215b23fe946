"""`discreet account`: what repeated mechanisms promise together."""

from __future__ import annotations

import inspect
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
    naming_options,
    number_option,
    print_json,
    print_lines,
)
from discreet.errors import ParameterError
from discreet.exact import integer, rational
from discreet.exact.rational import cost_text, read_delta
from discreet.privacy.curve import MOST_COMPOSITIONS, Curve
from discreet.privacy.relations import NeighborRelation  # noqa: TC001  likewise

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction
    from pathlib import Path

    from discreet.privacy.composition import Comparison

__all__ = ["SECTION", "app"]

SECTION = "Calculate"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Compose a mechanism with itself and print the certified epsilon.\n\n"
    "Example: discreet account gaussian --sigma 1 --rate 0.01 --steps 1000 --delta 1e-5",
)

Scale = Annotated[str, number_option("The scale of the noise.")]
Sigma = Annotated[str, number_option("The standard deviation of the noise.")]
Epsilon = Annotated[str, number_option("The epsilon of one run.")]
Compare = Annotated[bool, typer.Option("--compare", help="Show what each composition theorem gives.")]


def _common(
    *,
    delta: Delta = "0",
    rate: Rate = "1",
    steps: Steps = 1,
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    compare: Compare = False,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Hold the options that every mechanism has."""


def _command(build: Callable[..., Curve]) -> None:
    """Make a command of a function that builds a curve from its own options; the common ones are added."""
    own = inspect.signature(build, eval_str=True).parameters
    common = inspect.signature(_common, eval_str=True).parameters

    def run(
        *,
        delta: str,
        rate: str,
        steps: int,
        neighbors: Neighbors,
        compare: bool,
        as_json: bool,
        plot: Path | None,
        **options: str,
    ) -> None:
        with naming_options([*options, "delta", "rate", "steps"]):
            curve = build(neighbors=neighbors.relation, **options)
            _account(_sampled(curve, rate, neighbors), steps, delta, compare=compare, as_json=as_json, plot=plot)

    joined = {**{name: option for name, option in own.items() if name != "neighbors"}, **common}
    if "sigma" in own:  # Gaussian noise keeps no promise without a delta, so none is assumed
        joined["delta"] = common["delta"].replace(default=inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(list(joined.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: option.annotation for name, option in joined.items()}
    run.__name__, run.__doc__ = build.__name__, build.__doc__
    app.command()(run)


@_command
def gaussian(*, sigma: Sigma, sensitivity: Sensitivity = "1", neighbors: NeighborRelation) -> Curve:
    """Gaussian noise, also on samples (DP-SGD).

    Example: discreet account gaussian --sigma 1 --rate 0.01 --steps 1000 --delta 1e-5
    """
    from discreet.privacy.curves import gaussian as build

    return build(sigma, sensitivity=sensitivity, neighbors=neighbors)


@_command
def discrete_gaussian(*, sigma: Sigma, sensitivity: Sensitivity = "1", neighbors: NeighborRelation) -> Curve:
    """Discrete Gaussian noise on integers.

    Example: discreet account discrete-gaussian --sigma 2 --steps 10 --delta 1e-6
    """
    from discreet.privacy.curves import discrete_gaussian as build

    return build(sigma, sensitivity=_whole(sensitivity), neighbors=neighbors)


@_command
def laplace(*, scale: Scale, sensitivity: Sensitivity = "1", neighbors: NeighborRelation) -> Curve:
    """Laplace noise.

    Example: discreet account laplace --scale 10 --steps 100 --delta 1e-6
    """
    from discreet.privacy.curves import laplace as build

    return build(scale, sensitivity=sensitivity, neighbors=neighbors)


@_command
def discrete_laplace(*, scale: Scale, sensitivity: Sensitivity = "1", neighbors: NeighborRelation) -> Curve:
    """Discrete Laplace (geometric) noise on integers.

    Example: discreet account discrete-laplace --scale 10 --steps 100 --delta 1e-6
    """
    from discreet.privacy.curves import discrete_laplace as build

    return build(scale, sensitivity=_whole(sensitivity), neighbors=neighbors)


@_command
def randomized_response(*, epsilon: Epsilon, neighbors: NeighborRelation) -> Curve:
    """Randomized response with a yes or no.

    Example: discreet account randomized-response --epsilon 1.0986 --steps 10
    """
    from discreet.privacy.curves import randomized_response as build

    return build(epsilon, neighbors=neighbors)


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

    curve = single * integer(steps, name="steps", least=0, most=MOST_COMPOSITIONS)
    chance = read_delta(delta)
    lower, upper = curve.interval(chance)
    finite = upper < float("inf")
    accuracy = attacker_accuracy(curve)
    table = _compared(single, steps, chance) if compare else None
    if plot is not None:
        draw(curve, plot)
    if as_json:
        ends = {"epsilon": upper, "lower": lower} if finite else {"epsilon": None, "lower": None}
        rows = {} if table is None else {"comparison": _records(table)}
        print_json({**ends, "delta": _number(chance, delta), "steps": steps, "accuracy": accuracy, **rows})
        return
    lines = {
        "epsilon": cost_text(upper, 9) if finite else "none: no finite epsilon at this delta",
        "certified": f"{lower!r} to {upper!r}",
        "delta": delta,
        "attacker": f"right in at most {cost_text(100 * accuracy, 4)} % of guesses at even odds",
    }
    print_lines(lines if finite else {name: lines[name] for name in ("epsilon", "delta", "attacker")})
    if table is not None:
        typer.echo(f"\n{table}")


def _compared(single: Curve, steps: int, chance: Fraction) -> Comparison:
    """Set the theorems side by side."""
    from discreet.privacy.composition import compare

    return compare(single, steps, chance)


def _records(table: Comparison) -> list[dict[str, object]]:
    """Write the comparison for a program; where a theorem does not apply, epsilon is null and the reason says why."""
    return [
        {"name": row.name, "epsilon": row.epsilon, "source": row.source, "reason": row.reason} for row in table.rows
    ]


def _number(value: Fraction, text: str) -> float | str:
    """Write a number for a program: one below all floats as the text that was given, never as 0."""
    return float(value) if value == 0 or float(value) > 0 else text
