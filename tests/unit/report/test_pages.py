# SPDX-License-Identifier: GPL-3.0-or-later
"""How pages are made of their templates."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RENDER = """
import sys
from pathlib import Path
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.runs_index import write_index
write_index(Path(sys.argv[1]))
"""


def rendered(folder, compiled):
    (folder / "run").mkdir(parents=True)
    (folder / "run/plan.json").write_text("{}")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        [sys.executable, "-c", RENDER, str(folder)],
        env=environment | {"PYTHONPATH": str(ROOT / "collections"), "PYTHONPYCACHEPREFIX": str(compiled)},
        check=True,
    )
    return (folder / "index.html").read_text()


def test_templates_are_compiled_once_beside_what_python_compiles(tmp_path):
    def kept():
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "compiled").rglob("__jinja2_*")}

    first = rendered(tmp_path / "first", tmp_path / "compiled")
    compiled = kept()
    assert compiled
    assert rendered(tmp_path / "second", tmp_path / "compiled") == first
    assert kept() == compiled


def test_a_page_is_made_where_nothing_compiled_can_be_kept(tmp_path):
    (tmp_path / "file").write_text("")
    assert "<html" in rendered(tmp_path / "runs", tmp_path / "file" / "below")
