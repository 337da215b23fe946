"""What online-fdr decides: `python -m benchmarks.adaptive_peers.online_fdr` reads p-values and prints levels."""

from __future__ import annotations

import json
import sys

from online_fdr.p_values import LordPlusPlus, Saffron


def levels(rule: object, p_values: list[float]) -> list[tuple[float, bool]]:
    """Run through p-values: the level of each test, and whether it was a discovery."""
    told = []
    for value in p_values:
        found = rule.test_one(value)  # type: ignore[attr-defined]
        told.append((float(rule.alpha), bool(found)))  # type: ignore[attr-defined]
    return told


def main() -> None:
    """Read {target, wealth, p_values}; print what LORD++ and SAFFRON say."""
    given = json.load(sys.stdin)
    rules = {
        "lord": LordPlusPlus(alpha=given["target"], wealth=given["wealth"]),
        "saffron": Saffron(alpha=given["target"], wealth=given["wealth"], lambda_=0.5),
    }
    print(json.dumps({name: levels(rule, given["p_values"]) for name, rule in rules.items()}))


if __name__ == "__main__":
    main()
