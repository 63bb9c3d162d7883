"""playbooks/isolate.yml on eight nodes that are processes of this machine."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playbook_bench import Bench, Finished

PARTS = ("isolation.json", "report.html", "passing_nodes.txt", "failing_nodes.txt", "slurm_exclude.txt", "plan.json")


def isolated(bench: Bench, slow: dict[str, float], *more: str, **variables: object) -> Finished:
    # Also where the first host of the inventory takes no part.
    hosts: dict[str, dict] = {"other": {}, **{f"node{n}": {} for n in range(8)}}
    hosts |= {node: {"isolate_rehearsal_slowdown": by} for node, by in slow.items()}
    return bench.play(
        "isolate.yml",
        bench.inventory(**hosts),
        bench.config(),
        *("--limit", "!other", *more),
        isolate_rehearsal=True,
        isolate_rounds=3,
        isolate_name="test",
        isolate_node_dir=str(bench.nodes),
        **variables,
    )


def folder(bench: Bench) -> Path:
    return bench.runs / "isolation/test"


def test_one_slow_node_of_eight_is_named_and_is_the_only_red_host(bench: Bench) -> None:
    done = isolated(bench, {"node5": 1.5})
    assert done.status != 0, done.output
    texts = {name: (folder(bench) / name).read_text() for name in PARTS}
    found = json.loads(texts["isolation.json"])
    cpu = next(one for one in found["suspects"] if one["probe"] == "cpu")
    assert (cpu["node"], cpu["other"], cpu["verdict"]) == ("node5", None, "slow")
    assert 0.4 < cpu["slower_by"] < 0.6
    assert {one["node"] for one in found["suspects"]} == {"node5"}
    assert texts["failing_nodes.txt"].split() == ["node5"]
    assert texts["passing_nodes.txt"].split() == [f"node{n}" for n in range(8) if n != 5]
    assert texts["slurm_exclude.txt"].strip() == "node5"
    assert "node5" in texts["report.html"]
    assert re.findall(r"^(\S+) .*\bfailed=1", done.output, re.MULTILINE) == ["node5"]
    assert not bench.trainings()


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
