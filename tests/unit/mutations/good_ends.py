"""More logs of good runs: ends that count events that did not happen, other launchers' prefixes, and a restart."""

from __future__ import annotations

import math
import re

from changes import END, STEP, at_the_end, chained, everywhere, put, steps_of
from good_runs import PRINTS_STEPS, Logs, maxtext
from good_variants import variant

NONE_OF_IT = (
    "GPU 3 ECC errors: 0", "rank 0: finished, 0 restarts, 0 failures", "node3 lost samples: 0, timeouts: none",
    "finished iteration 40 of 40", "40 of 40 steps done", "early stopping: disabled", "wandb: Synced 5 W&B file(s)",
    "Local worker group finished (WorkerState.SUCCEEDED). Waiting 300 seconds for other agents to finish",
    "resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown",
    "Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0", "KillOInInvalidDependent=NO", "tx_timeout: 0",
    "local_ack_timeout_err:0", "Restart Count:  0", "HW Thermal Slowdown           : Not Active", "ECC Errors",
    "Uncorrectable Error                   : 0", "Block     Status  Correctable Error  Uncorrectable Error",
    "bash: warning: setlocale: LC_ALL: cannot change locale (de_DE.UTF-8)", "perl: warning: Setting locale failed.",
    "Token indices sequence length is longer than the specified maximum sequence length (9 > 8), indexing errors",
    "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx942130.kdb Performance may degrade.",
    "E0203 04:08:00.000000 77 init.cc:232] grpc_wait_for_shutdown_with_timeout() timed out.",
    "worker 3 removed its lock file", "no NaN found in 40 iterations", "srun: Complete StepId=4711.0 received",
    "Rolling back is not needed", "skipped 0 batches", "Connection to node1 closed.", "nodes: 4 of 4",
    "Disabling parallelism to avoid deadlocks...", "performance may be degraded", "wandb: W&B is set to `offline` here",
    'n1:7:7 [0] NCCL WARN Missing "iommu=pt" from kernel command line which can lead to a hang!',
    "W0203 04:05:30.000000 77 torch/_inductor/utils.py:1137] [0/0] Not enough SMs to use max_autotune_gemm mode",
)  # fmt: skip
PREFIXES = (
    "  3: ", "[pod/train-3/train] ", "[default3]:", "[trainer3]:", "(Worker pid=77, ip=10.0.0.3) ", "n3: ",
    "2026-02-03T04:05:06.123456789Z stdout F ", "2026-02-03 04:05:06.123 | INFO     | train:main:3 - ", "INFO:root:",
    "\x1b[36m(RayTrainWorker pid=77)\x1b[0m ",
)  # fmt: skip


def _ends() -> None:
    for node, text, framework, change in at_the_end(NONE_OF_IT):
        variant(f"{node} {text[:40]!r}", framework, change)


def _prefixes() -> None:
    for place, prefix in enumerate(PREFIXES):
        framework = list(PRINTS_STEPS)[place % len(PRINTS_STEPS)]
        change = everywhere(lambda log, prefix=prefix: re.sub("(?m)^(?=.)", prefix.replace("\\", r"\\"), log))
        variant(f"prefix {prefix!r}", framework, change)
    for framework in ("megatron", "maxtext"):
        variant("CRLF", framework, everywhere(lambda log: log.replace("\n", "\r\n")))


def _schedules() -> None:
    """Begin or end with a learning rate of 0, find a loss scale, and let gradients shrink."""
    for name, rate in {
        "warms up from 0": lambda step, _old: f"{1e-4 * (step - 1) / 40:.6E}",
        "decays to 0": lambda step, _old: f"{1e-4 * (40 - step) / 40:.6E}",
    }.items():
        for framework in ("megatron", "nxdt"):
            variant(f"the learning rate {name}", framework, put(framework, "lr", rate))
    norms = put("megatron", "grad_norm", lambda step, _old: f"{30 * math.exp(-step / 8) + 0.5:.3f}")
    variant("gradients shrink", "megatron", norms)
    grows = lambda step, line: line.replace("loss scale: 1.0", f"loss scale: {65536.0 * 2 ** (step // 20)}")
    variant("a loss scale that grows", "megatron", steps_of("megatron", grows))
    variant("the first search of a loss scale", "megatron", steps_of("megatron", _searches))
    averages = lambda step, line: re.sub(r"((?:\(ms\)|GPU\)): )(\S+) \|", r"\1\2/400.0 |", line)
    variant("running averages", "megatron", steps_of("megatron", averages))


def _searches(step: int, line: str) -> str:
    """Return the line of a step as FP16 begins: the scale is halved until the gradients are finite."""
    line = line.replace("loss scale: 1.0", f"loss scale: {2.0 ** (33 - min(step, 13)):.1f}")
    if step > 12:
        return line
    line = re.sub(
        r" (?:lm loss|grad norm): [^|]*\|", "", re.sub(r"learning rate: \S+", "learning rate: 0.000E+00", line)
    )
    return line.replace("skipped iterations:   0", "skipped iterations:   1")


def _went_on(logs: Logs) -> Logs:
    """Return logs whose steps up to 12 end in a failure, and go on from step 10, nine minutes later."""
    crash = 'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\nRuntimeError: NCCL error: x\n'
    step = re.compile(STEP["maxtext"])

    def of_node(log: str) -> str:
        lines = re.split(f"(?<={END['maxtext']})", log)
        numbers = [int(found[1]) if (found := step.search(line)) else None for line in lines]
        before = [line for line, number in zip(lines[:-2], numbers, strict=False) if number is None or number < 13]
        after = [line for line, number in zip(lines, numbers, strict=True) if number is None or number >= 10]
        later = re.sub(r"I0203 04:(\d\d)", lambda found: f"I0203 04:{int(found[1]) + 9:02d}", "".join(after))
        return "".join(before) + crash + later

    return {node: of_node(str(log)) for node, log in logs.items()}


def _others() -> None:
    unnamed = lambda logs: {node: str(log).replace(f"{node}:77", "localhost:77") for node, log in logs.items()}
    variant("hosts without names", "megatron", unnamed)
    variant("a restart from a checkpoint", "maxtext", _went_on)
    variant("perplexities, and CRLF", "maxtext", chained(lambda _logs: maxtext(perplexity=True), _crlf))


_crlf = everywhere(lambda log: log.replace("\n", "\r\n"))
for _kind in (_ends, _prefixes, _schedules, _others):
    _kind()
