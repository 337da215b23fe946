"""Show the examples of docstrings as code: Markdown would take their >>> for quotations."""

from __future__ import annotations

import re

import griffe

# From a prompt to the next empty line, as doctest itself reads it.
EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


def fenced(text: str) -> str:
    """Put each run of examples into a block of its own; those in a block already stay as they are."""
    if "```" in text:
        return text
    return EXAMPLE.sub(lambda match: f"{match[1]}```pycon\n{match[0]}\n{match[1]}```", text)


class Doctests(griffe.Extension):
    """Rewrite docstrings while the reference is made; the source files stay as they are."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Fence the examples of one object (called by griffe)."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
