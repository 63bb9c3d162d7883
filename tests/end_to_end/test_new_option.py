"""An option of one framework is a field in that framework's folder; all else is generated or taken by its name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from playbook_bench import BIN, ROOT, Bench

FIELD = '    training_maxtext_pace: PathOrNothing = key("How fast it goes.", default="")\n'


@pytest.mark.slow
def test_a_field_is_all_that_is_written_by_hand(bench: Bench) -> None:
    clone = bench.folder / "clone"
    ignored = shutil.ignore_patterns(".*", "runs", "__pycache__")
    shutil.copytree(ROOT, clone, symlinks=True, ignore=ignored)
    options = clone / "plugins/plugin_utils/plan/trainers/maxtext/options.py"
    options.write_text(options.read_text() + FIELD)

    written = subprocess.run(
        [sys.executable, "tools/write_docs.py"], cwd=clone, capture_output=True, text=True, check=True
    )
    assert set(written.stdout.splitlines()) == {
        "docs/megatron_config.md written",
        "plugins/doc_fragments/plan_options.py written",
        "roles/training/defaults/main.yml written",
        "roles/training/meta/argument_specs.yml written",
    }
    plan = bench.folder / "plan.json"
    told = {"training_maxtext_pace": "fast", "training_plan_file": str(plan)}
    subprocess.run(
        [str(BIN / "ansible-playbook"), "playbooks/plan.yml", "-i", "inventories/local/hosts", "-e", json.dumps(told)],
        cwd=clone,
        env=bench.environment(),
        check=False,
    )
    assert [fault["key"] for fault in json.loads(plan.read_text())["faults"]] == ["training_maxtext_pace"]
