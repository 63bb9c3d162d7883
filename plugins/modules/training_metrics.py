#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the measurements of each training step out of a training log."""

from __future__ import annotations

DOCUMENTATION = r"""
module: training_metrics
short_description: Reads the measurements of each training step out of a training log
version_added: 1.0.0
description:
  - Parses the log of an LLM training where it lies and returns one record for each step and metric, so that the log
    itself need not travel.
  - Also returns the failures that the log shows, each with the line that shows it and what to do.
  - A growing log can be read bit by bit. Each call goes on where the RV(cursor) of the call before ended.
  - Megatron-LM prints step lines on the last global rank only, so they stand in the log of the node that holds it. Of
    MaxText, every process prints them.
  - Nothing is changed on the node.
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
      - V(megatron) also reads the logs of ROCm Megatron-LM and Primus.
      - V(maxtext) reads MaxText's log, or the file that its C(metrics_file) names.
      - V(nxdt) reads the progress bars of NxDT (neuronx-distributed-training).
    type: str
    choices:
      - maxtext
      - megatron
      - nxdt
    default: megatron
  cursor:
    description:
      - The RV(cursor) that an earlier call returned for this log. Only what was written since is read.
      - Where the log was replaced or cut off since, it is read from its beginning as a new attempt.
      - Without it, or if it is empty, the log is read from its beginning.
    type: dict
  final:
    description:
      - Whether the log is complete.
      - If V(false), a last line without line end, which may be half written, is left for the next call.
    type: bool
    default: true
  layout:
    description:
      - V(records) returns a dict for each measurement, V(columns) the steps with a list for each metric. Of a log of
        80,000 steps with 8 metrics, V(columns) takes a third of the time.
    type: str
    choices:
      - records
      - columns
    default: records
  tokens_per_step_per_gpu:
    description:
      - Tokens that one GPU works off in a step. This is the global batch size times the sequence length, divided by the
        number of GPUs of the job.
      - With it, V(tokens_per_sec_per_gpu) is computed from the step time where the log does not have it.
    type: float
  tokens_per_sequence_per_gpu:
    description:
      - Tokens that one device works off of a sequence. This is the sequence length divided by the number of devices of
        the job.
      - With it, V(tokens_per_sec_per_gpu) is computed from the sequences per second of the whole job that NxDT prints
        as C(throughput). This goes before O(tokens_per_step_per_gpu).
    type: float
"""

EXAMPLES = r"""
- name: Read a finished Megatron-LM training
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
  register: training

- name: Stop unless the last step was reached
  ansible.builtin.assert:
    that:
      - training.last_step is not none
      - training.last_step == training.steps_total
    fail_msg: The log ends at step {{ training.last_step }} of {{ training.steps_total }}.

- name: Show the tokens/s of each step, which this log does not have
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
    # Global batch size 256, sequence length 4096, 16 GPUs
    tokens_per_step_per_gpu: "{{ 256 * 4096 / 16 }}"
  register: training

- name: Read a MaxText training
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
    framework: maxtext
  register: training

- name: Stop unless the last step was reached, which is one less than steps as MaxText counts from 0
  ansible.builtin.assert:
    that:
      - training.last_step is not none
      - training.last_step == training.steps_total - 1

- name: Look at a training that is still running
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
    final: false
  register: first_look

- name: Read only what came since
  trainops.cluster.training_metrics:
    path: /data/runs/llama/training.log
    final: false
    cursor: "{{ first_look.cursor }}"
"""

RETURN = r"""
records:
  description:
    - The measurements, in the order of the log.
    - A step that stands in the log more than once, as in some logs of Primus, is one step with its last values.
  returned: with O(layout=records)
  type: list
  elements: dict
  contains:
    attempt:
      description: Number of the attempt, from 1. It grows where the step number goes back, which is a restart.
      type: int
      sample: 1
    step:
      description: Number of the step (the iteration of Megatron-LM). MaxText counts from 0, the others from 1.
      type: int
      sample: 7
    metric:
      description:
        - One of V(step_time_ms), V(tflops_per_gpu), V(tokens_per_sec_per_gpu), V(memory_fraction), V(loss),
          V(grad_norm), V(learning_rate), V(skipped_iterations) and V(nan_iterations).
      type: str
      sample: step_time_ms
    value:
      description:
        - A number. What is no number in JSON is given as one of the strings V(nan), V(inf) and V(-inf), of which
          Python's and Jinja's C(float) make that number again.
      type: raw
      sample: 10235.8
    unit:
      description: What the value is measured in, V(1) for a bare number.
      type: str
      sample: ms
columns:
  description:
    - The measurements of steps that follow one another and have the same metrics, in the order of the log.
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
      description: For each metric its values in these steps, named, measured and given as in RV(records).
      type: dict
      sample: {step_time_ms: [10235.8, 10236.1], loss: [11.2, nan]}
left_out:
  description:
    - The steps whose measurements are known to be wrong, so that they had better be left out of any mean. These are the
      first two of MaxText and those that its profiler disturbs, and the second one of Megatron core 0.16 and later.
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
    - Failures in the log, in its order, at most three of a class.
  returned: success
  type: list
  elements: dict
  contains:
    class:
      description: What failed.
      type: str
      sample: out_of_memory
    blame:
      description: The smaller, the nearer to the cause.
      type: int
      sample: 20
    echo:
      description: Whether this is mostly the consequence of a failure on another node.
      type: bool
      sample: false
    line:
      description: The line that shows it, of at most 400 characters.
      type: str
      sample: "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB."
    rank:
      description: The rank (or, of JAX, the process) that the line blames or that printed it, if it says.
      type: int
      sample: 6
    exit_code:
      description: The exit code of the process, if the line has it. A negative one is a signal.
      type: int
      sample: 1
    remedy:
      description: What to do.
      type: str
      sample: "The GPU memory does not suffice: lower the micro batch size."
cursor:
  description:
    - Where this call ended, for the O(cursor) of the next one.
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
  description: The last step that this call and those before it saw, null if there was none.
  returned: success
  type: int
  sample: 7
steps_total:
  description:
    - The number of steps of the training, null if the log does not say.
    - Megatron-LM prints it in each step line, MaxText in the configuration that it prints at the start, NxDT never; the
      progress bar of NxDT has the length of an epoch.
  returned: success
  type: int
  sample: 30
transports:
  description:
    - The networks that NCCL or RCCL says to use in the log, from its beginning on. V(NET/Socket) is plain TCP,
      V(NET/OFI) is libfabric.
    - NCCL prints this with the environment variable C(NCCL_DEBUG=INFO) only. Connections within a node do not count.
  returned: success
  type: list
  elements: str
  sample:
    - NET/IB
world_size:
  description:
    - The number of ranks that the trainer said to have, null if the log does not say. Of MaxText, this is its number
      of devices.
    - Megatron-LM and NxDT print it on rank 0 only, MaxText on every node.
  returned: success
  type: int
  sample: 16
summary:
  description:
    - What the closing lines of the launch script say of the whole run, as metric and value. Values are given as in
      RV(records[].value).
    - Lines in front of a step are those of an earlier training and are left out.
  returned: success
  type: dict
  sample:
    step_time_ms: 10250.49
    tokens_per_sec_per_gpu: 12786.89
"""

import math
import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.logs.frameworks.known import GRAMMARS
from ..module_utils.logs.reader import read_log
from ..module_utils.logs.record import EVIDENCE, records_of
from ..module_utils.logs.rows import rows_of


def json_value(value: float) -> float | str:
    """Return the number, or its name where JSON has no such number; ``float()`` takes both."""
    return value if math.isfinite(value) else str(value)


def measurements_of(blocks: list[dict[str, t.Any]], layout: str) -> list[dict[str, t.Any]]:
    """Turn step blocks into the records or the columns that the module returns."""
    if layout == "records":
        return [dict(record, value=json_value(record["value"])) for record in records_of(blocks)]
    return [
        {
            "attempt": block["attempt"],
            "steps": block["steps"],
            "metrics": {
                metric: list(map(json_value, column))
                for metric, column in block["metrics"].items()
                if metric not in EVIDENCE
            },
        }
        for block in blocks
    ]


def results_of(news: dict[str, t.Any], layout: str) -> dict[str, t.Any]:
    """Turn what a log said into what the module returns."""
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
    module.exit_json(**results_of(news, layout))


if __name__ == "__main__":
    main()
