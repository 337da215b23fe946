r"""Turn the formulas of a page into MathML while the site is built, so that a page needs no script to show them.

A formula is written as $\epsilon$ or, on lines of its own, between $$ and $$; the arithmatex extension marks it.
"""

from __future__ import annotations

import re
from html import unescape

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(html: str, **_: object) -> str:
    """Replace every marked formula of a rendered page (called by MkDocs)."""

    def mathml(match: re.Match[str]) -> str:
        display = "block" if match[2] == "[" else "inline"
        return convert(unescape(match[3]).strip(), display=display)

    return FORMULA.sub(mathml, html)
