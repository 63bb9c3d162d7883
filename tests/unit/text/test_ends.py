# SPDX-License-Identifier: GPL-3.0-or-later
"""The message of a first failure that no log shows, and its remedy."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.text.failures import ENDS, end_in_words
from ansible_collections.trainops.cluster.plugins.plugin_utils.text.problems import SENTENCES, UNREACHABLE

ONE = {"who": "Rank 3 on gpu1", "evidence": "it is stopped by a signal (1 of 8 ranks)"}
SEVERAL = {"who": "Ranks 3, 4 on gpu1", "evidence": "they are not in all_reduce 7"}
SILENT = {"said": "no log of the run has grown for 60 s"}
HUNG = "The training hung: no log of the run has grown for 60 s."
HOLDS = "Rank 3 on gpu1 holds the others up: it is stopped by a signal (1 of 8 ranks)."
HOLD = "Ranks 3, 4 on gpu1 hold the others up: they are not in all_reduce 7."
# Class, case and values of an end, its message, and a part of its own remedy if it has one.
ROWS: tuple[tuple[str, str, dict[str, t.Any], str, str], ...] = (
    ("rebooted", "", {}, "The node rebooted during the training.", "journalctl --boot=-1"),
    (
        "disk_full",
        "",
        {"path": "/log/a"},
        "The disk of /log/a is full: neither the log nor the exit status could be written.",
        "log_dir",
    ),
    (
        "engine_stopped",
        "",
        {"said": "docker wait failed"},
        "The container engine cannot say how the training ended: docker wait failed.",
        "docker or podman",
    ),
    ("container_removed", "", {}, "The container was removed while it was training.", "docker events"),
    ("host_memory", "", {}, "The kernel killed a training process because memory ran out.", "--mem"),
    ("killed", "", {}, "The training was killed (SIGKILL).", "dmesg"),
    ("unreachable", "", {}, "The node did not answer: nothing more is known.", "management network"),
    ("unreachable", "said", {"said": "odd"}, "The node did not answer: odd.", "management network"),
    (
        "unreachable",
        "timeout",
        {"said": "Connection timed out"},
        "Nothing answers at the node's address (Connection timed out).",
        "firewall",
    ),
    ("bad_answer", "", {}, "The node gave an unusable answer: nothing more is known.", "its Python"),
    ("bad_answer", "said", {"said": "no JSON"}, "The node gave an unusable answer: no JSON.", "its Python"),
    ("run_folder_gone", "", {}, "The node lost the state of the run: nothing more is known.", "clean-up job"),
    ("run_folder_gone", "said", {"said": "/l is gone"}, "The node lost the state of the run: /l is gone.", "clean-up"),
    ("log_moved", "", {"said": "train.log was cut"}, "The log could no longer be followed: train.log was cut.", "rota"),
    ("stalled", "", SILENT, HUNG, "py-spy"),
    ("stalled", "held_up", {**SILENT, **ONE}, f"{HUNG} {HOLDS}", "that rank"),
    ("stalled", "held_up_by_several", {**SILENT, **SEVERAL}, f"{HUNG} {HOLD}", "that rank"),
    ("watchdog", "held_up", ONE, HOLDS, "that rank"),
    ("watchdog", "held_up_by_several", SEVERAL, HOLD, "that rank"),
    (
        "peer_died",
        "went_away",
        {"node": "n1", "rank": 9, "told_by": "n0", "line": "task:9 is gone"},
        "Rank 9 on n1 went away: the log of n0 says so (task:9 is gone).",
        "kernel log",
    ),
    (
        "peer_died",
        "named",
        {"node": "n1", "name": "10.0.0.1", "told_by": "n0", "line": "closed by 10.0.0.1"},
        "n1 went away, according to n0: closed by 10.0.0.1",
        "kernel log",
    ),
    ("exit_status", "", {"exit_status": 3}, "The training ended with exit status 3.", "last lines"),
    (
        "exit_status",
        "signal",
        {"exit_status": 139, "signal": "SIGSEGV"},
        "The training ended with exit status 139 (SIGSEGV).",
        "last lines",
    ),
    (
        "exit_status",
        "short",
        {"exit_status": 0, "last_step": 2, "steps_total": 10},
        "The training ended with exit status 0 at step 2 of 10.",
        "last lines",
    ),
    ("exit_status", "before_last_step", {}, "The training ended with exit status 0 before the last step.", "last"),
    ("exit_status", "unknown", {}, "The training ended with an unknown exit status.", "last lines"),
    ("not_ready", "", {}, "Nothing more is known.", ""),
    ("not_ready", "said", {"said": "no port is free"}, "no port is free.", ""),
    (
        "node_failure",
        "measured",
        {"fact": "booted", "details": []},
        "the node rebooted",
        "",
    ),
    ("nan", "model", {"said": "The loss is NaN."}, "The loss is NaN.", "learning rate"),
    ("nan", "number", {"said": "The loss is NaN."}, "The loss is NaN.", "log line"),
    *(
        (name, "job_ended", {"said": "Slurm's job 7 ended as TIMEOUT."}, "Slurm's job 7 ended as TIMEOUT.", "")
        for name in ("time_limit", "preempted", "host_memory", "node_failure")
    ),
)


@pytest.mark.parametrize(("name", "case", "values", "text", "remedy"), ROWS, ids=[f"{r[0]} {r[1]}" for r in ROWS])
def test_an_end_says(name: str, case: str, values: dict[str, t.Any], text: str, remedy: str) -> None:
    assert end_in_words(name, case, values) == text
    assert remedy in ENDS[name][case].remedy
    assert bool(remedy) is bool(ENDS[name][case].remedy)


def test_every_end_is_in_the_table() -> None:
    shown = {(name, case) for name, case, *_rest in ROWS}
    shown |= {("unreachable", code) for code in UNREACHABLE} | {("not_ready", code) for code in SENTENCES}
    assert {(name, case) for name, cases in ENDS.items() for case in cases} == shown
