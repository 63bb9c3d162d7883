# SPDX-License-Identifier: GPL-3.0-or-later
"""The sentences of a verdict's findings: one form for each code and case. Only here do findings become English.

A code with a single sentence has the case "". `sentences` describes the fields of a form. Codes and cases are public,
see docs/summary.md. `verdict.checks` lists the evidence and the effects of each code.
"""

from __future__ import annotations

import typing as t

from ..contracts import LedgerRow
from ..metrics import ROWS
from .problems import UNREACHABLE
from .sentences import Form

_BY_MEAN = "The median step of {node} takes {median:value step_time_ms}, the mean {mean:value step_time_ms}"
_WITH_PAUSES = ", and {wall_clock:value step_time_ms} with the time between steps"
_MISSED = ". Judged by the total time spent, {metrics:metrics} would miss the threshold."
_LONGER = ": some steps, or pauses between them, are much longer than the median."
_WARMED_UP = "after the warm-up of {warm_up:count step}; at least {needed} are needed."
_NOT_COUNTED = (
    "{warm_up} of {steps} steps were excluded as warm-up, and their pace is {apart:share 2} off the pace of the"
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
_SLOW_NODES = "Slow nodes: {slow:slow_nodes}; the median of {compared} nodes is {median:value step_time_ms}."
_COSTS = "for the slowest node of each step costs {cost:share 2} of step time{without:without}."
_NO_HISTORY = ". Its measurements are kept out of the history."


def _with_cause(text: str) -> dict[str, Form]:
    """Return two forms of an end: one without a cause, and one with the node's or the controller's message."""
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
                f"{{node}} could not be reached: {one.cause} ({{said}}).",
                many=f"{{node}} could not be reached: {one.cause} ({{said:example}}).",
            )
            for code, one in UNREACHABLE.items()
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
            "{nodes[0]} logged no exit status of the training. If you know it, add it, for example "
            "-e training_exit_status=0."
        ),
        "several": Form(
            "{nodes:count node} logged no exit status of the training. If you know it, add it, for example "
            "-e training_exit_status=0."
        ),
    },
    "no_end_seen": {
        "": Form('The log of {node} lacks the trainer\'s closing line ("{line}").'),
        "every_node": Form("No log has the trainer's closing line (\"{line}\"): exit status 0 may be a script's."),
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
        "steps_apart": Form("{node} and {other} took their steps at different times, unlike nodes of one job."),
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
        "": Form("The log of {node} prints {steps:count step} again with other values: it contains two runs.")
    },
    "two_runs": {"": Form("The log of {node} reaches step {last_step}, then begins again: it contains two runs.")},
    "clock_back": {
        "": Form(
            "The timestamps of {node} jump back by {seconds:duration}: its lines are out of order, or from two runs."
        )
    },
    "clock_moved": {
        "back": Form(
            "The clock of {node} was set back during the run: by it, the training took {by_clock:duration}, but it ran "
            "for {ran:duration}."
        ),
        "ahead": Form(
            "The clock of {node} was set ahead during the run: by it, the training took {by_clock:duration}, but it "
            "ran for {ran:duration}."
        ),
    },
    "nodes_unknown": {
        "": Form(
            "The logs of {nodes} nodes were found. If that is the whole job, add -e training_nodes={nodes}; otherwise, "
            "add the other nodes' logs."
        ),
        "one_node": Form(
            "The log of 1 node was found. If that is the whole job, add -e training_nodes=1; otherwise, add the other "
            "nodes' logs."
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
        "": Form(
            "There is no threshold to judge by. Add -e training_config=FILE, or, to only record the run, "
            "-e training_record_only=true."
        )
    },
    # Row "sign of life".
    "no_sign_of_life": {
        "": Form("The log of {node} has none of the lines that a rank prints once it is training."),
        "unfinished": Form("The log of {node} has {begin} but not {end}: its rank did not finish."),
        "first_rank": Form(
            "No log has the lines that rank 0 prints when the training begins; {node} should have them."
        ),
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
        "other_node": Form("No step line of {node} has its {metric:metric}, but {other}'s do."),
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
        ),
        "rehearsal": Form("The trainer names {node} as the slowest in more than {share:.0%} of {lines} lines."),
    },
    "stragglers": {
        "no_node": Form("Nodes cannot be compared: no node has counted step times."),
        "one_node": Form("Nodes cannot be compared: only {only} has counted step times."),
        "two_nodes": Form("Two nodes differ by {spread:share 2} in step time; three would show which is slow."),
        "same_pace": Form(
            "{nodes:all node} have the same step time, within {spread:share 1}. Nodes of one job wait for the slowest, "
            "so step times do not show which one that is."
        ),
        "none": Form("None of {nodes} nodes is slower than the others."),
        "none_for_certain": Form(
            "None of {nodes} nodes is slower than the others for certain; the steps of {noisy:nodes} vary too much, or "
            "are too few."
        ),
        "slow": Form(f"{_SLOW_NODES} Waiting {_COSTS}"),
        "slow_by_itself": Form(f"{_SLOW_NODES} In a job over all of these nodes, waiting {_COSTS}"),
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
            "counted steps took. The step times do not include this pause: find its cause."
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
    "longer_than_run": {
        "": Form(
            "{node} ran for {ran:duration}, but by its log {steps:count counted step} took {claimed:duration}: these "
            "lines are not from this run."
        )
    },
    "slows_down": {
        "": Form("{node} slows down: its last fifth of the steps takes {drift:share 2} longer."),
        "steadily": Form("{node} slows down steadily: its last fifth of the steps takes {drift:share 2} longer."),
    },
}

_CHANGE = "(last fifth against {against:part}: {change}, 95 % interval {low:number} to {high:number} %)"
_ANOTHER = "The log of {node} is from another workload: "
_CONTRADICTS = "The log of {node} contradicts itself: "
_SUCH_TRAFFIC = (
    "its RDMA devices ({devices:list}) sent {total:bytes} of the {least:bytes} that this training has to send at least."
)
_RDMA_UNKNOWN = "Nothing shows whether RDMA was used: no RDMA device of the plan has counters, and "
_SEVERAL_PRINT = "{nodes:count node} print steps, but in one job only one rank does"
# Verbs for the value of a metric on a node.
_DID = {
    "": "reported {bound[metric]:metric} of {value}",
    **{metric: row.did for metric, row in ROWS.items() if row.did},
}


def _of_threshold(end: str = "") -> dict[str, Form]:
    wanted = "{margin:margin} {bound:asked}"
    return {
        case: Form(f"{{bound[node]}} {did}{{bound[statistic]:statistic}}, {wanted}{end}.") for case, did in _DID.items()
    }


_IN_NOISE = (
    "{{node}}: {{value:number}} {} the threshold of {{limit}}, but within the noise ({{low:number}} to "
    "{{high:number}}): another run could {} it."
)

_OF_NUMBERS_AND_NETWORK: t.Final[dict[str, dict[str, Form]]] = {
    # Row "gaps".
    "metric_missing": {
        "": Form("{node} did not report its {metric:metric}; the threshold is {threshold:threshold}."),
        "target_loss": Form(
            "{node} does not show when its loss reached the target, or whether it did; the threshold is "
            "{threshold:threshold}."
        ),
        "optional": Form("No node reported its {metric:metric}; its threshold is optional."),
    },
    "no_loss": {"": Form("The log of {node} has steps but no loss.")},
    # Row "failures".
    "machine_fault": {
        "": Form(
            "{node}: {fact:fact}{details:details}.",
            many="{node}: {fact:fact}: {each}.",
            each="{node}{details:details in brackets}",
        ),
    },
    "machine_note": {
        "": Form("{node}: {fact:fact}{details:details}."),
        "several_nodes": Form("{nodes:nodes} ({nodes:count node}): {fact:fact}."),
    },
    # Row "numbers".
    "finite": {"": Form("All {losses} losses are finite, and so is every other value.")},
    "not_finite": {
        "": Form("The {metric:metric} of {node} is NaN or infinite in step {first_step}."),
        "several_steps": Form(
            "The {metric:metric} of {node} is NaN or infinite in {steps} steps, the first of them {first_step}."
        ),
        "learned_nothing": Form(
            "The {metric:field} of {node} is {value:number} in step {first_step}: that step learned nothing."
        ),
        "evaluation": Form("An evaluation on {node} is NaN or infinite: {where}."),
        "other_field": Form(
            "A field of the step lines of {node} contains NaN, infinity or a norm that is not above 0, first in step "
            "{first_step}."
        ),
    },
    "below_zero": {
        "": Form("The {metric:metric} of {node} is {value:number} in step {first_step}, which is impossible."),
        "learned_nothing": Form(
            "The {metric:field} of {node} is {value:number} in step {first_step}: that step learned nothing."
        ),
    },
    "nan_iterations": {"": Form("The trainer on {node} reported a NaN iteration at step {first_step}.")},
    # Row "skipped".
    "skipped_iterations": {
        "": Form(
            "{node} skipped {skipped:count iteration} after the warm-up, the first of them {first_step}; at most "
            "{allowed} may be (training_max_skipped)."
        ),
    },
    "skipped_unknown": {"": Form("{node} does not report the skipped iterations of {steps:count step}.")},
    "last_step_skipped": {"": Form("The last iteration of {node}, {last_step}, was skipped: it trained nothing.")},
    "idle_steps": {
        "": Form(
            "The {metric:metric} of {node} is 0 in {steps} of {steps_taken:count step}, the first of them "
            "{first_step}: they trained nothing."
        ),
        "updates": Form(
            "{node} counts {updates:g} weight updates over {steps:count step}: some steps trained nothing.",
        ),
        "tokens_with_loss": Form(
            "In {steps:count step} of {node}, the first of them {first_step}, fewer than 1 in 1000 tokens have a loss: "
            "almost nothing was trained."
        ),
    },
    # Row "loss".
    "loss_falls": {"": Form(f"The loss falls over {{samples:count value}} of {{printed_by}} {_CHANGE}.")},
    "loss_rises": {
        "": Form(
            "The loss rises over {samples:count value} of {node}: its last fifth averages {end:.4g}, its lowest "
            "{lowest:.4g}."
        ),
        "diverged": Form("The loss of {node} ends at {end:.4g} after a low of {lowest:.4g}: the training diverged."),
    },
    "loss_flat": {
        "": Form(f"The loss does not fall over {{samples:count value}} of {{node}} {_CHANGE}."),
        "resumed": Form(
            f"The loss does not fall over {{samples:count value}} of {{node}} {_CHANGE}; the training resumed at step "
            "{first_step}."
        ),
    },
    "loss_not_judged": {
        "": Form("{samples} losses of {node} are too few to judge whether the loss is falling; {needed} are needed."),
        "compared": Form(
            f"{{samples}} losses of {{node}} are too few to judge whether the loss is falling {_CHANGE}; {{needed}} "
            "are needed."
        ),
    },
    "loss_negative": {"": Form("The loss of {node} is negative at step {step}, which is impossible.")},
    "loss_constant": {
        "": Form("The loss of {node} is {loss:g} in all {steps} steps: nothing was learned or measured."),
        "at_end": Form("The loss of {node} is {loss:g} in the last {steps} steps: nothing was learned or measured."),
    },
    "loss_too_high": {
        "": Form(
            "The loss of {node} ends at {loss:.4g}, worse than guessing among {vocabulary:.0f} tokens ({guessing:.4g})."
        ),
        "last_step": Form(
            "The last loss of {node} is {loss:.4g}, worse than guessing among {vocabulary:.0f} tokens "
            "({guessing:.4g}): no later loss shows a recovery."
        ),
        "from_the_start": Form(
            "The loss of {node} was high from its first step and falls. At {loss:.4g} it still is worse than guessing "
            "among {vocabulary:.0f} tokens ({guessing:.4g})."
        ),
    },
    "loss_spike": {
        "": Form("The loss of {node} jumps to {loss:.4g} at step {step}, far above its neighbours."),
        "last_step": Form(
            "The last loss of {node}, {loss:.4g}, is far above those before it, and no later loss shows a recovery."
        ),
    },
    "loss_climbs": {
        "": Form(
            "The loss of {node} climbs at its end: its last {losses} losses average {end:.4g}, those before "
            "{before:.4g}."
        ),
    },
    "loss_differs": {
        "": Form("In one job, the {field:field} of step {step} is {found:g} on {node} but {other:g} on {other_node}."),
    },
    # Row "workload".
    "other_workload": {
        "count": Form("{node} trained with {found:exact} {setting:things}; the plan has {planned:exact}."),
        "size": Form("{node} trained with a {setting:field} of {found:exact}; the plan has {planned:exact}."),
        "not_a_number": Form(
            "{node} trained with a {setting:field} that is not a number; the plan has {planned:exact}."
        ),
        "argument": Form("{node} trained with {argument} {found}; the plan has {planned}."),
        "another_node": Form("The {setting:field} is {found:exact} on {node}, but {other:exact} on {other_node}."),
        "another_line": Form(
            "The {setting:field} is {found:exact} in the log of {node}, but {other:exact} in another line of it."
        ),
        "batch_of_ranks": Form(
            _CONTRADICTS + "its global batch size is {other:exact}, but {ranks} ranks of {batch_per_device:exact} each "
            "make {found:exact}."
        ),
        "tokens_with_loss": Form(
            _ANOTHER + "{found:exact} tokens of a step have a loss, but the batch has {planned:exact}."
        ),
        "goes_on": Form(_ANOTHER + "it goes on to step {found}, but the plan ends at {planned}."),
        "samples_of_step": Form(
            _CONTRADICTS + "step {step} has a global batch size of {planned:exact}, but consumed {found:exact} samples."
        ),
        "samples_consumed": Form(
            _ANOTHER + "by step {step} it had consumed {found:exact} samples; with a global batch size of "
            "{global_batch_size:exact} it would be {planned:exact}."
        ),
        "tokens_of_step": Form(
            _ANOTHER + "its tokens/s per GPU times its step time make {found:number} tokens per GPU and step, but the "
            "workload has {planned:number}."
        ),
        "timestamps": Form(
            "The log of {node} does not match itself: its {steps} counted steps take {found:number} s by their step "
            "times, but {planned:number} s by their timestamps. Is it an excerpt, or from another run?"
        ),
        "parameters": Form(_ANOTHER + "its model has {found:billions} parameters; the plan has {planned:billions}."),
    },
    "model_on_cpus": {
        "": Form(
            "{node} has no accelerator and trained a model of {found:billions} parameters instead of "
            "{planned:billions}: this run tested the launch, not the planned training."
        ),
    },
    "settings_differ": {
        "": Form("The log of {node} has two values of the {setting:field}, {found:exacts}: it contains two runs."),
        "argument": Form("The log of {node} has two values of {argument}, {found:texts}: it contains two runs."),
        "parallel_sizes": Form(_CONTRADICTS + "its parallel sizes make {found:g} ranks, but it sees {other}."),
        "micro_batches": Form(
            _CONTRADICTS + "{batch:g} sequences do not divide into micro batches of {micro_batch:g} on {ranks:g} ranks."
        ),
        "updates": Form(
            "{node} counts {updates:g} weight updates over {steps:count step}: its log contains two runs.",
            many="{node} count {updates:g} weight updates over {steps:count step}: their logs contain two runs.",
        ),
    },
    "rates_disagree": {
        "tokens_from_step_to_step": Form(
            "The tokens/s per GPU and the step times of {node} contradict each other from step to step."
        ),
        "flops_from_step_to_step": Form(
            "The TFLOP/s per GPU and the step times of {node} contradict each other from step to step."
        ),
        "flops_of_another_node": Form(
            "A device of {node} computes {found:number} TFLOP in a step, but one of {other} computes {planned:number}; "
            "in one job all compute the same."
        ),
        "flops_per_token": Form(
            "The TFLOP/s per GPU of {node} times its step time make {found:giga 3} GFLOP per token, but the model "
            "needs {planned:giga 3}."
        ),
        "flops_of_step": Form(
            "The TFLOP/s of {node} times its step time make {found:.6g} TFLOPs, but its log says that a step has "
            "{planned:.6g}."
        ),
        "step_time_of_bars": Form(
            "The progress bars of {node} contradict themselves: a step takes {found:number} ms by their rate, but "
            "{planned:number} ms by their elapsed time."
        ),
        "tokens_by_elapsed_time": Form(
            "By the elapsed time, the throughput of {node} makes {found:number} tokens per GPU in a step, but a step "
            "has {planned:number}."
        ),
        "samples_by_elapsed_time": Form(
            "By the elapsed time, the throughput of {node} makes {found:number} samples in a step, but a step has "
            "{planned:number}."
        ),
        "timestamps": Form(
            "Nearly every step of {node} lasts longer by its timestamps than by its step time: {steps} counted steps "
            "take {found:number} s by their step times, but {planned:number} s by their timestamps."
        ),
    },
    "workload": {"": Form("The logs match the planned workload, as far as they show it.")},
    "world": {"": Form("The trainer sees {ranks:every} ranks of the job.")},
    "world_unknown": {"": Form("No log says how many ranks the trainer sees.")},
    "world_size": {
        "": Form(
            "{node} trained with the wrong world size: it sees {world_size:count rank}, but the job has {ranks}.",
            many="{node} trained with the wrong world size: each sees {world_size:count rank}, but the job has "
            "{ranks}.",
        ),
        "nccl": Form("{node} trained with the wrong world size: NCCL has {world_size} ranks, the job {ranks}."),
    },
    "trained_alone": {
        "": Form(
            "{node} trained alone: it sees {world_size:count rank}, but the job has {ranks}.",
            many="{node} trained alone: each sees {world_size:count rank}, but the job has {ranks}.",
        ),
        "several_print": Form(
            f"{_SEVERAL_PRINT}, and their TFLOP/s match about {{matching_ranks:.0f}} of the {{ranks}} ranks: they "
            "trained alone."
        ),
    },
    "alone_suspected": {
        "": Form(f"{_SEVERAL_PRINT}: they may have trained alone."),
        "nccl": Form(
            "{node} may have trained alone: NCCL connects it with no other node, in communicators of up to "
            "{world_size:count rank}; the job has {ranks}.",
            many="{node} may have trained alone: NCCL connects none of them with another node, in communicators of up "
            "to {world_size:count rank}; the job has {ranks}.",
        ),
    },
    "impossible": {
        "memory": Form("{node} reports {value} of its GPU memory in use, which is impossible."),
        "zero_rate": Form("{node} reports 0{metric:unit} in at least 1 of 20 steps: these trained nothing."),
        "above_peak": Form(
            "{node} reports {value}, but the peak of {gpu} in {precision} is {peak_tflops:value tflops_per_gpu}."
        ),
        "above_peak_by_tokens": Form(
            "{node} reports {value}, which takes {tflops:number} TFLOP/s, but the peak of {gpu} in {precision} is "
            "{peak_tflops:value tflops_per_gpu}."
        ),
        "above_any_peak": Form(
            "{node} reports {value}, but no accelerator reaches {most_tflops:value tflops_per_gpu}."
        ),
        "above_any_peak_by_tokens": Form(
            "{node} reports {value}, which takes {tflops:number} TFLOP/s, but no accelerator reaches "
            "{most_tflops:value tflops_per_gpu}."
        ),
        "learning_rate": Form("The learning rate of {node} is {value} in step {step}, too high to learn anything."),
    },
    # Row "network".
    "tcp_transport": {
        "": Form(
            "NCCL uses TCP on {node}, but the plan uses RDMA: its log names NET/Socket.",
            many="NCCL uses TCP on {node}, but the plan uses RDMA: their logs name NET/Socket.",
        )
    },
    "transport": {
        "rdma": Form("RDMA devices of {nodes:count node} sent {lowest:bytes}; this training needs {least:bytes}."),
        "rdma_each": Form(
            "RDMA devices of {nodes:count node} sent {lowest:bytes} to {highest:bytes} each; this training needs "
            "{least:bytes}."
        ),
        "nccl": Form("NCCL uses {networks:and} on {nodes:count node}."),
    },
    "low_traffic": {
        "": Form(f"Nothing shows that {{node}} used RDMA: {_SUCH_TRAFFIC}"),
        "named_by_nccl": Form(f"NCCL names {{networks:and}} on {{node}}, but {_SUCH_TRAFFIC}"),
    },
    "uneven_traffic": {
        "": Form(
            "The RDMA devices of {node} shared the traffic unevenly: {idle:sizes}, against a median of {median:bytes}."
        ),
    },
    "transport_unknown": {
        "": Form(_RDMA_UNKNOWN + "no log has NCCL's network, although NCCL_DEBUG makes NCCL print it."),
        "debug_level": Form(_RDMA_UNKNOWN + "NCCL prints its network only with NCCL_DEBUG=INFO; here it is {level}."),
        "debug_level_not_set": Form(
            _RDMA_UNKNOWN + "NCCL prints its network only with NCCL_DEBUG=INFO; here it is not set."
        ),
        "of_some_nodes": Form(
            "Nothing shows whether {node} uses RDMA: only other nodes have counters, or log NCCL's network."
        ),
        "no_counters_read": Form("Nothing in the logs shows whether RDMA was used; no counters were read."),
    },
    # The whole run.
    "threshold_met": _of_threshold(),
    "threshold_missed": _of_threshold(),
    "threshold_open": _of_threshold(", but the training did not finish"),
    "threshold_in_noise": {
        "met": Form(_IN_NOISE.format("meets", "miss")),
        "missed": Form(_IN_NOISE.format("misses", "meet")),
    },
    "thresholds_not_judged": {
        "rehearsal": Form("Thresholds were not judged (this was a rehearsal)."),
        "record_only": Form("Thresholds were not judged (the run is only recorded)."),
    },
}

# A code may have cases in both.
VERDICT: t.Final[dict[str, dict[str, Form]]] = {
    code: {**_OF_ENDS_AND_LOGS.get(code, {}), **_OF_NUMBERS_AND_NETWORK.get(code, {})}
    for code in (*_OF_ENDS_AND_LOGS, *_OF_NUMBERS_AND_NETWORK)
}

# Ledger rows about steps, for nodes whose steps another rank prints.
_ELSEWHERE: t.Final = {"printed_elsewhere": Form("printed by the {printed_by}, on {nodes:list}")}
_NO_EVIDENCE: t.Final = {"no_evidence": Form("no evidence")}
# The evidence for each row of the ledger.
PROOFS: t.Final[dict[LedgerRow, dict[str, Form]]] = {
    "exit status": {
        "": Form("{exit_status}"),
        "stopped": Form("stopped because {other} failed"),
        **_NO_EVIDENCE,
    },
    "log": {
        "": Form("its first line names run {run_id}"),
        "named_by_user": Form("named by the user, unlike any other node's log"),
        **_NO_EVIDENCE,
    },
    "sign of life": {
        "": Form("prints steps"),
        "line": Form("prints {line}"),
        "outranked": Form("none of its own; the run was seen to train to its end"),
        **_NO_EVIDENCE,
    },
    "steps": {"": Form("{first} to {last} of {goal}"), **_ELSEWHERE, **_NO_EVIDENCE},
    "gaps": {"": Form("{steps:count step} in a row, with their losses"), **_ELSEWHERE, **_NO_EVIDENCE},
    "last line": {"": Form("{line}", many="{line} and {others:count other line}"), **_NO_EVIDENCE},
    "failures": {
        "": Form("none after the last step"),
        "failed": Form("{class}: {line}"),
        "outranked": Form("none of its own; the run was seen to train to its end"),
        **_NO_EVIDENCE,
    },
    "numbers": {"": Form("{values} values, all finite"), **_ELSEWHERE, **_NO_EVIDENCE},
    "skipped": {
        "": Form("{skipped:g} of {steps:count iteration}"),
        "not_reported": Form("this trainer does not report them"),
        **_ELSEWHERE,
        **_NO_EVIDENCE,
    },
    "loss": {
        "": Form("{direction}: {first:.4g} to {last:.4g}"),
        "ends_early": Form("{direction}: {first:.4g} to {last:.4g}, none after step {step}"),
        **_ELSEWHERE,
        **_NO_EVIDENCE,
    },
    "workload": {
        "": Form("no sizes in the log"),
        "agrees": Form("{agrees:all_listed}"),
        **_ELSEWHERE,
        **_NO_EVIDENCE,
    },
    "network": {
        "not_needed": Form("no RDMA is needed"),
        "unknown": Form("the logs do not show it"),
        "counters": Form("{sent:bytes} sent by {devices:count RDMA device}, at least {least:bytes} needed"),
        "log": Form("{transports:and}"),
        "counters_and_log": Form(
            "{sent:bytes} sent by {devices:count RDMA device}, at least {least:bytes} needed and {transports:and}"
        ),
        **_NO_EVIDENCE,
    },
    "time": {
        "": Form("median {median:number}, mean {mean:number} ms"),
        "wall_clock": Form("median {median:number}, mean {mean:number}, wall clock {wall_clock:number} ms"),
        "too_few": Form("fewer than two counted step times"),
        **_ELSEWHERE,
        **_NO_EVIDENCE,
    },
}
