"""Plugins that Ansible loads at every start are quick, and say in words what is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
THIN = ("action", "callback", "doc_fragments", "filter", "inventory", "modules")
HEAVY = ("jmespath", "numpy", "omegaconf", "pandas", "prometheus_client", "pydantic", "pyarrow", "scipy")

IMPORT_WITHOUT = """
import importlib, sys
sys.modules.update(dict.fromkeys(sys.argv[1].split()))  # what is None there cannot be imported
for name in sys.argv[2:]:
    importlib.import_module("ansible_collections.trainops.cluster.plugins." + name)
"""


def test_thin_plugins_can_be_imported_where_only_ansible_is_installed():
    """ansible-doc and `ansible-test sanity --test import` do so; a plugin that lacks a package says so when it runs."""
    names = [f"{kind}.{path.stem}" for kind in THIN for path in sorted((ROOT / "plugins" / kind).glob("*.py"))]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT, " ".join(HEAVY), *names],
        env={"PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
