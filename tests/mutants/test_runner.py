"""The runner of mutants, on a package of one function; and every mutant of the lists can be applied."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.mutants.__main__ import ROOT, Mutant, Verdict, listed, parsed, red_without, run, tried

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = ROOT / "src" / "discreet"
PLACED = "def doubled(number):\n    return 2 * number\n\n\ndef unused():\n    return 7\n"
TEST = "from toy.numbers import doubled\n\n\ndef test_doubled():\n    assert doubled(2) == 4\n"


def mutant(before: str, after: str, test: str = "test_toy.py::test_doubled") -> Mutant:
    return Mutant("numbers.py", before, after, "a toy", (test,))


KILLED, SURVIVED = mutant("2 * number", "3 * number"), mutant("return 7", "return 8")


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A package of one module, with one test, in a project of its own."""
    package = tmp_path / "src" / "toy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "numbers.py").write_text(PLACED)
    (tmp_path / "test_toy.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = --import-mode=importlib -p no:hypothesispytest -p no:sybil\n"
    )
    return package


@pytest.mark.parametrize(
    "wrong, verdict, words",
    [
        (KILLED, Verdict.KILLED, "test_doubled"),
        (SURVIVED, Verdict.SURVIVED, "1 passed"),
        (mutant("2 * letter", "3 * letter"), Verdict.ERROR, "stands there 0 times"),
        (mutant("return", "yield"), Verdict.ERROR, "stands there 2 times"),
        (mutant("2 * number", "2 * number"), Verdict.ERROR, "must once and differ"),
        (mutant("2 * number", "2 * ("), Verdict.ERROR, "never closed"),
        (mutant("2 * number", "2 * nobody"), Verdict.ERROR, "NameError"),
        (mutant("def doubled", "def tripled"), Verdict.ERROR, "ImportError"),
        (mutant("def doubled", "raise ValueError\n\n\ndef doubled"), Verdict.ERROR, "ValueError"),
        (mutant("2 * number", "3 * number", "test_toy.py::test_nowhere"), Verdict.ERROR, "not found"),
    ],
    ids=str,
)
def test_a_failed_test_kills_and_nothing_else_does(toy: Path, wrong: Mutant, verdict: Verdict, words: str) -> None:
    seen, said = tried(wrong, toy, toy.parents[1])
    assert (seen, words in said) == (verdict, True), said
    assert (toy / "numbers.py").read_text() == PLACED


def test_the_copy_is_what_the_tests_import(toy: Path) -> None:
    """A package of that name which comes first in spite of the path is refused, and kills nothing."""
    (toy.parent / "sitecustomize.py").write_text("")
    away = toy.parent / "elsewhere"
    away.mkdir()
    shutil.copytree(toy, away / "toy")
    (toy / "__init__.py").write_text(f"import toy\ntoy.__file__ = {str(away / 'toy' / '__init__.py')!r}\n")
    seen, said = tried(KILLED, toy, toy.parents[1])
    assert seen is Verdict.ERROR
    assert "instead of" in said


def test_tests_that_are_red_without_a_mutant_are_told(toy: Path) -> None:
    (toy.parents[1] / "test_toy.py").write_text(TEST.replace("4", "5"))
    assert "1 failed" in red_without([KILLED], toy, 1, toy.parents[1])[0]


def test_a_run_ends_with_a_count(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mutants = [KILLED, SURVIVED, mutant("no such text", "")]
    assert run(mutants, toy, 2, 600, toy.parents[1]) == 1
    assert "1 killed, 1 survived, 1 in error (" in capsys.readouterr().out.splitlines()[-1]
    assert run([KILLED], toy, 1, 0, toy.parents[1]) == 0
    assert "0 killed, 0 survived, 1 left for another run (" in capsys.readouterr().out.splitlines()[-1]


def test_a_list_is_read() -> None:
    text = "[[mutant]]\nfile = 'a.py'\nbefore = '<'\nafter = '<='\nwhy = 'w'\ntests = ['t']\n"
    assert parsed(text) == [Mutant("a.py", "<", "<=", "w", ("t",))]


def test_every_mutant_can_be_applied(tmp_path: Path) -> None:
    """Whoever changes a line that a mutant names changes the mutant."""
    copy = tmp_path / "discreet"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for wrong in listed():
        wrong.apply(copy)
        shutil.copy(PACKAGE / wrong.file, copy / wrong.file)
        for test in wrong.tests:
            path, _, name = test.partition("::")
            assert path.startswith("tests/"), f"{test}: an example in the tree imports the tree, not the copy"
            assert (f"def {name.partition('[')[0]}(" if name else "") in (ROOT / path).read_text(), test


def test_no_mutant_is_listed_twice() -> None:
    places = Counter((wrong.file, wrong.before, wrong.after) for wrong in listed())
    assert max(places.values(), default=1) == 1
