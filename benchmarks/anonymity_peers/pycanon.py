"""How long pycanon takes: `python -m benchmarks.anonymity_peers.pycanon PARQUET SENSITIVE QUASI ...` prints JSON."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import pandas as pd
from pycanon import anonymity

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Measure k-anonymity and l-diversity once, each by itself."""
    file, sensitive, *quasi = sys.argv[1:]
    rows, told = pd.read_parquet(file), {}
    measures: dict[str, Callable[[], int]] = {
        "k": lambda: anonymity.k_anonymity(rows, quasi),
        "l": lambda: anonymity.l_diversity(rows, quasi, [sensitive]),
    }
    for name, measure in measures.items():
        wall, cpu = time.perf_counter(), time.process_time()
        value = measure()
        told[name] = {"value": int(value), "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
