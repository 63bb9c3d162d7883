"""The rulebooks for Event-Driven Ansible: notifications fit their conditions and the jobs that they start."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml
from ansible_commands import finished
from finished_runs import finished_run
from jinja2.nativetypes import NativeEnvironment
from playbook_bench import ROOT, Bench

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.text import notification

BROKEN_NETWORK = (
    "echo 'torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:94, remote process exited' >&2; exit 1"
)


@pytest.fixture
def tickets() -> Iterator[tuple[str, list[dict]]]:
    """A server that keeps the requests posted to it, by its URL."""
    posted: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", posted
    server.shutdown()
    server.server_close()


def rule_of(rulebook: str) -> dict:
    ((rule,),) = (
        one["rules"] for one in yaml.safe_load((ROOT / f"extensions/eda/rulebooks/{rulebook}.yml").read_text())
    )
    return rule


def value_of_condition(rule: dict, told: dict):
    """Return the value at the path of a condition; None if the path ends before, or the search finds nothing.

    ansible-rulebook takes "is defined" as true of every key of null; a search is true only of text.
    """
    path, searched = re.fullmatch(r'(\S+) is search\("(.+)"\)', rule["condition"]).groups()
    value = found({"event": {"payload": told}}, path)
    return value if isinstance(value, str) and re.search(searched, value) else None


def found(data: dict, path: str):
    """Follow a path of the rulebook language into an event; None if it ends early."""
    for key in path.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    return data


def open_ticket(bench: Bench, told: dict, url: str) -> None:
    """Play the playbooks that the rulebook for bad nodes starts for a notification."""
    rule = rule_of("bad_node")
    assert value_of_condition(rule, told) == told["first_failure"]["node"]
    action = rule["action"]["run_playbook"]
    playbook = ROOT / "playbooks" / f"{action['name'].rpartition('.')[2]}.yml"
    variables = {**action["extra_vars"], "ticket_url": url, "ansible_eda": {"event": {"payload": told}}}
    opened = finished(["ansible-playbook", str(playbook), "-e", json.dumps(variables)], bench.environment())
    assert opened.returncode == 0, opened.stdout


def test_a_failed_node_opens_a_ticket(bench: Bench, tickets: tuple[str, list[dict]]) -> None:
    url, posted = tickets
    failed = notification(finished_run("error").run_dir, "", "")
    open_ticket(bench, failed, url)
    (ticket,) = posted
    first = failed["first_failure"]
    assert ticket["title"].startswith(f"{first['node']}: {first['class']} in run ")
    assert ticket["text"] == failed["text"]


@pytest.mark.slow
def test_a_run_whose_network_failed_opens_a_ticket_and_its_nodes_are_tested(
    bench: Bench, tickets: tuple[str, list[dict]]
) -> None:
    url, posted = tickets
    trainer = {"training_megatron_root": bench.megatron(BROKEN_NETWORK)}
    hosts = bench.inventory(**{f"node{number}": trainer for number in range(4)})
    config = bench.config(nnodes="4")
    done = bench.play(
        "megatron_multinode.yml", hosts, config, training_run_id="failed", training_notify={"webhook": url}
    )
    assert done.status != 0
    (told,) = posted
    # The steps that the report proposes to do by hand.
    proposed = done.summary["isolate"]
    assert (proposed["why"], proposed["command"] in done.output) == ("network", True)
    words = shlex.split(proposed["command"])
    assert (ROOT / words[1]).name == "isolate.yml"
    assert (ROOT / words[1]).exists()
    assert words[words.index("-i") + 1] == str(hosts)
    assert {"training_run_id=failed", f"training_output_dir={bench.runs}"} <= set(words)

    open_ticket(bench, told, url)
    assert posted[1]["title"].startswith(f"{done.summary['first_failure']['node']}: ")

    for rule in (rule_of("slow_run"), rule_of("slow_run_awx")):
        assert value_of_condition(rule, told) == "network"
        for nothing in (None, {"why": "slow_node"}):
            assert value_of_condition(rule, {**told, "isolate": nothing}) is None
        (action,) = rule["action"].values()
        asked = action.get("extra_vars") or action["job_args"]["extra_vars"]
        event = {"event": {"payload": told}}
        variables = {name: NativeEnvironment().from_string(text).render(event) for name, text in asked.items()}
        variables["training_output_dir"] = str(bench.runs)
        done = bench.play("isolate.yml", hosts, config, "--check", **variables)
        assert done.status == 0, done.output
        assert "Run failed suspects" in done.output
