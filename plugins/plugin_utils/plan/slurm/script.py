# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a Slurm job, and the nodes of a plan before Slurm has chosen them."""

from __future__ import annotations

import shlex
import typing as t

from ....module_utils.slurm.desk import PROGRAM_NAME, STARTER
from ....module_utils.slurm.placement import address_before, is_before, name_before
from ...contracts import NodePlan, SlurmJob
from ..config.findings import Findings
from ..job.options import ON_HOSTS
from ..job.ranks import Node
from .around import container_options
from .options import SRUN, LaunchOptions, SlurmOptions

JOB_LOG = "job.log"
SCRIPT_NAME = "job.sh"
# More, for example after a typo, would fill the memory before anything is reported.
_MOST_NODES = 65_536
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


# Options of a job, which an allocation already has.
_OF_JOBS = (*(name for name, option in SBATCH.items() if option != "exclude"), "training_slurm_options")
# Options for inventory hosts, which Slurm does not use.
_OF_HOSTS = {
    "training_rank_order": "Slurm decides the order of nodes.",
    "training_exclude": "List nodes to leave out in training_slurm_exclude.",
    "training_spares": "Slurm provides spare nodes.",
}


def nodes_to_come(options: LaunchOptions, asked: int | None, user: str, findings: Findings) -> list[Node]:
    """Return stand-ins for the nodes that Slurm will choose; ``asked`` is the number in the config, if any."""
    launcher = options.training_launcher
    of_jobs = dict.fromkeys(_OF_JOBS, "Pass it to salloc.")
    of_steps = {"training_slurm_job": "The run is its own job."}
    for name, remedy in (_OF_HOSTS | (of_jobs if launcher == SRUN else of_steps)).items():
        if given := getattr(options, name):
            findings.fault(
                name, given, f"{name} has no effect with training_launcher={launcher}.", f"Leave it out. {remedy}"
            )
    if options.training_platform not in (None, ON_HOSTS):
        message = f"Slurm cannot start anything on {options.training_platform}."
        findings.fault("training_launcher", launcher, message, "Leave out training_launcher or training_platform.")
    count = options.training_slurm_nodes or asked
    if count is None:
        findings.fault(
            "training_slurm_nodes",
            None,
            "Neither the training config nor a variable sets the number of nodes.",
            "Set training_slurm_nodes.",
        )
        return []
    if count > _MOST_NODES:
        message = f"The job would have {count:,} nodes; a plan has at most {_MOST_NODES:,}."
        findings.fault("training_slurm_nodes", count, message, "Use fewer.")
        return []
    return [Node(name_before(rank), address_before(rank), user) for rank in range(count)]


def excluding(excluded: str, nodes: t.Iterable[str]) -> str:
    """Return a list of excluded nodes with further ones added; Slurm does not know stand-ins."""
    return ",".join([*filter(None, [excluded]), *(node for node in nodes if not is_before(node))])


def slurm_job(run_id: str, nodes: t.Sequence[NodePlan], mode: str, engine: str, options: SlurmOptions) -> SlurmJob:
    """Return what the controller submits from the run's folder, which the nodes must share with it."""
    node_count, in_allocation = len(nodes), options.training_launcher == SRUN
    container = container_options(engine, nodes[0], not in_allocation)
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
    """How the script begins, what running it by hand needs, and how its nodes get their ranks and tasks."""

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
    """Return a step that holds the nodes of the run, which Slurm chooses, and others that overlap it.

    The nodes do not see the run's folder: the tasks read what they need from their input, and are notified of changes.
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
