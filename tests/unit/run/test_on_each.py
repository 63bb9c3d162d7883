"""Work for many nodes at once in threads, and the signals that come meanwhile."""

from __future__ import annotations

import signal
import threading

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.on_each import on_each

PATIENCE = 30


def test_a_signal_that_the_kernel_gives_to_another_thread_is_handled_while_nodes_work():
    handled = threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: handled.set())

    def work(_node: str) -> bool:
        # Long enough for the main thread to wait; without it this test would prove nothing.
        handled.wait(0.5)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        return handled.wait(PATIENCE)

    try:
        results, errors = on_each(["gpu0"], work, 1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (results, errors) == ({"gpu0": True}, {})


def test_a_node_that_nobody_waits_for_any_longer_leaves_its_turn_to_others_and_its_result_is_too_late():
    hangs, ended = threading.Event(), threading.Event()

    def work(node: str) -> str:
        if node == "gpu0":
            hangs.wait(PATIENCE)
            ended.set()
        return node

    late = iter([[("gpu0", "nobody waited", None)]])
    results, errors = on_each(["gpu0", "gpu1"], work, 1, lambda: next(late, []))
    assert (results, errors) == ({"gpu0": "nobody waited", "gpu1": "gpu1"}, {})
    hangs.set()
    assert ended.wait(PATIENCE)
