"""training_notify: every recipient hears of a run, however it ends, and a failed notification changes no verdict."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from not_run import need

# A module of community.general, replaced at the edge: it writes down its arguments.
MODULE = """
import json, sys
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({name: {"type": "raw"} for name in ("token", "channel", "msg")})
open(module.params["channel"], "w").write(json.dumps(module.params))
module.exit_json(changed=True)
"""


@pytest.fixture
def hook():
    """A webhook of this machine: its URL, the requests it got, and the status of its answers."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.server.sent.append((self.headers, body))
            self.send_response(self.server.status)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    server.sent, server.status = [], 200
    server.url = f"http://127.0.0.1:{server.server_port}/hooks/s3cr3t"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_verdict_goes_to_a_webhook_and_to_slack(bench, hook):
    slack = bench.folder / "collections/ansible_collections/community/general/plugins/modules/slack.py"
    slack.parent.mkdir(parents=True)
    slack.write_text(MODULE)
    notify = {
        "webhook": hook.url,
        "webhook_headers": {"Authorization": "Bearer s3cr3t"},
        "runs_url": "https://ci.example.org/runs/",
        "slack": {"token": "s3cr3t", "channel": str(bench.folder / "slack.json")},
    }
    paths = {"ANSIBLE_COLLECTIONS_PATH": f"collections:{bench.folder / 'collections'}"}
    inventory = bench.inventory(node0={}, node1={})
    done = bench.play("megatron_multinode.yml", inventory, bench.config(), "-vvv", env=paths, training_notify=notify)
    assert done.status == 0, done.output
    ((headers, body),) = hook.sent
    url = f"https://ci.example.org/runs/{body['run_id']}/report.html"
    assert (body["verdict"], body["report_url"], body["nodes"]) == ("PASS", url, 2)
    assert body["report"] == f"{done.run_dir}/report.html"
    assert body["text"].startswith(f"PASS  {body['run_id']}: 2 nodes")
    assert body["text"].endswith(f"\nReport: {url}")
    assert headers["Authorization"] == "Bearer s3cr3t"
    assert json.loads((bench.folder / "slack.json").read_text())["msg"] == body["text"]
    # Only the command line of ansible-playbook has it.
    assert "s3cr3t" not in done.output
    assert not [path for path in bench.runs.rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()]


def test_a_run_that_ends_in_an_error_is_notified_and_what_cannot_be_sent_is_a_line(bench, hook):
    need("ssh")
    hook.status = 500
    unreachable = {
        "ansible_connection": "ssh",
        "ansible_host": "127.0.0.1",
        "ansible_port": 9,
        "training_address": "10.9.9.9",
    }
    notify = {"webhook": hook.url, "slack": {"token": "s3cr3t"}, "mail": {"to": "team@example.org"}}
    inventory = bench.inventory(node0={"training_address": "10.9.9.8"}, node1=unreachable)
    config = bench.config(master_address="auto")
    done = bench.play("megatron_multinode.yml", inventory, config, training_notify=notify)
    assert done.status != 0
    assert done.summary["verdict"] == "ERROR"
    ((_headers, body),) = hook.sent
    assert body["verdict"] == "ERROR"
    assert body["first_failure"]["node"] == "node1"
    assert "node1 could not be reached" in body["text"]
    assert (
        "No notification by webhook: HTTP Error 500: Internal Server Error. The verdict does not change." in done.output
    )
    for way in ("slack", "mail"):
        assert (
            f"No notification by {way}: community.general.{way} is not installed; run: ansible-galaxy collection"
            in done.output
        )
    assert done.output.rstrip().endswith(f"Report: {done.run_dir}/report.html")


def test_a_way_that_there_is_not_is_refused_before_a_node_is_touched(bench):
    inventory = bench.inventory(node0={}, node1={})
    done = bench.play(
        "megatron_multinode.yml", inventory, bench.config(), training_notify={"webhok": "https://example.org/s3cr3t"}
    )
    assert done.status != 0
    assert "webhok" in done.output
    assert not list(bench.runs.glob("*/nodes"))
    assert "s3cr3t" not in done.output
