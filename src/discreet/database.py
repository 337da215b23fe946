"""The façade: a database is a policy, the data behind it, and the budget that questions are paid from."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from discreet.engines import open_engine
from discreet.errors import ParameterError, PolicyError
from discreet.exact import shown
from discreet.ledgers import open_ledger
from discreet.ledgers.records import require_analyst, require_purpose
from discreet.plans import Desk, Frame
from discreet.plans import table as plan_table
from discreet.plans.shell import Shell, read_sql
from discreet.releases import Question, Questions
from discreet.releases.shell import ShellQuestion
from discreet.releases.shell.tables import kind_of
from discreet.releases.showing.description import Description
from discreet.tables import Policy
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self, SupportsIndex

    from discreet.engines import Loan
    from discreet.exact import Number
    from discreet.ledgers import Ledger, Statement
    from discreet.mechanisms import Release
    from discreet.methods.adaptive.watching import Watching
    from discreet.methods.streaming.table_stream import TableStream
    from discreet.methods.synthesis import SyntheticModel
    from discreet.methods.workloads.questions import WorkloadQuestion
    from discreet.methods.workloads.together import Together
    from discreet.plans import Bounding, Extract, Plan
    from discreet.privacy.costs import Amount
    from discreet.releases.noise.protection import Price

__all__ = ["Database", "open"]


class Database:
    """Tables behind a policy; every answer is protected and paid for.

    `source` is whatever `discreet.engines.open_engine` opens: a mapping of tables to data frames, a folder of CSV or
    Parquet files, a DuckDB file, a PostgreSQL or Spark address. Without it, the policy's own. `ledger` keeps the
    budget: a `Ledger`, a path, `postgresql://…` or `"memory"`. Without one it is the policy's (`[ledger] url`); a
    policy that comes from no file and names no ledger is kept in memory, and opening the data again starts its budget
    anew. Whoever hands out answers gives a durable one; `discreet.open` does, and refuses a policy file whose
    `[ledger] url` is "memory". `analyst` is whose rights and budget count, `purpose` what the answers are for.

    >>> import pyarrow as pa
    >>> from discreet.plans import aggregates as agg
    >>> from discreet.tables import Column, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=2, columns=[Column("ward", keys=["a", "b"])])
    >>> data = pa.table({"id": range(900), "ward": ["a"] * 900})
    >>> with Database(Policy([visits], epsilon=100), {"visits": data}) as db:
    ...     asked = db.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    ...     built = db.table("visits").group_by("ward").agg(n=agg.count())
    ...     asked.plan.key == built.plan.key, asked.release(epsilon=99).to_dicts()
    (True, [{'ward': 'a', 'n': 900}, {'ward': 'b', 'n': 0}])
    """

    def __init__(  # noqa: PLR0913 - each is a thing of its own
        self,
        policy: Policy,
        source: object = None,
        *,
        ledger: str | Path | Ledger | None = None,
        analyst: str | None = None,
        purpose: str | None = None,
        file: str | Path | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            msg = f"policy is {shown(policy)}; it must be a Policy. To read a file: discreet.open('hospital.toml')."
            raise ParameterError(msg)
        _require_rights(policy, analyst, purpose)
        self._analyst = analyst
        self._purpose = purpose
        self._engine = open_engine(policy, source, relative_to=None if file is None else Path(file).parent)
        try:
            self._ledger = open_ledger(policy, ledger, file=file, source=source)
        except BaseException:
            self._engine.close()
            raise
        read = {table.name: table.columns for table in self._engine.policy.tables if table.unstated}
        # By the filter and the certificates that the ledger was created with, and the public columns that are there.
        self._policy = self._ledger.policy.with_columns(read)
        self._owns_engine, self._owns_ledger = True, self._ledger is not ledger
        # The ledger refuses questions that rely on a check which was withdrawn later.
        self._verified = self._ledger.verified

    @property
    def policy(self) -> Policy:
        """What is public about the data."""
        return self._policy

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that may be asked about; `describe` says what can be asked of them."""
        return self.describe().tables

    def describe(self) -> Description:
        """List the tables and columns, and what can be asked of them: print it, or show it in a notebook.

        >>> import pyarrow as pa
        >>> from discreet.tables import Column, Table
        >>> table = Table("t", row_is_unit=True, columns=[Column("x", lower=0, upper=9)])
        >>> with Database(Policy([table], epsilon=9), {"t": pa.table({"x": [1]})}) as db:
        ...     db.tables, db.describe().to_dict()["tables"]["t"]["ask"]
        (('t',), {'x': ['SUM', 'AVG', 'MEDIAN', 'HISTOGRAM', 'GROUP BY']})
        """
        return Description(self._policy, self._analyst)

    @property
    def remaining(self) -> Amount:
        """What may still be spent in one piece, by this analyst for this purpose, in the currency of the filter."""
        return self._ledger.remaining_for(self._analyst, self._purpose)

    @property
    def ledger(self) -> Ledger:
        """The ledger: give it to whatever else spends on the same data."""
        return self._ledger

    @property
    def budget(self) -> Statement:
        """What is spent and left, and by whom: print it, show it in a notebook, `.plot()` it."""
        return self._ledger.statement

    def as_(self, analyst: str | None, purpose: str | None = None) -> Database:
        """Ask as somebody else, for something else: the same source and ledger, with that analyst's rights and budgets.

        A server opens one database and makes one of these for each request. Nothing is opened, and closing it closes
        nothing: source and ledger stay open until the first database is closed.

        >>> import pyarrow as pa
        >>> from discreet.tables import Analyst, Column, Table
        >>> table = Table("t", row_is_unit=True, columns=[Column("x", lower=0, upper=9)])
        >>> policy = Policy([table], epsilon=9, analysts=[Analyst("ann", epsilon=2), Analyst("bob")])
        >>> with Database(policy, {"t": pa.table({"x": [1]})}) as db:
        ...     _ = db.as_("ann").sql("SELECT COUNT(*) AS n FROM t").release(epsilon=1)
        ...     db.as_("ann").remaining, db.as_("bob").remaining
        (Pure(epsilon=1), Pure(epsilon=8))
        """
        _require_rights(self._policy, analyst, purpose)
        other = copy(self)
        other._analyst, other._purpose = analyst, purpose  # noqa: SLF001 - of its own class
        other._owns_engine = other._owns_ledger = False  # noqa: SLF001 - as above
        return other

    def sql(self, text: str, *, dialect: str = "duckdb", bounding: Bounding | None = None) -> Question | ShellQuestion:
        """Plan a question in SQL, or raise QueryRefused; no data is touched.

        What is more than one core (see `discreet.plans.shell`) becomes a `ShellQuestion`, which is asked the same way.
        """
        planned = read_sql(
            self._policy, text, dialect=dialect, bounding=bounding, verified=self._verified, kind_of=kind_of
        )
        if isinstance(planned, Shell):
            return ShellQuestion(planned, self._engine, self._ledger, self._analyst, self._purpose, text)
        return self._question(planned, text)

    def ask_all(self, questions: Iterable[str | Question | ShellQuestion]) -> Questions:
        """Plan several questions under one price: `.release(epsilon=1)` answers all of them for it, or none.

        The price is the most that they cost together, in the dataset's budget and in every one that has a limit.

        >>> import pyarrow as pa
        >>> from discreet.tables import Column, Table
        >>> table = Table("t", row_is_unit=True, columns=[Column("x", lower=0, upper=9)])
        >>> with Database(Policy([table], epsilon=9), {"t": pa.table({"x": [1]})}) as db:
        ...     both = db.ask_all(["SELECT COUNT(*) AS n FROM t", "SELECT SUM(x) AS s FROM t"])
        ...     len(both.release(epsilon=2)), db.remaining
        (2, Pure(epsilon=7))
        """
        listed = None if isinstance(questions, str) or not isinstance(questions, Iterable) else list(questions)
        if listed is None or not all(isinstance(question, str | Question | ShellQuestion) for question in listed):
            msg = "questions must be a list; each is SQL in quotes or a question, such as db.table('visits').agg(…)."
            raise ParameterError(msg)
        asked = [self.sql(question) if isinstance(question, str) else question for question in listed]
        return Questions(asked, self._ledger, self._together)

    def _together(self, questions: Sequence[Question], price: Price) -> Together | None:
        """Plan counts that share a price together."""
        from discreet.methods.workloads.together import together

        return together(self._ledger, questions, price)

    def watch(  # noqa: PLR0913 - each is a public fact of the watch
        self,
        *,
        threshold: Number,
        epsilon: Number,
        above: SupportsIndex = 1,
        numbers: Number = 0,
        moves: int | None = None,
        tables: Iterable[str] | None = None,
        name: str = "watch",
    ) -> Watching:
        """Watch counts: ask any number of counting questions whether they are above a threshold, for one price.

        The whole price is taken now; answers below are free, and after `above` answers above the watch is over. With
        `numbers`, a share of epsilon, answers above come with a noisy count. `moves` is how far one unit may move a
        count: without it, the most rows per unit of the tables in the policy; a question that moves further is refused.
        `tables` may be asked about: without them, all that you may release about. Opened again with the same parameters
        and `name`, in this process or after it was killed, the watch goes on under the same noisy threshold.

        >>> import pyarrow as pa
        >>> from discreet.tables import Column, Table
        >>> table = Table("t", row_is_unit=True, columns=[Column("x", lower=0, upper=9)])
        >>> with Database(Policy([table], epsilon=60), {"t": pa.table({"x": [1] * 500})}) as db:
        ...     with db.watch(threshold=100, above=3, epsilon=50) as watch:
        ...         few = watch.ask("SELECT COUNT(*) AS n FROM t WHERE x > 1")
        ...         many = watch.ask("SELECT COUNT(*) AS n FROM t WHERE x = 1")
        ...         few.value, many.value, watch.left, db.remaining
        (False, True, 2, Pure(epsilon=10))
        """
        from discreet.methods.adaptive.watching import watch

        return watch(
            self,
            self._engine,
            (self._analyst, self._purpose),
            threshold=threshold,
            epsilon=epsilon,
            above=above,
            numbers=numbers,
            moves=moves,
            tables=tables,
            name=name,
        )

    def stream(  # noqa: PLR0913 - each is a public fact of the stream
        self,
        text: str | Question | ShellQuestion,
        *,
        horizon: SupportsIndex,
        rows: SupportsIndex,
        epsilon: Number | None = None,
        rho: Number | None = None,
        start: dt.date | None = None,
        name: str = "stream",
    ) -> TableStream:
        """Count the rows of a table that grows, period after period, for one price in all.

        The question groups by the start of a period, and perhaps by known keys. `horizon` is how many periods there may
        be, `rows` how many rows of one unit count in all of them together, `start` when the first begins (without it,
        the lower bound of the clock's column). The whole price is taken when the stream is first opened; opened again
        with the same parameters and `name`, by another process or with a later version of the data, it goes on.
        `advance()` takes a step for each period that is over.

        >>> import datetime as dt, pyarrow as pa
        >>> from discreet.tables import Column, Table
        >>> day = Column("day", type="date", lower="2024-01-01", upper="2030-01-01")
        >>> visits = Table("visits", unit="id", columns=[day])
        >>> days = pa.table({"id": range(300), "day": [dt.date(2024, 1, 1 + place % 3) for place in range(300)]})
        >>> sql = "SELECT DATE_TRUNC('day', day) AS d, COUNT(*) AS n FROM visits GROUP BY 1"
        >>> with Database(Policy([visits], epsilon=99), {"visits": days}) as db:
        ...     with db.stream(sql, horizon=365, rows=1, epsilon=99) as stream:
        ...         sums = stream.advance(dt.datetime(2024, 1, 3, 12, tzinfo=dt.UTC))
        >>> [sum_.value for sum_ in sums], sums[-1].details["until"]
        ([100, 200], '2024-01-03')
        """
        from discreet.methods.streaming.table_stream import stream_of

        return stream_of(
            self,
            self._engine,
            (self._analyst, self._purpose),
            text,
            horizon=horizon,
            rows=rows,
            epsilon=epsilon,
            rho=rho,
            start=start,
            name=name,
        )

    def workload(self, questions: Iterable[str], *, dialect: str = "duckdb") -> WorkloadQuestion:
        """Plan counting questions about one table together: all answers at once err less than each for its share.

        Each is `SELECT [keys,] COUNT(*) FROM … [WHERE …] [GROUP BY …]`, with keys that the policy lists and conditions
        on one column each. CUBE, ROLLUP and GROUPING SETS are written out; their totals are exactly the sums of their
        parts. `.preview(epsilon=1)` says for free what would be measured, the ± of each answer, and how far that is
        from the best there can be; `.release(epsilon=1)` answers all for this price.

        >>> import pyarrow as pa
        >>> from discreet.tables import Column, Table
        >>> columns = [Column("ward", keys=["a", "b"]), Column("age", lower=0, upper=99, type="integer")]
        >>> policy = Policy([Table("visits", row_is_unit=True, columns=columns)], epsilon=9)
        >>> with Database(policy, {"visits": pa.table({"ward": ["a"] * 900, "age": [33] * 900})}) as db:
        ...     young = [f"SELECT COUNT(*) AS n FROM visits WHERE age < {limit}" for limit in range(10, 100, 10)]
        ...     asked = db.workload(["SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", *young])
        ...     asked.preview(epsilon=1).plan.workload.queries, len(asked.release(epsilon=1)), db.remaining
        (12, 10, Pure(epsilon=8))
        """
        from discreet.methods.workloads.questions import workload

        return workload(self, self._engine, (self._analyst, self._purpose), questions, dialect=dialect)

    def synthesize(  # noqa: PLR0913 - each is a public fact of the release
        self,
        table: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: str = "aim",
        columns: Iterable[str] | None = None,
        bins: int | Mapping[str, int] = 32,
        forbidden: Iterable[Mapping[str, object]] = (),
        memory: SupportsIndex = 256 << 20,
        name: str = "synthesis",
        watch: Callable[[str, int, int], None] = lambda *_: None,
    ) -> Release[SyntheticModel]:
        """Fit a model of a table for one price: `.value.sample(1000)` draws rows like its own, without limit, for free.

        `method` is "aim" (the default, the most accurate), "mst" (for many columns) or "independent" (a baseline).
        `columns` are those with keys or two bounds; numbers and dates are cut into at most `bins` bins. `forbidden`
        are combinations that cannot be, such as {"sex": "m", "diagnosis": "birth"}. Marginals are counted in the
        engine. A run that was killed goes on where it was when it is asked for again with the same parameters and
        `name`; one that is over shows its model again, for nothing.

        >>> import pyarrow as pa
        >>> from discreet.tables import Column, Table
        >>> columns = [Column("ward", keys=["a", "b"]), Column("age", lower=0, upper=99, type="integer")]
        >>> policy = Policy([Table("visits", row_is_unit=True, columns=columns)], epsilon=90, delta=1e-6)
        >>> with Database(policy, {"visits": pa.table({"ward": ["a"] * 900, "age": [33] * 900})}) as db:
        ...     model = db.synthesize("visits", epsilon=60, method="mst").value
        >>> 880 < model.rows < 920, sorted(model.sample(100))
        (True, ['age', 'ward'])
        """
        from discreet.methods.synthesis.asking import synthesize

        return synthesize(
            self,
            self._engine,
            (self._analyst, self._purpose),
            table,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            method=method,
            columns=columns,
            bins=bins,
            forbidden=forbidden,
            memory=memory,
            name=name,
            watch=watch,
        )

    def table(self, name: str) -> Frame[Question, Loan]:
        """Start a question at a table, in Python; or a loan of its rows, for a method that computes with rows."""
        scanned = plan_table(self._policy, name, verified=self._verified)
        return Frame(self._policy, scanned.node, Desk(self._question, self._lent))

    def __getitem__(self, name: str) -> NoReturn:
        """Say what to write for a table: `db.table("visits")`."""
        msg = f"write db.table({name!r}) for a table, or ask in SQL: db.sql(…)."
        raise TypeError(msg)

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> NoReturn:
            if name in ("query", "execute", "ask", "read_sql"):
                near = " Write db.sql('SELECT …').release(epsilon=…)."
            elif not name.startswith("_") and name in self.tables:
                near = f" Write db.table({name!r})."
            else:
                near = hint(name, (word for word in dir(type(self)) if not word.startswith("_")))
            msg = f"a database has no {name}.{near}"
            raise AttributeError(msg)

    def close(self) -> None:
        """Close the source, and the ledger unless it was given opened; what `as_` made closes nothing."""
        if self._owns_engine:
            self._engine.close()
        if self._owns_ledger:
            self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Database({self._policy.dataset!r}, version {self._policy.version!r})"

    def _question(self, plan: Plan, asked: str = "") -> Question:
        return Question(plan, self._engine, self._ledger, self._analyst, self._purpose, asked)

    def _lent(self, extract: Extract) -> Loan:
        self._ledger.require_may(self._analyst, "release", extract.tables, "anything")
        return self._engine.lend(extract, self._ledger, self._analyst, self._purpose)


def _require_rights(policy: Policy, analyst: str | None, purpose: str | None) -> None:
    """Refuse a name that the policy does not know; nobody may open a database, and is refused by each question."""
    if analyst is not None:
        require_analyst(policy, analyst)
    require_purpose(policy, purpose)


def open(  # noqa: A001 - used as discreet.open
    path: str | Path,
    *,
    analyst: str | None = None,
    purpose: str | None = None,
    ledger: str | Path | Ledger | None = None,
) -> Database:
    r"""Open the database of a policy file; its source is relative to the file.

    What is spent is kept in a durable ledger: the policy's own (`[ledger] url`), else `<policy stem>.ledger.sqlite`
    beside the file. Opening the data again, in this process or another, continues it. A policy file that names
    "memory" there is refused; that a budget ends with the process is for whoever opens it to say: `ledger="memory"`.

    >>> import pathlib, tempfile
    >>> text = '[source]\nurl = "."\n[budget]\nepsilon = 1\n[tables.people]\nrow_is_unit = true\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (pathlib.Path(folder) / "people.csv").write_text("age\n31\n")
    ...     policy = pathlib.Path(folder) / "town.toml"
    ...     _ = policy.write_text(text + '[tables.people.columns]\nage = { lower = 0, upper = 120 }')
    ...     with open(policy) as db:
    ...         _ = db.sql("SELECT COUNT(*) AS n FROM people").release(epsilon="0.25")
    ...     with open(policy) as db:
    ...         print(db, db.remaining)
    Database('town', version '1') Pure(epsilon=0.75)
    """
    file = Path(path)
    policy = Policy.read(file)
    if not policy.tables:
        msg = f"{file.name} has no tables; write [tables.visits] and below it unit = 'patient_id', who is protected."
        raise PolicyError(msg)
    return Database(policy, ledger=ledger, analyst=analyst, purpose=purpose, file=file)
