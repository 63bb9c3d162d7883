# SPDX-License-Identifier: GPL-3.0-or-later
"""The message of each finding of a verdict."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Reason
from ansible_collections.trainops.cluster.plugins.plugin_utils.text import catalogue
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.catalogue import VERDICT
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.folding import told
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.sentences import sentence

RETRY = {
    "attempt": 2,
    "first": "run-1",
    "left_out": [
        {"node": "gpu07", "reason": "killed: Killed.", "spare": "gpu09"},
        {"node": "gpu08", "reason": "gpu_ecc: lost", "spare": None},
    ],
    "nodes": 7,
    "nodes_of_first": 8,
    "checkpoints": "/ckpt",
    "began_with": 21,
}
# Code, case and values of a finding, and its message about node gpu01.
ROWS_OF_ENDS_AND_LOGS: tuple[tuple[str, str, dict[str, t.Any], str], ...] = (
    ("nodes", "", {"nodes": 3}, "All 3 nodes took part and ended with exit status 0."),
    (
        "retry",
        "no_checkpoints",
        RETRY,
        "Attempt 2 at run-1: gpu07 was left out (killed: Killed), and gpu09 took its place; gpu08 was left "
        "out (gpu_ecc: lost); it started from the first step, because its config resumes from no checkpoint. "
        "Its measurements are kept out of the history.",
    ),
    (
        "retry",
        "may_resume",
        RETRY,
        "Attempt 2 at run-1: gpu07 was left out (killed: Killed), and gpu09 took its place; gpu08 was left "
        "out (gpu_ecc: lost); it could resume from the last checkpoint in /ckpt. Its measurements are kept "
        "out of the history.",
    ),
    (
        "retry",
        "resumed",
        RETRY,
        "Attempt 2 at run-1: gpu07 was left out (killed: Killed), and gpu09 took its place; gpu08 was left "
        "out (gpu_ecc: lost); it resumed with step 21, from the last checkpoint in /ckpt. Its measurements "
        "are kept out of the history.",
    ),
    (
        "retry",
        "no_checkpoint_found",
        RETRY,
        "Attempt 2 at run-1: gpu07 was left out (killed: Killed), and gpu09 took its place; gpu08 was left "
        "out (gpu_ecc: lost); it started from the first step, because it found no checkpoint in /ckpt. Its "
        "measurements are kept out of the history.",
    ),
    (
        "retry",
        "no_checkpoints_on_fewer_nodes",
        RETRY,
        "Attempt 2 at run-1: gpu07 was left out (killed: Killed), and gpu09 took its place; gpu08 was left "
        "out (gpu_ecc: lost); it ran on 7 of 8 nodes; it started from the first step, because its config "
        "resumes from no checkpoint. Its measurements are kept out of the history.",
    ),
    (
        "retry",
        "may_resume_on_fewer_nodes",
        RETRY,
        "Attempt 2 at run-1: gpu07 was left out (killed: Killed), and gpu09 took its place; gpu08 was left "
        "out (gpu_ecc: lost); it ran on 7 of 8 nodes; it could resume from the last checkpoint in /ckpt. Its "
        "measurements are kept out of the history.",
    ),
    (
        "retry",
        "resumed_on_fewer_nodes",
        RETRY,
        "Attempt 2 at run-1: gpu07 was left out (killed: Killed), and gpu09 took its place; gpu08 was left "
        "out (gpu_ecc: lost); it ran on 7 of 8 nodes; it resumed with step 21, from the last checkpoint in "
        "/ckpt. Its measurements are kept out of the history.",
    ),
    (
        "retry",
        "no_checkpoint_found_on_fewer_nodes",
        RETRY,
        "Attempt 2 at run-1: gpu07 was left out (killed: Killed), and gpu09 took its place; gpu08 was left "
        "out (gpu_ecc: lost); it ran on 7 of 8 nodes; it started from the first step, because it found no "
        "checkpoint in /ckpt. Its measurements are kept out of the history.",
    ),
    (
        "taken_up",
        "",
        {"ended_at": "2026-11-28 10:00:00 UTC"},
        "The training finished at 2026-11-28 10:00:00 UTC, not started by this command.",
    ),
    ("node_failed", "", {"exit_status": 137}, "gpu01 ended with exit status 137."),
    ("node_killed", "", {}, "The training on gpu01 was killed."),
    ("node_running", "", {}, "gpu01 was still training when it last answered."),
    ("node_not_started", "", {}, "gpu01 did not start training."),
    ("node_not_started", "said", {"said": "port 6000 is in use"}, "gpu01 did not start training: port 6000 is in use."),
    ("node_unreachable", "", {}, "gpu01 could not be reached."),
    ("node_unreachable", "said", {"said": "port 6000 is in use"}, "gpu01 could not be reached: port 6000 is in use."),
    ("node_bad_answer", "", {}, "gpu01 gave an unusable answer."),
    ("node_bad_answer", "said", {"said": "port 6000 is in use"}, "gpu01 gave an unusable answer: port 6000 is in use."),
    ("node_gone", "", {}, "It is unknown how the training on gpu01 ended."),
    (
        "node_gone",
        "said",
        {"said": "port 6000 is in use"},
        "It is unknown how the training on gpu01 ended: port 6000 is in use.",
    ),
    ("node_stalled", "", {}, "The training on gpu01 hung."),
    ("node_stalled", "said", {"said": "port 6000 is in use"}, "The training on gpu01 hung: port 6000 is in use."),
    ("node_stopped", "", {}, "gpu01 was stopped before the training finished."),
    (
        "node_stopped",
        "said",
        {"said": "port 6000 is in use"},
        "gpu01 was stopped before the training finished: port 6000 is in use.",
    ),
    (
        "node_unreachable",
        "unknown_host",
        {"said": "ssh: connect to host gpu01 port 22: Connection refused"},
        "gpu01 could not be reached: no such host name is known to this machine (ssh: connect to host gpu01 "
        "port 22: Connection refused).",
    ),
    (
        "node_unreachable",
        "host_key_changed",
        {"said": "ssh: connect to host gpu01 port 22: Connection refused"},
        "gpu01 could not be reached: the node has another host key than the one that this machine knows "
        "(ssh: connect to host gpu01 port 22: Connection refused).",
    ),
    (
        "node_unreachable",
        "host_key_unknown",
        {"said": "ssh: connect to host gpu01 port 22: Connection refused"},
        "gpu01 could not be reached: this machine does not know the node's host key (ssh: connect to host "
        "gpu01 port 22: Connection refused).",
    ),
    (
        "node_unreachable",
        "login_refused",
        {"said": "ssh: connect to host gpu01 port 22: Connection refused"},
        "gpu01 could not be reached: the node is up, but refuses the login (ssh: connect to host gpu01 port "
        "22: Connection refused).",
    ),
    (
        "node_unreachable",
        "connection_refused",
        {"said": "ssh: connect to host gpu01 port 22: Connection refused"},
        "gpu01 could not be reached: the node is up, but nothing listens on its SSH port (ssh: connect to "
        "host gpu01 port 22: Connection refused).",
    ),
    (
        "node_unreachable",
        "no_route",
        {"said": "ssh: connect to host gpu01 port 22: Connection refused"},
        "gpu01 could not be reached: no way leads to the node's address (ssh: connect to host gpu01 port 22: "
        "Connection refused).",
    ),
    (
        "node_unreachable",
        "timeout",
        {"said": "ssh: connect to host gpu01 port 22: Connection refused"},
        "gpu01 could not be reached: nothing answers at the node's address (ssh: connect to host gpu01 port "
        "22: Connection refused).",
    ),
    (
        "node_unreachable",
        "connection_ended",
        {"said": "ssh: connect to host gpu01 port 22: Connection refused"},
        "gpu01 could not be reached: the node ended the connection (ssh: connect to host gpu01 port 22: "
        "Connection refused).",
    ),
    (
        "node_outage",
        "",
        {"outages": 1, "seconds": 300.0, "since": "10:00:00 UTC"},
        "gpu01 did not answer for 5 min from 10:00:00 UTC; following resumed afterwards.",
    ),
    (
        "node_outage",
        "several",
        {"outages": 3, "seconds": 300.0, "since": "10:00:00 UTC"},
        "gpu01 did not answer 3 times from 10:00:00 UTC, 5 min in total; following resumed afterwards.",
    ),
    (
        "exit_status_unknown",
        "",
        {"nodes": ["gpu01"]},
        "gpu01 logged no exit status of the training. If you know it, add it, for example -e training_exit_status=0.",
    ),
    (
        "exit_status_unknown",
        "several",
        {"nodes": ["gpu01", "gpu02"]},
        "2 nodes logged no exit status of the training. If you know it, add it, for example -e training_exit_status=0.",
    ),
    (
        "no_end_seen",
        "",
        {"line": "[after training is done]"},
        'The log of gpu01 lacks the trainer\'s closing line ("[after training is done]").',
    ),
    (
        "no_end_seen",
        "every_node",
        {"line": "[after training is done]"},
        "No log has the trainer's closing line (\"[after training is done]\"): exit status 0 may be a script's.",
    ),
    ("evidence_missing", "", {"row": "network"}, 'gpu01 has no evidence for "network".'),
    ("logs", "", {"nodes": 1}, "The logs of 1 node belong to this run."),
    (
        "log_cut",
        "",
        {"problem": "/logs/a.log was truncated"},
        "The log of gpu01 may be incomplete: /logs/a.log was truncated.",
    ),
    ("other_log", "other_run", {"log_run_id": "run-6"}, "The log of gpu01 belongs to run run-6."),
    ("other_log", "unnamed", {"log_run_id": None}, "The log of gpu01 does not name its run."),
    (
        "other_log",
        "other_host",
        {"process": "gpu09:77"},
        "The log of gpu01 has lines of another node: NCCL process of another host gpu09:77.",
    ),
    (
        "other_log",
        "other_checkpoint",
        {"other": "gpu00", "resumed": 100, "other_resumed": 200},
        "In one job, gpu01 resumed from step 100, but gpu00 from step 200.",
    ),
    (
        "other_log",
        "before_checkpoint",
        {"resumed": 100, "first_step": 1},
        "By its logs the training resumed from step 100, but the first step of gpu01 is 1.",
    ),
    (
        "other_log",
        "ended_before",
        {"ended": 50, "last_step": 60},
        "The log of gpu01 says that the training ended at step 50, but step 60 was seen.",
    ),
    (
        "other_job",
        "",
        {"other": "gpu00", "ranks": 16, "communicator": "0xb", "communicator_ranks": 8, "other_communicator": "0xa"},
        "NCCL's communicator of all 16 ranks is 0xa on gpu00, but 0xb of 8 on gpu01.",
    ),
    (
        "other_time",
        "steps_apart",
        {"other": "gpu00", "seconds": 500.0},
        "gpu01 and gpu00 took their steps at different times, unlike nodes of one job.",
    ),
    (
        "other_time",
        "dated",
        {"dated": "2026-11-20 10:00:00", "steps_on": "2026-11-28"},
        "The log of gpu01 is dated 2026-11-20 10:00:00, but its job took its steps on 2026-11-28.",
    ),
    (
        "other_time",
        "took_longer",
        {"stamped": 7200.0, "run": 600.0},
        "By their timestamps the steps in the log of gpu01 took 2 h 0 min, but the run took 10 min.",
    ),
    (
        "other_time",
        "other_day",
        {"first": 1000000000.0, "started_at": 1500000000.0},
        "The timestamps in the log of gpu01 are from another day than the run.",
    ),
    (
        "same_log",
        "steps",
        {"other": "gpu00"},
        "The logs of gpu00 and gpu01 share the times and losses of their steps: one of them belongs to another node.",
    ),
    (
        "same_log",
        "ranks",
        {"other": "gpu00", "ranks": "rank 8"},
        "The logs of gpu00 and gpu01 share rank 8: one of them belongs to another node.",
    ),
    (
        "steps_conflict",
        "",
        {"steps": 2},
        "The log of gpu01 prints 2 steps again with other values: it contains two runs.",
    ),
    ("two_runs", "", {"last_step": 10}, "The log of gpu01 reaches step 10, then begins again: it contains two runs."),
    (
        "clock_back",
        "",
        {"seconds": 600.0},
        "The timestamps of gpu01 jump back by 10 min: its lines are out of order, or from two runs.",
    ),
    (
        "clock_moved",
        "back",
        {"by_clock": 0.0, "ran": 600.0},
        "The clock of gpu01 was set back during the run: by it, the training took 0 s, but it ran for 10 min.",
    ),
    (
        "clock_moved",
        "ahead",
        {"by_clock": 4200.0, "ran": 600.0},
        "The clock of gpu01 was set ahead during the run: by it, the training took 70 min, but it ran for 10 min.",
    ),
    (
        "nodes_unknown",
        "",
        {"nodes": 2},
        "The logs of 2 nodes were found. If that is the whole job, add -e training_nodes=2; otherwise, add the other "
        "nodes' logs.",
    ),
    (
        "nodes_unknown",
        "one_node",
        {"nodes": 1},
        "The log of 1 node was found. If that is the whole job, add -e training_nodes=1; otherwise, add the other "
        "nodes' logs.",
    ),
    ("logs_missing", "", {"nodes": 2, "meant": 4}, "The logs of 2 nodes were found, but 4 should have taken part."),
    (
        "logs_missing",
        "one_node",
        {"nodes": 1, "meant": 4},
        "The log of 1 node was found, but 4 should have taken part.",
    ),
    (
        "logs_missing",
        "unreadable",
        {"problem": "/logs cannot be read: Permission denied"},
        "/logs cannot be read: Permission denied.",
    ),
    (
        "logs_left_over",
        "",
        {"nodes": 4, "meant": 2},
        "The logs of 4 nodes were found, but only 2 should have taken part: some may be from another run.",
    ),
    (
        "logs_left_over",
        "core_dump",
        {"file": "core.4242"},
        "core.4242 is the core dump of a process that crashed. If it is from another run, move it away.",
    ),
    (
        "logs_left_over",
        "compressed",
        {"file": "a.err.zst"},
        "a.err.zst is a standard error that is compressed in a way that Python cannot read. Unpack it.",
    ),
    (
        "logs_left_over",
        "unmatched",
        {"file": "b.err"},
        "b.err is named like a standard error, but no log has a matching name, so its node is unknown. Name "
        "it NODE.err.",
    ),
    (
        "other_workload",
        "other_framework",
        {"framework": "megatron", "file": "/logs/a.log", "found": "maxtext"},
        "training_framework is megatron, but /logs/a.log has steps of maxtext.",
    ),
    (
        "other_workload",
        "other_framework_in_config",
        {"framework": "megatron", "file": "/logs/a.log", "found": "maxtext"},
        "training_framework is megatron, but /logs/a.log has steps of maxtext: the training config is of another run.",
    ),
    (
        "no_thresholds",
        "",
        {},
        "There is no threshold to judge by. Add -e training_config=FILE, or, to only record the run, "
        "-e training_record_only=true.",
    ),
    ("no_sign_of_life", "", {}, "The log of gpu01 has none of the lines that a rank prints once it is training."),
    (
        "no_sign_of_life",
        "unfinished",
        {"begin": "[before]", "end": "[after]"},
        "The log of gpu01 has [before] but not [after]: its rank did not finish.",
    ),
    (
        "no_sign_of_life",
        "first_rank",
        {},
        "No log has the lines that rank 0 prints when the training begins; gpu01 should have them.",
    ),
    ("last_step", "", {"step": 10, "goal": 10}, "The last step, 10, was reached."),
    ("last_step", "logged", {"step": 9, "goal": 10}, "The last logged step, 9 of 10, was reached."),
    ("last_step_missing", "", {"step": 7, "goal": 10}, "gpu01 reached only step 7 of 10."),
    (
        "last_step_unknown",
        "",
        {},
        "The planned number of steps is unknown: neither a log nor a training config states it.",
    ),
    ("no_steps", "", {}, "The log of gpu01 has no training step."),
    ("no_steps", "every_node", {}, "No node's log has a training step."),
    (
        "no_steps",
        "not_recognized",
        {"folder": "/logs", "step_lines": {"maxtext": "completed step: N", "megatron": "iteration N/ TOTAL"}},
        "No log in /logs has a step line. Step lines begin like this: maxtext: completed step: N; megatron: "
        "iteration N/ TOTAL.",
    ),
    (
        "began_anew",
        "no_step_since",
        {"last_step": 5},
        "The training on gpu01 restarted after step 5, but its log has no step since.",
    ),
    (
        "began_anew",
        "more_starts",
        {"starts": 2, "seen": 1},
        "Processes started 2 times on gpu01, but 1 time where steps are printed: the last start shows no step.",
    ),
    (
        "began_anew",
        "fewer_starts",
        {"starts": 1, "seen": 3},
        "Processes started 1 time on gpu01, but 3 times where steps are printed: it took no part in the last start.",
    ),
    (
        "samples",
        "",
        {"least": 8, "warm_up": 2, "samples": {"gpu01": 8}},
        "At least 8 steps per node are counted, after a warm-up of 2 steps.",
    ),
    (
        "too_few_samples",
        "",
        {"samples": 2, "needed": 5, "warm_up": 1},
        "Only 2 steps of gpu01 can be judged after the warm-up of 1 step; at least 5 are needed.",
    ),
    (
        "too_few_samples",
        "metric",
        {"metric": "tflops_per_gpu", "samples": 1, "needed": 5, "warm_up": 3},
        "gpu01 reported its TFLOP/s per GPU in only 1 step after the warm-up of 3 steps; at least 5 are needed.",
    ),
    (
        "warm_up",
        "",
        {
            "steps": 1,
            "first": {"value": 5000.0, "unit": "ms"},
            "steady": {"value": 100.0, "unit": "ms"},
            "slowest": "gpu01",
        },
        "Warm-up: first step not counted (5,000 ms, then a steady 100 ms).",
    ),
    (
        "warm_up",
        "of_node",
        {
            "steps": 2,
            "first": {"value": 5000.0, "unit": "ms"},
            "steady": {"value": 100.0, "unit": "ms"},
            "slowest": "gpu01",
        },
        "Warm-up: first 2 steps not counted (5,000 ms on gpu01, then a steady 100 ms).",
    ),
    ("warm_up", "none", {"steps": 0}, "No warm-up: the first steps are as fast as the later ones."),
    ("warm_up", "asked", {"steps": 5}, "Warm-up: first 5 steps of each node not counted, as requested."),
    (
        "warm_up",
        "assumed",
        {"steps": 3, "printed": 8},
        "Warm-up: first 3 steps not counted; 8 are too few to find the steady pace.",
    ),
    (
        "not_steady",
        "",
        {"steps": 10, "nodes": ["gpu01", "gpu02"]},
        "The pace of gpu[01-02] is never steady; the first half of the steps is not counted.",
    ),
    (
        "long_warm_up",
        "detected",
        {"warm_up": 15, "steps": 30, "apart": 0.25},
        "15 of 30 steps were excluded as warm-up, and their pace is 25 % off the pace of the others. If that was a "
        "warm-up, set training_warmup_steps.",
    ),
    (
        "long_warm_up",
        "asked",
        {"warm_up": 15, "steps": 30, "apart": 0.25},
        "15 of 30 steps were excluded as warm-up, and their pace is 25 % off the pace of the others. Lower "
        "training_warmup_steps.",
    ),
    (
        "steps_missing",
        "",
        {"steps": 3, "of": 30, "first_step": 4},
        "The log of gpu01 lacks 3 of 30 steps, the first of them 4.",
    ),
    (
        "loss_missing",
        "",
        {"steps": 1, "first_step": 6},
        "The log of gpu01 has no loss for 1 step, the first of them 6.",
    ),
    (
        "last_loss_missing",
        "",
        {"last_step": 10},
        "The last step, 10, has no loss in the log of gpu01: its line is torn, or the loss was zero.",
    ),
    (
        "metric_gaps",
        "",
        {"metric": "step_time_ms", "steps": 4, "of": 28},
        "gpu01 lacks its step time in 4 of 28 counted steps.",
    ),
    (
        "metric_gaps",
        "every_line",
        {"metric": "grad_norm", "steps": 30},
        "No step line of gpu01 has its gradient norm, which this trainer prints on every line.",
    ),
    (
        "metric_gaps",
        "other_node",
        {"metric": "tflops_per_gpu", "other": "gpu00"},
        "No step line of gpu01 has its TFLOP/s per GPU, but gpu00's do.",
    ),
    ("failure_in_log", "at_end", {}, "The log of gpu01 ends with a failure."),
    (
        "failure_in_log",
        "exit_zero",
        {"class": "nccl"},
        "gpu01 ended with exit status 0, but its log shows a failure (nccl).",
    ),
    (
        "failure_at_end",
        "after_last_step",
        {"class": "disk_full", "line": "No space left on device"},
        "The log of gpu01 reports a failure after its last step (disk_full): No space left on device",
    ),
    (
        "failure_at_end",
        "no_sign_of_life_after",
        {"class": "disk_full", "line": "No space left on device"},
        "The log of gpu01 reports a failure with no sign of training after it (disk_full): No space left on device",
    ),
    (
        "fault_at_end",
        "after_last_step",
        {"class": "disk_full", "line": "No space left on device"},
        "The log of gpu01 reports a failure after its last step (disk_full): No space left on device",
    ),
    (
        "fault_at_end",
        "no_sign_of_life_after",
        {"class": "disk_full", "line": "No space left on device"},
        "The log of gpu01 reports a failure with no sign of training after it (disk_full): No space left on device",
    ),
    (
        "survived_fault",
        "",
        {"class": "gpu_ecc", "line": "an ECC error", "step": 5},
        "gpu01 survived a fault after step 5 (gpu_ecc): an ECC error",
    ),
    (
        "survived_fault",
        "before_first_step",
        {"class": "gpu_ecc", "line": "an ECC error", "step": None},
        "gpu01 survived a fault before the first step (gpu_ecc): an ECC error",
    ),
    (
        "survived_fault",
        "restarted",
        {"class": "restarted", "step": 5, "first_step": 4},
        "The training on gpu01 restarted after step 5 and went on with step 4.",
    ),
    (
        "unusual_last_lines",
        "",
        {"lines": ["retrying", "giving up"]},
        "Unusual last lines on gpu01: retrying / giving up",
    ),
    (
        "slow_rank",
        "",
        {"rank": 11, "gpu": 3, "lines": 20, "share": 0.5},
        "The trainer names rank 11 on gpu01 (GPU 3) as the slowest in more than 50% of 20 lines.",
    ),
    (
        "slow_rank",
        "rehearsal",
        {"rank": 1, "gpu": 0, "lines": 20, "share": 0.5},
        "The trainer names gpu01 as the slowest in more than 50% of 20 lines.",
    ),
    ("stragglers", "no_node", {}, "Nodes cannot be compared: no node has counted step times."),
    ("stragglers", "one_node", {"only": "gpu02"}, "Nodes cannot be compared: only gpu02 has counted step times."),
    (
        "stragglers",
        "two_nodes",
        {"spread": 0.0512},
        "Two nodes differ by 5.1 % in step time; three would show which is slow.",
    ),
    (
        "stragglers",
        "same_pace",
        {"nodes": 16, "spread": 0.0041},
        "All 16 nodes have the same step time, within 0.4 %. Nodes of one job wait for the slowest, so step times do "
        "not show which one that is.",
    ),
    ("stragglers", "none", {"nodes": 16}, "None of 16 nodes is slower than the others."),
    (
        "stragglers",
        "none_for_certain",
        {"nodes": 16, "noisy": ["gpu02", "gpu03"]},
        "None of 16 nodes is slower than the others for certain; the steps of gpu[02-03] vary too much, or are too "
        "few.",
    ),
    (
        "stragglers",
        "slow",
        {
            "slow": [
                {"node": "gpu02", "slower": 0.25, "in_steps": None},
                {"node": "gpu03", "slower": 0.5, "in_steps": 0.2},
            ],
            "compared": 16,
            "median": 100.4,
            "cost": 0.253,
            "without": 0.011,
        },
        "Slow nodes: gpu02 (25 % slower), gpu03 (50 % slower in 20 % of its steps); the median of 16 nodes is 100.4 "
        "ms. Waiting for the slowest node of each step costs 25 % of step time, and 1.1 % without them.",
    ),
    (
        "stragglers",
        "slow_by_itself",
        {
            "slow": [{"node": "gpu02", "slower": 0.25, "in_steps": None}],
            "compared": 3,
            "median": 100.4,
            "cost": 0.253,
            "without": None,
        },
        "Slow nodes: gpu02 (25 % slower); the median of 3 nodes is 100.4 ms. In a job over all of these nodes, waiting "
        "for the slowest node of each step costs 25 % of step time.",
    ),
    (
        "mfu",
        "model_flops",
        {"mfu": 0.0801, "gpu": "mi300x", "precision": "fp8"},
        "MFU is 8.0 % of the peak of mi300x in fp8, by model FLOPs and tokens/s.",
    ),
    (
        "mfu",
        "trainer_tflops",
        {"mfu": 0.41, "gpu": "mi300x", "precision": "bf16"},
        "MFU is 41.0 % of the peak of mi300x in bf16, by TFLOP/s as the trainer counts them.",
    ),
    (
        "pauses",
        "missed_by_mean",
        {"metrics": ["step_time_ms", "tflops_per_gpu"], "median": 100.0, "mean": 150.0},
        "The median step of gpu01 takes 100 ms, the mean 150 ms. Judged by the total time spent, step time and "
        "TFLOP/s per GPU would miss the threshold.",
    ),
    (
        "pauses",
        "missed_by_mean_and_pauses",
        {"metrics": ["step_time_ms"], "wall_clock": 170.0, "median": 100.0, "mean": 150.0},
        "The median step of gpu01 takes 100 ms, the mean 150 ms, and 170 ms with the time between steps. Judged by "
        "the total time spent, step time would miss the threshold.",
    ),
    (
        "pauses",
        "paused",
        {"pause": {"seconds": 7200.0, "after_step": 15}, "steps": 27},
        "gpu01 paused for 2 h 0 min after step 15, longer than all 27 counted steps took. The step times do not "
        "include this pause: find its cause.",
    ),
    (
        "pauses",
        "longer_mean",
        {"median": 100.0, "mean": 150.0},
        "The median step of gpu01 takes 100 ms, the mean 150 ms: some steps, or pauses between them, are much "
        "longer than the median.",
    ),
    (
        "pauses",
        "longer_mean_and_pauses",
        {"wall_clock": 170.0, "median": 100.0, "mean": 150.0},
        "The median step of gpu01 takes 100 ms, the mean 150 ms, and 170 ms with the time between steps: some "
        "steps, or pauses between them, are much longer than the median.",
    ),
    (
        "two_levels",
        "",
        {"levels": [{"steps": 20, "step_time_ms": 100.0}, {"steps": 10, "step_time_ms": 300.0}], "nodes": ["gpu01"]},
        "The step times of gpu01 have two levels: 20 steps take about 100 ms and 10 about 300 ms. Their "
        "median depends on how many steps each level has.",
    ),
    (
        "two_levels",
        "several",
        {
            "levels": [{"steps": 20, "step_time_ms": 100.0}, {"steps": 10, "step_time_ms": 300.0}],
            "nodes": ["gpu01", "gpu02"],
        },
        "The step times of gpu[01-02] have two levels: 20 steps of gpu01 take about 100 ms and 10 about 300 "
        "ms. Their median depends on how many steps each level has.",
    ),
    (
        "longer_than_run",
        "",
        {"ran": 0.06, "claimed": 179.4, "steps": 27},
        "gpu01 ran for 0.06 s, but by its log 27 counted steps took 3 min: these lines are not from this run.",
    ),
    ("slows_down", "", {"drift": 0.312}, "gpu01 slows down: its last fifth of the steps takes 31 % longer."),
    (
        "slows_down",
        "steadily",
        {"drift": 0.041},
        "gpu01 slows down steadily: its last fifth of the steps takes 4.1 % longer.",
    ),
)


def found(code: str, case: str, values: dict[str, t.Any], node: str = "gpu01") -> Reason:
    finding: Reason = {"code": code, "case": case, "values": values, "node": node, "message": ""}
    return {**finding, "message": sentence(VERDICT, finding)}


@pytest.mark.parametrize(
    ("code", "case", "values", "message"),
    ROWS_OF_ENDS_AND_LOGS,
    ids=[f"{code} {case}".strip() for code, case, *_rest in ROWS_OF_ENDS_AND_LOGS],
)
def test_a_finding_of_ends_and_logs_says(code: str, case: str, values: dict[str, t.Any], message: str) -> None:
    assert found(code, case, values)["message"] == message


def test_every_form_of_ends_and_logs_is_in_the_table() -> None:
    forms = {(code, case) for code, cases in catalogue._OF_ENDS_AND_LOGS.items() for case in cases}
    assert forms == {(code, case) for code, case, *_rest in ROWS_OF_ENDS_AND_LOGS}


def test_nodes_with_the_same_cause_are_told_together_whatever_ssh_said_of_each() -> None:
    said = {
        "gpu01": "ssh: connect to host 10.0.0.1 port 22: No route to host",
        "gpu02": "ssh: connect to host 10.0.0.2 port 22: Network is unreachable",
    }
    lost = [found("node_unreachable", "no_route", {"said": text}, node) for node, text in said.items()]
    refused = found("node_unreachable", "connection_refused", {"said": "Connection refused"}, "gpu03")
    assert [one.message for one in told(VERDICT, [*lost, refused])] == [
        refused["message"],
        "gpu[01-02] could not be reached: no way leads to the node's address (for example ssh: connect to host "
        "10.0.0.1 port 22: No route to host).",
    ]


def test_what_nodes_said_that_differs_in_their_names_and_addresses_only_is_told_once() -> None:
    def refused(*texts: str) -> list[str]:
        findings = [
            found("node_not_started", "said", {"said": text}, f"gpu0{place}") for place, text in enumerate(texts, 1)
        ]
        return [one.message for one in told(VERDICT, findings)]

    assert refused("gpu01 is full", "gpu02 is full") == ["gpu[01-02] did not start training: gpu[01-02] is full."]
    assert refused("port 6000 is in use", "port 6001 is in use") == [
        "gpu[01-02] did not start training: port 6000 is in use (shown for gpu01; the others are alike)."
    ]
    assert len(refused("port 6000 is in use", "no space is left")) == 2


def test_a_value_that_the_sentence_does_not_show_keeps_no_nodes_apart() -> None:
    apart = [
        found("other_time", "steps_apart", {"other": "gpu00", "seconds": seconds}, f"gpu0{place}")
        for place, seconds in enumerate((500.0, 700.0), 1)
    ]
    assert [one.nodes for one in told(VERDICT, apart)] == [("gpu01", "gpu02")]


def test_what_an_earlier_version_said_stays() -> None:
    old: Reason = {"code": "node_unreachable", "node": "gpu01", "message": "gpu01 went away."}
    lacking: Reason = {"code": "node_failed", "node": "gpu01", "message": "gpu01 ended badly."}
    assert [one.message for one in told(VERDICT, [old, lacking])] == [old["message"], lacking["message"]]
