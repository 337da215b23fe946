"""Whole runs of private training: what they promise, what one unit moves, what is kept, what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import nn

from discreet import privacy as p
from discreet.checks.audits import audit
from discreet.database import Database
from discreet.errors import BudgetError, DiscreetError, LedgerError, ParameterError
from discreet.ledgers import MemoryLedger
from discreet.mechanisms import Gaussian
from discreet.mechanisms.prefix import SquareRoot
from discreet.mechanisms.release import Release
from discreet.methods.learning.deep import (
    Adaptive,
    Automatic,
    Flat,
    PerLayer,
    PrivateAdam,
    PrivateTrainer,
    gradients,
    load,
    private_gradients,
    steps,
)
from discreet.methods.learning.deep.examples import Examples
from discreet.methods.learning.deep.gradients import clipped_sum
from discreet.methods.learning.deep.promise import DeepTraining
from discreet.tables import Column, Policy, Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

FALSE_ALARM = "0.999999999"
PRICE: dict[str, Any] = {"epsilon": 3, "delta": 1e-5, "population": 64, "batch": 16}
LOSS = nn.CrossEntropyLoss()


def data(count: int = 64, seed: int = 0) -> tuple[Tensor, Tensor]:
    chance = torch.Generator().manual_seed(seed)
    values = torch.randn(count, 4, generator=chance)
    return values, (values[:, 0] > 0).long()


def trainer(given: object = None, **how: Any) -> PrivateTrainer:  # noqa: ANN401 - a trainer's own arguments
    torch.manual_seed(1)
    model = how.pop("model", None) or nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 2))
    optimizer = how.pop("optimizer", torch.optim.SGD)(model.parameters(), lr=0.1)
    told = {**PRICE, **({} if "steps" in how else {"epochs": 2}), **how}
    return PrivateTrainer(model, optimizer, LOSS, data() if given is None else given, **told)


def weights(run: PrivateTrainer) -> list[float]:
    return torch.cat([part.detach().flatten() for part in run.model.parameters()]).tolist()


# What it promises.


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size", "cyclic"])
def test_the_noise_is_the_least_that_keeps_the_promise_of_the_accountant(sampling: str) -> None:
    how: dict[str, Any] = {"factorization": SquareRoot(8)} if sampling == "cyclic" else {}
    promise = trainer(sampling=sampling, **how).promise
    relation = p.NeighborRelation.CHANGE_ONE if sampling == "fixed_size" else p.NeighborRelation.ADD_REMOVE
    step = p.gaussian(promise.multiplier, neighbors=relation)
    scheme = p.FixedSize if sampling == "fixed_size" else p.Poisson
    whole = step if sampling == "cyclic" else step.subsample("1/4", scheme) * 8
    assert promise.privacy == whole
    assert 2.999 < promise.privacy.epsilon(1e-5) <= 3


def test_a_record_of_another_sampler_or_of_less_noise_is_refused() -> None:
    record = trainer(epsilon="0.5").promise.record()
    assert DeepTraining.read(record).record() == record
    for change in ({"sampling": "cyclic"}, {"multiplier": "1/2"}, {"steps": 9}, {"rate": "1/3"}):
        with pytest.raises(ParameterError, match="cost more"):
            DeepTraining.read({**record, **change})


def test_a_run_is_a_release_that_travels() -> None:
    run = trainer(epochs="0.5")
    release = run.train()
    assert Release.from_json(release.to_json()) == release
    assert release.value["steps"] == run.steps == 2
    assert "roundings of torch" in run.explain()
    assert "moments" in run.explain().lower() or "renyi" in run.explain().lower()
    with pytest.raises(BudgetError, match="2 steps, all that was paid for"):
        run._one(ReplayBits(0))


# What one unit moves.


@pytest.mark.parametrize("clipping", [Flat("0.3"), PerLayer("0.3"), Automatic("0.3"), Adaptive("0.3")])
def test_one_unit_moves_the_sum_by_at_most_the_norm(clipping: Any, seed: int) -> None:  # noqa: ANN401
    chance = torch.Generator().manual_seed(seed % 2**31)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    values = torch.randn(20, 4, generator=chance) * 10.0 ** torch.randint(-3, 6, (20, 1), generator=chance)
    target = torch.randint(0, 2, (20,), generator=chance)
    whole = clipped_sum(model, LOSS, (values, target), clipping, rows=2).flat()
    for unit in range(10):
        kept = torch.ones(20, dtype=torch.bool)
        kept[2 * unit : 2 * unit + 2] = False
        less = clipped_sum(model, LOSS, (values[kept], target[kept]), clipping, rows=2).flat()
        assert np.linalg.norm(whole - less) <= 0.3
    assert np.linalg.norm(whole) > 0.3


def test_without_clipping_one_unit_moves_it_further(monkeypatch: pytest.MonkeyPatch) -> None:
    def unclipped(_: Flat, squares: dict[nn.Parameter, Tensor]) -> dict[nn.Parameter, Tensor]:
        return {parameter: torch.ones_like(square) for parameter, square in squares.items()}

    monkeypatch.setattr(Flat, "weights", unclipped)
    batch = (1e3 * torch.ones(1, 4), torch.zeros(1))
    assert (
        np.linalg.norm(clipped_sum(nn.Linear(4, 2), lambda output, _: output.sum(1), batch, Flat("0.3")).flat()) > 100
    )


def test_examples_that_are_not_finite_count_nothing_and_disturb_nobody() -> None:
    model, (values, target) = nn.Linear(4, 2), data(4)
    clean = clipped_sum(model, LOSS, (values[1:], target[1:]), Flat(1)).flat()
    for bad in (torch.nan, torch.inf):
        broken = values.clone()
        broken[0, 0] = bad
        assert np.abs(clipped_sum(model, LOSS, (broken, target), Flat(1)).flat() - clean).max() < 1e-6


def test_a_unit_pads_with_its_own_examples() -> None:
    """Else an example that is not finite would take somebody else's with it."""
    values, target = data(3)
    values[0] = torch.nan
    given = Examples.of((values, target), units=["a", "b", "b"], rows=2)
    (inputs, _), there = given.batch(np.array([1]))
    assert not torch.isnan(inputs).any()
    (inputs, _), there = Examples.of((values, target), units=["a", "b", "c"], rows=2).batch(np.array([2]))
    assert torch.equal(inputs[0], inputs[1])
    assert there.tolist() == [True, False]


def canary(run: Any, count: int, present: bool, seed: int) -> Any:  # noqa: ANN401, FBT001 - a function, an array
    bits = ReplayBits(seed)
    return np.array([run(present, bits) for _ in range(count)])


def one_step(present: bool, bits: Any) -> float:  # noqa: ANN401, FBT001 - a source of bits
    """The gradient of a step on a batch with or without one example."""
    model, count = nn.Linear(1, 1, bias=False), int(present)
    batch = (torch.ones(count, 1), torch.zeros(count))
    private_gradients(model, lambda output, _: output.sum(1), batch, sigma=1, expected=1, bits=bits)
    assert model.weight.grad is not None
    return float(model.weight.grad)


@pytest.mark.slow
def test_a_canary_does_not_refute_a_step_and_refutes_half_the_noise(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = p.gaussian(1)
    right = [canary(one_step, 1000, present, seed + present) for present in (False, True)]
    held: dict[str, Any] = {"claim": claim, "delta": "0.01", "draws": 1000, "confidence": FALSE_ALARM}
    assert not audit(lambda *_: right[0], lambda *_: right[1], **held).refuted
    made = gradients.mechanism_of
    monkeypatch.setattr(gradients, "mechanism_of", lambda model, norm, sigma: made(model, norm, Fraction(sigma) / 3))
    wrong = [canary(one_step, 1000, present, seed + present) for present in (False, True)]
    assert audit(lambda *_: wrong[0], lambda *_: wrong[1], **held).refuted


def test_an_empty_batch_gets_noise_alone() -> None:
    run = trainer(data(0), epochs=1)
    before = weights(run)
    run.train()
    assert weights(run) != before


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size", "cyclic"])
def test_each_step_sees_who_the_sampling_says(sampling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"factorization": SquareRoot(8)} if sampling == "cyclic" else {}
    seen: list[list[int]] = []
    summed = PrivateTrainer._summed

    def watched(run: PrivateTrainer, examples: Examples, chosen: Any) -> Any:  # noqa: ANN401 - an array, a sum
        seen.append(chosen.tolist())
        return summed(run, examples, chosen)

    monkeypatch.setattr(PrivateTrainer, "_summed", watched)
    trainer(sampling=sampling, bits=ReplayBits(3), **how).train()
    sizes = [len(chosen) for chosen in seen]
    if sampling == "poisson":
        assert len(set(sizes)) > 1
    elif sampling == "fixed_size":
        assert set(sizes) == {16}
    else:
        assert seen[:4] == seen[4:]
        assert sorted(unit for chosen in seen[:4] for unit in chosen) == list(range(64))


def test_noise_is_as_wide_as_promised_whatever_the_clipping(seed: int) -> None:
    for clipping in (Flat(1), Adaptive(1, share="0.5")):
        run = trainer(clipping=clipping, bits=ReplayBits(seed))
        made: Any = run._noise
        wide = 1 if isinstance(clipping, Flat) else 2**0.5
        ratio = made.mechanism(Fraction(1)).sigma / made.mechanism(Fraction(1)).moved / run.promise.multiplier
        assert wide <= float(ratio) < 1.01 * wide
    one: Any = trainer(sampling="fixed_size", clipping=Flat(1))._noise
    assert one.mechanism(Fraction(1)).moved >= 2


@pytest.mark.parametrize("sampling, moved", [("poisson", Fraction(1, 2)), ("fixed_size", Fraction(1))])
def test_the_count_of_a_rule_that_adapts_has_the_noise_that_it_pays_for(
    sampling: str, moved: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trainer(clipping=Adaptive(1, share="0.25"), sampling=sampling)
    made: list[Any] = []
    monkeypatch.setattr(steps, "Gaussian", lambda *given, **how: made.append(Gaussian(*given, **how)) or made[-1])  # type: ignore[func-returns-value]
    assert isinstance(run._noise, steps.Independent)
    run._noise.share_below(gradients.ClippedSum((), 3, 5), 16, ReplayBits(0))
    (count,) = made
    assert count.sensitivity == moved
    assert 2 <= float(count.sigma / moved / run.promise.multiplier) < 2.01


def test_the_norm_follows_the_quantile() -> None:
    run = trainer(clipping=Adaptive(100, quantile="0.5", rate=1), epsilon=200, epochs=4)
    run.train()
    assert run._rule.norm < 10


# What is kept.


class Killed(BaseException):
    """The process ends here."""


def kept(ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch, kill_at: int | None, **how: Any) -> PrivateTrainer:  # noqa: ANN401
    """Run under a ledger whose session has the same key each time, perhaps killed once at a step."""
    monkeypatch.setattr("discreet.ledgers.session.SYSTEM", ReplayBits(7))
    if kill_at is not None:
        first, step = trainer(ledger=ledger, name="model", keep_every=3, **how), PrivateTrainer._one

        def dies(run: PrivateTrainer, bits: Any) -> None:  # noqa: ANN401 - a source of bits
            step(run, bits)
            if run.step == kill_at:
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(PrivateTrainer, "_one", dies)
            with pytest.raises(Killed):
                first.train()
    run = trainer(ledger=ledger, name="model", keep_every=3, **how)
    run.train()
    return run


LEDGER = Policy([], epsilon=4, delta="1e-4")


@pytest.mark.parametrize(
    "how", [{}, {"optimizer": torch.optim.Adam}, {"sampling": "cyclic", "factorization": SquareRoot(8)}]
)
@pytest.mark.parametrize("kill_at", [1, 3, 5, 8])
def test_who_is_killed_ends_with_the_same_model(
    kill_at: int, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = kept(MemoryLedger(LEDGER), monkeypatch, None, **how)
    ledger = MemoryLedger(LEDGER)
    again = kept(ledger, monkeypatch, kill_at, **how)
    assert weights(again) == weights(whole)
    before = ledger.remaining
    third = trainer(ledger=ledger, name="model", keep_every=3, **how)
    third.train()
    assert (weights(third), ledger.remaining) == (weights(whole), before)


def test_a_run_goes_on_with_its_own_data_and_parameters_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger(LEDGER)
    kept(ledger, monkeypatch, None)
    with pytest.raises(LedgerError, match="begun on other data"):
        trainer(data(seed=5), ledger=ledger, name="model", keep_every=3).train()
    with pytest.raises(DiscreetError, match="opened with other details"):
        trainer(ledger=ledger, name="model", clipping=2).train()


def test_the_price_is_taken_before_the_first_step_and_refused_beyond_the_budget() -> None:
    run = trainer(ledger=MemoryLedger(Policy([], epsilon=1, delta="1e-4")), name="model")
    before = weights(run)
    with pytest.raises(BudgetError):
        run.train()
    assert weights(run) == before
    with pytest.raises(ParameterError, match="name is empty"):
        trainer(ledger=MemoryLedger(LEDGER))


def test_rows_on_loan_are_read_after_they_are_paid() -> None:
    people = Table(
        "people",
        unit="id",
        rows_per_unit=2,
        columns=[Column("age", lower=0, upper=100), Column("ward", keys=["a", "b"]), Column("ill", keys=["no", "yes"])],
    )
    count = 80
    rows = pa.table(
        {
            "id": [place // 2 for place in range(count)],
            "age": [float(place) for place in range(count)],
            "ward": ["a", "b"] * (count // 2),
            "ill": ["yes" if place > 40 else "no" for place in range(count)],
        }
    )
    with Database(Policy([people], epsilon=4, delta="1e-4"), {"people": rows}) as db:
        loan = db.table("people").select("age", "ward", "ill").rows()
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        told = {**PRICE, "population": 40, "batch": 10}
        run = PrivateTrainer(model, optimizer, LOSS, loan, target="ill", name="illness", epochs=1, **told)
        release = run.train()
        assert release.value["steps"] == 4
        assert release.charged is not None
        assert db.ledger.remaining != MemoryLedger(Policy([people], epsilon=4, delta="1e-4")).remaining
        assert run._examples is not None
        assert (run._examples.units, run._examples.rows) == (40, 2)


def test_a_model_is_saved_and_read(tmp_path: Path) -> None:
    run = trainer(epochs="0.5")
    with pytest.raises(ParameterError, match="not trained"):
        run.save(tmp_path / "model.npz")
    release = run.train()
    run.save(tmp_path / "model.npz")
    other = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 2))
    assert load(tmp_path / "model.npz", other) == release
    assert str(other.state_dict()) == str(run.model.state_dict())
    with pytest.raises(LedgerError, match="does not fit"):
        load(tmp_path / "model.npz", nn.Linear(1, 1))


def test_adam_is_corrected_for_the_noise() -> None:
    for sampling, moved in (("poisson", 1), ("fixed_size", 2)):
        run = trainer(optimizer=PrivateAdam, epochs=1, sampling=sampling)
        run.train()
        variance = run.optimizer.param_groups[0]["noise_variance"]
        assert variance == pytest.approx((moved * float(run.promise.multiplier) / 16) ** 2, rel=0.01)


def test_bfloat16_and_chosen_layers_train() -> None:
    frozen = nn.Linear(4, 8).requires_grad_(requires_grad=False)
    model = nn.Sequential(frozen, nn.ReLU(), nn.Linear(8, 2)).bfloat16()
    values, target = data()
    run = trainer((values.bfloat16(), target), model=model, epochs=1)
    before = frozen.weight.clone()
    assert run.train().value["parameters"] == 18
    assert torch.equal(before, frozen.weight)


@pytest.mark.parametrize(
    "how, words",
    [
        ({"population": None}, "population is missing"),
        ({"batch": 65}, "a batch is a part of it"),
        ({"sampling": "shuffled"}, "Shuffling has no such promise"),
        ({"sampling": "cyclic"}, "belong together"),
        ({"sampling": "cyclic", "factorization": SquareRoot(7)}, "horizon of at least 8"),
        ({"sampling": "fixed_size", "population": 65}, "not the number of units"),
        ({"epochs": None}, "exactly one"),
        ({"epochs": 1, "steps": 3}, "exactly one"),
        ({"clipping": 0}, "norm is 0"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"target": "ill"}, "names a column of a loan"),
        ({"units": [1, 2]}, "unit of each example"),
    ],
)
def test_what_makes_no_sense_is_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        trainer(**{"epochs": 2, **how})


def test_a_loader_is_refused_with_what_to_give() -> None:
    loader: Any = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*data()), batch_size=8)
    with pytest.raises(ParameterError, match="Give its data set"):
        trainer(loader)
    assert trainer(loader.dataset, epochs="0.5").train().value["steps"] == 2


def test_an_optimizer_without_the_parameters_is_refused() -> None:
    model = nn.Linear(4, 2)
    with pytest.raises(ParameterError, match="the optimizer does not hold weight"):
        PrivateTrainer(model, torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1), LOSS, data(), epochs=1, **PRICE)
