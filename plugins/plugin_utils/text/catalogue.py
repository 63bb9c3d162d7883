# SPDX-License-Identifier: GPL-3.0-or-later
"""What the findings of a verdict say: for each code and case one form, the only place where they become English.

A code whose findings all say the same has the case ""; the fields of a form are described in `sentences`. Codes and
cases are public, see docs/summary.md. What a code looks at, and what it may do, stands in `verdict.checks`.
"""

from __future__ import annotations

import typing as t

from .sentences import Form

_OF_ENDS_AND_LOGS: t.Final[dict[str, dict[str, Form]]] = {
    # Row "exit status".
    "nodes": {"": Form("{nodes:all node} took part and ended with exit status 0.")},
    "taken_up": {"": Form("The training finished at {ended_at}, not started by this command.")},
    # Row "steps".
    "last_step": {
        "": Form("The last step, {step}, was reached."),
        "logged": Form("The last logged step, {step} of {goal}, was reached."),
    },
    "last_step_missing": {"": Form("{node} reached only step {step} of {goal}.")},
}

_CHANGE = "(last fifth against {against:part}: {change}, 95 % interval {low:number} to {high:number} %)"
_ANOTHER = "The log of {node} is from another workload: "
_CONTRADICTS = "The log of {node} contradicts itself: "
_SUCH_TRAFFIC = (
    "its RDMA devices ({devices:list}) sent {total:bytes} of the {least:bytes} that this training has to send at least."
)
_RDMA_UNKNOWN = "Whether RDMA was used is unknown: no RDMA device that the plan names has counters, and "
_SEVERAL_PRINT = "{nodes:count node} print steps, but in one job only the last rank does"
# What a node did, by metric.
_DID = {
    "": "reported {bound[metric]:metric} of {value}",
    "step_time_ms": "took {value} per step",
    "tflops_per_gpu": "reached {value}",
    "tokens_per_sec_per_gpu": "reached {value}",
    "memory_fraction": "used {value} of its GPU memory",
    "loss": "ended with a loss of {value}",
    "steps_to_target_loss": "came to the target loss at step {value:number}",
    "time_to_target_loss": "came to the target loss after {value}",
    "checkpoint_save_seconds": "took up to {value} to write a checkpoint",
}


def _of_threshold(end: str = "") -> dict[str, Form]:
    wanted = "{margin:margin} {bound:asked}"
    return {
        case: Form(f"{{bound[node]}} {did}{{bound[statistic]:statistic}}, {wanted}{end}.") for case, did in _DID.items()
    }


_IN_NOISE = (
    "{node}: {value:number} of {limit} is within the noise ({low:number} to {high:number}). Another run could have "
)

_OF_NUMBERS_AND_NETWORK: t.Final[dict[str, dict[str, Form]]] = {
    # Row "gaps".
    "metric_missing": {
        "": Form("{node} did not report its {metric:metric}; the threshold is {threshold:threshold}."),
        "target_loss": Form(
            "{node} does not show when its loss came to the target, if it did; the threshold is {threshold:threshold}."
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
            "A field of the step lines of {node} holds NaN, infinity or a norm that is not above 0, first in step "
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
        "not_a_number": Form("{node} trained with a {setting:field} that is no number; the plan has {planned:exact}."),
        "argument": Form("{node} trained with {argument} {found}; the plan has {planned}."),
        "another_node": Form(
            "The {setting:field} is {found:exact} in the log of {node}, but {other:exact} in that of {other_node}."
        ),
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
            "The log of {node} is from another workload, or was edited: its {steps} counted steps take {found:number} "
            "s by their step times, but {planned:number} s by their timestamps."
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
        "": Form("The log of {node} has two values of the {setting:field}, {found:exacts}: it holds two runs."),
        "argument": Form("The log of {node} has two values of {argument}, {found:texts}: it holds two runs."),
        "parallel_sizes": Form(_CONTRADICTS + "its parallel sizes make {found:g} ranks, but it sees {other}."),
        "micro_batches": Form(
            _CONTRADICTS + "{batch:g} sequences do not divide into micro batches of {micro_batch:g} on {ranks:g} ranks."
        ),
        "updates": Form(
            "{node} counts {updates:g} weight updates over {steps:count step}: its log holds two runs.",
            many="{node} count {updates:g} weight updates over {steps:count step}: their logs hold two runs.",
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
    "alone_suspected": {"": Form(f"{_SEVERAL_PRINT}: they may have trained alone.")},
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
        "": Form(_RDMA_UNKNOWN + "no log names NCCL's network although NCCL_DEBUG makes NCCL do so."),
        "debug_level": Form(_RDMA_UNKNOWN + "NCCL names its network only with NCCL_DEBUG=INFO; here it is {level}."),
        "debug_level_not_set": Form(
            _RDMA_UNKNOWN + "NCCL names its network only with NCCL_DEBUG=INFO; here it is not set."
        ),
        "of_some_nodes": Form(
            "Whether {node} uses RDMA is unknown: only other nodes have counters, or name NCCL's network."
        ),
        "no_counters_read": Form("Nothing in the logs shows whether RDMA was used; no counters were read."),
    },
    # Of the run as a whole.
    "threshold_met": _of_threshold(),
    "threshold_missed": _of_threshold(),
    "threshold_open": _of_threshold(", but the training did not finish"),
    "threshold_in_noise": {
        "met": Form(f"{_IN_NOISE}missed the threshold."),
        "missed": Form(f"{_IN_NOISE}met the threshold."),
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
