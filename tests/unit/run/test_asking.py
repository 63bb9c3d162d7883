"""Asking a node: how long its answer may take."""

from __future__ import annotations

import threading
import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run import asking
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.answers import STAGE, STOP
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.asking import Asker, Output
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import NodeEndedError

STOPPED = '\ntrainops-answer:{"failed": false, "changed": true, "status": "stopped"}\n'
PLAN: t.Any = {
    "run_id": "run-1",
    "framework": "megatron",
    "container_engine": "none",
    "tokens_per_step_per_gpu": None,
    "tokens_per_sequence_per_gpu": None,
}
NODE: t.Any = {"node": "gpu0", "run_folder": "/nowhere", "files": {}}


def asker(send: t.Callable[[str, bytes], Output]) -> Asker:
    return Asker(PLAN, NODE, send, "python3", {}, check_mode=False, identity={"nonce": "0" * 32, "plan": {}}, lost=60.0)


def test_a_node_that_says_nothing_is_given_up_once_and_an_answer_that_comes_then_is_refused() -> None:
    asked, answers = threading.Event(), threading.Event()

    def send(_command: str, _program: bytes) -> Output:
        asked.set()
        answers.wait(60)
        return Output(0, STOPPED, "")

    node, refused = asker(send), []

    def ask() -> None:
        with pytest.raises(NodeEndedError) as error:
            node.ask(STOP, grace_seconds=7.0)
        refused.append(error.value)

    thread = threading.Thread(target=ask)
    thread.start()
    asked.wait(60)
    allowed = 60 + 7 + int(asking._ENGINE_SECONDS)
    assert [node.late() for _look in range(allowed - 1)] == [None] * (allowed - 1)
    late = node.late()
    assert str(late) == (f"connected, but no answer for {allowed} s; a file system there may be hanging")
    assert node.late() is None
    answers.set()
    thread.join(60)
    assert refused == [late]


def test_a_node_that_answers_or_that_fetches_an_image_is_never_late() -> None:
    node = asker(lambda _command, _program: Output(0, STOPPED, ""))
    for _ask in range(3):
        assert {node.late() for _look in range(10_000)} == {None}
        assert node.ask(STOP, grace_seconds=7.0)["status"] == "stopped"
    node.send = lambda _command, _program: Output(0, STOPPED, "") if [node.late() for _ in range(10_000)] else None
    assert node.ask(STAGE)["status"] == "stopped"
