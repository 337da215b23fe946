"""What refusals of SQL say to write instead, as it stands in the source."""

from __future__ import annotations

import ast
from pathlib import Path

import discreet.plans
from discreet.plans.sql.reading import _CLAUSE, _CLAUSES
from discreet.plans.sql.refused import REFUSED

__all__ = ["all_advice"]

_FOLDERS = ("sql", "shell")


def all_advice() -> set[str]:
    """Every sentence behind "Write instead", with {} for what is filled in."""
    root = Path(discreet.plans.__file__).parent
    found = {instead for *_, instead in REFUSED} | {_CLAUSE[1]} | {instead for _, instead in _CLAUSES.values()}
    for folder in _FOLDERS:
        for file in sorted((root / folder).glob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
                for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
                    if isinstance(call.func, ast.Name) and call.func.id in {"refuse", "refuse_part"}:
                        given = [word.value for word in call.keywords if word.arg == "instead"] or call.args[-1:]
                        found |= _texts(given[0], function)
    return found


def _texts(node: ast.expr, function: ast.FunctionDef) -> set[str]:
    """The texts that an expression may be; a name is looked up where the function sets it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        return {"".join(str(part) for part in parts)}
    if isinstance(node, ast.IfExp):
        return _texts(node.body, function) | _texts(node.orelse, function)
    if isinstance(node, ast.Name):
        assigned = [part for part in ast.walk(function) if isinstance(part, ast.Assign)]
        values = [part.value for part in assigned if any(ast.unparse(target) == node.id for target in part.targets)]
        return {text for value in values for text in _texts(value, function)}
    return set()
