# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the trainer's run, read from variables with the names of ROCm Megatron-LM's train_llama3.sh."""

from __future__ import annotations

import math
import re
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping

CONTEXT = 2
"""How many bytes before a byte the model sees; a sample has so many more bytes than predictions."""

# Variables with one possible value, and why.
_ONLY = {
    "MODEL_SIZE": ("tiny", "there is one model"),
    "TP": ("1", "every node holds the whole model"),
    "PP": ("1", "every node holds the whole model"),
    "CP": ("1", "every node computes whole sequences"),
    "TE_FP8": ("0", "the CPU computes in 64 bits"),
    "FSDP": ("0", "every node holds all parameters"),
    "RECOMPUTE": ("0", "all activations are kept"),
}


class Settings(t.NamedTuple):
    """The settings of one node, checked."""

    nnodes: int
    node_rank: int
    master_addr: str
    master_port: int
    interface: str
    """Network interface of the connections to other nodes; empty: the system chooses."""
    rendezvous_timeout: int
    """Seconds."""
    micro_batch_size: int
    global_batch_size: int
    seq_length: int
    train_iters: int
    learning_rate: float
    seed: int
    data_path: str
    """File whose bytes are the training text; empty: synthetic text."""
    tokenizer_model: str
    save_path: str
    """Folder for checkpoints; empty: none are written."""
    save_interval: int
    """Iterations from one checkpoint to the next."""
    load_path: str
    """Folder of the checkpoint to go on from, where there is one."""

    @property
    def micro_batches(self) -> int:
        """How many micro batches each node computes in one iteration."""
        return self.global_batch_size // (self.micro_batch_size * self.nnodes)

    def shared(self) -> dict[str, t.Any]:
        """The values that must be the same on every node of a run, by variable."""
        return {
            "NNODES": self.nnodes,
            "MBS": self.micro_batch_size,
            "BS": self.global_batch_size,
            "SEQ_LENGTH": self.seq_length,
            "TOTAL_ITERS": self.train_iters,
            "LR": self.learning_rate,
            "SEED": self.seed,
            "MOCK_DATA": 0 if self.data_path else 1,
        }


class _Reader:
    """Reads variables one by one and collects the faults, so that all can be reported at once."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.faults: list[str] = []

    def text(self, name: str) -> str:
        return self.environ.get(name, "")

    def fault(self, name: str, expected: str) -> None:
        found = repr(self.environ[name]) if name in self.environ else "nothing (train_llama3.sh sets a default)"
        self.faults.append(f"{name}: found {found}, expected {expected}")

    def whole_number(self, name: str, least: int, most: int | None = None) -> int:
        if re.fullmatch("[0-9]{1,15}", self.text(name)):
            value = int(self.text(name))
            if value >= least and (most is None or value <= most):
                return value
        self.fault(
            name, f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
        )
        return least

    def positive_number(self, name: str) -> float:
        try:
            value = float(self.text(name))
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            self.fault(name, "a positive number such as 1e-2")
        return value

    def only(self, name: str, value: str, reason: str) -> None:
        if self.text(name) != value:
            self.fault(name, f"{value}: {reason}")

    def data_path(self, seq_length: int) -> str:
        self.whole_number("MOCK_DATA", 0, 1)
        if self.text("MOCK_DATA") != "0":
            return ""
        path = self.text("DATA_PATH")
        wanted = f"a file of at least SEQ_LENGTH + {CONTEXT} bytes, because MOCK_DATA=0"
        try:
            with open(path, "rb") as file:
                size = file.seek(0, 2)
        except OSError as error:
            self.fault("DATA_PATH", f"{wanted} ({error.strerror})")
        else:
            if size < seq_length + CONTEXT:
                self.fault("DATA_PATH", f"{wanted} (it has {size})")
        return path


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings of this node from environment variables.

    Raises ValueError whose text lists every fault, one per line: the value found and the right one.
    """
    reader = _Reader(environ)
    nnodes = reader.whole_number("NNODES", 1)
    seq_length = reader.whole_number("SEQ_LENGTH", 1)
    settings = Settings(
        nnodes=nnodes,
        node_rank=reader.whole_number("NODE_RANK", 0, nnodes - 1),
        master_addr=reader.text("MASTER_ADDR"),
        master_port=reader.whole_number("MASTER_PORT", 1, 65535),
        interface=reader.text("GLOO_SOCKET_IFNAME") or reader.text("NCCL_SOCKET_IFNAME"),
        rendezvous_timeout=reader.whole_number("RENDEZVOUS_TIMEOUT", 1, 86400),
        micro_batch_size=reader.whole_number("MBS", 1),
        global_batch_size=reader.whole_number("BS", 1),
        seq_length=seq_length,
        train_iters=reader.whole_number("TOTAL_ITERS", 1),
        learning_rate=reader.positive_number("LR"),
        seed=reader.whole_number("SEED", 0),
        data_path=reader.data_path(seq_length),
        tokenizer_model=reader.text("TOKENIZER_MODEL"),
        save_path=reader.text("SAVE_CKPT_PATH"),
        save_interval=reader.whole_number("SAVE_INTERVAL", 1),
        load_path=reader.text("LOAD_CKPT_PATH"),
    )
    samples = settings.micro_batch_size * nnodes
    if settings.global_batch_size % samples:
        reader.fault("BS", f"a multiple of MBS x NNODES = {settings.micro_batch_size} x {nnodes} = {samples}")
    reader.whole_number("SEQ_PARALLEL", 0, 1)
    reader.whole_number("TEE_OUTPUT", 0, 1)
    for name, (value, reason) in _ONLY.items():
        reader.only(name, value, reason)
    if reader.faults:
        raise ValueError("\n".join(reader.faults))
    return settings
