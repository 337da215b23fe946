"""What the command line costs before it does anything: `python -m benchmarks.command_line`.

CPU seconds of fresh interpreters, the least of several runs, interleaved; help may cost twice an import of typer. The
demo's time is that of a clock, from nothing to its last line; it may take ten seconds on an idle machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

RUNS = 9
SOURCE = str(Path(__file__).resolve().parents[1] / "src")
CODES = {
    "python": ["-c", "pass"],
    "import discreet": ["-c", "import discreet"],
    "import typer": ["-c", "import typer"],
    "discreet --help": ["-m", "discreet.apps.cli", "--help"],
    "discreet query --help": ["-m", "discreet.apps.cli", "query", "--help"],
    "discreet calibrate laplace": ["-m", "discreet.apps.cli", "calibrate", "laplace", "--epsilon", "1"],
}


def run(arguments: list[str]) -> tuple[float, float]:
    """Give the CPU and the clock seconds of one fresh interpreter."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


def main() -> None:
    """Print the table."""
    least = dict.fromkeys(CODES, float("inf"))
    for _ in range(RUNS):
        for name, arguments in CODES.items():
            least[name] = min(least[name], run(arguments)[0])
    for name, seconds in least.items():
        print(f"{name:<28} {1000 * seconds:6.0f} ms CPU  {seconds / least['import typer']:5.2f} × import typer")
    cpu, clock = run(["-m", "discreet.apps.cli", "demo"])
    print(f"{'discreet demo':<28} {clock:6.1f} s by the clock, {cpu:.1f} s CPU")


if __name__ == "__main__":
    main()
