# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as lines of MLPerf's log, ``:::MLLOG {…}``, with the keys of mlperf_logging's ``mllog.constants``.

It says what was run, when, and how fast; ``tracked_stats`` is the key that submitters give throughput under. It is no
submission: a run of this collection has no quality target and no evaluation, so their keys are missing.
"""

from __future__ import annotations

import json
import typing as t

from ..side_by_side import last_step

if t.TYPE_CHECKING:
    from .judged_run import JudgedRun

_PREFIX = ":::MLLOG "
_START, _END, _POINT = "INTERVAL_START", "INTERVAL_END", "POINT_IN_TIME"
_PARAMETERS = {
    "global_batch_size": "global_batch_size",
    "micro_batch_size": "micro_batch_size",
    "sequence_length": "max_sequence_length",
    "tensor_parallelism": "tensor_parallelism",
    "pipeline_parallelism": "pipeline_parallelism",
    "context_parallelism": "context_parallelism",
    "expert_parallelism": "expert_parallelism",
}


def mllog(run: JudgedRun) -> str | None:
    """Return the lines, their times in milliseconds since the epoch; None where it is not known when the run was.

    ``tracked_stats`` holds the throughput of the whole job in samples (sequences) per second, where the sizes of the
    run are known, and the metrics of the summary by name.
    """
    started, ended = run.started, run.ended
    if started is None or ended is None:
        return None
    summary = run.summary
    passed = summary["verdict"] == "PASS"
    lines = [
        _line(started, _POINT, "submission_benchmark", summary["model"]),
        _line(started, _POINT, "submission_platform", f"{len(summary['nodes'])}x{summary['gpu']}"),
        _line(started, _START, "init_start", None),
        *(
            _line(started, _POINT, key, run.parameters[name])
            for name, key in _PARAMETERS.items()
            if run.parameters.get(name) is not None
        ),
        _line(started, _END, "init_stop", None),
        _line(started, _START, "run_start", None),
        _line(ended, _POINT, "tracked_stats", _stats(run), step=last_step(summary)),
        _line(ended, _END, "run_stop", None, status="success" if passed else "aborted", verdict=summary["verdict"]),
    ]
    return "".join(lines)


def _line(seconds: float, event_type: str, key: str, value: t.Any, **metadata: t.Any) -> str:
    event = {
        "namespace": "",
        "time_ms": round(seconds * 1000),
        "event_type": event_type,
        "key": key,
        "value": value,
        "metadata": {"file": "trainops.cluster", "lineno": 0, **metadata},
    }
    return f"{_PREFIX}{json.dumps(event, allow_nan=False)}\n"


def _stats(run: JudgedRun) -> dict[str, float]:
    batch, step_time_ms = run.parameters.get("global_batch_size"), run.measured.get("step_time_ms")
    throughput = {"throughput": batch * 1000.0 / step_time_ms} if batch and step_time_ms else {}
    return throughput | run.measured
