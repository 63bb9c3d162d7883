# SPDX-License-Identifier: GPL-3.0-or-later
"""The sentences of a first failure without a log line: how a node ended, by class of failure and case.

A failure with a log line is quoted, and needs no sentence of ours.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from .problems import SENTENCES, UNREACHABLE, UNREACHABLE_OTHERWISE
from .sentences import filled
from .words import listed

_HOLDS = "{who} holds the others up: {evidence}."
_HOLD = "{who} hold the others up: {evidence}."
_HUNG = "The training hung: {said}."
_CHECK_RANK = "Check that rank and its node first."
_READ_ITS_LOG = "Read the log of that node and its kernel log: its process ended, or its network did."
_READ_LOG = "Read the last lines of its log."
_UNUSABLE = "Find out what alters its answers: its Python, its shell's output, or a user with root."
_REMOVED = "Find out what removed it, such as a clean-up job, and put log_dir where nothing is cleaned up."
_NUMBER = "Check that log line: the trainer could not measure the value, or the line is torn or was edited."
_MODEL = (
    "The loss or the gradients became NaN or infinite: check data, precision and learning rate; if only one rank is "
    "affected, check its GPU."
)


class End(t.NamedTuple):
    """The sentence and the remedy for an end; without a remedy, the remedy of the failure's class applies."""

    text: str
    remedy: str = ""


_BY_SLURM = {"job_ended": End("{said}")}

ENDS: t.Final[Mapping[str, Mapping[str, End]]] = {
    "rebooted": {
        "": End(
            "The node rebooted during the training.",
            "Check the log of the previous boot (journalctl --boot=-1), the BMC event log and the power supply.",
        )
    },
    "disk_full": {
        "": End(
            "The disk of {path} is full: neither the log nor the exit status could be written.",
            "Free space there (df, du), or put log_dir on another disk.",
        )
    },
    "engine_stopped": {
        "": End(
            "The container engine cannot say how the training ended: {said}.",
            "Find out why the engine stopped (systemctl status, journalctl --unit of docker or podman), and start it.",
        )
    },
    "container_removed": {
        "": End(
            "The container was removed while it was training.",
            "Find out who or what removed it (docker events, a clean-up job with docker prune or rm).",
        )
    },
    "host_memory": {
        "": End(
            "The kernel killed a training process because memory ran out.",
            "Give the container or the Slurm job (--mem) more memory, or make the training use less: fewer data "
            "workers, a smaller cache.",
        ),
        **_BY_SLURM,
    },
    "killed": {
        "": End(
            "The training was killed (SIGKILL).",
            "Check that node for the out-of-memory killer (dmesg), another user or a scheduler.",
        )
    },
    "unreachable": {
        "": End("The node did not answer: nothing more is known.", UNREACHABLE_OTHERWISE),
        "said": End("The node did not answer: {said}.", UNREACHABLE_OTHERWISE),
        **{
            code: End(f"{one.cause[0].upper()}{one.cause[1:]} ({{said}}).", one.remedy)
            for code, one in UNREACHABLE.items()
        },
    },
    "bad_answer": {
        "": End("The node gave an unusable answer: nothing more is known.", _UNUSABLE),
        "said": End("The node gave an unusable answer: {said}.", _UNUSABLE),
    },
    "run_folder_gone": {
        "": End("The node lost the state of the run: nothing more is known.", _REMOVED),
        "said": End("The node lost the state of the run: {said}.", _REMOVED),
    },
    "log_moved": {
        "": End(
            "The log could no longer be followed: {said}.",
            "Exclude run logs from rotation and clean-up: the training keeps writing to the old file.",
        )
    },
    "stalled": {
        "": End(
            _HUNG,
            "Compare the last log lines of the nodes. Next time, install py-spy on the nodes: the report then shows "
            "which rank is missing.",
        ),
        "held_up": End(f"{_HUNG} {_HOLDS}", _CHECK_RANK),
        "held_up_by_several": End(f"{_HUNG} {_HOLD}", _CHECK_RANK),
    },
    "peer_died": {
        "went_away": End(
            "Rank {rank} on {node} went away: the log of {told_by} says so ({line}).",
            _READ_ITS_LOG,
        ),
        "named": End("{node} went away, according to {told_by}: {line}", _READ_ITS_LOG),
    },
    "watchdog": {"held_up": End(_HOLDS, _CHECK_RANK), "held_up_by_several": End(_HOLD, _CHECK_RANK)},
    "exit_status": {
        "": End("The training ended with exit status {exit_status}.", _READ_LOG),
        "signal": End("The training ended with exit status {exit_status} ({signal}).", _READ_LOG),
        "short": End(
            "The training ended with exit status {exit_status} at step {last_step} of {steps_total}.", _READ_LOG
        ),
        "before_last_step": End("The training ended with exit status 0 before the last step.", _READ_LOG),
        "unknown": End("The training ended with an unknown exit status.", _READ_LOG),
    },
    "not_ready": {
        "": End("Nothing more is known."),
        **dict.fromkeys(("said", *SENTENCES), End("{said}.")),
    },
    # Measured on the machine, and not in its kernel log.
    "node_failure": {"measured": End("{fact:fact}{details:details}"), **_BY_SLURM},
    "nan": {"model": End("{said}", _MODEL), "number": End("{said}", _NUMBER)},
    **dict.fromkeys(("time_limit", "preempted"), _BY_SLURM),
}


def end_in_words(failure_class: str, case: str, values: Mapping[str, t.Any]) -> str:
    """Return the sentence for an end."""
    return filled(ENDS[failure_class][case].text, values)


def named_in_words(named: Mapping[str, str]) -> str:
    """Return the inventory hosts behind the addresses of a log line as a sentence; empty without any."""
    return f"In that line, {listed([f'{name} is {host}' for name, host in named.items()])}." if named else ""
