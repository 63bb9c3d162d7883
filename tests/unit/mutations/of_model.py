"""Changes of trainers' lines about model and configuration before the first step, and of values of each line."""

from __future__ import annotations

import re

from changes import add, everywhere, on, steps_of
from good_variants import variant

CONFIGURATION = """[NeMo I 2026-02-03 04:05:06 training:33]
    trainer:
      max_steps: 40
    data:
      micro_batch_size: 1
      global_batch_size: 256
    model:
      encoder_seq_length: 8192
      max_position_embeddings: ${.encoder_seq_length}
    distributed_strategy:
      tensor_model_parallel_size: 16
      pipeline_model_parallel_size: 1
"""
PARAMETERS = {
    "of all": "Total number of parameters in billions: 8.03\n",
    "of a rank": " > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 8030261248\n",
}
FLOPS_OF_STEP = (
    "Per train step:\n Total TFLOPs: 800.00 \n split as 94.54% learnable weight flops and 5.46% attention flops\n",
    "Per train step, total TFLOPs will be 800.00, split as 94.54% learnable weight flops\n",
)


def _of_another_model() -> None:
    for name, old, new in (
        ("batch", "global_batch_size: 256", "global_batch_size: 1024"),
        ("micro batch", "micro_batch_size: 1", "micro_batch_size: 4"),
        ("length", "encoder_seq_length: 8192", "encoder_seq_length: 4096"),
        ("length of the data", "global_batch_size: 256", "global_batch_size: 256\n      seq_length: 2048"),
        ("tensor parallel size", "tensor_model_parallel_size: 16", "tensor_model_parallel_size: 8"),
        ("pipeline parallel size", "pipeline_model_parallel_size: 1", "pipeline_model_parallel_size: 4"),
        ("layers", "    model:", "    model:\n      num_layers: 80"),
        ("hidden size", "    model:", "    model:\n      hidden_size: 8192"),
    ):
        other = CONFIGURATION.replace(old, new)
        add("model", f"configuration: {name}", "nxdt", on("node0", lambda log, other=other: other + log))
    for name, text in PARAMETERS.items():
        other = text.replace("8.03", "0.35").replace("8030261248", "354871296")
        add("model", f"parameters {name}", "megatron", on("node0", lambda log, other=other: other + log))
    prefix = "[20260203 04:05:06][rank-7/8][INFO]    [-----training.py:1800] : "
    add("model", "ranks of a prefix", "megatron", steps_of("megatron", lambda step, line: prefix + line))
    for place, text in enumerate(FLOPS_OF_STEP):
        other = text.replace("800.00", "400.00")
        add("model", f"TFLOPs of a step {place}", "maxtext", everywhere(lambda log, other=other: other + log))


# In the format that torchrun's agent uses for the result of its rendezvous.
RENDEZVOUS = (
    "I0203 04:05:02.1 77 torch/distributed/elastic/agent/server/api.py:525] [default] Rendezvous complete for workers. "
    "Result:\n  restart_count=0\n  group_rank=1\n  group_world_size=4\n  global_ranks=[8, 9]\n"
    "  role_world_sizes=[32, 32]\n  global_world_sizes=[32, 32]\n"
)


def _of_another_world() -> None:
    variant("a rendezvous", "megatron", everywhere(lambda log: RENDEZVOUS + log))
    smaller = RENDEZVOUS.replace("32", "16")
    for node in ("node0", "node1"):
        add("model", f"a smaller rendezvous of {node}", "megatron", on(node, lambda log: smaller + log))
    for name, which in (("first", lambda step: step < 20), ("second", lambda step: step > 20)):
        change = lambda step, line, which=which: line.replace("/      40", "/     400") if which(step) else line
        add("model", f"another total in the {name} half", "megatron", steps_of("megatron", change))


def _values_of_each_line() -> None:
    for name in ("elapsed time per iteration", "consumed samples", "global batch size", "number of skipped iterations"):
        gone = lambda step, line, name=name: re.sub(rf" {name}[^|]*\|", "", line) if step in (9, 21, 33) else line
        add("model", f"no {name} every twelfth step", "megatron", steps_of("megatron", gone))


_of_another_model()
_of_another_world()
_values_of_each_line()
