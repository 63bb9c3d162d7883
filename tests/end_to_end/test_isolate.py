"""playbooks/isolate.yml on eight nodes that are processes of this machine."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import signal
import typing as t
from pathlib import Path

import pytest
from endless_program import endless_fio
from playbook_bench import ROOT, Bench, Finished, wait_until
from ports import free_port

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.quarantine import Fault, Found, Quarantine

PARTS = ("isolation.json", "report.html", "passing_nodes.txt", "failing_nodes.txt", "slurm_exclude.txt", "plan.json")


def inventory(bench: Bench, slow: dict[str, float], nodes: int = 8) -> Path:
    # Even if the first host of the inventory takes no part.
    hosts: dict[str, dict] = {"other": {}, **{f"node{n}": {} for n in range(nodes)}}
    hosts |= {node: {"isolate_rehearsal_slowdown": by} for node, by in slow.items()}
    return bench.inventory(**hosts)


def options(bench: Bench) -> dict[str, t.Any]:
    name = {"isolate_name": "test", "isolate_node_dir": str(bench.nodes)}
    return {"isolate_rehearsal": True, "isolate_rounds": 3, **name}


def isolated(bench: Bench, slow: dict[str, float], *more: str, nodes: int = 8, **variables: object) -> Finished:
    limit = ("--limit", "!other", *more)
    return bench.play(
        "isolate.yml", inventory(bench, slow, nodes), bench.config(), *limit, **options(bench), **variables
    )


def folder(bench: Bench) -> Path:
    return bench.runs / "isolation/test"


@pytest.mark.parametrize(("nodes", "times"), [(4, 1.5), pytest.param(8, 1.05, marks=pytest.mark.slow)])
def test_one_slow_node_is_named_and_is_the_only_red_host(bench: Bench, nodes: int, times: float) -> None:
    slow = f"node{nodes - 3}"
    done = isolated(bench, {slow: times}, nodes=nodes, isolate_quarantine_days=7)
    assert done.status != 0, done.output
    texts = {name: (folder(bench) / name).read_text() for name in PARTS}
    found = json.loads(texts["isolation.json"])
    cpu = next(one for one in found["suspects"] if one["probe"] == "cpu")
    assert (cpu["node"], cpu["other"], cpu["verdict"]) == (slow, None, "slow")
    assert cpu["slower_by"] == pytest.approx(times - 1)
    assert {one["node"] for one in found["suspects"]} == {slow}
    assert texts["failing_nodes.txt"].split() == [slow]
    assert texts["passing_nodes.txt"].split() == [f"node{n}" for n in range(nodes) if n != nodes - 3]
    assert texts["slurm_exclude.txt"].strip() == slow
    assert slow in texts["report.html"]
    assert re.findall(r"^(\S+) .*\bfailed=1", done.output, re.MULTILINE) == [slow]
    assert not bench.trainings()
    # A rehearsal quarantines nobody.
    assert not (bench.runs / "quarantine.json").exists()
    assert 'href="isolation/test/report.html"' in (bench.runs / "index.html").read_text()


@pytest.mark.slow
def test_a_node_that_makes_each_of_its_groups_slow_is_named_and_the_page_shows_the_groups(bench: Bench) -> None:
    done = isolated(bench, {"node5": 2.0}, isolate_probes=["tcp_groups"])
    found = json.loads((folder(bench) / "isolation.json").read_text())
    (suspect,) = found["suspects"]
    assert (suspect["node"], suspect["part"], suspect["probe"]) == ("node5", "groups", "tcp_groups"), done.output
    assert suspect["slower_by"] == pytest.approx(1.0)
    assert [(one["nodes"], one["groups"]) for one in found["sizes"]["tcp_groups"]] == [(4, 10), (8, 1)]
    assert "Groups: tcp_groups" in (folder(bench) / "report.html").read_text()
    assert re.findall(r"^(\S+) .*\bfailed=1", done.output, re.MULTILINE) == ["node5"]


@pytest.mark.slow
def test_no_plan_takes_a_node_that_an_isolation_found_to_be_bad(bench: Bench) -> None:
    hosts = inventory(bench, {})
    fault = Fault(code="slow", case="", values={"slower_by": 0.3}, message="node5 (cpu) is 30 % slower")
    slow = Found([fault], ("cpu",))
    Quarantine(bench.runs / "quarantine.json", str(hosts)).add_found({"node5": slow}, "test", 7)
    planned = bench.play("plan.yml", hosts, bench.config(), training_framework="megatron")
    assert "node5 is left out: isolation test found on " in " ".join(planned.output.split())


def test_check_mode_shows_what_it_takes_and_touches_no_node(bench: Bench) -> None:
    done = isolated(bench, {}, "--check")
    assert done.status == 0, done.output
    assert "3 rounds of pairs" in done.output
    assert "node-minutes" in done.output
    assert not bench.nodes.exists()
    assert not (bench.runs / "isolation").exists()


def test_all_that_is_wrong_is_said_before_a_node_is_touched(bench: Bench) -> None:
    done = isolated(bench, {"node3": 0.1}, isolate_budget=0.1, isolate_rehearsal_bad_links=["node1,nodeX"])
    assert done.status != 0
    said = " ".join(done.output.split())
    for named in ("of node3 is 0.1", "'node1,nodeX'", "minutes are too few"):
        assert named in said
    assert not bench.nodes.exists()


def run_left_behind(bench: Bench) -> None:
    """Leave a run of four of the hosts behind, which failed because of one of them."""
    nodes = [{"node": f"node{n}"} for n in (1, 2, 5, 6)]
    failure = {"node": "node5", "class": "nccl", "message": "remote process exited", "echoes": []}
    empty: dict[str, t.Any] = {"reasons": [], "notes": [], "stragglers": {"nodes": []}}
    summary = {"verdict": "FAIL", "mode": "multi_node", "nodes": nodes, "first_failure": failure, **empty}
    (bench.runs / "night").mkdir(parents=True)
    (bench.runs / "night/plan.json").write_text("{}")
    (bench.runs / "night/summary.json").write_text(json.dumps(summary))


@pytest.mark.parametrize("checked", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["check mode", "tested"])
def test_the_nodes_of_a_run_are_tested_with_its_suspects_and_no_others(bench: Bench, checked: bool) -> None:
    run_left_behind(bench)
    done = isolated(bench, {}, *(["--check"] if checked else []), training_run_id="night")
    words = " ".join(done.output.split())
    assert "Run night suspects node5: nccl: remote process exited" in words
    assert "Every node by itself, 4 at the same time" in words
    if checked:
        return
    found = json.loads((folder(bench) / "isolation.json").read_text())
    assert list(found["nodes"]) == ["node1", "node2", "node5", "node6"]
    assert [one["node"] for one in found["suspicion"]] == ["node5"]
    assert json.loads((folder(bench) / "plan.json").read_text())["suspicion"].keys() == {"node5"}


@pytest.mark.slow
def test_a_slow_run_proposes_the_command_that_tests_its_nodes(bench: Bench) -> None:
    hosts = bench.inventory(**{f"node{n}": {} for n in range(4)})
    config = bench.config(tokens_per_gpu="1000000000", nnodes="4")
    # On a busy machine a node may stand out, and then there is nothing to propose.
    never = {"training_straggler_deviations": 1000}
    done = bench.play("megatron_multinode.yml", hosts, config, training_run_id="slow", **never)
    assert done.status != 0, done.output
    proposed = done.summary["isolate"]
    assert proposed["why"] == "slow"
    assert proposed["command"] in done.output
    words = shlex.split(proposed["command"])
    assert (ROOT / words[1]).name == "isolate.yml"
    assert (ROOT / words[1]).exists()
    assert words[words.index("-i") + 1] == str(hosts)
    assert {"training_run_id=slow", f"training_output_dir={bench.runs}"} <= set(words)


def test_a_run_that_is_not_there_is_said_with_those_that_are(bench: Bench) -> None:
    run_left_behind(bench)
    done = isolated(bench, {}, training_run_id="nigth")
    assert done.status != 0
    assert "has no run 'nigth': its latest runs are night" in " ".join(done.output.split())
    assert not bench.nodes.exists()


def held_by(name: str) -> list[str]:
    """Return the processes of this machine that hold a node for an isolation."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            found += [path.parent.name] if f"TRAINOPS_RUN_ID={name}".encode() in path.read_bytes() else []
    return found


@pytest.mark.slow
def test_stop_frees_the_nodes_of_an_isolation_which_then_says_nothing_of_them(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = bench.inventory(**{f"node{n}": {} for n in range(3)})
    config, name = bench.config(), f"stopped-{free_port()}"
    monkeypatch.setenv("PATH", str(endless_fio(tmp_path / "bin")), prepend=":")
    more = {"isolate_name": name, "isolate_probes": ["cpu", "fio"]}
    running = bench.start("isolate.yml", hosts, config, **{**options(bench), **more})
    wait_until(lambda: held_by(name))
    stopped = bench.play("stop.yml", hosts, config, training_run_id=name)
    assert stopped.status == 0, stopped.output
    assert f"Isolation {name} is stopped" in stopped.output
    output, _ = running.communicate(timeout=240)
    assert running.returncode != 0
    assert "was stopped" in " ".join(output.split())
    assert not (bench.runs / f"isolation/{name}/isolation.json").exists()
    assert held_by(name) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_an_isolation_learns_until_when_its_nodes_are_reserved_and_how_to_free_them(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    hosts = bench.inventory(**{f"node{n}": {} for n in range(3)})
    config, name = bench.config(), f"interrupted-{free_port()}"
    monkeypatch.setenv("PATH", str(endless_fio(tmp_path / "bin")), prepend=":")
    more = {"isolate_name": name, "isolate_probes": ["cpu", "fio"]}
    running = bench.start_as_user("isolate.yml", hosts, config, **{**options(bench), **more})
    wait_until(lambda: len(held_by(name)) >= 3)
    running.send_signal(number)
    output, _ = running.communicate(timeout=60)
    assert running.returncode != 0
    words = " ".join(output.split())
    assert re.search(rf"Isolation {name} ended before .* reserved until \d\d:\d\d UTC", words)
    assert f"Free them now: ansible-playbook playbooks/stop.yml -i {hosts}" in words
    stopped = bench.play("stop.yml", hosts, config, training_run_id=name)
    assert stopped.status == 0, stopped.output
    assert held_by(name) == []
