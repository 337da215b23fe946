"""Table thresholds against 120 digits, and the rare paths made common."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.noise import blocks, tables
from discreet.noise.blocks import Blocks, Rounding
from discreet.noise.tables import Digits, ExponentialDecay, RationalDecay
from tests.noise.laws import follows, follows_cdf, gaussian_mass, geometric_mass, laplace_mass
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from discreet.noise.tables import WeightTable

rounded = sys.modules["discreet.noise.rounded"]  # the package exports a function of that name
DIGITS = 120
FEW = 20_000


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mpmath.workdps(DIGITS):
        yield


def mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def expected_thresholds(made: WeightTable, weights: list[mpmath.mpf]) -> list[int]:
    """floor(2**48 C_i), with C_i from the definition: 65536 times the share up to i, less the cells owned up to i."""
    total = mpmath.fsum(weights)
    sums, found = mpmath.mpf(0), []
    for weight, owned in zip(weights[:-1], made._owned[:-1], strict=True):
        sums += weight
        found.append(int(mpmath.floor((65536 * sums / total - owned) * 2**48)))
    return found


def digit_weights(ratio: mpmath.mpf, made: Digits) -> list[list[mpmath.mpf]]:
    """The laws of the digits from the definition of a geometric variable, not from the code's recurrences."""
    base = 2**made._low_bits
    high = [ratio ** (base * h) for h in range(made._end)]
    high.append(ratio ** (base * made._end) / (1 - ratio**base))
    lows = [[ratio ** (2**at * d) for d in range(t.values.size)] for at, t in made._lows]
    return [high, *lows]


SCALES = [Fraction(1, 5), Fraction(1), Fraction(10), Fraction(77, 2), Fraction(1000), Fraction(10**6), Fraction(2**56)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("mirror", [None, 0, 1])
def test_digit_tables_equal_120_digits(scale: Fraction, mirror: int | None) -> None:
    made = Digits(ExponentialDecay(1 / scale), mirror=mirror)
    ratio = mpmath.exp(-1 / mp(scale))
    high, *lows = digit_weights(ratio, made)
    if mirror is not None:
        high = high + [ratio**mirror * each for each in high]
    for found, weights in zip(made.tables, [high, *lows], strict=True):
        wanted = expected_thresholds(found, weights)
        same = [int(a) == b for a, b in zip(found.thresholds, wanted, strict=True)]
        # A fair sign puts one threshold on an exact multiple of 2**-48, where no enclosure can tell the side.
        assert same.count(False) <= (mirror == 0)
        assert all(0 <= b - int(a) <= 1 for a, b in zip(found.thresholds, wanted, strict=True))


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(1, 1000), Fraction(3, 10**9)], ids=str)
def test_gap_tables_equal_120_digits(chance: Fraction) -> None:
    made = Digits(RationalDecay(1 - chance))
    for found, weights in zip(made.tables, digit_weights(1 - mp(chance), made), strict=True):
        assert [int(a) for a in found.thresholds] == expected_thresholds(found, weights)


@pytest.mark.parametrize("sigma", SCALES, ids=str)
@pytest.mark.parametrize("shape", list(Rounding))
def test_block_tables_equal_120_digits(sigma: Fraction, shape: Rounding) -> None:
    made = Blocks(sigma**2, shape)
    width, count = 2**made._bits, made._count
    integers = shape is Rounding.INTEGERS

    def w(a: int) -> mpmath.mpf:
        return mpmath.exp(-(mpmath.mpf(a) ** 2) / (2 * mp(sigma) ** 2))

    sure, rims, tails = [], [], []
    for start in (0, 1 if integers else 0):
        nears = [start + j * width for j in range(count)]
        fars = [near + width - (1 if integers else 0) for near in nears]
        sure += [w(far) for far in fars]
        rims += [w(near) - w(far) for near, far in zip(nears, fars, strict=True)]
        end = start + count * width
        tails.append(w(end) / (1 - mpmath.exp(-end / mp(sigma) ** 2)) / width)
    wanted = expected_thresholds(made.tables[0], sure + rims + tails)
    assert [int(a) for a in made.tables[0].thresholds] == wanted


def test_a_wrong_threshold_would_be_seen() -> None:
    made = Digits(ExponentialDecay(Fraction(1, 10)))
    wrong = digit_weights(mpmath.exp(mpmath.mpf(-1) / 10) * (1 + mpmath.mpf(10) ** -18), made)
    assert [int(a) for a in made.tables[0].thresholds] != expected_thresholds(made.tables[0], wrong[0])


def test_every_cell_belongs_to_the_outcome_that_owns_it() -> None:
    made = Digits(ExponentialDecay(Fraction(1, 10)), mirror=1).tables[0]
    owners = np.repeat(made.values, np.diff([0, *made._owned]))
    assert (made._cells[: made.first_rare] == owners).all()


def test_bits_that_agree_with_a_threshold_are_settled_by_more_bits() -> None:
    """Script a draw onto the threshold itself: then zeros lie below the true boundary, and ones above it."""
    made = Digits(ExponentialDecay(Fraction(1, 3))).tables[0]
    for i in range(made.thresholds.size):
        place = int(made.thresholds[i])
        if i and int(made.thresholds[i - 1]) == place:
            continue
        word = (place >> 48) + made.first_rare
        low48 = (place & (2**48 - 1)) << 16
        start = word.to_bytes(2, "little") + low48.to_bytes(8, "little")
        below, _ = made.draw(1, ReplayBits(0, start + bytes(64)))
        above, _ = made.draw(1, ReplayBits(0, start + b"\xff" * 64))
        assert below[0] == made.values[i]
        assert above[0] > made.values[i]


def test_all_draws_settled_exactly_still_follow_the_law(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    made = Digits(ExponentialDecay(Fraction(1, 2)), mirror=1)
    high = made.tables[0]
    monkeypatch.setattr(high, "first_rare", 0)
    monkeypatch.setattr(high, "_owned", [0] * len(high._owned))
    count = [0]
    settle = tables.WeightTable._settle

    def counted(self: WeightTable, place: int, bits: noise.BitSource) -> int:
        count[0] += 1
        return settle(self, place, bits)

    monkeypatch.setattr(tables.WeightTable, "_settle", counted)
    monkeypatch.setattr(high, "thresholds", np.zeros_like(high.thresholds))
    monkeypatch.setattr(high, "_upper", np.full_like(high._upper, 2**64 - 1))
    out = np.empty(3000, dtype=np.int64)
    made(out, ReplayBits(seed))
    assert count[0] >= 2990
    assert follows(out, laplace_mass(2))
    assert not follows(np.abs(out), laplace_mass(2))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 300])
def test_digits_follow_the_law_when_most_draws_leave_the_table(
    monkeypatch: pytest.MonkeyPatch, scale: int, seed: int
) -> None:
    monkeypatch.setattr(tables, "_REACH", 0.5)
    out = np.empty(FEW, dtype=np.int64)
    Digits(ExponentialDecay(Fraction(1, scale)), mirror=1)(out, ReplayBits(seed))
    assert follows(out, laplace_mass(scale))
    Digits(ExponentialDecay(Fraction(1, scale)))(out, ReplayBits(seed))
    assert follows(out, geometric_mass(scale))


@pytest.mark.parametrize("sigma", [2, 200])
@pytest.mark.parametrize("shape", list(Rounding))
def test_blocks_follow_the_law_when_rims_and_tails_are_common(
    monkeypatch: pytest.MonkeyPatch, sigma: int, shape: Rounding, seed: int
) -> None:
    monkeypatch.setattr(blocks, "_REACH", 1)
    monkeypatch.setattr(blocks, "_FINENESS", 2)
    monkeypatch.setattr(blocks, "_DIRECT", 0)
    monkeypatch.setattr(blocks, "_SLACK", 0.25)
    out = np.empty(4000, dtype=np.int64)
    Blocks(Fraction(sigma) ** 2, shape)(out, ReplayBits(seed))
    if shape is Rounding.INTEGERS:
        assert follows(out, gaussian_mass(sigma))
        assert not follows(out + (out > 0) * (sigma // 4 + 1), gaussian_mass(sigma))
    else:
        cdf = stats.norm(scale=sigma).cdf
        assert follows_cdf(out, lambda x: cdf(x + 0.5))
        assert not follows_cdf(out, cdf) or sigma > 2


def test_families_follow_the_law_when_floats_settle_nothing(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(rounded, "_SETTLED", -1.0)
    draws = noise.sample(noise.families.Cauchy(2), 8, 1, 2000, ReplayBits(seed))
    assert follows_cdf(draws, lambda x: stats.cauchy.cdf(x / 8))
    assert not follows_cdf(draws, lambda x: stats.cauchy.cdf(x / 12))


NEVER_REJECTED = [
    noise.families.Laplace(),
    noise.families.StudentT(3),
    noise.families.LaplaceLogNormal("0.5"),
    noise.families.UniformLogNormal(2),
    noise.families.ArcsinhNormal(2),
    noise.families.Gumbel(),
]


@pytest.mark.parametrize("family", NEVER_REJECTED, ids=repr)
def test_floats_and_big_integers_agree_on_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, family: noise.families.Family, seed: int
) -> None:
    fast = noise.sample(family, 5, "1/64", 300, ReplayBits(seed))
    monkeypatch.setattr(rounded, "_SETTLED", -1.0)
    slow = noise.sample(family, 5, "1/64", 300, ReplayBits(seed))
    assert (fast == slow).all()


def test_bits_that_agree_twice_wait_for_a_third_look() -> None:
    """Script 64 more bits onto the boundary itself: what comes after them must still decide."""
    made = Digits(ExponentialDecay(Fraction(1, 3))).tables[0]
    i = 5
    total = mpmath.fsum(mp(Fraction(low, 2**400)) for low in made._weights(400)[0])
    share = mpmath.fsum(mp(Fraction(low, 2**400)) for low in made._weights(400)[0][: i + 1]) / total
    place = int(mpmath.floor((65536 * share - made._owned[i]) * 2**112))
    first, second = place >> 64, place & (2**64 - 1)
    assert first == int(made.thresholds[i])
    start = ((first >> 48) + made.first_rare).to_bytes(2, "little") + ((first & (2**48 - 1)) << 16).to_bytes(
        8, "little"
    )
    start += second.to_bytes(8, "little")
    below, _ = made.draw(1, ReplayBits(0, start + bytes(64)))
    above, _ = made.draw(1, ReplayBits(0, start + b"\xff" * 64))
    assert (below[0], above[0]) == (made.values[i], made.values[i + 1])


def test_a_negative_draw_is_the_mirror_image_digit_by_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Digits(ExponentialDecay(Fraction(1, 1000)), mirror=1)
    base = 2**made._low_bits
    assert base > 3

    def drawn(*values: int) -> Callable[[int, noise.BitSource], tuple[NDArray[np.int64], NDArray[np.intp]]]:
        return lambda count, bits: (np.array(values), np.empty(0, dtype=np.intp))  # noqa: ARG005 - the shape of draw

    monkeypatch.setattr(made._high, "draw", drawn(5, ~5, 0, ~0))
    monkeypatch.setattr(made._lows[0][1], "draw", drawn(3, 3, 0, 0))
    out = np.empty(4, dtype=np.int64)
    made(out, ReplayBits(0))
    assert out.tolist() == [5 * base + 3, -1 - (5 * base + 3), 0, -1]


@pytest.mark.parametrize("shape", list(Rounding))
def test_the_rim_keeps_with_the_stated_probability(shape: Rounding, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words a hair below the true probability are kept and words a hair above are not, at every place of a block."""
    monkeypatch.setattr(blocks, "_FINENESS", 2)
    monkeypatch.setattr(blocks, "_DIRECT", 0)
    sigma = 40 if shape is Rounding.INTEGERS else 2**22
    made = Blocks(Fraction(sigma) ** 2, shape)
    width = 2**made._bits
    for block in (0, 1, 3, ~0, ~1, ~3):
        near = block * width if block >= 0 else ~block * width + made._negative.start
        far = near + made._positive.length
        for offset in range(0, width, max(1, width // 16)):
            a = near + offset
            x = a if block >= 0 else (-a if shape is Rounding.INTEGERS else ~a)
            w = [mpmath.exp(-(mpmath.mpf(m) ** 2) / (2 * sigma**2)) for m in (a, near, far)]
            chance = (w[0] - w[2]) / (w[1] - w[2])
            # a cell of the floors is one unit wide, over which the probability falls by less than this
            hair = mpmath.mpf(2) ** -40 if shape is Rounding.INTEGERS else mpmath.mpf(4) / width
            for word, wanted in ((chance - hair, True), (chance + hair, False)):
                if 0 <= word < 1:
                    script = int(word * 2**64).to_bytes(8, "little")
                    kept = made._keep(np.array([x]), np.array([block]), ReplayBits(0, script))
                    assert kept[0] == wanted
