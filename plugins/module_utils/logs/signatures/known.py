# SPDX-License-Identifier: GPL-3.0-or-later
"""All signatures of failures, and the texts by which the lines are found that may hold one."""

from __future__ import annotations

from ..frameworks.known import FAILURES
from . import amd, container, fabric, hub, jax, linux, nccl, neuron, nvidia, own, python, slurm, storage, torch

# Where two match in one line, the first one here counts: what is of one program alone goes before what any may print.
SIGNATURES = (
    tuple(
        signature
        for source in (own, slurm, container, neuron, nvidia, amd, nccl, fabric, jax)
        for signature in source.SIGNATURES
    )
    + FAILURES
    + tuple(signature for source in (storage, linux, hub, torch, python) for signature in source.SIGNATURES)
)

PYTHON_ERROR = python.PYTHON_ERROR

# By these the lines are found that may report a failure; the number is how many of the bytes that follow the line may
# belong to it. They are without digits, and many texts share them: "rror" is in every Python exception, "E_EX" in
# RESOURCE_EXHAUSTED and DEADLINE_EXCEEDED. The others had better begin with two bytes that are rare in logs, as "hdog"
# of "watchdog" does: strstr goes by these.
NEEDLES = {
    b"rror": 0,
    b"RROR": 0,
    b"ailed": 0,
    b"xception": 0,
    b"WARN ": 0,
    b"by GPU": 0,
    b"amdgpu": 0,
    b"kfd": 0,
    b"neuron-cc": 0,
    b"low on resource": 0,
    b"docker: ": 0,
    b"Tensile host": 0,
    b"NVRM": 0,
    b"NRT_": 0,
    b"nrt_": 0,
    b"neuronx-cc": 0,
    b"visible GPU": 0,
    b"Duplicate ": 0,
    b"ncorrect": 0,
    b"NOT_FOUND": 0,
    b"E_EX": 600,
    b"OOM ": 0,
    b"oom_": 0,
    b"oom-": 0,
    b"of memory": 0,
    b"Killed": 0,
    b"pace left": 0,
    b"xceed": 0,
    b"tale ": 0,
    b"nexpected": 0,
    b"NaN in": 0,
    b"Aborting training": 0,
    b"No module named": 0,
    b"gated repo": 0,
    b"efused": 400,
    b"flag": 0,
    b"Illegal ": 0,
    b"uch file": 0,
    b"ot found": 0,
    b"ot support": 0,
    b"annot ": 0,
    b"n't ": 0,
    b"nable to": 0,
    b"ermission denied": 0,
    b"face found": 0,
    b"AF_INET": 0,
    b"n use": 0,
    b"egmentation fault": 0,
    b"SIG": 0,
    b"srun: ": 0,
    b"CANCELLED": 0,
    b"preempted": 0,
    b"RDMA devices: ": 0,
    b"ImagePull": 0,
    b"imed out": 0,
    b"imeout": 0,
    b"stuck": 0,
    b"RegisterTask": 600,
    b"hdog": 0,
    b"hrowing an": 0,
    b"Root Cause (first": 1000,
    b"tbeat": 200,
    b"ignal": 0,
    b" peer": 0,
    b"(core dumped)": 0,
    b"ernel panic": 0,
    b"eyboardInterrupt": 0,
    b"mpirun ": 0,
    b"MPI_ABORT": 0,
    b"RTE has lost": 0,
    b"lockup": 0,
    b"Machine Check": 0,
    b"unplugged": 0,
    b"_core ": 0,
    b"bnxt_en": 0,
    b"NETDEV": 0,
    b"Unres": 0,
    b"Unreach": 0,
    b"oison": 0,
    b"DPC: ": 0,
    b"stall on CPU": 0,
    b"blocked for more": 0,
    b" was lost": 0,
    b"ler is down": 0,
    b"nsupported": 0,
    b"Invalid: ": 0,
    b" compiled with": 0,
    b"is required for a": 0,
    b"IMPLEMENTED: ": 0,
    b"Multiple Ranks": 0,
    b"No valid ": 0,
    b"NOT loaded": 0,
    b"call failure": 0,
    b"Invalid rank": 0,
    b"TE was unable": 0,
    b"segfault at": 0,
    b"general protection": 0,
    b"EDAC": 0,
    b"xit code": 0,
    b"xit Code": 0,
    b"NEFF is": 0,
    b"iled neff": 0,
    b"nhandled exc": 0,
    b"ompatible with": 0,
    b"incarnation": 0,
    b"too old": 0,
    b"has already checked": 0,
    b"mismatch": 0,
    b"has wrong version": 0,
    b"ncompatible": 0,
    b"nfs: server ": 0,
    python.TRACEBACK: 0,
}
