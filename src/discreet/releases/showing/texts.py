"""Released values as texts and as tables of a notebook."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from html import escape
from math import ceil, floor, isfinite, isinf, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from discreet.privacy.costs import Amount

__all__ = ["SYMBOLS", "amount_text", "cell_text", "charge_text", "html_table", "rounded_up"]

SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
"""What people read of an amount, in the letters that they know; other certificates are for programs and the log."""


def rounded_up(error: float, digits: int) -> str:
    """Write a ± with so many digits, never less than it is: a smaller one would not hold as often as is said.

    >>> rounded_up(1.049, 2), rounded_up(5940.0, 2), rounded_up(3.0, 4)
    ('1.1', '6e+03', '3')
    """
    if not isfinite(error):
        return str(error)
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(error)):.{digits}g}"


def cell_text(value: object, error: float | None, *, exact: bool = False, widest: int | None = None) -> str:
    """Write a released value with its ±, both to the digits that mean something; an exact one, a key, as it is.

    >>> cell_text(4031, 12.4), cell_text(3624.118, 150.2), cell_text(None, None), cell_text("surgery", None)
    ('4,031 ± 13', '3,624 ± 151', 'NULL', 'surgery')
    >>> cell_text(0.25119, 0.0021), cell_text(0.5, None), cell_text((1, 2), 3.0), cell_text(2024, None, exact=True)
    ('0.2512 ± 0.0022', '0.5', '[1, 2] ± 3', '2024')
    """
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple):
        shown = _cut(f"[{', '.join(cell_text(part, None) for part in value)}]", widest)
        return shown if error is None else f"{shown} ± {rounded_up(error, 6)}"
    if exact or isinstance(value, bool) or not isinstance(value, int | float):
        text = "".join(part if part.isprintable() else "?" for part in str(value))  # a key may command a terminal
        return _cut(text, widest)
    if error is None or error <= 0 or isinf(error):
        text = f"{value:,}" if isinstance(value, int) or error == 0 else f"{value:,.6g}"  # ± 0: no digit is left out
        return text if error is None else f"{text} ± {'∞' if error > 0 else '0'}"
    digits = 0 if isinstance(value, int) or error >= 10 else min(12, 1 - floor(log10(error)))
    moved = abs(Fraction(value) - Fraction(f"{value:.{digits}f}"))
    reach = ceil((Fraction(error) + moved) * 10**digits)  # up: what is shown must contain what was released
    return f"{value:,.{digits}f} ± {Decimal(reach).scaleb(-digits):,.{digits}f}"


def _cut(text: str, widest: int | None) -> str:
    return text if widest is None or len(text) <= widest else f"{text[: widest - 1]}…"


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[tuple[str, str]]], caption: str, *, more: int = 0
) -> str:
    """Write rows of texts, each with a word on it that shows when it is pointed at, as a table of HTML.

    >>> html_table(["n"], [[("NULL", "too few rows")]], "ε = 1")[:40]
    '<table><caption style="caption-side:bott'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td title='{escape(why)}'>{escape(text)}</td>" if why else f"<td>{escape(text)}</td>" for text, why in row
        )
        + "</tr>"
        for row in rows
    )
    rest = f"<tr><td colspan='{len(columns)}'>… {more:,} more</td></tr>" if more else ""
    return (
        f'<table><caption style="caption-side:bottom;text-align:left">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}{rest}</tbody></table>"
    )


def charge_text(cost: Amount) -> str:
    """Write what was charged in symbols, rounded up to four digits.

    >>> from discreet.privacy import ZCDP, Pure
    >>> charge_text(ZCDP("0.12245933", delta="5e-10")), charge_text(Pure(1))
    ('ρ = 0.1225, δ = 5e-10', 'ε = 1')
    """
    return amount_text(cost, ROUND_CEILING)


def amount_text(amount: Amount, rounding: str, *, whole: bool = False) -> str:
    """Write an amount in symbols, rounded to four digits; `whole` with what it is by every certificate.

    >>> from discreet.privacy import Pure
    >>> amount_text(Pure("0.99999"), "ROUND_FLOOR")
    'ε = 0.9999'
    >>> from discreet.privacy import Budget
    >>> from discreet.privacy.costs import Certificates, cost_of
    >>> amount_text(cost_of(Pure("0.1").curve(), Certificates.of(Budget(3, 1e-6))), "ROUND_CEILING", whole=True)
    'ε = 0.1, renyi 8 = 0.03672'
    """
    context = Context(prec=4, rounding=rounding)
    parts = []
    for name, value in amount.fields().items():
        if name in ("epsilon", "rho") or (value and (whole or name == "delta")):
            exact = Fraction(str(value))
            rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
            parts.append(f"{SYMBOLS.get(name, name)} = {float(rounded):.4g}")
    return ", ".join(parts)
