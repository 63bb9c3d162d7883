"""Other logs of good runs: further lines of trainers, schedulers and launchers, and wrapped lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from changes import Mutation, chained, everywhere, on, steps_of
from good_runs import PRINTS_STEPS, Logs

VARIANTS: list[Mutation] = []


def variant(name: str, framework: str, apply: Callable[[Logs], Logs]) -> None:
    VARIANTS.append(Mutation("good", name, framework, apply))


def _fields() -> None:
    more = (" loss scale:", " load_balancing_loss: 1.01E+00 | params norm: 812.3 | num zeros: 12 | loss scale:")
    variant("other fields", "megatron", steps_of("megatron", lambda step, line: line.replace(*more)))
    variant("other fields", "maxtext", steps_of("maxtext", lambda step, line: f"{line[:-1]}, moe_lb_loss: 0.01\n"))
    averages = (" v_num=2,", " loss=nan, v_num=2,")
    variant("Lightning's own loss", "nxdt", steps_of("nxdt", lambda step, line: line.replace(*averages)))


# From Megatron-LM, at --timing-log-level 2.
TIMERS = """(min, max) time across ranks (ms):
    forward-backward ...............................: (402.10, 410.33)
    all-grads-sync .................................: (0.01, 0.02)
    optimizer-unscale-and-check-inf ................: (0.01, 0.02)
    optimizer-count-zeros ..........................: (0.01, 0.02)
    optimizer ......................................: (0.01, 0.02)
"""


def _timers() -> None:
    variant("timers", "megatron", steps_of("megatron", lambda step, line: line + TIMERS))


def _evaluations() -> None:
    for framework, text in (
        ("megatron", " validation loss at iteration 20 | lm loss value: 8.000000E+00 | lm loss PPL: 2.980958E+03 |\n"),
        ("maxtext", "eval metrics after step: 20, loss=9.123, total_weights=1024\n"),
    ):
        between = lambda step, line, text=text: line + text if step == 20 else line
        variant("an evaluation", framework, steps_of(framework, between))


def _sizes() -> None:
    second = on("node0", lambda log: log.replace("  micro_batch_size", "  log_interval ....... 2\n  micro_batch_size"))
    every_other = steps_of("megatron", lambda step, line: None if step % 2 else line)
    variant("each second step by its log interval", "megatron", chained(second, every_other))
    parallel = "> initializing tensor model parallel with size 16\n> initializing data parallel with size 8\n"
    variant("parallel sizes", "nxdt", on("node0", lambda log: parallel + log))


def _stamps() -> None:
    elsewhere = lambda log: re.sub(r"(?m)^I0203 04:", "I0203 13:", log)
    variant("another time zone", "maxtext", on("node1", elsewhere))
    none = steps_of("megatron", lambda step, line: re.sub(r"^ \[.*?\]", "", line))
    variant("no stamps", "megatron", none)
    finer = steps_of("megatron", lambda step, line: line.replace("] iteration", ".123456] iteration"))
    variant("stamps with a fraction", "megatron", finer)


_GNU_TIME = (
    '\tCommand being timed: "bash train.sh"\n\tMajor (requiring I/O) page faults: 0\n'
    "\tMinor (reclaiming a frame) page faults: 31234\n\tSignals delivered: 0\n\tExit status: 0\n"
)
AT_THE_END = {
    "time": _GNU_TIME,
    "counts": "32 succeeded, 0 failed\nerrors: 0, warnings: 3\n",
    "none": "Training finished without errors.\nAll ranks finished, no errors.\n",
    "health": "health check passed: xid errors: 0, uncorrectable ecc errors: 0\n",
    "accounting": "JobState=COMPLETED Reason=None ExitCode=0:0 DerivedExitCode=0:0\nState: COMPLETED (exit code 0)\n",
    "a line of source": "/x/y.py:789: FutureWarning: x is deprecated.\n  import x  # or raise ImportError\n",
    "NCCL ends": "n1:7:9 [0] NCCL INFO misc/socket.cc:47 -> 3\nn1:7:9 [0] NCCL INFO comm 0x5 rank 8 - Abort COMPLETE\n",
    "counts of nothing": (
        "fault_tolerance: rank monitor stopped, 0 timeouts\n0 bytes leaked, 0 file descriptors lost\n"
        "removed 3 old checkpoints, killed 0 stale processes\nmemory error corrections: 0\nretries exhausted: 0\n"
        "ECC errors: 0 corrected, 0 uncorrected\ndcgm-exporter: XID errors 0\npreemptions: 0\nlost samples: 0\n"
        "Summary: 40 steps, 0 skipped, 0 NaN, 0 restarts, 0 failures\nunreachable hosts: none\n"
        "n3 : ok=12 changed=3 unreachable=0 failed=0 skipped=2 rescued=0 ignored=0\n"
    ),
    "Slurm at its own verbosity": "slurmstepd: task_p_post_term: 1.0, task 0\nslurmstepd: done with step\n",
    "what is left to AWS": (
        "[77.123456] efa 0000:a0:1a.0 rdmap7: Failed to process command DEREG_MR (opcode 8) comp_status 7 err -22\n"
        "2026-Feb-03 04:05:21.000006 7:7 ERROR   NRT:nrt_close   Unexpected runtime state: NRT_STATE_START\n"
    ),
    "another language": "Di 3. Feb 04:10:00 CET 2026\nreal\t0m44,120s\n学習が終了しました\n",
}
AT_THE_BEGIN = {
    "round-off": "2026-02-03 04:05:00.1: I tensorflow/core/util/port.cc:153] oneDNN: floating-point round-off errors\n",
    "no driver": "libibverbs: Warning: couldn't load driver 'libefa.so': libefa.so: No such file or directory\n",
    "little memory to lock": "libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.\n    This will severely limit\n",
    "tried again": "[W203 04:05:02.0 TCPStore.cpp:115] [c10d] The client socket has failed to connect to [n0]:29500\n",
}


def _wrapped() -> None:
    for node in ("node0", "node1", "node3"):
        for name, text in AT_THE_END.items():
            variant(f"{name} at the end of {node}", "megatron", on(node, lambda log, text=text: log + text))
    for name, text in AT_THE_BEGIN.items():
        variant(name, "megatron", everywhere(lambda log, text=text: text + log))
    for prefix in (
        "node3: ",
        "[1,3]<stdout>:",
        "trainer-1  | ",
        "2026-02-03T04:05:06.1Z ",
        "Feb  3 04:05:06 n3 t[7]: ",
    ):
        for framework in PRINTS_STEPS:
            change = everywhere(lambda log, prefix=prefix: re.sub("(?m)^(?=.)", prefix, log))
            variant(f"prefix {prefix}", framework, change)
    again = lambda log: re.split(r"(?<=COMPLETE\n)", log)[0] + log.replace(":77:", ":99:").replace("0xabc", "0xabd")
    variant("a head that is begun again", "megatron", everywhere(again))


for _kind in (_fields, _timers, _evaluations, _sizes, _stamps, _wrapped):
    _kind()
