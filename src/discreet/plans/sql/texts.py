"""How functions of texts are spelled, as rules of `discreet.plans.sql.expressions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans import expressions as e
from discreet.plans.expressions.patterns import branches_of
from discreet.plans.normal import aligned
from discreet.plans.sql.constants import constant, text_of, whole_of
from discreet.plans.sql.reading import only, refuse_part
from discreet.tables.kinds import LONGEST_TEXT, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema
    from discreet.plans.expressions.patterns import Repeated
    from discreet.plans.sql.rules import Rule, Translator

__all__ = ["TEXTS", "as_text", "joined", "several"]


def as_text(scalars: Translator, node: exp.Expression) -> Expression:
    """Read a value and write it as a text: what is none is cast, as CONCAT does."""
    value = aligned(scalars.translate(node), scalars.schema)
    return value if value.facts(scalars.schema).kind is Kind.TEXT else e.Cast((value,), Kind.TEXT)


def joined(parts: Sequence[Expression]) -> Expression:
    """Write texts one after the other."""
    whole = parts[0]
    for part in parts[1:]:
        whole = e.Concat((whole, part))
    return whole


def several(parts: list[Expression], schema: Schema, *, nulls: bool) -> Expression:
    """Write several texts as one, so that different rows of them are different texts.

    Each but the last stands behind its length: ('a', 'bc') is 1:abc, ('ab', 'c') is 2:abc. With `nulls`, NULL is a
    value of its own, n:, and all that is not NULL has its length before it.
    """
    written: list[Expression] = []
    for place, part in enumerate(parts):
        length = e.Cast((e.Length((part,)),), Kind.TEXT)
        headed = joined([length, e.Literal(":", Kind.TEXT), part])
        if nulls and part.facts(schema).nullable:
            headed = e.Coalesce((headed, e.Literal("n:", Kind.TEXT)))
        written.append(part if place == len(parts) - 1 and not nulls else headed)
    return joined(written)


def _filled(scalars: Translator, part: Expression, instead: str = "") -> Expression:
    """A text, or another one where it is NULL."""
    nullable = part.facts(scalars.schema).nullable
    return e.Coalesce((part, e.Literal(instead, Kind.TEXT))) if nullable else part


def _pieces(scalars: Translator, nodes: list[exp.Expression]) -> list[Expression]:
    return [as_text(scalars, node) for node in nodes if not isinstance(node, exp.Null)]


def _concat(scalars: Translator, node: exp.Expression) -> Expression:
    """CONCAT passes over NULLs in DuckDB and PostgreSQL; in Spark one of them makes it NULL."""
    only(node, "expressions", "safe", "coalesce")
    parts = _pieces(scalars, node.expressions)
    if not parts:
        refuse_part(node, "It has nothing to join.", "CONCAT(a, b)")
    if node.args.get("coalesce") or scalars.dialect != "spark":
        parts = [_filled(scalars, part) for part in parts]
    return joined(parts)


def _concat_ws(scalars: Translator, node: exp.Expression) -> Expression:
    """CONCAT_WS leaves NULLs out, with their separators."""
    only(node, "expressions", "safe", "coalesce")
    separator = e.Literal(text_of(node.expressions[0]), Kind.TEXT)
    parts = _pieces(scalars, node.expressions[1:])
    if not parts:
        refuse_part(node, "It has nothing to join.", "CONCAT_WS(', ', a, b)")
    empty = e.Literal("", Kind.TEXT)
    facts = [part.facts(scalars.schema) for part in parts]
    if not any(fact.nullable for fact in facts):
        return joined([piece for part in parts for piece in (separator, part)][1:])
    length = len(str(separator.value))
    with_separators = [
        e.Case((e.IsNull((part,)), empty, e.Concat((separator, part))))
        if fact.nullable
        else e.Concat((separator, part))
        for part, fact in zip(parts, facts, strict=True)
    ]
    return e.Substring((joined(with_separators),), length + 1, LONGEST_TEXT)


def _ilike(scalars: Translator, node: exp.Expression) -> Expression:
    """Without regard to case, of ASCII letters as everywhere here."""
    only(node, "this", "expression", "negate")
    like = e.Like((e.Lower((scalars.translate(node.this),)),), _small(text_of(node.expression)))
    return e.Not((like,)) if node.args.get("negate") else like


def _small(text: str) -> str:
    small = e.Lower(()).apply(text)
    assert isinstance(small, str)  # noqa: S101 - of a text
    return small


def _position(scalars: Translator, node: exp.Expression) -> Expression:
    only(node, "this", "substr")
    return e.Position((scalars.translate(node.this),), text_of(node.args["substr"]))


def _replace(scalars: Translator, node: exp.Expression) -> Expression:
    only(node, "this", "expression", "replacement")
    by = node.args.get("replacement")
    return e.Replace((scalars.translate(node.this),), text_of(node.expression), "" if by is None else text_of(by))


def _split_part(scalars: Translator, node: exp.Expression) -> Expression:
    only(node, "this", "delimiter", "part_index")
    if node.args.get("delimiter") is None or node.args.get("part_index") is None:
        refuse_part(node, "It does not say which part.", "SPLIT_PART(x, ',', 1)")
    place = whole_of(node.args["part_index"])
    return e.SplitPart((scalars.translate(node.this),), text_of(node.args["delimiter"]), place)


def _substring(scalars: Translator, node: exp.Expression) -> Expression:
    """Without a length up to the end: no text is longer than 4096 characters."""
    only(node, "this", "start", "length")
    start, length = node.args.get("start"), node.args.get("length")
    if start is None:
        refuse_part(node, "It does not say where to start.", "SUBSTRING(x, 1, 3)")
    most = LONGEST_TEXT if length is None else whole_of(length)
    return e.Substring((scalars.translate(node.this),), whole_of(start), most)


def _left(scalars: Translator, node: exp.Expression) -> Expression:
    only(node, "this", "expression")
    return e.Substring((scalars.translate(node.this),), 1, whole_of(node.expression))


def _matches(*, small: bool) -> Rule:
    """X ~ 'pattern', REGEXP_MATCHES and RLIKE; `small` compares small letters with small letters."""

    def rule(scalars: Translator, node: exp.Expression) -> Expression:
        only(node, "this", "expression", "flag", "full_match")
        value, pattern = scalars.translate(node.this), text_of(node.expression)
        flag = node.args.get("flag")
        flags = "" if flag is None else text_of(flag)
        if set(flags) - set("ics"):
            refuse_part(node, "Of a pattern's options only i, for small and capital letters alike, is read.", "'i'")
        if small or "i" in flags:
            if "\\" in pattern:  # \W is not \w
                refuse_part(
                    node, "With small and capital letters alike, a pattern has no backslashes.", "[0-9] for \\d"
                )
            value, pattern = e.Lower((value,)), _small(pattern)
        if isinstance(node, exp.RegexpFullMatch) or node.args.get("full_match"):
            if "|" in pattern and any(char in pattern for char in "[\\"):
                refuse_part(node, "Of a whole text several classes are not matched at once.", "two, joined by OR.")
            pattern = "|".join(f"^{branch}$" for branch in pattern.split("|"))
        return _simplest(value, pattern)

    return rule


def _simplest(value: Expression, pattern: str) -> Expression:
    """As LIKE where that says the same: it is matched in one way through the text."""
    likes = []
    for branch in branches_of(pattern):
        pieces = [_piece(character) for character in branch.characters]
        if None in pieces:
            return e.Matches((value,), pattern)
        inside = "".join(piece for piece in pieces if piece is not None)
        likes.append(("" if branch.at_start else "%") + inside + ("" if branch.at_end else "%"))
    if len(likes) > 1:
        return e.Or(tuple(e.Like((value,), like) for like in likes))
    return e.Like((value,), likes[0])


def _piece(character: Repeated) -> str | None:
    """A character of a pattern as LIKE writes it; None if it cannot."""
    counts = (character.least, character.most)
    if character.chosen is None:
        return {(1, 1): "_", (0, None): "%", (1, None): "_%"}.get(counts)
    (low, high), *others = character.chosen
    plain = not others and low == high and not character.negated and counts == (1, 1) and low not in "%_\\"
    return low if plain else None


def _quantified(scalars: Translator, node: exp.Expression) -> Expression | None:
    """X = ANY(ARRAY['a', 'b']) is x IN ('a', 'b')."""
    listed = node.expression
    inner = listed.this.this if isinstance(listed.this, exp.Paren) else listed.this
    if not isinstance(inner, exp.Array):
        return None
    only(inner, "expressions", "bracket_notation", "value_constructor")
    choices = tuple(constant(item).value for item in inner.expressions)
    if not choices or any(choice is None for choice in choices):
        refuse_part(node, "The list holds NULL or nothing.", "x IN ('a', 'b') OR x IS NULL")
    return e.In((scalars.translate(node.this),), choices)


def _equal(scalars: Translator, node: exp.Expression) -> Expression:
    only(node, "this", "expression")
    listed = _quantified(scalars, node) if isinstance(node.expression, exp.Any) else None
    return listed or e.Equal((scalars.translate(node.this), scalars.translate(node.expression)))


TEXTS: dict[type[exp.Expression], Rule] = {
    exp.EQ: _equal,
    exp.Concat: _concat,
    exp.ConcatWs: _concat_ws,
    exp.ILike: _ilike,
    exp.StrPosition: _position,
    exp.Replace: _replace,
    exp.SplitPart: _split_part,
    exp.Substring: _substring,
    exp.Left: _left,
    exp.RegexpLike: _matches(small=False),
    exp.RegexpILike: _matches(small=True),
    exp.RegexpFullMatch: _matches(small=False),
}
