"""playbooks/report.yml: logs that already exist are judged, on no node and without an inventory."""

from __future__ import annotations

import gzip
import json
import re

import pytest
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
ALL_TOLD = {"training_nodes": 2, "training_exit_status": 0, "training_record_only": True}


def test_logs_are_judged_and_leave_what_a_run_leaves(bench, reported):
    logs = logs_of(bench, "monday", node0=SILENT, node1=WHOLE)
    status, output = reported(logs)
    assert status != 0
    # What AWX keeps as artifacts of the job.
    assert re.search(r"CUSTOM STATS.*training_summaries.*monday", output, re.DOTALL), output
    assert "INCONCLUSIVE  monday: It is unknown how the training on 2 nodes ended" in output
    files = {"plan.json", "nodes", "records.csv", "summary.json", "summary.csv", "metrics.csv", "report.html"}
    assert {path.name for path in (bench.runs / "monday").iterdir()} >= files
    (bench.runs / "index.html").write_text("Somebody's own page")
    status, output = reported(logs, **ALL_TOLD)
    assert status == 0, output
    assert "PASS  monday" in output
    assert "The index of all runs was not written" in output
    status, output = reported(logs, **ALL_TOLD)
    assert "changed=0" in output


@pytest.mark.parametrize("inventory", ["inventories/local", "inventories/local/hosts"])
def test_the_config_of_the_local_inventory_is_that_of_the_logs(bench, reported, inventory):
    logs = logs_of(bench, "demo", node0=WHOLE, node1=WHOLE)
    status, output = reported(logs, inventory, training_exit_status=0)
    assert status != 0
    assert "node[0-1] reached only step 10 of 30" in output, output


def test_a_config_with_overrides_and_thresholds_is_judged_as_its_run_would_be(bench, reported):
    logs = logs_of(bench, "monday", node0=SILENT, node1=WHOLE)
    thresholds = bench.folder / "own_threshold.json"
    bounds = {"step_time_ms": {"kind": "max", "value": 50}}
    thresholds.write_text(json.dumps({"GBS=32": bounds, "GBS=16": {"step_time_ms": {"kind": "max", "value": 500}}}))
    told = {**CONFIG, "training_exit_status": 0, "training_thresholds": str(thresholds)}
    status, output = reported(logs, **told, training_overrides={"training_iterations": 10})
    assert status == 0, output
    (bound,) = json.loads((bench.runs / "monday/summary.json").read_text())["thresholds"]
    assert (bound["measured"], bound["node"], bound["value"], bound["met"]) == (100.0, "node1", 500.0, True)
    status, output = reported(
        logs, **told, training_run_id="other", training_overrides={"training_iterations": 10, "batch_size": 32}
    )
    assert status != 0
    assert "at most 50 ms" in output


def test_several_runs_are_shown_side_by_side_and_none_hides_another(bench, reported):
    logs_of(bench, "runs/one/logs", node0=SILENT, node1=WHOLE)
    logs_of(bench, "runs/two/logs", node0=SILENT, node1=WHOLE.replace("grad norm: 1.000", "grad norm: nan"))
    logs_of(bench, "runs/three/logs", node0=SILENT, node1=WHOLE)
    status, output = reported(f"{bench.folder}/runs/*/logs", **ALL_TOLD)
    assert status != 0
    table = [text.split()[:4] for text in output.splitlines() if "-logs  " in text][:3]
    assert table == [
        ["one-logs", "PASS", "2", "10"],
        ["three-logs", "PASS", "2", "10"],
        ["two-logs", "FAIL", "2", "10"],
    ]
    assert output.count("Report: ") == 3
    told = " ".join(output.split("CUSTOM STATS", 1)[1].split())
    assert re.findall(r"run_id\W+(\w+)-logs", told) == ["one", "three", "two"]
    assert re.findall(r"verdict\W+(\w+)", told) == ["PASS", "PASS", "FAIL"]
    assert f"Comparison: {bench.runs / 'comparison.html'}" in output
    for name in ("comparison.html", "index.html"):
        page = (bench.runs / name).read_text()
        assert all(f'href="{name}-logs/report.html"' in page for name in ("one", "two", "three"))
    assert 'href="comparison.html"' in page
    assert "changed=0" in reported(f"{bench.folder}/runs/*/logs", **ALL_TOLD)[1]


def test_of_64_logs_the_odd_one_comes_first_and_the_others_are_one_line(bench, reported):
    nodes = [f"node{number}" for number in range(1, 65)]
    lengths = {node: 4 if node == "node17" else 8 for node in nodes}
    lines = {length: "".join(line(step, 10) for step in range(1, length)) for length in (4, 8)}
    logs = logs_of(bench, "many", **{node: lines[lengths[node]] for node in nodes})
    _status, output = reported(logs, training_exit_status=0, training_record_only=True)
    verdict = output.split("\nFAIL  many: ")[1].splitlines()
    assert verdict[:2] == ["node17 reached only step 3 of 10", "  node[1-16,18-64] reached only step 7 of 10."]
    assert all(row.count("node64") == 0 for row in output.splitlines() if "many" not in row)


def test_a_query_is_answered_and_a_bad_one_tells_the_place(bench, reported):
    logs = logs_of(bench, "monday", node0=SILENT, node1=WHOLE)
    status, output = reported(logs, **ALL_TOLD, training_query="[0].metrics.tflops_per_gpu.value")
    assert (status, "\n400.0\n" in output) == (0, True), output
    status, output = reported(logs, **ALL_TOLD, training_query="[0].metrics tflops")
    assert status != 0
    assert "unexpected 'tflops' at character 13" in output


@pytest.mark.parametrize(
    ("text", "variables", "told"),
    [
        (WHOLE, {"training_framework": "jax"}, "training_framework"),
        (WHOLE, {"training_steps_expected": 0}, "training_steps_expected is 0, but must be at least 1"),
        (WHOLE, {"training_config": "no/such.json"}, "The training config no/such.json cannot be read: No such file"),
        (WHOLE, {"training_thresholds": "t.json"}, "training_thresholds cannot be applied without training_config"),
        (WHOLE, {**CONFIG, "training_thresholds": "no/such.json"}, "no/such.json cannot be read: No such file"),
        (WHOLE, {**CONFIG, "training_overrides": {"batch_sizes": 2}}, "batch_sizes"),
        (WHOLE, {"training_run_id": "a b"}, "may contain only letters, digits"),
        (WHOLE, {"logs": "/no/such/folder"}, "/no/such/folder does not exist"),
        (WHOLE, {"training_output_dir": "/dev/null/runs"}, "A run cannot be written: /dev/null/runs"),
    ],
)
def test_what_cannot_be_judged_is_told_in_words(bench, reported, text, variables, told):
    logs = logs_of(bench, "monday", node0=text)
    status, output = reported(**{"logs": logs, **variables})
    assert status != 0
    assert told in " ".join(output.split())
    assert "Traceback" not in output
    assert "caused by" not in output
    assert not bench.runs.exists()


@pytest.mark.parametrize(
    ("text", "variables", "verdict", "told"),
    [
        (
            "nothing\n",
            {"training_dialects": ["junit", "mllog", "openmetrics", "perf_csv"]},
            "INCONCLUSIVE",
            "has a step line. Step lines begin like this",
        ),
        (':::MLLOG {"key": "seed", "value": 1}\n', {"training_exit_status": 0}, "INCONCLUSIVE", "has a step line"),
        ("nothing\n", {"training_exit_status": 1}, "FAIL", "node0 ended with exit status 1"),
        (WHOLE, {"training_exit_status": 1}, "FAIL", "node0 ended with exit status 1"),
        (WHOLE, {"training_framework": "maxtext"}, "INCONCLUSIVE", "training_framework is maxtext, but"),
        (WHOLE, {"training_exit_status": 0, "training_steps_expected": 20}, "FAIL", "reached only step 10 of 20"),
        (
            WHOLE.replace("/      10 |", "/     100 |") + "[after training is done] datetime: 2026-01-02 03:04:05\n",
            {**ALL_TOLD, "training_nodes": 1, "training_steps_expected": 10},
            "PASS",
            "The last step, 10, was reached",
        ),
    ],
    ids=["no step", "MLLOG", "status and no step", "status", "another framework", "more steps", "fewer steps"],
)
def test_a_log_of_which_little_is_known_is_judged(bench, reported, text, variables, verdict, told):
    status, output = reported(logs_of(bench, "monday", node0=text), **variables)
    assert f"\n{verdict}  monday: " in output
    assert told in " ".join(output.split())
    assert (status == 0) == (verdict == "PASS")


def test_one_bad_run_does_not_keep_the_others_from_being_judged(bench, reported):
    logs_of(bench, "all/good", node0=SILENT, node1=WHOLE)
    logs_of(bench, "all/empty")
    logs_of(bench, "all/died", node0="torchrun: command not found\n")
    logs_of(bench, "all/taken", node0=SILENT, node1=WHOLE)
    packed = logs_of(bench, "all/packed") / "node0.log.gz"
    packed.write_bytes(b"this is no gzip")
    logs_of(bench, "all/maxtext", node0="completed step: 0, seconds: 2.5, TFLOP/s/device: 120.5, loss: 9.1\n")
    (bench.folder / "all/index.html").write_text("a page")
    (bench.runs / "taken").mkdir(parents=True)
    (bench.runs / "taken/plan.json").write_text('{"run_id": "taken"}')
    status, output = reported(f"{bench.folder}/all/*", **ALL_TOLD)
    names = ("died", "empty", "good", "maxtext", "packed")
    verdicts = dict(re.findall(rf"^({'|'.join(names)}) +([A-Z]+) ", output, re.MULTILINE))
    assert verdicts == {**dict.fromkeys(names, "INCONCLUSIVE"), "good": "PASS"}
    assert status != 0
    assert "taken was not judged" in " ".join(output.split())
    assert "node0 may be incomplete: it cannot be read" in " ".join(output.split())
    assert "Traceback" not in output


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


def test_a_log_of_all_nodes_is_judged_as_their_logs_are(bench, reported):
    labelled = [f"{task}: {text}" for task, log in enumerate((SILENT, WHOLE)) for text in log.splitlines(keepends=True)]
    folder = logs_of(bench, "monday")
    (folder / "slurm-77.out.gz").write_bytes(gzip.compress("".join(labelled).encode()))
    status, output = reported(folder, **ALL_TOLD)
    assert status == 0, output
    assert "Both nodes took part" in output


def test_whole_logs_of_two_nodes_are_judged(bench, reported):
    for node in (0, 1):
        target = bench.folder / "whole" / f"node{node}.log"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((LOGS / f"megatron_cpu_rocm_pretrain_gpt_2nodes_node{node}.log").read_bytes())
    status, output = reported(bench.folder / "whole", **ALL_TOLD)
    assert status == 0, output
    assert "PASS  whole: 2 nodes" in output


def test_the_named_dialects_are_written_beside_the_report(bench, reported):
    logs = logs_of(bench, "monday", node0=SILENT, node1=WHOLE)
    status, output = reported(logs, **ALL_TOLD, training_dialects=["junit", "perf_csv", "openmetrics"])
    assert status == 0, output
    written = {path.name for path in (bench.runs / "monday").iterdir()}
    assert {"junit.xml", "perf.csv", "openmetrics.prom"} <= written
    status, output = reported(logs, **ALL_TOLD, training_dialects=["junit", "xml"])
    assert status != 0
    assert "must be one or more of: junit, mllog, openmetrics, perf_csv" in " ".join(output.split())
