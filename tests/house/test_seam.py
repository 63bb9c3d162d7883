"""A format, a trainer or a grammar is defined in its folder or file; nothing else distinguishes systems."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.known import FORMATS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.known import TRAINERS

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
OWN = (
    PLUGINS / "plugin_utils/plan/formats",
    PLUGINS / "plugin_utils/plan/trainers",
    PLUGINS / "module_utils/logs/grammars",
)
# A table of the prefixes that programs put on lines, each in a row with its name.
OF_PROGRAMS = PLUGINS / "module_utils/logs/prefixes.py"
# CONFIG is the part of a documentation fragment for tasks that only read a config.
DOCUMENTATION = {"CONFIG", "DOCUMENTATION", "EXAMPLES", "RETURN"}
NAMES = {
    *FORMATS,
    *GRAMMARS,
    *(name for trainer in TRAINERS.values() for name in (trainer.name, trainer.framework, trainer.title)),
}
NAME = re.compile("|".join(sorted(NAMES)), re.IGNORECASE)


def code_of(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a file without its documentation, which may mention the source of a formula or a message."""
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


def may_name(text: str) -> bool:
    """Whether a file has a name anywhere, or would with parts of texts that are joined; most need not be parsed."""
    return bool(NAME.search(re.sub(r"[\s\"'\\]+", "", text)))


def test_no_code_outside_of_formats_trainers_and_grammars_names_one():
    named = [
        f"{path.relative_to(PLUGINS)}:{getattr(node, 'lineno', '?')}: {word}"
        for path in sorted(PLUGINS.rglob("*.py"))
        if path != OF_PROGRAMS and not any(folder in path.parents for folder in OWN)
        if may_name(text := path.read_text())
        for node in code_of(ast.parse(text))
        for word in words_of(node)
        if NAME.search(word)
    ]
    assert not named, "\n".join(named)


def test_each_has_the_name_of_its_folder() -> None:
    for known, folder, file in ((FORMATS, OWN[0], "format.py"), (TRAINERS, OWN[1], "trainer.py")):
        assert {path.parent.name for path in folder.glob(f"*/{file}")} == set(known)
        assert {name: one.name for name, one in known.items()} == {name: name for name in known}


def test_what_one_names_of_another_seam_is_there() -> None:
    assert {name for known in FORMATS.values() for name in known.trainers} == set(TRAINERS)
    assert {trainer.grammar for trainer in TRAINERS.values()} <= set(GRAMMARS)
