# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast each AMD GPU multiplies matrices while all of them are under stress: the ROCm Validation Suite (RVS).

Its test GST runs on all GPUs at the same time, with BF16 matrices of the size that RVS itself uses for MI300X. RVS
compares the speed with a target of its own; here the GPUs are compared with each other. It runs on the node, where RVS
is, and not in a container.
"""

from __future__ import annotations

import os
import shlex
import typing as t

from ...files import write_text
from ...inspection.tools import ToolError, run_tool
from ...phase import NodeError
from ..face import Found, Reading
from ..known import PROBES
from .output import errors_in, gpus_in, speeds_in

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = PROGRAM = "rvs"
_LOOK_SECONDS = 20.0
# A reading's work, in GFLOP.
_WORK = 1e6
# Times are in milliseconds. The target is one that every GPU meets.
_TEST = """actions:
- name: trainops
  device: all
  module: gst
  parallel: true
  log_interval: 3000
  ramp_interval: 5000
  duration: 15000
  hot_calls: 1000
  copy_matrix: false
  target_stress: 1
  matrix_size_a: 4864
  matrix_size_b: 4096
  matrix_size_c: 8192
  matrix_init: rand
  data_type: bf16_r
  lda: 8320
  ldb: 8320
  ldc: 4992
  ldd: 4992
  transa: 1
  transb: 0
  alpha: 1
  beta: 0
"""


def found(_programs: Programs) -> Found:
    """Return whether RVS finds GPUs that it can test."""
    try:
        listed = _listed()
    except ToolError as error:
        return Found(str(error))
    return Found("" if listed else "rvs lists no GPU that it supports")


def measure(_asked: Asked, programs: Programs) -> list[Reading]:
    """Return the seconds that each GPU takes for the same work; GPUs are numbered by their PCI addresses."""
    test = os.path.join(programs.node["run_folder"], "rvs.conf")
    write_text(test, _TEST, 0o640)
    # It fails if one GPU does, and prints the speeds of the others as well.
    words = f"{PROGRAM} -c {shlex.quote(test)} 2>&1 || true"
    try:
        gpus = _listed()
        output = programs.run_on_node(["sh", "-c", words], PROBES[NAME].seconds, PROGRAM)
        speeds, errors = speeds_in(output), errors_in(output)
    except (ToolError, ValueError) as error:
        raise NodeError(f"rvs measured nothing: {error}") from None
    return [_reading(number, speeds.get(gpu, []), errors.get(gpu, "")) for number, gpu in enumerate(gpus)]


def _reading(number: int, speeds: list[float], error: str) -> Reading:
    # A GPU that failed is broken, however fast it was before.
    samples = [_WORK / speed for speed in speeds if speed and not error]
    return Reading(NAME, f"GPU {number}", samples, error or ("" if samples else "rvs measured no speed of it"))


def _listed() -> list[str]:
    return gpus_in(run_tool([PROGRAM, "-g"], _LOOK_SECONDS)[0])
