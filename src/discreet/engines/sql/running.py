"""What engines that speak SQL do alike: prepare statements, run them in one snapshot, keep errors to themselves."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeAlias

from discreet.engines.aggregates import Aggregates
from discreet.engines.loan import Loan
from discreet.engines.sql.checks import Declared, declared_facts, most_alike
from discreet.engines.sql.lending import lent_rows, lent_text
from discreet.engines.sql.statements import Statements
from discreet.errors import EngineError, ParameterError, TimeLimitError
from discreet.exact import integer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.engines.engine import Prepared
    from discreet.engines.sql.columns import Columns
    from discreet.engines.sql.relations import Emitter
    from discreet.ledgers import Ledger
    from discreet.plans import Extract
    from discreet.plans.nodes import Aggregate, Node
    from discreet.tables import Policy

__all__ = ["Results", "SQLEngine"]

Results: TypeAlias = "list[Columns]"


class SQLEngine(ABC):
    """An engine that speaks SQL; a subclass opens the connection and runs texts."""

    _emitter: Emitter

    def __init__(self, policy: Policy, seconds: int | None = None) -> None:
        self._lock = threading.RLock()
        self._seconds = integer(policy.seconds if seconds is None else seconds, name="seconds", least=1, most=10**6)
        self._expired = False
        self.policy_hash = policy.hash

    @abstractmethod
    def _results(self, *questions: Sequence[str]) -> Results | None:
        """Run the texts of questions in one snapshot, each question within its own time; give all results in order.

        None if one fails, as the engine's message may quote private values. Of a failure it is known only whether it
        was the end of the time, `_expired`.
        """

    def _store(self, node: Node) -> bool:  # noqa: ARG002 - most engines store nothing
        """Store what a plan needs and is not stored; False if the engine failed."""
        return True

    def _few(self, node: Node) -> bool:  # noqa: ARG002 - most engines do not know
        """Tell whether a plan reads so few rows that what orders their cells takes longer than to read all of them."""
        return False

    def alive(self) -> bool:
        """Tell whether the source answers, without looking at data."""
        with self._lock:
            return self._results(["SELECT 1"]) is not None

    def prepare(self, aggregate: Aggregate) -> Question:
        """Write the statements for a plan's aggregate, or refuse it."""
        return Question(self, Statements.of(aggregate, self._emitter))

    def run(self, questions: Sequence[Prepared]) -> list[Aggregates]:
        """Compute questions that were prepared here in one snapshot, each within its own time; all, or none."""
        asked = [self._prepared(question) for question in questions]
        with self._lock:
            counted = [each.has_cells and self._few(each.aggregate.child) for each in asked]
            texts = [each.parts if few else each.texts for each, few in zip(asked, counted, strict=True)]
            left = iter(self._read([each.aggregate.child for each in asked], texts))
        exact = []
        for statements, some, few in zip(asked, texts, counted, strict=True):
            read = statements.read([next(left) for _ in some], counted=few)
            exact.append(Aggregates(statements.aggregate, *read))  # type: ignore[arg-type]  # of the declared kinds
        return exact

    def _read(self, nodes: Sequence[Node], questions: Sequence[Sequence[str]]) -> Results:
        """Store what plans need, and run their texts; of a failure it is said only whether the time was over."""
        with self._lock:
            self._expired = False
            results = self._results(*questions) if all(map(self._store, nodes)) else None
            late = results is None and self._expired
        if late:
            raise TimeLimitError(self._seconds)
        if results is None:
            msg = (
                f"{type(self).__name__} could not compute the question. Nothing is said about why, as the reason could "
                "depend on private rows; the owner finds it by checking the connection, memory, disk and files."
            )
            raise EngineError(msg)
        return results

    def _prepared(self, question: Prepared) -> Statements:
        """Give the statements that were written here."""
        if not isinstance(question, Question) or question._engine is not self:  # noqa: SLF001 - of this module
            msg = "the question was prepared by another engine; ask it there."
            raise ParameterError(msg)
        return question._statements  # noqa: SLF001 - of this module

    def lend(self, extract: Extract, ledger: Ledger, analyst: str | None = None, purpose: str | None = None) -> Loan:
        """Write the statement for rows, or refuse them; they are read against a reservation of the ledger."""
        text = lent_text(extract, self._emitter)

        def rows() -> BoundedRows:
            return lent_rows(extract, self._read([extract.node], [[text]])[0])

        return Loan(extract, ledger, rows, self.alive, (analyst, purpose))

    def verify(self, policy: Policy) -> dict[Declared, bool]:
        """Tell which declared facts hold in the stored rows: the owner's check, and never an analyst's.

        Each answer is one exact bit about private rows, so nothing of it may depend on who asks a question or reach
        whoever does.
        """
        facts = declared_facts(policy)
        texts = [most_alike(policy.table(fact.table), fact.columns, self._emitter) for fact in facts]
        with self._lock:
            results = self._results(texts)
        if results is None:
            msg = f"{type(self).__name__} could not read all rows; check the connection, memory, disk and files."
            raise EngineError(msg)
        return {fact: int(str(rows[0][0] or 0)) <= fact.most for fact, rows in zip(facts, results, strict=True)}

    def drop_ranks(self) -> None:  # noqa: B027 - most engines store none
        """Forget stored ranks."""

    @abstractmethod
    def close(self) -> None:
        """Close the source and remove temporary storage."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        """Refuse to be stored: an engine holds a key and a connection."""
        msg = "an engine cannot be pickled."
        raise TypeError(msg)


class Question:
    """The statements of one question, for one engine."""

    __slots__ = ("_engine", "_statements")

    def __init__(self, engine: SQLEngine, statements: Statements) -> None:
        self._engine = engine
        self._statements = statements

    def run(self) -> Aggregates:
        """Compute the exact answers."""
        return self._engine.run([self])[0]

    def near(self, aggregate: Aggregate) -> Question:
        """Read fewer cells."""
        return Question(self._engine, self._statements.near(aggregate))

    def __repr__(self) -> str:
        """Show nothing: the statements hold the key of the ranks."""
        return "Question(…)"
