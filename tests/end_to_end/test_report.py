"""playbooks/report.yml: logs that already exist are judged, on no node and without an inventory."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from ansible_commands import finished
from playbook_bench import ROOT, Bench

LOGS = ROOT / "tests/data/logs"


def line(step: int, total: int) -> str:
    return (
        f" [2026-01-02 03:04:05] iteration {step:8d}/{total:8d} | consumed samples: {step * 16:12d} |"
        " elapsed time per iteration (ms): 100.0 | throughput per GPU (TFLOP/s/GPU): 400.0 |"
        f" learning rate: 1.000000E-04 | global batch size: 16 | lm loss: {9 - step / 10:.6E} |"
        " grad norm: 1.000 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )


SILENT = (
    "[before the start of training step] datetime: 2026-01-02 03:04:05 \n"
    "[after training is done] datetime: 2026-01-02 03:14:05 \n"
)
WHOLE = "".join(line(step, 10) for step in range(1, 11))


@pytest.fixture
def reported(bench: Bench):
    """Play report.yml as a user would, and return the exit status and the output."""

    def play(logs, inventory: str = "", **variables) -> tuple[int, str]:
        everything = {"training_logs": str(logs), "training_output_dir": str(bench.runs), **variables}
        command = ["ansible-playbook", "playbooks/report.yml", "-e", json.dumps(everything)]
        done = finished([*command, *(["-i", inventory] if inventory else [])], bench.environment())
        return done.returncode, done.stdout

    return play


def logs_of(bench: Bench, name: str, **texts: str):
    folder = bench.folder / name
    folder.mkdir(parents=True)
    for node, text in texts.items():
        (folder / f"{node}.log").write_text(text)
    return folder


CONFIG = {
    "training_config": "inventories/local/tiny_llama.json",
    "training_gpus_per_node": 1,
    "container_engine": "none",
    "training_megatron_root": "/workspace/own",
}
QUERY = "[0].metrics.tflops_per_gpu.value"
ALL_TOLD = {"training_nodes": 2, "training_exit_status": 0, "training_record_only": True}


def test_logs_are_judged_and_leave_what_a_run_leaves(bench, reported):
    logs = logs_of(bench, "monday", node0=SILENT, node1=WHOLE)
    status, output = reported(logs)
    assert status != 0
    # AWX's artifacts of the job.
    assert re.search(r"CUSTOM STATS.*training_summaries.*monday", output, re.DOTALL), output
    assert "\nINCONCLUSIVE  monday: " in output
    files = {"plan.json", "nodes", "records.csv", "summary.json", "summary.csv", "metrics.csv", "report.html"}
    assert {path.name for path in (bench.runs / "monday").iterdir()} >= files
    assert json.loads((bench.runs / "monday/summary.json").read_text())["verdict"] == "INCONCLUSIVE"
    (bench.runs / "index.html").write_text("Somebody's own page")
    asked = {"training_dialects": ["junit", "openmetrics"], "training_query": QUERY}
    status, output = reported(logs, **ALL_TOLD, **asked)
    assert (status, "\n400.0\n" in output) == (0, True), output
    assert "\nPASS  monday: " in output
    assert (bench.runs / "index.html").read_text() == "Somebody's own page"
    assert "The index of all runs was not written" in output
    written = {path.name for path in (bench.runs / "monday").iterdir()}
    assert {"junit.xml", "openmetrics.prom"} <= written
    status, output = reported(logs, **ALL_TOLD, **asked)
    assert "changed=0" in output


@pytest.mark.parametrize(
    "inventory", ["inventories/local", pytest.param("inventories/local/hosts", marks=pytest.mark.slow)]
)
def test_the_config_of_the_local_inventory_is_that_of_the_logs(bench, reported, inventory):
    logs = logs_of(bench, "demo", node0=WHOLE, node1=WHOLE)
    status, output = reported(logs, inventory, training_exit_status=0)
    assert status != 0
    assert "node[0-1] reached only step 10 of 30" in output, output


def test_a_config_with_overrides_and_thresholds_is_judged_as_its_run_would_be(bench, reported):
    logs = logs_of(bench, "monday", node0=SILENT, node1=WHOLE)
    thresholds = bench.folder / "own_threshold.json"
    cells = {"GBS=32": 50, "GBS=16": 500}
    thresholds.write_text(
        json.dumps({cell: {"step_time_ms": {"kind": "max", "value": value}} for cell, value in cells.items()})
    )
    # The size of the batch is the config's, the steps are not.
    status, output = reported(
        logs,
        **CONFIG,
        training_exit_status=0,
        training_thresholds=str(thresholds),
        training_overrides={"training_iterations": 10},
    )
    assert status == 0, output
    (bound,) = json.loads((bench.runs / "monday/summary.json").read_text())["thresholds"]
    assert (bound["measured"], bound["node"], bound["value"], bound["met"]) == (100.0, "node1", 500.0, True)


@pytest.mark.slow
def test_several_runs_are_shown_side_by_side_and_none_hides_another(bench, reported):
    norms = {"one": "1.000", "two": "nan", "three": "1.000", "taken": "1.000"}
    for name, norm in norms.items():
        logs_of(bench, f"all/{name}", node0=SILENT, node1=WHOLE.replace("grad norm: 1.000", f"grad norm: {norm}"))
    logs_of(bench, "all/empty")
    logs_of(bench, "all/died", node0="torchrun: command not found\n")
    (logs_of(bench, "all/packed") / "node0.log.gz").write_bytes(b"this is no gzip")
    logs_of(bench, "all/maxtext", node0="completed step: 0, seconds: 2.5, TFLOP/s/device: 120.5, loss: 9.1\n")
    (bench.folder / "all/index.html").write_text("a page")
    (bench.runs / "taken").mkdir(parents=True)
    (bench.runs / "taken/plan.json").write_text('{"run_id": "taken"}')
    status, output = reported(f"{bench.folder}/all/*", **ALL_TOLD)
    assert status != 0
    assert "Traceback" not in output
    unknown = ("died", "empty", "maxtext", "packed")
    verdicts = {"one": "PASS", "two": "FAIL", "three": "PASS", **dict.fromkeys(unknown, "INCONCLUSIVE")}
    assert dict(re.findall(rf"^({'|'.join(verdicts)}) +([A-Z]+) ", output, re.MULTILINE)) == verdicts
    assert output.count("Report: ") == len(verdicts)
    told = " ".join(output.split("CUSTOM STATS", 1)[1].split())
    # The verdict of a run follows its name; findings have a verdict of their own.
    assert dict(re.findall(r"run_id\W+(\w+).+?\bverdict\W+(\w+)", told)) == verdicts
    words = " ".join(output.split())
    assert "taken was not judged" in words
    assert "node0 may be incomplete: it cannot be read" in words
    assert f"Comparison: {bench.runs / 'comparison.html'}" in output
    for name in ("comparison.html", "index.html"):
        page = (bench.runs / name).read_text()
        assert all(f'href="{name}/report.html"' in page for name in verdicts)
    assert 'href="comparison.html"' in page
    again = reported(f"{bench.folder}/all/*", **ALL_TOLD)[1]
    assert "changed=0" in again, again


# Variables, and the message about them.
REFUSED: list[tuple[dict, str]] = [
    ({"training_framework": "jax"}, "training_framework"),
    ({"training_steps_expected": 0}, "training_steps_expected is 0, but must be at least 1"),
    ({"training_nodes": 0}, "training_nodes is 0, but must be at least 1"),
    ({"training_config": "no/such.json"}, "The training config no/such.json cannot be read: No such file"),
    ({"training_thresholds": "t.json"}, "training_thresholds cannot be applied without training_config"),
    ({**CONFIG, "training_thresholds": "no/such.json"}, "no/such.json cannot be read: No such file"),
    ({**CONFIG, "training_overrides": {"batch_sizes": 2}}, "1 error"),
    ({"training_run_id": "a b"}, "may contain only letters, digits"),
    ({"training_logs": "/no/such/folder"}, "/no/such/folder does not exist"),
    ({"training_output_dir": "/dev/null/runs"}, "A run cannot be written: /dev/null/runs"),
]


def test_what_cannot_be_judged_is_told_in_words(bench):
    """All in one play, with the role's own tasks, as if each ran by itself."""
    common = {"training_logs": str(logs_of(bench, "monday", node0=WHOLE)), "training_output_dir": str(bench.runs)}
    # Once a run has been written.
    later = {**ALL_TOLD, "training_output_dir": str(bench.folder / "later")}
    late = [{**later, "training_query": "[0].metrics tflops"}, {**later, "training_dialects": ["junit", "xml"]}]
    role = {"name": "trainops.cluster.training", "tasks_from": "logs"}
    tasks = [
        {
            "name": f"Case {number} ends",
            "block": [{"ansible.builtin.include_role": role, "vars": {**common, **variables}}],
            "rescue": [{"ansible.builtin.debug": {"msg": f"case {number} has failed"}}],
        }
        for number, variables in enumerate([*(variables for variables, _told in REFUSED), *late])
    ]
    playbook = bench.folder / "refused.yml"
    playbook.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    output = finished(["ansible-playbook", str(playbook)], bench.environment()).stdout
    cases = [" ".join(case.split()) for case in re.split(r"case \d+ has failed", output)]
    assert len(cases) == len(tasks) + 1, output
    expected = [told for _variables, told in REFUSED]
    expected += ["unexpected 'tflops' at character 13", "must be one or more of: junit, openmetrics"]
    assert [told for case, told in zip(cases, expected, strict=False) if told not in case] == [], output
    assert "batch_sizes" in output
    assert "Traceback" not in output
    assert "caused by" not in output
    assert not bench.runs.exists()


@pytest.mark.slow
def test_what_runs_collected_is_judged_as_often_as_wanted(bench, reported):
    run = bench.runs / "monday"
    for node, text in (("node0", SILENT), ("node1", WHOLE)):
        log = run / "nodes" / node / "train.log"
        log.parent.mkdir(parents=True)
        log.write_text(text)
    (run / "plan.json").write_text('{"run_id": "monday"}')
    for _again in range(2):
        status, output = reported(f"{bench.runs}/*/nodes", **ALL_TOLD)
        assert status == 0, output
        assert "\nPASS  monday-nodes: " in output
    assert sorted(path.name for path in bench.runs.iterdir()) == ["index.html", "monday", "monday-nodes"]


@pytest.mark.slow
def test_whole_logs_of_two_nodes_are_judged(bench, reported):
    for node in (0, 1):
        target = bench.folder / "whole" / f"node{node}.log"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((LOGS / f"megatron_cpu_rocm_pretrain_gpt_2nodes_node{node}.log").read_bytes())
    status, output = reported(bench.folder / "whole", **ALL_TOLD)
    assert status == 0, output
    assert "PASS  whole: 2 nodes" in output
