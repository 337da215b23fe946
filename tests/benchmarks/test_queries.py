"""What the benchmark of the query engine makes of its workers' words, and how it scores answers."""

from __future__ import annotations

import doctest
import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from benchmarks import (
    mechanisms,
    queries,
    queries_cases,
    queries_peers,
    queries_spark,
    queries_speed,
    queries_worker,
    setup,
)
from benchmarks.queries import Row, accuracy_figures, large_figures, run_worker, target_of
from benchmarks.queries_cases import (
    LEVELS,
    Rows,
    Statistic,
    adult,
    errors,
    patients,
    people,
    skewed,
    summary,
    tables,
    truth,
)
from benchmarks.report import Verdict

if TYPE_CHECKING:
    from types import ModuleType

    from benchmarks.queries_cases import Library

ROOT = Path(__file__).resolve().parents[2]
TABLES = [skewed(4, 400), people(3, 100), patients(5, 100, 2)]


@pytest.mark.parametrize("module", [queries, queries_cases, queries_worker])
def test_doctests(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize("rows", TABLES, ids=lambda rows: rows.name)
@pytest.mark.parametrize("statistic", Statistic, ids=lambda statistic: statistic.name)
def test_the_truth_has_no_error_and_something_else_has(rows: Rows, statistic: Statistic) -> None:
    exact = truth(rows, statistic)
    assert exact.shape == (rows.groups, len(LEVELS) if statistic is Statistic.QUANTILES else 1)
    assert not errors(rows, exact, exact).any()
    assert errors(rows, exact, exact + 1) == pytest.approx(1)


def test_groups_are_split_by_their_keys() -> None:
    rows = TABLES[0]
    for key, values in enumerate(rows.by_group()):
        assert np.array_equal(values, rows.values[rows.keys == key])


@pytest.mark.parametrize("rows", TABLES, ids=lambda rows: rows.name)
def test_tables_keep_what_they_say(rows: Rows, tmp_path: Path) -> None:
    low, high = rows.bounds
    assert low <= rows.values.min() <= rows.values.max() <= high
    assert set(rows.keys.tolist()) == set(range(rows.groups))
    limit = rows.rows_per_unit or 1
    assert np.unique(rows.units, return_counts=True)[1].max() == limit
    pairs = set(zip(rows.units.tolist(), rows.keys.tolist(), strict=True))
    assert len(pairs) == len(rows.keys)
    rows.save(tmp_path / "rows.npz")
    again = Rows.load(tmp_path / "rows.npz")
    assert (again.name, again.groups, again.bounds, again.rows_per_unit) == (
        rows.name,
        rows.groups,
        rows.bounds,
        rows.rows_per_unit,
    )
    assert np.array_equal(again.values, rows.values)


def test_real_data_is_read_where_it_lies_and_named(tmp_path: Path) -> None:
    assert adult(tmp_path) is None
    assert tables(tmp_path, quick=True)[0].name.startswith("generated")
    line = "39, State-gov, 77516, {}, 13, x, y, z, White, Male, 2174, 0, {}, United-States, <=50K"
    (tmp_path / "adult-raw").mkdir()
    (tmp_path / "adult-raw" / "adult.data").write_text("\n".join([line.format("B", 40), line.format("A", 20), ""]))
    (tmp_path / "adult-raw" / "adult.test").write_text("|1x3 Cross validator\n" + line.format("B", 50))
    rows = adult(tmp_path)
    assert rows is not None
    assert truth(rows, Statistic.MEAN).tolist() == [[20.0], [45.0]]
    assert tables(tmp_path, quick=True)[0].name.startswith("Adult")


def test_an_error_comes_with_its_standard_error() -> None:
    draws = np.random.default_rng(1).laplace(size=(400, 200))
    found = [summary([row]) for row in draws]
    assert np.mean([figure for figure, _ in found]) == pytest.approx(np.sqrt(2), rel=0.02)
    assert np.mean([each for _, each in found]) == pytest.approx(np.std([figure for figure, _ in found]), rel=0.15)


def test_a_way_that_raises_is_reported_and_a_slow_one_is_cut() -> None:
    rows = TABLES[1]
    exact = truth(rows, Statistic.SUM)

    def broken() -> list[float]:
        raise ValueError

    def slow() -> list[list[float]]:
        time.sleep(0.01)
        return cast("list[list[float]]", (exact + 2).tolist())

    assert "ValueError" in str(queries_worker.measure(rows, Statistic.SUM, broken, 5, 1.0)["refusal"])
    found = queries_worker.measure(rows, Statistic.SUM, slow, 1000, 0.0)
    assert found["runs"] == queries_worker.FEWEST
    assert found["figure"] == pytest.approx(2)
    assert "ValueError" in str(queries_worker.timed(broken, 3, 1.0)["refusal"])
    assert queries_worker.timed(slow, 1000, 0.0)["runs"] == 1


def test_cpu_time_of_children_counts() -> None:
    if not queries_worker.PROCESSES.is_dir():
        pytest.skip("the system does not tell the CPU time of other processes")
    code = "import sys, time\nwhile time.process_time() < 0.3: pass\nprint('ready', flush=True)\nsys.stdin.read()"
    before = queries_worker.descendants_cpu()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert queries_worker.descendants_cpu() - before >= 0.2
        child.communicate("")


@pytest.mark.parametrize("rows", TABLES, ids=lambda rows: rows.name)
def test_our_answers_are_scored_like_the_peers(rows: Rows) -> None:
    """The scores of counts and sums are those of the noise: Laplace of scale k (or k times the bound) has sd √2 k."""
    ours = cast("Library", importlib.import_module("benchmarks.queries_peers.discreet"))
    found = queries_worker.accuracy(ours, [rows], repetitions=1, seconds=60.0)
    assert [row["statistic"] for row in found] == [statistic.value for statistic in Statistic]
    assert not [row["refusal"] for row in found if row["refusal"]]
    # Of 180 draws or more the RMSE's relative standard deviation is below 0.09, and eight of them are 0.7.
    for statistic, deviation in ((Statistic.COUNT, 1.36), (Statistic.SUM, 141.4)):
        (way,) = ours.ways(rows, statistic).values()
        figure = cast("float", queries_worker.measure(rows, statistic, way, 60, 60.0)["figure"])
        assert figure / (rows.rows_per_unit or 1) == pytest.approx(deviation, rel=0.7)


def test_a_question_that_is_asked_again_is_answered_anew() -> None:
    ours = cast("Library", importlib.import_module("benchmarks.queries_peers.discreet"))
    (way,) = ours.ways(TABLES[1], Statistic.SUM).values()
    assert len({str(way()) for _ in range(3)}) == 3


def test_every_peer_has_pins_and_a_title() -> None:
    assert {*queries_peers.PEERS, queries_peers.OWN, queries_peers.FLOOR} == set(queries_peers.TITLES)
    assert set(queries_peers.PEERS) <= set(setup.PEERS)
    assert len(set(setup.PEERS)) == len(setup.PEERS)
    for peer in queries_peers.PEERS:
        assert setup.pins_of(peer).is_file()
        assert (Path(queries_peers.__file__).parent / f"{peer}.py").is_file()


def test_a_peer_that_is_not_there_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "why_missing", lambda peer: f"no {peer}")
    found = run_worker("pipelinedp", ["accuracy", "1", "1"], mechanisms.Progress(1), 60.0)
    assert found == {"missing": "no pipelinedp", "versions": {}, "rows": []}


def row(library_error: float, spread: float = 0.0) -> Row:
    """Make a worker's row."""
    return Row(table="t", statistic="mean", way="way", figure=library_error, standard_error=spread, runs=9, refusal="")


def test_accuracy_is_judged_beyond_sampling_error() -> None:
    def verdicts(ours: Row, theirs: Row) -> list[Verdict | None]:
        results = {"discreet": {"rows": [ours]}, "pipelinedp": {"rows": [theirs]}}
        return [figure.verdict for figure in accuracy_figures(results, ["t"])]

    assert verdicts(row(1.0), row(1.1)) == [None, Verdict.MET]
    assert verdicts(row(1.1), row(1.0)) == [None, Verdict.MISSED]
    assert verdicts(row(1.1, 0.05), row(1.0, 0.05)) == [None, Verdict.MET]
    refused = Row(**{**row(1.0), "figure": None, "refusal": "no"})
    assert verdicts(refused, row(1.0)) == [None, Verdict.UNMEASURED]
    assert verdicts(row(1.0), refused) == [None, None]
    missing: dict[str, dict[str, object]] = {
        "discreet": {"rows": [row(1.0)]},
        "pipelinedp": {"rows": [], "missing": "none"},
    }
    assert [figure.verdict for figure in accuracy_figures(missing, ["t"])] == [Verdict.UNMEASURED, None]
    assert target_of(None, row(1.0, 0.1)).limit == pytest.approx(1.3)


def test_the_race_compares_with_the_plain_query(tmp_path: Path) -> None:
    sizes = queries.Sizes(rows=0, parquet=0, groups=0, peers=2000)
    figures, results = queries.race_figures(tmp_path, sizes, ["discreet"], 1.0, mechanisms.Progress(4))
    assert [figure.library for figure in figures] == ["plain DuckDB", "discreet"] * 2
    assert [figure.value for figure in figures[::2]] == [1.0, 1.0]
    assert {figure.verdict for figure in figures} == {None}
    assert not any(result["missing"] for result in results.values())


def test_speed_is_judged_by_multiples_and_a_failure_counts_as_unmeasured() -> None:
    found = {"plain": 0.1, "first": 1.9, "later": 0.3, "wall": 0.3, "peak": 999e6}
    figures = list(large_figures("s", "c", found, (20.0, 2.5)))
    assert [figure.verdict for figure in figures] == [Verdict.MET, Verdict.MISSED, Verdict.MET]
    assert [figure.value for figure in figures] == pytest.approx([19, 3, 999])
    (broken,) = large_figures("s", "c", "no memory", (None, 1.5))
    assert (broken.verdict, broken.note) == (Verdict.UNMEASURED, "no memory")
    (untold,) = large_figures("s", "c", "no memory", (None, None))
    assert untold.note == "no memory"


@pytest.mark.parametrize("limit", ["0", "3"])
@pytest.mark.parametrize("kind, groups", [("duckdb", "10"), ("parquet", "10"), ("duckdb", "0")])
def test_a_step_measures_files(tmp_path: Path, kind: str, groups: str, limit: str) -> None:
    if kind == "duckdb":
        queries_speed.write_database(tmp_path / "rows.duckdb", 1000, 10)
    else:
        (tmp_path / "rows").mkdir()
        queries_speed.write_parquet(tmp_path / "rows" / "visits.parquet", 1000, 10)
    found = queries_speed.large(tmp_path, "rows", groups, limit)
    assert min(found.plain, found.first, found.later, found.wall) > 0
    assert found.peak > 10**7
    assert queries_speed.plain(tmp_path, "rows")().num_rows == 10  # type: ignore[attr-defined]


def test_a_step_that_fails_says_why(tmp_path: Path) -> None:
    assert "nothing" in str(queries.run_step("large", str(tmp_path), "nothing", "10", "0"))
    small = queries.run_step("small", queries.QUESTIONS["count of all"], "0")
    assert isinstance(small, dict)
    assert small["later"] > 0


def test_spark_without_java_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    found = list(queries_spark.figures(tmp_path, 1000, mechanisms.Progress(queries_spark.STEPS)))
    assert [figure.verdict for figure in found] == [Verdict.UNMEASURED] * 2
    assert {figure.note for figure in found} == {"no Java here"}


def test_a_worker_prints_json(tmp_path: Path) -> None:
    rows = people(2, 20)
    rows.save(tmp_path / "rows.npz")
    found = run_worker("discreet", ["speed", "1", "1", str(tmp_path / "rows.npz")], mechanisms.Progress(1), 60.0)
    assert found["missing"] == ""
    assert json.dumps(found["rows"])
    assert found["rows"][0]["cpu"] > 0
