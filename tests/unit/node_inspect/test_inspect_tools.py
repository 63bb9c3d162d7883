from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection import tools
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.tools import (
    MissingToolError,
    ToolError,
    run_tool,
    together,
)
from ansible_collections.trainops.cluster.plugins.module_utils.node.processes import start_time


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30
    while start_time(pid) is not None:
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.01)


def test_output_and_errors_of_a_tool_come_back_apart() -> None:
    program = "import sys; print('out'); print('err', file=sys.stderr)"
    assert run_tool([sys.executable, "-c", program], 30) == ("out\n", "err\n")


def test_a_tool_that_is_not_there_is_named() -> None:
    with pytest.raises(MissingToolError, match=r"^no-such-tool is not installed$"):
        run_tool(["no-such-tool"], 1)


def test_a_tool_that_fails_tells_its_last_line() -> None:
    program = "import sys; print('first\\nno devices', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ToolError, match=r"-c failed \(exit status 3\): no devices$"):
        run_tool([sys.executable, "-c", program], 30)


def test_a_tool_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 1000 & echo $! >{pids}; sleep 1000"
    with pytest.raises(ToolError, match=r"^sh did not answer within 0.5 s$"):
        run_tool(["sh", "-c", script], 0.5)
    wait_until_gone(int(pids.read_text()))


def test_a_tool_that_no_signal_ends_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A process of another session stands in for one that waits for a driver: the pipes stay open.
    monkeypatch.setattr(tools, "_END_SECONDS", 0.1)
    pids = tmp_path / "pids"
    errors: list[str] = []

    def run() -> None:
        with pytest.raises(ToolError) as error:
            run_tool(["sh", "-c", f"setsid sh -c 'echo $$ >{pids}; exec sleep 1000' & wait"], 1)
        errors.append(str(error.value))

    running = threading.Thread(target=run, daemon=True)
    running.start()
    running.join(30)
    os.kill(int(pids.read_text()), signal.SIGKILL)
    assert errors == ["sh did not answer within 1 s"]


def test_a_task_that_fails_or_hangs_spoils_no_other() -> None:
    never = threading.Event()

    def fail() -> None:
        raise ToolError("broken")

    found = together({"good": lambda: 7, "bad": fail, "odd": lambda: {}["version"], "slow": never.wait}, 0.2)
    assert found["good"] == 7
    assert (str(found["bad"]), str(found["slow"])) == ("broken", "no answer within 0.2 s")
    assert str(found["odd"]) == "unexpected data: KeyError('version')"
    never.set()
