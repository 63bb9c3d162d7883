"""The rulebook for Event-Driven Ansible: what a notification holds fits its condition and its playbook."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml
from ansible_commands import finished
from playbook_bench import ROOT, Bench

TRAINER = "echo torch.OutOfMemoryError: HIP out of memory. >&2; exit 1"


@pytest.fixture
def tickets() -> Iterator[tuple[str, list[dict]]]:
    """A server that keeps what is posted to it, by its URL."""
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


def found(data: dict, path: str):
    """Follow a path of the rulebook language into an event; None where it ends."""
    for key in path.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    return data


def test_a_bad_node_opens_a_ticket(bench: Bench, tickets: tuple[str, list[dict]]) -> None:
    url, posted = tickets
    hosts = bench.inventory(node0={"training_megatron_root": bench.megatron(TRAINER)})
    config = bench.config("multi_node", nnodes="1", batch_size="8")
    done = bench.play("megatron_multinode.yml", hosts, config, training_notify={"webhook": url})
    assert done.status != 0
    (notification,) = posted
    (rulebook,) = yaml.safe_load((ROOT / "extensions/eda/rulebooks/bad_node.yml").read_text())
    (rule,) = rulebook["rules"]
    path, defined = rule["condition"].split(" is ")
    assert (defined, found({"event": {"payload": notification}}, path)) == ("defined", "node0")
    action = rule["action"]["run_playbook"]
    playbook = ROOT / "playbooks" / f"{action['name'].rpartition('.')[2]}.yml"
    variables = {**action["extra_vars"], "ticket_url": url, "ansible_eda": {"event": {"payload": notification}}}
    command = ["ansible-playbook", str(playbook), "-e", json.dumps(variables)]
    opened = finished(command, bench.environment())
    assert opened.returncode == 0, opened.stdout
    assert posted[1]["title"].startswith("node0: out_of_memory in run ")
    assert posted[1]["text"] == notification["text"]
