"""What `query` and `preview` share: a question behind a policy, with its price."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import update_wrapper
from typing import TYPE_CHECKING

from discreet.apps.cli.opening import Analyst, PolicyFile, Purpose, Question, open_database
from discreet.apps.cli.prices import Confidence, Epsilon, ReleaseDelta, Rho, Within, price

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.apps.cli.prices import Price
    from discreet.database import Database

__all__ = ["QuestionOptions", "asking"]


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """A question of the command line: where, what, for how much, by whom and what for.

    >>> from pathlib import Path
    >>> named = price(epsilon="1", rho=None, delta=None, confidence=0.9)
    >>> QuestionOptions(Path("hospital.toml"), "SELECT 1", named).confidence
    0.9
    """

    policy: Path
    sql: str
    price: Price
    analyst: str | None = None
    purpose: str | None = None

    @property
    def confidence(self) -> float:
        """With which chance each ± holds."""
        return self.price["confidence"]

    def open(self) -> Database:
        """Open the database behind the policy for who asks."""
        return open_database(self.policy, self.analyst, self.purpose)


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments and options of a question, as one value before its own options.

    >>> @asking
    ... def ask(asked: QuestionOptions, *, loud: bool = False) -> None: ...
    >>> [*inspect.signature(ask).parameters][:3], "loud" in inspect.signature(ask).parameters
    (['policy', 'sql', 'epsilon'], True)
    """

    def run(  # noqa: PLR0913 - each is an option
        policy: PolicyFile,
        sql: Question,
        *,
        epsilon: Epsilon = None,
        rho: Rho = None,
        delta: ReleaseDelta = None,
        within: Within = None,
        analyst: Analyst = None,
        purpose: Purpose = None,
        confidence: Confidence = 0.95,
        **own: object,
    ) -> None:
        named = price(epsilon=epsilon, rho=rho, delta=delta, within=within, confidence=confidence)
        command(QuestionOptions(policy, sql, named, analyst, purpose), **own)

    shared = list(inspect.signature(run, eval_str=True).parameters.values())[:-1]
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    update_wrapper(run, command)
    run.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]  # what inspect reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*shared, *own)}
    return run
