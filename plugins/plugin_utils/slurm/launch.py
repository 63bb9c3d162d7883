# SPDX-License-Identifier: GPL-3.0-or-later
"""Handing a run to Slurm: the files of its job in the run's folder, and the job or step itself."""

from __future__ import annotations

import json
import shutil
import typing as t
import zipfile
from pathlib import Path, PurePosixPath

from ...module_utils.node.files import write_bytes
from ...module_utils.slurm.desk import JOB_NAME, PROGRAM_NAME, SECRETS_NAME
from ...module_utils.slurm.placement import MADE_NAME
from ...module_utils.slurm.task import LOOKS_NAME
from ..contracts import Plan
from ..preflight.needs import inspection_of
from ..run.board import PLAN_NAME, Board
from ..run.program import MODULE_UTILS, node_sources
from .job import SlurmJob
from .script import SCRIPT_NAME

_MAIN = f"""\
import sys

from {MODULE_UTILS}.slurm.task import main

sys.exit(main(sys.argv[1:]))
"""


class Needs(t.TypedDict):
    """The settings of a job's tasks in addition to the plan; ``secrets`` has each node's secrets by its rank."""

    environment: dict[str, str]
    files: dict[str, str]
    secrets: dict[str, dict[str, str]]
    given_secrets: dict[str, str]


def hand_over(job: SlurmJob, plan: Plan, needs: Needs) -> None:
    """Write the job's files and submit it. A run that already has a job keeps it."""
    if job.id is not None:
        return
    shutil.copyfile(job.run_dir / PLAN_NAME, job.run_dir / MADE_NAME)
    if plan["slurm"]["preflight"]:
        looks = [inspection_of(plan, node) for node in plan["nodes"]]
        (job.run_dir / LOOKS_NAME).write_text(json.dumps(looks), encoding="utf-8")
    write_program(job.run_dir / PROGRAM_NAME)
    (job.run_dir / SCRIPT_NAME).write_text(plan["slurm"]["script"], encoding="utf-8")
    nonce = Board(job.run_dir).nonce()
    given = json.dumps({"environment": needs["environment"], "files": needs["files"], "nonce": nonce})
    (job.run_dir / JOB_NAME).write_text(given, encoding="utf-8")
    path = job.run_dir / SECRETS_NAME
    secrets = {"secrets": needs["secrets"], "given_secrets": needs["given_secrets"]}
    write_bytes(str(path), json.dumps(secrets).encode(), 0o600)
    try:
        allocation = plan["slurm"].get("allocation")
        if allocation is None:
            job.submit()
        else:
            job.begin_step(allocation)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_program(path: Path | t.IO[bytes]) -> None:
    """Write our node-side sources as one file that Python runs."""
    sources = node_sources("slurm", "node", "logs").items()
    names = {PurePosixPath(f"{module.replace('.', '/')}.py"): source for module, source in sources}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in names.items():
            archive.write(source, name)
        # In an archive a folder is a package by this file only.
        for package in sorted({parent for name in names for parent in name.parents} - {PurePosixPath()}):
            archive.writestr(f"{package}/__init__.py", "")
        archive.writestr("__main__.py", _MAIN)
