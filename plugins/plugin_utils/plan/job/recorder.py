# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's flight recorder: the variables that switch it on, so that a hang names the rank that others wait for.

It keeps the last collectives of each rank in memory, and a rank writes them to a file when NCCL's watchdog gives up or
somebody writes to its pipe. Recording takes no part in a collective, and PyTorch 2.13 does so by itself. Source:
ProcessGroupNCCL.hpp and FlightRecorder.hpp in torch/csrc/distributed/c10d; the variables are documented since PyTorch
2.4, and listed in pytorch#128204.
"""

from __future__ import annotations

from collections.abc import Mapping

FILES = "{run-folder}/nccl_trace_rank_"
_DUMPS = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"
_VARIABLES = {
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
    # With it the pipe is looked at each second, without it each ten minutes.
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
    _DUMPS: FILES,
    "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": FILES,
}
# Later releases use these names, and still know the others.
_LATER = {"TORCH_NCCL_TRACE_BUFFER_SIZE": "TORCH_FR_BUFFER_SIZE", _DUMPS: "TORCH_FR_DUMP_TEMP_FILE"}


def recording(given: Mapping[str, str], dumps: str = FILES) -> dict[str, str]:
    """Return the variables that a training lacks to record its collectives; those that the user gives win.

    ``dumps`` is how the paths of the ranks' files begin, for a trainer that itself decides that.
    """
    wanted = {**_VARIABLES, _DUMPS: dumps}
    return {name: value for name, value in wanted.items() if not {name, _LATER.get(name)} & given.keys()}


def without_recording(environment: Mapping[str, str], run_folder: str) -> dict[str, str]:
    """Return the variables of a node without those of `recording`, which are of no use in another folder."""
    return {
        name: value
        for name, value in environment.items()
        if name not in _VARIABLES or not (value == _VARIABLES[name] or value.startswith(f"{run_folder}/"))
    }
