"""Make the peers' environments: `python -m benchmarks.setup [name ...]`.

Each peer gets its own virtual environment in `benchmarks/.peers/`, since their dependencies contradict each other.
What goes into one is pinned in `benchmarks/libraries/<name>.txt` (noise), and in the folders `accountants`,
`statistics`, `queries_peers`, `adaptive_peers`, `anonymity_peers`, `local_peers` and
`streaming_peers` beside it. A peer that
cannot be installed does not stop the others; the reason that pip gives is kept and stands in the benchmarks' tables.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks import (
    accountants,
    adaptive_peers,
    anonymity_peers,
    libraries,
    local_peers,
    queries_peers,
    statistics,
    streaming_peers,
)

PEERS = (
    *libraries.PEERS,
    *accountants.PEERS,
    *statistics.NEW_PEERS,
    *queries_peers.NEW_PEERS,
    *adaptive_peers.PEERS,
    *anonymity_peers.PEERS,
    *local_peers.PEERS,
    *streaming_peers.PEERS,
)
FOLDER = Path(__file__).parent / ".peers"
PINS = Path(__file__).parent / "libraries"
ACCOUNTANT_PINS = Path(__file__).parent / "accountants"
STATISTICS_PINS = Path(__file__).parent / "statistics"
QUERY_PINS = Path(__file__).parent / "queries_peers"
ADAPTIVE_PINS = Path(__file__).parent / "adaptive_peers"
ANONYMITY_PINS = Path(__file__).parent / "anonymity_peers"
LOCAL_PINS = Path(__file__).parent / "local_peers"
STREAMING_PINS = Path(__file__).parent / "streaming_peers"
_PINS_OF = {
    statistics.NEW_PEERS: STATISTICS_PINS,
    queries_peers.NEW_PEERS: QUERY_PINS,
    adaptive_peers.PEERS: ADAPTIVE_PINS,
    anonymity_peers.PEERS: ANONYMITY_PINS,
    local_peers.PEERS: LOCAL_PINS,
    streaming_peers.PEERS: STREAMING_PINS,
    accountants.PEERS: ACCOUNTANT_PINS,
}
INTERPRETER = Path("Scripts/python.exe") if sys.platform == "win32" else Path("bin/python")
DONE = "installed.txt"


def interpreter(peer: str) -> Path:
    """Return where the peer's own Python lies, or will lie."""
    return FOLDER / peer / INTERPRETER


def pins_of(peer: str) -> Path:
    """Return the file that pins what goes into the peer's environment.

    >>> pins_of("opendp").parent.name, pins_of("autodp").parent.name
    ('libraries', 'accountants')
    """
    for known, folder in _PINS_OF.items():
        if peer in known:
            return folder / f"{peer}.txt"
    return PINS / f"{peer}.txt"


def why_missing(peer: str) -> str | None:
    """Say why the peer cannot run; None if it can."""
    refusal = FOLDER / f"{peer}.failed.txt"
    if refusal.exists():
        return f"not installed: {refusal.read_text(encoding='utf-8').strip()}"
    if not is_installed(peer):
        return "no environment with the pinned versions: run python -m benchmarks.setup"
    return None


def is_installed(peer: str) -> bool:
    """Tell whether the environment holds what the pins say now."""
    record = FOLDER / peer / DONE
    return record.exists() and record.read_bytes() == pins_of(peer).read_bytes()


def pip_reason(output: str) -> str:
    r"""Pick out of pip's output the sentence that says what went wrong.

    >>> pip_reason("Collecting x\nERROR: No matching distribution found for x==9\n[notice] update pip")
    'No matching distribution found for x==9'
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.split("ERROR:", 1)[1].strip() for line in lines if "ERROR:" in line]
    return (errors or lines or ["pip failed without a word"])[-1]


def install(peer: str) -> str | None:
    """Create the peer's environment; return pip's reason if that fails, else None."""
    home = FOLDER / peer
    refusal = FOLDER / f"{peer}.failed.txt"
    shutil.rmtree(home, ignore_errors=True)
    refusal.unlink(missing_ok=True)
    venv.create(home, with_pip=True)
    pins = pins_of(peer)
    command = [
        str(interpreter(peer)),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--requirement",
        str(pins),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own interpreter
    if run.returncode:
        reason = pip_reason(run.stderr)
        refusal.write_text(reason + "\n", encoding="utf-8")
        return reason
    (home / DONE).write_bytes(pins.read_bytes())
    return None


def main() -> int:
    """Install the peers that are missing; return 1 if one of them could not be installed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.setup", description="Make the peers' environments.")
    parser.add_argument("peers", nargs="*", metavar="peer", help=f"which of {', '.join(PEERS)}; all if none is named")
    names = parser.parse_args().peers or list(PEERS)
    if unknown := sorted(set(names) - set(PEERS)):
        parser.error(f"unknown peer {', '.join(unknown)}; known are {', '.join(PEERS)}")
    failed = False
    for name in names:
        if is_installed(name):
            print(f"{name}: already there")
            continue
        print(f"{name}: installing ...", flush=True)
        reason = install(name)
        print(f"{name}: {'installed' if reason is None else 'failed: ' + reason}")
        failed |= reason is not None
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
