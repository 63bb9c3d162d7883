# SPDX-License-Identifier: GPL-3.0-or-later
"""What the findings of a verdict say: for each code and case one form, the only place where they become English.

A code whose findings all say the same has the case ""; the fields of a form are described in `sentences`. Codes and
cases are public, see docs/summary.md. What a code looks at, and what it may do, stands in `verdict.checks`.
"""

from __future__ import annotations

import typing as t

from .sentences import Form

# Why ssh did not reach a node, by the codes of `unreachable`.
_UNREACHABLE = {
    "unknown_host": "no such host name is known to this machine",
    "host_key_changed": "the node has another host key than the one that this machine knows",
    "host_key_unknown": "this machine does not know the node's host key",
    "login_refused": "the node is up, but refuses the login",
    "connection_refused": "the node is up, but nothing listens on its SSH port",
    "no_route": "no way leads to the node's address",
    "timeout": "nothing answers at the node's address",
    "connection_ended": "the node ended the connection",
}
_BY_MEAN = "The median step of {node} takes {median:value step_time_ms}, the mean {mean:value step_time_ms}"
_WITH_PAUSES = ", and {wall_clock:value step_time_ms} with the time between steps"
_MISSED = ". By the time really spent, {metrics:metrics} would miss the threshold."
_LONGER = ": some steps, or pauses between steps, take longer."
_WARMED_UP = "after the warm-up of {warm_up:count step}; at least {needed} are needed."
_NOT_COUNTED = (
    "{warm_up} of {steps} steps are not counted, as warm-up, and their pace is {apart:share 2} off that of the"
)
_OWN_FAILURE = {
    "after_last_step": Form("The log of {node} reports a failure after its last step ({class}): {line}"),
    "no_sign_of_life_after": Form(
        "The log of {node} reports a failure with no sign of training after it ({class}): {line}"
    ),
}
# How another attempt at a run began.
_BEGINNINGS = {
    "no_checkpoints": "it started from the first step, because its config resumes from no checkpoint",
    "may_resume": "it could resume from the last checkpoint in {checkpoints}",
    "resumed": "it resumed with step {began_with}, from the last checkpoint in {checkpoints}",
    "no_checkpoint_found": "it started from the first step, because it found no checkpoint in {checkpoints}",
}
_ATTEMPT = "Attempt {attempt} at {first}: {left_out:left_out}"
_ON_FEWER = "it ran on {nodes} of {nodes_of_first} nodes; "
_NO_HISTORY = ". Its measurements are kept out of the history."


def _with_cause(text: str) -> dict[str, Form]:
    """Return the forms of an end of which nothing more is known, or what the node or the controller said."""
    return {"": Form(f"{text}."), "said": Form(f"{text}: {{said}}.")}


_OF_ENDS_AND_LOGS: t.Final[dict[str, dict[str, Form]]] = {
    # Row "exit status".
    "nodes": {"": Form("{nodes:all node} took part and ended with exit status 0.")},
    "retry": {
        name + suffix: Form(f"{_ATTEMPT}{size}{text}{_NO_HISTORY}")
        for name, text in _BEGINNINGS.items()
        for suffix, size in (("", ""), ("_on_fewer_nodes", _ON_FEWER))
    },
    "taken_up": {"": Form("The training finished at {ended_at}, not started by this command.")},
    "node_not_started": _with_cause("{node} did not start training"),
    "node_failed": {"": Form("{node} ended with exit status {exit_status}.")},
    "node_killed": {"": Form("The training on {node} was killed.")},
    "node_unreachable": {
        **_with_cause("{node} could not be reached"),
        **{
            code: Form(
                f"{{node}} could not be reached: {cause} ({{said}}).",
                many=f"{{node}} could not be reached: {cause} ({{said:example}}).",
            )
            for code, cause in _UNREACHABLE.items()
        },
    },
    "node_bad_answer": _with_cause("{node} gave an unusable answer"),
    "node_gone": _with_cause("It is unknown how the training on {node} ended"),
    "node_stalled": _with_cause("The training on {node} hung"),
    "node_running": {"": Form("{node} was still training when it last answered.")},
    "node_stopped": _with_cause("{node} was stopped before the training finished"),
    "node_outage": {
        "": Form("{node} did not answer for {seconds:duration} from {since}; following resumed afterwards."),
        "several": Form(
            "{node} did not answer {outages} times from {since}, {seconds:duration} in total; following resumed "
            "afterwards."
        ),
    },
    "exit_status_unknown": {
        "": Form(
            "It is unknown how the training on {nodes[0]} ended: its log lacks the exit status. Set "
            "training_exit_status if you know it."
        ),
        "several": Form(
            "It is unknown how the training on {nodes:count node} ended: their logs lack the exit status. Set "
            "training_exit_status if you know it."
        ),
    },
    "no_end_seen": {
        "": Form('The log of {node} lacks the line with which the trainer ends ("{line}").'),
        "every_node": Form(
            'No log has the line with which the trainer ends ("{line}"): exit status 0 may be that of a script.'
        ),
    },
    "evidence_missing": {"": Form('{node} has no evidence for "{row}".')},
    # Row "log".
    "logs": {"": Form("The logs of {nodes:count node} belong to this run.")},
    "log_cut": {"": Form("The log of {node} may be incomplete: {problem}.")},
    "other_log": {
        "other_run": Form("The log of {node} belongs to run {log_run_id}."),
        "unnamed": Form("The log of {node} does not name its run."),
        "other_host": Form("The log of {node} has lines of another node: NCCL process of another host {process}."),
        "other_checkpoint": Form(
            "In one job, {node} resumed from step {resumed}, but {other} from step {other_resumed}."
        ),
        "before_checkpoint": Form(
            "By its logs the training resumed from step {resumed}, but the first step of {node} is {first_step}."
        ),
        "ended_before": Form(
            "The log of {node} says that the training ended at step {ended}, but step {last_step} was seen."
        ),
    },
    "other_job": {
        "": Form(
            "NCCL's communicator of all {ranks} ranks is {other_communicator} on {other}, but {communicator} of "
            "{communicator_ranks} on {node}."
        )
    },
    "other_time": {
        "steps_apart": Form(
            "{node} and {other} did not take their steps at the same time, as the nodes of one job do."
        ),
        "dated": Form("The log of {node} is dated {dated}, but its job took its steps on {steps_on}."),
        "took_longer": Form(
            "By their timestamps the steps in the log of {node} took {stamped:duration}, but the run took "
            "{run:duration}."
        ),
        "other_day": Form("The timestamps in the log of {node} are from another day than the run."),
    },
    "same_log": {
        "steps": Form(
            "The logs of {other} and {node} share the times and losses of their steps: one of them belongs to another "
            "node."
        ),
        "ranks": Form("The logs of {other} and {node} share {ranks}: one of them belongs to another node."),
    },
    "steps_conflict": {
        "": Form("The log of {node} prints {steps:count step} again with other values: it holds two runs.")
    },
    "two_runs": {"": Form("The log of {node} reaches step {last_step}, then begins again: it holds two runs.")},
    "clock_back": {
        "": Form(
            "The timestamps of {node} jump back by {seconds:duration}: its lines are out of order, or from two runs."
        )
    },
    "nodes_unknown": {
        "": Form(
            "The logs of {nodes} nodes were found; others may have taken part. Set training_nodes, or name the "
            "training config."
        ),
        "one_node": Form(
            "The log of 1 node was found; others may have taken part. Set training_nodes, or name the training config."
        ),
    },
    "logs_missing": {
        "": Form("The logs of {nodes} nodes were found, but {meant} should have taken part."),
        "one_node": Form("The log of 1 node was found, but {meant} should have taken part."),
        "unreadable": Form("{problem}."),
    },
    "logs_left_over": {
        "": Form(
            "The logs of {nodes} nodes were found, but only {meant} should have taken part: some may be from another "
            "run."
        ),
        "core_dump": Form(
            "{file} is the core dump of a process that crashed. If it is from another run, move it away."
        ),
        "compressed": Form(
            "{file} is a standard error that is compressed in a way that Python cannot read. Unpack it."
        ),
        "unmatched": Form(
            "{file} is named like a standard error, but no log has a matching name, so its node is unknown. Name it "
            "NODE.err."
        ),
    },
    "other_workload": {
        "other_framework": Form("training_framework is {framework}, but {file} has steps of {found}."),
        "other_framework_in_config": Form(
            "training_framework is {framework}, but {file} has steps of {found}: the training config is of another run."
        ),
    },
    "no_thresholds": {
        "": Form("There is no threshold to judge by. Name the training config, or set training_record_only=true.")
    },
    # Row "sign of life".
    "no_sign_of_life": {
        "": Form("The log of {node} has none of the lines that a rank prints once it is training."),
        "unfinished": Form("The log of {node} has {begin} but not {end}: its rank did not finish."),
        "first_rank": Form("No log has what rank 0 prints when the training begins; that of {node} should."),
    },
    # Row "steps".
    "last_step": {
        "": Form("The last step, {step}, was reached."),
        "logged": Form("The last logged step, {step} of {goal}, was reached."),
    },
    "last_step_missing": {"": Form("{node} reached only step {step} of {goal}.")},
    "last_step_unknown": {
        "": Form("The planned number of steps is unknown: neither a log nor a training config states it.")
    },
    "no_steps": {
        "": Form("The log of {node} has no training step."),
        "every_node": Form("No node's log has a training step."),
        "not_recognized": Form("No log in {folder} has a step line. Step lines begin like this: {step_lines:pairs}."),
    },
    "began_anew": {
        "no_step_since": Form(
            "The training on {node} restarted after step {last_step}, but its log has no step since."
        ),
        "more_starts": Form(
            "Processes started {starts:count time} on {node}, but {seen:count time} where steps are printed: the last "
            "start shows no step."
        ),
        "fewer_starts": Form(
            "Processes started {starts:count time} on {node}, but {seen:count time} where steps are printed: it took "
            "no part in the last start."
        ),
    },
    "samples": {"": Form("At least {least} steps per node are counted, after a warm-up of {warm_up:count step}.")},
    "too_few_samples": {
        "": Form(f"Only {{samples:count step}} of {{node}} can be judged {_WARMED_UP}"),
        "metric": Form(f"{{node}} reported its {{metric:metric}} in only {{samples:count step}} {_WARMED_UP}"),
    },
    "warm_up": {
        "": Form("Warm-up: {steps:first step} not counted ({first}, then a steady {steady})."),
        "of_node": Form("Warm-up: {steps:first step} not counted ({first} on {slowest}, then a steady {steady})."),
        "none": Form("No warm-up: the first steps are as fast as the later ones."),
        "asked": Form("Warm-up: {steps:first step} of each node not counted, as requested."),
        "assumed": Form("Warm-up: {steps:first step} not counted; {printed} are too few to find the steady pace."),
    },
    "not_steady": {"": Form("The pace of {nodes:nodes} is never steady; the first half of the steps is not counted.")},
    "long_warm_up": {
        "detected": Form(f"{_NOT_COUNTED} others. If that was a warm-up, set training_warmup_steps."),
        "asked": Form(f"{_NOT_COUNTED} others. Lower training_warmup_steps."),
    },
    # Row "gaps".
    "steps_missing": {"": Form("The log of {node} lacks {steps} of {of:count step}, the first of them {first_step}.")},
    "loss_missing": {"": Form("The log of {node} has no loss for {steps:count step}, the first of them {first_step}.")},
    "last_loss_missing": {
        "": Form(
            "The last step, {last_step}, has no loss in the log of {node}: its line is torn, or the loss was zero."
        )
    },
    "metric_gaps": {
        "": Form("{node} lacks its {metric:metric} in {steps} of {of:count counted step}."),
        "every_line": Form("No step line of {node} has its {metric:metric}, which this trainer prints on every line."),
        "other_node": Form("No step line of {node} has its {metric:metric}, but those of {other} do."),
    },
    # Row "failures".
    "failure_in_log": {
        "at_end": Form("The log of {node} ends with a failure."),
        "exit_zero": Form("{node} ended with exit status 0, but its log shows a failure ({class})."),
    },
    "failure_at_end": _OWN_FAILURE,
    "fault_at_end": _OWN_FAILURE,
    "survived_fault": {
        "": Form("{node} survived a fault after step {step} ({class}): {line}"),
        "before_first_step": Form("{node} survived a fault before the first step ({class}): {line}"),
        "restarted": Form("The training on {node} restarted after step {step} and went on with step {first_step}."),
    },
    "unusual_last_lines": {"": Form("Unusual last lines on {node}: {lines:lines}")},
    "slow_rank": {
        "": Form(
            "The trainer names rank {rank} on {node} (GPU {gpu}) as the slowest in more than {share:.0%} of {lines} "
            "lines."
        )
    },
    "mfu": {
        "model_flops": Form("MFU is {mfu:percent 1} of the peak of {gpu} in {precision}, by model FLOPs and tokens/s."),
        "trainer_tflops": Form(
            "MFU is {mfu:percent 1} of the peak of {gpu} in {precision}, by TFLOP/s as the trainer counts them."
        ),
    },
    # Row "time".
    "pauses": {
        "missed_by_mean": Form(f"{_BY_MEAN}{_MISSED}"),
        "missed_by_mean_and_pauses": Form(f"{_BY_MEAN}{_WITH_PAUSES}{_MISSED}"),
        "paused": Form(
            "{node} paused for {pause[seconds]:duration} after step {pause[after_step]}, longer than all {steps} "
            "counted steps took. Find out what it did; the step times do not include it."
        ),
        "longer_mean": Form(f"{_BY_MEAN}{_LONGER}"),
        "longer_mean_and_pauses": Form(f"{_BY_MEAN}{_WITH_PAUSES}{_LONGER}"),
    },
    "two_levels": {
        "": Form(
            "The step times of {node} have two levels: {levels[0][steps]} steps take about "
            "{levels[0][step_time_ms]:value step_time_ms} and {levels[1][steps]} about "
            "{levels[1][step_time_ms]:value step_time_ms}. Their median depends on how many steps each level has."
        ),
        "several": Form(
            "The step times of {nodes:nodes} have two levels: {levels[0][steps]} steps of {nodes[0]} take about "
            "{levels[0][step_time_ms]:value step_time_ms} and {levels[1][steps]} about "
            "{levels[1][step_time_ms]:value step_time_ms}. Their median depends on how many steps each level has."
        ),
    },
    "slows_down": {"": Form("{node} slows down: its last fifth of the steps takes {drift:share 2} longer.")},
}

_OF_NUMBERS_AND_NETWORK: t.Final[dict[str, dict[str, Form]]] = {}

# A code may have cases in both.
VERDICT: t.Final[dict[str, dict[str, Form]]] = {
    code: {**_OF_ENDS_AND_LOGS.get(code, {}), **_OF_NUMBERS_AND_NETWORK.get(code, {})}
    for code in (*_OF_ENDS_AND_LOGS, *_OF_NUMBERS_AND_NETWORK)
}
