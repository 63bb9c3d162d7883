# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of an isolation: the page, the lists, and the lines for a terminal."""

from __future__ import annotations

import json
import re
import shutil
import typing as t
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.outcome import (
    blame_of,
    headline_of,
    next_steps,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import Cost, plan_tests
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.isolation_after import isolation_in
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.isolation_write import (
    isolation_lines,
    links_map,
    write_isolation,
    write_plan,
)

NODES = [f"gpu{number}" for number in range(4)]
TESTS = plan_tests(NODES, Cost(single=10, pair=5), 60)


def suspect(node: str, other: str | None = None, **changes: t.Any) -> dict[str, t.Any]:
    found = {"node": node, "other": other, "part": "cpu", "probe": "cpu", "verdict": "slow", "slower_by": 0.3}
    return {**found, "interval": (0.28, 0.33), "evidence": "cpu takes <1.3> times as long", **changes}


def isolation(*suspects: dict[str, t.Any], **verdicts: tuple[str, str, bool]) -> t.Any:
    nodes = {node: verdicts.get(node, ("good", "", False)) for node in NODES}
    return {
        "suspects": list(suspects),
        "unproved": [],
        "suspicion": [],
        "proof": {"cpu": 0.03},
        "nodes": {
            node: {"verdict": verdict, "slower_by": None, "reason": reason, "unreachable": lost}
            for node, (verdict, reason, lost) in nodes.items()
        },
        "probes": {"cpu": {node: 0.01 * place for place, node in enumerate(NODES)}},
        "seconds": {"cpu": {node: 0.5 + 0.01 * place for place, node in enumerate(NODES)}},
        "links": {"tcp_throughput": [("gpu0", "gpu1", 0.5), ("gpu2", "gpu3", None)]},
        "groups": {},
        "sizes": {},
        "at_scale": [],
        "node_minutes": 1.5,
    }


def written(folder: Path, found: t.Any) -> dict[str, str]:
    write_isolation(folder, "night", found, TESTS, rehearsal=False)
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_slow_node_is_left_out_and_named_on_the_page_in_the_json_and_in_the_terminal(tmp_path: Path) -> None:
    found = isolation(suspect("gpu2"), gpu2=("slow", "cpu", False))
    files = written(tmp_path, found)
    assert files["failing_nodes.txt"].split() == ["gpu2"]
    assert files["passing_nodes.txt"].split() == ["gpu0", "gpu1", "gpu3"]
    assert files["slurm_exclude.txt"].strip() == "gpu2"
    assert json.loads(files["isolation.json"])["suspects"][0]["node"] == "gpu2"
    assert "gpu2" in files["report.html"]
    assert "&lt;1.3&gt;" in files["report.html"]
    assert any("gpu2" in line and "30.0 %" in line for line in isolation_lines(found))
    assert {node: one["state"] for node, one in blame_of(found).items()} == {"gpu2": "failed"}


def test_after_the_name_comes_what_to_do_and_what_it_costs_to_leave_the_node_in(tmp_path: Path) -> None:
    found = isolation(suspect("gpu2"), suspect("gpu1", "gpu3"), gpu2=("slow", "cpu", False))
    steps = next_steps(found, "quarantine.yml", "isolate.yml")
    write_isolation(tmp_path, "night", found, TESTS, steps, rehearsal=False)
    told = json.loads((tmp_path / "isolation.json").read_text())["findings"]
    assert [(one["case"], one["values"]) for one in told if one["code"] == "next_steps"] == [
        ("leave_out", {"nodes": ["gpu1", "gpu2"], "command": "quarantine.yml"}),
        ("cost", {"probe": "cpu", "slower_by": 0.3}),
        ("link", {"other": "gpu3"}),
        ("test_again", {"command": "isolate.yml"}),
    ]
    lines, page = isolation_lines(found, steps), (tmp_path / "report.html").read_text()
    assert all(f"  {one['message']}" in lines and one["message"] in page for one in steps)
    assert next_steps(isolation(), "quarantine.yml", "isolate.yml") == []


def test_nodes_that_ssh_did_not_reach_for_the_same_reason_share_a_line() -> None:
    found = isolation(**{node: ("untested", f"no such host name ({node}.example)", True) for node in NODES})
    for one in found["nodes"].values():
        one["cause"] = "unknown_host"
    (line,) = (line for line in isolation_lines(found) if "gpu" in line)
    assert "gpu[0-3]" in line
    assert {blame["cause"] for blame in blame_of(found).values()} == {"unknown_host"}


def test_what_was_found_is_data_with_a_sentence_for_each_and_the_headline_is_one_of_them(tmp_path: Path) -> None:
    found = isolation(suspect("gpu2"), suspect("gpu1", "gpu3"), gpu2=("slow", "cpu", False))
    told = json.loads(written(tmp_path, found)["isolation.json"])
    assert [(one["code"], one.get("case"), one.get("node")) for one in told["findings"]] == [
        ("slow", None, "gpu2"),
        ("slow", "link", "gpu1"),
        ("proof", None, None),
    ]
    assert told["headline"] == told["findings"][0]
    assert told["headline"]["values"] == {"part": "cpu", "probe": "cpu", "slower_by": 0.3, "interval": [0.28, 0.33]}
    assert told["findings"][2]["values"] == {"least": {"cpu": 0.03}}


HEADLINES: dict[str, tuple[dict[str, t.Any], tuple[str, str]]] = {
    "all": ({}, ("good", "with_links")),
    "no_pairs": ({"links": {}}, ("good", "")),
    "coarse": ({"proof": {"cpu": None}}, ("coarse", "")),
    "unmeasured": ({"unmeasured": {"tcp_latency": "no route"}}, ("unmeasured", "title")),
}


@pytest.mark.parametrize("name", HEADLINES)
def test_the_headline_says_why_not_all_nodes_are_good(name: str) -> None:
    changes, code = HEADLINES[name]
    headline = headline_of(isolation() | changes)
    assert (headline["code"], headline.get("case", "")) == code


def test_an_isolation_without_a_tested_node_and_one_with_some_of_them_say_so() -> None:
    untested = ("untested", "no answer", True)
    nobody = headline_of(isolation(**dict.fromkeys(NODES, untested)))
    some = headline_of(isolation(gpu1=untested))
    assert (nobody["code"], some["code"], some["values"]) == ("none_tested", "some_tested", {"good": 3, "untested": 1})


def test_no_percentage_above_1000_is_shown_of_a_node_that_is_far_slower(tmp_path: Path) -> None:
    far = suspect("gpu2", slower_by=19.1, interval=(12.0, 25.0))
    unproved = {"node": "gpu1", "other": None, "part": "cpu", "probe": "cpu", "slower_by": 19.1, "proof": 17.0}
    found = isolation(far, gpu2=("slow", "cpu", False)) | {"unproved": [unproved], "proof": {"cpu": 17.0}}
    found["probes"] = {"cpu": {"gpu2": 19.1}}
    page = written(tmp_path, found)["report.html"]
    for shown in (page, "\n".join(isolation_lines(found)), *(one["reason"] for one in blame_of(found).values())):
        assert "more than ten times slower" in shown
        assert not re.search(r"\b(19|17|12|25)\d\d(\.\d)? ?%|\b1,[79]\d\d", shown)


def test_of_a_slow_link_both_ends_are_red_and_one_is_left_out(tmp_path: Path) -> None:
    found = isolation(suspect("gpu1", "gpu3"))
    files = written(tmp_path, found)
    assert files["failing_nodes.txt"].split() == ["gpu1"]
    assert set(blame_of(found)) == {"gpu1", "gpu3"}


def test_nodes_that_are_broken_or_were_not_tested_are_neither_good_nor_the_same(tmp_path: Path) -> None:
    found = isolation(
        suspect("gpu0", slower_by=None, interval=None, verdict="broken"),
        gpu0=("broken", "no route", False),
        gpu1=("untested", "held by run night-1", False),
        gpu2=("untested", "no answer", True),
    )
    files = written(tmp_path, found)
    assert files["passing_nodes.txt"].split() == ["gpu3"]
    blamed = blame_of(found)
    assert {node: one["state"] for node, one in blamed.items()} == {
        "gpu0": "failed",
        "gpu1": "failed",
        "gpu2": "unreachable",
    }
    assert "held by run night-1" in blamed["gpu1"]["reason"]


def test_all_good_leaves_an_empty_exclude_list(tmp_path: Path) -> None:
    files = written(tmp_path, isolation())
    assert files["slurm_exclude.txt"] == files["failing_nodes.txt"] == ""
    assert json.loads(files["isolation.json"])["verdict"] == "good"
    assert blame_of(isolation()) == {}


def test_links_of_many_nodes_are_no_map_and_an_isolation_is_not_overwritten(tmp_path: Path) -> None:
    assert links_map([(f"a{n}", f"b{n}", 0.0) for n in range(40)]) is None
    write_plan(tmp_path / "one", "one", {"tests": TESTS})
    with pytest.raises(FileExistsError):
        write_plan(tmp_path / "one", "one", {})


def test_who_was_slow_twice_without_proof_is_named_and_nobody_is_said_to_be_good(tmp_path: Path) -> None:
    unproved = {"node": "gpu1", "other": None, "part": "cpu", "probe": "cpu", "slower_by": 0.29, "proof": 0.45}
    found = isolation() | {"unproved": [unproved]}
    files = written(tmp_path, found)
    assert json.loads(files["isolation.json"])["verdict"] == "unproved"
    for shown in (files["report.html"], "\n".join(isolation_lines(found))):
        assert "gpu1 (cpu) took 29.0 % longer" in shown
    assert "are good" not in isolation_lines(found)[0]
    assert blame_of(found) == {}


def test_where_only_large_differences_can_be_proved_nobody_is_said_to_be_good(tmp_path: Path) -> None:
    for proof in (0.45, None):
        found = isolation() | {"proof": {"cpu": proof}}
        files = written(tmp_path, found)
        assert json.loads(files["isolation.json"])["verdict"] == "unproved"
        assert "are good" not in isolation_lines(found)[0]
        assert ("45 %" if proof else "No measurement proves") in files["report.html"]


def test_what_became_of_the_suspects_of_a_run_is_said_in_the_page_and_the_terminal(tmp_path: Path) -> None:
    suspicion = [
        {"node": "gpu2", "reason": "nccl: remote process exited.", "confirmed": True},
        {"node": "gpu3", "reason": "21.3 % slower in the run", "confirmed": False},
    ]
    found = isolation(suspect("gpu2"), gpu2=("slow", "cpu", False)) | {"suspicion": suspicion}
    files = written(tmp_path, found)
    assert json.loads(files["isolation.json"])["suspicion"] == suspicion
    for shown in (files["report.html"], "\n".join(isolation_lines(found))):
        assert "remote process exited): confirmed" in shown
        assert "slower in the run): not confirmed" in shown


def test_what_the_gpus_of_a_suspect_said_stands_beside_what_is_usual(tmp_path: Path) -> None:
    reading = {"part": "GPU 0", "temperature": 61.0, "power": 690.0, "power_limit": 700.0, "clock": 1800.0}
    more = {"clock_limit": 1980.0, "ecc_corrected": 0.0, "ecc_uncorrected": 0.0, "held_down_by": None}
    link = {"pcie_speed": 32.0, "pcie_speed_limit": 32.0, "pcie_width": 16, "pcie_width_limit": 16}
    usual = {**reading, **more, **link}
    slow = {**usual, "clock": 1200.0, "held_down_by": ["thermal"], "pcie_width": 8}
    telemetry = {"gpu0": [usual], "gpu1": [usual], "gpu2": [slow]}
    found = isolation(suspect("gpu2"), gpu2=("slow", "cpu", False)) | {"telemetry": telemetry}
    files = written(tmp_path, found)
    assert json.loads(files["isolation.json"])["telemetry"] == telemetry
    page = files["report.html"]
    for shown in ("1800 of 1980", "1200 of 1980", "thermal", "32 GT/s × 8 of 32 GT/s × 16"):
        assert shown in page
    assert "telemetry" not in written(tmp_path, isolation())["report.html"]


def test_how_near_the_gpus_come_to_their_peak_is_said_as_all_may_be_slow_alike(tmp_path: Path) -> None:
    # 2 × 8192³ operations in 2.2 ms are 500 TFLOP/s, about half of the peak of a module of this model.
    took = {f"{node} GPU {number}": 0.0022 for node in NODES for number in range(8)}
    gpus = dict.fromkeys(NODES, "NVIDIA H100 80GB HBM3")
    found = isolation() | {"seconds": {"torch_gemm": took}, "gpus": gpus}
    for shown in (written(tmp_path, found)["report.html"], "\n".join(isolation_lines(found))):
        assert "H100: usually 500 TFLOP/s in BF16 (torch_gemm), 51 % of the peak" in shown
    # This card has another peak, which is not known.
    for other in ({}, dict.fromkeys(NODES, "NVIDIA H100 NVL")):
        assert "peak" not in "\n".join(isolation_lines(found | {"gpus": other}))


def of_groups(slower_by: float | None) -> dict[str, t.Any]:
    probe, sizes = "torch_groups_all_reduce", ((4, 8, 0.0), (8, 1, slower_by))
    return {
        "groups": {probe: [{"nodes": NODES, "split": 1, "slower_by": slower_by}]},
        "sizes": {
            probe: [{"nodes": nodes, "groups": groups, "seconds": 0.03, "slower_by": by} for nodes, groups, by in sizes]
        },
    }


@pytest.mark.parametrize(("by", "said"), [(0.4, "40 % slower than groups of 4"), (None, "fail")])
def test_what_is_slow_only_at_scale_is_the_title_and_no_node_is_red(
    tmp_path: Path, by: float | None, said: str
) -> None:
    slow = {"probe": "torch_groups_all_reduce", "nodes": 8, "than": 4, "slower_by": by}
    found = isolation() | of_groups(by) | {"at_scale": [slow]}
    files = written(tmp_path, found)
    assert json.loads(files["isolation.json"])["verdict"] == "slow_at_scale"
    assert json.loads(files["isolation.json"])["at_scale"] == [slow]
    assert said in isolation_lines(found)[0]
    assert said in files["report.html"]
    assert "are good" not in isolation_lines(found)[0]
    assert blame_of(found) == {}
    assert files["passing_nodes.txt"].split() == NODES


def test_groups_that_take_about_as_long_in_all_sizes_are_shown_and_good(tmp_path: Path) -> None:
    found = isolation() | of_groups(0.021)
    files = written(tmp_path, found)
    assert json.loads(files["isolation.json"])["verdict"] == "good"
    assert any("8 nodes +2.1 %" in line for line in isolation_lines(found))
    assert "1: 1 × 4" in files["report.html"]


def test_what_groups_cannot_prove_makes_no_node_doubtful(tmp_path: Path) -> None:
    found = isolation() | of_groups(0.0)
    found["proof"] = {"cpu": 0.03, "torch_groups_all_reduce": 0.3}
    assert json.loads(written(tmp_path, found)["isolation.json"])["verdict"] == "good"


def test_an_isolation_is_found_again_by_its_name_and_another_name_is_told_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no isolation 'night' that found anything: there are none"):
        isolation_in(tmp_path, "night")
    for name, rehearsal in {"night0": False, "night1": True}.items():
        (tmp_path / name).mkdir()
        write_isolation(tmp_path / name, name, isolation(), TESTS, rehearsal=rehearsal)
    assert [isolation_in(tmp_path, name)["rehearsal"] for name in ("night0", "night1")] == [False, True]
    for number in range(2, 6):
        shutil.copytree(tmp_path / "night0", tmp_path / f"night{number}")
    with pytest.raises(ValueError, match=r"no isolation 'nigth' .* the latest ones are night1, night2, .*, night5$"):
        isolation_in(tmp_path, "nigth")


@pytest.mark.parametrize("text", ["", "{}", "[3"])
def test_what_is_not_what_an_isolation_wrote_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "night/isolation.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ValueError, match=r"isolation\.json was not written by an isolation"):
        isolation_in(tmp_path, "night")


def test_a_missing_node_hides_no_doubt_about_the_others() -> None:
    lost = isolation(gpu1=("untested", "it does not answer", True))
    assert (headline_of(lost)["code"], headline_of(lost).get("case")) == ("some_tested", None)
    assert headline_of({**lost, "proof": {"cpu": None}})["case"] == "in_doubt"


@pytest.mark.parametrize(("last", "code"), [(0.02, "good"), (0.12, "coarse")])
def test_nodes_that_agree_are_good_even_where_few_of_them_could_prove_only_more(last: float, code: str) -> None:
    fleet = {"spread": 0.01, "last": "gpu1", "part": "cpu", "slower_by": last}
    found = isolation() | {"proof": {"cpu": 2.0}, "fleet": {"cpu": fleet}}
    assert headline_of(found)["code"] == code
