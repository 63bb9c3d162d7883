"""playbooks/isolate.yml with probes that run tools, here programs that print the real ones' output."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fake_tools import with_gpus, with_pytorch
from playbook_bench import Bench, Finished

# tests/unit/isolate tests each probe by itself, test_isolate_quarantine.py an isolation with one of them.
pytestmark = pytest.mark.slow

NODES = [f"node{number}" for number in range(4)]


def isolated(bench: Bench, hosts: dict[str, dict], config: Path | None = None, **variables: object) -> Finished:
    return bench.play(
        "isolate.yml",
        bench.inventory(**hosts),
        config or bench.config(),
        isolate_name="test",
        isolate_node_dir=str(bench.nodes),
        **{"isolate_rehearsal": True, **variables},
    )


def hosts_with_gpus(bench: Bench, **slower: float) -> dict[str, dict]:
    return {
        node: {"training_node_environment": {"PATH": with_gpus(bench.folder / "tools" / node, slower.get(node, 1.0))}}
        for node in NODES
    }


def found(bench: Bench) -> dict:
    return json.loads((bench.runs / "isolation/test/isolation.json").read_text())


def test_the_node_whose_gpus_reduce_slowly_is_named_with_its_part_and_programs_can_be_repeated_by_hand(
    bench: Bench,
) -> None:
    done = isolated(bench, hosts_with_gpus(bench, node2=1.3), isolate_probes=["nccl_tests"])
    assert done.status != 0
    (suspect,) = found(bench)["suspects"]
    assert (suspect["node"], suspect["part"], suspect["probe"]) == ("node2", "GPUs", "nccl_all_reduce")
    assert 0.25 < suspect["slower_by"] < 0.35
    assert found(bench)["tests"]["probes"] == ["nccl_tests"]
    assert re.findall(r"^(\S+) .*\bfailed=1", done.output, re.MULTILINE) == ["node2"]
    (script,) = bench.nodes.glob("test/node1/nccl_tests.sh")
    lines = script.read_text().splitlines()
    # The environment of the training.
    assert "export GLOO_SOCKET_IFNAME=lo" in lines
    assert lines[-1].startswith(f"exec {bench.folder / 'tools/node1/all_reduce_perf'} -g 8")


def test_a_node_whose_gpus_fail_in_a_probe_is_broken_and_says_how(bench: Bench) -> None:
    hosts = hosts_with_gpus(bench)
    with_gpus(bench.folder / "tools/node3", fails=True)
    done = isolated(bench, hosts, isolate_probes=["nccl_tests"])
    assert done.status != 0
    (suspect,) = found(bench)["suspects"]
    assert (suspect["node"], suspect["verdict"]) == ("node3", "broken")
    assert "unhandled cuda error" in suspect["evidence"]


def test_one_slow_gpu_of_a_node_is_the_part_that_is_named(bench: Bench) -> None:
    paths = {node: with_pytorch(bench.folder / "tools" / node) for node in NODES}
    with_pytorch(bench.folder / "tools/node1", slow=5, slower=1.1)
    hosts = {node: {"training_node_environment": {"PATH": path}} for node, path in paths.items()}
    config = bench.config()
    config.write_text(config.read_text().replace("llama3_tiny", "llama3_1_8b").replace('"tiny"', '"8B"'))
    done = isolated(bench, hosts, config, isolate_probes=["torch"])
    (suspect,) = found(bench)["suspects"]
    assert (suspect["node"], suspect["part"], suspect["probe"]) == ("node1", "GPU 5", "torch_gemm"), done.output
    # Micro batches of four sequences of two tokens, and the sizes of that model.
    assert "--product 8 4096 14336" in (bench.nodes / "test/node1/torch.sh").read_text()
    assert found(bench)["probes"]["torch_gemm"].keys() == {f"{node} GPU {gpu}" for node in NODES for gpu in range(8)}


def test_without_names_the_nodes_are_asked_and_do_what_all_of_them_can_do(bench: Bench) -> None:
    hosts = hosts_with_gpus(bench)
    for host in hosts.values():
        # So that no PyTorch of this machine takes part.
        host["training_node_environment"]["PATH"] = host["training_node_environment"]["PATH"].replace(
            "$PATH", "/usr/bin:/bin"
        )
    done = isolated(bench, hosts, isolate_rehearsal=False, isolate_rounds=1)
    assert found(bench)["tests"]["probes"] == ["cpu", "memory", "tcp", "nccl_tests"], done.output
    assert "torch_pairs" in done.output
