"""Compares the fast reader, on random logs, with a reader that looks at one line after the other."""

from __future__ import annotations

import math
import random
import re
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs import parts
from ansible_collections.trainops.cluster.plugins.module_utils.logs.failures import few_of_each_class
from ansible_collections.trainops.cluster.plugins.module_utils.logs.literals import literals_of
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log
from ansible_collections.trainops.cluster.plugins.module_utils.logs.record import METRICS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.exceptions import ALONE
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.known import SIGNATURES
from ansible_collections.trainops.cluster.plugins.module_utils.logs.text import without_digits

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

FIELDS = {
    "elapsed time per iteration (ms)": "step_time_ms",
    "mem usages": "memory_fraction",
    "throughput per GPU (TFLOP/s/GPU)": "tflops_per_gpu",
    "tokens per GPU (tokens/s/GPU)": "tokens_per_sec_per_gpu",
    "learning rate": "learning_rate",
    "lm loss": "loss",
    "grad norm": "grad_norm",
    "number of skipped iterations": "skipped_iterations",
    "number of nan iterations": "nan_iterations",
}
CLOSING = {
    "throughput per GPU": "tflops_per_gpu",
    "elapsed time per iteration": "step_time_ms",
    "tokens/GPU/s": "tokens_per_sec_per_gpu",
    "mem usages": "memory_fraction",
}
LITERALS = {literal for signature in SIGNATURES for literal in literals_of(signature.pattern)}
HEAD = re.compile(r"iteration\s+(\d+)\s*/\s*(\d+)\s*\|")

FAILURES = [
    "[rank3]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.",
    "HW Exception by GPU node-9 (Agent handle: 0x1) reason :GPU Hang",
    "n1:1:2 [4] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<1> with status=12 opcode=0 len=0",
    "[rank0]:[E321 02:07:08.4 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: x",
    "E api.py:984] failed (exitcode: -9) local_rank: 6 (pid: 92121) of binary: /usr/bin/python",
    "W0902 api.py:900] Sending process 819027 closing signal SIGTERM",
    "Root Cause (first observed failure):\n[0]:\n  rank      : 6 (local_rank: 6)\n  exitcode  : 1 (pid: 92121)",
    "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:3",
    "OSError: [Errno 28] No space left on device",
    "ERROR: training (torchrun pretrain_gpt.py) failed with exit code 7",
]
# A process of Megatron prints this once, before its first step.
BEGIN = "model-and-optimizer-setup"
NOISE = [
    "[Rank 8] (after 1 iterations) memory (MB) | allocated: 496.6 | max allocated: 496.6 | reserved: 512.0",
    " validation loss at iteration 10 | lm loss value: 7.0E+00 | lm loss PPL: 1.0E+03 | ",
    "n1:1:2 [0] NCCL INFO transport/net.cc:1302 -> 6",
    "  error_injection_rate ............................ 0",
    "(min, max) time across ranks (ms):",
    f"    {BEGIN} ......................: (23.15, 32.02)",
    "UserWarning: currently an error here is a matter of iteration counts",
    "\N{FULL BLOCK}\N{FULL BLOCK} 50% \N{EM DASH} done",
    "",
]


def iteration_line(chance: random.Random, step: int, kind: str) -> str:
    fields = {
        "consumed samples": f"{step * 256:12d}",
        "elapsed time per iteration (ms)": f"{chance.uniform(100, 9000):.1f}",
        "mem usages": f"{chance.random():.4f}",
        "throughput per GPU (TFLOP/s/GPU)": f"{chance.uniform(1, 900):.1f}",
        "learning rate": f"{chance.random():.6E}",
        "global batch size": f"{256:5d}",
        "lm loss": f"{chance.uniform(1, 12):.6E}",
        "loss scale": "1.0",
        "grad norm": f"{chance.random():.3f}",
        "number of skipped iterations": f"{chance.choice((0, 0, 0, 1)):3d}",
        "number of nan iterations": "  0",
    }
    stamp = "2026-01-02 03:04:05"
    if kind == "core 0.16":
        stamp += ".123456"
        del fields["mem usages"]
    elif kind == "primus":
        fields["elapsed time per iteration (ms)"] += "/500.5"
        fields["tokens per GPU (tokens/s/GPU)"] = "7000.5/6900.0"
    elif kind == "no number":
        fields["grad norm"] = "None"
    elif kind == "nan":
        fields["grad norm"] = "nan"
        if chance.random() < 0.5:
            del fields["lm loss"]
    elif kind == "shuffled":
        fields = dict(chance.sample(sorted(fields.items()), len(fields)))
    body = " |".join(f" {name}: {value}" for name, value in fields.items())
    return f" [{stamp}] iteration {step:8d}/{999999:8d} |{body} |"


def random_log(chance: random.Random, pieces: int) -> bytes:
    """Return a log of many pieces: steps of all kinds, whole, torn, doubled and glued, noise, failures, tracebacks."""
    step, parts = 0, []
    for _ in range(pieces):
        end = chance.choice(("\n", "\n", "\n", "\r\n", "\r"))
        dice = chance.random()
        if dice < 0.30:
            step = chance.choice((1, step - 3)) if chance.random() < 0.01 and step > 3 else step + 1
            kinds = ("rocm", "rocm", "rocm", "core 0.16", "primus", "nan", "no number", "shuffled")
            line = iteration_line(chance, step, chance.choice(kinds))
            if chance.random() < 0.05:
                line = line[: chance.randrange(len(line))]
                end = chance.choice(("", end))
            if chance.random() < 0.05:
                line = f"\x1b[32m[rank-7/8]\x1b[0m{line}\x1b[0m"
            parts += [line, end] * chance.choice((1, 1, 1, 2))
        elif dice < 0.33:
            parts += [chance.choice(("", "10%|#  | ")), chance.choice(FAILURES), end]
        elif dice < 0.34:
            parts += ['Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\n', "KeyError: 'layers'", end]
        elif dice < 0.35:
            parts += [f"{chance.choice(sorted(CLOSING))}: {chance.random()}", end]
        else:
            parts += [chance.choice(NOISE), end]
    text = "".join(parts).encode()
    if chance.random() < 0.5:
        cut = chance.randrange(len(text))
        text = text[:cut] + chance.choice((b"\0", b"\xff\xfe")) + text[cut:]
    return text


def plain_metrics(pieces: list[str]) -> dict[str, float]:
    fields = {name.strip(): value.strip() for name, _, value in (piece.partition(":") for piece in pieces)}
    metrics = {}
    for name, metric in FIELDS.items():
        value = re.fullmatch(r"([-+]?(?:nan|inf|\d+\.?\d*(?:[eE][-+]?\d+)?))(/[\d.]+)?", fields.get(name, ""))
        if name in fields:
            metrics[metric] = float(value.group(1)) if value else float("nan")
    not_skipped = metrics.get("skipped_iterations") == 0
    other_loss = any(name.endswith("loss") for name in fields)
    is_training = "learning_rate" in metrics and not other_loss
    gradients_lost = str(metrics["grad_norm"]) == "nan" if "grad_norm" in metrics else is_training
    if "lm loss" not in fields and not_skipped and gradients_lost:
        metrics["loss"] = float("nan")
    return metrics


def plain_rows(lines: list[str]) -> list[dict[str, Any]]:
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    attempt, last, seen, begins = 1, 0, 0, False
    for line in lines:
        heads = list(HEAD.finditer(line))
        ends = [head.start() for head in heads[1:]] + [len(line)]
        begins = begins or BEGIN in (line[: heads[0].start()] if heads else line)
        for head, end in zip(heads, ends, strict=False):
            step = int(head.group(1))
            attempt, seen = (attempt + 1, 0) if step < last or (begins and last) else (attempt, seen)
            seen += step != last or seen == 0
            begins = BEGIN in line[head.end() : end]
            last = step
            row = rows.setdefault((attempt, step), {"metrics": {}, "place": seen, "summed": False})
            printed = plain_metrics(line[head.end() : end].split("|")[:-1])
            # A printed line is not taken back.
            gone = {metric: value for metric, value in row["metrics"].items() if not math.isfinite(value)}
            row["metrics"].update(printed | gone)
            row["summed"] = row["summed"] or bool(re.search(r"\.\d{6}\] $", line[: head.start()]))
    return [
        {"attempt": attempt, "step": step, "metrics": row["metrics"], "left out": row["place"] == 2 and row["summed"]}
        for (attempt, step), row in rows.items()
    ]


def plain_failures(lines: list[str]) -> list[tuple[str, int | None]]:
    """Return the class and rank of each line, by looking for every signature from the start of every line."""
    text = "\n".join(lines).encode()
    starts = list(accumulate((len(line.encode()) + 1 for line in lines), initial=0))
    kinds: dict[int, tuple[str, int | None]] = {}
    for signature in reversed(SIGNATURES):
        pattern, start = re.compile(signature.pattern), 0
        while match := pattern.search(text, start):
            number = bisect_right(starts, match.start()) - 1
            start = starts[number + 1]
            rank = match.groupdict().get("rank")
            own = None if signature.echo else re.search(r"\[rank-?(\d+)[\]/]", lines[number])
            kinds[number] = (signature.failure, int(rank or own.group(1)) if rank or own else None)
    errors = {number: ("python_error", None) for number, line in enumerate(lines) if line.startswith("KeyError: ")}
    found = [kind for _, kind in sorted((errors | kinds).items())]
    return [kind for place, kind in enumerate(found) if [other[0] for other in found[:place]].count(kind[0]) < 3]


def in_order(metrics: dict[str, float]) -> list[tuple[str, str]]:
    return [(name, repr(metrics[name])) for name in METRICS if name in metrics]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_random_log_is_read_as_a_plain_reader_reads_it(seed: int, tmp_path: Path) -> None:
    text = random_log(random.Random(seed), pieces=500)
    log = tmp_path / "training.log"
    log.write_bytes(text)
    assert_plainly_read(text, read_log(str(log), "megatron", final=True))


@pytest.mark.slow
def test_a_long_random_log_holds_all_kinds_of_pieces_and_is_read_so_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = random_log(random.Random(0), pieces=1500)
    monkeypatch.setattr(parts, "_CHUNK_BYTES", len(text) // 3)
    log = tmp_path / "training.log"
    log.write_bytes(text)
    answer = read_log(str(log), "megatron", final=True)
    assert_plainly_read(text, answer)
    rows = list(answer["rows"])
    assert len(rows) > 400
    assert {row["attempt"] for row in rows} > {1, 2, 3}
    assert {name for row in rows for name in row["metrics"]} >= set(FIELDS.values())
    assert len({failure["class"] for failure in answer["failures"]}) >= len(FAILURES)


@pytest.mark.parametrize("chunk_bytes", [700, 5000])
@pytest.mark.parametrize("seed", range(2))
def test_how_much_of_a_log_is_held_at_a_time_changes_nothing(
    seed: int, chunk_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = random_log(random.Random(seed), pieces=200)
    log = tmp_path / "training.log"
    log.write_bytes(text)
    monkeypatch.setattr(parts, "_CHUNK_BYTES", chunk_bytes)
    assert_plainly_read(text, read_log(str(log), "megatron", final=True))


@pytest.mark.parametrize("seed", range(2))
def test_without_failures_the_rest_is_read_as_with_them(seed: int, tmp_path: Path) -> None:
    log = tmp_path / "training.log"
    log.write_bytes(random_log(random.Random(seed), pieces=4500))
    with_failures = read_log(str(log), "megatron", final=True)
    without = read_log(str(log), "megatron", final=True, failures="none")
    assert with_failures["failures"]
    assert repr(list(without["rows"])) == repr(list(with_failures["rows"]))
    assert repr(without | {"rows": ()}) == repr(with_failures | {"rows": (), "failures": []})


@pytest.mark.parametrize("chunk_bytes", [700, 5000, 512 << 10])
@pytest.mark.parametrize("steps_behind", [0, 1, 2, 3, 40])
@pytest.mark.parametrize("seed", range(3))
def test_open_failures_are_those_that_fewer_than_three_steps_follow(
    seed: int, steps_behind: int, chunk_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    steps = [iteration_line(chance, step, "rocm").encode() * 2 for step in range(1, 60)]
    gap = b"".join(f"{line}\n".encode() for line in [*chance.choices(NOISE, k=9), *chance.sample(sorted(FAILURES), 3)])
    text = b"\n".join([*steps, gap, *steps[:steps_behind], b""])
    log = tmp_path / "training.log"
    log.write_bytes(text)
    monkeypatch.setattr(parts, "_CHUNK_BYTES", chunk_bytes)
    found = read_log(str(log), "megatron", final=True, failures="open")
    lines = text.decode().splitlines()
    places = [place for place, line in enumerate(lines) if HEAD.search(line)]
    expected = plain_failures(lines[places[-3] + 1 :])
    assert [(failure["class"], failure["rank"]) for failure in found["failures"]] == expected
    assert bool(expected) is (steps_behind < 3)
    assert len(found["rows"]) == 59 + steps_behind


def assert_plainly_read(text: bytes, answer: dict[str, Any]) -> None:
    lines = re.split("[\r\n]", re.sub("\x1b\\[[0-9;]*m", "", text.decode("utf-8", "replace")))
    expected = plain_rows(lines)
    assert [(row["attempt"], row["step"], in_order(row["metrics"]), "left_out" in row) for row in answer["rows"]] == [
        (row["attempt"], row["step"], in_order(row["metrics"]), row["left out"]) for row in expected
    ]
    assert [(failure["class"], failure["rank"]) for failure in answer["failures"]] == plain_failures(lines)
    closing = {}
    for line in lines:
        if HEAD.search(line):
            closing.clear()
        value = re.fullmatch(rf"({'|'.join(CLOSING)}):\s*([\d.e-]+)\s*", line)
        if value:
            closing[CLOSING[value.group(1)]] = float(value.group(2))
    assert answer["summary"] == closing


def read_in_parts(log: Path, text: bytes, cuts: list[int], framework: str = "megatron") -> dict[str, Any]:
    """Return all facts from a log that grows from cut to cut and is read after each."""
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    failures: list[dict[str, Any]] = []
    summary: dict[str, float] = {}
    cursor = None
    for end in [*cuts, len(text)]:
        log.write_bytes(text[:end])
        news = read_log(str(log), framework, cursor)
        cursor = news["cursor"]
        news = news if end < len(text) else merged(news, read_log(str(log), framework, cursor, final=True))
        for row in news["rows"]:
            known = rows.setdefault((row["attempt"], row["step"]), row)
            rows[row["attempt"], row["step"]] = {**known, **row, "metrics": {**known["metrics"], **row["metrics"]}}
        failures += news["failures"]
        summary = news["summary"] if news["rows"] else summary | news["summary"]
    return {"rows": list(rows.values()), "failures": few_of_each_class(failures), "summary": summary}


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return {
        "rows": [*first["rows"], *second["rows"]],
        "failures": first["failures"] + second["failures"],
        "summary": second["summary"] if second["rows"] else first["summary"] | second["summary"],
    }


def texts() -> SearchStrategy[bytes]:
    """Return a strategy of small logs."""
    from hypothesis import strategies as st  # noqa: PLC0415

    ends = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])
    kinds = st.sampled_from(["rocm", "core 0.16", "primus", "no number", "nan", "shuffled"])
    lines = st.one_of(
        st.builds(
            lambda seed, step, kind, size: iteration_line(random.Random(seed), step, kind).encode()[:size],
            *(st.integers(0, 9), st.integers(1, 6), kinds, st.sampled_from([None, None, None, 30, 200])),
        ),
        st.sampled_from([line.encode() for line in (*FAILURES, *NOISE)]),
        st.just(b"Traceback (most recent call last):\n  File \"/x/a.py\", line 8, in f\nKeyError: 'layers'"),
        st.sampled_from(
            [b"mem usages: 0.5", b"tokens/GPU/s: 7.5", b"\x1b[31mgot signal: 15\x1b[0m", b"DEADLINE_EXCEEDED"]
        ),
        # Hypothesis tries words of our own code: a few words of a pattern, without the program's text around them.
        st.binary(max_size=12).filter(
            lambda text: not ALONE.search(text) and not any(one in without_digits(text.lower()) for one in LITERALS)
        ),
    )
    return st.lists(st.tuples(lines, ends), max_size=10).map(lambda parts: b"".join(line + end for line, end in parts))


@pytest.mark.slow
def test_any_log_in_any_parts_is_read_as_a_plain_reader_reads_it(tmp_path: Path) -> None:
    # Imported at the top, Hypothesis would look for constants through all of the code in every process of pytest-xdist.
    from hypothesis import given, settings  # noqa: PLC0415
    from hypothesis import strategies as st  # noqa: PLC0415

    log = tmp_path / "training.log"

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(text=texts(), places=st.lists(st.floats(0, 1), max_size=4))
    def is_read_plainly(text: bytes, places: list[float]) -> None:
        log.write_bytes(text)
        whole = read_log(str(log), "megatron", final=True)
        assert_plainly_read(text, whole)
        log.unlink()
        cuts = sorted({int(place * len(text)) for place in places} - {len(text)})
        parts = read_in_parts(log, text, cuts)
        assert [
            (row["attempt"], row["step"], in_order(row["metrics"]), row.get("left_out")) for row in parts["rows"]
        ] == [(row["attempt"], row["step"], in_order(row["metrics"]), row.get("left_out")) for row in whole["rows"]]
        assert [(failure["class"], failure["line"], failure["rank"]) for failure in parts["failures"]] == [
            (failure["class"], failure["line"], failure["rank"]) for failure in whole["failures"]
        ]
        assert parts["summary"] == whole["summary"]

    is_read_plainly()
