"""Each role on its own: it does its work, changes nothing the second time, and its results are there.

node_prep changes kernel settings and packages, so its scenario is on real nodes: tests/integration/test_node_prep.py.
"""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest
from ansible_commands import finished
from finished_runs import changeable
from not_run import need
from playbook_bench import ROOT, Bench
from ports import free_port

RUN_ID = "scenario"


def changed(output: str) -> int:
    """How many tasks changed something, on all hosts together."""
    recap = output.split("PLAY RECAP", 1)[1]
    return sum(map(int, re.findall(r"changed=(\d+)", recap)))


def of_ones_own(bench: Bench) -> dict[str, str]:
    """Return the environment of a play of one's own, which has Ansible's output: ours is chosen by our ansible.cfg."""
    return {**bench.environment(), "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.default"}


class Scenario:
    """A playbook with one role, on two nodes of this machine."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.hosts = bench.inventory(first={}, second={})

    def play(self, role: str, *then: dict, **variables) -> subprocess.CompletedProcess[str]:
        playbook = self.bench.folder / f"{role}.yml"
        task = {"ansible.builtin.include_role": {"name": f"trainops.cluster.{role}"}}
        playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [task, *then]}]))
        command = ["ansible-playbook", str(playbook), "-i", str(self.hosts), "-e", json.dumps(variables)]
        done = finished(command, of_ones_own(self.bench))
        assert done.returncode == 0, done.stdout
        return done


@pytest.fixture
def scenario(bench: Bench) -> Scenario:
    return Scenario(bench)


def test_rank_assignment(scenario: Scenario) -> None:
    told = "{{ groups.training_nodes | join(' ') }} of {{ groups.all | join(' ') }}"
    then = {"ansible.builtin.debug": {"msg": f"They are {told}."}}
    played = scenario.play("rank_assignment", then, rank_assignment_nodes=["second"])
    assert "They are second of first second." in played.stdout
    assert changed(played.stdout) == 0  # groups live in memory


RACKS = {
    "a0": {"training_topology": "rack1", "training_address": "10.0.0.1"},
    "b0": {"training_topology": "rack2", "training_address": "10.0.0.2"},
    "a1": {"training_topology": "rack1", "training_address": "10.0.0.3"},
    "c0": {"training_address": "10.0.0.4", "ansible_connection": "ssh"},
}
SHOWN = "{{ training_part }} {{ training_node_rank }} of {{ training_nnodes }} at {{ training_master_address }}"


def ranks(bench: Bench, **variables) -> subprocess.CompletedProcess[str]:
    """Give four hosts in two racks, the last one a spare, their ranks, and show each host's variables then."""
    hosts = bench.inventory(**{name: {"ansible_connection": "ssh", **own} for name, own in RACKS.items()})
    inventory = json.loads(hosts.read_text())
    inventory["spares"] = {"hosts": {"c0": {}}}
    hosts.write_text(json.dumps(inventory))
    role = {"role": "trainops.cluster.rank_assignment", "vars": {"rank_assignment_spares": "spares", **variables}}
    show = {"ansible.builtin.debug": {"msg": f"{{{{ inventory_hostname }}}}: {SHOWN}"}}
    order = {"ansible.builtin.debug": {"msg": "order {{ groups.training_nodes | join(' ') }}"}, "run_once": True}
    plays = [
        {"hosts": "all", "gather_facts": False, "roles": [role]},
        {"hosts": "all", "gather_facts": False, "tasks": [show, order]},
    ]
    playbook = bench.folder / "ranks.yml"
    playbook.write_text(json.dumps(plays))
    return finished(["ansible-playbook", str(playbook), "-i", str(hosts)], of_ones_own(bench))


@pytest.mark.slow
def test_rank_assignment_gives_hosts_the_ranks_of_a_plan_rack_by_rack_and_spares_none(bench: Bench) -> None:
    done = ranks(bench)
    assert done.returncode == 0, done.stdout
    assert changed(done.stdout) == 0
    for line in (
        "a0: node 0 of 3 at 10.0.0.1",
        "a1: node 1 of 3 at 10.0.0.1",
        "b0: node 2 of 3 at 10.0.0.1",
        "c0: spare ",
        "order a0 a1 b0",
    ):
        assert line in done.stdout, done.stdout
    plan = bench.folder / "plan.json"
    more = {"training_spares": "spares", "training_framework": "megatron", "training_plan_file": str(plan)}
    config = bench.config(nnodes="3", master_address="auto", batch_size="12")
    planned = bench.play("plan.yml", bench.folder / "hosts", config, **more)
    assert planned.status == 0, planned.output
    assert [node["node"] for node in json.loads(plan.read_text())["nodes"]] == ["a0", "a1", "b0"]


def test_rank_assignment_reports_every_error_at_once(bench: Bench) -> None:
    done = ranks(bench, rank_assignment_exclude=["a9"], rank_assignment_order=["b0", "b0"])
    assert done.returncode != 0
    said = " ".join(done.stdout.split())
    assert "a9 is not a host of the run." in said
    assert "b0 is listed more than once" in said
    assert "No rank has been assigned." in said


def launch(bench: Bench, *plays: dict, check: bool = False, **hosts: dict) -> subprocess.CompletedProcess[str]:
    """Launch a program on two nodes, by plays of two roles, each with own variables of the second."""
    common = {
        "container_launch_name": "hello",
        "container_launch_engine": "none",
        "container_launch_folder": str(bench.nodes),
        "container_launch_command": ["bash", "-c", "echo rank $NODE_RANK of $NNODES; exec sleep 600"],
        "container_launch_master_port": free_port(),
    }
    inventory = json.loads(bench.inventory(**(hosts or {"first": {}, "second": {}})).read_text())
    # Variables of a host override those of all.
    inventory["all"]["vars"] = common
    path = bench.folder / "hosts"
    path.write_text(json.dumps(inventory))
    roles = ["trainops.cluster.rank_assignment", "trainops.cluster.container_launch"]
    playbook = bench.folder / "launch.yml"
    playbook.write_text(
        json.dumps([{"hosts": "all", "gather_facts": False, "vars": own, "roles": roles} for own in plays])
    )
    command = ["ansible-playbook", str(playbook), "-i", str(path), *(["--check"] if check else [])]
    return finished(command, of_ones_own(bench))


def changed_in_plays(output: str) -> list[int]:
    """On how many hosts a task changed something, in each play."""
    return [play.count("\nchanged: [") for play in output.split("\nPLAY [")[1:]]


def output_of(bench: Bench, node: str) -> str:
    return (bench.nodes / "hello" / node / "output.log").read_text()


GONE = {"container_launch_state": "absent"}


def test_container_launch_launches_once_and_removes_what_it_launched(bench: Bench) -> None:
    done = launch(bench, {}, {}, GONE, GONE)
    assert (done.returncode, changed_in_plays("\n" + done.stdout)) == (0, [2, 0, 2, 0]), done.stdout
    assert not list(bench.nodes.rglob("state.json"))
    for rank, node in enumerate(("first", "second")):
        assert f"rank {rank} of 2" in output_of(bench, node)


@pytest.mark.slow
def test_container_launch_launches_nothing_in_check_mode_or_beside_what_was_launched(bench: Bench) -> None:
    planned = launch(bench, {}, check=True)
    assert (planned.returncode, changed(planned.stdout)) == (0, 2), planned.stdout
    assert not bench.nodes.exists()
    done = launch(bench, {}, {"container_launch_command": ["true"]})
    assert done.returncode != 0
    assert changed_in_plays("\n" + done.stdout) == [2, 0], done.stdout
    assert done.stdout.count("hello was launched here with other options") >= 2
    gone = launch(bench, GONE)
    assert (gone.returncode, changed(gone.stdout)) == (0, 2), gone.stdout


@pytest.mark.slow
def test_container_launch_waits_and_fails_only_the_node_whose_program_failed(bench: Bench) -> None:
    command = ["bash", "-c", "echo did it; exit $NODE_RANK"]
    done = launch(bench, {"container_launch_command": command, "container_launch_wait_seconds": 60})
    assert done.returncode != 0
    assert re.search(r"first +: ok=\d+ +changed=1 +unreachable=0 +failed=0", done.stdout), done.stdout
    assert re.search(r"second +: ok=\d+ +changed=\d +unreachable=0 +failed=1", done.stdout), done.stdout
    assert "hello ended with exit status 1" in done.stdout


def test_container_launch_names_what_is_wrong(bench: Bench) -> None:
    done = launch(
        bench,
        {},
        first={"container_launch_command": []},
        second={"container_launch_engine": "docker"},
        third={"container_launch_working_dir": "/no/such"},
    )
    assert done.returncode != 0
    for expected in (
        "command is empty",
        "image is empty",
        "working_dir is /no/such, but there is no such folder",
    ):
        assert expected in done.stdout, done.stdout
    assert "Traceback" not in done.stdout


def test_preflight_checks_machines_and_changes_nothing(scenario: Scenario) -> None:
    need("ip")
    then = {
        "ansible.builtin.debug": {"msg": "Statuses: {{ preflight_checked.rows | map(attribute='status') | unique }}"}
    }
    played = scenario.play("preflight", then, preflight_container_engine="none", training_gpu="cpu")
    assert "Ready: nothing is red on 2 nodes." in played.stdout
    assert "Statuses:" in played.stdout
    assert changed(played.stdout) == 0


def test_report_writes_once_and_sets_the_result_of_each_node_as_a_fact_of_its_host(bench: Bench) -> None:
    run_dir = changeable("pass", bench.folder).run_dir
    for name in ("summary.json", "report.html", "records.csv"):
        (run_dir / name).unlink()
    scenario = Scenario(bench)
    scenario.hosts = bench.inventory(node0={}, node1={})
    said = "{{ fact.node_rank }} {{ fact.verdict }} {{ fact.first_failure }} {{ fact.tokens_per_sec_per_gpu > 0 }}"
    task = {"ansible.builtin.debug": {"msg": f"{{{{ inventory_hostname }}}} has {said}"}}
    told = {**task, "vars": {"fact": "{{ training_summary }}"}}

    by_a_task = scenario.play("report", told, report_run_dir=str(run_dir)).stdout
    assert changed(by_a_task) == 1
    assert "ok: [node0 -> node1]" in by_a_task
    written = (run_dir / "summary.json").read_text()
    assert json.loads(written)["verdict"] == "PASS"

    (bench.folder / "callback_plugins").symlink_to(ROOT / "playbooks/callback_plugins")
    by_the_callback = scenario.play("report", told, report_run_dir=str(run_dir)).stdout
    assert changed(by_the_callback) == 0
    assert "ok: [node0 -> node1]" not in by_the_callback
    assert (run_dir / "summary.json").read_text() == written
    for stdout in (by_a_task, by_the_callback):
        for line in ("node0 has 0 PASS False True", "node1 has 1 PASS False True"):
            assert line in stdout, stdout


@pytest.mark.slow
def test_training_in_plays_of_ones_own_plans_shows_steps_judges_and_reports_each_run(
    bench: Bench, scenario: Scenario
) -> None:
    variables = {
        "training_config": str(bench.config()),
        "training_output_dir": str(bench.runs),
        "training_run_id": RUN_ID,
        "training_master_port": free_port(),
        "training_warmup_steps": "2",
    }
    play = {"hosts": "all", "gather_facts": False, "vars": variables, "roles": ["trainops.cluster.training"]}
    # The second play trains its own plan, not the first one's.
    again = {**play, "vars": {**variables, "training_run_id": "second"}}
    playbook = bench.folder / "mine.yml"
    playbook.write_text(json.dumps([play, again]))
    done = finished(["ansible-playbook", str(playbook), "-i", str(scenario.hosts)], of_ones_own(bench))
    assert done.returncode == 0, done.stdout
    for run_id, output in zip((RUN_ID, "second"), done.stdout.split("\nPLAY [")[1:], strict=True):
        following, judging = output.split("Start all ranks and follow the training")[1].split("Judge the run and write")
        assert "step 8/8" in following
        assert f"PASS  {run_id}" in judging
        assert json.loads((bench.runs / run_id / "summary.json").read_text())["verdict"] == "PASS"
    assert bench.trainings() == []


@pytest.mark.parametrize(
    "check", [[], pytest.param(["--check"], marks=pytest.mark.slow)], ids=["to change", "to check"]
)
def test_node_prep_says_on_which_nodes_it_is_not_root_and_changes_nothing(bench: Bench, check: list[str]) -> None:
    as_user = [] if os.geteuid() else ["unshare", "--user", "--map-user=1000"]
    if subprocess.run([*as_user, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine makes no user namespace for root, as in a chroot")
    command = bench.arguments(
        "node_prep.yml", bench.inventory(first={}, second={}), bench.config(), ansible_become=False
    )
    environment = {**of_ones_own(bench), "ANSIBLE_REMOTE_TEMP": str(bench.folder)}
    done = subprocess.run(
        [*as_user, *command, *check], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    told = " ".join(done.stdout.split())
    assert "but the login is another user on first, second. Set ansible_become to true" in told, done.stdout
    assert told.count("fatal:") == 1
    assert changed(done.stdout) == 0
