"""A first private answer: a count, its error bar, and what it promises.

Run it twice: the answer changes, the error bar and the promise do not.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from math import ceil

from discreet.exact import exp_upper
from discreet.noise import discrete_laplace

EPSILON = Fraction(1, 10)
CONFIDENCE = Fraction(95, 100)

# What nobody outside may see: how each visitor of a small museum came.
VISITORS = ["bicycle"] * 347 + ["train"] * 512 + ["car"] * 141


def error_bar(epsilon: Fraction, confidence: Fraction) -> int:
    """Return the smallest m such that noise for this epsilon stays within -m..m with this probability.

    Noise of scale 1/epsilon takes the value z with probability (1 - p) / (1 + p) * p**|z|, where p = exp(-epsilon).
    Summing the two tails: it leaves -m..m with probability 2 * p**(m + 1) / (1 + p), which grows with p;
    p is rounded up, so the error bar is never too short.
    """
    p = exp_upper(-epsilon)
    return next(m for m in count() if 2 * p ** (m + 1) / (1 + p) <= 1 - confidence)


def factor(epsilon: Fraction) -> float:
    """Return exp(epsilon) with four decimals, rounded up: the largest ratio of probabilities."""
    return ceil(exp_upper(epsilon) * 10_000) / 10_000


def main() -> None:
    """Answer one question privately and say what the answer is worth."""
    true_count = VISITORS.count("bicycle")  # one visitor more or less moves it by at most 1
    answer = true_count + discrete_laplace(1 / EPSILON)

    print("Question   How many visitors came by bicycle?")
    print(f"Answer     {answer} ± {error_bar(EPSILON, CONFIDENCE)}")
    print(f"           {float(CONFIDENCE):.0%} of such answers are off by no more than that.")
    print(f"Promise    epsilon = {EPSILON}")
    print("           Whoever sees the answer can hardly tell whether any one visitor is in the data:")
    print(f"           with or without them, no answer is more than {factor(EPSILON)} times as likely.")


if __name__ == "__main__":
    main()
