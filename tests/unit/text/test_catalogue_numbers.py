# SPDX-License-Identifier: GPL-3.0-or-later
"""The message of each finding about numbers, workload, network, machines and thresholds."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Reason
from ansible_collections.trainops.cluster.plugins.plugin_utils.text import catalogue
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.catalogue import VERDICT
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.folding import told
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.sentences import sentence

EACH = "RDMA devices of 2 nodes sent 8.00 GB to 9.00 GB each; this training needs 1.00 GB."


def _quantity(value: float, unit: str = "", **more: float) -> dict[str, t.Any]:
    return {"value": value, "unit": unit, **more}


CHANGE = {
    "against": "second_fifth",
    "change": _quantity(-36.41, "%", uncertainty=1.3),
    "low": _quantity(-37.71, "%", uncertainty=1.3),
    "high": _quantity(-35.11, "%", uncertainty=1.3),
}
CHANGED = "(last fifth against the second fifth: −36.4 %, 95 % interval −37.7 to −35.1 %)"
FACT = {"fact": "xid_79", "details": [], "lines": []}
OFF_THE_BUS = "the GPU has fallen off the bus; the node has to be rebooted (Xid 79)"
SLOW = {"metric": "step_time_ms", "kind": "max", "value": 99.0, "node": "gpu01", "statistic": "p95"}
RATE = {"metric": "tokens_per_sec_per_gpu", "kind": "min", "value": 5000.0, "node": "gpu01", "statistic": "median"}
OTHER = "The log of gpu01 is from another workload: "
ITSELF = "The log of gpu01 contradicts itself: "
NO_COUNTERS = "Nothing shows whether RDMA was used: no RDMA device of the plan has counters, and "
TRAFFIC = {"devices": ["mlx5_0", "mlx5_1"], "total": 5_000_000_000, "least": 8_000_000_000}
TOO_LITTLE = "its RDMA devices (mlx5_0, mlx5_1) sent 5.00 GB of the 8.00 GB that this training has to send at least."
OF_TWO = "2 nodes print steps, but in one job only one rank does"
FOUND = {"found": 1234.5, "planned": 2000.0}

# Code, case, values, sentence; every case of the catalogue is among them.
ROWS_OF_NUMBERS_AND_NETWORK: tuple[tuple[str, str, dict[str, t.Any], str], ...] = (
    (
        "metric_missing",
        "",
        {"metric": "tflops_per_gpu", "threshold": {"metric": "tflops_per_gpu", "kind": "min", "value": 300.0}},
        "gpu01 did not report its TFLOP/s per GPU; the threshold is 300.",
    ),
    (
        "metric_missing",
        "target_loss",
        {"metric": "steps_to_target_loss", "threshold": {"metric": "steps_to_target_loss", "kind": "max", "value": 9}},
        "gpu01 does not show when its loss reached the target, or whether it did; the threshold is at most 9 steps.",
    ),
    ("metric_missing", "optional", {"metric": "loss"}, "No node reported its loss; its threshold is optional."),
    ("no_loss", "", {}, "The log of gpu01 has steps but no loss."),
    ("machine_fault", "", FACT, f"gpu01: {OFF_THE_BUS}."),
    ("machine_note", "", FACT | {"details": [{"link": "eth1"}, {"link": "ib0"}]}, f"gpu01: {OFF_THE_BUS}: eth1; ib0."),
    (
        "machine_note",
        "",
        {
            "fact": "ecc_corrected",
            "details": [
                {"gpu": 3, "errors": 7},
                {"gpu": 4, "samples": 2, "samples_taken": 30},
                {"counter": "mlx5_0/1 symbol_error", "grown": 5},
                {"device": "0000:3b:00", "seconds": 45.0, "step": 12, "count": 3, "recovered": True},
                {"device": "", "seconds": 45.0, "step": None, "count": 1, "recovered": False},
            ],
        },
        "gpu01: corrected ECC errors: GPU 3: 7; GPU 4 in 2 of 30 samples; mlx5_0/1 symbol_error +5; "
        "0000:3b:00, 45 s after the start, about step 12, 3 times, recovered; 1 more.",
    ),
    (
        "machine_note",
        "several_nodes",
        {"fact": "thermal", "nodes": ["gpu01", "gpu02"], "details": {}},
        "gpu[01-02] (2 nodes): slowed down by temperature.",
    ),
    ("finite", "", {"losses": 20}, "All 20 losses are finite, and so is every other value."),
    (
        "not_finite",
        "",
        {"metric": "grad_norm", "first_step": 3, "steps": 1},
        "The gradient norm of gpu01 is NaN or infinite in step 3.",
    ),
    (
        "not_finite",
        "several_steps",
        {"metric": "loss", "first_step": 3, "steps": 2},
        "The loss of gpu01 is NaN or infinite in 2 steps, the first of them 3.",
    ),
    (
        "not_finite",
        "learned_nothing",
        {"metric": "loss_scale", "value": "nan", "first_step": 3, "steps": 2},
        "The loss scale of gpu01 is nan in step 3: that step learned nothing.",
    ),
    ("not_finite", "evaluation", {"where": "step 4"}, "An evaluation on gpu01 is NaN or infinite: step 4."),
    (
        "not_finite",
        "other_field",
        {"first_step": 3, "steps": 2},
        "A field of the step lines of gpu01 contains NaN, infinity or a norm that is not above 0, first in step 3.",
    ),
    (
        "below_zero",
        "",
        {"metric": "step_time_ms", "value": -12.5, "first_step": 3, "steps": 2},
        "The step time of gpu01 is −12.5 in step 3, which is impossible.",
    ),
    (
        "below_zero",
        "learned_nothing",
        {"metric": "parameter_norm", "value": 0.0, "first_step": 3, "steps": 2},
        "The norm of the weights of gpu01 is 0 in step 3: that step learned nothing.",
    ),
    ("nan_iterations", "", {"first_step": 3}, "The trainer on gpu01 reported a NaN iteration at step 3."),
    (
        "skipped_iterations",
        "",
        {"skipped": 1, "allowed": 0, "first_step": 7},
        "gpu01 skipped 1 iteration after the warm-up, the first of them 7; at most 0 may be (training_max_skipped).",
    ),
    ("skipped_unknown", "", {"steps": 2}, "gpu01 does not report the skipped iterations of 2 steps."),
    ("last_step_skipped", "", {"last_step": 10}, "The last iteration of gpu01, 10, was skipped: it trained nothing."),
    (
        "idle_steps",
        "",
        {"metric": "learning_rate", "steps": 4, "steps_taken": 10, "first_step": 7},
        "The learning rate of gpu01 is 0 in 4 of 10 steps, the first of them 7: they trained nothing.",
    ),
    (
        "idle_steps",
        "updates",
        {"metric": "updates", "steps": 10, "updates": 3.0},
        "gpu01 counts 3 weight updates over 10 steps: some steps trained nothing.",
    ),
    (
        "idle_steps",
        "tokens_with_loss",
        {"metric": "tokens_with_loss", "steps": 1, "first_step": 7},
        "In 1 step of gpu01, the first of them 7, fewer than 1 in 1000 tokens have a loss: almost nothing was trained.",
    ),
    (
        "loss_falls",
        "",
        {"printed_by": "gpu01", "samples": 20, **CHANGE},
        f"The loss falls over 20 values of gpu01 {CHANGED}.",
    ),
    (
        "loss_rises",
        "",
        {"samples": 20, "end": 9.3, "lowest": 4.5},
        "The loss rises over 20 values of gpu01: its last fifth averages 9.3, its lowest 4.5.",
    ),
    (
        "loss_rises",
        "diverged",
        {"end": 9.3, "lowest": 4.5},
        "The loss of gpu01 ends at 9.3 after a low of 4.5: the training diverged.",
    ),
    ("loss_flat", "", {"samples": 20, **CHANGE}, f"The loss does not fall over 20 values of gpu01 {CHANGED}."),
    (
        "loss_flat",
        "resumed",
        {"samples": 20, "first_step": 1001, **CHANGE},
        f"The loss does not fall over 20 values of gpu01 {CHANGED}; the training resumed at step 1001.",
    ),
    (
        "loss_not_judged",
        "",
        {"samples": 5, "needed": 20},
        "5 losses of gpu01 are too few to judge whether the loss is falling; 20 are needed.",
    ),
    (
        "loss_not_judged",
        "compared",
        {"samples": 10, "needed": 20, **CHANGE},
        f"10 losses of gpu01 are too few to judge whether the loss is falling {CHANGED}; 20 are needed.",
    ),
    ("loss_negative", "", {"step": 4}, "The loss of gpu01 is negative at step 4, which is impossible."),
    (
        "loss_constant",
        "",
        {"loss": 8.5, "steps": 20},
        "The loss of gpu01 is 8.5 in all 20 steps: nothing was learned or measured.",
    ),
    (
        "loss_constant",
        "at_end",
        {"loss": 8.5, "steps": 12},
        "The loss of gpu01 is 8.5 in the last 12 steps: nothing was learned or measured.",
    ),
    (
        "loss_too_high",
        "",
        {"loss": 30.123, "vocabulary": 32000.0, "guessing": 10.3735},
        "The loss of gpu01 ends at 30.12, worse than guessing among 32000 tokens (10.37).",
    ),
    (
        "loss_too_high",
        "last_step",
        {"loss": 10000.0, "vocabulary": 32000.0, "guessing": 10.3735},
        "The last loss of gpu01 is 1e+04, worse than guessing among 32000 tokens (10.37): no later loss shows a "
        "recovery.",
    ),
    (
        "loss_too_high",
        "from_the_start",
        {"loss": 373.0, "vocabulary": 300000.0, "guessing": 12.611},
        "The loss of gpu01 was high from its first step and falls. At 373 it still is worse than guessing among "
        "300000 tokens (12.61).",
    ),
    (
        "loss_spike",
        "",
        {"loss": 30.123, "step": 7},
        "The loss of gpu01 jumps to 30.12 at step 7, far above its neighbours.",
    ),
    (
        "loss_spike",
        "last_step",
        {"loss": 30.123, "step": 7},
        "The last loss of gpu01, 30.12, is far above those before it, and no later loss shows a recovery.",
    ),
    (
        "loss_climbs",
        "",
        {"losses": 3, "end": 4.42, "before": 4.02},
        "The loss of gpu01 climbs at its end: its last 3 losses average 4.42, those before 4.02.",
    ),
    (
        "loss_differs",
        "",
        {"field": "tokens_with_loss", "step": 4, "found": 8.5, "other": "inf", "other_node": "gpu00"},
        "In one job, the number of tokens with a loss of step 4 is 8.5 on gpu01 but inf on gpu00.",
    ),
    (
        "other_workload",
        "count",
        {"setting": "gpus", "found": 8, "planned": 16.0},
        "gpu01 trained with 8 ranks; the plan has 16.",
    ),
    (
        "other_workload",
        "size",
        {"setting": "sequence_length", "found": 4096.0, "planned": 8192.0},
        "gpu01 trained with a sequence length of 4,096; the plan has 8,192.",
    ),
    (
        "other_workload",
        "not_a_number",
        {"setting": "global_batch_size", "found": "nan", "planned": 64.0},
        "gpu01 trained with a global batch size that is not a number; the plan has 64.",
    ),
    (
        "other_workload",
        "argument",
        {"argument": "precision", "found": "fp8", "planned": "bf16"},
        "gpu01 trained with precision fp8; the plan has bf16.",
    ),
    (
        "other_workload",
        "another_node",
        {"setting": "iterations", "found": 10, "other": 80.0, "other_node": "gpu00"},
        "The number of iterations is 10 on gpu01, but 80 on gpu00.",
    ),
    (
        "other_workload",
        "another_line",
        {"setting": "tensor_parallelism", "found": 2.0, "other": 4.0},
        "The tensor parallel size is 2 in the log of gpu01, but 4 in another line of it.",
    ),
    (
        "other_workload",
        "batch_of_ranks",
        {"ranks": 8, "batch_per_device": 2.0, "found": 16.0, "other": 64.0},
        f"{ITSELF}its global batch size is 64, but 8 ranks of 2 each make 16.",
    ),
    (
        "other_workload",
        "tokens_with_loss",
        {"found": 9000.0, "planned": 8192.0},
        f"{OTHER}9,000 tokens of a step have a loss, but the batch has 8,192.",
    ),
    (
        "other_workload",
        "goes_on",
        {"found": 100, "planned": 60},
        f"{OTHER}it goes on to step 100, but the plan ends at 60.",
    ),
    (
        "other_workload",
        "samples_of_step",
        {"step": 4, "found": 64.0, "planned": 32.0},
        f"{ITSELF}step 4 has a global batch size of 32, but consumed 64 samples.",
    ),
    (
        "other_workload",
        "samples_consumed",
        {"step": 4, "found": 256.0, "planned": 128.0, "global_batch_size": 32.0},
        f"{OTHER}by step 4 it had consumed 256 samples; with a global batch size of 32 it would be 128.",
    ),
    (
        "other_workload",
        "tokens_of_step",
        FOUND,
        f"{OTHER}its tokens/s per GPU times its step time make 1,234 tokens per GPU and step, but the workload has "
        "2,000.",
    ),
    (
        "other_workload",
        "timestamps",
        {"steps": 9, **FOUND},
        "The log of gpu01 does not match itself: its 9 counted steps take 1,234 s by their step times, but 2,000 s "
        "by their timestamps. Is it an excerpt, or from another run?",
    ),
    (
        "other_workload",
        "parameters",
        {"found": 0.07, "planned": 8.03},
        f"{OTHER}its model has 70 million parameters; the plan has 8.03 billion.",
    ),
    (
        "model_on_cpus",
        "",
        {"found": 0.0000012, "planned": 8.03},
        "gpu01 has no accelerator and trained a model of 1,200 parameters instead of 8.03 billion: this run tested the "
        "launch, not the planned training.",
    ),
    (
        "settings_differ",
        "",
        {"setting": "layers", "found": [32.0, 48.0]},
        "The log of gpu01 has two values of the number of layers, 32 and 48: it contains two runs.",
    ),
    (
        "settings_differ",
        "argument",
        {"argument": "tokenizer_model", "found": ["", "llama"]},
        "The log of gpu01 has two values of tokenizer_model, nothing and llama: it contains two runs.",
    ),
    (
        "settings_differ",
        "parallel_sizes",
        {"found": 16.0, "other": 8},
        f"{ITSELF}its parallel sizes make 16 ranks, but it sees 8.",
    ),
    (
        "settings_differ",
        "micro_batches",
        {"batch": 8.0, "micro_batch": 3.0, "ranks": 4.0},
        f"{ITSELF}8 sequences do not divide into micro batches of 3 on 4 ranks.",
    ),
    (
        "settings_differ",
        "updates",
        {"metric": "updates", "steps": 10, "updates": 30.0},
        "gpu01 counts 30 weight updates over 10 steps: its log contains two runs.",
    ),
    (
        "rates_disagree",
        "tokens_from_step_to_step",
        {},
        "The tokens/s per GPU and the step times of gpu01 contradict each other from step to step.",
    ),
    (
        "rates_disagree",
        "flops_from_step_to_step",
        {},
        "The TFLOP/s per GPU and the step times of gpu01 contradict each other from step to step.",
    ),
    (
        "rates_disagree",
        "flops_of_another_node",
        {"found": 2.0, "planned": 5.0, "other": "gpu00"},
        "A device of gpu01 computes 2 TFLOP in a step, but one of gpu00 computes 5; in one job all compute the same.",
    ),
    (
        "rates_disagree",
        "flops_per_token",
        {"found": 19.5123e9, "planned": 1e10},
        "The TFLOP/s per GPU of gpu01 times its step time make 19.5 GFLOP per token, but the model needs 10.",
    ),
    (
        "rates_disagree",
        "flops_of_step",
        {"found": 40.0, "planned": 80.5},
        "The TFLOP/s of gpu01 times its step time make 40 TFLOPs, but its log says that a step has 80.5.",
    ),
    (
        "rates_disagree",
        "step_time_of_bars",
        FOUND,
        "The progress bars of gpu01 contradict themselves: a step takes 1,234 ms by their rate, but 2,000 ms by their "
        "elapsed time.",
    ),
    (
        "rates_disagree",
        "tokens_by_elapsed_time",
        FOUND,
        "By the elapsed time, the throughput of gpu01 makes 1,234 tokens per GPU in a step, but a step has 2,000.",
    ),
    (
        "rates_disagree",
        "samples_by_elapsed_time",
        FOUND,
        "By the elapsed time, the throughput of gpu01 makes 1,234 samples in a step, but a step has 2,000.",
    ),
    (
        "rates_disagree",
        "timestamps",
        {"steps": 9, **FOUND},
        "Nearly every step of gpu01 lasts longer by its timestamps than by its step time: 9 counted steps take 1,234 s "
        "by their step times, but 2,000 s by their timestamps.",
    ),
    ("workload", "", {}, "The logs match the planned workload, as far as they show it."),
    ("world", "", {"ranks": 16, "world_size": {}}, "The trainer sees all 16 ranks of the job."),
    ("world", "", {"ranks": 2, "world_size": {}}, "The trainer sees both ranks of the job."),
    ("world_unknown", "", {}, "No log says how many ranks the trainer sees."),
    (
        "world_size",
        "",
        {"world_size": 1, "ranks": 16},
        "gpu01 trained with the wrong world size: it sees 1 rank, but the job has 16.",
    ),
    (
        "world_size",
        "nccl",
        {"world_size": 32, "ranks": 16},
        "gpu01 trained with the wrong world size: NCCL has 32 ranks, the job 16.",
    ),
    ("trained_alone", "", {"world_size": 8, "ranks": 16}, "gpu01 trained alone: it sees 8 ranks, but the job has 16."),
    (
        "trained_alone",
        "several_print",
        {"nodes": ["gpu00", "gpu01"], "matching_ranks": 8.04, "ranks": 16, "ratio": 1.99},
        f"{OF_TWO}, and their TFLOP/s match about 8 of the 16 ranks: they trained alone.",
    ),
    ("alone_suspected", "", {"nodes": ["gpu00", "gpu01"]}, f"{OF_TWO}: they may have trained alone."),
    (
        "alone_suspected",
        "nccl",
        {"world_size": 8, "ranks": 16},
        "gpu01 may have trained alone: NCCL connects it with no other node, in communicators of up to 8 ranks; the job "
        "has 16.",
    ),
    (
        "impossible",
        "memory",
        {"value": _quantity(120.0, "%")},
        "gpu01 reports 120 % of its GPU memory in use, which is impossible.",
    ),
    (
        "impossible",
        "zero_rate",
        {"metric": "tflops_per_gpu"},
        "gpu01 reports 0 TFLOP/s per GPU in at least 1 of 20 steps: these trained nothing.",
    ),
    (
        "impossible",
        "above_peak",
        {"value": _quantity(1100.0, "TFLOP/s per GPU"), "peak_tflops": 1000.0, "gpu": "mi300x", "precision": "bf16"},
        "gpu01 reports 1,100 TFLOP/s per GPU, but the peak of mi300x in bf16 is 1,000 TFLOP/s per GPU.",
    ),
    (
        "impossible",
        "above_peak_by_tokens",
        {
            "value": _quantity(9100.0, "tokens/s per GPU"),
            "tflops": 1100.0,
            "peak_tflops": 1000.0,
            "gpu": "mi300x",
            "precision": "bf16",
        },
        "gpu01 reports 9,100 tokens/s per GPU, which takes 1,100 TFLOP/s, but the peak of mi300x in bf16 is 1,000 "
        "TFLOP/s per GPU.",
    ),
    (
        "impossible",
        "above_any_peak",
        {"value": _quantity(21000.0, "TFLOP/s per GPU"), "most_tflops": 20000.0},
        "gpu01 reports 21,000 TFLOP/s per GPU, but no accelerator reaches 20,000 TFLOP/s per GPU.",
    ),
    (
        "impossible",
        "above_any_peak_by_tokens",
        {"value": _quantity(9100.0, "tokens/s per GPU"), "tflops": 21000.0, "most_tflops": 20000.0},
        "gpu01 reports 9,100 tokens/s per GPU, which takes 21,000 TFLOP/s, but no accelerator reaches 20,000 TFLOP/s "
        "per GPU.",
    ),
    (
        "impossible",
        "learning_rate",
        {"value": _quantity(100000.0), "step": 3},
        "The learning rate of gpu01 is 100,000 in step 3, too high to learn anything.",
    ),
    (
        "tcp_transport",
        "",
        {"transports": ["NET/Socket"]},
        "NCCL uses TCP on gpu01, but the plan uses RDMA: its log names NET/Socket.",
    ),
    (
        "transport",
        "rdma",
        {"nodes": 1, "lowest": 8e9, "highest": 8e9, "least": 1e9},
        "RDMA devices of 1 node sent 8.00 GB; this training needs 1.00 GB.",
    ),
    ("transport", "rdma_each", {"nodes": 2, "lowest": 8e9, "highest": 9e9, "least": 1e9}, EACH),
    ("transport", "nccl", {"networks": ["NET/IB", "NET/OFI"], "nodes": 2}, "NCCL uses NET/IB and NET/OFI on 2 nodes."),
    ("low_traffic", "", TRAFFIC, f"Nothing shows that gpu01 used RDMA: {TOO_LITTLE}"),
    (
        "low_traffic",
        "named_by_nccl",
        {"networks": ["NET/IB", "NET/OFI"], **TRAFFIC},
        f"NCCL names NET/IB and NET/OFI on gpu01, but {TOO_LITTLE}",
    ),
    (
        "uneven_traffic",
        "",
        {"idle": {"mlx5_0": 1_200_000, "mlx5_3": 5}, "median": 123.4e12},
        "The RDMA devices of gpu01 shared the traffic unevenly: mlx5_0 1.20 MB, mlx5_3 5 B, against a median of "
        "123 TB.",
    ),
    (
        "transport_unknown",
        "",
        {},
        f"{NO_COUNTERS}no log has NCCL's network, although NCCL_DEBUG makes NCCL print it.",
    ),
    (
        "transport_unknown",
        "debug_level",
        {"level": "WARN"},
        f"{NO_COUNTERS}NCCL prints its network only with NCCL_DEBUG=INFO; here it is WARN.",
    ),
    (
        "transport_unknown",
        "debug_level_not_set",
        {"level": ""},
        f"{NO_COUNTERS}NCCL prints its network only with NCCL_DEBUG=INFO; here it is not set.",
    ),
    (
        "transport_unknown",
        "of_some_nodes",
        {},
        "Nothing shows whether gpu01 uses RDMA: only other nodes have counters, or log NCCL's network.",
    ),
    (
        "transport_unknown",
        "no_counters_read",
        {},
        "Nothing in the logs shows whether RDMA was used; no counters were read.",
    ),
    (
        "threshold_missed",
        "step_time_ms",
        {
            "value": _quantity(100.0, "ms", uncertainty=0.2),
            "margin": {"share": 0.0101, "side": "above", "met": False},
            "bound": SLOW,
        },
        "gpu01 took 100.00 ms per step at the 95th percentile, 1.0 % above the allowed 99 ms.",
    ),
    (
        "threshold_met",
        "tokens_per_sec_per_gpu",
        {
            "value": _quantity(12000.0, "tokens/s per GPU"),
            "margin": {"share": 1.4, "side": "above", "met": True},
            "bound": RATE,
        },
        "gpu01 reached 12,000 tokens/s per GPU, 2.4 times the required 5,000.",
    ),
    (
        "threshold_open",
        "loss",
        {
            "value": _quantity(3.5),
            "margin": None,
            "bound": {"metric": "loss", "kind": "max", "value": 0.0, "node": "gpu01", "statistic": "last"},
        },
        "gpu01 ended with a loss of 3.5, against the allowed 0, but the training did not finish.",
    ),
    *(
        (
            "threshold_met",
            metric if text[:8] != "reported" else "",
            {
                "value": _quantity(95.0, unit),
                "margin": {"share": 0.05, "side": "below", "met": True},
                "bound": {"metric": metric, "kind": "max", "value": 100.0, "node": "gpu01", "statistic": "mean"},
            },
            f"gpu01 {text} on average, 5.0 % below the allowed {wanted}.",
        )
        for metric, unit, text, wanted in (
            ("tflops_per_gpu", "TFLOP/s per GPU", "reached 95 TFLOP/s per GPU", "100"),
            ("memory_fraction", "%", "used 95 % of its GPU memory", "10,000 %"),
            ("steps_to_target_loss", "", "came to the target loss at step 95", "100 steps"),
            ("time_to_target_loss", "s", "came to the target loss after 95 s", "100 s"),
            ("checkpoint_save_seconds", "s", "took up to 95 s to write a checkpoint", "100 s"),
            ("grad_norm", "", "reported gradient norm of 95", "100"),
        )
    ),
    *(
        (
            "threshold_in_noise",
            case,
            {
                "value": _quantity(599.71, "TFLOP/s per GPU", uncertainty=1.2),
                "limit": _quantity(600.0, "TFLOP/s per GPU", digits=10),
                "low": _quantity(598.51, "TFLOP/s per GPU", uncertainty=1.2),
                "high": _quantity(600.91, "TFLOP/s per GPU", uncertainty=1.2),
            },
            f"gpu01: 599.7 {now} the threshold of 600 TFLOP/s per GPU, but within the noise (598.5 to 600.9): "
            f"another run could {other} it.",
        )
        for case, now, other in (("met", "meets", "miss"), ("missed", "misses", "meet"))
    ),
    ("thresholds_not_judged", "rehearsal", {}, "Thresholds were not judged (this was a rehearsal)."),
    ("thresholds_not_judged", "record_only", {}, "Thresholds were not judged (the run is only recorded)."),
)


@pytest.mark.parametrize(("code", "case", "values", "text"), ROWS_OF_NUMBERS_AND_NETWORK)
def test_each_finding_says_what_it_says(code: str, case: str, values: dict[str, t.Any], text: str) -> None:
    assert sentence(VERDICT, {"code": code, "case": case, "values": values, "node": "gpu01", "message": ""}) == text


def test_no_case_is_without_a_row() -> None:
    shown = {(code, case) for code, case, _values, _text in ROWS_OF_NUMBERS_AND_NETWORK}
    # The three ends of a threshold share their sentences by metric.
    shown |= {("threshold_" + end, case) for end in ("met", "missed", "open") for case in catalogue._DID}
    forms = catalogue._OF_NUMBERS_AND_NETWORK
    assert {(code, case) for code, cases in forms.items() for case in cases} == shown


def _of(code: str, node: str, case: str = "", **values: t.Any) -> Reason:
    finding: Reason = {"code": code, "case": case, "node": node, "values": values, "message": ""}
    return finding | {"message": sentence(VERDICT, finding)}


def test_nodes_with_different_faults_keep_each_its_own() -> None:
    at = {"seconds": 45.0, "step": None, "count": 1, "recovered": False}
    faults = (
        ("gpu01", "xid_79", "3b"),
        ("gpu02", "xid_48", "4c"),
        ("gpu03", "xid_62", "5d"),
        ("gpu04", "xid_74", "6e"),
    )
    findings = [_of("machine_fault", node, fact=fact, details=[at | {"device": gpu}]) for node, fact, gpu in faults]
    assert [(one.message, one.nodes) for one in told(VERDICT, findings)] == [
        (finding["message"], (finding["node"],)) for finding in findings
    ]


def test_a_fault_of_several_nodes_is_said_once_with_what_each_of_them_has() -> None:
    at = {"seconds": 45.0, "step": None, "count": 1, "recovered": False}
    findings = [
        _of("machine_fault", node, fact="xid_79", details=[at | {"device": gpu}])
        for node, gpu in (("gpu01", "0000:3b:00"), ("gpu02", "0000:4c:00"))
    ]
    assert [one.message for one in told(VERDICT, findings)] == [
        f"gpu[01-02]: {OFF_THE_BUS}: gpu01 (0000:3b:00, 45 s after the start), "
        "gpu02 (0000:4c:00, 45 s after the start)."
    ]
    rebooted = [_of("machine_fault", node, fact="booted", details=[]) for node in ("gpu01", "gpu02")]
    assert [one.message for one in told(VERDICT, rebooted)] == ["gpu[01-02]: the node rebooted."]


def test_uneven_traffic_of_many_nodes_is_one_sentence_with_the_range_of_each_device() -> None:
    findings = [
        _of("uneven_traffic", f"gpu{n}", idle={"mlx5_3": n * 10**9}, median=9e9 + n * 10**8) for n in range(1, 5)
    ]
    assert [one.message for one in told(VERDICT, findings)] == [
        "The RDMA devices of gpu[1-4] shared the traffic unevenly: mlx5_3 1.00 – 4.00 GB, against a median of "
        "9.10 – 9.40 GB."
    ]


@pytest.mark.parametrize(
    ("code", "case", "values", "text"),
    [
        ("tcp_transport", "", {}, "NCCL uses TCP on gpu[1-2], but the plan uses RDMA: their logs name NET/Socket."),
        (
            "trained_alone",
            "",
            {"world_size": 8, "ranks": 16},
            "gpu[1-2] trained alone: each sees 8 ranks, but the job has 16.",
        ),
        (
            "world_size",
            "",
            {"world_size": 4, "ranks": 16},
            "gpu[1-2] trained with the wrong world size: each sees 4 ranks, but the job has 16.",
        ),
        (
            "settings_differ",
            "updates",
            {"steps": 10, "updates": 30.0},
            "gpu[1-2] count 30 weight updates over 10 steps: their logs contain two runs.",
        ),
        (
            "idle_steps",
            "updates",
            {"steps": 10, "updates": 3.0},
            "gpu[1-2] count 3 weight updates over 10 steps: some steps trained nothing.",
        ),
    ],
)
def test_what_is_said_of_several_nodes_has_a_plural(code: str, case: str, values: dict[str, t.Any], text: str) -> None:
    findings = [_of(code, node, case, **values) for node in ("gpu1", "gpu2")]
    assert [one.message for one in told(VERDICT, findings)] == [text]
