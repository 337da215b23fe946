"""`discreet calibrate`: how much noise a promise needs."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.apps.cli.options import (
    Delta,
    Json,
    Plot,
    Sensitivity,
    draw,
    naming_options,
    number_option,
    print_json,
    print_lines,
)
from discreet.errors import ParameterError

__all__ = ["SECTION", "app"]

SECTION = "Calculate"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Find the least noise that keeps a promise.\n\nExample: discreet calibrate gaussian --epsilon 1 --delta 1e-5",
)

Epsilon = Annotated[str, number_option("The epsilon to keep.")]


@app.command()
def gaussian(
    *,
    epsilon: Epsilon,
    delta: Delta,
    sensitivity: Sensitivity = "1",
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """The smallest sigma of Gaussian noise.

    Example: discreet calibrate gaussian --epsilon 1 --delta 1e-5
    """
    from discreet.privacy.calibration import gaussian_sigma
    from discreet.privacy.curves import gaussian as build

    with naming_options(["epsilon", "delta", "sensitivity"]):
        sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    if plot is not None:
        draw(build(sigma, sensitivity=sensitivity), plot)
    _answer("sigma", sigma, as_json=as_json)


@app.command()
def laplace(
    *,
    epsilon: Epsilon,
    delta: Delta = "0",
    sensitivity: Sensitivity = "1",
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """The smallest scale of Laplace noise.

    Example: discreet calibrate laplace --epsilon 0.1
    """
    from discreet.privacy.calibration import laplace_scale

    with naming_options(["epsilon", "delta", "sensitivity"]):
        scale = laplace_scale(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    if plot is not None:
        from discreet.privacy.curves import laplace as build

        draw(build(scale, sensitivity=sensitivity), plot)
    _answer("scale", scale, as_json=as_json)


@app.command()
def dpsgd(
    *,
    epsilon: Epsilon,
    delta: Delta,
    sigma: Annotated[str | None, number_option("The noise multiplier.")] = None,
    rate: Annotated[str | None, number_option("The public sampling rate.")] = None,
    steps: Annotated[int | None, typer.Option(metavar="COUNT", help="The number of steps.")] = None,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """DP-SGD: leave out one of --sigma, --rate and --steps, and it is found.

    Example: discreet calibrate dpsgd --epsilon 2 --delta 1e-6 --rate 0.01 --steps 10000
    """
    with naming_options(["epsilon", "delta", "sigma", "rate", "steps"]):
        name, value = _solve(epsilon, delta, sigma, rate, steps)
    if plot is not None:
        from discreet.privacy.curves import gaussian as build

        draw(build(sigma or value).subsample(rate or value) * int(steps or value), plot)
    _answer(name, value, as_json=as_json)


def _solve(epsilon: str, delta: str, sigma: str | None, rate: str | None, steps: int | None) -> tuple[str, float]:
    """Find the one number that was left out."""
    from discreet.privacy.calibration import dpsgd_noise, dpsgd_rate, dpsgd_steps

    if sigma is None and rate is not None and steps is not None:
        return "sigma", dpsgd_noise(epsilon=epsilon, delta=delta, rate=rate, steps=steps)
    if rate is None and sigma is not None and steps is not None:
        return "rate", dpsgd_rate(epsilon=epsilon, delta=delta, sigma=sigma, steps=steps)
    if steps is None and sigma is not None and rate is not None:
        return "steps", dpsgd_steps(epsilon=epsilon, delta=delta, rate=rate, sigma=sigma)
    message = "give exactly two of --sigma, --rate and --steps; the third is what will be found."
    raise ParameterError(message)


def _answer(name: str, value: float, *, as_json: bool) -> None:
    """Print the number that was found, in full: a rounded one might not keep the promise."""
    if as_json:
        print_json({name: value})
    else:
        print_lines({name: f"{value:,}" if isinstance(value, int) else repr(value).removesuffix(".0")})
