# SPDX-License-Identifier: GPL-3.0-or-later
"""The embedded trainer, run as its users run it: through its script, in real processes on loopback."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ports import free_port
from trainer.summarize_log import summary_lines
from trainer.tiny_lm.adam import Adam
from trainer.tiny_lm.corpus import sample_indices
from trainer.tiny_lm.log import slowest_line
from trainer.tiny_lm.model import PARAMETERS, initial_parameters, loss_and_gradient
from trainer.tiny_lm.pretrain import Stopped, nonfinite_loss, stop_on_sigterm
from trainer.tiny_lm.rendezvous import interface_address
from trainer.tiny_lm.world import World, receive_frame, send_frame

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS, OF_EMBEDDED_TRAINER
from ansible_collections.trainops.cluster.plugins.module_utils.logs.settings import add_settings

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TRAINER = Path(__file__).resolve().parents[2] / "roles/training/files/trainer"
SMALL = {"BS": 4, "MBS": 1, "SEQ_LENGTH": 2, "TOTAL_ITERS": 4}
ENDLESS = {**SMALL, "TOTAL_ITERS": 1_000_000, "TEE_OUTPUT": 0}
PATIENCE = 60  # seconds until a test gives up

# The fields of Megatron's iteration line, widths and decimals included.
NUMBER = r"\d+\.\d"
EXPONENTIAL = r"\d\.\d{6}E[-+]\d\d"
ITERATION = re.compile(
    rf" \[\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\] iteration (?P<iteration>[ \d]{{8}})/(?P<total>[ \d]{{8}}) \|"
    rf" consumed samples: (?P<samples>[ \d]{{12}}) \| elapsed time per iteration \(ms\): (?P<ms>{NUMBER}) \|"
    rf" mem usages: (?P<memory>0\.\d{{4}}) \| throughput per GPU \(TFLOP/s/GPU\): (?P<tflops>\d+\.\d{{6}}) \|"
    rf" learning rate: {EXPONENTIAL} \| global batch size: (?P<batch>[ \d]{{5}}) \|"
    rf" lm loss: (?P<loss>{EXPONENTIAL}) \| loss scale: 1\.0 \| grad norm: (?P<norm>\d+\.\d{{3}}) \|"
    r" number of skipped iterations:   0 \| number of nan iterations:   0 \|"
)

Start = t.Callable[..., "Node"]


class Node:
    """One run of the script, as one node."""

    def __init__(
        self, log_dir: Path, environment: dict[str, str], variables: dict[str, t.Any], trainer: Path = TRAINER
    ) -> None:
        name = f"node{variables.get('NODE_RANK', 0)}"
        settings = {"LOG_DIR": log_dir, "EXP_NAME": name, "PYTHON": sys.executable, **variables}
        self.log_path = Path(settings["LOG_DIR"]) / f"output_{settings['EXP_NAME']}.log"
        self.process = subprocess.Popen(
            ["bash", "examples/llama/train_llama3.sh", *(f"{key}={value}" for key, value in settings.items())],
            cwd=trainer,
            env={"PATH": os.environ["PATH"], **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def log(self) -> str:
        return self.log_path.read_text() if self.log_path.exists() else ""

    def finish(self) -> tuple[int, str, str]:
        """Exit status, stdout and stderr."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err

    def failure(self) -> str:
        """The log of a run that must have failed by itself."""
        status, _out, err = self.finish()
        assert status == 1, err
        assert "Traceback" not in self.log
        return self.log

    def wait_for(self, text: str) -> str:
        """The log, once it contains the text."""
        wait_until(lambda: text in self.log or self.process.poll() is not None)
        assert text in self.log
        return self.log

    def trainer_pid(self) -> int:
        return int(re.findall(r"process (\d+)", self.wait_for("iteration        3/"))[0])


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "gave up"
        time.sleep(0.01)


def iterations(log: str) -> list[re.Match[str]]:
    lines = [line for line in log.splitlines() if " iteration " in line and "elapsed time per iteration" in line]
    matches = [ITERATION.fullmatch(line) for line in lines]
    assert all(matches), lines
    return [match for match in matches if match]


def losses(log: str) -> list[float]:
    return [float(match["loss"]) for match in iterations(log)]


def checksum(log: str) -> str:
    (found,) = re.finditer(r"^parameter checksum, the same on all nodes: ([0-9a-f]{16})$", log, re.MULTILINE)
    return found[1]


def connect(port: int) -> socket.socket:
    """A connection to a rank 0 that is about to listen."""
    connections: list[socket.socket] = []

    def try_once() -> bool:
        try:
            connections.append(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
        except ConnectionRefusedError:
            return False
        return True

    wait_until(try_once)
    return connections[0]


@contextlib.contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _address = server.accept()
        with one, other:
            yield one, other


@contextlib.contextmanager
def join(port: int, rank: int, **variables: t.Any) -> Iterator[socket.socket]:
    """This process as one of the nodes, that rank 0 takes for a trainer with these variables."""
    with connect(port) as connection:
        shared = {"LR": 0.01, "SEED": 1234, "MOCK_DATA": 1, **variables}
        send_frame(connection, json.dumps({"rank": rank, "hostname": "test", "settings": shared}).encode())
        yield connection


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    nodes: list[Node] = []

    def start_node(environment: dict[str, str] | None = None, trainer: Path = TRAINER, **variables: t.Any) -> Node:
        nodes.append(Node(tmp_path_factory.mktemp("log"), environment or {}, variables, trainer))
        return nodes[-1]

    yield start_node
    for node in nodes:
        if node.process.poll() is None:
            os.killpg(node.process.pid, signal.SIGKILL)
            node.process.communicate()


@pytest.fixture(scope="module")
def start_all(start: Start) -> Callable[..., list[Node]]:
    def start_nodes(nnodes: int, **variables: t.Any) -> list[Node]:
        shared = {"NNODES": nnodes, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), **variables}
        return [start(NODE_RANK=rank, **shared) for rank in range(nnodes)]

    return start_nodes


TWENTY = {"BS": 8, "MBS": 2, "SEQ_LENGTH": 8, "TOTAL_ITERS": 20}
TOKENS = 8 * 8  # of a step


@pytest.fixture(scope="module")
def one_node(start: Start) -> tuple[Node, str]:
    """A finished run of one node, and its stdout."""
    node = start(**TWENTY)
    status, out, err = node.finish()
    assert (status, err) == (0, "")
    return node, out


@pytest.fixture(scope="module")
def two_logs(start_all: Callable[..., list[Node]]) -> list[str]:
    nodes = start_all(2, **TWENTY)
    assert [node.finish()[0] for node in nodes] == [0, 0]
    return [node.log for node in nodes]


def test_path_comes_first_and_the_log_is_also_on_stdout(one_node: tuple[Node, str]) -> None:
    node, out = one_node
    path, _newline, rest = out.partition("\n")
    assert Path(path) == node.log_path
    assert rest == node.log


def test_iteration_lines_have_the_format_and_count_right(one_node: tuple[Node, str]) -> None:
    lines = iterations(one_node[0].log)
    assert [int(line["iteration"]) for line in lines] == list(range(1, 21))
    assert {int(line["total"]) for line in lines} == {20}
    assert [int(line["samples"]) for line in lines] == list(range(8, 161, 8))
    assert {int(line["batch"]) for line in lines} == {8}
    assert all(0 < float(line["memory"]) < 1 for line in lines)


def test_throughput_is_the_flops_of_the_matrix_products_over_the_time(one_node: tuple[Node, str]) -> None:
    flops = 3 * 2 * (16 * 17 + 256 * 17) * TOKENS
    for line in iterations(one_node[0].log):
        assert float(line["tflops"]) == pytest.approx(flops / float(line["ms"]) * 1e3 / 1e12, rel=0.01, abs=6e-7)


def test_markers_stand_in_order(one_node: tuple[Node, str]) -> None:
    assert re.findall(r"^\[(.+)\] datetime: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d $", one_node[0].log, re.MULTILINE) == [
        "after megatron is initialized",
        "before the start of training step",
        "after training is done",
    ]


def test_loss_begins_at_a_blind_guess_and_falls(one_node: tuple[Node, str]) -> None:
    values = losses(one_node[0].log)
    assert values[0] == pytest.approx(math.log(256), abs=0.1)
    assert values[-1] < values[0] - 1


def test_summary_is_the_mean_without_the_first_two_and_the_last(one_node: tuple[Node, str]) -> None:
    log = one_node[0].log
    counted = iterations(log)[2:-1]
    mean = {name: math.fsum(float(line[name]) for line in counted) / 17 for name in ("tflops", "ms", "memory")}
    *_rest, tflops, milliseconds, tokens, memory = log.splitlines()
    assert float(tflops.removeprefix("throughput per GPU: ")) == pytest.approx(mean["tflops"])
    assert float(milliseconds.removeprefix("elapsed time per iteration: ")) == pytest.approx(mean["ms"])
    assert float(tokens.removeprefix("tokens/GPU/s: ")) == pytest.approx(TOKENS * 1000 / mean["ms"])
    assert float(memory.removeprefix("mem usages: ")) == pytest.approx(mean["memory"])


def test_summary_shares_tokens_among_nodes_and_writes_no_exponent() -> None:
    line = "elapsed time per iteration (ms): {} | mem usages: 0.0001 | throughput per GPU (TFLOP/s/GPU): 0.000002 |"
    log = "\n".join(line.format(ms) for ms in (900.0, 800.0, 100.0, 300.0, 700.0))
    assert summary_lines(log, 16, 64, 4) == [
        "throughput per GPU: 0.000002000000",
        "elapsed time per iteration: 200.000000000000",
        "tokens/GPU/s: 1280.000000",
        "mem usages: 0.000100000000",
    ]


def test_three_iterations_have_no_mean(start: Start) -> None:
    node = start(**{**SMALL, "TOTAL_ITERS": 3})
    assert node.finish()[0] == 0
    assert node.log.splitlines()[-4:] == [
        "throughput per GPU: nan",
        "elapsed time per iteration: nan",
        "tokens/GPU/s: nan",
        "mem usages: nan",
    ]


def test_without_tee_only_path_and_summary_are_on_stdout(start: Start) -> None:
    node = start(**SMALL, TEE_OUTPUT=0)
    status, out, err = node.finish()
    assert (status, err) == (0, "")
    assert out.splitlines() == [str(node.log_path), *node.log.splitlines()[-4:]]
    assert len(iterations(node.log)) == 4


def test_default_log_path_tells_the_sizes_and_lies_in_the_current_folder(tmp_path: Path) -> None:
    run = subprocess.run(
        ["bash", TRAINER / "examples/llama/train_llama3.sh", "TOTAL_ITERS=1", "SEQ_LENGTH=1"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    path = run.stdout.splitlines()[0]
    folder = r"experiment/1nodes_rank0_train_tiny_mbs2_bs8_tp1_pp1_cp1_iter1/TE_FP8_0/[-\d]{10}_[-\d]{8}"
    assert re.fullmatch(rf"{folder}/output_perf\.log", path)
    assert "[after training is done]" in (tmp_path / path).read_text()


def test_arguments_win_over_the_environment(start: Start) -> None:
    node = start({"TOTAL_ITERS": "50", "BS": "2", "SEED": "1"}, MBS=1, SEQ_LENGTH=8, TOTAL_ITERS=5)
    assert node.finish()[0] == 0
    lines = iterations(node.log)
    assert (len(lines), int(lines[0]["batch"])) == (5, 2)


def test_all_nodes_print_the_same_losses_and_end_with_the_same_parameters(two_logs: list[str]) -> None:
    assert len(losses(two_logs[0])) == 20
    assert losses(two_logs[0]) == losses(two_logs[1])
    assert checksum(two_logs[0]) == checksum(two_logs[1])


def test_two_nodes_train_as_one_does(one_node: tuple[Node, str], two_logs: list[str]) -> None:
    assert losses(two_logs[0]) == pytest.approx(losses(one_node[0].log), abs=2e-6)


def test_rank_0_says_who_joined_from_where(two_logs: list[str]) -> None:
    host = socket.gethostname()
    assert f"all 2 nodes joined: rank 0 {host}, rank 1 {host} at 127.0.0.1\n" in two_logs[0]


@pytest.mark.slow
def test_rank_0_names_the_rank_that_the_others_waited_for(start_all: Callable[..., list[Node]], tmp_path: Path) -> None:
    trainer = tmp_path / "trainer"
    shutil.copytree(TRAINER, trainer, ignore=shutil.ignore_patterns("__pycache__"))
    program = trainer / "tiny_lm/pretrain.py"
    head, ends, rest = program.read_text().partition("        computed = ")
    program.write_text(f"{head}        time.sleep(0.5 if world.rank == 1 else 0)\n{ends}{rest}")
    nodes = start_all(3, trainer=trainer, **SMALL | {"BS": 3})
    assert [node.finish()[0] for node in nodes] == [0, 0, 0]
    lines = [line.encode() + b"\n" for line in nodes[0].log.splitlines()]
    assert add_settings({}, GRAMMARS[OF_EMBEDDED_TRAINER].settings, Piece(b"".join(lines)))["slowest_rank"][0] == 1
    assert not [line for node in nodes[1:] for line in node.log.splitlines() if "MxRtt" in line]


def test_a_rank_that_is_hardly_slower_is_not_named() -> None:
    assert slowest_line([1.0, 1.05, 1.0]) == ""


def test_the_seed_decides_the_run(start: Start) -> None:
    nodes = [start(**SMALL, SEED=seed) for seed in (5, 5, 6)]
    assert [node.finish()[0] for node in nodes] == [0, 0, 0]
    first, same, other = (losses(node.log) for node in nodes)
    assert first == same != other


@pytest.mark.parametrize("nnodes", [1, 2, 4])
def test_global_batch_does_not_depend_on_the_number_of_nodes(nnodes: int) -> None:
    shares = [sample_indices(3, rank, nnodes, 2, 8 // nnodes) for rank in range(nnodes)]
    samples = [sample for share in shares for micro_batch in share for sample in micro_batch]
    assert sorted(samples) == list(range(32, 48))
    assert all(len(micro_batch) == 2 for share in shares for micro_batch in share)


def test_gradient_agrees_with_differences_of_the_loss() -> None:
    draw = random.Random(7)
    parameters = [value + draw.uniform(-0.3, 0.3) for value in initial_parameters(7)]
    samples = [b"abcabd", b"a\x00\xffbc"]
    _loss, gradient = loss_and_gradient(parameters, samples)
    embeddings = [byte * 8 + column for byte in b"abc\x00\xff" for column in (0, 7)]
    hidden = range(2048, 2048 + 272, 13)
    output = range(2048 + 272, PARAMETERS, 171)
    for at in [*embeddings, *hidden, *output]:
        moved = [[*parameters[:at], parameters[at] + step, *parameters[at + 1 :]] for step in (1e-5, -1e-5)]
        up, down = (loss_and_gradient(values, samples)[0] for values in moved)
        assert gradient[at] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-8)


def test_adam_steps_by_the_learning_rate_under_a_constant_gradient() -> None:
    adam = Adam(3)
    values = [1.0, 1.0, 1.0]
    for step in range(1, 6):
        values = adam.step(values, [4.0, -0.5, 0.0], 0.1)
        assert values == pytest.approx([1 - 0.1 * step, 1 + 0.1 * step, 1.0], abs=1e-6)


def test_a_training_goes_on_from_its_last_checkpoint_as_if_it_had_not_ended(
    start_all: Callable[..., list[Node]], two_logs: list[str], tmp_path: Path
) -> None:
    kept = {**TWENTY, "SAVE_CKPT_PATH": tmp_path, "LOAD_CKPT_PATH": tmp_path, "SAVE_INTERVAL": 5}
    broken_off = start_all(2, **{**kept, "TOTAL_ITERS": 16})
    assert [node.finish()[0] for node in broken_off] == [0, 0]
    nodes = start_all(2, **kept)
    assert [node.finish()[0] for node in nodes] == [0, 0]
    for node, whole in zip(nodes, two_logs, strict=True):
        assert f"  successfully loaded checkpoint from {tmp_path} at iteration 15\n" in node.log
        assert losses(node.log) == losses(whole)[15:]
        assert checksum(node.log) == checksum(whole)


def test_nodes_that_find_different_checkpoints_do_not_begin(start: Start, tmp_path: Path) -> None:
    assert start(**SMALL, SAVE_CKPT_PATH=tmp_path, SAVE_INTERVAL=2).finish()[0] == 0
    shared = {**SMALL, "NNODES": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    here, elsewhere = (
        start(**shared, NODE_RANK=rank, LOAD_CKPT_PATH=folder) for rank, folder in enumerate([tmp_path, tmp_path / "x"])
    )
    assert f"the nodes found different checkpoints in {tmp_path}\n" in here.failure()
    assert f"the nodes found different checkpoints in {tmp_path}/x\n" in elsewhere.failure()


def test_a_file_that_is_no_checkpoint_is_named(start: Start, tmp_path: Path) -> None:
    (tmp_path / "tiny_lm.json").write_text("[3, [")
    assert (
        f"{tmp_path}/tiny_lm.json is not a checkpoint of this trainer: "
        in start(**SMALL, LOAD_CKPT_PATH=tmp_path).failure()
    )


def test_trains_on_the_bytes_of_a_file(start: Start, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"\xe4\x00" * 100)
    node = start(BS=4, SEQ_LENGTH=8, TOTAL_ITERS=30, LR=0.05, MOCK_DATA=0, DATA_PATH=text)
    assert node.finish()[0] == 0
    assert losses(node.log)[-1] < 0.1  # two alternating bytes are predictable; the synthetic text stays above 1


def test_a_tokenizer_is_said_to_be_unused(start: Start) -> None:
    node = start(**SMALL, TOKENIZER_MODEL="meta-llama/Llama-3.1-8B")
    assert node.finish()[0] == 0
    assert "TOKENIZER_MODEL=meta-llama/Llama-3.1-8B is ignored: the tokens are bytes\n" in node.log


def test_an_argument_that_it_does_not_know_is_refused() -> None:
    command = [sys.executable, str(TRAINER / "pretrain_tiny.py"), "--chek"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "usage: pretrain_tiny.py [--check], not: --chek\n"


def test_all_refused_settings_are_said_at_once_and_nothing_starts(start: Start, tmp_path: Path) -> None:
    refused = {
        "MODEL_SIZE": ("8B", "expected tiny"),
        "TP": ("8", "expected 1"),
        "PP": ("2", "expected 1"),
        "CP": ("2", "expected 1"),
        "TE_FP8": ("1", "expected 0"),
        "FSDP": ("1", "expected 0"),
        "RECOMPUTE": ("1", "expected 0"),
        "BS": ("6", "expected a multiple of MBS x NNODES = 2 x 2 = 4"),
        "SEQ_LENGTH": ("64.0", "expected a whole number of at least 1"),
        "TOTAL_ITERS": ("0", "expected a whole number of at least 1"),
        "NODE_RANK": ("2", "expected a whole number from 0 to 1"),
        "MASTER_PORT": ("65536", "expected a whole number from 1 to 65535"),
        "RENDEZVOUS_TIMEOUT": ("-1", "expected a whole number from 1 to 86400"),
        "LR": ("inf", "expected a positive number"),
        "SEED": ("x", "expected a whole number of at least 0"),
        "SEQ_PARALLEL": ("2", "expected a whole number from 0 to 1"),
        "TEE_OUTPUT": ("yes", "expected a whole number from 0 to 1"),
        "MOCK_DATA": ("true", "expected a whole number from 0 to 1"),
    }
    values = {name: value for name, (value, _expected) in refused.items()}
    node = start(NNODES=2, LOG_DIR=tmp_path / "none", **values)
    status, out, err = node.finish()
    assert (status, out) == (2, "")
    assert not (tmp_path / "none").exists()
    for name, (value, expected) in refused.items():
        assert re.search(rf"^  {name}: found '{re.escape(value)}', {re.escape(expected)}", err, re.MULTILINE), name
    assert len(err.splitlines()) == 1 + len(refused)


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file or directory"), (b"123", "it has 3")], ids=["missing", "short"]
)
def test_a_data_file_that_cannot_serve_is_refused(
    start: Start, tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "text"
    if content is not None:
        path.write_bytes(content)
    status, _out, err = start(**SMALL, MOCK_DATA=0, DATA_PATH=path).finish()
    assert status == 2
    assert f"DATA_PATH: found '{path}', expected a file of at least SEQ_LENGTH + 2 bytes" in err
    assert reason in err


def test_an_argument_that_is_no_assignment_is_refused_with_the_other_faults() -> None:
    run = subprocess.run(
        ["bash", "examples/llama/train_llama3.sh", "8B", "2TP=1", "TP=2", f"PYTHON={sys.executable}"],
        cwd=TRAINER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")
    for text in ("'8B' is refused: KEY=VALUE", "'2TP=1' is refused: KEY=VALUE", "TP: found '2'"):
        assert text in run.stderr


def test_a_python_that_cannot_run_it_is_refused(start: Start) -> None:
    status, _out, err = start(PYTHON="/bin/false").finish()
    assert status == 2
    assert "PYTHON=/bin/false is refused: Python 3.8 or newer is expected" in err


def test_without_the_script_unset_variables_are_named() -> None:
    run = subprocess.run(
        [sys.executable, "pretrain_tiny.py"], cwd=TRAINER, env={}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "MBS: found nothing (train_llama3.sh sets a default), expected a whole number" in run.stderr


def test_a_diverging_training_stops_with_nan(start: Start) -> None:
    node = start(**SMALL, LR=1e200)
    log = node.failure()
    bad_line, message, status = log.splitlines()[-3:]
    assert " lm loss: " not in bad_line
    assert "| grad norm: nan |" in bad_line
    assert re.fullmatch(
        rf"RuntimeError: Rank 0, node {re.escape(socket.gethostname())}, device 0, iteration 2: "
        r"Unexpected result nan \(message='found NaN in local forward loss calculation'\)",
        message,
    )
    assert status == "ERROR: training (pretrain_tiny.py) failed with exit code 1"


def test_infinite_and_foreign_losses_are_told_apart() -> None:
    assert "Unexpected result inf (message='found Inf in local" in nonfinite_loss(0, "a", 3, math.inf, math.inf)
    foreign = nonfinite_loss(1, "b", 3, 2.5, math.nan)
    assert foreign == "Rank 1, node b, iteration 3: the mean loss of all nodes is nan, not this node's"


def test_a_killed_node_ends_the_others(start_all: Callable[..., list[Node]]) -> None:
    nodes = start_all(3, **{**ENDLESS, "BS": 6})
    os.kill(nodes[1].trainer_pid(), signal.SIGKILL)
    assert nodes[1].finish()[0] == 128 + signal.SIGKILL
    lost = "ConnectionError: rank {} lost the connection to rank {}: another node has failed\n"
    assert lost.format(0, 1) in nodes[0].failure()
    assert lost.format(2, 0) in nodes[2].failure()


def test_a_lost_node_is_noticed_long_before_the_iteration_ends(start: Start) -> None:
    # Rank 0 alone would compute for minutes before it next reads from the other.
    port, settings = free_port(), {"NNODES": 2, "BS": 200_000, "MBS": 1, "SEQ_LENGTH": 8, "TOTAL_ITERS": 1}
    node = start(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **settings)
    with join(port, 1, **settings):
        node.wait_for("before the start of training step")
    assert "rank 0 lost the connection to rank 1: another node has failed" in node.failure()


def test_a_closed_connection_is_seen_behind_unread_data() -> None:
    with connected() as (ours, theirs):
        world = World(0, 2, {1: ours})
        send_frame(theirs, b"unread")
        world.raise_if_peer_closed()
        theirs.close()
        wait_until(lambda: ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO) & 0xFF != 1)  # no longer ESTABLISHED
        with pytest.raises(ConnectionError, match="rank 0 lost the connection to rank 1"):
            world.raise_if_peer_closed()


@pytest.mark.parametrize("target", ["script", "group"])
def test_sigterm_stops_the_training(start: Start, target: str) -> None:
    node = start(**ENDLESS)
    node.wait_for("iteration        3/")
    (os.kill if target == "script" else os.killpg)(node.process.pid, signal.SIGTERM)
    status, _out, err = node.finish()
    assert status == 143
    assert "Traceback" not in node.log + err
    assert node.log.splitlines()[-2:] == [
        "exiting program after receiving SIGTERM.",
        "ERROR: training (pretrain_tiny.py) failed with exit code 143",
    ]


def test_the_script_waits_for_a_trainer_that_stops_slowly(start: Start) -> None:
    node = start(**ENDLESS)
    trainer = node.trainer_pid()
    os.kill(trainer, signal.SIGSTOP)

    def signal_is_passed_on() -> bool:
        # Again and again: bash may miss a signal that comes together with the news that its child was stopped.
        os.kill(node.process.pid, signal.SIGTERM)
        status = Path(f"/proc/{trainer}/status").read_text()
        pending = re.findall(r"^(?:Sig|Shd)Pnd:\s*([0-9a-f]+)$", status, re.MULTILINE)
        return any(int(mask, 16) & 1 << signal.SIGTERM - 1 for mask in pending)

    wait_until(signal_is_passed_on)
    os.kill(trainer, signal.SIGCONT)
    assert node.finish()[0] == 143
    assert node.log.splitlines()[-2] == "exiting program after receiving SIGTERM."


def test_a_second_sigterm_does_not_disturb_the_stop() -> None:
    before = signal.signal(signal.SIGTERM, stop_on_sigterm)
    try:
        with pytest.raises(Stopped):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_rank_0_says_which_nodes_did_not_come(start: Start) -> None:
    shared = {"NNODES": 3, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "BS": 6}
    nodes = [start(NODE_RANK=rank, RENDEZVOUS_TIMEOUT=2, **shared) for rank in (0, 2)]
    expected = (
        "rendezvous timed out after 2 s: 2 of 3 nodes joined "
        f"(rank 0 {socket.gethostname()}, rank 2 {socket.gethostname()} at 127.0.0.1), missing: rank 1; "
        f"rank 0 listened on 127.0.0.1:{shared['MASTER_PORT']}\n"
    )
    assert f"TimeoutError: {expected}" in nodes[0].failure()
    assert f"ConnectionError: rank 0 refused to begin: {expected}" in nodes[1].failure()


def test_a_node_without_rank_0_says_where_it_looked(start: Start) -> None:
    port = free_port()
    node = start(NNODES=2, NODE_RANK=1, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RENDEZVOUS_TIMEOUT=1)
    assert f"could not connect to rank 0 at 127.0.0.1:{port} (Connection refused)" in node.failure()


def test_a_port_in_use_is_named(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        node = start(NNODES=2, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        assert (
            f"OSError: rank 0 cannot listen on 127.0.0.1:{port} (Address already in use): "
            "another process uses this MASTER_PORT\n"
        ) in node.failure()


@pytest.mark.parametrize("rank", [0, 1])
def test_an_unknown_master_is_named(start: Start, rank: int) -> None:
    node = start(NNODES=2, NODE_RANK=rank, MASTER_ADDR="no-such-host.invalid")
    assert "OSError: MASTER_ADDR 'no-such-host.invalid' cannot be resolved to an IPv4 address: " in node.failure()


@pytest.mark.parametrize("variable", ["GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"])
def test_an_unknown_interface_is_named(start: Start, variable: str) -> None:
    node = start(NNODES=2, **{variable: "nosuch0"})
    assert f"there is no network interface 'nosuch0' on {socket.gethostname()}; there are lo" in node.failure()


def test_an_interface_without_an_address_is_named(tmp_path: Path) -> None:
    # A new network namespace has a loopback interface without an address.
    isolated = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not make a network namespace")
    arguments = ["NNODES=2", "GLOO_SOCKET_IFNAME=lo", f"PYTHON={sys.executable}", f"LOG_DIR={tmp_path}"]
    run = subprocess.run(
        [*isolated, "bash", "examples/llama/train_llama3.sh", *arguments],
        cwd=TRAINER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "OSError: the network interface 'lo' has no IPv4 address (Cannot assign requested address)" in run.stdout


def test_one_node_needs_no_network(start: Start) -> None:
    node = start(**SMALL, MASTER_ADDR="no-such-host.invalid", GLOO_SOCKET_IFNAME="nosuch0")
    assert node.finish()[0] == 0


def test_connections_leave_through_the_interface(start: Start) -> None:
    def address(name: str) -> str:
        try:
            return interface_address(name)
        except OSError:
            return ""

    own = next((a for a in (address(name) for _index, name in socket.if_nameindex()) if a and a[:4] != "127."), None)
    if own is None:
        pytest.skip("this machine has no interface with an IPv4 address but loopback")
    shared = {**SMALL, "NNODES": 2, "MASTER_ADDR": own, "MASTER_PORT": free_port()}
    nodes = [start(NODE_RANK=0, **shared), start(NODE_RANK=1, GLOO_SOCKET_IFNAME="lo", **shared)]
    assert [node.finish()[0] for node in nodes] == [0, 0]
    assert f"rank 1 {socket.gethostname()} at 127.0.0.1\n" in nodes[0].log


@pytest.mark.parametrize(
    "master",
    [
        pytest.param("192.0.2.254", id="address of another machine"),
        pytest.param("127.1", id="name of a loopback address", marks=pytest.mark.slow),
    ],
)
def test_rank_0_listens_on_all_addresses_when_its_own_would_not_do(start: Start, master: str) -> None:
    shared = {**SMALL, "NNODES": 2, "MASTER_PORT": free_port()}
    nodes = [start(NODE_RANK=0, MASTER_ADDR=master, **shared), start(NODE_RANK=1, MASTER_ADDR="127.0.0.3", **shared)]
    assert [node.finish()[0] for node in nodes] == [0, 0]


def test_rank_0_listens_on_no_other_address(start: Start) -> None:
    shared = {**SMALL, "NNODES": 2, "MASTER_PORT": free_port(), "RENDEZVOUS_TIMEOUT": 1}
    nodes = [
        start(NODE_RANK=0, MASTER_ADDR="127.0.0.2", **shared),
        start(NODE_RANK=1, MASTER_ADDR="127.0.0.3", **shared),
    ]
    assert "1 of 2 nodes joined" in nodes[0].failure()
    assert "could not connect to rank 0 at 127.0.0.3" in nodes[1].failure()


def test_nodes_with_different_settings_do_not_begin(start: Start) -> None:
    shared = {**SMALL, "NNODES": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    nodes = [start(NODE_RANK=0, **shared), start(NODE_RANK=1, **{**shared, "BS": 8, "SEED": 2})]
    fault = (
        f"rank 1 ({socket.gethostname()} at 127.0.0.1) was started with other settings than rank 0: "
        "BS=8 (rank 0 has 4), SEED=2 (rank 0 has 1234)\n"
    )
    assert f"ConnectionError: {fault}" in nodes[0].failure()
    assert f"ConnectionError: rank 0 refused to begin: {fault}" in nodes[1].failure()


def test_two_nodes_of_one_rank_do_not_begin(start: Start) -> None:
    shared = {**SMALL, "BS": 6, "NNODES": 3, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    nodes = [start(NODE_RANK=rank, **shared) for rank in (0, 1, 1)]
    for node in nodes:
        assert "two nodes were started as rank 1: " in node.failure()


def test_a_stranger_at_the_port_is_sent_away(start: Start) -> None:
    port = free_port()
    shared = {**SMALL, "NNODES": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    first = start(NODE_RANK=0, **shared)
    with connect(port) as stranger:
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
        with pytest.raises(ConnectionResetError):  # closed before all was read
            stranger.recv(1)
    second = start(NODE_RANK=1, **shared)
    assert [first.finish()[0], second.finish()[0]] == [0, 0]


def test_something_else_at_the_port_is_not_taken_for_rank_0(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        node = start(NNODES=2, NODE_RANK=1, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        connection, _address = other.accept()
        with connection:
            connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
            assert f"what rank 1 found at 127.0.0.1:{port} is no rank 0 of this trainer" in node.failure()


def test_a_node_that_goes_before_the_others_came_ends_the_wait(start: Start) -> None:
    port, settings = free_port(), {**SMALL, "NNODES": 4}
    node = start(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **settings)
    with join(port, 2, **settings):
        pass
    assert "rank 0 lost the connection to rank 2: another node has failed" in node.failure()


def test_a_rank_0_that_goes_before_the_others_came_is_told(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        node = start(NNODES=2, NODE_RANK=1, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        connection, _address = other.accept()
        with connection:
            receive_frame(connection)
    assert f"rank 1 got no answer from rank 0 at 127.0.0.1:{port}: the other end closed" in node.failure()


def test_parameters_that_differ_after_training_are_an_error(start: Start) -> None:
    port, settings = free_port(), {**SMALL, "NNODES": 2}
    node = start(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **settings)
    with join(port, 1, **settings) as connection:
        assert json.loads(receive_frame(connection)) == {"error": ""}
        world = World(1, 2, {0: connection})
        for _iteration in range(4):
            world.all_reduce([0.0] * (1 + PARAMETERS))
        assert not world.agree([0.0] * PARAMETERS)
    log = node.failure()
    assert "RuntimeError: rank 0: the nodes' parameters differ after training; their checksum" in log
    assert "after training is done" not in log


@pytest.mark.parametrize("same", [True, False])
def test_nodes_agree_only_on_identical_parameters(same: bool) -> None:
    with connected() as (ours, theirs), ThreadPoolExecutor(2) as threads:
        worlds = (World(0, 2, {1: ours}), World(1, 2, {0: theirs}))
        values = ([0.1, 0.2], [0.1, 0.2 if same else math.nextafter(0.2, 1)])
        assert list(threads.map(World.agree, worlds, values)) == [same, same]
