# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes that run tools: on nodes that are processes, with programs that print the real ones' output."""

from __future__ import annotations

import os
import threading
import typing as t
from pathlib import Path

import pytest
from fake_tools import with_adapters, with_agfhc, with_dcgm, with_gpus, with_pytorch, with_rvs
from local_nodes import prober
from not_run import need
from ports import free_port

from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError, RunGoneError
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.agfhc import probe as agfhc
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.dcgm import probe as dcgm
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.disk import probe as disk
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.fio import probe as fio
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.ib_write_bw import loopback as ib_loopback
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.ib_write_bw import probe as ib_write_bw
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.known import PROBES
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.nccl_tests import pairs as nccl_tests_pairs
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.programs import Programs
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.rvs import probe as rvs
from ansible_collections.trainops.cluster.plugins.module_utils.node.processes import labels
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.choice import Chosen
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.prober import ProbedNode
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.readings import readings_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.settling import staged_files

HERE = ProbedNode("127.0.0.1")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINOPS_LOCK_FOLDER", str(tmp_path / "locks"))


def programs(folder: Path, path: str = "", **env: str) -> Programs:
    """Return a runner of programs on a node that is this process."""
    folder.mkdir(parents=True, exist_ok=True)
    env |= {"PATH": f"{path}:{os.environ['PATH']}"} if path else {}
    node = {"node": folder.name, "run_folder": str(folder), "env": env, "master_address": "127.0.0.1"}
    request: t.Any = {"run_id": "isolation", "node": node}
    state: t.Any = {"engine": "none", "handle": {"pid": 1, "start_time": "1"}}
    return Programs(request, state)


def test_a_node_whose_gpus_reduce_slowly_takes_longer_and_one_where_that_fails_says_why(tmp_path: Path) -> None:
    paths = {
        "fast": with_gpus(tmp_path / "fast"),
        "slow": with_gpus(tmp_path / "slow", slower=1.2),
        "wrong": with_gpus(tmp_path / "wrong", output="nccl_tests_wrong.txt"),
        "dead": with_gpus(tmp_path / "dead", fails=True),
    }
    own = {node: {"PATH": path} for node, path in paths.items()}
    of = prober(tmp_path / "nodes", dict.fromkeys(paths, HERE), 1, environments=own, chosen=Chosen(("nccl_tests",)))
    try:
        of.hold()
        tools = of.tools(list(paths), ["nccl_tests"])
        assert {one["nccl_tests"]["lacks"] for one in tools.values()} == {""}
        found = {one.nodes[0]: one for one in of.singles(list(paths), "sweep")}
    finally:
        of.let_go()
    assert {(one.probe, one.part) for one in found.values()} == {("nccl_all_reduce", "GPUs")}
    assert min(found["slow"].samples) == pytest.approx(1.2 * min(found["fast"].samples))
    assert "values of the result are wrong" in found["wrong"].problem
    assert "unhandled cuda error" in found["dead"].problem
    assert "-g 8" in (tmp_path / "fast/arguments").read_text()


def test_the_gpus_of_a_node_are_loaded_together_and_reduce_together(tmp_path: Path) -> None:
    path = with_pytorch(tmp_path / "tools", slow=5, slower=1.25)
    names = ("torch", "torch_node")
    of = prober(tmp_path / "nodes", {"a": HERE}, 1, environments={"a": {"PATH": path}}, chosen=Chosen(names))
    try:
        of.hold()
        assert {one["lacks"] for one in of.tools(["a"], names)["a"].values()} == {""}
        found = {(one.probe, one.part): min(one.samples) for one in of.singles(["a"], "sweep")}
    finally:
        of.let_go()
    assert {part for probe, part in found if probe == "torch_gemm_under_load"} == {f"GPU {gpu}" for gpu in range(8)}
    # All wait for the slowest GPU.
    slowest = found["torch_gemm", "GPU 5"]
    assert found["torch_node_all_reduce", "GPUs"] == found["torch_node_reduce_scatter", "GPUs"] == slowest


def test_gpus_multiply_matrices_of_the_sizes_of_a_training(tmp_path: Path) -> None:
    environments = {"a": {"PATH": with_pytorch(tmp_path / "tools")}}
    product = [32768, 8192, 3584]
    of = prober(
        tmp_path / "nodes", {"a": HERE}, 1, environments=environments, chosen=Chosen(("torch",)), product=product
    )
    try:
        of.hold()
        found = {(one.probe, one.part) for one in of.singles(["a"], "sweep")}
        of.product = ()
        without = {one.probe for one in of.singles(["a"], "sweep")}
    finally:
        of.let_go()
    assert {part for probe, part in found if probe == "torch_gemm_of_training"} == {f"GPU {gpu}" for gpu in range(8)}
    assert "torch_gemm_of_training" not in without


def test_a_node_without_gpus_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    of = prober(tmp_path / "nodes", {"a": HERE}, 1)
    try:
        of.hold()
        assert "no GPUs" in of.tools(["a"], ["nccl_tests"])["a"]["nccl_tests"]["lacks"]
    finally:
        of.let_go()


def test_probes_that_need_the_same_share_one_look(tmp_path: Path) -> None:
    python = tmp_path / "tools/python3"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\necho looked >>"$(dirname "$0")/looks"\necho 8\n')
    python.chmod(0o755)
    of = prober(tmp_path / "nodes", {"a": HERE}, 1, environments={"a": {"PATH": f"{python.parent}:$PATH"}})
    try:
        of.hold()
        found = of.tools(["a"], ["torch", "torch_pairs"])["a"]
    finally:
        of.let_go()
    assert found["torch"] == found["torch_pairs"]
    assert len(found["torch"]["units"]) == 8
    assert (python.parent / "looks").read_text().split() == ["looked"]


def test_no_probe_starts_once_somebody_frees_the_node(tmp_path: Path) -> None:
    path = with_dcgm(tmp_path / "tools")
    state = tmp_path / "nodes/isolation/a/state.json"
    stopping = f"""sed -i 's/"status": *"running"/&, "stop_requested": true/' {state}"""
    for name, text in (("nvidia-smi", "echo GPU 0:; echo GPU 1:"), ("all_reduce_perf", stopping)):
        (tmp_path / "tools" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "tools" / name).chmod(0o755)
    (tmp_path / "tools/dcgmi").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    own = {"a": {"PATH": path}}
    of = prober(tmp_path / "nodes", {"a": HERE}, 1, environments=own, chosen=Chosen(("nccl_tests", "dcgm")))
    try:
        of.hold()
        assert of.singles(["a"], "sweep") == []
    finally:
        of.let_go()
    assert [one["code"] for one in of.gone["a"].problems] == ["tests_over"]
    assert "stop_requested" in state.read_text()
    assert not (tmp_path / "started").exists()


def test_odd_output_of_one_tool_is_a_problem_of_its_probe_alone(tmp_path: Path) -> None:
    path = with_gpus(tmp_path / "tools")
    for name, text in (("dcgmi", """echo '{"version": {"test_categories": [1]}}'"""), ("python3", "echo")):
        (tmp_path / "tools" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "tools" / name).chmod(0o755)
    chosen = Chosen(("dcgm", "nccl_tests"))
    of = prober(tmp_path / "nodes", {"a": HERE}, 1, environments={"a": {"PATH": path}}, chosen=chosen)
    try:
        of.hold()
        found = {one.probe: one for one in of.singles(["a"], "sweep")}
        tools = of.tools(["a"], ["torch", "nccl_tests"])["a"]
    finally:
        of.let_go()
    assert found["nccl_all_reduce"].samples
    assert "unexpected output" in found["dcgm"].problem
    assert not tools["nccl_tests"]["lacks"]
    assert "unexpected output" in tools["torch"]["lacks"]


@pytest.mark.parametrize("seconds", ["[]", "[0.0]", "[NaN]", '["1"]'])
def test_times_that_are_none_are_a_problem_of_their_probe_alone(tmp_path: Path, seconds: str) -> None:
    python = tmp_path / "tools/python3"
    python.parent.mkdir()
    line = f'{{"device": 0, "seconds": {{"gemm": {seconds}}}, "problem": ""}}'
    python.write_text(f"#!/bin/sh\necho '{line}'\n")
    python.chmod(0o755)
    own = {"a": {"PATH": f"{python.parent}:$PATH"}}
    of = prober(tmp_path / "nodes", {"a": HERE}, 1, environments=own, chosen=Chosen(("cpu", "torch")))
    try:
        of.hold()
        found = {one.probe: one for one in of.singles(["a"], "sweep")}
    finally:
        of.let_go()
    assert found["cpu"].samples
    assert "unexpected output" in found["torch_gemm"].problem


def test_no_program_of_a_probe_starts_once_the_hold_is_gone(tmp_path: Path) -> None:
    def check() -> None:
        raise RunGoneError("the node is no longer held for tests")

    node: t.Any = {"node": "a", "run_folder": str(tmp_path), "env": {}, "master_address": "127.0.0.1"}
    request: t.Any = {"run_id": "isolation", "node": node}
    here = Programs(request, t.cast("t.Any", {"engine": "none", "handle": {}}), check)
    with pytest.raises(RunGoneError):
        here.run("touched", ["touch", str(tmp_path / "started")], 5)
    assert not (tmp_path / "started").exists()


def test_the_diagnosis_of_dcgm_is_marked_as_the_isolation_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/dcgmi").write_text(f'#!/bin/sh\nenv >{tmp_path}/seen\necho "{{}}"\n')
    (tmp_path / "tools/dcgmi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:{os.environ['PATH']}")
    with pytest.raises(NodeError, match="no results"):
        dcgm.measure(t.cast("t.Any", {}), programs(tmp_path / "a"))
    assert (
        labels("isolation", "a").items()
        <= dict(line.partition("=")[::2] for line in (tmp_path / "seen").read_text().splitlines()).items()
    )


def test_mpirun_starts_a_process_for_each_gpu_of_both_nodes_with_what_nccl_needs_of_a_training(tmp_path: Path) -> None:
    path = with_gpus(tmp_path / "tools").removesuffix(":$PATH")
    os_path = os.environ["PATH"]
    os.environ["PATH"] = f"{path}:{os_path}"
    try:
        here = programs(tmp_path / "a", path, NCCL_IB_HCA="mlx5", HF_HOME="/x")
        partner = {"addresses": ["10.0.0.1", "10.0.0.2"], "serves": True}
        words = nccl_tests_pairs.command(t.cast("t.Any", {"partner": partner}), here)
    finally:
        os.environ["PATH"] = os_path
    assert words[:5] == ["mpirun", "-np", "16", "--host", "10.0.0.1:8,10.0.0.2:8"]
    assert words[words.index("-x") + 1] == "NCCL_IB_HCA"
    assert "HF_HOME" not in words
    assert words[words.index(f"{path}/all_reduce_perf") + 1 :][:2] == ["-g", "1"]


@pytest.mark.parametrize("dead_on", ["a", "b"])
def test_each_adapter_of_a_pair_is_measured_and_one_that_either_end_lacks_does_not_hold_up_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead_on: str
) -> None:
    with_adapters(tmp_path / "tools")
    names = ["mlx5_0", "mlx5_1", "mlx5_2"]
    alive = {dead_on: names[1:]}
    monkeypatch.setattr(ib_write_bw, "_active", lambda: alive.get(threading.current_thread().name, names))
    monkeypatch.setitem(ib_write_bw.PROBES, "ib_write_bw", ib_write_bw.PROBES["ib_write_bw"]._replace(more=3))
    partner = {
        "node": "other",
        "address": "127.0.0.1",
        "addresses": ["127.0.0.1"] * 2,
        "port": free_port(),
        "secret": "secret",
        "patience": 20.0,
    }
    found = {}

    def measure(node: str, serves: bool) -> None:
        asked: t.Any = {
            "units": {"ib_write_bw": names},
            "partner": {**partner, "serves": serves},
        }
        found[node] = ib_write_bw.measure(asked, programs(tmp_path / node, str(tmp_path / "tools")))

    ends = [threading.Thread(target=measure, args=end, name=end[0]) for end in (("a", True), ("b", False))]
    for end in ends:
        end.start()
    for end in ends:
        end.join()
    for node in ("a", "b"):
        measured = {one.part: one.samples for one in found[node] if one.samples}
        assert measured == {f"HCA {name}": [pytest.approx(8 / 393.62)] for name in names[1:]}
    (dead,) = [(node, one.part) for node, readings in found.items() for one in readings if "ACTIVE" in one.problem]
    assert dead == (dead_on, "HCA mlx5_0")


def test_each_adapter_writes_to_itself_and_one_that_fails_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_adapters(tmp_path / "tools")
    monkeypatch.setattr(ib_loopback, "_PORT", free_port())
    asked: t.Any = {"units": {"ib_loopback": ["mlx5_0", "mlx5_1"]}}
    here = programs(tmp_path / "a", str(tmp_path / "tools"), NCCL_IB_GID_INDEX="3")
    found = ib_loopback.measure(asked, here)
    assert {one.part: (one.samples, one.problem) for one in found} == {
        f"HCA mlx5_{number}": ([pytest.approx(8 / 393.62)], "") for number in range(2)
    }
    assert [(one.probe, one.part) for one in found] == PROBES["ib_loopback"].readings(["mlx5_0", "mlx5_1"])
    (tmp_path / "tools/ib_write_bw").write_text("#!/bin/sh\necho Failed to modify QP to RTR >&2\nexit 1\n")
    monkeypatch.setattr(ib_loopback, "_TRIES", 2)
    assert ["Failed to modify QP" in one.problem for one in ib_loopback.measure(asked, here)] == [True, True]


def test_the_disk_is_written_and_read_and_nothing_is_left_there(tmp_path: Path) -> None:
    here = programs(tmp_path / "a")
    found = disk.measure(t.cast("t.Any", {}), here)
    assert [(one.probe, one.part, len(one.samples)) for one in found] == [
        ("disk_write", "disk", 5),
        ("disk_read", "disk", 5),
    ]
    assert list((tmp_path / "a").iterdir()) == []


def test_rvs_measures_each_gpu_and_one_that_fails_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:{os.environ['PATH']}")
    with_rvs(tmp_path / "tools", slow=5, slower=1.1)
    here = programs(tmp_path / "a")
    assert rvs.found(here).lacks == ""
    found = {one.part: one for one in rvs.measure(t.cast("t.Any", {}), here)}
    assert list(found) == [f"GPU {number}" for number in range(8)]
    assert found["GPU 0"].samples[0] == pytest.approx(1e6 / 1640057)
    assert found["GPU 5"].samples[0] == pytest.approx(1.1e6 / 1640057, rel=1e-4)
    with_rvs(tmp_path / "tools", slow=5, fails="memory allocation failed")
    problems = {one.part: one.problem for one in rvs.measure(t.cast("t.Any", {}), here) if one.problem}
    assert problems == {"GPU 5": "memory allocation failed"}


def test_a_gpu_that_fails_after_rvs_has_measured_it_is_broken_and_has_no_speed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node may not answer that a part has both."""
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:{os.environ['PATH']}")
    with_rvs(tmp_path / "tools")
    error = "[ERROR ] [1102004.1] [trainops] gst 28851 blas gemm failed"
    (tmp_path / "tools/rvs").rename(tmp_path / "tools/before")
    (tmp_path / "tools/rvs").write_text(f"#!/bin/sh\nbefore \"$@\"\necho '{error}'\n")
    (tmp_path / "tools/rvs").chmod(0o755)
    found = rvs.measure(t.cast("t.Any", {}), programs(tmp_path / "a"))
    assert [one.part for one in found if one.problem] == ["GPU 0"]
    assert all(bool(one.samples) is not bool(one.problem) for one in found)


def test_agfhc_says_something_only_where_a_test_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:{os.environ['PATH']}")
    with_agfhc(tmp_path / "tools")
    here = programs(tmp_path / "a")
    assert agfhc.found(here).lacks == ""
    assert agfhc.measure(t.cast("t.Any", {}), here) == []
    with_agfhc(tmp_path / "tools", "hbm_bw")
    (found,) = agfhc.measure(t.cast("t.Any", {}), here)
    assert (found.part, found.samples) == ("GPUs", [])
    assert "FAIL: hbm_bw-1-1" in found.problem
    (tmp_path / "tools/agfhc").write_text("#!/bin/sh\necho must be run as root\nexit 1\n")
    with pytest.raises(NodeError, match="must be run as root"):
        agfhc.measure(t.cast("t.Any", {}), here)


@pytest.mark.parametrize(("direct", "cached"), [(True, ""), (False, "_cached")])
def test_fio_goes_past_the_cache_where_it_can_and_its_readings_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: bool, cached: str
) -> None:
    tool = tmp_path / "tools/fio"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho $* >{tmp_path}/arguments\ncat {ROOT}/tests/data/probes/fio_direct.json\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(fio, "takes_direct", lambda _folder: direct)
    here = programs(tmp_path / "a")
    assert fio.found(here).lacks == ""
    found = fio.measure(t.cast("t.Any", {}), here)
    assert [(one.probe, one.part, len(one.samples)) for one in found] == [
        (f"fio_write{cached}", "disk", 2),
        (f"fio_read{cached}", "disk", 2),
    ]
    assert {one.probe for one in found} <= readings_of(PROBES["fio"], [])
    words = (tmp_path / "arguments").read_text().split()
    assert f"--direct={int(direct)}" in words
    assert [word for word in words if word.startswith("--rw")] == ["--rw=write", "--rw=read"] * 5
    # The limit keeps a slow disk within the time of the probe.
    (limit,) = (float(word.partition("=")[2]) for word in words if word.startswith("--runtime="))
    assert 10 * limit < PROBES["fio"].seconds
    assert list((tmp_path / "a").iterdir()) == []


def test_the_real_fio_measures_the_folder_of_the_isolation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("fio")
    monkeypatch.setattr(fio, "_SIZE", 8 << 20)
    found = fio.measure(t.cast("t.Any", {}), programs(tmp_path / "a"))
    assert [len(one.samples) for one in found] == [5, 5]
    assert list((tmp_path / "a").iterdir()) == []


def torch_folder() -> str:
    """Return the folder of a Python that has PyTorch, or skip the test."""
    for venv in (".venv-megatron", ".venv-torchtitan"):
        if list((ROOT / venv).glob("lib/python3*/site-packages/torch")):
            return str(ROOT / venv / "bin")
    pytest.skip("there is no PyTorch; run `make test-megatron`")


def test_pytorch_measures_each_node_and_pairs_and_groups_of_them_meet(tmp_path: Path) -> None:
    own = {"PATH": f"{torch_folder()}:$PATH"}
    nodes = {"fast": HERE, "slow": ProbedNode("127.0.0.1", slowdown=2.0), "third": HERE}
    of = prober(
        tmp_path / "nodes",
        nodes,
        free_port(),
        environments=dict.fromkeys(nodes, own),
        files=staged_files(),
        chosen=Chosen(("torch", "torch_pairs")),
        product=[32768, 8192, 3584],
    )
    try:
        of.hold()
        found = {(one.probe, *one.nodes): one for one in of.singles(["fast", "slow"], "sweep")}
        pairs = {(one.probe, *one.nodes): one for one in of.pairs([("fast", "slow")], "sweep")}
        of.chosen = Chosen(("torch_groups",))
        groups = {one.probe: one for one in of.groups([("fast", "slow", "third")], "sweep")}
        lacks = of.tools(["fast"], ["torch"])["fast"]["torch"]["lacks"]
    finally:
        of.let_go()
    together = {**pairs, **groups}
    assert not [one.problem for one in [*found.values(), *together.values()] if one.problem]
    assert {probe for probe, _node in found} == {
        *("torch_gemm", "torch_gemm_of_training", "torch_memory", "torch_to_gpu", "torch_from_gpu")
    }
    assert {one.part for one in found.values()} == {"CPU"}
    assert min(found["torch_gemm", "slow"].samples) > 1.3 * min(found["torch_gemm", "fast"].samples)
    assert set(pairs) == {
        ("torch_all_reduce", "fast", "slow"),
        ("torch_send_recv", "fast", "slow"),
        ("torch_send_recv", "slow", "fast"),
    }
    assert set(groups) == readings_of(PROBES["torch_groups"], [])
    assert {len(one.samples) for one in together.values()} == {5}
    assert "no GPU" in lacks
