# SPDX-License-Identifier: GPL-3.0-or-later
"""The same work for many nodes at once, in threads of this process: no node needs its own process."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
import typing as t
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context

from ...module_utils.node.phase import NodeError

Result = t.TypeVar("Result")

Done: t.TypeAlias = "tuple[str, Result | None, BaseException | None]"

_SWITCH_SECONDS = 0.2
_SIGNAL_SECONDS = 1.0


def on_each(
    nodes: Sequence[str],
    work: Callable[[str], Result],
    at_once: int,
    late: Callable[[], Iterable[Done[Result]]] = tuple,
) -> tuple[dict[str, Result], dict[str, NodeError]]:
    """Return the result of the work for each node, and the `NodeError` of each node that raised one.

    ``at_once`` nodes are worked on at the same time, in their order. Any other exception is raised here at once.
    ``late`` returns, about once a second, substitute results for nodes that nobody waits for any longer.
    """
    waiting = deque(nodes)
    done: queue.SimpleQueue[Done[Result]] = queue.SimpleQueue()

    def take_turns() -> None:
        while True:
            try:
                node = waiting.popleft()
            except IndexError:
                return
            try:
                done.put((node, work(node), None))
            except BaseException as error:
                done.put((node, None, error))

    def begin() -> None:
        # A daemon, so that this process can end without waiting for a node.
        threading.Thread(target=copy_context().run, args=(take_turns,), daemon=True).start()

    # A thread that waits for its turn wakes up once in this time. With the usual 5 ms, a thousand threads whose answers
    # come together do nothing else: 39 ms of processor time an answer, but 4 ms with a hundred nodes.
    sys.setswitchinterval(_SWITCH_SECONDS)
    for _number in range(min(at_once, len(nodes))):
        begin()
    results: dict[str, Result] = {}
    errors: dict[str, NodeError] = {}
    looked = time.monotonic()
    while len(results) + len(errors) < len(nodes):
        for node, result, error in _next(done):
            if node in results or node in errors:
                continue
            if error is None:
                results[node] = t.cast("Result", result)
            elif isinstance(error, NodeError):
                errors[node] = error
            else:
                raise error
        if time.monotonic() - looked > _SIGNAL_SECONDS:
            looked = time.monotonic()
            for one in late():
                done.put(one)
                begin()
    return {node: results[node] for node in nodes if node in results}, {n: errors[n] for n in nodes if n in errors}


def _next(done: queue.SimpleQueue[Done[Result]]) -> Iterator[Done[Result]]:
    """Yield the next finished items, if any finish soon.

    Python handles a signal in its main thread alone, but the kernel may give it to any: a main thread that waits
    without a limit then does not wake, so a worker outlived Ctrl-C in 4 of 22 tries on a loaded machine.
    """
    with contextlib.suppress(queue.Empty):
        yield done.get(timeout=_SIGNAL_SECONDS)
