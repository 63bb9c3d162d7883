# SPDX-License-Identifier: GPL-3.0-or-later
"""How pages are made of their templates."""

from __future__ import annotations

import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report import pages
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.runs_index import write_index


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Return the folder for Python's compiled files; it does not exist yet."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    return Path(cache_from_source(pages.__file__)).parent


def rendered(folder):
    (folder / "run").mkdir(parents=True)
    (folder / "run/plan.json").write_text("{}")
    write_index(folder)
    return (folder / "index.html").read_text()


def test_templates_are_compiled_once_beside_what_python_compiles(tmp_path, compiled):
    def kept():
        return {path: path.stat().st_mtime_ns for path in compiled.glob("__jinja2_*")}

    compiled.mkdir(parents=True)
    first = rendered(tmp_path / "first")
    of_first = kept()
    assert of_first
    assert rendered(tmp_path / "second") == first
    assert kept() == of_first


def test_a_page_is_made_where_nothing_compiled_can_be_kept(tmp_path, compiled):
    assert "<html" in rendered(tmp_path / "runs")
    assert not compiled.exists()
