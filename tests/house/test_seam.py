"""What a framework is stands in its folder and in its grammar; nothing else tells frameworks apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.known import OF_FRAMEWORK

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
OWN = (PLUGINS / "plugin_utils/plan/frameworks", PLUGINS / "module_utils/logs/frameworks")
# CONFIG is the part of a documentation fragment for tasks that only read a config.
DOCUMENTATION = {"CONFIG", "DOCUMENTATION", "EXAMPLES", "RETURN"}
NAME = re.compile("|".join([*FRAMEWORKS, *(known.title for known in FRAMEWORKS.values())]), re.IGNORECASE)


def code_of(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a file without its documentation, which may say where a formula or a message comes from."""
    documented = {
        id(statement.value)
        for node in ast.walk(tree)
        for statement in (node.body if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else [])
        if isinstance(statement, ast.Expr)
        or (isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") in DOCUMENTATION)
    }
    return (node for node in ast.walk(tree) if id(node) not in documented)


def words_of(node: ast.AST) -> list[str]:
    names = (getattr(node, field, None) for field in ("id", "attr", "name", "arg", "module", "value"))
    texts = (name.decode("latin-1") if isinstance(name, bytes) else name for name in names)
    return [text for text in texts if isinstance(text, str)]


def test_no_code_outside_the_frameworks_and_their_grammars_names_one():
    named = [
        f"{path.relative_to(PLUGINS)}:{getattr(node, 'lineno', '?')}: {word}"
        for path in sorted(PLUGINS.rglob("*.py"))
        if not any(folder in path.parents for folder in OWN)
        for node in code_of(ast.parse(path.read_text()))
        for word in words_of(node)
        if NAME.search(word)
    ]
    assert not named, "\n".join(named)


def test_a_framework_has_the_name_of_its_folder_and_its_grammar():
    assert {path.parent.name for path in OWN[0].glob("*/framework.py")} == set(GRAMMARS)
    assert {name: known.name for name, known in FRAMEWORKS.items()} == {name: name for name in GRAMMARS}
