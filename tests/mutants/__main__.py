"""Change one privacy constant at a time in a copy of the package, and demand that the nearest tests turn red.

    python -m tests.mutants                          all of them
    python -m tests.mutants --changed origin/main    those of files, tests and entries that changed since
    python -m tests.mutants --recent --minutes 10    those of the last day's commits, as far as ten minutes reach
    python -m tests.mutants --file plans/ --only join

The lists are the `.toml` files beside this one. A mutant is killed when a named test fails; one that cannot be
applied, imported or collected is an error of the list, and so is a named test that is red without it.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HANGS = 600
"""Seconds after which a mutant that neither fails nor ends is an error."""

# Tests must meet the copy: whichever package comes first on the path is imported before pytest looks at anything.
_START = """
import sys, pathlib
folder = pathlib.Path(sys.argv[1])
package = __import__(folder.name)
if pathlib.Path(package.__file__).parent != folder:
    sys.exit(f"imported {package.__file__} instead of {folder}")
import pytest
sys.exit(pytest.main(sys.argv[2:]))
"""
# Plain assertions: to explain how two large tables differ, pytest takes minutes.
_QUICK = ("-x", "-q", "-p", "no:cacheprovider", "-n", "0", "--tb=line", "--assert=plain")
_NOT_A_FAILURE = re.compile(r"\b(ImportError|ModuleNotFoundError|SyntaxError|NameError)\b")


class Verdict(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    ERROR = "ERROR"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Mutant:
    """One constant, changed: the file below the package, the text before and after, the tests that must notice."""

    file: str
    before: str
    after: str
    why: str
    tests: tuple[str, ...]

    def apply(self, package: Path) -> None:
        """Write the change into a copy of the package."""
        place = package / self.file
        text = place.read_text()
        if text.count(self.before) != 1 or self.before == self.after:
            message = f"{self.file}: {self.before!r} stands there {text.count(self.before)} times, must once and differ"
            raise ValueError(message)
        changed = text.replace(self.before, self.after)
        compile(changed, str(place), "exec")
        place.write_text(changed)
        for stale in (place.parent / "__pycache__").glob(f"{place.stem}.*"):
            stale.unlink()

    def __str__(self) -> str:
        return f"{self.file}: {self.why}"


def parsed(text: str) -> list[Mutant]:
    """Read the mutants of one list."""
    entries = tomllib.loads(text).get("mutant", [])
    return [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def listed(folder: Path = HERE) -> list[Mutant]:
    """Read every list of the folder."""
    return [mutant for path in sorted(folder.glob("*.toml")) for mutant in parsed(path.read_text())]


def pytest_on(package: Path, tests: Iterable[str], root: Path) -> subprocess.CompletedProcess[str]:
    """Run tests with this package in the place of the tree's own."""
    return subprocess.run(
        [sys.executable, "-c", _START, str(package), *_QUICK, *tests],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
        start_new_session=True,  # some tests stop whole groups of processes, and a mutant may mistake whose
    )


def judged(ran: subprocess.CompletedProcess[str]) -> tuple[Verdict, str]:
    """Tell a failed test from a run that never came to test anything, with the line that says so."""
    lines = (ran.stdout + ran.stderr).strip().splitlines() or [""]
    failed = [line for line in lines if line.startswith("FAILED ")]
    if ran.returncode == 0:
        return Verdict.SURVIVED, lines[-1]
    if ran.returncode == 1 and failed and not _NOT_A_FAILURE.search(failed[0]):
        return Verdict.KILLED, failed[0].removeprefix("FAILED ")
    return Verdict.ERROR, "\n".join(lines[-12:])


def tried(mutant: Mutant, package: Path, root: Path = ROOT) -> tuple[Verdict, str]:
    """Apply one mutant to a copy of the package and ask its tests."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder, package.name)
        shutil.copytree(package, copy)  # with what Python compiled, as far as it is fresh
        try:
            mutant.apply(copy)
            return judged(pytest_on(copy, mutant.tests, root))
        except (ValueError, OSError, SyntaxError) as error:
            return Verdict.ERROR, str(error)
        except subprocess.TimeoutExpired:
            return Verdict.ERROR, f"no end after {HANGS} seconds"


def red_without(mutants: Sequence[Mutant], package: Path, workers: int, root: Path = ROOT) -> list[str]:
    """Return what the named tests print that are not green as the package stands; each test runs once."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    shares = [tests[start::workers] for start in range(workers) if tests[start::workers]]
    with ThreadPoolExecutor(workers) as pool:
        runs = list(pool.map(lambda share: pytest_on(package, share, root), shares))
    return [ran.stdout[-3000:] + ran.stderr[-3000:] for ran in runs if ran.returncode != 0]


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607  git of whoever runs this


def recent_base() -> str | None:
    """Return the newest commit that is a day older than the last one; None where the history does not reach back."""
    day_before = int(_git("log", "-1", "--format=%ct")) - 24 * 60 * 60
    return _git("rev-list", "-1", f"--before={day_before}", "HEAD") or None


def changed_since(base: str, mutants: Iterable[Mutant]) -> list[Mutant]:
    """Keep the mutants whose file, test or entry is not what it was."""
    paths = set(_git("diff", "--name-only", base, "--").splitlines())
    old = set()
    for path in _git("ls-tree", "--name-only", base, "tests/mutants/").splitlines():
        if path.endswith(".toml"):
            old.update(parsed(_git("show", f"{base}:{path}")))
    return [
        mutant
        for mutant in mutants
        if mutant not in old
        or f"src/discreet/{mutant.file}" in paths
        or any(test.partition("::")[0] in paths for test in mutant.tests)
    ]


def turned(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Order the mutants by the last commit, so that a run that ends early is not the same part each time."""
    commit = _git("rev-parse", "HEAD")
    return sorted(mutants, key=lambda mutant: hashlib.sha256(f"{commit} {mutant}".encode()).digest())


def run(mutants: Sequence[Mutant], package: Path, workers: int, seconds: float, root: Path = ROOT) -> int:
    """Try them all, print a line for each, and return 0 only where every one that was tried is killed."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        whole = Path(folder, package.name)
        shutil.copytree(package, whole)
        if seconds == math.inf:  # a run that must end soon comes after the tests
            if broken := red_without(mutants, whole, workers, root):
                print("Named tests are red without any mutant:", *broken, sep="\n")
                return 2
            print(f"{len(mutants)} mutants; their tests are green without them ({time.monotonic() - started:.0f} s)")

        def line(mutant: Mutant) -> Verdict:
            begun = time.monotonic()
            if begun - started > seconds:
                return Verdict.NOT_RUN
            verdict, words = tried(mutant, whole, root)
            shown = words if verdict is Verdict.ERROR else words[:100]
            print(f"{verdict.value:8} {time.monotonic() - begun:5.1f} s  {mutant}\n{'':18}{shown}", flush=True)
            return verdict

        with ThreadPoolExecutor(workers) as pool:
            verdicts = list(pool.map(line, mutants))
    killed, survived, errors, left = (verdicts.count(verdict) for verdict in Verdict)
    print(
        f"{killed} killed, {survived} survived"
        + f", {errors} in error" * bool(errors)
        + f", {left} left for another run" * bool(left)
        + f" ({time.monotonic() - started:.0f} s)"
    )
    return 1 if survived or errors else 0


def main(words: Sequence[str] | None = None) -> int:
    """Read the options, choose the mutants, run them."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--changed", metavar="BASE", help="only mutants whose file, test or entry changed since BASE")
    parser.add_argument("--recent", action="store_true", help="the same, since a day before the last commit")
    parser.add_argument("--file", default="", help="only files below src/discreet whose path begins so")
    parser.add_argument("--only", default="", help="only mutants whose description contains this")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin none after so long")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="how many at once (default: cores)")
    chosen = parser.parse_args(words)
    mutants = [mutant for mutant in listed() if mutant.file.startswith(chosen.file) and chosen.only in str(mutant)]
    base = chosen.changed or (recent_base() if chosen.recent else None)
    if base:
        mutants = changed_since(base, mutants)
    if not mutants:
        print("0 killed, 0 survived: none is chosen")
        return 0
    return run(turned(mutants), ROOT / "src" / "discreet", max(1, chosen.workers), 60 * chosen.minutes)


if __name__ == "__main__":
    sys.exit(main())
