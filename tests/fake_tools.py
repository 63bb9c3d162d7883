# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that stand in for tools of GPUs and adapters, and print the real ones' output."""

from __future__ import annotations

import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data/probes"

_NVIDIA_SMI = """#!/bin/sh
for gpu in 0 1 2 3 4 5 6 7; do echo "GPU $gpu: NVIDIA H100 80GB HBM3 (UUID: GPU-$gpu)"; done
"""
# The columns of both times; its arguments are beside it.
_ALL_REDUCE = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/arguments"
awk '/^ +[0-9]/ {{ $6 *= {slower}; $10 *= {slower} }} {{ print }}' {output}
"""
_FAILING = """#!/bin/sh
echo "gpu07: Test NCCL failure common.cu:1279 'unhandled cuda error'"
exit 3
"""
# A Python that knows our script alone, and has eight GPUs.
_PYTORCH = """#!{python}
import json, sys
if "--count" in sys.argv:
    print(8)
else:
    for gpu in range(8):
        by = {slower} if gpu == {slow} else 1.0
        # Healthy GPUs differ by a little, too.
        samples = [0.0015 * by * (1 + 0.001 * (gpu % 3)) for _sample in range(5)]
        works = sys.argv[sys.argv.index("--works") + 1 :] if "--works" in sys.argv else ["gemm", "gemm_under_load"]
        works += ["gemm_of_training"] if sys.argv[-4:] == ["--product", "32768", "8192", "3584"] else []
        seconds = dict.fromkeys(works, samples)
        print(json.dumps({{"device": gpu, "name": "NVIDIA H200", "seconds": seconds, "problem": ""}}))
"""
# Its output about one GPU, for each GPU that it lists.
_RVS = """#!{python}
import re, sys
listed = open({data!r} + "/rvs_list.txt").read()
if sys.argv[1] == "-g":
    sys.exit(print(listed))
printed = open({data!r} + "/rvs_gst.txt").read()
for place, gpu in enumerate(re.findall(r"- (\\d+)]", listed)):
    by = {slower} if place == {slow} else 1 + 0.001 * (place % 3)
    if {fails!r} and place == {slow}:
        print("[ERROR ] [1101988.831928] [trainops] gst " + gpu + " {fails}")
        continue
    print(re.sub(r"GFLOPS (\\d+)", lambda m: "GFLOPS %d" % (int(m.group(1)) / by), printed).replace("28851", gpu))
"""
_IB_WRITE_BW = """#!{python}
import socket, sys, time
given = sys.argv[1:]
port = int(given[given.index("-p") + 1])
if given[-1] == "--report_gbits" or given[-2] == "-x":
    with socket.create_server(("127.0.0.1", port)) as listening:
        listening.accept()[0].recv(1)
else:
    try:
        client = socket.create_connection((given[-1], port))
    except OSError:
        sys.exit("Couldn't connect to %s:%d\\n Unable to init the socket connection" % (given[-1], port))
    client.sendall(b".")
print(open({output!r}).read())
"""


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def with_gpus(folder: Path, slower: float = 1.0, output: str = "nccl_tests_2_19.txt", *, fails: bool = False) -> str:
    """Make a folder of programs of a node with eight GPUs, whose all-reduce may be slower or fail; return its PATH."""
    _program(folder / "nvidia-smi", _NVIDIA_SMI)
    text = _FAILING if fails else _ALL_REDUCE.format(slower=slower, output=DATA / output)
    _program(folder / "all_reduce_perf", text)
    return f"{folder}:$PATH"


def with_pytorch(folder: Path, slow: int = 0, slower: float = 1.0) -> str:
    """Make a folder with a Python whose PyTorch has eight GPUs, one perhaps slower; return its PATH."""
    _program(folder / "python3", _PYTORCH.format(python=sys.executable, slow=slow, slower=slower))
    return f"{folder}:$PATH"


def with_dcgm(folder: Path, output: str = "") -> str:
    """Make a folder with a dcgmi that prints the given output, by default without a failure; return its PATH."""
    what = f"sed s/Fail/{'Fail' if output else 'Pass'}/ {DATA / (output or 'dcgm_4.json')}"
    status = 1 if output else 0
    _program(folder / "dcgmi", f'#!/bin/sh\ntest "$1" = discovery && exit 0\n{what}\nexit {status}\n')
    return f"{folder}:$PATH"


def with_rvs(folder: Path, slow: int = 0, slower: float = 1.0, *, fails: str = "") -> None:
    """Make a folder with an rvs that finds eight GPUs, one perhaps slower or failing."""
    text = _RVS.format(python=sys.executable, data=str(DATA), slow=slow, slower=slower, fails=fails)
    _program(folder / "rvs", text)


def with_agfhc(folder: Path, failing: str = "") -> None:
    """Make a folder with an agfhc whose tests all pass, or all but one."""
    what = f"sed 's/PASS: {failing or 'none of them'}/FAIL: {failing}/' {DATA / 'agfhc.txt'}"
    _program(folder / "agfhc", f'#!/bin/sh\ntest "$1" = -v && exit 0\n{what}\nexit {int(bool(failing))}\n')


def with_adapters(folder: Path, output: str = "ib_write_bw.txt") -> None:
    """Make a folder with an ib_write_bw that meets its other end as the real one does."""
    _program(folder / "ib_write_bw", _IB_WRITE_BW.format(python=sys.executable, output=str(DATA / output)))
