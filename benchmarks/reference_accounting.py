"""Reference values of epsilon, without the package: `python -m benchmarks.reference_accounting`.

Each value is computed twice, with different settings, in multiple-precision arithmetic unless said below; `spread` is
how far the two lie apart, and at least 1e-11 where floats of fixed size are used, whose rounding both may share. A
spread above 1e-9 is refused. The methods:

- randomized response and (epsilon, delta) boxes: the binomial sum; discrete Laplace and discrete Gaussian noise: the
  k-fold law is enumerated on its lattice, as a power of a polynomial (in long integers, by Kronecker substitution);
- Laplace: E_P[exp(s L)] = exp(s e) (1+s)/(1+2s) + exp(-(1+s) e) s/(1+2s) is raised to the k-th power and inverted term
  by term with residues, which leaves a finite sum;
- one or two sampled Gaussians: the hockey-stick divergence itself, in closed form and as one integral over it;
- sampled Gaussians with less than one inclusion to be expected: the divergence after k steps as a function of the one
  before, a matrix (`reference_profile`, in doubles); very many of them at a tiny rate: the Fourier integral of moments
  summed without cancellation (`reference_moments`, in 80-bit floats);
- everything else: the Fourier integral of the exponentially tilted law of the loss, by the trapezoidal rule, once with
  each of two tilts and spacings. Composed directions are taken separately, and the larger epsilon counts.

Values go to `accounting_reference.json` beside this file. `--only TEXT` computes the cases whose name contains it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mpmath import mp, mpf

from benchmarks.accounting_cases import CASES, Case, Family, Mechanism
from benchmarks.reference_fourier import Atoms, LaplaceLaw, chernoff, nodes_of, period, sampled_gaussian
from benchmarks.reference_moments import Sampled, moments_epsilon
from benchmarks.reference_profile import profile_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.reference_fourier import Law

PATH = Path(__file__).parent / "accounting_reference.json"
DIGITS = 45
WORST_SPREAD = 1e-9
ROUNDING = 1e-11
"""Granted to methods in floats: a step rounds delta by some 10 units in the last place, and there are 1,000 at most."""


def exact(text: str) -> mpf:
    """Read a decimal or a fraction.

    >>> exact("1/4") == mpf("0.25")
    True
    """
    number = Fraction(text)
    return mpf(number.numerator) / number.denominator


def bisect(delta: Callable[[mpf], mpf], chance: mpf, high: mpf) -> mpf:
    """Return the epsilon in [0, high] at which a falling delta passes `chance`; 0 if it is never above it."""
    low = mpf(0)
    if delta(low) <= chance:
        return low
    while delta(high) > chance:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > chance else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class Lattice:
    """A loss that is `offset + step * i` with probability masses[i], and infinite with probability `infinite`."""

    offset: mpf
    step: mpf
    masses: tuple[mpf, ...]
    infinite: mpf


def lattice(mechanism: Mechanism) -> Lattice:
    """Return the law of one mechanism's loss."""
    scale, extra = exact(mechanism.scale), exact(mechanism.extra)
    if mechanism.family in {Family.RANDOMIZED_RESPONSE, Family.BOX}:
        leak = extra if mechanism.family is Family.BOX else mpf(0)
        high = (1 - leak) / (1 + mp.exp(-scale))
        return Lattice(-scale, 2 * scale, (1 - leak - high, high), leak)
    shift = int(extra)
    if mechanism.family is Family.DISCRETE_LAPLACE:
        # At z = 0, ..., shift the loss is (shift - 2z) / scale; everything outside falls onto the two ends.
        ratio = mp.exp(-1 / scale)
        end = 1 / (1 + ratio)
        inner = [(1 - ratio) / (1 + ratio) * ratio**z for z in range(1, shift)]
        return Lattice(-shift / scale, 2 / scale, (end * ratio**shift, *reversed(inner), end), mpf(0))
    reach = int(scale * mp.sqrt(2 * DIGITS * mp.log(10))) + 2
    weights = [mp.exp(-mpf(z * z) / (2 * scale**2)) for z in range(-reach, reach + 1)]
    total = mp.fsum(weights)
    # Loss ((z - shift)^2 - z^2) / (2 sigma^2), from the largest z down to the smallest.
    offset = (mpf(shift * shift) - 2 * shift * reach) / (2 * scale**2)
    return Lattice(offset, shift / scale**2, tuple(w / total for w in reversed(weights)), mpf(0))


def power(masses: tuple[mpf, ...], count: int, bits: int) -> tuple[int, list[mpf]]:
    """Return the count-fold convolution of some masses, as its first index and its entries from there.

    Entries are integers, multiples of 2^-bits; each of the fewer than 2 log2(count) products rounds them again, and
    entries that round to 0 at either end are left away.

    >>> [int(8 * c) for c in power((mpf(1) / 2, mpf(1) / 2), 3, 10)[1]]
    [1, 3, 3, 1]
    """
    square = (0, [int(mp.nint(mass * 2**bits)) for mass in masses])
    result = (0, [1 << bits])
    while count:
        if count & 1:
            result = convolve(result, square, bits)
        count >>= 1
        if count:
            square = convolve(square, square, bits)
    return result[0], [mpf(entry) / mpf(2) ** bits for entry in result[1]]


def convolve(one: tuple[int, list[int]], other: tuple[int, list[int]], bits: int) -> tuple[int, list[int]]:
    """Multiply two polynomials as two long integers that hold their coefficients in slots of equal width."""
    width = (2 * bits + 40) // 8 + 1
    packed = [
        int.from_bytes(b"".join(entry.to_bytes(width, "little") for entry in entries), "little")
        for _, entries in (one, other)
    ]
    length = len(one[1]) + len(other[1]) - 1
    product = (packed[0] * packed[1]).to_bytes(width * (length + 1), "little")
    half = 1 << (bits - 1)
    entries = [(int.from_bytes(product[i * width : (i + 1) * width], "little") + half) >> bits for i in range(length)]
    present = [i for i, entry in enumerate(entries) if entry]
    return one[0] + other[0] + present[0], entries[present[0] : present[-1] + 1]


def binomial(masses: tuple[mpf, ...], count: int) -> list[mpf]:
    """Return the law of the number of successes among `count`, from the probabilities of failure and success."""
    low, high = masses
    term = low**count
    law = [term]
    for i in range(count):
        term *= mpf(count - i) / (i + 1) * high / low
        law.append(term)
    return law


def enumerate_lattice(case: Case, digits: int) -> mpf:
    """Return epsilon by enumeration."""
    with mp.workdps(digits):
        ((mechanism, count),) = case.terms
        one = lattice(mechanism)
        if len(one.masses) == 2:
            first, law = 0, binomial(one.masses, count)
        else:
            first, law = power(one.masses, count, int(digits * 3.4) + 20)
        infinite = 1 - (1 - one.infinite) ** count
        losses = [count * one.offset + one.step * (first + i) for i in range(len(law))]
        weights = [mass * mp.exp(-loss) for mass, loss in zip(law, losses, strict=True)]
        # Suffix sums: delta(epsilon) = infinite + sum over losses above epsilon of mass - exp(epsilon) * weight.
        chance = exact(case.delta)
        above, scaled = infinite, mpf(0)
        for i in range(len(law) - 1, -1, -1):
            above, scaled = above + law[i], scaled + weights[i]
            floor = losses[i - 1] if i else mpf(-mp.inf)
            found = mp.log((above - chance) / scaled) if above > chance else mpf(-mp.inf)
            if found >= floor:
                return max(found, mpf(0))
    return mpf(0)


def laplace_terms(count: int) -> list[list[mpf]]:
    """Return, for each j, the coefficients in u = s + 1/2 of (1+s)^(k-j-1) s^(j-1), as far as a residue needs them."""
    rows = []
    for j in range((count + 1) // 2):
        first = _shifted_power(mpf(1) / 2, count - j - 1, count)
        second = _shifted_power(mpf(-1) / 2, j - 1, count)
        rows.append([mp.fdot(zip(first[: i + 1], reversed(second[: i + 1]), strict=True)) for i in range(count)])
    return rows


def laplace_sum(epsilon: mpf, each: mpf, count: int, rows: list[list[mpf]]) -> mpf:
    """Return delta of `count` Laplace mechanisms of pure epsilon `each`, by residues.

    M(s)^k / (s (s+1)) = sum over j of C(k,j) exp(s (k-2j) e) exp(-j e) (1+s)^(k-j-1) s^(j-1) / (1+2s)^k. On a line to
    the right of 0, a term with (k-2j) e <= epsilon contributes nothing, any other the residues at 0 (for j = 0) and at
    -1/2, which is the coefficient of u^(k-1) in exp(slope (u - 1/2)) (1/2+u)^(k-j-1) (u-1/2)^(j-1) / 2^k.
    """
    total = mpf(0)
    for j, row in enumerate(rows):
        slope = (count - 2 * j) * each - epsilon
        if slope <= 0:
            break
        rising = [mpf(1)]
        for i in range(1, count):
            rising.append(rising[-1] * slope / i)
        half = mp.exp(-slope / 2) * mp.fdot(zip(reversed(rising), row, strict=True)) / mpf(2) ** count
        total += mp.binomial(count, j) * mp.exp(-j * each) * (half + (1 if j == 0 else 0))
    return total


def _shifted_power(base: mpf, exponent: int, terms: int) -> list[mpf]:
    """Return the first coefficients of (base + u)^exponent; the exponent may be negative."""
    last = terms if exponent < 0 else min(terms, exponent + 1)
    found = [mp.binomial(exponent, i) * base ** (exponent - i) for i in range(last)]
    return found + [mpf(0)] * (terms - last)


def invert_laplace(case: Case, digits: int) -> mpf:
    """Return epsilon of Laplace noise."""
    ((mechanism, count),) = case.terms
    with mp.workdps(digits + count):
        each = 1 / exact(mechanism.scale)
        rows = laplace_terms(count)
        return bisect(lambda epsilon: laplace_sum(epsilon, each, count, rows), exact(case.delta), count * each)


def single_remove(epsilon: mpf, sigma: mpf, rate: mpf) -> mpf:
    """Return the hockey-stick divergence of (1-q) N(0, s^2) + q N(1, s^2) from N(0, s^2); epsilon may be negative."""
    beyond = mp.exp(epsilon) - 1 + rate
    if beyond <= 0:
        return -mp.expm1(epsilon)
    edge = sigma**2 * mp.log(beyond / rate) + mpf(1) / 2
    far, near = mp.ncdf((1 - edge) / sigma), mp.ncdf(-edge / sigma)
    return rate * far - beyond * near


def single_add(epsilon: mpf, sigma: mpf, rate: mpf) -> mpf:
    """Return the divergence the other way round: H(Q || P) = 1 - e^eps + e^eps H_{-eps}(P || Q)."""
    return -mp.expm1(epsilon) + mp.exp(epsilon) * single_remove(-epsilon, sigma, rate)


def double(epsilon: mpf, sigma: mpf, rate: mpf, *, removed: bool, pieces: int) -> mpf:
    """Return the divergence of two sampled Gaussians: the mean over the first loss of what the second one leaves."""
    one = single_remove if removed else single_add
    sign = 1 if removed else -1

    def inside(x: mpf) -> mpf:
        ratio = 1 - rate + rate * mp.exp((2 * x - 1) / (2 * sigma**2))
        density = mp.npdf(x, 0, sigma) * (ratio if removed else 1)
        return density * one(epsilon - sign * mp.log(ratio), sigma, rate)

    reach = sigma * mp.sqrt(2 * 40 * mp.log(10))
    edges = mp.linspace(-reach, 1 + reach, pieces + 1)
    return mp.quad(inside, edges)


def direct_gaussians(case: Case, digits: int) -> mpf:
    """Return epsilon of one or two sampled Gaussians from the hockey-stick divergence itself."""
    ((mechanism, count),) = case.terms
    with mp.workdps(digits):
        sigma, rate, chance = exact(mechanism.scale), exact(mechanism.extra), exact(case.delta)
        pieces = 40 if digits > 36 else 31
        found = []
        for removed in (True, False):
            if count == 1:
                one = single_remove if removed else single_add
                found.append(bisect(partial(one, sigma=sigma, rate=rate), chance, mpf(1)))
            else:
                found.append(
                    solve_smooth(partial(double, sigma=sigma, rate=rate, removed=removed, pieces=pieces), chance)
                )
        return max(found)


def solve_smooth(delta: Callable[[mpf], mpf], chance: mpf) -> mpf:
    """Return where a smooth falling delta passes `chance`, by a secant on its logarithm inside a bracket."""
    low, high = mpf(0), mpf(1)
    if delta(low) <= chance:
        return low
    while delta(high) > chance:
        low, high = high, 2 * high
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > chance else (low, middle)
    return mp.findroot(lambda e: mp.log(delta(e) / chance), (low, high), solver="anderson", tol=mpf(10) ** -16)


TOP = mpf(200)
"""No line lies further to the right."""


def law_of(mechanism: Mechanism, *, removed: bool, top: mpf, fastest: mpf) -> Law:
    """Return the finite part of one mechanism's loss."""
    scale, extra = exact(mechanism.scale), exact(mechanism.extra)
    if mechanism.family is Family.SAMPLED_GAUSSIAN:
        return sampled_gaussian(scale, extra, removed=removed, top=top, fastest=fastest)
    if mechanism.family is Family.LAPLACE:
        return LaplaceLaw(1 / scale)
    one = lattice(mechanism)
    return Atoms(tuple(one.offset + one.step * i for i in range(len(one.masses))), one.masses)


def leaked(case: Case) -> mpf:
    """Return the probability that some loss is infinite."""
    kept = mpf(1)
    for mechanism, count in case.terms:
        if mechanism.family is Family.BOX:
            kept *= (1 - exact(mechanism.extra)) ** count
    return 1 - kept


def fourier(case: Case, *, removed: bool, variant: int, floor: mpf) -> mpf:
    """Return epsilon of one direction; `floor` if it is known to be below that.

    The window's width belongs to the distance from 0, where almost-atoms gather: a first pass finds it.
    """
    chance = exact(case.delta) - leaked(case)
    rough = [(law_of(m, removed=removed, top=TOP, fastest=mpf(1)), n) for m, n in case.terms]
    line, bound = chernoff(rough, float(chance), float(TOP) / 2)
    if bound <= floor:
        return floor
    line *= (1, 0.8)[variant]
    step = 2 * mp.pi / (period(rough, line, bound, float(chance)) * (1, 1.25)[variant])
    found = mpf(bound)
    for _ in range(4):
        guess = found
        width = (14, 17)[variant] / min(guess * mpf("0.9"), mpf(1))
        laws = [(law_of(m, removed=removed, top=2 * mpf(line) + 2, fastest=12 * width), n) for m, n in case.terms]
        nodes = nodes_of(laws, mpf(line), step, 5 * width, width)
        low, high = mpf(0), mpf(bound) * (mpf("1.1"), mpf("1.3"))[variant]  # unequal brackets: equal ends would show
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if nodes.delta(middle) > chance else (low, middle)
        found = (low + high) / 2
        if found > guess * mpf("0.9"):
            return max(found, floor)
    message = f"{case}: the window does not settle"
    raise ArithmeticError(message)


def ceiling(case: Case) -> mpf:
    """Return the largest loss of the composition when a unit is added; infinite without sampling."""
    total = mpf(0)
    for mechanism, count in case.terms:
        rate = exact(mechanism.extra)
        if mechanism.family is not Family.SAMPLED_GAUSSIAN or rate == 1:
            return mpf(mp.inf)
        total -= count * mp.log1p(-rate)
    return total


def by_fourier(case: Case, variant: int) -> mpf:
    """Return the larger epsilon of the two directions."""
    found = fourier(case, removed=True, variant=variant, floor=mpf(0))
    asymmetric = any(m.family is Family.SAMPLED_GAUSSIAN and exact(m.extra) < 1 for m, _ in case.terms)
    if not asymmetric or ceiling(case) <= found:
        return found
    return fourier(case, removed=False, variant=variant, floor=found)


def by_profile(case: Case, variant: int) -> mpf:
    """Return epsilon from the profiles step by step; when a unit is added, no loss may reach it."""
    ((mechanism, count),) = case.terms
    found = mpf(profile_epsilon(*mechanism.numbers, count, case.chance, variant))
    if ceiling(case) > found:
        message = f"{case}: adding a unit may cost more than removing one, and that was not computed"
        raise ArithmeticError(message)
    return found


def by_moments(case: Case, variant: int) -> mpf:
    """Return the larger epsilon of the two directions, from moments without cancellation."""
    ((mechanism, count),) = case.terms
    sigma = mechanism.numbers[0]
    found = moments_epsilon(Sampled(sigma, mechanism.extra, count, removed=True), case.chance, variant)
    if ceiling(case) > found:
        found = max(found, moments_epsilon(Sampled(sigma, mechanism.extra, count, removed=False), case.chance, variant))
    return mpf(found)


PROFILE, MOMENTS = "profile after profile", "Fourier integral, moments less 1"

RARE = Fraction(1, 10_000)
"""The rate up to which M - 1 is summed without cancellation."""


def compute(case: Case) -> tuple[str, mpf, mpf]:
    """Return the method and two values for a case."""
    mechanism, count = case.terms[0]
    if case.family is Family.SAMPLED_GAUSSIAN and count > 2:
        rate = Fraction(mechanism.extra)
        if rate * count < 1:
            return PROFILE, by_profile(case, 0), by_profile(case, 1)
        if rate <= RARE:
            return MOMENTS, by_moments(case, 0), by_moments(case, 1)
    if case.family is Family.MIX or (case.family is Family.SAMPLED_GAUSSIAN and count > 2):
        return "Fourier integral", by_fourier(case, 0), by_fourier(case, 1)
    if case.family is Family.SAMPLED_GAUSSIAN:
        digits = (75, 60) if count == 1 else (40, 34)
        return "hockey-stick divergence", direct_gaussians(case, digits[0]), direct_gaussians(case, digits[1])
    if case.family is Family.LAPLACE:
        return "residues", invert_laplace(case, 60), invert_laplace(case, 40)
    return "enumeration", enumerate_lattice(case, 80), enumerate_lattice(case, 60)


def record(case: Case) -> dict[str, object]:
    """Compute a case and refuse it if its two values disagree."""
    method, first, second = compute(case)
    spread = float(abs(first - second) / max(first, mpf("1e-3")))
    if method in {PROFILE, MOMENTS}:
        spread = max(spread, ROUNDING)
    if not spread <= WORST_SPREAD:
        message = f"{case}: {first} and {second} lie {spread:.1e} apart; no reference value"
        raise ArithmeticError(message)
    return {"epsilon": mp.nstr(first, 18), "spread": spread, "method": method}


def main() -> int:
    """Compute the chosen cases and add them to the file; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reference_accounting", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="the cases whose name contains this text")
    parser.add_argument("--missing", action="store_true", help="the cases without a value")
    options = parser.parse_args()
    mp.dps = DIGITS
    values = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    failed = False
    for case in CASES:
        name = str(case)
        if options.only not in name or (options.missing and name in values):
            continue
        start = time.process_time()
        try:
            values[name] = record(case)
        except ArithmeticError as error:
            print(error, file=sys.stderr)
            values.pop(name, None)
            failed = True
            continue
        print(f"{name}: {values[name]['epsilon']} ({time.process_time() - start:.1f} s)", flush=True)
        ordered = {str(case): values[str(case)] for case in CASES if str(case) in values}
        PATH.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
