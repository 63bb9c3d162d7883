# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launch script: what a node runs, as a file that can be read, and started by hand."""

from __future__ import annotations

import shlex
import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.node._rdma_library import FUNCTION

LAUNCH_NAME = "launch.sh"
EXIT_STATUS_NAME = "exit_status"


def launch_script(node: dict[str, t.Any], run_id: str, preparation: list[str] | None = None) -> str:
    """Return the launch script of a node's plan.

    ``preparation`` are lines of bash before the training; where they define the function `FUNCTION` of
    `_rdma_library`, the training begins only if it succeeds.

    It is the one writer of the log, and it records the exit status of the training itself: a status that is not
    there means that the script was killed.
    """
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in sorted(node["env"].items()))
    prepare = [FUNCTION] if preparation else []
    begin = " && ".join(["cd " + shlex.quote(node["working_dir"]), *prepare])
    status_file = shlex.quote(f"{node['run_folder']}/{EXIT_STATUS_NAME}")
    return f"""#!/usr/bin/env bash
# Run {run_id}, node {node["node"]}, node rank {node["node_rank"]}. Written by trainops.cluster.
set -o pipefail
exec >>{shlex.quote(node["log_file"])} 2>&1 </dev/null

{exports}

{"".join(f"{line}{chr(10)}" for line in preparation or [])}{begin} &&
  {" ".join(shlex.quote(word) for word in node["argv"])}
status=$?

echo "$status" >{status_file}.new && mv {status_file}.new {status_file}
exit "$status"
"""
