"""Several questions under one price."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

from discreet.errors import ParameterError
from discreet.exact import counted, rational, shown
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.privacy import Budget
from discreet.privacy.convert import zcdp_allowance
from discreet.releases.asking.paying import fits, foresee, pay, pay_all, require_room
from discreet.releases.noise.protection import Price, Protection, confident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from discreet.exact import Number
    from discreet.ledgers.purse import Purse
    from discreet.privacy.costs import Amount
    from discreet.releases.asking.question import Question
    from discreet.releases.shell.answer import ShellAnswer
    from discreet.releases.showing.answer import Answer
    from discreet.releases.showing.preview import Preview
    from discreet.releases.showing.shown import ShownAnswer
    from discreet.tables import Policy

    Planner = Callable[[Sequence[Question], Price], "Joint | None"]

__all__ = ["Askable", "Joint", "Questions"]

Thing = TypeVar("Thing")

_PARTS = 10**9
_USUAL = 0.95


class Askable(Protocol):
    """A question, or a statement with several cores, as several of them are asked together.

    >>> hasattr(Askable, "cores")
    True
    """

    @property
    def purse(self) -> Purse:
        """What it is paid from."""

    @property
    def analyst(self) -> str | None:
        """Who asks."""

    @property
    def purpose(self) -> str | None:
        """What for."""

    @property
    def policy(self) -> Policy:
        """What is public about the data."""

    @property
    def cores(self) -> tuple[Question, ...]:
        """What is released for it."""

    def explain(self) -> str:
        """Say what is computed and which numbers get noise."""

    def allowed(self, action: str) -> None:
        """Refuse who may not do this with the tables that it reads."""

    def core(self, place: int, answers: Mapping[int, Answer]) -> Question | None:
        """Give a core that can be released once these others are, by their places; None if it needs more of them."""

    def gathering(self) -> Callable[[Sequence[Answer], Price | None], Answer | ShellAnswer]:
        """Read what is read before anything is paid, and give what makes an answer of the releases of its cores."""

    def gathered(self, previews: Sequence[Preview]) -> Preview:
        """Make its preview of those of its cores."""


class Joint(Protocol):
    """Questions that were planned together: one release answers them all.

    >>> hasattr(Joint, "errors")
    True
    """

    @property
    def promise(self) -> str:
        """What all answers together promise."""

    @property
    def cost(self) -> Amount:
        """What all answers cost together."""

    def errors(self, confidence: float = 0.95) -> list[float]:
        """Return the largest ± of each question."""

    def release(self, key: str = "") -> Sequence[ShownAnswer]:
        """Answer all questions, in their order."""


@dataclass(frozen=True, eq=False, init=False)
class Questions:
    """Questions that share one price; all are paid for together, or none.

    Each gets an equal part, or one in proportion to its weight: errors of different questions have different units, so
    only you can say which matters more. The same question asked twice gets one part, the larger. If you have paid for a
    stored answer that is worth its part, the question is free, and its part goes to the others. If somebody else paid
    for it, you are shown their answer, and what it cost them is charged to your own budgets, not to the dataset's; if
    that is more than the part and one of your budgets has a limit, the question is answered anew. So all questions
    together never charge more than the price, neither to the dataset's budget nor to any other that has a limit.

    Counts of one table that none of this is about, without weights, are planned `together` where that errs less (by the
    product of the ± of all questions): one release answers them all, and their totals agree with their parts.

    Of a price in rho a question with the share w may cost rho w. A price in epsilon is divided in one of two ways, by
    which has less noise: epsilon w and delta w each (basic composition), or, where the ledger counts in zCDP and a
    delta may be used, the largest rho that converts to (epsilon, delta), times w (Bun & Steinke 2016,
    arXiv:1605.02065). The shares add up to 1, so either way all answers together keep the price.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.tables import Column, Policy, Table
    >>> table = Table("t", row_is_unit=True, columns=[Column("x", lower=0, upper=9)])
    >>> asked = ["SELECT COUNT(*) AS n FROM t", "SELECT COUNT(*) AS m FROM t", "SELECT SUM(x) AS s FROM t"]
    >>> with Database(Policy([table], epsilon=9), {"t": pa.table({"x": [1]})}) as db:
    ...     [preview.promise for preview in db.ask_all(asked).preview(epsilon=1)]
    ['ε = 0.5', 'ε = 0.5', 'ε = 0.5']
    """

    questions: tuple[Askable, ...]
    purse: Purse
    together: Planner | None

    def __init__(self, questions: Sequence[Askable], purse: Purse, together: Planner | None = None) -> None:
        if not questions:
            msg = "there are no questions; give at least one."
            raise ParameterError(msg)
        if any(question.purse is not purse for question in questions):
            msg = "a question belongs to another database; ask it there."
            raise ParameterError(msg)
        if len({(question.analyst, question.purpose) for question in questions}) > 1:
            msg = "the questions are of several analysts or purposes; ask those of each by themselves."
            raise ParameterError(msg)
        object.__setattr__(self, "questions", tuple(questions))
        object.__setattr__(self, "purse", purse)
        object.__setattr__(self, "together", together)

    def explain(self) -> str:
        """Say for each question what is computed and which numbers get noise."""
        return "\n\n".join(question.explain() for question in self.questions)

    def preview(  # noqa: PLR0913 - prices and what is known
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        weights: Sequence[Number] | None = None,
        expected_count: int | None = None,
        confidence: float = 0.95,
    ) -> list[Preview]:
        """Say for each question what its part of the price promises, costs and errs by; nothing is read or spent.

        The same question asked again is charged with its first.
        """
        for question in self.questions:
            question.allowed("preview")
        if not self._cores:
            return [question.gathered([]) for question in self.questions]
        previews: list[Preview] = []
        charged: set[str] = set()
        price = Price.read(self._policy, epsilon=epsilon, rho=rho, delta=delta)
        cores, parts = self._divided(price, weights)
        for core, part in zip(cores, parts, strict=True):
            preview = core._preview(part, expected_count, confident(confidence))  # noqa: SLF001 - rights were seen
            previews.append(_shared(preview) if core.plan.key in charged else preview)
            charged.add(core.plan.key)
        joint = self._joint(price, weights, cores, parts)
        if joint is not None:
            return _of_joint(joint, previews, cores[0], confident(confidence))
        return [question.gathered(some) for question, some in zip(self.questions, self._each(previews), strict=True)]

    def release(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        weights: Sequence[Number] | None = None,
        key: str = "",
    ) -> list[ShownAnswer]:
        """Answer all questions for one price, divided by `weights`, one above 0 for each; equally without them.

        With a `key` these questions at this price are charged once, however often they are sent (`Question.release`).
        """
        for question in self.questions:
            question.allowed("release")
        gathering = [question.gathering() for question in self.questions]
        if not self._cores:
            return [gather([], None) for gather in gathering]
        price = Price.read(self._policy, epsilon=epsilon, rho=rho, delta=delta)
        joint = self._joint(price, weights, *self._divided(price, weights))
        if joint is not None:
            return list(joint.release(key))
        # Not their parts: sent again, all questions are answered, and the price would be divided in another way.
        shares = list(zip((core.plan.key for core in self._cores), self._weights(weights), strict=True))
        answers = self._released(price, weights, key, f"{price} for {shares}")
        whole = price if len(self.questions) == 1 else None
        return [gather(some, whole) for gather, some in zip(gathering, self._each(answers), strict=True)]

    def _joint(
        self, price: Price, weights: Sequence[Number] | None, cores: Sequence[Question], parts: Sequence[Price]
    ) -> Joint | None:
        """All questions planned together, if that errs less than each for its part."""
        if self.together is None or weights is not None or len({core.plan.key for core in cores}) < 2:
            return None
        plain = len(cores) == len(self.questions) and price.narrow is None
        if not plain or any(self._is_free(core, part) for core, part in zip(cores, parts, strict=True)):
            return None
        joint = self.together(cores, price)
        if joint is None:
            return None
        alone = [core._preview(part, None, _USUAL).errors for core, part in zip(cores, parts, strict=True)]  # noqa: SLF001 - as above
        apart = [max((error or 0.0 for error in errors.values()), default=0.0) for errors in alone]
        return joint if _size(joint.errors(_USUAL)) < _size(apart) else None

    @cached_property
    def _cores(self) -> tuple[Question, ...]:
        """Everything that is released, in the order of the questions."""
        return tuple(core for question in self.questions for core in question.cores)

    def _each(self, things: Sequence[Thing]) -> list[Sequence[Thing]]:
        """Part what belongs to all cores by their questions."""
        ends = [0, *itertools.accumulate(len(question.cores) for question in self.questions)]
        return [things[start:end] for start, end in itertools.pairwise(ends)]

    def _weights(self, weights: Sequence[Number] | None) -> list[Fraction]:
        """The weight of each core: the cores of one statement share its weight equally, one that it has twice once."""
        given = _weights(weights, len(self.questions))
        counts = [len({core.plan.key for core in question.cores}) for question in self.questions]
        both = zip(self.questions, given, counts, strict=True)
        return [weight / count for question, weight, count in both for _ in question.cores]

    def _released(self, price: Price, weights: Sequence[Number] | None, key: str, request: str) -> list[Answer]:
        """Release all cores; those that hold constants after those that these are released as."""
        cores, parts = self._divided(price, weights)
        protections = [Protection.of(core.recipe, part) for core, part in zip(cores, parts, strict=True)]
        answers: dict[int, Answer] = {}
        while len(answers) < len(cores):
            asked = [(place, core) for place, core in self._next(answers) if place not in answers]
            if len(asked) < len(cores) - len(answers):
                now = {place for place, _ in asked}
                later = [place for place in range(len(cores)) if place not in answers and place not in now]
                require_room(
                    [(core, protections[place]) for place, core in asked],
                    [(cores[place], protections[place]) for place in later],
                )
            # A core with its constants has the noise that was foreseen; if not, that of its own plan is the right one.
            due = [
                (core, protections[place] if core is cores[place] else Protection.of(core.recipe, parts[place]))
                for place, core in asked
            ]
            made = pay_all(due, key, request)
            answers |= {place: answer for (place, _), answer in zip(asked, made, strict=True)}
        return [answers[place] for place in range(len(cores))]

    def _next(self, answers: Mapping[int, Answer]) -> Iterator[tuple[int, Question]]:
        """The cores that can be released now, those that were with their constants."""
        start = 0
        for question in self.questions:
            size = len(question.cores)
            own = {place - start: answer for place, answer in answers.items() if start <= place < start + size}
            for place in range(size):
                core = question.core(place, own)
                if core is not None:
                    yield start + place, core
            start += size

    def protections(self, price: Price) -> list[Protection]:
        """What would protect all cores at equal parts of a price; nothing if some are free: others get their part."""
        cores, parts = self._divided(price, None)
        first = {core.plan.key: (core, part) for core, part in zip(cores, parts, strict=True)}
        if any(self._is_free(core, part) for core, part in first.values()):
            return []
        return [Protection.of(core.recipe, part) for core, part in first.values()]

    @property
    def _policy(self) -> Policy:
        return self.questions[0].policy

    def _divided(self, price: Price, weights: Sequence[Number] | None) -> tuple[list[Question], list[Price]]:
        """Give the cores, with the constants in them that are there for nothing, and the price of each."""
        cores, given = list(self._cores), self._weights(weights)
        parts, free = self._parts(price, cores, given)
        answers: dict[int, Answer] = {}
        while True:
            ready = [place for place, core in self._next(answers) if place in free and place not in answers]
            if not ready or len(self._cores) == len(self.questions):
                break
            answers |= {place: pay(cores[place], Protection.of(cores[place].recipe, parts[place])) for place in ready}
            for place, core in self._next(answers):
                cores[place] = core
            parts, free = self._parts(price, cores, given)
        return cores, parts

    def _parts(
        self, price: Price, cores: Sequence[Question], given: Sequence[Fraction]
    ) -> tuple[list[Price], set[int]]:
        """The price of each core, and the places of those that are free at it; others get the parts of these."""
        weight: dict[str, Fraction] = {}
        for core, own in zip(cores, given, strict=True):
            weight[core.plan.key] = max(weight.get(core.plan.key, own), own)
        first = {core.plan.key: core for core in reversed(cores)}
        parts = self._shared_out(price, first, weight)
        paid = {key: weight[key] for key in weight if not self._is_free(first[key], parts[key])}
        if paid and len(paid) < len(weight):
            parts |= self._shared_out(price, {key: first[key] for key in paid}, paid)
        free = {place for place, core in enumerate(cores) if core.plan.key not in paid}
        return [parts[core.plan.key] for core in cores], free

    @staticmethod
    def _is_free(question: Question, part: Price) -> bool:
        return foresee(question, Protection.of(question.recipe, part)).is_free

    def _shared_out(
        self, price: Price, questions: Mapping[str, Question], weights: Mapping[str, Fraction]
    ) -> dict[str, Price]:
        """Divide a price over different questions, in the way that has less noise."""
        policy = self._policy
        whole = sum(weights.values())
        # Rounded down, so that costs, which ledgers round up to whole units, add up to no more than the price.
        shares = {key: Fraction(math.floor(weight / whole * _PARTS), _PARTS) for key, weight in weights.items()}
        plain = {key: price.part(share, price.delta * share) for key, share in shares.items()}
        if price.epsilon is None or not price.delta or policy.filter not in {"zcdp", "best"} or len(questions) == 1:
            return plain
        if any(not question.plan.aggregate.known for question in questions.values()):
            return plain  # groups are selected with a delta of their own
        budget = Budget(price.epsilon, price.delta, neighbors=policy.budget.neighbors)
        rho = zcdp_allowance(budget, share=1).rho
        divided = {key: Price(None, rho * share, Fraction(0)) for key, share in shares.items()}
        return min(plain, divided, key=lambda parts: _noise(questions, parts))


def _shared(preview: Preview) -> Preview:
    """The preview of a question that another one pays for."""
    charges = {title: charge * 0 for title, charge in preview.charges.items()}
    return replace(preview, cost=charges["dataset"], charges=charges, repeated=True)


def _of_joint(joint: Joint, previews: list[Preview], first: Question, confidence: float) -> list[Preview]:
    """The previews of questions that are answered together: the first is charged for all."""
    charges = dict.fromkeys(previews[0].charges, joint.cost)
    free = {title: charge * 0 for title, charge in charges.items()}
    fitting, usage = fits(first, charges), first.usage(joint.cost)
    found = []
    for place, (preview, error) in enumerate(zip(previews, joint.errors(confidence), strict=True)):
        errors = {name: None if known is None else error for name, known in preview.errors.items()}
        due = free if place else charges
        note = {
            name: f"{error:.4g} at most: all {len(previews)} questions are answered together."
            for name in errors
            if errors[name] is not None
        }
        cost = joint.cost * 0 if place else joint.cost
        found.append(
            replace(
                preview,
                errors=errors,
                notes=preview.notes | note,
                promise=joint.promise,
                cost=cost,
                charges=due,
                repeated=False,
                usage=usage,
                fits=fitting,
            )
        )
    return found


def _size(errors: Sequence[float]) -> float:
    return math.fsum(math.log(max(error, 1e-9)) for error in errors)


def _weights(given: Sequence[Number] | None, count: int) -> list[Fraction]:
    if given is None:
        return [Fraction(1)] * count
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or len(given) != count:
        msg = f"weights is {shown(given)}; it must be a list of {counted(count, 'number')}, one for each question."
        raise ParameterError(msg)
    weights = [rational(weight, name="weights") for weight in given]
    if min(weights) <= 0:
        msg = f"weights is {shown(given)}; each must be above 0: a question without a part of the price has no answer."
        raise ParameterError(msg)
    return weights


def _noise(questions: Mapping[str, Question], parts: Mapping[str, Price]) -> float:
    """The sum over all noises of the logarithm of their error; chosen points have none."""
    protections = [Protection.of(question.recipe, parts[key]) for key, question in questions.items()]
    noises = [noise for protection in protections for noise in protection.noises]
    added = [noise for noise in noises if isinstance(noise, DiscreteLaplace | Gaussian)]
    return math.fsum(math.log(max(noise.error(), 1e-9)) for noise in added)
