# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a Slurm job, and the container that Slurm itself starts its tasks in: with Pyxis, or in Apptainer.

Formats: https://slurm.schedmd.com/sbatch.html, https://github.com/NVIDIA/pyxis#usage,
https://github.com/NVIDIA/enroot/blob/master/doc/cmd/import.md and
https://apptainer.org/docs/user/main/cli/apptainer_exec.html
"""

from __future__ import annotations

import posixpath
import shlex
import typing as t

from ...module_utils.slurm.desk import PROGRAM_NAME, STARTER
from ..contracts import NodePlan, Plan, SlurmJob
from ..plan.job.options import APPTAINER, PYXIS, SRUN, SlurmOptions

JOB_LOG = "job.log"
SCRIPT_NAME = "job.sh"
_RUN = f'python3 -I "$PWD/{PROGRAM_NAME}"'
# The task of a node starts the ranks, which use all its processors and GPUs.
_SRUN = "srun --label --ntasks-per-node=1 --cpu-bind=none --kill-on-bad-exit=0 --wait=0"
# Waits for the end of its input, even after Slurm has asked it to end, which it reports.
_HOLD = """\
exec 3<&0
(trap "" TERM; exec cat) <&3 &
trap "echo ended" TERM
while ! wait $!; do :; done
"""
_PREFLIGHT = f"""\
if ! {_RUN} await; then
  on_each_node stop
  exit 1
fi
"""
# The task behaves the same in the container as on the node: it is the same user, and sees the run's folders.
_PYXIS = "--container-writable --no-container-remap-root --no-container-mount-home"
_APPTAINER = "apptainer exec --writable-tmpfs --no-home"
SBATCH = {
    "training_slurm_partition": "partition",
    "training_slurm_account": "account",
    "training_slurm_qos": "qos",
    "training_slurm_reservation": "reservation",
    "training_slurm_time_limit": "time",
    "training_slurm_constraint": "constraint",
    "training_slurm_exclude": "exclude",
    "training_slurm_gres": "gres",
}


def slurm_job(plan: Plan, options: SlurmOptions) -> SlurmJob:
    """Return the script that the controller submits from the run's folder, which the nodes must share with it."""
    run_id, mode, node_count = plan["run_id"], plan["mode"], len(plan["nodes"])
    in_allocation = options.training_launcher == SRUN
    container = container_options(plan["container_engine"], plan["nodes"][0], not in_allocation)
    given = {option: getattr(options, name) for name, option in SBATCH.items()}
    given = {option: value for option, value in given.items() if value} | {"nodes": str(node_count)}
    lines: dict[str, t.Any] = {
        "job-name": f"trainops-{run_id}",
        "ntasks-per-node": 1,
        "output": JOB_LOG,
        **given,
    }
    sbatch = [f"--{option}={value}" for option, value in lines.items()]
    # A requeued training would find the state of the first one on its node.
    sbatch += ["--no-requeue"]
    # Nodes that train independently go on when another one fails.
    sbatch += ["--no-kill"] if mode == "single_node" else []
    sbatch += ["--exclusive"] if options.training_slurm_exclusive else []
    sbatch += options.training_slurm_options
    begins = _as_step(given, run_id, mode) if in_allocation else _as_job(sbatch)
    job: SlurmJob = {
        "script": f"""#!/usr/bin/env bash
{begins.head}# Run {run_id} on {node_count} node{"" if node_count == 1 else "s"}. Written by trainops.cluster.
# By hand, in this folder{begins.by_hand}
set -uo pipefail
trap 'rm -f secrets.json' EXIT
# The tasks end themselves, and their answers have to be gathered.
trap '' TERM
{begins.place}
on_each_node stage
staged=$?
rm -f secrets.json
if [[ $staged != 0 ]]; then
  on_each_node stop
  exit "$staged"
fi
{_PREFLIGHT if options.training_slurm_preflight else ""}on_each_node train{container}
trained=$?
if [[ $trained != 0 ]]; then
  on_each_node stop
fi
exit "$trained"
""",
        "preflight": options.training_slurm_preflight,
        "sbatch": given,
    }
    if in_allocation:
        job["allocation"] = options.training_slurm_job
    return job


class _Start(t.NamedTuple):
    """The beginning of the script, the requirements of running it by hand, and how nodes get ranks and tasks."""

    head: str
    by_hand: str
    place: str


def _as_job(options: list[str]) -> _Start:
    return _Start(
        "".join(f"#SBATCH {line}\n" for line in options),
        f", which all nodes have to share: sbatch {SCRIPT_NAME}",
        f"""\
# Where a node lacks a folder, Slurm begins in another one, where anybody may write.
cd "$SLURM_SUBMIT_DIR" || exit
on_each_node() {{
  {_SRUN} "${{@:2}}" {_RUN} "$1" | {_RUN} gather
}}
{_RUN} place "$SLURM_JOB_ID" "$SLURM_JOB_NODELIST" || exit""",
    )


def _as_step(given: t.Mapping[str, str], run_id: str, mode: str) -> _Start:
    """Return a step that keeps the nodes of the run, which Slurm chooses, and other steps that overlap it.

    The nodes do not see the run's folder: the tasks read their data from their input, and are notified of changes.
    """
    size = f"--nodes={given['nodes']} --ntasks={given['nodes']} --overlap --chdir=/"
    name = f"trainops-{run_id}"
    options = [f"--job-name={name}"]
    options += ["--no-kill"] if mode == "single_node" else []
    options += [f"--exclude={given['exclude']}"] if "exclude" in given else []
    return _Start(
        "",
        f" and an allocation: bash {SCRIPT_NAME} &>{JOB_LOG}",
        f"""\
program={shlex.quote(STARTER)}
# The run's number is that of a step that only holds the nodes; the script notices when Slurm ends it.
coproc HELD {{
  {{ {_SRUN} {size} {shlex.join(options)} sh -c {shlex.quote(_HOLD)} 2>&1 >&4 4>&- | {_RUN} errors >&2; }} 4>&1
}}
exec 3<&"${{HELD[0]}}"
on_each_node() {{
  {{
    {_RUN} feed <&3 |
      {_SRUN} {size} --nodelist="$nodes" "${{@:2}}" \\
        python3 -I -c "$program" "$1" stream 2>&1 >&4 4>&- |
      {_RUN} errors >&2
  }} 4>&1 | {_RUN} gather
}}
nodes=$({_RUN} hold "$SLURM_JOB_ID" {shlex.quote(name)} <&3) || exit""",
    )


def container_options(engine: str | None, node: NodePlan, shares_folder: bool) -> str:
    """Return the shell text that follows srun's options; empty if an engine on the node is used.

    Folders that differ between nodes are mounted through their parent. ``shares_folder``: the nodes see the run's
    folder.
    """
    image = node["image"] or ""
    mounts = shlex.quote(",".join(_mounts(node)))
    folder = "/"
    if shares_folder:
        mounts, folder = f'{mounts},"$PWD:$PWD"', '"$PWD"'
    if engine == PYXIS:
        name = shlex.quote(_enroot_name(image))
        return f" --container-image={name} --container-mounts={mounts} --container-workdir={folder} {_PYXIS}"
    if engine == APPTAINER:
        name = shlex.quote(image if _is_path(image) else f"docker://{image}")
        return f" {_APPTAINER} --bind {mounts} --pwd {folder} {name}"
    return ""


def _mounts(node: NodePlan) -> list[str]:
    mounts = [mount for mount in node["mounts"] if not mount.get("staged")]
    same = [posixpath.dirname(node["run_folder"]), *node["devices"]]
    same += ["/dev/shm"] if node["secrets"] else []
    given = [f"{mount['source']}:{mount['target']}{':ro' if mount.get('read_only') else ''}" for mount in mounts]
    return given + [f"{path}:{path}" for path in same]


def _enroot_name(image: str) -> str:
    """Return an image name for Enroot, with # after the registry. The path of a squashfs file is unchanged."""
    registry, slash, rest = image.partition("/")
    has_registry = slash and registry and ("." in registry or ":" in registry or registry == "localhost")
    return f"{registry}#{rest}" if has_registry and not _is_path(image) else image


def _is_path(image: str) -> bool:
    return image.startswith((".", "/"))
