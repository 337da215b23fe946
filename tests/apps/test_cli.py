"""The command line answers people and programs, and complains in sentences."""

from __future__ import annotations

import json
import math
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from discreet import privacy as p
from discreet.apps.cli import main
from discreet.apps.cli.commands_group import SECTIONS, names, summary

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
ACCOUNT = ["account", "gaussian", "--sigma", "1", "--rate", "0.01", "--steps", "1000", "--delta", "1e-5"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    assert main([*arguments, "--json"]) == 0
    record: dict[str, float] = json.loads(capsys.readouterr().out)
    return record


def test_account_prints_the_certified_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    record = answer(capsys, *ACCOUNT)
    lower, upper = (p.gaussian(sigma=1).subsample(0.01) * 1000).interval(1e-5)
    assert (record["lower"], record["epsilon"]) == (lower, upper)
    assert record["epsilon"] == pytest.approx(1.82823667, rel=1e-6)
    assert main(ACCOUNT) == 0
    assert "1.82823" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["laplace", "--scale", "10", "--steps", "10"], 1.0),
        (["discrete-laplace", "--scale", "10", "--steps", "10"], 1.0),
        (["randomized-response", "--epsilon", "0.1", "--steps", "3"], 0.3),
        (["discrete-gaussian", "--sigma", "2", "--delta", "1e-6"], None),
        (["gaussian", "--sigma", "4", "--delta", "1e-5", "--neighbors", "change-one", "--rate", "0.01"], None),
    ],
)
def test_every_mechanism_is_accounted(
    capsys: pytest.CaptureFixture[str], arguments: list[str], expected: float | None
) -> None:
    record = answer(capsys, "account", *arguments)
    assert 0 < record["lower"] <= record["epsilon"]
    if expected is not None:
        assert record["epsilon"] == pytest.approx(expected, rel=1e-9)


def test_a_curve_without_an_epsilon_is_no_error_and_no_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    record = answer(capsys, "account", "gaussian", "--sigma", "1", "--delta", "0")
    assert record["epsilon"] is None
    assert main(["account", "gaussian", "--sigma", "1", "--delta", "0"]) == 0
    assert "none: no finite epsilon" in capsys.readouterr().out


def test_theorems_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ACCOUNT, "--compare"]) == 0
    out = capsys.readouterr().out
    assert "moments accountant" in out
    assert "basic" in out


def test_calibrate_finds_the_noise(capsys: pytest.CaptureFixture[str]) -> None:
    record = answer(capsys, "calibrate", "gaussian", "--epsilon", "1", "--delta", "1e-5")
    assert record["sigma"] == p.gaussian_sigma(epsilon=1, delta=1e-5)
    assert main(["calibrate", "laplace", "--epsilon", "0.1"]) == 0
    assert capsys.readouterr().out == "scale  10\n"


def test_calibrate_finds_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    start = ["calibrate", "dpsgd", "--epsilon", "2", "--delta", "1e-5"]
    sigma = answer(capsys, *start, "--rate", "0.01", "--steps", "1000")["sigma"]
    steps = answer(capsys, *start, "--rate", "0.01", "--sigma", repr(sigma))["steps"]
    assert 1000 <= steps <= 1001
    rate = answer(capsys, *start, "--steps", "1000", "--sigma", repr(sigma))["rate"]
    assert rate == pytest.approx(0.01, rel=1e-6)
    assert main([*start, "--rate", "0.01"]) == 2
    assert "exactly two of" in capsys.readouterr().err


CALIBRATE = ["calibrate", "gaussian", "--epsilon", "1", "--delta", "1e-5"]


@pytest.mark.parametrize("command, ending", [(ACCOUNT, "svg"), (CALIBRATE, "png"), (CALIBRATE, "pdf")])
def test_plots_are_written(tmp_path: Path, command: list[str], ending: str) -> None:
    path = tmp_path / f"curve.{ending}"
    assert main([*command, "--plot", str(path)]) == 0
    assert path.stat().st_size > 1000


@pytest.mark.parametrize("file", ["curve.txt", "no/such/folder/curve.svg"])
def test_impossible_plots_are_refused(tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ACCOUNT, "--plot", str(tmp_path / file)]) == 2
    assert "--plot is" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["account", "gaussian", "--sigma", "0", "--delta", "1e-5"], "sigma"),
        (["account", "gaussian", "--sigma", "nan", "--delta", "1e-5"], "sigma"),
        (["account", "gaussian", "--sigma", "1", "--delta", "2"], "delta"),
        (["account", "gaussian", "--sigma", "1", "--delta", "1e-5", "--rate", "1.5"], "rate"),
        (["account", "gaussian", "--sigma", "1", "--delta", "1e-5", "--steps", "-1"], "--steps"),
        (["account", "discrete-gaussian", "--sigma", "1", "--delta", "1e-5", "--sensitivity", "0.5"], "whole"),
        (["calibrate", "gaussian", "--epsilon", "x", "--delta", "1e-5"], "epsilon"),
        (["calibrate", "gaussian", "--epsilon", "1", "--delta", "0"], "delta"),
    ],
)
def test_errors_are_sentences(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(arguments) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("discreet: ")
    assert words in complaint
    assert "Traceback" not in complaint
    assert len(complaint.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["account"], ["account", "gaussian"], ["account", "gaussian", "--x"]]
)
def test_usage_errors_end_with_two(arguments: list[str]) -> None:
    assert main(arguments) == 2


def test_help_shows_an_example_for_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for command in names():
        assert main([command, "--help"]) == 0
        assert f"Example: discreet {command}" in " ".join(capsys.readouterr().out.split())
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in names())


def test_naming_one_command_loads_no_other() -> None:
    script = (
        "import sys\nfrom discreet.apps.cli import main\nmain(['calibrate', 'laplace', '--epsilon', '1'])\n"
        "print(*(name in sys.modules for name in ('discreet.apps.cli.commands.account', 'scipy', 'matplotlib')))"
    )
    source = str(Path(__file__).resolve().parents[2] / "src")
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r})\n{script}"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.stdout.splitlines() == ["scale  1", "False False False"]


def test_a_delta_below_all_floats_has_an_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    record = answer(capsys, "account", "gaussian", "--sigma", "1", "--delta", "1e-400")
    assert 37 < record["lower"] <= record["epsilon"] < 44
    assert record["delta"] == "1e-400"  # type: ignore[comparison-overlap]  # a float would say 0


def test_a_comparison_is_part_of_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ACCOUNT, "--compare", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in record["comparison"]}
    assert rows["numerical"]["epsilon"] == record["epsilon"]
    assert all(row["epsilon"] is None or row["epsilon"] >= record["lower"] for row in rows.values())
    assert all((row["epsilon"] is None) == bool(row["reason"]) for row in rows.values())


NASTY = ["nan", "inf", "-1", "0", "1e400", "1e-400", "1/0", "x", "", "9" * 5000, "1e99999999", "0x10", "1_0", " 1 "]


@pytest.mark.parametrize("value", NASTY)
def test_nasty_options_are_answered_or_refused_in_a_sentence(capsys: pytest.CaptureFixture[str], value: str) -> None:
    for command in (
        ["account", "gaussian", "--sigma", value, "--delta", "1e-5"],
        ["account", "gaussian", "--sigma", "2", "--delta", value, "--rate", "0.1"],
        ["account", "laplace", "--scale", "2", "--rate", value],
        ["account", "discrete-laplace", "--scale", "2", "--sensitivity", value],
        ["account", "randomized-response", "--epsilon", value, "--delta", "1e-9"],
        ["account", "gaussian", "--sigma", "1", "--delta", "1e-5", "--steps", value],
        ["calibrate", "gaussian", "--epsilon", value, "--delta", "1e-5"],
        ["calibrate", "gaussian", "--epsilon", "1", "--delta", value],
        ["calibrate", "laplace", "--epsilon", "1", "--delta", value, "--sensitivity", value],
        ["calibrate", "dpsgd", "--epsilon", "1", "--delta", "1e-5", "--rate", value, "--steps", "3"],
    ):
        code = main([*command, "--json"])
        shown = capsys.readouterr()
        assert code in {0, 2}
        if code == 0:
            numbers = [number for number in json.loads(shown.out).values() if isinstance(number, float)]
            assert all(math.isfinite(number) and number >= 0 for number in numbers)
        else:
            assert shown.err
            assert len(max(shown.err.splitlines(), key=len)) < 400


def test_every_mechanism_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.mechanisms import registered

    assert main(["mechanisms", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["mechanisms"]
    assert [row["kind"] for row in rows] == list(registered())
    assert all(row["guarantee"] and row["error"] and row["source"] and row["summary"] for row in rows)
    assert main(["mechanisms"]) == 0
    text = capsys.readouterr().out
    assert all(f"{row['name']}: {row['summary']}" in text for row in rows)
    assert max(map(len, text.splitlines())) <= 130


def test_one_mechanism_is_shown_by_name_or_kind(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("DiscreteLaplace", "discrete_laplace", "discretelaplace"):
        assert main(["mechanisms", name]) == 0
        text = capsys.readouterr().out
        assert "arXiv:0811.2841" in text
        assert "Staircase" not in text
    assert main(["mechanisms", "nothing"]) == 2
    assert "'nothing' is no mechanism. `discreet mechanisms` shows all" in capsys.readouterr().err
    assert main(["mechanisms", "randomised_response"]) == 2
    wrong = "discreet: 'randomised_response' is no mechanism. Did you mean 'RandomizedResponse'? `discreet mechanisms` "
    found = capsys.readouterr().err
    assert found.startswith(wrong)
    assert len(found) < len(wrong) + 20


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a code."""
    script = f"import sys; sys.path.insert(0, {SOURCE!r})\n{code}\nprint(*sys.modules, file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(run.stderr.split())


HEAVY = {"duckdb", "scipy.stats", "pandas", "polars", "torch", "pyspark", "fastapi", "starlette", "uvicorn", "sqlglot"}


def test_no_line_of_the_help_is_cut_on_a_usual_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    assert "…" not in capsys.readouterr().out


def test_help_and_a_bare_import_load_nothing_heavy() -> None:
    assert not loaded("import discreet") & (HEAVY | {"typer", "rich", "numpy"})
    shown = loaded("from discreet.apps.cli import main; main(['--help'])")
    assert not shown & (HEAVY | {"numpy", "scipy", "rich.console"})
    assert not {name for name in shown if name.startswith("discreet.apps.cli.commands.")}
    assert "duckdb" in loaded("import duckdb"), "the check sees a heavy module"


def test_every_command_has_a_summary_and_a_section() -> None:
    for name in names():
        section, text = summary(name)
        assert section in SECTIONS
        assert 10 < len(text) < 90


def test_a_command_without_a_section_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd.py").write_text('"""A command."""\n')
    monkeypatch.setattr("discreet.apps.cli.commands.__path__", [str(tmp_path)])
    with pytest.raises(TypeError, match="must begin with a line"):
        summary("odd")


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queryy"]) == 2
    assert "Did you mean 'query'?" in capsys.readouterr().err
    assert main(["account", "gaussiann"]) == 2
    assert "gaussian" in capsys.readouterr().err


def test_commands_are_completed_in_the_shell() -> None:
    code = (
        "import os\nos.environ.update(_DISCREET_COMPLETE='complete_bash', COMP_WORDS='discreet ver', COMP_CWORD='1')\n"
        "from discreet.apps.cli import main\nraise SystemExit(main([]))"
    )
    script = f"import sys; sys.path.insert(0, {SOURCE!r})\n{code}"
    run = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert run.stdout.split() == ["verify", "version"]


def test_every_command_answers_programs(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {"account": "gaussian", "attack": "link", "calibrate": "gaussian", "ledger": "export", "version": "new"}
    for name in names():
        assert main([name, *([groups[name]] if name in groups else []), "--help"]) == 0
        assert "--json" in capsys.readouterr().out


def test_a_promise_is_explained_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--epsilon", "1", "--delta", "1e-6"]) == 0
    text = capsys.readouterr().out
    assert "73.2 of 100" in text
    assert max(map(len, text.splitlines())) <= 88
    assert main(["explain", "--epsilon", "1", "--for", "engineer", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["audience"] == "engineer"
    assert main(["explain", "--epsilon", "-1"]) == 2
    assert "epsilon is '-1'" in capsys.readouterr().err


def test_the_promise_of_a_policy_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "town.toml"
    policy.write_text(
        "[budget]\nepsilon = 3\ndelta = 1e-6\n[population]\nid = 500\n[tables.t]\nunit = 'id'\nrows_per_unit = 1\n"
    )
    assert main(["explain", "--policy", str(policy), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["epsilon"], record["delta"], record["n"]) == ("3", "1/1000000", 500)
    assert main(["explain", "--policy", str(policy), "--epsilon", "1"]) == 2
    assert "give the one or the others" in capsys.readouterr().err
    assert main(["explain"]) == 2
    assert "--policy hospital.toml" in capsys.readouterr().err


def test_an_interrupt_is_said_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.checks.reports.facts.PromiseFacts.of", interrupted)
    assert main(["explain", "--epsilon", "1"]) == 130
    assert "stays spent" in capsys.readouterr().err


def on_a_terminal(*arguments: str, **settings: str) -> str:
    """Run the program with a terminal as its output."""
    ours, its = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": SOURCE, "TERM": "xterm-256color", **settings}
    command = [sys.executable, "-m", "discreet.apps.cli", *arguments]
    with subprocess.Popen(command, stdout=its, stderr=its, stdin=subprocess.DEVNULL, env=environment) as run:
        os.close(its)
        found = b""
        try:
            while chunk := os.read(ours, 65536):
                found += chunk
        except OSError:  # the other end is closed
            pass
        assert run.wait() == 0
    os.close(ours)
    return found.decode()


def test_colors_are_for_terminals_and_for_who_wants_them() -> None:
    colored = on_a_terminal("--help", NO_COLOR="")
    plain = on_a_terminal("--help", NO_COLOR="1")
    assert "\x1b[" in colored
    assert "\x1b[" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_a_terminal_without_greek_letters_gets_question_marks() -> None:
    environment = {**os.environ, "PYTHONPATH": SOURCE, "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "discreet.apps.cli", "explain", "--epsilon", "1"]
    run = subprocess.run(command, env=environment, check=False, capture_output=True)
    assert (run.returncode, run.stderr) == (0, b"")
    assert b"(? = 1)" in run.stdout


def test_completion_is_installed_for_the_program_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "--install-completion" in capsys.readouterr().out
    for command in names():
        assert main([command, "--help"]) == 0
        assert "completion" not in capsys.readouterr().out


GOOD = {
    "account gaussian": {"sigma": "1", "delta": "1e-5", "rate": "0.1", "steps": "3", "sensitivity": "1"},
    "account discrete-gaussian": {"sigma": "2", "delta": "1e-5", "rate": "1", "steps": "3", "sensitivity": "1"},
    "account laplace": {"scale": "10", "delta": "1e-5", "rate": "1", "steps": "3", "sensitivity": "1"},
    "account discrete-laplace": {"scale": "10", "delta": "1e-5", "rate": "1", "steps": "3", "sensitivity": "1"},
    "account randomized-response": {"epsilon": "1", "delta": "1e-5", "rate": "1", "steps": "3"},
    "calibrate gaussian": {"epsilon": "1", "delta": "1e-5", "sensitivity": "1"},
    "calibrate laplace": {"epsilon": "1", "delta": "1e-5", "sensitivity": "1"},
    "calibrate dpsgd": {"epsilon": "1", "delta": "1e-5", "rate": "0.1", "steps": "10"},
}
BAD = {"steps": ["-3"], "rate": ["2", "-0.1", "x"], "delta": ["2", "-1", "nan"], "sensitivity": ["0", "-1", "inf"]}


@pytest.mark.parametrize("command", GOOD)
def test_errors_name_the_option_as_it_is_written(capsys: pytest.CaptureFixture[str], command: str) -> None:
    def run(options: dict[str, str]) -> int:
        return main([*command.split(), *(word for name, value in options.items() for word in (f"--{name}", value))])

    assert run(GOOD[command]) == 0
    capsys.readouterr()
    for name in GOOD[command]:
        for value in BAD.get(name, ["-1", "x", "nan"]):
            assert run({**GOOD[command], name: value}) == 2
            said = capsys.readouterr().err
            assert f"--{name} is " in said, (name, value, said)
            assert f" {name}=" not in said
