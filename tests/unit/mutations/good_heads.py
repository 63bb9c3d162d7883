"""Other heads and ends of good runs: scripts' output around a training, and trainers' lines about their model."""

from __future__ import annotations

import re

from changes import everywhere, on
from good_variants import variant
from of_model import CONFIGURATION, FLOPS_OF_STEP, PARAMETERS

BEFORE_THE_JOB = {
    "no repository": "fatal: not a git repository (or any of the parent directories): .git\n",
    "a limit": "train.sh: line 3: ulimit: max locked memory: cannot modify limit: Operation not permitted\n",
    "no container": "Error response from daemon: No such container: train\n",
    "an optional import": "Warning: failed to import flash_attn, error: undefined symbol\n",
    "a download that is tried again": "requests.exceptions.ConnectionError: retrying in 1 s\n",
}


def _heads() -> None:
    for framework in ("megatron", "maxtext", "nxdt"):
        for name, text in BEFORE_THE_JOB.items():
            variant(name, framework, everywhere(lambda log, text=text: text + log))

    table = "| GPU  Name  Persistence-M | Bus-Id  Disp.A | Volatile Uncorr. ECC |\n| N/A  34C  P0 |  0% Default | 0 |\n"
    variant("nvidia-smi at the end", "megatron", on("node3", lambda log: log + table))
    goodput = "Goodput report: interruptions: 0, failures: 0\n"
    variant("a report of none at the end", "maxtext", on("node1", lambda log: log + goodput))


def _models() -> None:
    variant("its configuration", "nxdt", on("node0", lambda log: CONFIGURATION + log))
    for name, text in PARAMETERS.items():
        variant(f"parameters {name}", "megatron", on("node0", lambda log, text=text: text + log))
    for place, text in enumerate(FLOPS_OF_STEP):
        variant(f"TFLOPs of a step {place}", "maxtext", everywhere(lambda log, text=text: text + log))


def _in_two_epochs(log: str) -> str:
    """Return the bars of 40 steps as the bars of two epochs of 20 steps, whose time begins anew in the second."""

    def of_second(bar: re.Match[str]) -> str:
        step, minutes = int(bar[1]), int(bar[2])
        return bar[0] if step <= 20 else f"Epoch 1: {step * 5 - 100:3d}%|▎         | {step - 20}/40 [{minutes - 8:02d}:"

    return re.sub(r"Epoch 0: +\d+%\|▎         \| (\d+)/40 \[(\d+):", of_second, log).replace("/40 [", "/20 [")


_heads()
_models()
variant("a node that only joins", "nxdt", on("node1", lambda log: log.splitlines(keepends=True)[0]))
variant("two epochs", "nxdt", on("node0", _in_two_epochs))
