"""Every sentence of an explanation is true for its epsilon and delta, on the side to which it was rounded."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.checks.reports import Audience, Explanation, PromiseFacts, explain
from discreet.checks.reports.explanation import REGISTERS
from discreet.checks.reports.shared import _JUDGMENTS
from discreet.checks.reports.wording import chance, count, factor, of_hundred
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable


EPSILONS = st.one_of(
    st.just(Fraction(0)),
    st.fractions(0, 12, max_denominator=1000),
    st.sampled_from(
        [Fraction(1, 10**20), Fraction(1, 10**6), Fraction(14), Fraction(40), Fraction(800), Fraction(10**9)]
    ),
)
DELTAS = st.one_of(
    st.just(Fraction(0)),
    st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000),
    st.integers(1, 300).map(lambda power: Fraction(3, 10 ** (power + 1))),
)
PEOPLE = st.one_of(st.none(), st.integers(1, 10**9))


def exp(epsilon: Fraction) -> mpmath.mpf:
    return mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def right_guesses(epsilon: Fraction, delta: Fraction) -> mpmath.mpf:
    """(e^epsilon + delta) / (e^epsilon + 1): half of one plus the total variation of the worst pair."""
    return (exp(epsilon) + real(delta)) / (exp(epsilon) + 1)


def likeliest(epsilon: Fraction, delta: Fraction, chance: Fraction) -> mpmath.mpf:
    """The definition in both directions: e^epsilon q + delta, and 1 - e^-epsilon (1 - q - delta)."""
    first = exp(epsilon) * real(chance) + real(delta)
    return min(first, 1 - (1 - real(chance) - real(delta)) / exp(epsilon), mpmath.mpf(1))


def shares(text: str) -> list[mpmath.mpf]:
    """Read every 'so many of 100' that is no example."""
    return [mpmath.mpf(found) / 100 for found in re.findall(r"(?:at most|allow) ([\d.]+) of 100", text)]


def check_guess(text: str, facts: PromiseFacts) -> None:
    truth = right_guesses(facts.epsilon, facts.delta)
    if "nearly always" in text:
        assert truth > 0.99
    else:
        assert truth <= shares(text)[0] <= truth + mpmath.mpf("0.00101")
    words = [words for _, words in _JUDGMENTS if words in text]
    if facts.epsilon == facts.delta == 0:
        assert "nothing is learned" in text
    else:
        limits = dict(zip((words for _, words in _JUDGMENTS), (0.0, 0.55, 0.75, 0.95), strict=True))
        assert limits[words[0]] <= truth + mpmath.mpf("1e-9")
        assert truth <= next(most for most, each in _JUDGMENTS if each == words[0])


def check_outcome(text: str, facts: PromiseFacts) -> None:
    truth = likeliest(facts.epsilon, facts.delta, Fraction(1, 100))
    assert truth <= shares(text)[0] <= truth * mpmath.mpf("1.0101") + mpmath.mpf("1e-9")


def check_odds(text: str, facts: PromiseFacts) -> None:
    """The bound on the odds: e^epsilon if delta is 0; else 8/7 e^epsilon, with the exception named in the sentence."""
    worst = exp(facts.epsilon) * (1 if not facts.delta else mpmath.mpf(8) / 7)
    if "no bound" in text:
        assert 16 * facts.delta >= 1
    elif "do not change" in text:
        assert facts.epsilon == facts.delta == 0
    else:
        assert ("except with a chance of at most" in text) == bool(facts.delta)
        if found := re.search(r"a factor of at most ([\d,.]*\d)", text):
            assert worst * (1 - mpmath.mpf("1e-12")) <= mpmath.mpf(found[1].replace(",", ""))
        else:
            assert "may change by a factor of more than a million" in text
            assert worst > 999_999


def check_population(text: str, facts: PromiseFacts) -> None:
    assert facts.delta
    if facts.n is None:
        if power := re.search(r"fewer than 10\^(\d+) people", text):
            assert 1 >= 10 ** int(power[1]) * facts.delta > Fraction(1, 10)
            return
        least = int(re.search(r"fewer than ([\d,]+) people", text)[1].replace(",", ""))  # type: ignore[index]
        assert least * facts.delta >= 1 > (least - 1) * facts.delta
    else:
        assert facts.n * facts.delta < 1
        exposed = re.search(r"expose at most ([\d.,e-]+\d) of", text)
        assert mpmath.mpf(exposed[1]) >= real(facts.n * facts.delta)  # type: ignore[index]


def check_warning(text: str, facts: PromiseFacts) -> None:
    assert facts.n is not None
    assert facts.n * facts.delta >= 1
    assert "Warning" in text


def check_failure(text: str, facts: PromiseFacts) -> None:
    assert facts.delta
    assert chance(facts.delta) in text


def check_adding(text: str, facts: PromiseFacts) -> None:
    if facts.epsilon == facts.delta == 0:
        assert "nothing" in text
    else:  # never more than ten times the first, in either number; never less than one promise
        ten = right_guesses(10 * facts.epsilon, 1 - (1 - facts.delta) ** 10)
        assert right_guesses(facts.epsilon, facts.delta) <= shares(text)[0] <= ten + mpmath.mpf("0.00101")


def check_error(text: str, facts: PromiseFacts) -> None:
    """The smallest m with 2 p^(m+1) / (1 + p) <= 1/20 for p = e^-epsilon; see the tutorial."""
    found = re.search(r"no more than ([\d,]+) in 95", text)
    if found is None:
        assert facts.epsilon < Fraction(1, 10**12) or facts.count_error == 0
        bound = 0
    else:
        bound = int(found[1].replace(",", ""))
    if facts.epsilon >= Fraction(1, 10**12):
        p = 1 / exp(facts.epsilon)
        assert 2 * p ** (bound + 1) / (1 + p) <= mpmath.mpf("0.05") * (1 + mpmath.mpf("1e-12"))


def check_accuracy(text: str, facts: PromiseFacts) -> None:
    accuracy, advantage = (mpmath.mpf(each) for each in re.findall(r"at most ([\d.]+\d|\d)", text)[:2])
    truth = right_guesses(facts.epsilon, facts.delta)
    assert truth <= accuracy
    assert 2 * truth - 1 <= advantage * (1 + mpmath.mpf("1e-15"))


def check_tradeoff(text: str, facts: PromiseFacts) -> None:
    common, rare = (mpmath.mpf(each) for each in re.findall(r"(?:at most|and) ([\d.]+)", text)[:2])
    assert likeliest(facts.epsilon, facts.delta, Fraction(1, 100)) <= common
    assert likeliest(facts.epsilon, facts.delta, Fraction(1, 1000)) <= rare


def check_semantic(text: str, facts: PromiseFacts) -> None:
    assert not facts.delta
    bound = mpmath.mpf(re.search(r"at most ([\d.e-]+\d|\d) in", text)[1])  # type: ignore[index]
    assert mpmath.tanh(real(facts.epsilon) / 2) <= bound


def check_group(text: str, facts: PromiseFacts) -> None:
    delta = real(facts.delta) * (1 + exp(facts.epsilon))
    if "promised nothing" in text:
        assert delta > 0.99
    else:
        assert right_guesses(2 * facts.epsilon, Fraction(0)) <= shares(text)[0]
        assert shares(text)[0] >= (exp(2 * facts.epsilon) + min(delta, 1)) / (exp(2 * facts.epsilon) + 1)


def check_definition(text: str, facts: PromiseFacts) -> None:
    assert ("+ δ" in text) == bool(facts.delta)
    if "more than a million" in text:
        assert exp(facts.epsilon) > 999_999
    else:
        found = re.search(r"about ([\d,.]+\d|\d)\.$", text)
        assert abs(mpmath.mpf(found[1].replace(",", "")) / exp(facts.epsilon) - 1) < 0.011  # type: ignore[index]


CHECKS: dict[str, Callable[[str, PromiseFacts], None]] = {
    "guess": check_guess,
    "outcome": check_outcome,
    "detection": check_outcome,
    "odds": check_odds,
    "population": check_population,
    "warning": check_warning,
    "failure": check_failure,
    "adding": check_adding,
    "error": check_error,
    "accuracy": check_accuracy,
    "tradeoff": check_tradeoff,
    "semantic": check_semantic,
    "group": check_group,
    "definition": check_definition,
}
WITHOUT_NUMBERS = {"hidden", "general", "keeper", "summary", "settle", "not", "composition", "scope"}


def check(explanation: Explanation) -> None:
    for statement in explanation.statements:
        if statement.claim in WITHOUT_NUMBERS:
            assert statement.numbers == {}
        else:
            CHECKS[statement.claim](statement.text, explanation.facts)


@settings(max_examples=60)
@given(epsilon=EPSILONS, delta=DELTAS, n=PEOPLE)
@example(epsilon=Fraction(1), delta=Fraction(1, 10**6), n=None)
@example(epsilon=Fraction(1), delta=Fraction(1, 1000), n=1000)
@example(epsilon=Fraction(1), delta=Fraction(1, 16), n=3)
@example(epsilon=Fraction(0), delta=Fraction(0), n=3)
@example(epsilon=Fraction(1), delta=Fraction(1, 10**400), n=None)
@example(epsilon=Fraction(1), delta=Fraction(1, 10**400), n=10**6)
@example(epsilon=Fraction(700), delta=Fraction(1, 10**9), n=3)
@example(epsilon=Fraction(10**50), delta=Fraction(1, 2), n=None)
def test_no_sentence_is_false(epsilon: Fraction, delta: Fraction, n: int | None) -> None:
    facts = PromiseFacts.of(epsilon, delta, n=n)
    for audience, register in REGISTERS.items():
        check(Explanation(audience, facts, tuple(register.statements(facts))))


def test_the_checks_see_false_sentences() -> None:
    """The sentences of a stronger promise are false for a weaker one, and each check says so."""
    seen = set()
    weaker = PromiseFacts.of(3, "0.01", n=1000)
    for audience in Audience:
        for statement in explain(epsilon=1, delta=0, n=1000, audience=audience).statements:
            if statement.claim not in WITHOUT_NUMBERS:
                with pytest.raises(AssertionError):
                    CHECKS[statement.claim](
                        statement.text, PromiseFacts.of("0.1") if statement.claim == "error" else weaker
                    )
                seen.add(statement.claim)
    assert seen == set(CHECKS) - {"population", "warning", "failure"}
    for claim, facts in (
        ("population", PromiseFacts.of(1)),
        ("failure", PromiseFacts.of(1)),
        ("warning", PromiseFacts.of(1, "1e-9", n=5)),
    ):
        with pytest.raises(AssertionError):
            CHECKS[claim]("Warning", facts)


@pytest.mark.parametrize("audience", Audience)
def test_bounds_on_odds_are_never_stated_for_delta_without_the_exception(audience: Audience) -> None:
    for statement in explain(epsilon=1, delta=1e-6, audience=audience).statements:
        if "odds that" in statement.text:
            assert "except with a chance of at most 1 in 62,500" in statement.text


def test_a_person_reads_no_symbol_of_probability_theory() -> None:
    text = str(explain(epsilon=1, delta=1e-6, n=20_000))
    assert not re.search(r"Pr\[|e\^|posterior|log|sensitivity|neighbor|ε|δ", text.partition("\n")[2])
    assert max(map(len, text.splitlines())) <= 88


def test_numbers_are_rounded_to_the_safe_side() -> None:
    assert of_hundred(0.73101) == "73.2 of 100"
    assert factor(2.7200001) == "2.73"
    assert count(3.2) == "4"
    assert chance(Fraction(2, 3 * 10**6)) == "1 in 1,500,000"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": "x"}, "epsilon"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "n": 0}, "n is 0"),
        ({"epsilon": 1, "audience": "child"}, "public, policy, engineer"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        explain(**arguments)  # type: ignore[arg-type]


def test_records_hold_every_statement_with_its_numbers() -> None:
    record = explain(epsilon=1, delta=1e-6, n=1000, audience=Audience.ENGINEER).record()
    assert record["epsilon"] == "1"
    assert record["delta"] == "1/1000000"
    assert all(row["text"] for row in record["statements"])  # type: ignore[attr-defined]
