from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from training_configs import ROOT

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.branch_config import (
    MaxTextModelParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.config import MaxTextConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.keys import KEYS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.megatron.config import (
    MegatronConfig,
    MegatronModelParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.options import PlanOptions
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.maxtext.xla_flags import FLAGS


def write_docs(root: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools/write_docs.py"), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return another root for the script, whose collection is this one."""
    root = tmp_path / "clone"
    for folder in ("tools", "roles", "plugins/modules"):
        shutil.copytree(ROOT / folder, root / folder)
    shutil.copy(ROOT / "README.md", root)
    (root / "collections").symlink_to(ROOT / "collections")
    return root


@pytest.mark.slow
def test_what_stands_in_docs_is_what_the_models_say(tmp_path: Path) -> None:
    done = write_docs(ROOT, "--check", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_documents_are_written_and_a_stale_one_is_named_and_not_touched(copy: Path, tmp_path: Path) -> None:
    done = write_docs(copy, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in (
        "docs/maxtext_config.md",
        "docs/megatron_config.md",
        "docs/schemas/maxtext.schema.json",
        "docs/schemas/megatron.schema.json",
    ):
        assert (copy / name).read_text("utf-8") == (ROOT / name).read_text("utf-8")
        assert f"{name} written" in done.stdout
    page = copy / "docs/megatron_config.md"
    page.write_text("stale", "utf-8")
    done = write_docs(copy, "--check", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "docs/megatron_config.md is stale; run python tools/write_docs.py\n"
    assert page.read_text("utf-8") == "stale"


@pytest.mark.slow
def test_an_option_of_a_role_that_is_one_of_a_module_is_written_as_there(copy: Path, tmp_path: Path) -> None:
    module = copy / "plugins/modules/training_report.py"
    module.write_text(
        module.read_text("utf-8").replace("Fail unless the verdict is PASS.", "O(index) is odd."), "utf-8"
    )
    assert write_docs(copy, cwd=tmp_path).returncode == 0
    for role in ("report", "training"):
        specs = (copy / f"roles/{role}/meta/argument_specs.yml").read_text("utf-8")
        assert f"{role}_require_pass: # as in training_report\n        description: O({role}_index) is odd.\n" in specs


def test_the_page_has_every_key_and_every_variable() -> None:
    page = (ROOT / "docs/megatron_config.md").read_text("utf-8")
    for model in (MegatronConfig, MegatronModelParameters, PlanOptions):
        for name in model.model_fields:
            assert f"| `{name}` |" in page


def test_the_page_of_maxtext_has_every_key_and_every_flag() -> None:
    page = (ROOT / "docs/maxtext_config.md").read_text("utf-8")
    for name in (*MaxTextConfig.model_fields, *MaxTextModelParameters.model_fields, *FLAGS):
        assert f"| `{name}` |" in page


def test_the_page_of_the_keys_of_maxtext_has_every_key() -> None:
    page = (ROOT / "docs/maxtext_keys.md").read_text("utf-8")
    assert all(f"| `{name}` |" in page for name in KEYS)


@pytest.mark.parametrize(
    ("page", "key", "since"),
    [
        ("maxtext_config", "max_segments_per_seq", "0.2.0"),
        ("maxtext_config", "dtype", "rocm-25.5"),
        ("maxtext_config", "env_vars", "later shape"),
        ("maxtext_config", "batch_size", ""),
        ("megatron_config", "megatron_fsdp", "v26.1"),
        ("megatron_config", "sequence_length", "v24.12"),
        ("nxdt_config", "orpo", "1.3.0"),
        ("nxdt_config", "lnc", "1.1.0"),
    ],
)
def test_the_pages_tell_since_when_there_is_a_key(page: str, key: str, since: str) -> None:
    table = next(
        part for part in (ROOT / f"docs/{page}.md").read_text("utf-8").split("\n\n") if f"\n| `{key}` |" in part
    )
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in table.splitlines()]
    (row,) = [row for row in rows if row[0] == f"`{key}`"]
    assert row[rows[0].index("since")].strip() == since
    assert rows[0][:2] == ["key", "meaning"]
