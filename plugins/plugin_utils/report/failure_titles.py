# SPDX-License-Identifier: GPL-3.0-or-later
"""The class of a failure as the words of a headline, such as "GPU hang" and "Out of memory"."""

from __future__ import annotations

_SPELLED = {
    "abi": "ABI",
    "ecc": "ECC",
    "gloo": "Gloo",
    "gpu": "GPU",
    "io": "I/O",
    "jax": "JAX",
    "nan": "NaN",
    "nccl": "NCCL",
    "python": "Python",
    "rdma": "RDMA",
    "xla": "XLA",
}
# Where the name of the class alone does not say that something went wrong, or what.
_TITLES = {
    "bad_answer": "Unusable answer",
    "checkpoint": "Checkpoint error",
    "child_failed": "Training process failed",
    "compile": "Compilation failed",
    "container": "Container error",
    "coordinator_died": "Coordinator died",
    "data": "Data error",
    "data_cache": "Data cache error",
    "data_corrupt": "Corrupt data",
    "driver_mismatch": "Driver mismatch",
    "elastic": "torchrun error",
    "exit_status": "Training failed",
    "gloo": "Gloo error",
    "host_memory": "Host memory ran out",
    "hub_rate_limit": "Rate limit of the model hub",
    "hub_unreachable": "Model hub unreachable",
    "image_pull": "Image could not be pulled",
    "jax_start": "JAX could not start",
    "killed": "Training killed",
    "log_moved": "Log moved away",
    "memlock": "Locked-memory limit too low",
    "nan": "NaN value",
    "nccl": "NCCL error",
    "network_interface": "Wrong network interface",
    "neuron": "Neuron error",
    "no_gpu": "No GPU found",
    "not_found": "File not found",
    "not_ready": "Node not ready",
    "open_files": "Limit of open files reached",
    "process_limit": "Limit of processes reached",
    "rdma_devices": "RDMA device error",
    "rebooted": "Node rebooted",
    "run_folder_gone": "Run folder gone",
    "scheduler": "Ended by the scheduler",
    "settings_refused": "Trainer refused its settings",
    "sigterm": "Training terminated (SIGTERM)",
    "sizes": "Sizes do not fit",
    "slurm_start": "Slurm could not start the job",
    "stalled": "Training hung",
    "tokenizer": "Tokenizer error",
    "training_script": "Training script failed",
    "unnamed": "Training failed",
    "unreachable": "Node unreachable",
    "watchdog": "Collective timed out",
    "xla_flags": "XLA refused its flags",
}


def failure_title(failure_class: str) -> str:
    """Return the words for a class; one without words of its own is spelled out."""
    if failure_class in _TITLES:
        return _TITLES[failure_class]
    words = [_SPELLED.get(word, word) for word in failure_class.split("_")]
    text = " ".join(words)
    return text[:1].upper() + text[1:]
