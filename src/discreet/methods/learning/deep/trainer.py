"""A whole run of private training: samples, clipped gradients, noise, and what it all costs."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from discreet import noise
from discreet.engines import Loan
from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.exact import integer, rational, shown
from discreet.ledgers import Entry, Session
from discreet.ledgers.charging import charged
from discreet.ledgers.pricing import price
from discreet.mechanisms.inputs.parameters import read_optional_delta, read_positive
from discreet.mechanisms.release import Release
from discreet.methods.learning.deep.clipping import Adaptive, read_clipping
from discreet.methods.learning.deep.examples import Examples
from discreet.methods.learning.deep.gradients import ClippedSum, clipped_sum, fill, nothing, trained
from discreet.methods.learning.deep.kept import packed, unpacked
from discreet.methods.learning.deep.layers import require_layers
from discreet.methods.learning.deep.promise import SAMPLING, DeepTraining
from discreet.methods.learning.deep.steps import Correlated, Independent
from discreet.methods.learning.tabular.features import Feature, Features
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import Approximate, NeighborRelation
from discreet.privacy.calibration import calibrate, dpsgd_noise, gaussian_sigma
from discreet.privacy.curves import gaussian
from discreet.privacy.schemes import FixedSize

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from discreet.exact import Number
    from discreet.ledgers import Ledger
    from discreet.mechanisms.prefix.factorization import Factorization
    from discreet.privacy import Curve

__all__ = ["PrivateTrainer"]


class PrivateTrainer:
    """Train a torch model privately: `PrivateTrainer(model, optimizer, loss, data, epsilon=3, …).train()`.

    The model and the optimizer are yours, as they are: nothing is wrapped, no name changes. The noise is the least with
    which all steps together keep (epsilon, delta), by the exact curve of the run.

    - `data`: inputs and target as tensors or arrays, a map-style data set, or a loan of a database (with `target=`).
    - `population`: how many units there are, a number that is *public*; `batch / population` is the chance with which
      each unit is in a batch. The length of the data is private and enters nowhere. `batch` is the mean size.
    - `epochs`, or `steps`: an epoch is population / batch steps.
    - `clipping`: a norm, or `Flat`, `PerLayer`, `Automatic` (the default), `Adaptive`.
    - `sampling`: "poisson"; "fixed_size", for change-one, where the number of units is public; "cyclic" with
      `factorization=`, noise that later steps take back (DP-FTRL), for data that cannot be sampled.
    - `units` says whose each example is, of at most `rows_per_unit`; a unit is sampled and clipped with all of them.
    - `ledger`: the whole price is reserved before the first step; the run is a session under `name`, which goes on
      where it was after a crash, with the same samples and the same noise.
    - `at_once`: so many units are computed at a time, whatever the batch.

    >>> model = torch.nn.Linear(2, 2)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    >>> data = (torch.randn(64, 2), torch.randint(2, (64,)))
    >>> price = {"epsilon": 8, "delta": 1e-5, "population": 64}
    >>> loss = torch.nn.CrossEntropyLoss()
    >>> trainer = PrivateTrainer(model, optimizer, loss, data, epochs=2, batch=16, **price)
    >>> release = trainer.train()
    >>> release.mechanism.promise, release.value["steps"]
    ('ε = 8, δ = 1e-05', 8)
    """

    def __init__(  # noqa: PLR0913 - each is a public fact of the run
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: Callable[..., Tensor],
        data: object,
        *,
        epsilon: Number,
        delta: Number | None = None,
        batch: int,
        epochs: Number | None = None,
        steps: int | None = None,
        population: int | None = None,
        clipping: object = None,
        sampling: str = "poisson",
        factorization: Factorization | None = None,
        units: object = None,
        rows_per_unit: int = 1,
        target: str | None = None,
        ledger: Ledger | None = None,
        name: str = "",
        keep_every: int = 100,
        at_once: int = 256,
        schedule: Any = None,  # noqa: ANN401 - any of torch's
        bits: BitSource = SYSTEM,
    ) -> None:
        require_layers(model)
        _require_owned(model, optimizer)
        self.model, self.optimizer, self.loss, self.schedule = model, optimizer, loss, schedule
        self._at_once = integer(at_once, name="at_once", least=1)
        self._keep_every = integer(keep_every, name="keep_every", least=1)
        self._bits = bits
        self._loan: Loan | None = data if isinstance(data, Loan) else None
        self._target = target
        if self._loan is None:
            if target is not None:
                msg = "target names a column of a loan; give tensors as (inputs, target)."
                raise ParameterError(msg)
            self._examples: Examples | None = Examples.of(data, units=units, rows=rows_per_unit)
        else:
            self._examples = None
            rows_per_unit = _require_loan(self._loan, target, units, ledger)
        self._population, self._batch = _sizes(population, batch, sampling, self._examples)
        self.steps = _steps(epochs, steps, Fraction(self._population, self._batch))
        limit = self._loan.release_delta if self._loan is not None else None
        self.promise = _promised(
            _goal(epsilon, delta, limit),
            (sampling, Fraction(self._batch, self._population), self.steps),
            read_clipping({"kind": "automatic"} if clipping is None else clipping),
            integer(rows_per_unit, name="rows_per_unit", least=1),
            factorization,
        )
        _require_relation(self._loan, self.promise)
        self.step = 0
        self._rule = self.promise.clipping
        count = sum(parameter.numel() for parameter in trained(model))
        self._noise = self._noise_of(count)
        self._assigned: NDArray[np.int64] | None = None
        self._ledger, self._name = (self._loan.ledger if self._loan is not None else ledger), name
        self._session: Session | None = None
        self._require_name()
        self.release_: Release[Any] | None = None

    def _noise_of(self, dimensions: int) -> Independent | Correlated:
        if self.promise.factorization is None:
            return Independent(self.promise, dimensions)
        separation = max(1, self._population // self._batch)
        return Correlated(self.promise, dimensions, -(-self.steps // separation), separation)

    def _require_name(self) -> None:
        if self._ledger is not None and not self._name:
            msg = "name is empty; a run that a ledger keeps needs one, by which it is found again after a crash."
            raise ParameterError(msg)

    # The run.

    @property
    def privacy(self) -> Curve:
        """What the whole run promises."""
        return self.promise.privacy

    def train(self, *, progress: bool = True) -> Release[Any]:
        """Run all steps that are left, and stop; the release says what was promised. The model is trained in place.

        With a ledger, the run is reserved first, and goes on where it was kept last. On a terminal a bar shows how far
        it is, and what the steps so far would cost alone.
        """
        with _bar(self, progress) as tick:
            if self._ledger is None:
                while self.step < self.steps:
                    self._one(self._bits)
                    tick()
                self.release_ = self._released()
            else:
                self.release_ = self._in_session(self._ledger, tick)
        return self.release_

    def _in_session(self, ledger: Ledger, tick: Callable[[], None]) -> Release[Any]:
        with Session.open(ledger, price(ledger, self.promise), self._entry(ledger)) as session:
            if self._loan is not None and self._examples is None:
                self._examples = self._lent(session)
            if session.state:
                self._resume(unpacked(session.state, self.model, self.optimizer))
            while self.step < self.steps:
                if why := session.over:
                    msg = f"the run of entry {session.number} {why}; no step was taken."
                    raise LedgerError(msg)
                bits = session.bits()
                until = min(self.steps, self.step + self._keep_every - self.step % self._keep_every)
                while self.step < until:
                    self._one(bits)
                    tick()
                session.append([self._released()], state=packed(self.model, self.optimizer, self._going()))
            return charged(self._released(), session.cost, session.whole)

    def _lent(self, session: Session) -> Examples:
        assert self._loan is not None and self._target is not None  # noqa: PT018, S101 - asked for loans
        schema = self._loan.schema
        names = [name for name in schema if name != self._target]
        features = Features(tuple(Feature.of(name, schema[name]) for name in names))
        return Examples.of_rows(self._loan.read(session), self._target, features)

    def _entry(self, ledger: Ledger) -> Entry:
        details = {"training": self.promise.record(), "model": _shape(self.model), "optimizer": _kind(self.optimizer)}
        if self._loan is not None:
            return self._loan.entry(f"{self._name}, learning {self._target}", kind="session", details=details)
        tables = tuple(table.name for table in ledger.policy.tables)
        return Entry(self._name, tables, kind="session", asked=f"training {self._name}", details=details)

    def _one(self, bits: BitSource) -> None:
        """One step: sample, clip, add noise, let the optimizer go on."""
        if self.step >= self.steps:
            msg = f"the run has had its {self.steps} steps, all that was paid for. Begin another, which costs again."
            raise BudgetError(msg)
        assert self._examples is not None  # noqa: S101 - read before
        seed = int(noise.uniform_integer(2**63, bits=bits))
        chosen = self._sample(self._examples, bits)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # dropout and the like: the same where a crash cut a step off
            total = self._summed(self._examples, chosen)
        norm = self._rule.norm
        gradient = self._shared(lambda: self._noise.noisy(total, norm, bits))
        if isinstance(self._rule, Adaptive) and isinstance(self._noise, Independent):
            self._rule = self._rule.moved(self._noise.share_below(total, self._batch, bits))
        fill(self.model, gradient / self._batch)
        if isinstance(self._noise, Independent):
            for group in self.optimizer.param_groups:
                if "noise_variance" in group:  # it is public
                    group["noise_variance"] = float(self._noise.mechanism(norm).sigma / self._batch) ** 2
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        self.step += 1

    def _summed(self, examples: Examples, chosen: NDArray[np.int64]) -> ClippedSum:
        total = nothing(self.model)
        ranks, rank = _world()
        mine = chosen[rank::ranks]
        for start in range(0, mine.size, self._at_once):
            batch, there = examples.batch(mine[start : start + self._at_once])
            total = total + clipped_sum(self.model, self.loss, batch, self._rule, rows=examples.rows, there=there)
        return _added(total) if ranks > 1 else total

    def _shared(self, draw: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Draw noise once, in the first of all processes, and give everybody the same."""
        ranks, rank = _world()
        if ranks == 1:
            return draw()
        count = sum(parameter.numel() for parameter in trained(self.model))
        values = torch.from_numpy(draw()) if rank == 0 else torch.empty(count, dtype=torch.float64)
        torch.distributed.broadcast(values, 0)
        return values.numpy()

    def _sample(self, examples: Examples, bits: BitSource) -> NDArray[np.int64]:
        if self.promise.sampling == "poisson":
            chosen = noise.poisson_subset(examples.units, self.promise.rate, bits)
        elif self.promise.sampling == "fixed_size":
            chosen = noise.subset(examples.units, self._batch, bits)
        else:
            batches = max(1, self._population // self._batch)
            if self._assigned is None:
                self._assigned = noise.uniform_integer(batches, size=examples.units, bits=bits)
            chosen = np.flatnonzero(self._assigned == self.step % batches)
        ranks, rank = _world()
        if ranks == 1:
            return chosen
        box = [chosen if rank == 0 else None]  # one sample for all
        torch.distributed.broadcast_object_list(box, 0)
        shared: NDArray[np.int64] = box[0]  # type: ignore[assignment]
        return shared

    # What is kept.

    def _going(self) -> dict[str, Any]:
        assert self._examples is not None  # noqa: S101 - read before
        return {
            "step": self.step,
            "clipping": self._rule.record(),
            "noise": self._noise.state(),
            "assigned": None if self._assigned is None else self._assigned.tolist(),
            "schedule": None if self.schedule is None else self.schedule.state_dict(),
            "data": self._examples.digest(),
        }

    def _resume(self, going: dict[str, Any]) -> None:
        assert self._examples is not None  # noqa: S101 - read before
        if going["data"] != self._examples.digest():
            msg = "the run was begun on other data; nothing was drawn. Give it what it began with."
            raise LedgerError(msg)
        self.step, self._rule = going["step"], read_clipping(going["clipping"])
        self._noise.load(going["noise"])
        self._assigned = None if going["assigned"] is None else np.array(going["assigned"], dtype=np.int64)
        if self.schedule is not None:
            self.schedule.load_state_dict(going["schedule"])

    def _released(self) -> Release[Any]:
        digest = hashlib.sha256()
        for parameter in trained(self.model):
            digest.update(np.ascontiguousarray(parameter.detach().float().numpy()).tobytes())
        count = sum(parameter.numel() for parameter in trained(self.model))
        value = {"steps": self.step, "of": self.steps, "parameters": count, "sha256": digest.hexdigest()}
        return Release(value, self.promise)

    # What people read.

    def explain(self) -> str:
        """Say what the run promises, and what the theorems of the literature would have given for it."""
        released = self.release_ if self.release_ is not None else Release({"steps": self.steps}, self.promise)
        return f"{released.explain()}\n\n{self.promise.compared()}"

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw epsilon by each theorem (needs the extra `plot`)."""
        return self.promise.compared().plot(axes)

    def save(self, path: str | Path) -> None:
        """Write the trained parameters and the promise to a file of NumPy arrays; `load` reads it."""
        if self.release_ is None:
            msg = "the model was not trained yet; call train first."
            raise ParameterError(msg)
        Path(path).write_bytes(packed(self.model, None, {"release": self.release_.to_json()}))


def load(path: str | Path, model: nn.Module) -> Release[Any]:
    """Read parameters that `save` wrote into a model of the same shape, and return the release of their training.

    >>> load.__name__
    'load'
    """
    return Release.from_json(unpacked(Path(path).read_bytes(), model, None)["release"])


def _require_owned(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    if missing := [name for name, part in model.named_parameters() if part.requires_grad and id(part) not in held]:
        msg = f"the optimizer does not hold {missing[0]}; give it model.parameters(), or freeze what is not trained."
        raise ParameterError(msg)


def _require_loan(loan: Loan, target: str | None, units: object, ledger: Ledger | None) -> int:
    if units is not None or ledger is not None:
        msg = "a loan brings its units and its ledger; leave units and ledger out."
        raise ParameterError(msg)
    if target not in loan.schema:
        msg = f"target is {shown(target)}; it must name one of the columns: {', '.join(loan.schema)}."
        raise ParameterError(msg)
    return loan.rows_per_unit


def _require_relation(loan: Loan | None, promise: DeepTraining) -> None:
    if loan is not None and loan.neighbors is not promise.neighbors:
        msg = (
            f"the policy protects {loan.neighbors.value} neighbors, and {promise.sampling} sampling "
            f"{promise.neighbors.value} ones. Take sampling='poisson' for add_remove, 'fixed_size' for change_one."
        )
        raise ParameterError(msg)


def _sizes(population: int | None, batch: int, sampling: str, examples: Examples | None) -> tuple[int, int]:
    if sampling not in SAMPLING:
        msg = (
            f"sampling is {shown(sampling)}; it must be one of {', '.join(SAMPLING)}. (Shuffling has no such promise.)"
        )
        raise ParameterError(msg)
    size = integer(batch, name="batch", least=1)
    if sampling == "fixed_size":
        if examples is None:
            msg = "fixed_size needs a public number of units, which a loan does not have; take sampling='poisson'."
            raise ParameterError(msg)
        if population is not None and population != examples.units:
            msg = "population is not the number of units, which is public under change-one; leave it out."
            raise ParameterError(msg)
        population = examples.units
    if population is None:
        msg = (
            "population is missing: the public number of units, from which the sampling rate follows. The length of "
            "the data is private, and is not taken for it. State it, roughly if need be."
        )
        raise ParameterError(msg)
    people = integer(population, name="population", least=1)
    if size > people:
        msg = f"batch is {size}, and the population {people}; a batch is a part of it."
        raise ParameterError(msg)
    return people, size


def _steps(epochs: Number | None, steps: int | None, of_epoch: Fraction) -> int:
    if (epochs is None) == (steps is None):
        msg = "give epochs, or steps: exactly one of them."
        raise ParameterError(msg)
    if steps is not None:
        return integer(steps, name="steps", least=1)
    assert epochs is not None  # noqa: S101 - as was asked
    return max(1, math.ceil(read_positive(epochs, "epochs", zero="nothing would be learned") * of_epoch))


def _goal(epsilon: Number, delta: Number | None, limit: Fraction | None) -> Approximate:
    chance = read_optional_delta(limit if delta is None and limit else delta, needed=True)
    rate = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
    return Approximate(rate, chance if chance is not None else 0)


def _promised(
    goal: Approximate,
    drawn: tuple[str, Fraction, int],
    clipping: Any,  # noqa: ANN401 - a Clipping
    rows: int,
    factorization: Factorization | None,
) -> DeepTraining:
    """Find the least noise that keeps the goal."""
    sampling, rate, steps = drawn
    if (sampling == "cyclic") != (factorization is not None):
        msg = (
            "sampling='cyclic' and factorization= belong together: noise of running sums is for data in a fixed order."
        )
        raise ParameterError(msg)
    if factorization is not None and (not factorization.causal or factorization.horizon < steps):
        msg = f"factorization is {factorization!r}; it must be causal and have a horizon of at least {steps} steps."
        raise ParameterError(msg)
    if factorization is not None and isinstance(clipping, Adaptive):
        msg = "Adaptive clipping changes the norm, to which correlated noise is bound; take Flat or Automatic."
        raise ParameterError(msg)
    epsilon, delta = goal.epsilon, goal.delta
    if sampling == "cyclic" or (rate == 1 and steps == 1):
        multiplier = gaussian_sigma(epsilon=epsilon, delta=delta)
    elif sampling == "poisson" and rate < 1:
        multiplier = dpsgd_noise(epsilon=epsilon, delta=delta, rate=rate, steps=steps)
    else:
        step = gaussian
        relation = NeighborRelation.ADD_REMOVE if sampling == "poisson" else NeighborRelation.CHANGE_ONE

        def whole(sigma: float) -> Curve:
            one = step(sigma, neighbors=relation)
            return (one.subsample(rate, FixedSize) if rate < 1 else one) * steps

        multiplier = calibrate(whole, epsilon=epsilon, delta=delta)
    if sampling == "fixed_size":
        goal = Approximate(epsilon, delta, neighbors=NeighborRelation.CHANGE_ONE)
    return DeepTraining(goal, rational(multiplier), steps, rate, sampling, clipping, rows, factorization)


def _shape(model: nn.Module) -> str:
    told = [f"{name}:{tuple(part.shape)}:{part.requires_grad}" for name, part in model.named_parameters()]
    return hashlib.sha256(" ".join(told).encode()).hexdigest()


def _kind(optimizer: torch.optim.Optimizer) -> str:
    groups = [{name: value for name, value in group.items() if name != "params"} for group in optimizer.param_groups]
    return f"{type(optimizer).__name__} {groups}"


def _world() -> tuple[int, int]:
    """How many processes train together, and which of them this is."""
    together = torch.distributed.is_available() and torch.distributed.is_initialized()
    return (torch.distributed.get_world_size(), torch.distributed.get_rank()) if together else (1, 0)


def _added(total: ClippedSum) -> ClippedSum:
    """Add the sums of all processes; each has its part of one sample."""
    for part in total.parts:
        torch.distributed.all_reduce(part)
    counts = torch.tensor([total.below, total.units])
    torch.distributed.all_reduce(counts)
    return ClippedSum(total.parts, int(counts[0]), int(counts[1]))


def _bar(trainer: PrivateTrainer, wanted: bool) -> Any:  # noqa: ANN401, FBT001 - a context manager
    """Show steps on a terminal, with what those so far would cost alone, at some of them."""
    import sys
    from contextlib import contextmanager

    @contextmanager
    def shown_on() -> Any:  # noqa: ANN401 - a context manager
        if not wanted or not sys.stderr.isatty():
            yield lambda: None
            return
        from rich.console import Console
        from rich.progress import Progress

        delta, every = trainer.promise.claim.delta, max(1, trainer.steps // 20)
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("training", total=trainer.steps, completed=trainer.step)

            def tick() -> None:
                progress.update(task, completed=trainer.step)
                if trainer.step % every == 0:
                    spent = trainer.promise.after(trainer.step).epsilon(delta)
                    progress.update(task, description=f"training, ε = {spent:.2f}")

            yield tick

    return shown_on()
