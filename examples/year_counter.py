"""A counter that runs for a year: visits so far, every morning, for one price; and the week's from the same sums."""

from __future__ import annotations

import math

from discreet.methods.streaming import PrefixSum


def main() -> None:
    """Print the sum at the end of each quarter, and of its last week, with their ±."""
    stream = PrefixSum(365, sensitivity=1, epsilon=1, grid=1, elements="totals", keep=7)
    for day in range(1, 366):
        sum_ = stream.add(round(40 + 15 * math.sin(day / 58)))
        if day % 91 == 0:
            week = stream.window(7)
            print(f"day {day}: {sum_.value:6} ± {sum_.error():.0f}, last week {week.value:4} ± {week.error():.0f}")
    print(sum_.explain().splitlines()[1])


if __name__ == "__main__":
    main()
