from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from module_runs import ROOT, call_module, run_module
from node_trees import mi300x_thor2
from not_run import need_python_38

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.facts import inspect
from ansible_collections.trainops.cluster.plugins.modules import node_inspect

DATA = ROOT / "tests" / "data" / "nodes"


def test_a_whole_node_at_once(tmp_path: Path) -> None:
    (tmp_path / "dev/shm").mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    root = str(mi300x_thor2(tmp_path))
    library = "/usr/local/lib/libbnxt_re-rdmav34.so"
    node = inspect([library, "/home/ops/cache"], "127.0.0.1", 6000, "image:1", root)
    assert (node["hostname"], node["gpus"]["vendor"], len(node["rdma"]["devices"])) == ("gpu01", "amd", 8)
    assert node["paths"][library]["library"] == {"soname": "libbnxt_re-rdmav34.so", "rdma_abi": 34}
    assert node["paths"]["/home/ops/cache"]["kind"] == "missing"
    assert node["limits"]["nr_open"] == 1048576
    assert node["limits"]["shm"]["total_bytes"] > 0
    assert set(node["engines"]) == {"docker", "podman"}
    assert node["clock"]["began"] <= node["clock"]["time"]
    assert all(isinstance(reason, str) for reason in node["problems"].values())


def test_a_command_is_found_where_the_variables_of_the_node_say(tmp_path: Path) -> None:
    program = tmp_path / "tools/podman"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '{}'\n")
    program.chmod(0o755)
    variables = {"TOOLS": str(program.parent), "PATH": "$TOOLS:$PATH"}
    assert call_module("node_inspect", environment=variables)["node"]["engines"]["podman"] is not None


def test_what_cannot_be_found_out_is_told_by_its_name(tmp_path: Path) -> None:
    node = inspect([], "no-such-host.invalid", root=str(tmp_path))
    assert node["network"]["master"] is None
    assert node["problems"]["master"] == "this node cannot resolve the name no-such-host.invalid"


def test_an_engine_that_answers_something_unknown_is_still_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "podman"
    program.write_text("#!/bin/sh\necho '{}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    node = inspect([], root=str(tmp_path))
    assert node["engines"]["podman"]["problem"] == "unexpected data: KeyError('version')"


def test_the_module_tells_of_this_machine_and_bounds_its_clock(tmp_path: Path) -> None:
    before = time.time()
    result = run_module(tmp_path, "node_inspect", paths=[str(tmp_path)], master_address="127.0.0.1", master_port=1)
    node = result["node"]
    assert result["changed"] is False
    assert node["kernel"] == platform.release()
    assert node["paths"][str(tmp_path)]["kind"] == "directory"
    least, most = node["clock"]["offset_seconds"]
    assert least <= 0 <= most
    assert most - least <= time.time() - before
    if shutil.which("ip"):
        assert node["network"]["master"]["own"] is True
        assert "lo" in node["network"]["interfaces"]


def test_check_mode_tells_the_same() -> None:
    nodes = [call_module("node_inspect", check=check)["node"] for check in (False, True)]
    same = [{name: node[name] for name in ("kernel", "os", "cpus", "numa", "rdma")} for node in nodes]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"paths": ["cache"]}, "paths contains cache, but must contain only absolute paths"),
        ({"master_port": 70000}, "master_port is 70000, but must be between 1 and 65535"),
    ],
)
def test_wrong_options_are_said(options: dict[str, object], message: str) -> None:
    assert call_module("node_inspect", **options)["msg"] == message


def test_documentation_tells_of_every_fact(tmp_path: Path) -> None:
    documented = yaml.safe_load(node_inspect.RETURN)["node"]["contains"]
    assert set(documented) == set(inspect([], root=str(tmp_path)))


PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from node_trees import mi300x_thor2
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.facts import inspect
root = str(mi300x_thor2(Path(sys.argv[1])))
node = inspect(["/usr/local/lib/libbnxt_re-rdmav34.so"], "127.0.0.1", 6000, "image", root)
print(json.dumps([len(node["gpus"]["devices"]), len(node["rdma"]["devices"]), sorted(node["paths"])]))
"""


def test_the_oldest_python_of_a_node_inspects_it(tmp_path: Path) -> None:
    python = need_python_38()
    done = subprocess.run(
        [python, "-W", "error", "-c", PROGRAM, str(tmp_path), str(DATA)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert json.loads(done.stdout) == [8, 8, ["/usr/local/lib/libbnxt_re-rdmav34.so"]]
