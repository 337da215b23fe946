"""One way to audit everything: a mechanism, a question, a training run, a synthesizer, a black box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from discreet.checks.audits.black_box import audit_releases
from discreet.checks.audits.one_run import OneRun, audit_one_run
from discreet.checks.audits.result import Assumed, Audit
from discreet.errors import DiscreetError, ParameterError
from discreet.exact import integer, shown
from discreet.noise import SYSTEM, BitSource
from discreet.privacy.curve import Curve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.checks.audits.black_box import Sampler
    from discreet.checks.audits.one_run import Run
    from discreet.exact import Number
    from discreet.ledgers import Ledger

__all__ = ["Canaries", "audit"]

ONE_BY_ONE = 2_000
AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class Canaries:
    """So many units of the auditor's own making, each in or out of one run by a coin: neighbors for `audit`.

    >>> Canaries(1000).count
    1000
    """

    count: int

    def __post_init__(self) -> None:
        """Refuse too few."""
        integer(self.count, name="count", least=10)


@overload
def audit(
    target: object,
    neighbors: Canaries,
    *,
    claim: Curve | None = ...,
    look: Callable[[Any], object] | None = ...,
    epsilon: Number | None = ...,
    rho: Number | None = ...,
    delta: Number | None = ...,
    draws: int | None = ...,
    confidence: Number = ...,
    assuming: Assumed | str = ...,
    ledger: Ledger | None = ...,
    name: str = ...,
    bits: BitSource = ...,
) -> OneRun: ...


@overload
def audit(
    target: object,
    neighbors: Sequence[Any] | Sampler | None = ...,
    *,
    claim: Curve | None = ...,
    look: Callable[[Any], object] | None = ...,
    epsilon: Number | None = ...,
    rho: Number | None = ...,
    delta: Number | None = ...,
    draws: int | None = ...,
    confidence: Number = ...,
    assuming: Assumed | str = ...,
    ledger: Ledger | None = ...,
    name: str = ...,
    bits: BitSource = ...,
) -> Audit: ...


def audit(  # noqa: PLR0913  all but what is audited on what are named
    target: Any,
    neighbors: Any = None,
    *,
    claim: Curve | None = None,
    look: Callable[[Any], object] | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    draws: int | None = None,
    confidence: Number = "0.95",
    assuming: Assumed | str = Assumed.NOTHING,
    ledger: Ledger | None = None,
    name: str = "",
    bits: BitSource = SYSTEM,
) -> Audit | OneRun:
    """Attack a claim about a target, from outside, with what it releases on neighbors.

    | target | neighbors | claim |
    | --- | --- | --- |
    | a mechanism, or anything with `.privacy` and `.release(value, bits=…)` | two inputs, `(x, x')` | its own |
    | a question of a database, with `epsilon=` or `rho=`, its price | none: made up from the policy | its promise |
    | a black box: a function of the data, such as a synthesizer or a training | two inputs | yours |
    | a function that releases many times at once on one input | the same on the other input | yours |
    | a function of the canaries' coins and bits, which scores them after one run | `Canaries(1000)` | yours |

    `look` says what of each output is looked at: a number, a text, or numbers in a row; without it, the output itself.
    Looking at less can only hide a loss. With `ledger` the result is kept there, beside what was claimed.

    >>> import discreet.privacy as p
    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.noise import discrete_laplace
    >>> audit(DiscreteLaplace(1, epsilon=2), (0, 1), claim=p.pure(epsilon=1), confidence="0.999").refuted
    True
    >>> audit(lambda data: sum(data), ([1, 1], [1, 1, 1]), claim=p.pure(epsilon=1), draws=400).refuted
    True
    >>> noisy = lambda coins, bits: coins + discrete_laplace(1, coins.size, bits)
    >>> audit(noisy, Canaries(500), claim=p.pure(epsilon=1), confidence="0.999999999").refuted
    False
    """
    from discreet.releases import Question, ShellQuestion

    asked = isinstance(target, Question | ShellQuestion)
    one_at_a_time = not asked and not isinstance(neighbors, Canaries) and not callable(neighbors)
    if look is not None and not one_at_a_time:
        msg = "look is for targets that release one output at a time; look at it inside the target."
        raise ParameterError(msg)
    held: dict[str, Any] = {"confidence": confidence, "assuming": assuming, "name": name, "bits": bits}
    found: Audit | OneRun
    if asked:
        found = _question(target, neighbors, claim, epsilon, rho, delta, draws, held)
    else:
        if epsilon is not None or rho is not None:
            msg = "epsilon and rho are prices of a question; hold other targets to a claim, such as p.pure(epsilon=1)."
            raise ParameterError(msg)
        own = getattr(target, "privacy", None) if hasattr(target, "release") else None
        held |= {"claim": _claim(claim, own), "delta": 0 if delta is None else delta}
        if isinstance(neighbors, Canaries):
            found = audit_one_run(cast("Run", _named(target, "run")), neighbors.count, **held)
        elif callable(neighbors):
            found = audit_releases(target, neighbors, draws=AT_ONCE if draws is None else draws, **held)
        else:
            found = _on_two(target, neighbors, look, ONE_BY_ONE if draws is None else draws, held)
    if ledger is not None:
        found.keep(ledger)
    return found


def _question(  # noqa: PLR0913, PLR0917 - as they come
    question: Any,  # noqa: ANN401
    neighbors: object,
    claim: Curve | None,
    epsilon: Number | None,
    rho: Number | None,
    delta: Number | None,
    draws: int | None,
    held: dict[str, Any],
) -> Audit:
    from discreet.checks.audits.questions import DRAWS, audit_question

    if neighbors is not None or Assumed(held["assuming"]) is not Assumed.NOTHING:
        msg = "a question is audited on tables made up from its policy; leave neighbors and assuming out."
        raise ParameterError(msg)
    return audit_question(
        question,
        epsilon=epsilon,
        rho=rho,
        delta=delta,
        claim=claim,
        draws=DRAWS if draws is None else draws,
        confidence=held["confidence"],
        name=held["name"],
        bits=held["bits"],
    )


def _claim(claim: Curve | None, own: Curve | None) -> Curve:
    if claim is None and own is None:
        msg = "claim is missing, and the target makes none of its own; say what it promises, such as p.pure(epsilon=1)."
        raise ParameterError(msg)
    held = own if claim is None else claim
    if not isinstance(held, Curve):
        msg = f"claim is {shown(held)}; it must be a curve, such as p.pure(epsilon=1) of discreet.privacy."
        raise ParameterError(msg)
    return held


def _on_two(
    target: Any,  # noqa: ANN401
    neighbors: object,
    look: Callable[[Any], object] | None,
    draws: int,
    held: dict[str, Any],
) -> Audit:
    """Release once at a time, on either of two inputs."""
    if not isinstance(neighbors, tuple | list) or len(neighbors) != 2:
        msg = (
            f"neighbors is {shown(neighbors)}; it must be two inputs that differ in one unit, (x, x'), the same target "
            "on the other input, or Canaries(1000)."
        )
        raise ParameterError(msg)
    if not hasattr(target, "release") and not callable(target):
        msg = f"target is {shown(target)}; it must be a question, have .release(value, bits=…), or be a function."
        raise ParameterError(msg)

    def release(value: object, count: int, bits: BitSource) -> NDArray[Any]:
        if not hasattr(target, "release"):
            return _seen([target(value) for _ in range(count)], look)
        return _seen([target.release(value, bits=bits).value for _ in range(count)], look)

    inputs = [
        _named(lambda count, bits, value=value: release(value, count, bits), f"the target, on the {order} input,")
        for value, order in zip(neighbors, ("first", "second"), strict=True)
    ]
    return audit_releases(*inputs, draws=draws, **held)


def _named(run: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Say whose error it is, where a function of the caller's raises one."""

    def named(*given: Any) -> Any:  # noqa: ANN401
        try:
            return run(*given)
        except DiscreetError:
            raise
        except Exception as error:
            msg = (
                f"{what} raised {type(error).__name__}; an audit needs an output each time. If not answering is an "
                "answer, return None."
            )
            raise ParameterError(msg) from error

    return named


def _seen(outputs: Sequence[Any], look: Callable[[Any], object] | None) -> NDArray[Any]:
    """Make outputs an array: numbers, None as nan; rows of equally many numbers; anything else as text."""
    looked: list[Any] = [output if look is None else look(output) for output in outputs]
    looked = [[*output.values()] if isinstance(output, Mapping) else output for output in looked]
    if all(output is None or isinstance(output, bool | int | float | np.number) for output in looked):
        return np.array([np.nan if output is None else output for output in looked], dtype=np.float64)
    if not any(isinstance(output, str) or output is None for output in looked):
        try:
            rows = np.array([np.asarray(output, dtype=np.float64).ravel() for output in looked])
        except (TypeError, ValueError):
            pass
        else:
            return rows
    return np.array([str(output) for output in looked])
