# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of a verdict, one row each: its evidence, its effects, and the real case that it was made for.

Evidence has four levels, and a lower level does not overrule a higher one:

1. facts of the run: an exit status that the collection itself saw, the last planned step with finite values, and the
   end that the trainer owes;
2. facts of the machine, measured on the node;
3. lines of a known class that the program did not call a warning;
4. lines that sound like a failure: they are shown, but decide nothing.

If level 1 is complete, the run has shown that it trained, and a log check that disagrees (``outranked``) is only a
note. If level 1 is incomplete, as for logs that nobody followed, the same check leaves the verdict open.
"""

from __future__ import annotations

import typing as t

from ..contracts import LedgerRow, Verdict

FAIL: t.Final = "FAIL"
ERROR: t.Final = "ERROR"
INCONCLUSIVE: t.Final = "INCONCLUSIVE"


class Check(t.NamedTuple):
    """A check of the verdict.

    ``effects`` are the verdicts that it may argue for; a check without effects is a note. ``row`` is its row in the
    ledger. ``outranked`` makes it a note if the facts of the run are complete. ``made_for`` is the real log, thread or
    tool that shows why the check is needed.
    """

    code: str
    row: LedgerRow | None
    effects: tuple[Verdict, ...]
    looks_at: str
    made_for: str
    outranked: bool = False


_END = "the exit status that the node's launch script or container recorded"
_LOG = "the node's log"
_STEPS = "the step lines"
_SAYS = "the arguments that the trainer prints"

CHECKS = (
    # Row "exit status".
    Check("node_failed", "exit status", (FAIL, ERROR), _END, "ChildFailedError of torchrun on MI355X"),
    Check("node_killed", "exit status", (FAIL,), _END, "oom_kill event of a Slurm step, nextflow-io/nextflow#5932"),
    Check("node_unreachable", "exit status", (ERROR,), "the connection to the node", "a host that went off in a run"),
    Check("node_bad_answer", "exit status", (ERROR,), "the node's answers", "a shell profile that prints"),
    Check("node_gone", "exit status", (ERROR,), "the run's folder on the node", "a clean-up job that emptied log_dir"),
    Check("node_not_started", "exit status", (ERROR,), "the start on the node", "an image that a node cannot pull"),
    Check("node_running", "exit status", (ERROR,), "the node's last answer", "Ctrl-C at the controller"),
    Check("node_stopped", "exit status", (ERROR,), "the node's last answer", "stop.yml beside a running training"),
    Check("node_stalled", "exit status", (FAIL, ERROR), "how long no log grew", "NVIDIA/nccl#1405, LlamaFactory#7396"),
    Check(
        "exit_status_unknown",
        "exit status",
        (INCONCLUSIVE,),
        "the exit status that the user passed",
        "logs copied from a cluster",
    ),
    Check(
        "no_end_seen",
        "exit status",
        (INCONCLUSIVE,),
        "the trainer's closing line",
        "ROCm's training scripts end with `exit 0` behind tee, whatever the trainer's exit status",
    ),
    # Row "log".
    Check("other_log", "log", (INCONCLUSIVE,), "the first line of the log", "a log_dir that two runs share"),
    Check(
        "other_job", "log", (INCONCLUSIVE,), "NCCL's communicator of all ranks", "two jobs of 8 in place of one of 16"
    ),
    Check("log_cut", "log", (INCONCLUSIVE,), "the size of the log while it is followed", "logrotate's copytruncate"),
    Check("same_log", "log", (INCONCLUSIVE,), _STEPS, "one file copied under the names of two nodes", True),
    Check("steps_conflict", "log", (INCONCLUSIVE,), _STEPS, "a script that appends to the previous day's log", True),
    Check("clock_back", "log", (INCONCLUSIVE,), "the time stamps of the steps", "two logs joined with cat", True),
    Check("other_time", "log", (INCONCLUSIVE,), "the time stamps of the steps", "last week's log of one node", True),
    Check("two_runs", "log", (INCONCLUSIVE,), _STEPS, "a script that appends to the previous day's log", True),
    Check("settings_differ", "log", (INCONCLUSIVE,), _SAYS, "a script that appends to the previous day's log", True),
    Check("nodes_unknown", "log", (INCONCLUSIVE,), "the config and the logs", "logs of a part of the nodes"),
    Check("logs_missing", "log", (INCONCLUSIVE,), "the config and the logs", "logs of a part of the nodes"),
    Check("logs_left_over", "log", (INCONCLUSIVE,), "the config and the logs", "a folder with the logs of two runs"),
    # Row "sign of life".
    Check(
        "no_sign_of_life", "sign of life", (INCONCLUSIVE,), _LOG, "the log of a node that only pulled its image", True
    ),
    # Row "steps".
    Check("no_steps", "steps", (INCONCLUSIVE,), _STEPS, "a trainer that ends with 0 before it trains"),
    Check("last_step_unknown", "steps", (INCONCLUSIVE,), "config and log", "a log without its head"),
    Check("last_step_missing", "steps", (FAIL, INCONCLUSIVE), _STEPS, "Slurm's time limit behind `|| true`"),
    Check("began_anew", "steps", (INCONCLUSIVE,), "starts of processes in the log", "torchrun --max-restarts", True),
    Check("too_few_samples", "steps", (INCONCLUSIVE,), _STEPS, "a smoke run of 5 steps with a warm-up of 3"),
    Check("long_warm_up", "steps", (INCONCLUSIVE,), "step times", "a node that is slow until its fans spin up"),
    # Row "gaps".
    Check("steps_missing", "gaps", (INCONCLUSIVE,), _STEPS, "a log with a file rotated away"),
    Check("loss_missing", "gaps", (INCONCLUSIVE,), _STEPS, "a trainer that leaves the loss out where it is NaN"),
    Check("last_loss_missing", "gaps", (INCONCLUSIVE,), _STEPS, "a trainer that leaves the loss out where it is NaN"),
    Check("metric_gaps", "gaps", (INCONCLUSIVE,), _STEPS, "lines torn by several writers", True),
    Check("metric_missing", "gaps", (INCONCLUSIVE,), _STEPS, "a threshold on a value that this release does not print"),
    Check("no_loss", "gaps", (INCONCLUSIVE,), _STEPS, "a benchmark mode that trains nothing"),
    # Row "failures".
    Check("failure_in_log", "failures", (FAIL,), "lines of a known class", "a script that exits with 0 after a crash"),
    Check(
        "failure_at_end",
        "failures",
        (INCONCLUSIVE,),
        "lines of a known class after the last step",
        "old launch scripts behind tee",
        True,
    ),
    Check(
        "fault_at_end",
        "failures",
        (INCONCLUSIVE,),
        "lines after the last step about lost memory, or a lost GPU, disk or checkpoint",
        "a checkpoint that a full disk cut off, while the trainer ended with 0",
    ),
    Check("machine_fault", "failures", (FAIL,), "kernel log and counters of the node", "Xid 79, wilicc/gpu-burn#1"),
    Check("machine_note", None, (), "kernel log and counters of the node", "Xid 94, a contained error of memory"),
    # Row "numbers".
    Check("not_finite", "numbers", (FAIL,), _STEPS, "a loss of NaN under FP8"),
    Check("below_zero", "numbers", (FAIL,), _STEPS, "the node's clock was set back during a step"),
    Check("nan_iterations", "numbers", (FAIL,), "the trainer's count", "a loss of NaN under FP8"),
    # Row "skipped".
    Check("skipped_iterations", "skipped", (FAIL,), "the trainer's count", "a loss scale that never settles"),
    Check("skipped_unknown", "skipped", (INCONCLUSIVE,), _STEPS, "lines torn by several writers", True),
    Check(
        "last_step_skipped", "skipped", (INCONCLUSIVE,), "the trainer's count", "a gradient overflow in the last step"
    ),
    Check(
        "idle_steps", "skipped", (INCONCLUSIVE,), "learning rate, gradient norm, updates", "a decay that ends too early"
    ),
    # Row "loss".
    Check("loss_rises", "loss", (FAIL,), "the loss", "a training that diverges"),
    Check("loss_negative", "loss", (FAIL,), "the loss", "a cross entropy that overflowed"),
    Check("loss_differs", "loss", (FAIL,), "the loss on several nodes", "nodes that trained by themselves"),
    Check("loss_constant", "loss", (INCONCLUSIVE,), "the loss", "a learning rate of 0"),
    Check("loss_climbs", "loss", (), "the loss", "a warm-up of the learning rate that goes too far"),
    Check("loss_flat", "loss", (), "the loss", "mock data, or a run from trained weights, whose loss cannot fall"),
    Check("loss_not_judged", "loss", (), "the loss", "a smoke run of 10 steps"),
    Check("loss_spike", "loss", (), "the loss", "loss spikes of large models, which mostly recover"),
    Check("loss_too_high", "loss", (INCONCLUSIVE,), "the loss", "a loss more than twice that of random guessing"),
    # Row "workload".
    Check("other_workload", "workload", (FAIL,), _SAYS, "a script whose default batch size won over the config's"),
    Check("rates_disagree", "workload", (INCONCLUSIVE,), "rates against step times", "an edited batch size", True),
    Check("world_size", "workload", (FAIL,), "the number of ranks in the log", "NNODES of an older shell"),
    Check("trained_alone", "workload", (FAIL,), "the number of ranks in the log", "MASTER_ADDR=localhost on each node"),
    Check(
        "alone_suspected",
        "workload",
        (INCONCLUSIVE,),
        "the nodes that print steps, and NCCL's communicators",
        "MASTER_ADDR=localhost on each node",
    ),
    Check(
        "impossible", "workload", (INCONCLUSIVE,), "TFLOP/s against the peak", "FLOPs counted with recomputation twice"
    ),
    # Row "network".
    Check("tcp_transport", "network", (FAIL,), "NCCL's lines and the RDMA counters", "a missing bnxt_re library"),
    Check("low_traffic", "network", (INCONCLUSIVE,), "the counters of the RDMA ports", "one HCA of eight in use"),
    Check("uneven_traffic", None, (), "the counters of the RDMA ports", "one HCA of eight in use"),
    Check("slow_rank", None, (), "the trainer's times of each rank", "a StragglerDetector that keeps naming a rank"),
    Check("transport_unknown", "network", (INCONCLUSIVE,), "NCCL's lines and the RDMA counters", "NCCL_DEBUG=ERROR"),
    # Row "time".
    Check("pauses", "time", (INCONCLUSIVE,), "time stamps against step times", "a file system that hung for an hour"),
    Check(
        "longer_than_run",
        "time",
        (INCONCLUSIVE,),
        "step times against the node's own clock",
        "a script that printed 30 steps of another run in 0.06 s",
    ),
    Check("slows_down", "time", (INCONCLUSIVE,), "step times", "GPUs that get hot"),
    # The whole run.
    Check("threshold_missed", None, (FAIL,), "the worst node", "result_dict of CVS"),
    Check("threshold_open", None, (INCONCLUSIVE,), "the worst node", "a loss threshold and a run that was cut off"),
)
CHECK_OF_CODE = {check.code: check for check in CHECKS}
ROWS: tuple[LedgerRow, ...] = (*dict.fromkeys(check.row for check in CHECKS if check.row), "last line")
