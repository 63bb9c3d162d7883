"""Names that ansible-test's pylint refuses in a collection."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFUSED = {"_", "bar", "baz", "foo", "tata", "toto", "tutu"}
# Most files have none of them in any place, and need not be parsed.
NAMED = re.compile(rf"\b(?:{'|'.join(REFUSED)})\b")


def test_no_variable_has_a_name_that_sanity_tests_refuse():
    """``_`` is gettext's there, so an unused variable says what it is: ``_index``."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.id}"
        for folder in ("plugins", "roles")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if NAMED.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in REFUSED
    ]
    assert found == []
