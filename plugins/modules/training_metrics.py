#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the measurements of each training step from a training log."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_metrics
short_description: Reads the measurements of each training step from a training log
version_added: 1.0.0
description:
  - Parses an LLM training's log on the node and returns one record for each step and metric, so the log itself
    does not have to be copied.
  - Also returns the failures that the log shows, each with the line that shows it and what to do about it.
  - A growing log can be read incrementally. Each call continues where the RV(cursor) of the previous call ended.
  - Megatron-LM prints step lines on the last global rank only, so they are in that rank's node's log. With
    MaxText, every process prints them.
  - A log without any step gives a warning; if another framework wrote the log, the warning says which.
  - Changes nothing on the node.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  diff_mode:
    support: N/A
    details:
      - This module does not change state.
options:
  path:
    description:
      - Path of the log on the node.
    type: path
    required: true
  framework:
    description:
      - The training framework that wrote the log.
      - V(megatron) also reads logs of ROCm Megatron-LM and Primus.
      - V(maxtext) reads MaxText's log, or the file that its C(metrics_file) names.
      - V(nemo2) reads the lines of NeMo 2, which no trainer of this collection prints.
      - V(neuronx_distributed) reads the lines of NeuronX Distributed's own examples, which no trainer of this
        collection prints.
      - V(nxdt) reads the progress bars of NxDT (neuronx-distributed-training).
      - V(torchtitan) reads the lines of TorchTitan. It prints some steps only, every tenth by default.
    type: str
    choices:
      - maxtext
      - megatron
      - megatron_bridge
      - nemo2
      - neuronx_distributed
      - nxdt
      - torchtitan
    default: megatron
  cursor:
    description:
      - The RV(cursor) that an earlier call returned for this log. Only lines written since then are read.
      - If the log was replaced or truncated since then, it is read from the beginning as a new attempt.
      - If omitted or empty, the log is read from the beginning.
    type: dict
  final:
    description:
      - Whether the log is complete.
      - If V(false), a last line without a line end, which may be incomplete, is left for the next call.
    type: bool
    default: true
  layout:
    description:
      - V(records) returns a dict for each measurement, V(columns) the steps with a list for each metric. For a log of
        80,000 steps with 8 metrics, V(columns) takes a third of the time.
    type: str
    choices:
      - records
      - columns
    default: records
  tokens_per_step_per_gpu:
    description:
      - Tokens that one GPU processes in a step. This is the global batch size times the sequence length, divided by the
        number of GPUs of the job.
      - If set, V(tokens_per_sec_per_gpu) is computed from the step time when the log does not have it.
    type: float
  tokens_per_sequence_per_gpu:
    description:
      - Tokens of a sequence that one device processes. This is the sequence length divided by the number of devices of
        the job.
      - If set, V(tokens_per_sec_per_gpu) is computed from the sequences per second of the whole job, which NxDT prints
        as C(throughput). Takes precedence over O(tokens_per_step_per_gpu).
    type: float
"""

EXAMPLES = r"""
- name: Read a finished Megatron-LM training's log
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
  register: training

- name: Fail unless the last step was reached
  ansible.builtin.assert:
    that:
      - training.last_step is not none
      - training.last_step == training.steps_total
    fail_msg: The log ends at step {{ training.last_step }} of {{ training.steps_total }}.

- name: Compute the tokens/s of each step, which this log does not have
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
    # Global batch size 256, sequence length 4096, 16 GPUs
    tokens_per_step_per_gpu: "{{ 256 * 4096 / 16 }}"
  register: training

- name: Read a MaxText training's log
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
    framework: maxtext
  register: training

- name: Fail unless the last step was reached, which is steps - 1 because MaxText counts from 0
  ansible.builtin.assert:
    that:
      - training.last_step is not none
      - training.last_step == training.steps_total - 1

- name: Read a log while the training is still running
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
    final: false
  register: first_look

- name: Read only the lines added since then
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
    final: false
    cursor: "{{ first_look.cursor }}"
"""

RETURN = r"""
records:
  description:
    - The measurements, in the order of the log.
    - A step that appears in the log more than once, as in some Primus logs, is returned once, with its last values.
  returned: with O(layout=records)
  type: list
  elements: dict
  contains:
    attempt:
      description: Number of the attempt, starting at 1. It increases when the step number goes back, which means a
        restart.
      type: int
      sample: 1
    step:
      description: Number of the step (Megatron-LM's iteration). MaxText counts from 0, the others from 1.
      type: int
      sample: 7
    metric:
      description:
        - Name of the metric, such as V(step_time_ms), V(tflops_per_gpu), V(tokens_per_sec_per_gpu) or V(loss); the page
          docs/metrics.md has all of them.
      type: str
      sample: step_time_ms
    value:
      description:
        - A number. Values that JSON cannot represent are the strings V(nan), V(inf) and V(-inf), which C(float) in
          Python and Jinja converts back.
      type: raw
      sample: 10235.8
    unit:
      description: Unit of the value, V(1) for a bare number.
      type: str
      sample: ms
columns:
  description:
    - The measurements of consecutive steps with the same metrics, in the order of the log.
  returned: with O(layout=columns)
  type: list
  elements: dict
  contains:
    attempt:
      description: Number of the attempt, as in RV(records[].attempt).
      type: int
      sample: 1
    steps:
      description: Numbers of the steps.
      type: list
      elements: int
      sample: [7, 8]
    metrics:
      description: For each metric, its values in these steps, with names, units and values as in RV(records).
      type: dict
      sample: {step_time_ms: [10235.8, 10236.1], loss: [11.2, nan]}
left_out:
  description:
    - The steps whose measurements are known to be wrong and should be left out of any mean. These are MaxText's first
      two steps and those that its profiler disturbs, and the second step of Megatron Core 0.16 and later.
    - Slow first steps (warm-up) are not among them.
  returned: success
  type: list
  elements: dict
  contains:
    attempt:
      description: Number of the attempt.
      type: int
      sample: 1
    step:
      description: Number of the step.
      type: int
      sample: 0
    reason:
      description: Why its measurements are wrong.
      type: str
      sample: MaxText compiles in the first step
failures:
  description:
    - Failures in the log, in log order, at most three per class.
  returned: success
  type: list
  elements: dict
  contains:
    class:
      description: What failed.
      type: str
      sample: out_of_memory
    blame:
      description: How close the failure is to the cause. A smaller number is closer.
      type: int
      sample: 20
    echo:
      description: Whether this is usually the consequence of a failure on another node.
      type: bool
      sample: false
    line:
      description: The line that shows it, at most 400 characters.
      type: str
      sample: "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB."
    rank:
      description: The rank (for JAX, the process) that the line blames or that printed it, if the line says so.
      type: int
      sample: 6
    exit_code:
      description: The exit code of the process, if the line has it. A negative code is a signal.
      type: int
      sample: 1
    remedy:
      description: What to do about it.
      type: str
      sample: Not enough GPU memory. Lower the micro batch size.
cursor:
  description:
    - Where this call ended. Pass it as O(cursor) to the next call.
  returned: success
  type: dict
  sample:
    offset: 5120
    fingerprint: 2774340567
    attempt: 1
    step: 7
    steps_seen: 7
    steps_total: 30
    transports: [NET/IB]
    world_size: 16
    memory: {}
last_step:
  description: The last step that this call or an earlier one saw, null if there was none.
  returned: success
  type: int
  sample: 7
steps_total:
  description:
    - The number of steps of the training, null if the log does not say.
    - Megatron-LM prints it in each step line, MaxText in the configuration that it prints at the start, NxDT never.
      NxDT's progress bar has the length of an epoch.
  returned: success
  type: int
  sample: 30
transports:
  description:
    - The network transports that NCCL or RCCL reports in the log, from its beginning. V(NET/Socket) is plain TCP,
      V(NET/OFI) is libfabric.
    - NCCL prints this only with the environment variable C(NCCL_DEBUG=INFO). Connections within a node do not count.
  returned: success
  type: list
  elements: str
  sample:
    - NET/IB
world_size:
  description:
    - The number of ranks that the trainer reported, null if the log does not say. For MaxText, this is the number of
      devices.
    - Megatron-LM and NxDT print it on rank 0 only, MaxText on every node.
  returned: success
  type: int
  sample: 16
summary:
  description:
    - What the launch script's closing lines report for the whole run, as metric and value. Values are given as in
      RV(records[].value).
    - Closing lines before a step belong to an earlier training and are left out.
  returned: success
  type: dict
  sample:
    step_time_ms: 10250.49
    tokens_per_sec_per_gpu: 12786.89
"""

import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.logs.grammars.known import GRAMMARS
from ..module_utils.logs.reader import News, read_log
from ..module_utils.logs.results import json_value, measurements_of, no_steps
from ..module_utils.logs.rows import rows_of


def results_of(news: News, layout: str) -> dict[str, t.Any]:
    """Turn the values read from a log into the module's result."""
    blocks = news["rows"].blocks()
    return {
        "changed": False,
        layout: measurements_of(blocks, layout),
        "left_out": [
            {"attempt": row["attempt"], "step": row["step"], "reason": row["left_out"]}
            for row in rows_of(block for block in blocks if "left_out" in block)
        ],
        "failures": news["failures"],
        "cursor": news["cursor"],
        "last_step": news["cursor"]["step"],
        "steps_total": news["cursor"]["steps_total"],
        "transports": news["transports"],
        "world_size": news["world_size"],
        "summary": {metric: json_value(value) for metric, value in news["summary"].items()},
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "framework": {"type": "str", "choices": sorted(GRAMMARS), "default": next(iter(GRAMMARS))},
            "cursor": {"type": "dict"},
            "final": {"type": "bool", "default": True},
            "layout": {"type": "str", "choices": ["records", "columns"], "default": "records"},
            "tokens_per_step_per_gpu": {"type": "float", "no_log": False},
            "tokens_per_sequence_per_gpu": {"type": "float", "no_log": False},
        },
        supports_check_mode=True,
    )
    options = dict(module.params)
    path, layout = options["path"], options.pop("layout")
    if not os.path.exists(path):
        module.fail_json(msg=f"path is {path}, but there is no such file on this host")
    if not os.path.isfile(path):
        module.fail_json(msg=f"path is {path}, which is not a file, but must be a training log")
    try:
        news = read_log(**options)
    except ValueError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"path is {path}, which cannot be read: {error.strerror}")
    if not news["rows"].blocks() and not options["cursor"]:
        module.warn(no_steps(path, options["framework"]))
    module.exit_json(**results_of(news, layout))


if __name__ == "__main__":
    main()
