from __future__ import annotations

import typing as t

from training_configs import BRANCH, DISTRIBUTED, SINGLE, filled, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_in_short, plan_text


def test_the_plan_in_one_look() -> None:
    lines = plan_text(planned(filled(DISTRIBUTED), container_engine="docker")).splitlines()
    assert lines[:10] == [
        "run        now-llama3_1_8b-mi300x",
        "config     config.json",
        "model      llama3_1_8b on mi300x, megatron",
        "nodes      4 × 8 GPUs, one job over all nodes",
        "batch      global batch size 128, micro batch size 2, sequence length 8192",
        "parallel   tensor 1 × pipeline 1 × data 32",
        "precision  fp8",
        "steps      30",
        "container  docker, rocm/megatron-lm:v25.5_py310",
        "judged by  TFLOP/s per GPU ≥ 610, tokens/s per GPU ≥ 12,000",
    ]
    assert lines[11].startswith("trainer    rocm_scripts: ")
    assert "   3  gpu3  /home/amd/LOG_DIR/now-llama3_1_8b-mi300x/gpu3/train.log" in lines
    script = "bash examples/llama/train_llama3.sh in /workspace/Megatron-LM"
    assert f"{script}, with this environment, also as KEY=VALUE arguments:" in lines
    assert "  BS=128" in lines
    assert "  NODE_RANK=0   (by node)" in lines


def test_what_only_some_frameworks_give_may_be_missing() -> None:
    plan = planned(filled(DISTRIBUTED))
    optional = {"fsdp", "recompute", "mock_data", "model_size", "script_generation", "nic_type"}
    plan["parameters"] = {name: value for name, value in plan["parameters"].items() if name not in optional}
    assert "tensor 1 × pipeline 1 × data 32" in plan_text(plan)


def test_many_nodes_in_sequence_are_one_row_and_what_breaks_it_is_seen() -> None:
    hosts = [f"gpu{number:03}-ib" for number in (*range(1, 101), *range(200, 203), *range(150, 167))]
    config = filled(DISTRIBUTED, {"config/nnodes": "120", f"{BRANCH}/batch_size": "1920"})
    text = plan_text(planned(config, [Node(host, f"10.0.0.{place}", "amd") for place, host in enumerate(hosts)]))
    folder = "/home/amd/LOG_DIR/now-llama3_1_8b-mi300x"
    rows = text[text.index("      rank  node") :].splitlines()[:6]
    assert rows == [
        "      rank  node                    log file",
        f"   0 to 99  gpu001-ib to gpu100-ib  {folder}/<node>/train.log",
        *(f"       10{place}  gpu20{place}-ib               {folder}/gpu20{place}-ib/train.log" for place in range(3)),
        f"103 to 119  gpu150-ib to gpu166-ib  {folder}/<node>/train.log",
    ]


def test_an_interface_that_the_node_finds_is_marked() -> None:
    text = plan_text(planned(filled(DISTRIBUTED, {"config/nccl_socket_ifname": "auto"})))
    assert "  NCCL_SOCKET_IFNAME=auto   (found on the node: the interface with the route to rank 0)\n" in text
    assert text.count("found on the node") == 1


def test_what_is_different_without_container_and_thresholds_and_on_single_nodes() -> None:
    options: dict[str, t.Any] = {"container_engine": "none", "training_record_only": True, "training_gpus_per_node": 1}
    text = plan_text(planned(filled(SINGLE), **options))
    assert "nodes      4 × 1 GPU, one job on each node" in text
    assert "container  none" in text
    assert "judged by  all evidence except thresholds" in text
    assert "1 warning:\n  container_engine = none\n" in text


def test_all_faults_with_key_value_message_and_remedy_and_nothing_too_long() -> None:
    changes = {
        "config/nnodes": "3",
        "config/shm_size": "x" * 5000,
        "config/nccl_socket_ifname": "",
        "config/container_config/device_list": {"a": 1},
    }
    lines = plan_text(planned(filled(DISTRIBUTED, changes))).splitlines()
    assert lines[0] == "4 errors in config.json:"
    assert "  config.nnodes = 3" in lines
    assert any(line.startswith("      nnodes is 3, but the run has 4 inventory hosts") for line in lines)
    assert '  config.nccl_socket_ifname = ""' in lines
    assert '  config.container_config.device_list = {"a": 1}' in lines
    assert max(map(len, lines)) <= 120


def test_what_differs_between_two_nodes_is_marked() -> None:
    lines = plan_text(planned(filled(DISTRIBUTED, {"config/nnodes": "2"}), 2)).splitlines()
    marked = {line.split("=")[0].strip() for line in lines if line.endswith("   (by node)")}
    assert {"NODE_RANK", "LOG_DIR", "TRAINOPS_NODE"} <= marked
    assert "BS" not in marked


def test_a_missing_value_shows_none() -> None:
    text = plan_text(planned('{"model_params": {}}'))
    assert "  config\n      config is missing." in text


def test_what_a_plan_took_for_granted_is_told_with_it_and_not_with_its_faults() -> None:
    text = plan_text(planned(filled(DISTRIBUTED)))
    assert "\nnotes:\n  examples/llama/train_llama3.sh is treated as generation v25.5" in text
    assert "notes:" not in plan_text(planned(filled(DISTRIBUTED, {"config/nnodes": "3"})))


def test_in_short_a_plan_of_64_nodes_is_one_screen() -> None:
    nodes = [Node(f"gpu{number:02}", f"192.0.2.{number}", "ops") for number in range(1, 65)]
    changes = {"config/nnodes": "64", "model_params/multi_node/llama3_1_8b/mi300x/batch_size": "1024"}
    plan = planned(filled(DISTRIBUTED, changes), nodes)
    assert plan["faults"] == []
    assert len(plan_in_short(plan).splitlines()) < 24


def test_keys_to_fill_in_are_one_finding() -> None:
    names = ("nccl_ib_hca_list", "nccl_socket_ifname", "gloo_socket_ifname", "nccl_debug", "log_dir")
    config = filled(DISTRIBUTED, {f"config/{name}": "<changeme>" for name in names} | {"config/shm_size": "big"})
    plan = planned(config)
    lines = plan_text(plan).splitlines()
    assert (len(plan["faults"]), lines[1]) == (6, "  5 keys still contain <changeme>; replace it in each of them:")
    keys = [line.split(":")[0].strip() for line in lines if line.startswith("      config.")]
    assert keys == [f"config.{name}" for name in names]
    assert lines.index("  config.shm_size = big") > 6
    one = plan_text(planned(filled(DISTRIBUTED, {"config/log_dir": "<changeme>"}))).splitlines()
    assert one[1] == "  config.log_dir = <changeme>"


def test_a_key_to_fill_in_is_not_cut_before_it_says_that_it_may_be_left_out() -> None:
    place = "model_params/multi_node/llama3_1_8b/mi300x/result_dict"
    names = ("throughput_per_gpu", "tokens_per_gpu")
    plan = planned(filled(DISTRIBUTED, {f"{place}/{name}": "<changeme>" for name in names}))
    lines = plan_text(plan).splitlines()
    told = " ".join(" ".join(line for line in lines if line.startswith("      ")).split())
    assert told.count("or leave it out.") == len(names)


def test_long_lines_wrap_between_words() -> None:
    plan = planned(filled(DISTRIBUTED))
    plan["chosen"]["format"]["why"] = "word-with-hyphens " * 20 + "end."
    lines = plan_text(plan).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("format "))
    assert [len(line) <= 118 for line in lines[first : first + 4]] == [True] * 4
    assert lines[first + 1].startswith("           word-with-hyphens")
    assert lines[first + 3].endswith("end.")


def test_experts_and_parts_of_a_sequence_are_in_the_line_of_how_a_model_is_split() -> None:
    plan = planned(filled(DISTRIBUTED))
    plan["parameters"] |= {"context_parallelism": 2, "expert_parallelism": 8, "data_parallelism": 16}
    assert "parallel   tensor 1 × pipeline 1 × context 2 × data 16, expert 8\n" in plan_text(plan)
