# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences are output: outside of the room for text no code decides by their words.

A sentence is followed from its field through the variables of a function, and through the arguments of functions of the
same module or imported by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN_UTILS = ROOT / "plugins/plugin_utils"
# The places of sentences: fields of findings, ledger rows, failures, statuses, cells of a preflight and tests.
SENTENCES = {"message", "evidence", "remedy", "reason", "found", "command", "test"}
# The makers of sentences.
MAKERS = {"in_words", "filled", "sentence", "end_in_words", "change_in_words", "why_unreachable"}
LOOKS = {"startswith", "endswith", "removesuffix", "removeprefix", "partition", "rpartition", "split", "find", "index"}
MATCHES = {"search", "match", "fullmatch", "findall", "finditer"}
# The return values of these for a text say the same as the text.
SAME = {"strip", "rstrip", "lstrip", "lower", "upper", "join", "removesuffix", "removeprefix", "splitlines", "format"}
SAME |= {"str", "one_line"}
# The readers of somebody else's text: ssh's, sudo's and the like. They return codes.
READERS = {"unreachable.py", "run/become.py"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
# The parameters that take sentences, by module and function.
Taken = dict[tuple[str, str], set[str]]


def is_sentence(node: ast.expr | None, names: set[str]) -> bool:
    """Tell whether an expression is a sentence, is made of one, or is one of ``names``."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Subscript):
        return is_field(node.slice)
    if isinstance(node, ast.Attribute):
        return node.attr == "message"
    if isinstance(node, ast.Call) and called(node) == "get" and node.args and is_field(node.args[0]):
        return True
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and called(node) in MAKERS
    return made or any(is_sentence(part, names) for part in parts_of(node))


def is_field(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in SENTENCES


def called(call: ast.Call) -> str:
    """Return the name of the called function."""
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def parts_of(node: ast.expr | None) -> list[ast.expr]:
    """Return the parts of an expression that each make it a sentence if they are one."""
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.NamedExpr):
        return [node.value]
    if isinstance(node, ast.Call) and called(node) in SAME:
        return [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    return []


def sentences_of(function: Function, parameters: set[str]) -> set[str]:
    """Return the variables of a function that contain sentences, including its parameters that do."""
    names, before = set(parameters), -1
    while len(names) != before:
        before = len(names)
        for node in ast.walk(function):
            pairs: list[tuple[ast.expr, ast.expr | None]] = []
            if isinstance(node, ast.Assign):
                pairs = [(target, node.value) for target in node.targets]
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
                pairs = [(node.target, node.value)]
            for target, value in pairs:
                both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                each = zip(target.elts, value.elts, strict=False) if both else [(target, value)]
                names |= {to.id for to, what in each if isinstance(to, ast.Name) and is_sentence(what, names)}
    return names


def decisions(function: ast.AST, names: set[str]) -> Iterator[int]:
    """Yield the lines in which a sentence is compared, searched or cut."""
    for node in ast.walk(function):
        looked_at: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            nothing = any(isinstance(one, ast.Constant) and one.value in (None, "") for one in node.comparators)
            looked_at = [] if nothing else [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            looked_at = [node.func.value] if node.func.attr in LOOKS else []
            looked_at += node.args if node.func.attr in MATCHES else []
        if any(is_sentence(one, names) for one in looked_at):
            yield node.lineno  # type: ignore[attr-defined]


def functions_of(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def module_named(name: str, node: ast.ImportFrom) -> str:
    """Return the path of a module that another one imports from; only of plugin_utils."""
    folder = name.split("/")[: -node.level] if node.level else []
    return "/".join([*folder, *(node.module or "").split(".")]) + ".py"


class House:
    """The modules of plugin_utils but the room for text, and which of their functions are given sentences."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.trees = {name: ast.parse(text) for name, text in modules.items()}
        self.defined = {
            (name, function.name): function for name, tree in self.trees.items() for function in functions_of(tree)
        }
        self.taken: Taken = {}
        while self._hands_on():
            pass

    def _hands_on(self) -> bool:
        """Note the parameters to which functions give sentences; return whether one was new."""
        before = sum(map(len, self.taken.values()))
        for name, tree in self.trees.items():
            imported = {
                alias.asname or alias.name: (module_named(name, node), alias.name)
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            for function in functions_of(tree):
                names = self.names_in(name, function)
                for call in ast.walk(function):
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                        self._note(imported.get(call.func.id, (name, call.func.id)), call, names)
        return sum(map(len, self.taken.values())) > before

    def _note(self, whom: tuple[str, str], call: ast.Call, names: set[str]) -> None:
        if whom not in self.defined:
            return
        parameters = self.defined[whom].args
        by_place = [one.arg for one in (*parameters.posonlyargs, *parameters.args)]
        given = [*zip(by_place, call.args, strict=False), *((one.arg or "", one.value) for one in call.keywords)]
        self.taken.setdefault(whom, set()).update(name for name, value in given if is_sentence(value, names))

    def names_in(self, name: str, function: Function) -> set[str]:
        return sentences_of(function, self.taken.get((name, function.name), set()))

    def found(self) -> list[str]:
        """Return where something decides by a sentence."""
        return sorted(
            {
                f"{name}:{line}"
                for name, tree in self.trees.items()
                if name not in READERS
                for function in functions_of(tree)
                for line in decisions(function, self.names_in(name, function))
            }
        )


def house() -> House:
    paths = {path.relative_to(PLUGIN_UTILS).as_posix(): path for path in sorted(PLUGIN_UTILS.rglob("*.py"))}
    return House({name: path.read_text("utf-8") for name, path in paths.items() if not name.startswith("text/")})


def test_nothing_decides_by_what_a_sentence_says() -> None:
    assert house().found() == []


def test_the_exceptions_are_needed() -> None:
    assert house().trees.keys() >= READERS


def found_in(**modules: str) -> list[str]:
    return House({f"{name}.py": text for name, text in modules.items()}).found()


def test_a_decision_by_a_sentence_is_found() -> None:
    code = """def f():
        a = "ssh" in reason["message"]
        re.search("x", row["evidence"])
        one["remedy"].strip().endswith(".")"""
    assert found_in(a=code) == ["a.py:2", "a.py:3", "a.py:4"]


def test_a_decision_by_a_variable_with_a_sentence_is_found() -> None:
    code = """def f(status):
        said = str(status.get("message") or "").strip()
        text, n = said, 1
        return _OOM.search(text)"""
    assert found_in(a=code) == ["a.py:4"]
    assert found_in(a='def f(one):\n if (said := one["message"]).startswith("x"):\n  return said') == ["a.py:2"]


def test_a_decision_by_a_parameter_that_is_given_a_sentence_is_found() -> None:
    reader = "def remedy_of(said):\n return 'port' in said"
    caller = "from .b import remedy_of\ndef f(reason):\n return remedy_of(reason['message'])"
    assert found_in(a=caller, b=reader) == ["b.py:2"]
    assert found_in(a=caller.replace("remedy_of(r", "remedy_of(said=r"), b=reader) == ["b.py:2"]
    assert found_in(b=reader) == []


def test_a_decision_by_what_makes_sentences_is_found() -> None:
    assert found_in(a="def f(one):\n said = filled(FORM, one)\n return said.startswith('is')") == ["a.py:3"]


def test_whether_there_is_a_sentence_may_decide() -> None:
    assert (
        found_in(a='def f(one):\n said = one["message"]\n return said != "" and said is not None and bool(said)') == []
    )
