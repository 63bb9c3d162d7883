"""Changes that leave a node out of the last attempt or of the job, and a save that does not end."""

from __future__ import annotations

import re
from collections.abc import Callable

from changes import add, chained, on, put, steps_of
from good_runs import PRINTS_STEPS, Logs, nccl
from good_variants import variant

IGNORED = (
    'Exception ignored in: <function X.__del__ at 0x7>\nTraceback (most recent call last):\n  File "/x.py", line 1\n'
)
STORE = (
    "[W203 04:06:00.1 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=7, addr=[n1]:3): Broken pipe\n"
    "Exception raised from sendBytes at /x/c10d/Utils.hpp:653 (most recent call first):\n"
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x80 (0x7f in /x/libc10.so)\n\n"
    '[W203 04:06:00.1 ProcessGroupNCCL.cpp:1659] [PG ID 0 Rank 8] Failed to check the "should dump" flag on TCPStore,'
    " (maybe TCPStore server has shut down too early), with error: Broken pipe\n"
)
SAVES = {
    "megatron": (
        "saving checkpoint at iteration      40 to /c\n",
        "  successfully saved checkpoint from iteration 40\n",
    ),
    "maxtext": ("I0203 04:08:00.0 77 Background save thread started.\n", "I0203 Background save thread done.\n"),
}


def _ends() -> None:
    broken = on("node3", lambda log: f"{log}{IGNORED}RuntimeError: HIP error: unspecified launch failure\n")
    add("attempts", "a GPU that failed as its memory was freed", "megatron", broken)
    gone = on(
        "node3", lambda log: f"{log}{IGNORED}ImportError: sys.meta_path is None, Python is likely shutting down\n"
    )
    variant("what Python ignores as it ends", "megatron", gone)
    for node in ("node1", "node3"):
        variant(f"the store is closed on {node}", "megatron", on(node, lambda log: log + STORE))


def _saves() -> None:
    for framework, (begun, written) in SAVES.items():
        add("attempts", "a save that does not end", framework, on("node0", lambda log, begun=begun: log + begun))
        other = begun + written.replace("40", "20")
        if other != begun + written:
            add("attempts", "a save of another step ends", framework, on("node0", lambda log, other=other: log + other))
        whole = begun + written
        variant("a save", framework, on("node0", lambda log, whole=whole: log + whole))


def _tried_twice(logs: Logs, *without: str) -> Logs:
    """Return logs whose first attempt ends before step 13, with the second one, but of some nodes."""
    first = {node: str(log).split("[after training")[0] for node, log in logs.items()}
    first["node3"] = first["node3"][: first["node3"].index(" iteration       13/")].rpartition("\n")[0] + "\n"
    second = {
        node: re.sub(r"([\d-]{10}) 04:05:", r"\1 04:15:", str(log)).replace(":77:", ":99:").replace("0xabc", "0xabd")
        for node, log in logs.items()
    }
    return {node: log + ("" if node in without else second[node]) for node, log in first.items()}


def _attempts() -> None:
    variant("a second attempt from the first step", "megatron", _tried_twice)
    for node in ("node1", "node2"):
        change = lambda logs, node=node: _tried_twice(logs, node)
        add("attempts", f"{node} is not in the last one", "megatron", change)
    # Its first bars belong to an attempt that ended.
    twice = on("node0", lambda log: log[: log.index("| 13/")].rpartition("\r")[0] + "\n" + log)
    add("attempts", "one node is not in the last one", "nxdt", twice)
    add("attempts", "one node began once more", "nxdt", on("node1", lambda log: log + log))
    of_node = nccl(16, 32).replace("rank 16 nranks 32", "rank 0 nranks 8").replace("0xabc", "0xdef")
    alone = on("node2", lambda log: log.replace(nccl(16, 32), of_node))
    add("attempts", "a communicator of its own node alone", "megatron", alone)
    frame = on("node0", lambda log: re.sub(r"(\| 20/40 .*?_loss=)[\d.]+", r"\1nan", log, count=1))
    add("attempts", "a frame of a bar", "nxdt", frame)
    eighth = put("megatron", "loss", lambda step, old: f"{float(old) / 8:.6E}")
    add("attempts", "an eighth of the loss", "megatron", eighth, no_trace="a training that begins with weights")


BEGINS = "[before the start of training step] datetime: 2026-02-03 04:05:06 \n"
LOADED = "  successfully loaded checkpoint from /c [ t 1/1, p 1/1 ] at iteration 20\n"


def _begins() -> None:
    """Begin a process, a training or a communicator once more, and let nothing come of it."""
    twice = on("node0", lambda log: log.replace(BEGINS, BEGINS + BEGINS.replace(":06", ":12")))
    add("attempts", "rank 0 begins twice", "megatron", twice)
    add("attempts", "rank 0 begins after its end", "megatron", on("node0", lambda log: log + BEGINS))
    for node in ("node1", "node3"):
        second = f"{node}:77:99 [0] NCCL INFO ncclCommInitRank comm 0x66 rank 1 nranks 4 cudaDev 0 - Init "
        both = on(node, lambda log, second=second: f"{log}{second}START\n{second}COMPLETE\n")
        variant(f"a second communicator on {node}", "megatron", both)


# A bar in tqdm's format for the trainer's work after its last step.
BAR = "Validation DataLoader 0:  40%|████      | 2/5 [00:10<00:15,  5.00s/it]\r"
FULL = "Validation DataLoader 0: 100%|██████████| 5/5 [00:25<00:00,  5.00s/it]\r"


def _bars() -> None:
    for framework, node in PRINTS_STEPS.items():
        variant("a bar at the end", framework, on(node, lambda log: f"{log}{BAR}{FULL}\n"))


def _other_steps() -> None:
    """Let rank 0 report that it resumed from a step, or ended at one, that does not match the printed steps."""
    went_on = on("node0", lambda log: LOADED + log)
    add("attempts", "a checkpoint that is not gone on from", "megatron", went_on)
    for name, first, add_it in (("a checkpoint", 21, variant), ("a checkpoint, and a gap", 31, _add_attempts)):
        rest = steps_of("megatron", lambda step, line, first=first: line if step >= first else None)
        add_it(name, "megatron", chained(rest, went_on))
    for step, add_it in ((40, variant), (30, _add_attempts)):
        ended = on("node0", lambda log, step=step: f"{log}[exiting program at iteration {step}] datetime: 2026\n")
        add_it(f"ended at {step}", "megatron", ended)


def _other_checkpoints() -> None:
    """Let the nodes of a job go on from one checkpoint each, and begin their steps there."""
    changes = {}
    for name, other, add_it in (("one checkpoint", 5, variant), ("another checkpoint", 9, _add_attempts)):
        for node, step in (("node0", 5), ("node1", other)):
            said = on(node, lambda log, step=step: f"restoring from this run's directory step {step}\n{log}")
            rest = steps_of("maxtext", lambda at, line, step=step: line if at > step else None, [node])
            changes[node] = chained(said, rest)
        add_it(name, "maxtext", chained(*changes.values()))


def _add_attempts(name: str, framework: str, apply: Callable[[Logs], Logs]) -> None:
    add("attempts", name, framework, apply)


for _kind in (_ends, _saves, _attempts, _begins, _bars, _other_steps, _other_checkpoints):
    _kind()
