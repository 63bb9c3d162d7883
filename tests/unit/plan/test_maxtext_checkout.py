# SPDX-License-Identifier: GPL-3.0-or-later
"""A branch of MaxText that a config names: it is checked out in the container before the training, or refused."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import maxtext_configs
import pytest
from cvs_configs import MAXTEXT, MAXTEXT_OF_TODAY, example, planned
from not_run import need
from training_configs import keys, only

BRANCH = {"maxtext_branch": "release/v26.7", "maxtext_install_cmd": "python3 -m pip install --no-deps -e ."}
SECTIONS = {MAXTEXT: "training", MAXTEXT_OF_TODAY: "train_params"}


def with_branch(name: str = MAXTEXT_OF_TODAY, **others: t.Any) -> dict[str, t.Any]:
    return example(name, {f"{SECTIONS[name]}/{key}": value for key, value in (BRANCH | others).items()})


@pytest.mark.parametrize("name", SECTIONS)
def test_the_branch_of_a_config_is_checked_out_and_installed_before_the_training(name: str) -> None:
    # The keys of CVS's mi3xx_jaxmaxtext_deepseek-v4-284b_distributed.json at 7829f354.
    plan = planned(with_branch(name, maxtext_root="/opt/maxtext"))
    assert plan["faults"] == []
    node = plan["nodes"][1]
    script = f"{node['run_folder']}/with_maxtext.sh"
    assert node["argv"][:4] == ["bash", script, "release/v26.7", BRANCH["maxtext_install_cmd"]]
    plain = planned(example(name))["nodes"][1]
    assert node["argv"][4:] == plain["argv"]
    assert (node["working_dir"], "with_maxtext.sh" in node["files"]) == ("/opt/maxtext", True)
    assert "with_maxtext.sh" not in plain["files"]


@pytest.mark.parametrize(
    ("config", "options", "key"),
    [
        (with_branch(), {"container_engine": "none"}, "train_params.maxtext_branch"),
        (with_branch(maxtext_branch=""), {"container_engine": "none"}, "train_params.maxtext_install_cmd"),
        (with_branch(maxtext_branch="--force"), {}, "train_params.maxtext_branch"),
        (with_branch(maxtext_root="maxtext"), {}, "train_params.maxtext_root"),
        (with_branch(maxtext_install_cmd="HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz12345678 pip install a"), {},
         "train_params.maxtext_install_cmd"),
        (with_branch(maxtext_root="/shared/root/maxtext"), {"container_engine": "docker"},
         "train_params.maxtext_branch"),
    ],
)  # fmt: skip
def test_a_checkout_that_a_container_cannot_have_is_refused(
    config: dict[str, t.Any], options: dict[str, t.Any], key: str
) -> None:
    config["container"]["runtime"]["args"]["volumes"] = ["/shared/root:/shared/root"]
    assert only(planned(config, **options)["faults"])["key"] == key


def test_the_first_format_has_the_same_keys_and_gke_has_none_of_them() -> None:
    changes = {f"config/{name}": value for name, value in BRANCH.items()}
    assert maxtext_configs.planned(maxtext_configs.filled(changes=changes))["faults"] == []
    on_gke = maxtext_configs.tpu(changes)
    assert "config.maxtext_branch" in keys(maxtext_configs.planned(on_gke, training_platform="gke")["faults"])


def test_the_script_trains_on_the_branch_or_not_at_all(tmp_path: Path) -> None:
    need("git")
    script = tmp_path / "with_maxtext.sh"
    script.write_text(planned(with_branch())["nodes"][0]["files"]["with_maxtext.sh"])
    root, git = tmp_path / "maxtext", ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    root.mkdir()
    code = root / "code"
    for commands in (["init", "-q", "-b", "main"], ["checkout", "-q", "-b", "release/v26.7"]):
        subprocess.run([*git, *commands], cwd=root, check=True)
        code.write_text(commands[-1])
        subprocess.run([*git, "add", "."], cwd=root, check=True)
        subprocess.run([*git, "commit", "-q", "-m", "x"], cwd=root, check=True)
    subprocess.run([*git, "checkout", "-q", "main"], cwd=root, check=True)
    code.write_text("changed")

    def ran(branch: str, install: str) -> tuple[int, str]:
        command = ["bash", str(script), branch, install, "cat", "code"]
        ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout.splitlines()[-1] if ended.stdout else ""

    assert ran("", "") == (0, "changed")
    assert ran("nowhere", "")[0] != 0
    assert ran("release/v26.7", "exit 3")[0] == 3
    assert ran("release/v26.7", "") == (0, "release/v26.7")
