# SPDX-License-Identifier: GPL-3.0-or-later
"""The launch script: a file with all commands of a node, which people can read and run by hand."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import typing as t

from .files import read_text

if t.TYPE_CHECKING:
    from .contracts import Node, Outcome, Place, Secret

Preparation = t.Mapping[str, t.Sequence[str]]

LAUNCH_NAME = "launch.sh"
EXIT_STATUS_NAME = "exit_status"
_MARKER = re.compile(r"trainops\.cluster: run (\S+), node \S+\n")


def launch_script(node: Node, run_id: str, preparation: Preparation) -> str:
    """Return the launch script of a node's plan.

    ``preparation`` are functions of bash by their names, each as the lines that define it. They are called in their
    order in the trainer's folder, and the training begins only if all succeed; else the first failure is the end.

    It is the only writer of the log, which begins with the name of the run. It records the exit status of the training
    itself, the time of it, and the node's monotonic clock, which nobody sets, before and after the training. A missing
    status means that the script was killed.
    """
    variables = "\n".join(
        [
            *exports(node["env"]),
            *(_value_of(secret) for secret in node.get("secrets", []) if secret.get("value_variable")),
        ]
    )
    definitions = "".join(f"{line}\n" for lines in preparation.values() for line in lines)
    begin = " && ".join(["cd " + shlex.quote(node["working_dir"]), *preparation])
    status_file = shlex.quote(f"{node['run_folder']}/{EXIT_STATUS_NAME}")
    return f"""#!/usr/bin/env bash
# Run {run_id}, node {node["node"]}, node rank {node["node_rank"]}. Written by trainops.cluster.
set -o pipefail
exec >>{shlex.quote(node["log_file"])} 2>&1 </dev/null
echo {shlex.quote(f"trainops.cluster: run {run_id}, node {node['node']}")}

{variables}

{definitions}read -r began _ </proc/uptime
{begin} &&
  {" ".join(shlex.quote(word) for word in node["argv"])}
status=$?

read -r ended _ </proc/uptime
printf '%s\\n' "$status" "$(date +%s.%N 2>/dev/null)" "$began" "$ended" >{status_file}.new &&
  mv {status_file}.new {status_file}
exit "$status"
"""


def exports(environment: t.Mapping[str, str]) -> list[str]:
    """Return the lines that give a script its environment."""
    return [f"export {name}={shlex.quote(value)}" for name, value in sorted(environment.items())]


def _value_of(secret: Secret) -> str:
    """Return the line that fills a variable with the secret itself, which so appears in no file but its own."""
    path, variable = shlex.quote(secret["target"]), secret["value_variable"]
    return f'if [[ -r {path} ]]; then {variable}="$(<{path})"; export {variable}; fi'


def recorded_outcome(node: Place) -> Outcome:
    """Return the exit status that the launch script recorded; none means that it was killed."""
    recorded = _recorded(node)[0]
    return {"exit_status": int(recorded) if recorded.isdigit() else None, "oom_killed": False}


def recorded_end(node: Place) -> float | None:
    """Return when the training ended by the node's clock, in seconds since the epoch; None without a record.

    It is not the time of the file, which the clock of a file server gives.
    """
    with contextlib.suppress(ValueError, IndexError):
        return float(_recorded(node)[1])
    return None


def recorded_seconds(node: Place) -> float | None:
    """Return for how many seconds the training ran, by the node's monotonic clock; None without a record.

    It includes the preparation by the launch script, and is never less than the hundredth of a second that this clock
    can tell. After a boot the clock begins again.
    """
    with contextlib.suppress(ValueError):
        _status, _end, began, ended = _recorded(node)
        seconds = float(ended) - float(began)
        return max(seconds, 0.01) if seconds >= 0.0 else None
    return None


def _recorded(node: Place) -> list[str]:
    return (read_text(os.path.join(node["run_folder"], EXIT_STATUS_NAME)) or "").split() or [""]


def run_of_log(log_file: str) -> str | None:
    """Return the run_id at the start of a log; None without a log, or if something else began it."""
    try:
        with open(log_file, encoding="utf-8", errors="replace") as stream:
            found = _MARKER.match(stream.readline(1024))
    except FileNotFoundError:
        return None
    return found.group(1) if found else None
