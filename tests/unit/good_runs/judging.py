# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges the logs of a run as playbooks/report.yml does, in this process; the page is not drawn."""

from __future__ import annotations

import typing as t
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from ansible_collections.trainops.cluster.plugins.plugin_utils.report import write
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.files import find_runs
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.open import read_runs, write_run
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.plan import Known

Logs = t.Mapping[str, "str | bytes"]
"""The text of each file by its name."""
RECORDED = Path(__file__).resolve().parents[2] / "data/good_runs"


def recorded(run: str) -> dict[str, str]:
    """Return the logs of a recorded run, by file name."""
    return {path.name: path.read_text("utf-8") for path in sorted((RECORDED / run).glob("*.log"))}


def told(nodes: int, steps: int | None = None) -> Known:
    """Return the answers of a user without a training config: no threshold, the nodes, the steps, exit status 0."""
    return Known("", "", {"training_record_only": True}, nodes, 0, None, steps)


def judged(logs: Logs, known: Known, framework: str | None = None) -> dict[str, t.Any]:
    """Return the summary; if the logs are not even accepted, its verdict is REFUSED and its reason says why."""
    with TemporaryDirectory() as folder, mock.patch.object(write, "_write_files", return_value=True):
        for name, text in logs.items():
            path = Path(folder, "logs", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            (run,) = find_runs([f"{folder}/logs"])
            read, *_others = read_runs(run, Path(folder, "out"), framework, None, known)
        except ValueError as error:
            return {"verdict": "REFUSED", "reasons": [{"code": "refused", "message": str(error)}]}
        write_run(read, known.exit_status)
        summary: dict[str, t.Any] = write.write_report(read.run_dir)[0]
        return summary


def against(summary: t.Mapping[str, t.Any]) -> list[str]:
    """Return the codes of the reasons why a run did not pass."""
    return [reason["code"] for reason in summary["reasons"] if reason.get("verdict") != "PASS"]
