"""A thousand yes/no questions for the price of the few that are yes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.ledgers import Session
from discreet.mechanisms import AboveThreshold, Laplace, Release
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.promise import register
from discreet.mechanisms.words import promise_in_words
from discreet.methods.adaptive.kept import Barred, read_name
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation, Pure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction
    from typing import Self, SupportsIndex

    from discreet.exact import Grid, Number
    from discreet.ledgers import Entry, Ledger
    from discreet.mechanisms.adding.grids import Inputs
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Computed", "SparseSession", "SparseVector", "Told"]

Told: TypeAlias = bool | float | None
"""What an answer says: whether it is above the threshold; with numbers the noisy value, or None below."""
Computed: TypeAlias = Callable[[Session], "float | Fraction"]
"""Computes the exact value of a question; it gets the session that has paid, with which rows on loan can be read."""


@register
@dataclass(frozen=True, slots=True, init=False)
class SparseVector:
    r"""Tell of any number of questions whether their answers are above a threshold, until `above` of them were.

    Privacy. The part of epsilon that numbers do not get pays for `AboveThreshold` (Lyu, Su & Li 2017, arXiv:1603.01699,
    Algorithm 7): its noisy threshold is drawn once, and answers below are free. With `numbers`, a share of epsilon, the
    value of each answer above is released as well, with Laplace noise of that share divided by the c answers above:
    each is a release of its own, chosen after the answers before it, so their epsilons add up to the share (Dwork &
    Roth 2014, Theorem 3.16). Nothing of the noise that was compared is used for the numbers.

    `epsilon` is the price of all of it. `monotone` says that for each pair of neighbors all answers move the same way,
    as counts do under add/remove: then half the noise on answers is enough.

    >>> vector = SparseVector(threshold=100, sensitivity=1, epsilon=1, above=3)
    >>> vector.promise, len(vector.release([7] * 1000).value)
    ('ε = 1', 1000)
    """

    kind: ClassVar[str] = "sparse_vector"
    accuracy: ClassVar[str] = AboveThreshold.accuracy
    no_error_because: ClassVar[str] = ""

    core: AboveThreshold
    number: Laplace | None

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        threshold: Number,
        *,
        sensitivity: Number,
        epsilon: Number,
        above: SupportsIndex = 1,
        numbers: Number = 0,
        monotone: bool = False,
        grid: Grid | Number | None = None,
        inputs: Inputs | str = "raw",
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        price = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
        share = rational(numbers, name="numbers")
        if not 0 <= share < 1:
            msg = f"numbers is {shown(numbers)}; it is the share of epsilon for the values above: 0, or less than 1."
            raise ParameterError(msg)
        rest: dict[str, Any] = {"grid": grid, "inputs": inputs, "neighbors": neighbors}
        core = AboveThreshold(
            threshold, sensitivity=sensitivity, epsilon=price * (1 - share), above=above, monotone=monotone, **rest
        )
        rest["grid"] = core.grid
        each = Laplace(sensitivity, epsilon=price * share / core.above, **rest) if share else None
        assign(self, core=core, number=each)

    @property
    def neighbors(self) -> Relation:
        """How neighbors differ."""
        return self.core.neighbors

    @property
    def above(self) -> int:
        """How many answers above it may tell of."""
        return self.core.above

    @property
    def claim(self) -> Pure:
        """Epsilon of the comparisons, and of each number."""
        numbers = 0 if self.number is None else self.above * self.number.claim.epsilon
        return Pure(self.core.epsilon + numbers, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of the whole session."""
        return self.core.privacy if self.number is None else self.core.privacy + self.number.privacy * self.above

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """What it stands on."""
        if self.number is None:
            return self.core.argument
        adds = f"Each of {self.above} numbers adds its own. (Dwork & Roth 2014, Theorem 3.16)"
        return (*self.core.argument, *self.number.argument, adds)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The sensitivity of every question, and that all move the same way."""
        return self.core.assumed

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the ± of a number above; of a comparison, how far from the threshold an answer is told apart.

        That depends on how many were asked until then, as the farthest of all noises counts.
        """
        if self.number is not None and isinstance(value, float):
            return self.number.error_of(value, {}, confidence)
        asked = details.get("place", len(value) if isinstance(value, tuple) else 1)
        return self.core.error(confidence, questions=max(1, int(str(asked))))

    def told(self, value: float | Fraction, bar: int, bits: BitSource) -> tuple[bool, Told]:
        """Compare one value with a noisy threshold; tell whether it is above, and what is shown of it."""
        above = self.core.is_above(value, bar, bits)
        if self.number is None:
            return above, above
        return above, float(self.number.release(value, bits=bits).value) if above else None

    def release(self, value: Iterable[float], *, bits: BitSource = SYSTEM) -> Release[tuple[Told, ...]]:
        """Run through a list of values that the caller holds, until the last answer above that is allowed."""
        bar, left, shown_until = self.core.bar(bits), self.above, []
        for number in value:
            if not left:
                break
            above, told = self.told(number, bar, bits)
            left -= above
            shown_until.append(told)
        return Release(tuple(shown_until), self)

    def open(self, ledger: Ledger, entry: Entry) -> SparseSession:
        """Take the whole price, and begin; or go on with what was begun under this entry's name.

        >>> from discreet.ledgers import Entry, MemoryLedger
        >>> from discreet.tables import Policy
        >>> ledger = MemoryLedger(Policy([], epsilon=50))
        >>> vector = SparseVector(threshold=100, sensitivity=1, epsilon=40)
        >>> with vector.open(ledger, Entry("wards", ("visits",), kind="session")) as session:
        ...     session.ask("ward a", lambda paid: 3).value, session.ask("ward b", lambda paid: 200).value, session.left
        (False, True, 0)
        """
        return SparseSession(self, ledger, entry)

    def record(self) -> dict[str, Any]:
        """Return both parts as a JSON object."""
        number = None if self.number is None else self.number.record()
        return {"kind": self.kind, "core": self.core.record(), "number": number}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        made = object.__new__(cls)
        number = record["number"]
        assign(made, core=AboveThreshold.from_record(record["core"]))
        assign(made, number=None if number is None else Laplace.from_record(number))
        return made


class SparseSession(Barred):
    """A run of `SparseVector` that a ledger keeps: any number of answers below, and so many above.

    >>> SparseSession.ask.__doc__.splitlines()[0]
    'Tell whether one more value is above the threshold; what was asked under this name is shown again.'
    """

    def __init__(self, promise: SparseVector, ledger: Ledger, entry: Entry) -> None:
        super().__init__(promise, promise.core, ledger, entry)
        self.promise = promise

    @property
    def left(self) -> int:
        """How many answers above it may still tell of."""
        told = [answer.value for answer in self.answers]
        # By what they are: a number above may be 0.0, which equals False.
        return self.promise.above - sum(value is not False and value is not None for value in told)

    def ask(self, name: str, value: Computed) -> Release[Told]:
        """Tell whether one more value is above the threshold; what was asked under this name is shown again."""
        before = self.find(read_name(name))
        if before is not None:
            return before
        more = "Open another one under another name, which costs again."
        self.bits(left=self.left, more=more)  # refuses before anything is computed
        exact = value(self.session)
        with self._thread_lock:
            before, left = self.find(name), self.left  # others may have asked meanwhile
            if before is not None:
                return before
            bits = self.bits(left=left, more=more)
            bar = self.bar(bits)
            above, told = self.promise.told(exact, bar, bits)
            details = MappingProxyType({"question": name, "place": len(self.answers) + 1})
            answer = Release(told, self.promise, details)
            return self.keep_under(bar, answer, used_up=False, last=above and left == 1)

    def __repr__(self) -> str:
        asked = len(self.answers)
        return f"SparseSession({self.promise.promise}, {asked} asked, {self.left} of {self.promise.above} above left)"
