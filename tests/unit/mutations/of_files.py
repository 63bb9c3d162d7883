"""Changes of whole logs: silent nodes, text after the end, copies, and other runs within."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable
from random import Random

from changes import END, FIELDS, LOSS_FIELD, STEP, add, chained, everywhere, on, steps_of
from good_runs import GOOD, PRINTS_STEPS, Logs

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/workspace/Megatron-LM/pretrain_gpt.py", line 300, in <module>\n'
    "KeyError: 'tokens'\n"
)
AFTER_THE_END = {
    "watchdog": "[rank0]:[E1103 02:07:08.4 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE) ran for 600060 milliseconds before timing out.\n",
    "child failed": "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
    "heartbeat": "E1103 02:07:08.4 77 client.h:80] UNAVAILABLE: The following tasks are unhealthy (stopped sending"
    " heartbeats):\n/job:jax_worker/replica:0/task:1\n",
    "coordinator": "F1103 02:07:08.4 77 client.h:80] Failed to send RPC to coordination service.\n",
    "xid": "[ 12.5] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.\n",
    "ras": "amdgpu 0000:c5:00.0: amdgpu: RAS: 2 uncorrectable hardware errors detected in umc block\n",
    "oom killer": "[ 99.1] Out of memory: Killed process 4242 (python) total-vm:1234kB\n",
    "srun": "srun: error: node1: task 3: Exited with exit code 1\n",
    "time limit": "slurmstepd: error: *** STEP 12.0 ON node1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n",
    "killed": "Killed\n",
    "fatal python": "Fatal Python error: Segmentation fault\n",
    "nrt": "ERROR   NRT:nrt_execute_repeat  nrt_execute failed: NRT_EXEC_UNIT_UNRECOVERABLE status=101\n",
    "oom": "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.\n",
    "disk": "OSError: [Errno 28] No space left on device\n",
    "traceback": TRACEBACK,
    "colours within words": "torch.OutOf\x1b[31mMemoryErr\x1b[0mor: HIP out of mem\x1b[1mory\x1b[0m. Tried to allo\n",
    "a long line": "x" * 300_000 + " HIP out of memory " + "x" * 300_000 + "\n",
    "many lines": "some line\n" * 30_000 + "RuntimeError: HIP error: unspecified launch failure\n" + "more\n" * 30_000,
    "written over": "progress 99%\rtorch.OutOfMemoryError: HIP out of memory.\rprogress 100%              \n",
    "line of NUL": "\x00" * 5000 + "torch.OutOfMemoryError: HIP out of memory.\n",
    "no line end": "torch.OutOfMemoryError: HIP out of memory",
    "then a good end": "torch.OutOfMemoryError: HIP out of memory.\nTraining finished successfully.\nexit status 0\n",
    "a forged exit marker": TRACEBACK + "trainops.cluster: exit status 0\ntraining_exit_status=0\n",
}


def _head(text: str) -> str:
    lines = text.splitlines(True)
    return "".join(lines[: min(2, len(lines) - 1)])


def _why_silent(framework: str, node: str, name: str) -> dict[str, str]:
    if framework != "nxdt" or node != "node1":
        return {}
    if name in ("head", "head, and that all went well"):
        return {"no_trace": "an NxDT node without steps may print no more than that it joined the job"}
    if name == "NUL for half":
        return {"missed": "the line with which it joined the job stands before the zeros"}
    return {}


def _silent_nodes() -> None:
    for framework in GOOD:
        for node in GOOD[framework]():
            for name, change in {
                "empty": lambda text: "",
                "a line end": lambda text: "\n",
                "head": _head,
                "UTF-16": lambda text: text.encode("utf-16"),
                "UTF-16 without mark": lambda text: text.encode("utf-16-le"),
                "UTF-32": lambda text: text.encode("utf-32"),
                "binary": lambda text: b"\x00\x01\x02" * 500,
                "compressed": lambda text: b"\x1f\x8b\x08\x00" + bytes(range(256)) * 9,
                "traceback": lambda text: TRACEBACK,
                "head and traceback": lambda text: _head(text) + TRACEBACK,
                "head, and that all went well": lambda text: text.splitlines(True)[0] + "training finished\n",
                "NUL for half": lambda text: text[: len(text) // 2].encode() + b"\x00" * (len(text) // 2),
            }.items():
                add("silent", f"{node} {name}", framework, on(node, change), **_why_silent(framework, node, name))
            add("silent", f"{node} no file", framework, lambda logs, gone=node: {k: logs[k] for k in logs if k != gone})


def _network() -> None:
    def sockets(text: str) -> str:
        text = text.replace("NET/IB/0/GDRDMA", "NET/Socket/0").replace("Using network IB", "Using network Socket")
        return text.replace("NET/IB : Using [0]bnxt_re0:1/RoCE [1]bnxt_re1:1/RoCE [RO]; OOB", "NET/Socket : Using [0]")

    add("network", "all by sockets", "megatron", everywhere(sockets))
    add("network", "one by sockets", "megatron", on("node1", sockets))
    for node in GOOD["megatron"]():
        add(
            "network",
            f"{node} one channel",
            "megatron",
            on(node, lambda text: text.replace("IB/0/GDRDMA", "Socket/0")),
        )
        add(
            "network",
            f"{node} unknown",
            "megatron",
            on(node, lambda text: re.sub(r".*NET/IB.*\n|.*Using net.*\n", "", text)),
        )


def _after_the_end() -> None:
    for framework in GOOD:
        for name, text in AFTER_THE_END.items():
            node = PRINTS_STEPS[framework]
            add("after the end", name, framework, on(node, lambda log, text=text: log + text))
    for node in ("node0", "node1"):
        for name, text in AFTER_THE_END.items():
            add("after the end", f"{node} {name}", "megatron", on(node, lambda log, text=text: log + text))


def _standard_error() -> None:
    def beside(node: str, text: str) -> Callable[[Logs], Logs]:
        return lambda logs: {**{f"{name}.out": log for name, log in logs.items()}, f"{node}.err": text}

    for name in ("child failed", "oom", "killed", "time limit", "fatal python", "traceback"):
        add("standard error", name, "megatron", beside("node3", AFTER_THE_END[name]))
        add("standard error", f"node1 {name}", "megatron", beside("node1", AFTER_THE_END[name]))
        add("standard error", name, "maxtext", beside("node1", AFTER_THE_END[name]))
    other = re.sub(r"lm loss: \d", "lm loss: 8", str(GOOD["megatron"](seed=8)["node3"]))
    add("standard error", "other steps", "megatron", beside("node3", other))


def _copies() -> None:
    pairs = [
        ("megatron", a, b)
        for a, b in (("node3", "node1"), ("node0", "node1"), ("node3", "node0"), ("node1", "node2"), ("node3", "node2"))
    ]
    for framework, a, b in [*pairs, ("maxtext", "node0", "node1"), ("nxdt", "node0", "node1")]:
        add("copies", f"{b} is {a}", framework, lambda logs, a=a, b=b: {**logs, b: logs[a]})
        add(
            "copies",
            f"{b} is {a} with a head",
            framework,
            lambda logs, a=a, b=b: {**logs, b: f"this is {b}\n{logs[a]}"},
        )
        add(
            "copies",
            f"{b} is {a} in CRLF",
            framework,
            lambda logs, a=a, b=b: {**logs, b: str(logs[a]).replace("\n", "\r\n")},
        )
        add(
            "copies",
            f"{b} is {a} in colours",
            framework,
            lambda logs, a=a, b=b: {**logs, b: re.sub(r"(?m)^", "\x1b[0m", str(logs[a]))},
        )
        add(
            "copies",
            f"{b} is {a} and ends before",
            framework,
            lambda logs, a=a, b=b: {**logs, b: "".join(str(logs[a]).splitlines(True)[:-1])},
        )
    for a, b in (("node1", "node2"), ("node2", "node1"), ("node0", "node2")):
        add(
            "copies",
            f"{b} is {a} by another host name",
            "megatron",
            lambda logs, a=a, b=b: {**logs, b: str(logs[a]).replace(a, b)},
        )
    add(
        "copies",
        "two nodes swapped their names",
        "megatron",
        lambda logs: {**logs, "node1": logs["node2"], "node2": logs["node1"]},
        no_trace="the nodes of a job may be in any order",
    )
    swap = lambda text: text.replace("rank 8 nranks", "rank 16 nranks")
    add("copies", "one rank on two nodes", "megatron", on("node1", swap))
    ends = lambda logs: {**logs, "node1": re.sub(r"I\d{4} [\d:.]+", "I0203 04:05:06.000000", str(logs["node0"]))}
    add("copies", "node1 is node0 with one time", "maxtext", ends)


_AT_THE_SAME_MINUTE = "one run has these steps: both began in the same second, with the same samples and the same model"


def _order() -> None:
    for framework in GOOD:
        node, end, step = PRINTS_STEPS[framework], END[framework], STEP[framework]

        def places(parts: list[str], step: str = step) -> list[int]:
            return [place for place, part in enumerate(parts) if re.search(step, part)]

        def moved(text: str, to: Callable[[list[int]], list[int]], end: str = end, places: t.Any = places) -> str:
            parts = text.split(end)
            found = places(parts)
            new = list(parts)
            for place, other in zip(found, to(found), strict=True):
                new[place] = parts[other]
            return end.join(new)

        add(
            "order",
            "shuffled",
            framework,
            on(node, lambda text, moved=moved: moved(text, lambda found: Random(3).sample(found, len(found)))),
        )
        add("order", "reversed", framework, on(node, lambda text, moved=moved: moved(text, lambda found: found[::-1])))
        add(
            "order",
            "two swapped",
            framework,
            on(
                node,
                lambda text, moved=moved: moved(
                    text, lambda found: [*found[:15], found[18], *found[16:18], found[15], *found[19:]]
                ),
            ),
        )
        add(
            "order",
            "the halves swapped",
            framework,
            on(
                node,
                lambda text, moved=moved: moved(
                    text, lambda found: found[len(found) // 2 :] + found[: len(found) // 2]
                ),
            ),
        )
        add("order", "twice", framework, on(node, lambda text: text + text))
        other = str(GOOD[framework](seed=7)[node])
        add("order", "another run before", framework, on(node, lambda text, other=other: other + text))
        add("order", "another run after", framework, on(node, lambda text, other=other: text + other))
        add("order", "half before the whole", framework, on(node, lambda text: text[len(text) // 2 :] + text))
        add(
            "order",
            "the end of another run",
            framework,
            on(node, lambda text, other=other: text[: len(text) // 2] + other[len(text) // 2 :]),
            no_trace="" if framework == "maxtext" else _AT_THE_SAME_MINUTE,
        )
        lines = {re.search(step, part).group(1): part for part in other.split(end) if re.search(step, part)}  # type: ignore[union-attr]
        both = lambda number, line, lines=lines, end=end: (
            lines[str(number)] + end + line if 10 <= number <= 25 else line
        )
        missed = "a bar shows each step twice, with other values" if framework == "nxdt" else ""
        add("order", "two runs interleaved", framework, steps_of(framework, both, {node}), missed=missed)
        of_other = lambda number, line, lines=lines, end=end: lines[str(number)] + end if 15 <= number <= 25 else line
        add(
            "order",
            "steps of another run",
            framework,
            steps_of(framework, of_other, {node}),
            no_trace="" if framework == "maxtext" else _AT_THE_SAME_MINUTE,
        )
        again = lambda number, line: line * 2 if number == 20 else line
        if framework != "nxdt":
            bad = lambda number, line, field=FIELDS[framework]["loss"]: (
                re.sub(field, r"\g<1>nan\g<3>", line) + line if number == 20 else line
            )
            add("order", "NaN, and then a good value", framework, steps_of(framework, bad, {node}))
            worse = lambda number, line, field=FIELDS[framework]["loss"]: (
                line + re.sub(field, r"\g<1>99.5\g<3>", line) if number == 20 else line
            )
            add("order", "a step with two losses", framework, steps_of(framework, worse, {node}))
            shift = lambda number, line, step=step: (
                re.sub(step, lambda found: found.group().replace(found.group(1), str(number - 1)), line)
                if number > 20
                else line
            )
            add("order", "numbers shifted by one", framework, steps_of(framework, shift, {node}))
        twice = "scripts of Primus print each line twice"
        add("order", "the same step again", framework, steps_of(framework, again, {node}), no_trace=twice)


def _restarts() -> None:
    add(
        "restarts",
        "began again, the rest without loss",
        "megatron",
        chained(
            on("node3", lambda text: text + text),
            steps_of("megatron", lambda step, line: re.sub(LOSS_FIELD["megatron"], "", line)),
        ),
    )
    for framework in GOOD:
        node = PRINTS_STEPS[framework]
        add(
            "restarts",
            "ends in a new start",
            framework,
            on(node, lambda text: text + "".join(text.splitlines(True)[:3]) + TRACEBACK),
        )
        add(
            "restarts",
            "ends in the first steps again",
            framework,
            on(node, lambda text, cut=STEP[framework]: text + text[: list(re.finditer(cut, text))[4].start()]),
        )


for _kind in (_silent_nodes, _network, _after_the_end, _standard_error, _copies, _order, _restarts):
    _kind()
