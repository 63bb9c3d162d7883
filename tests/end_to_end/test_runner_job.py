"""A job as AWX plays it: ansible-runner, a folder of its own, answers as text, events, artifacts, cancel."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import typing as t
from pathlib import Path

import ansible_runner
import pytest
import yaml
from playbook_bench import ROOT, Bench, wait_until
from ports import free_port

TWO: dict[str, dict] = {"awx0": {}, "awx1": {}}
# ESC and carriage return: a terminal shows them and a stored log does not.
_OF_TERMINALS = re.compile("[\x1b\r]")


class Job:
    """A job of ansible-runner in its own private_data_dir, with the project beside it and not its working folder."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.folder = bench.folder / "job"
        self.project = self.folder / "project"
        (self.folder / "env").mkdir(parents=True)
        self.project.symlink_to(ROOT)
        self.cancel = threading.Event()
        self.finished: t.Any = None

    def play(self, playbook: str, inventory: Path, answers: dict[str, str], **environment: str) -> t.Any:
        """Play a playbook with answers as extra variables, in the environment of a job, and return the runner."""
        (self.folder / "env/extravars").write_text(yaml.safe_dump(answers))
        kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "LC_ALL")}
        own = {
            **kept,
            **environment,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TRAINOPS_LOCK_FOLDER": str(self.bench.locks),
            "TRAINOPS_PROGRESS_INTERVAL": "0.5",
        }
        (self.folder / "env/envvars").write_text(json.dumps(own))
        self.finished = ansible_runner.run(
            private_data_dir=str(self.folder),
            playbook=f"playbooks/{playbook}",
            inventory=str(inventory),
            cancel_callback=self.cancel.is_set,
            quiet=True,
            verbosity=self.verbosity,
            ident=f"{len(list(self.folder.glob('artifacts/*')))}",
        )
        return self.finished

    verbosity: int | None = None

    @property
    def stdout(self) -> str:
        return t.cast("str", self.finished.stdout.read())

    @property
    def events(self) -> list[dict[str, t.Any]]:
        return list(self.finished.events)

    @property
    def artifacts(self) -> dict[str, t.Any]:
        """AWX's record of set_stats: ``artifact_data`` of the last event."""
        stats = [event["event_data"] for event in self.events if event["event"] == "playbook_on_stats"]
        return t.cast("dict[str, t.Any]", stats[-1].get("artifact_data", {})) if stats else {}

    def holds(self, text: str) -> list[str]:
        """Return the files of the job that contain a text, but for its input."""
        files = (path for path in (self.folder / "artifacts").rglob("*") if path.is_file())
        return [str(path) for path in files if text.encode() in path.read_bytes()]


def answers(bench: Bench, config: Path, **others: str) -> dict[str, str]:
    """Return the answers of the survey for Megatron-LM: all of them are text, and empty if not given.

    A long run pauses in each of its steps.
    """
    return {
        "training_config": str(config),
        "training_model": "",
        "training_framework": "",
        "training_exclude": "",
        "training_rank_order": "",
        "container_profile": "",
        "training_rehearsal": "false",
        "training_record_only": "false",
        "training_warmup_steps": "2",
        "training_stall_timeout": "1800",
        "training_output_dir": str(bench.runs),
        "training_master_port": str(free_port()),
        "training_run_id": "{{ 'awx-%s' | format(awx_workflow_job_id | default(awx_job_id)) }}",
        "awx_job_id": "17",
        **bench.paced,
        **others,
    }


@pytest.fixture
def job(bench: Bench) -> Job:
    return Job(bench)


def test_a_job_passes_with_answers_as_text_and_so_does_the_end_of_its_workflow(bench: Bench, job: Job) -> None:
    inventory = bench.inventory(**TWO)
    given = answers(bench, bench.config(training_iterations="60"), awx_workflow_job_id="41")
    done = job.play("megatron_multinode.yml", inventory, given)
    assert (done.status, done.rc) == ("successful", 0), job.stdout
    summary = job.artifacts["training_summary"]
    assert summary["run_id"] == "awx-41"
    assert summary["verdict"] == "PASS"
    assert summary["nodes"] == 2
    assert summary["metrics"]["loss"]["met"] is True
    assert Path(summary["report"]).is_file()
    assert len(json.dumps(job.artifacts)) < 8000

    # Output beside the events of tasks: ansible-runner makes an event of kind verbose of it.
    progress = [line for event in job.events if event["event"] == "verbose" for line in event["stdout"].splitlines()]
    steps = [line for line in progress if line.startswith("step ") and " ms  " in line]
    assert len(steps) >= 2, job.stdout
    assert all(re.search(r"step +\d+/60 ", line) for line in steps)
    assert not any(_OF_TERMINALS.search(line) for line in steps)
    assert f"Report: {bench.runs}/awx-41/report.html" in job.stdout

    done = job.play("stop.yml", inventory, {**given, "awx_job_id": "18", "training_require_pass": "true"})
    assert (done.status, done.rc) == ("successful", 0), job.stdout
    assert job.artifacts["training_summary"]["verdict"] == "PASS"


@pytest.mark.slow
def test_a_run_that_fails_fails_the_job_and_its_first_failure_is_in_the_artifacts(bench: Bench, job: Job) -> None:
    config = bench.config(elapsed_time_per_iteration="0.001")
    done = job.play("megatron_multinode.yml", bench.inventory(**TWO), answers(bench, config))
    assert (done.status, done.rc) != ("successful", 0)
    assert job.artifacts["training_summary"]["verdict"] == "FAIL"
    assert job.artifacts["training_summary"]["metrics"]["step_time_ms"]["met"] is False


@pytest.mark.slow
def test_a_cancelled_job_leaves_a_run_that_can_be_picked_up_or_ended(bench: Bench, job: Job) -> None:
    config = bench.config(training_iterations="100000")
    inventory, given = bench.inventory(**TWO), answers(bench, config)
    thread = threading.Thread(target=job.play, args=("megatron_multinode.yml", inventory, given))
    thread.start()
    status = bench.runs / "awx-17/nodes/awx0/status.json"

    def reached(step: int) -> bool:
        return status.exists() and json.loads(status.read_text()).get("last_step", 0) >= step

    wait_until(lambda: reached(3))
    job.cancel.set()
    thread.join(timeout=60)
    assert job.finished.status == "canceled"
    assert bench.trainings()

    # Its own job picks it up …
    last = json.loads(status.read_text())["last_step"]
    attach = Job(bench_beside(bench, "attach"))
    thread = threading.Thread(target=attach.play, args=("attach.yml", inventory, given))
    thread.start()
    wait_until(lambda: reached(last + 3))
    attach.cancel.set()
    thread.join(timeout=60)
    assert bench.trainings()

    # … and the last node of the workflow ends it, and is as red as the run.
    end = Job(bench_beside(bench, "end"))
    end.play("stop.yml", inventory, {**given, "training_require_pass": "true"})
    assert bench.trainings() == []
    assert end.finished.rc != 0
    assert end.artifacts["training_summary"]["run_id"] == "awx-17"
    assert end.artifacts["training_summary"]["verdict"] != "PASS"


def bench_beside(bench: Bench, name: str) -> Bench:
    """Return a bench for a job of the same runs, with a folder of its own for the job."""
    folder = bench.folder / name
    folder.mkdir()
    beside = Bench(folder)
    beside.runs, beside.nodes, beside.locks = bench.runs, bench.nodes, bench.locks
    return beside
