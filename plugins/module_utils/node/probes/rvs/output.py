# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of ``rvs``: a list of GPUs, and the speed of each one every few seconds of a stress test.

Source: ROCm/ROCmValidationSuite, gst.so/src/gst_worker.cpp and rvs/src/rvsexec.cpp; examples of both outputs are in
AMD's system acceptance guide for MI300X. A GPU has a number of the kernel's in the test, and its PCI address in the
list.
"""

from __future__ import annotations

import re

_LISTED = re.compile(r"^\s*([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]) - GPU\[ *\d+ - *(\d+)\]", re.IGNORECASE)
_OF_GPU = re.compile(r"\[GPU:: *(\d+)\] (.*)")
_RAMP_IS_OVER = "End of GPU ramp up"
# The last line repeats the best one beside the target.
_SPEED = re.compile(r"GFLOPS (\d+)(?:\.\d+)?\s*$")
# The failures of a GPU, and the failures of all.
_ERROR_OF_GPU = re.compile(r"^\[ERROR *\].*\] gst (\d+) +(.*)", re.MULTILINE)
_ERROR = re.compile(r"^(?:\[ERROR *\] *\[[^\]]*\]|RVS-ERROR) *(.*)", re.MULTILINE)


def gpus_in(output: str) -> list[str]:
    """Return the kernel's numbers of the GPUs that ``rvs -g`` lists, in the order of their PCI addresses."""
    listed = (_LISTED.match(line) for line in output.splitlines())
    return [gpu for _address, gpu in sorted(match.groups() for match in listed if match)]


def speeds_in(output: str) -> dict[str, list[float]]:
    """Return the speeds of each GPU in GFLOPS, once it has warmed up; ValueError with the error if there is none."""
    found: dict[str, list[float]] = {}
    for line in output.splitlines():
        of_gpu = _OF_GPU.search(line)
        if not of_gpu:
            continue
        gpu, said = of_gpu.groups()
        if said.strip() == _RAMP_IS_OVER:
            found[gpu] = []
        elif (speed := _SPEED.match(said)) and gpu in found:
            found[gpu].append(float(speed.group(1)))
    if not any(found.values()):
        error = _ERROR.search(output)
        raise ValueError(error.group(1).strip() if error else "there is no speed in the output")
    return found


def errors_in(output: str) -> dict[str, str]:
    """Return the first error of each GPU that has one."""
    errors: dict[str, str] = {}
    for gpu, said in _ERROR_OF_GPU.findall(output):
        errors.setdefault(gpu, said.strip())
    return errors
