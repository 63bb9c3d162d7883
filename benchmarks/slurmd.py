# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run under a real Slurm takes of the machine that runs Ansible: ``slurmd.py [SIZE ...] [slurm|srun]``, as root.

Each node is a slurmd of its own on this machine, whose ranks print two steps a second and compute nothing. A run is
measured for a minute from the step on that all nodes have printed, as a job (slurm) and inside an allocation (srun),
where the machine of the controller has the sruns, too. Sizes that a call does not measure stay in results/slurm.csv.
"""

from __future__ import annotations

import contextlib
import csv
import os
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT / "tests/integration/slurm")]

from slurm_bench import Slurm, unpacked
from slurm_login import Login

_RESULTS = Path(__file__).parent / "results/slurm.csv"
_SECONDS = 60.0
_PATIENCE = 600.0
_TICKS = os.sysconf("SC_CLK_TCK")
_TRAINER = """\
for ((step = 1; step < 100000; step++)); do
  echo " [2026-11-22 00:00:00] iteration $step/ 100000 | elapsed time per iteration (ms): 500.0 |" \
    "throughput per GPU (TFLOP/s/GPU): 1.0 | learning rate: 1.0E-02 | global batch size: 4 | lm loss: 4.5E+00 |" \
    "number of skipped iterations: 0 | number of nan iterations: 0 |"
  sleep 0.5
done
"""


def main() -> None:
    """Measure each size with each launcher."""
    known = {(row["launcher"], row["nodes"]): row for row in _known()}
    launchers = [word for word in sys.argv[1:] if not word.isdigit()] or ["slurm", "srun"]
    for size in [word for word in sys.argv[1:] if word.isdigit()] or ["64"]:
        with tempfile.TemporaryDirectory(prefix="trainops-bench-") as name:
            for launcher in launchers:
                row = _measured(Path(name) / launcher, launcher, int(size))
                known[launcher, size] = row
                print(row, flush=True)
        rows = sorted(known.values(), key=lambda row: (row["launcher"], int(row["nodes"])))
        with _RESULTS.open("w", newline="") as stream:
            table = csv.DictWriter(stream, list(rows[0]))
            table.writeheader()
            table.writerows(rows)


def _known() -> list[dict[str, t.Any]]:
    return list(csv.DictReader(_RESULTS.open(newline=""))) if _RESULTS.exists() else []


def _measured(folder: Path, launcher: str, nodes: int) -> dict[str, t.Any]:
    folder.mkdir()
    slurm = unpacked(folder, nodes=nodes, TopologyPlugin="topology/none", SlurmdTimeout="300")
    try:
        slurm.start()
        began = time.monotonic()
        slurm.start_nodes(nodes)
        print(f"{nodes} slurmd are up after {time.monotonic() - began:.0f} s", flush=True)
        return _of_run(slurm, folder, launcher, nodes)
    finally:
        slurm.stop()


def _of_run(slurm: Slurm, folder: Path, launcher: str, nodes: int) -> dict[str, t.Any]:
    script = folder / "trainer/examples/llama/train_llama3.sh"
    script.parent.mkdir(parents=True)
    script.write_text(_TRAINER)
    login = Login(slurm, folder)
    if launcher == "srun":
        slurm.run("salloc", "--no-shell", f"--nodes={nodes}", "--exclusive")
        login.allocation = slurm.run("squeue", "--noheader", "--format=%i").strip()
    options = {"nodes": nodes, "training_slurm_preflight": False, "training_megatron_root": str(folder / "trainer")}
    playing = login.start("megatron_multinode.yml", "bench", steps=100000, **options)
    try:
        began = time.monotonic()
        while sum(path.stat().st_size > 0 for path in login.runs.glob("bench/nodes/*/steps.jsonl")) < nodes:
            if playing.poll() is not None or time.monotonic() > began + _PATIENCE:
                playing.kill()
                raise SystemExit(f"{nodes} nodes do not train: {playing.communicate()[0][-3000:]}")
            time.sleep(1)
        print(f"all train after {time.monotonic() - began:.0f} s", flush=True)
        sessions = {"ansible": playing.pid, "srun": _session_in(login.runs / "bench") or 0}
        before = {name: _cpu(session) for name, session in sessions.items()}
        ctld = _seconds(slurm.pid_of("slurmctld"))
        time.sleep(_SECONDS)
        cpu = {name: round(_cpu(session) - before[name], 2) for name, session in sessions.items()}
        return {
            "launcher": launcher,
            "nodes": nodes,
            "ansible_cpu_s_a_minute": cpu["ansible"],
            "ansible_mb": _megabytes(sessions["ansible"]),
            "srun_cpu_s_a_minute": cpu["srun"],
            "srun_mb": _megabytes(sessions["srun"]),
            "slurmctld_cpu_s_a_minute": round(_seconds(slurm.pid_of("slurmctld")) - ctld, 2),
            "journal_mb": round((login.runs / "bench/answers.journal").stat().st_size / 1e6, 2),
        }
    finally:
        slurm.run("scancel", "--user", "root")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(playing.pid, 9)
        playing.wait()
        for _ in range(300):
            if not slurm.run("squeue", "--noheader"):
                break
            time.sleep(1)


def _session_in(folder: Path) -> int | None:
    """Return the session of the script of a run that runs on this machine, not as a job."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.joinpath("cwd").readlink() == folder and b"job.sh" in path.joinpath("cmdline").read_bytes():
                return os.getsid(int(path.name))
        except OSError:
            continue
    return None


def _of(session: int) -> t.Iterator[int]:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if session and os.getsid(int(path.name)) == session:
                yield int(path.name)
        except OSError:
            continue


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _cpu(session: int) -> float:
    """Return the CPU seconds of all processes of a session, and of those that they have waited for."""
    return sum(_seconds(pid) for pid in _of(session))


def _megabytes(session: int) -> int:
    """Return the memory of all processes of a session; what they share is counted once."""
    lines = (
        line
        for pid in _of(session)
        for line in subprocess.run(
            ["cat", f"/proc/{pid}/smaps_rollup"], capture_output=True, text=True, check=False
        ).stdout.splitlines()
    )
    return round(sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024)


if __name__ == "__main__":
    main()
