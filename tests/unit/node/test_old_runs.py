"""Which folders of earlier runs go from a node, and which never do."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from not_run import need_root

from ansible_collections.trainops.cluster.plugins.module_utils.node.old_runs import old_runs, remove

DAY = 86400


def left(log_dir: Path, run_id: str, days_ago: float, status: str = "exited", node: str = "gpu0") -> Path:
    """Leave the folder of a run that ended this many days ago."""
    folder = log_dir / run_id / node
    folder.mkdir(parents=True)
    ended = {} if status in ("staged", "running") else {"ended_at": time.time() - days_ago * DAY}
    of_run = {"run_id": run_id, "node": node, "identity": {"nonce": run_id, "plan": {}}}
    state = {**of_run, "engine": "none", "status": status, "before": {}, **ended}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints/weights").write_text("1")
    return folder


def going(log_dir: Path, keep_runs: int, keep_days: float = 7) -> list[str]:
    node = {"node": "gpu0", "run_folder": str(log_dir / "now/gpu0")}
    return [run.run_id for run in old_runs(node, "now", keep_runs, keep_days)]


def test_what_is_neither_among_the_last_runs_nor_young_goes(tmp_path: Path) -> None:
    for run_id, days in (("a", 1), ("b", 8), ("c", 30), ("d", 90)):
        left(tmp_path, run_id, days)
    assert going(tmp_path, 1) == ["b", "c", "d"]
    assert going(tmp_path, 3) == ["d"]
    assert going(tmp_path, 1, keep_days=60) == ["d"]
    assert going(tmp_path, 4) == []
    assert going(tmp_path / "nowhere", 1) == []


@pytest.mark.parametrize("status", ["staged", "running"])
def test_what_has_not_ended_stays(tmp_path: Path, status: str) -> None:
    left(tmp_path, "old", 30)
    folder = left(tmp_path, "open", 30, status)
    state = json.loads((folder / "state.json").read_text())
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    state |= {"before": {"boot_id": boot}, "handle": {"pid": os.getpid(), "start_time": start}}
    (folder / "state.json").write_text(json.dumps(state))
    assert going(tmp_path, 0) == ["old"]


def test_what_is_no_run_of_ours_stays(tmp_path: Path) -> None:
    left(tmp_path, "old", 30)
    left(tmp_path, "now", 30)
    left(tmp_path, "of-another-node", 30, node="gpu1")
    (left(tmp_path, "renamed", 30)).parent.rename(tmp_path / "other-name")
    (tmp_path / "notes/gpu0").mkdir(parents=True)
    (tmp_path / "a-file").write_text("x")
    elsewhere = left(tmp_path / "elsewhere", "linked", 30)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/gpu0").symlink_to(elsewhere)
    (left(tmp_path, "torn", 30) / "state.json").write_text("{")
    left(tmp_path, "open-to-all", 30).chmod(0o777)
    assert going(tmp_path, 0) == ["old"]


def test_what_another_user_owns_stays(tmp_path: Path) -> None:
    need_root("only root can give a folder to another user")
    os.chown(left(tmp_path, "of-another", 30), 65534, 65534)
    assert going(tmp_path, 0) == []


def test_a_folder_goes_with_all_that_is_in_it_and_other_nodes_of_the_run_keep_theirs(tmp_path: Path) -> None:
    folder, alone = left(tmp_path, "a", 30), left(tmp_path, "b", 30)
    left(tmp_path, "a", 30, node="gpu1")
    node = {"node": "gpu0", "run_folder": str(tmp_path / "now/gpu0")}
    runs = old_runs(node, "now", 0, 7)
    assert sorted(remove(runs)[0]) == ["a", "b"]
    assert [folder.exists(), (tmp_path / "a/gpu1").exists(), alone.parent.exists()] == [False, True, False]
    gone, problems = remove(runs[:1])
    assert gone == []
    assert "cannot be removed: No such file or directory" in problems[0]


def test_the_folder_of_a_node_need_not_be_called_as_the_node_is(tmp_path: Path) -> None:
    folder = tmp_path / "old" / "fd00++1"
    left(tmp_path, "old", 30, node="fd00::1").rename(folder)
    node = {"node": "fd00::1", "run_folder": str(tmp_path / "now" / "fd00++1")}
    assert [run.folder for run in old_runs(node, "now", 0, 7)] == [str(folder)]
