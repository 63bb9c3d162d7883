"""playbooks/quarantine.yml: the decision after an isolation, by hand or in a workflow of AWX."""

from __future__ import annotations

import json

import pytest
import yaml
from fake_tools import with_dcgm
from playbook_bench import ROOT, Bench, Finished

NODES = [f"node{number}" for number in range(4)]


def isolated(bench: Bench, **variables: object) -> Finished:
    """Test nodes, one with a GPU that fails."""
    paths = {node: with_dcgm(bench.folder / "tools" / node) for node in NODES}
    with_dcgm(bench.folder / "tools/node2", "dcgm_3.json")
    hosts = {node: {"training_node_environment": {"PATH": path}} for node, path in paths.items()}
    return bench.play(
        "isolate.yml",
        bench.inventory(**hosts),
        bench.config(nnodes="4"),
        isolate_name="morning",
        isolate_node_dir=str(bench.nodes),
        env={"ANSIBLE_CALLBACK_RESULT_FORMAT": "json"},
        **{"isolate_probes": ["dcgm"], **variables},
    )


def put(bench: Bench, *more: str, **variables: object) -> Finished:
    return bench.play("quarantine.yml", bench.folder / "hosts", bench.folder / "config.json", *more, **variables)


def artifact(done: Finished) -> dict:
    """Return the artifact of an isolation as AWX keeps it."""
    stats = done.output.split("CUSTOM STATS", 1)[1]
    return json.JSONDecoder().raw_decode(stats, stats.index("{"))[0]["isolate_summary"]


def test_what_awx_keeps_of_an_isolation_leads_to_a_quarantine_that_plans_respect(
    bench: Bench,
) -> None:
    found = isolated(bench)
    assert found.status != 0
    (suspect,) = json.loads((bench.runs / "isolation/morning/isolation.json").read_text())["suspects"]
    assert (suspect["node"], suspect["part"], suspect["verdict"]) == ("node2", "GPU 3", "broken"), found.output
    assert "row remapping failed" in suspect["evidence"]
    (template,) = (
        one
        for one in yaml.load((ROOT / "awx/job_templates.yml").read_text(), Loader)["controller_templates"]
        if one["name"] == "trainops quarantine"
    )
    variables = {**template["extra_vars"], "isolate_summary": artifact(found)}
    variables["training_output_dir"] = str(bench.runs)
    assert put(bench, "--check", **variables).status == 0
    assert not (bench.runs / "quarantine.json").exists()
    done = put(bench, **variables)
    assert done.status == 0, done.output
    ((host, held),) = json.loads((bench.runs / "quarantine.json").read_text())[str(bench.folder / "hosts")].items()
    assert (host, held["isolation"], held["probes"]) == ("node2", "morning", ["dcgm"])
    planned = bench.play("plan.yml", bench.folder / "hosts", bench.config(nnodes="3", batch_size="12"))
    assert planned.status == 0, planned.output
    assert "node2 is left out: isolation morning found" in planned.output


class Loader(yaml.SafeLoader):
    """Reads files with Ansible's tag for text that is not a template yet."""


Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def test_what_is_wrong_is_said_and_nobody_is_left_out(bench: Bench) -> None:
    written(bench)
    done = put(bench, isolate_quarantine_days=7)
    assert done.status != 0
    assert "has no isolation '' that found anything: the latest ones are morning" in " ".join(done.output.split())
    assert not (bench.runs / "quarantine.json").exists()


@pytest.mark.slow
def test_a_quarantine_of_nobody_or_for_no_time_is_refused(bench: Bench) -> None:
    written(bench)
    done = put(bench, isolate_name="morning")
    assert done.status != 0
    words = " ".join(done.output.split())
    assert "isolate_quarantine_days is 0, but must be more than 0" in words
    assert "morning suspects nobody, so there is no node" in words
    assert not (bench.runs / "quarantine.json").exists()


def test_a_rehearsal_leaves_nobody_out(bench: Bench) -> None:
    suspect = {
        "node": "node2",
        "other": None,
        "part": "cpu",
        "probe": "cpu",
        "verdict": "broken",
        "evidence": "cpu fails",
    }
    written(bench, suspects=[{**suspect, "slower_by": None, "interval": None}], rehearsal=True)
    done = put(bench, isolate_name="morning", isolate_quarantine_days=7)
    assert done.status == 0, done.output
    assert "was a rehearsal" in done.output
    assert not (bench.runs / "quarantine.json").exists()


def written(bench: Bench, **changes: object) -> None:
    """Leave an isolation behind that suspects nobody."""
    bench.inventory(**{node: {} for node in NODES})
    bench.config()
    nodes = {node: {"verdict": "good", "slower_by": None, "reason": "", "unreachable": False} for node in NODES}
    empty = {
        "unproved": [],
        "suspicion": [],
        "proof": {},
        "probes": {},
        "seconds": {},
        "links": {},
        "groups": {},
        "sizes": {},
        "at_scale": [],
        "node_minutes": 1.0,
    }
    folder = bench.runs / "isolation/morning"
    folder.mkdir(parents=True)
    (folder / "isolation.json").write_text(
        json.dumps({"suspects": [], "nodes": nodes, **empty, "node_minutes": 1.0, "rehearsal": False, **changes})
    )
