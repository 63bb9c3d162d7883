from __future__ import annotations

import random
import re
from typing import Any

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.failures import find_failures as failures_of_piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.failures import open_message
from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.known import SIGNATURES


def find_failures(text: bytes) -> list[dict[str, Any]]:
    return failures_of_piece(Piece(text))


def test_a_failure_carries_what_its_signature_says() -> None:
    [found] = find_failures(b"[rank1]: torch.OutOfMemoryError: HIP out of memory.\n")
    signature = next(signature for signature in SIGNATURES if re.search(signature.pattern, b"HIP out of memory"))
    assert found == {
        "class": "out_of_memory",
        "blame": signature.blame,
        "echo": False,
        "remedy": signature.remedy,
        "line": "[rank1]: torch.OutOfMemoryError: HIP out of memory.",
        "rank": 1,
        "exit_code": None,
        "severity": "",
        "step": None,
    }


def test_failures_stand_in_the_order_of_the_log_and_at_most_three_of_a_class() -> None:
    text = b"got signal: 15\n" + b"".join(b"HW Exception by GPU node-%d\n" % number for number in range(9))
    assert [(found["class"], found["line"]) for found in find_failures(text)] == [
        ("sigterm", "got signal: 15"),
        *(("gpu_hang", f"HW Exception by GPU node-{number}") for number in range(3)),
    ]


def test_no_line_changes_its_class_because_there_are_many_of_it() -> None:
    line = b"RuntimeError: HIP error: out of memory\n"
    text = (b'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\n' + line) * 8
    assert [found["class"] for found in find_failures(text)] == ["out_of_memory"] * 3


@pytest.mark.parametrize(
    ("lines", "nearest"),
    [
        (("KeyError: 'layers'", "srun: error: n2: tasks 8-15: Killed"), "python_error"),
        (("srun: error: n1: task 3: Exited with exit code 1", "srun: error: n2: task 8: Killed"), "child_failed"),
        (("srun: error: n1: task 3: Killed", "srun: error: n2: task 8: Terminated"), "killed"),
        (("SIGBUS", "RuntimeError: DataLoader worker (pid(s) 47) exited unexpectedly"), "bus_error"),
        (("KeyError: 'layers'", "RuntimeError: DataLoader worker (pid(s) 47) exited unexpectedly"), "python_error"),
    ],
)
def test_what_was_killed_as_another_failed_is_farther_from_the_cause(lines: tuple[str, ...], nearest: str) -> None:
    found = find_failures("".join(f"{line}\n" for line in lines).encode())
    assert min(found, key=lambda failure: failure["blame"])["class"] == nearest
    assert len(found) == len(lines)


def test_a_refused_argument_behind_another_failure_is_a_line_of_its_own() -> None:
    found = find_failures(b"SIGBUS\ntrain.py: error: unrecognized arguments: --odd\n")
    assert [(one["class"], one["line"]) for one in found] == [
        ("bus_error", "SIGBUS"),
        ("settings_refused", "train.py: error: unrecognized arguments: --odd"),
    ]


def test_an_exception_among_many_with_a_class_of_their_own_is_told() -> None:
    opening = 'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\n'
    text = f"{opening}torch.distributed.DistBackendError: NCCL error in: /x.hpp:268, remote\n" * 8
    text += f"{opening}KeyError: 'layers'\n"
    assert [name for name, _, _ in lines_of(text)] == ["nccl", "nccl", "nccl", "python_error"]


def test_evidence_of_a_long_line_is_cut_around_the_text_and_never_breaks_on_invalid_utf_8() -> None:
    [found] = find_failures(b"\xff" * 5000 + b"\tSegmentation fault\xff" + b"x" * 5000)
    assert found["line"].startswith("Segmentation fault\N{REPLACEMENT CHARACTER}xxx")
    assert len(found["line"]) == 400


@pytest.mark.parametrize(
    ("script", "shown"), [(b"/data/launch.sh", "/data/launch.sh"), (b"/" + b"x" * 500, "x" * 100)], ids=len
)
def test_evidence_of_a_long_line_begins_with_a_whole_word_that_is_not_too_long(script: bytes, shown: str) -> None:
    [found] = find_failures(script + b": line 33:  4711 Killed                  bash train.sh " + b"A=1 " * 200)
    assert found["line"].startswith(f"{shown}: line 33: 4711 Killed bash train.sh A=1")


ROOT_CAUSE = """\
{prefix}Traceback (most recent call last):
{prefix}  File "/x/torchrun", line 8, in <module>
{prefix}torch.distributed.elastic.multiprocessing.errors.ChildFailedError:{blank}
============================================================
pretrain_gpt.py FAILED
Failures:
[1]:
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 92115)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 92115
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-01-02_03:04:05
  host      : n1
  rank      : 6 (local_rank: 6)
  exitcode  : 1 (pid: 92121)
  error_file: <N/A>
============================================================
"""


def test_the_root_cause_of_torchrun_is_the_rank_to_blame() -> None:
    found = find_failures(ROOT_CAUSE.format(prefix="", blank=" ").encode())
    assert [failure["class"] for failure in found] == ["child_failed", "sigterm", "elastic"]
    assert (found[-1]["rank"], found[-1]["exit_code"]) == (6, 1)
    assert found[-1]["line"].startswith("Root Cause (first observed failure): [0]:")
    assert "rank : 6 (local_rank: 6) exitcode : 1 (pid: 92121)" in found[-1]["line"]


def lines_of(text: str) -> list[tuple[str, str, int | None]]:
    return [(found["class"], found["line"], found["rank"]) for found in find_failures(text.encode())]


def test_a_traceback_is_told_by_its_last_line() -> None:
    text = (
        "10%|# | 1/10Traceback (most recent call last):\n"
        '  File "/x/pretrain_gpt.py", line 8, in <module>\n'
        "    raise my.own.ModelError(\n"
        "          ^^^^^^^^^^^^^^^^^^\n"
        "WARNING: another process prints between\n"
        "my.own.ModelError: no such model\n"
        "  ValueError: not of the traceback\n"
    )
    assert lines_of(text) == [("python_error", "my.own.ModelError: no such model", None)]


@pytest.mark.parametrize("rank", ["", "[rank3]: "])
def test_what_a_data_worker_raised_is_told_once_as_itself(rank: str) -> None:
    lines = (
        "Traceback (most recent call last):",
        '  File "/site-packages/torch/_utils.py", line 7, in reraise',
        "OSError: Caught OSError in DataLoader worker process 1.",
        "Original Traceback (most recent call last):",
        '  File "/site-packages/torch/utils/data/_utils/worker.py", line 7, in _worker_loop',
        "OSError: [Errno 24] Too many open files: '/data/x.bin'",
    )
    found = find_failures("".join(f"{rank}{line}\n" for line in lines).encode())
    assert [failure["class"] for failure in found] == ["open_files"]


def test_each_exception_of_a_chain_is_told() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\nKeyError: 1\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "/x/a.py", line 9, in f\nAssertionError\n'
    )
    assert [line for _, line, _ in lines_of(text)] == ["KeyError: 1", "AssertionError"]


@pytest.mark.parametrize("rank", ["", "[rank3]: "])
def test_a_package_that_the_program_goes_on_without_is_no_failure(rank: str) -> None:
    """MaxText tries to import transformer_engine, and trains without it; the error that ends it mentions it as well."""
    lines = (
        "Traceback (most recent call last):",
        '  File "/x/max_utils.py", line 7, in context',
        "ModuleNotFoundError: No module named 'transformer_engine'",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "/x/train.py", line 8, in <module>',
        "jax.errors.JaxRuntimeError: UNKNOWN: [external/gloo/transport/tcp/pair.cc:538] Read error [127.0.0.1]:10156: "
        "Connection reset by peer",
    )
    text = "".join(f"{rank}{line}\n" for line in lines)
    assert [failure for failure, _line, _rank in lines_of(text)] == ["peer_died"]
    alone = "".join(f"{rank}{line}\n" for line in lines[:3])
    assert [failure for failure, _line, _rank in lines_of(alone)] == ["import_error"]
    assert open_message(Piece(alone.encode())) is not None
    assert open_message(Piece(text.encode())) is None


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (
            ["pretrain_gpt.py", "megatron/training/checkpointing.py", "site-packages/torch/nn/modules/module.py"],
            "checkpoint",
        ),
        (["train.py", "site-packages/orbax/checkpoint/_src/handlers.py"], "checkpoint"),
        (["scripts/megatron_lm_ckpt_to_odd.py"], "checkpoint"),
        (["megatron/training/training.py", "site-packages/torch/utils/checkpoint.py"], "python_error"),
        (["megatron/training/initialize.py", "megatron/training/arguments.py"], "settings_refused"),
        (["train.py", "MaxText/pyconfig.py", "lib/python3.12/json/decoder.py"], "settings_refused"),
        (["train.py", "site-packages/transformers/tokenization_utils_base.py"], "tokenizer"),
        (["megatron/core/datasets/gpt_dataset.py", "site-packages/numpy/core/memmap.py"], "data"),
        (["train.py", "site-packages/torch/_inductor/codecache.py"], "compile"),
        (["train.py", "site-packages/torch/_dynamo/eval_frame.py"], "python_error"),
        (["train.py", "site-packages/triton/compiler/code_generator.py"], "compile"),
        (["train.py", "aiter/ops/triton/mha.py"], "python_error"),
        (["train.py", "site-packages/urllib3/connectionpool.py"], "hub_unreachable"),
        (
            ["run.py", "nemo/hydra_runner.py", "site-packages/hydra/_internal/hydra.py", "m/attention.py"],
            "python_error",
        ),
        (["t5x/config_utils.py", *(f"t5x/odd_{number}.py" for number in range(6))], "python_error"),
        (["train.py", "site-packages/torch/distributed/_shard/checkpoint/default_planner.py"], "checkpoint"),
        (["train.py", "site-packages/torch/distributed/algorithms/_checkpoint/checkpoint_wrapper.py"], "python_error"),
        (["train.py", "site-packages/torch/cuda/__init__.py"], "python_error"),
        (["train.py", "jax/_src/sharding_impls.py"], "sizes"),
        (["train.py", "jax/_src/clusters/odd_cluster.py"], "jax_start"),
        (["odd/reader.py", "site-packages/gin/config.py"], "python_error"),
        (
            ["train.py", "site-packages/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py"],
            "rendezvous_timeout",
        ),
    ],
)
def test_an_exception_that_no_signature_knows_is_of_who_raised_it(files: list[str], name: str) -> None:
    frames = "".join(f'  File "/opt/{file}", line 1, in f\n' for file in files)
    assert [found for found, _, _ in lines_of(f"Traceback (most recent call last):\n{frames}KeyError: 'x'\n")] == [name]


def test_tracebacks_of_ranks_that_print_between_each_other_are_kept_apart() -> None:
    text = (
        "[rank3]: Traceback (most recent call last):\n"
        "[rank1]: Traceback (most recent call last):\n"
        '[rank3]:   File "/x/a.py", line 8, in f\n'
        '[rank1]:   File "/x/a.py", line 9, in f\n'
        "[rank1]: KeyError: 1\n"
        "[rank3]: ValueError: 3\n"
    )
    assert lines_of(text) == [
        ("python_error", "[rank1]: KeyError: 1", 1),
        ("python_error", "[rank3]: ValueError: 3", 3),
    ]


def test_a_traceback_whose_end_has_a_class_of_its_own_is_not_told_twice() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\n'
        "ConnectionError: rank 0 lost the connection to rank 1: another node has failed\n"
    )
    assert [name for name, _, _ in lines_of(text)] == ["peer_died"]


@pytest.mark.parametrize(
    ("files", "end"),
    [
        (["<string>"], "IndexError: list index out of range"),
        (
            ["<string>", "/usr/lib/python3.10/json/__init__.py", "/usr/lib/python3.10/json/decoder.py"],
            "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        ),
        (["/workspace/Megatron-LM/mean_log_value.py"], "ValueError: could not convert string to float: ''"),
    ],
)
def test_the_launch_scripts_helpers_fail_without_harm(files: list[str], end: str) -> None:
    frames = "".join(f'  File "{file}", line 1, in <module>\n' for file in files)
    assert lines_of(f"Traceback (most recent call last):\n{frames}{end}\n") == []


@pytest.mark.parametrize(
    ("said", "name"), [("Missing a closing quotation", "data_corrupt"), ("Column(/x) changed", "data")]
)
def test_columns_of_json_that_differ_are_no_damage(said: str, name: str) -> None:
    text = 'Traceback (most recent call last):\n  File "/x/datasets/json.py", line 1, in f\n'
    line = f"pyarrow.lib.ArrowInvalid: JSON parse error: {said} from object to array in row 7\n"
    assert [found for found, _, _ in lines_of(text + line)] == [name]


@pytest.mark.parametrize(
    ("file", "line", "name"),
    [
        ("training_args.py", "AttributeError: 'A' object has no attribute 'b'", "python_error"),
        ("training_args.py", "ValueError: odd", "settings_refused"),
        ("core/datasets/odd.py", "AttributeError: 'A' object has no attribute 'b'", "data"),
        ("dist_checkpointing/odd.py", "NameError: name 'odd' is not defined", "python_error"),
    ],
)
def test_a_name_that_code_does_not_have_is_no_setting(file: str, line: str, name: str) -> None:
    text = f'Traceback (most recent call last):\n  File "/x/{file}", line 1, in f\n{line}\n'
    assert [found for found, _, _ in lines_of(text)] == [name]


def test_the_name_that_ray_puts_in_front_of_the_frames_is_no_failure_of_its_own() -> None:
    text = (
        "ray.exceptions.RayTaskError(RuntimeError): ray::odd.get_next() (pid=7, ip=10.0.0.1)\n"
        '  File "/x/megatron/core/datasets/odd.py", line 8, in f\n'
        "    odd()\n"
        "RuntimeError: odd\n"
    )
    assert [name for name, _, _ in lines_of(text)] == ["data"]


@pytest.mark.parametrize("seed", range(20))
def test_ranks_that_print_between_each_others_tracebacks_without_a_prefix_lose_no_exception(seed: int) -> None:
    frames = [
        "Traceback (most recent call last):",
        '  File "/x/train.py", line 7, in f',
        "    odd()",
        '  File "/x/odd.py", line 8, in g',
    ]
    said = ["KeyError: 'tokens'", "mine.errors.OddFailure: odd", "torch.OutOfMemoryError: CUDA out of memory."]
    left = [[*frames, last] for last in said]
    dice = random.Random(seed)
    printed: list[str] = []
    while left := [lines for lines in left if lines]:
        printed.append(dice.choice(left).pop(0))
    assert sorted(line for _, line, _ in lines_of("".join(f"{line}\n" for line in printed))) == sorted(said)


@pytest.mark.parametrize("prefix", ["", "[rank7]: ", "7: "])
def test_an_exception_without_the_head_of_its_traceback_is_of_who_raised_it(prefix: str) -> None:
    lines = ('  File "/x/orbax/odd.py", line 1, in f', "    odd[place]", "    ~~~^^^^^^^", "KeyError: 'layers'")
    assert [name for name, _, _ in lines_of("".join(f"{prefix}{line}\n" for line in lines))] == ["checkpoint"]
    between = (lines[0], "a line of somebody else", lines[3])
    assert [name for name, _, _ in lines_of("".join(f"{prefix}{line}\n" for line in between))] == ["python_error"]


@pytest.mark.parametrize("head", ["Traceback (most recent call last):\n", ""])
def test_what_xla_says_of_another_process_stands_below_who_it_is_of(head: str) -> None:
    text = (
        f'{head}  File "/x/train.py", line 7, in f\n'
        "RuntimeError: INTERNAL: From /job:odd/replica:0/task:7:\n"
        "2 root error(s) found.\n"
        '  (0) INTERNAL: Nrt::Load failed on NeuronCores 0-7: nrt_load status=1, error message="odd".\n'
    )
    assert [name for name, _, _ in lines_of(text)] == ["neuron"]


@pytest.mark.parametrize("prefix", ["", "[rank7]: "])
@pytest.mark.parametrize("number", ["", "(Request ID: Root=1-odd;77)"])
@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("429 Too Many Requests: you have reached your 'odd' rate limit.", "hub_rate_limit"),
        ("403 Forbidden: odd.", "access_denied"),
        ("418 odd", "hub_unreachable"),
    ],
)
def test_an_exception_whose_message_stands_below_its_name_is_of_what_it_says(
    prefix: str, number: str, said: str, name: str
) -> None:
    lines = (
        "Traceback (most recent call last):",
        '  File "/x/huggingface_hub/utils/_http.py", line 7, in f',
        f"huggingface_hub.errors.HfHubHTTPError: {number}",
        "",
        said,
        "Url: https://huggingface.co/odd.",
    )
    assert [found for found, _, _ in lines_of("".join(f"{prefix}{line}\n" for line in lines))] == [name]


def test_an_unfinished_traceback_is_no_failure_yet() -> None:
    assert find_failures(b'Traceback (most recent call last):\n  File "/x/a.py", line 8, in f\n') == []


TEST_OPEN = [
    (b"noise\nTraceback (most recent call last):\n  File x\n", 6),
    (b"noise\n[rank0]: Traceback (most recent call last):\n[rank0]:   File x\n", 6),
    (b"noise\nTraceback (most recent call last):\n  File x\nKeyError: 1\n", None),
    (b"noise\n[rank0]: Traceback (most recent call last):\n[rank0]: a.b.KeyError\n", None),
    (b"noise\nRoot Cause (first observed failure):\n[0]:\n  rank      : 6\n", 6),
    (b"noise\nRoot Cause (first observed failure):\n[0]:\n  rank      : 6\n  exitcode  : 1 (pid: 2)\n", None),
    (b"noise\nUNAVAILABLE: unhealthy (stopped sending heartbeats):\n", 6),
    (b"noise\nUNAVAILABLE: unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:3\n", None),
    (b"noise\nUNAVAILABLE: unhealthy (stopped sending heartbeats):\n3\n", None),
    (b"noise\r\nTraceback (most recent call last):\r\n  File x\r\nKeyError: 1\r\n", None),
    (b"noise\nTraceback (most recent call last):\n  File x\nsubprocess.TimeoutExpired: x\n", None),
    (b"noise\nTraceback (most recent call last):\n  File x\na.b.OddError: \n\n", 6),
    (b"noise\nTraceback (most recent call last):\n  File x\na.b.OddError: (Request ID: 7)\n\n", 6),
    (b"noise\nTraceback (most recent call last):\n  File x\na.b.OddError: \n\n429 Too Many Requests\n", None),
    (b"noise\nDEADLINE_EXCEEDED: Deadline Exceeded\n\n", 6),
    (b"noise\nDEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC: /tensorflow.CoordinationService/RegisterTask\n", None),
    (b"noise\nDEADLINE_EXCEEDED: Barrier timed out\na\nb\nc\n", None),
    (b"noise\nx.py: the settings are refused, nothing was started:\n", 6),
    (b"noise\nx.py: the settings are refused, nothing was started:\n  BS: found '3'\n", None),
    (b"noise\n", None),
]


@pytest.mark.parametrize(("text", "start"), TEST_OPEN)
def test_messages_that_have_not_ended_are_seen(text: bytes, start: int | None) -> None:
    assert open_message(Piece(text)) == start


ALONE = [
    ("[rank3]: KeyError: 'layers'", "python_error"),
    ("n1: [default0]:RuntimeError: no kernel for it", "python_error"),
    ("datasets.exceptions.OddError: what is it", "data"),
    ("orbax.checkpoint.OddError", "checkpoint"),
    ("s3fs.core.OddError: what is it", "hub_unreachable"),
    ("RuntimeError: the MLIR of this odd thing is odd", "compile"),
    ("AssertionError: odd --flag", "settings_refused"),
    ("RuntimeError: barrier of odd ranks timed out", "watchdog"),
    ("ray.exceptions.RayTaskError(RuntimeError): odd", "python_error"),
    ("ray.exceptions.ActorDiedError: odd", "peer_died"),
    ("RuntimeError: backend odd, but it failed to initialize: nothing there", "no_gpu"),
    ("AssertionError: the odd number of samples is too great", "data"),
    ("RuntimeError: something odd is required to use this", "import_error"),
    ("KeyError: 'ODD_ENV'", "settings_refused"),
    ("TypeError: expected 2 arguments", "python_error"),
    ("RuntimeError: all tensors are odd, cuda:0 and cpu", "python_error"),
    ("AttributeError: 'NoneType' object has no attribute 'shape'", "python_error"),
    ("AssertionError: parameter 7 not found in its mapping", "python_error"),
    ("ValueError: q and k must have the same rank", "python_error"),
    ("RuntimeError: the column-wise odd thing", "python_error"),
    ("ValueError: odd is required for the 'nccl' backend", "settings_refused"),
    ("ValueError: you can't use odd with even", "settings_refused"),
    ("ValueError: odd_parallelism (8) must equal devices (4)", "sizes"),
    ("AssertionError: odd must have version 2.7 or higher", "import_error"),
    ("ValueError: odd path '/x' not found", "not_found"),
    ("AssertionError: the odd policy needs to be on a list", "settings_refused"),
    ("ValueError: Incorrect odd_block name odd", "settings_refused"),
]


@pytest.mark.parametrize(("line", "name"), ALONE)
def test_an_exception_without_its_traceback_is_of_what_its_type_and_its_words_say(line: str, name: str) -> None:
    assert [found for found, _, _ in lines_of(f"noise\n{line}\n")] == [name]
    assert lines_of(f"noise\n  raise {line}\n") == []


def test_a_traceback_behind_the_label_of_a_launcher_is_of_who_raised_it() -> None:
    text = "".join(
        f"3: {line}\n"
        for line in (
            "Traceback (most recent call last):",
            '  File "/x/megatron/core/dist_checkpointing/odd.py", line 8, in f',
            "KeyError: 'layers'",
        )
    )
    assert [name for name, _, _ in lines_of(text)] == ["checkpoint"]


@pytest.mark.parametrize("prefix", ["+ ", "++ ", "[node0] + "])
def test_what_a_shell_shows_before_it_does_it_is_no_failure(prefix: str) -> None:
    said = "python3 train.py || echo 'CUDA error: out of memory'\n"
    assert find_failures(f"{prefix}{said}".encode()) == []
    assert find_failures(said.encode()) != []
