from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from failure_texts import HARMLESS, SENTENCES, TEXTS
from regex_texts import examples, parsed, repeats

from ansible_collections.trainops.cluster.plugins.module_utils.logs.ending import UNNAMED, end_of_training
from ansible_collections.trainops.cluster.plugins.module_utils.logs.failure_classes import BLAME
from ansible_collections.trainops.cluster.plugins.module_utils.logs.failures import find_failures
from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.literals import literals_of
from ansible_collections.trainops.cluster.plugins.module_utils.logs.pattern import compiled
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signature import Signature
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.exceptions import TOPICS, TRACEBACK
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.known import (
    NEEDLES,
    PYTHON_ERROR,
    SIGNATURES,
)
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.sentences import NOUNS, SOURCES, WORDS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.text import without_digits
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.retry import NODE_FAULTS

GPU_CODES = [
    ("gpu_ecc", "ECCUncorrectable", "uncorrectable ECC error encountered"),
    ("gpu_error", "IllegalAddress", "an illegal memory access was encountered"),
    ("gpu_error", "LaunchTimeOut", "the launch timed out and was terminated"),
    ("driver_mismatch", "InsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"),
    ("driver_mismatch", "SystemNotReady", "system not yet initialized"),
    ("no_gpu", "NoDevice", "no ROCm-capable device is detected"),
    ("wrong_rank", "InvalidDevice", "invalid device ordinal"),
    ("out_of_memory", "OutOfMemory", "out of memory"),
    ("wrong_gpu_build", "NoBinaryForGpu", "no kernel image is available for execution on the device"),
    ("sizes", "Assert", "device-side assert triggered"),
]
ROOT = Path(__file__).resolve().parents[3]

LITERALS = [(signature, literals_of(signature.pattern)) for signature in SIGNATURES]
CASES = {
    name: [entry if isinstance(entry, tuple) else (entry, None, None) for entry in texts]
    for name, texts in TEXTS.items()
}


@pytest.mark.parametrize("name", CASES)
def test_each_text_is_of_its_class_alone(name: str) -> None:
    for text, rank, exit_code in CASES[name]:
        found = find_failures(Piece(f"noise\r\n\x1b[31m{text}\x1b[0m\r\nnoise\r\n".encode()))
        assert [(it["class"], it["rank"], it["exit_code"]) for it in found] == [(name, rank, exit_code)], text
        assert found[0]["line"] in " ".join(text.split())


@pytest.mark.parametrize(("name", "code", "said"), GPU_CODES)
def test_the_code_of_a_gpu_has_its_class_whoever_prints_it(name: str, code: str, said: str) -> None:
    for text in (
        f"RuntimeError: CUDA error: {said}",
        f"[rank3]: torch.AcceleratorError: HIP error: {said}",
        f"n1:12:34 [3] init.cc:99 NCCL WARN Cuda failure 2 '{said}'",
        f"n1:12:34 [3] init.cc:99 NCCL WARN HIP failure '{said}'",
        f"RuntimeError: /tmp/te/util.cpp:33 in function f: CUDA Error: {said}",
        f"  what():  HIP Error: {said}",
        f"RuntimeError: Triton Error [CUDA]: {said}",
        f'ERROR: CUDA RT call "cudaSetDevice(0)" in line 33 of file a.cu failed with {said} (3).',
        f'CUDA error at a.cu:12 code=2(cudaError{code}) "cudaSetDevice(0)"',
        f"hipError{code} (3): {said}",
        f"XlaRuntimeError: INTERNAL: Failed call: HIP_ERROR_{code}",
    ):
        assert [found["class"] for found in find_failures(Piece(text.encode()))] == [name], text


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in SENTENCES.items() for text in texts])
def test_a_sentence_where_a_log_ends_is_told_by_who_prints_it_or_by_its_words(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / "train.log").write_text(f"noise\n{text}\n")
    end = end_of_training(str(tmp_path / "train.log"), "megatron")
    assert [found["class"] for found in end["unusual_at_end"]] == [name]
    assert find_failures(Piece(text.encode())) == [], "a signature has it"


def test_every_class_has_a_text_here() -> None:
    assert {signature.failure for signature in SIGNATURES} == set(TEXTS)
    assert set(BLAME) == {*TEXTS, PYTHON_ERROR.failure, UNNAMED.failure}, (
        "a controller refuses a class it does not know"
    )


@pytest.mark.parametrize("name", {signature.failure: None for signature in SIGNATURES})
def test_each_alternative_of_a_pattern_is_found_and_has_its_remedy(name: str) -> None:
    """Some match only behind the name of an exception, which finds their lines."""
    for signature in (one for one in SIGNATURES if one.failure == name):
        for text in examples(parsed(signature.pattern)):
            lines = (text.encode("latin-1"), b"SomeError: " + text.encode("latin-1"))
            found = ([(it["class"], it["remedy"]) for it in find_failures(Piece(line + b"\n"))] for line in lines)
            assert [(name, signature.remedy)] in found, text


def test_a_line_costs_no_more_than_its_length_allows() -> None:
    """Each repeat has an end, and the repeated part contains no other long repeat: so a match is given up soon."""
    for signature in SIGNATURES:
        for _least, most, inner in repeats(parsed(signature.pattern)):
            assert most <= 1000, signature
            assert most <= 20 or not any(within > 20 for _, within, _ in repeats(inner)), signature


WORST = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
from regex_texts import parsed, worst_texts
from ansible_collections.trainops.cluster.plugins.module_utils.logs.failures import find_failures, open_message
from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.pattern import compiled
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.exceptions import ALONE, TOPICS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.known import PYTHON_ERROR, SIGNATURES
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.sentences import NOUNS, SOURCES, WORDS
for signature in (*SIGNATURES, PYTHON_ERROR):
    for text in worst_texts(signature.pattern):
        compiled(signature.pattern).findall(text)
for topic in TOPICS:
    for text in worst_texts(topic.words):
        compiled(topic.words).search(b"SomeError: " + text)
    for text in worst_texts(topic.files):
        compiled(topic.files).search(text)
for sentence in (*SOURCES, *WORDS, *NOUNS):
    for text in worst_texts(sentence.pattern):
        compiled(sentence.pattern).search(text)
for text in worst_texts(ALONE.pattern):
    ALONE.findall(text)
for text in (b"Traceback (most recent call last):", b"ImportError: ", b"a.", b"[x]: ", b"exitcode : "):
    piece = Piece(b"Traceback (most recent call last): ImportError:\\n" + text * (80_000 // len(text)))
    find_failures(piece), open_message(piece)
"""


@pytest.mark.slow
def test_no_line_is_made_that_takes_a_signature_long() -> None:
    """A guard: each takes milliseconds, and one that grows with the square of a line would take minutes.

    Repeats have an end, so a text longer than its longest match shows the most that a pattern can cost.
    """
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'collections'}:{Path(__file__).parent}"}
    subprocess.run([sys.executable, "-c", WORST], env=environment, check=True)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_lookalikes_are_no_failures(text: str) -> None:
    assert find_failures(Piece(f"{text}\n".encode())) == []


def test_blame_follows_the_chain_from_cause_to_echo() -> None:
    chain = (
        "gpu_hang", "out_of_memory", "nan", "python_error", "nccl", "watchdog", "elastic", "peer_died", "sigterm",
    )  # fmt: skip
    blame = {signature.failure: signature.blame for signature in (*SIGNATURES, PYTHON_ERROR)}
    assert [blame[name] for name in chain] == sorted(blame[name] for name in chain)
    not_echoes = [signature.blame for signature in SIGNATURES if not signature.echo]
    assert max(not_echoes) < min(signature.blame for signature in SIGNATURES if signature.echo)


def test_the_nouns_of_an_exception_leave_no_node_out_of_a_retry() -> None:
    guessed = {topic.signature.failure for topic in TOPICS if topic.words != b"(?i)(?!)"}
    assert guessed & NODE_FAULTS == {"no_gpu"}, "which says that there is none"
    guessed = {sentence.failure for sentence in (*WORDS, *NOUNS)}
    assert guessed & NODE_FAULTS == {"gpu_error", "killed"}, "a GPU that is said to be ill, and memory"


def test_every_needle_is_of_use() -> None:
    made = [text for signature in SIGNATURES for text in examples(parsed(signature.pattern))]
    told = [text for cases in CASES.values() for text, _, _ in cases]
    texts = [*(text.encode() for text in [*made, *told]), TRACEBACK]
    assert [needle for needle in NEEDLES if not any(needle in text for text in texts)] == []


def test_every_sample_has_a_needle() -> None:
    samples = [without_digits(signature.sample.encode()) for signature in SIGNATURES]
    assert [sample for sample in samples if not any(needle in sample for needle in NEEDLES)] == []


def test_every_remedy_is_a_sentence_of_one_class() -> None:
    signatures = (*SIGNATURES, PYTHON_ERROR, *SOURCES, *WORDS, *NOUNS)
    assert all(signature.remedy.endswith(".") for signature in signatures)
    assert len({(one.remedy, one.failure) for one in signatures}) == len({one.remedy for one in signatures})


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda one: f"{one.failure}: {one.sample[:60]}")
def test_the_sample_of_a_row_is_of_its_class_and_has_its_remedy(signature: Signature) -> None:
    text = f"noise\n{signature.sample}\nnoise\n".encode()
    assert next(one for one in SIGNATURES if compiled(one.pattern).search(text)) is signature
    assert [(it["class"], it["remedy"]) for it in find_failures(Piece(text))] == [(signature.failure, signature.remedy)]


def matching_rows(text: bytes) -> list[Signature]:
    lowered = without_digits(text.lower())
    return [
        one
        for one, literals in LITERALS
        if any(literal in lowered for literal in literals) and compiled(one.pattern).search(text)
    ]


def test_where_a_line_matches_several_rows_the_first_one_says_that_it_is_more_specific_than_each_other() -> None:
    seen = set()
    for signature in SIGNATURES:
        alternatives = (text.encode("latin-1") for text in examples(parsed(signature.pattern)))
        for alternative in (signature.sample.encode(), *alternatives):
            for text in (alternative, b"SomeError: " + alternative):
                matching = matching_rows(text)
                others = {one.name for one in matching[1:]}
                assert others <= set(matching[0].more_specific_than if matching else ()), (matching, text)
                seen |= {(matching[0], name) for name in others}
    assert {(one, name) for one in SIGNATURES for name in one.more_specific_than} == seen, "no line is of both"


def test_a_row_has_a_name_where_another_one_is_more_specific_and_each_is_of_one_row() -> None:
    names = [signature.name for signature in SIGNATURES if signature.name]
    assert len(names) == len(set(names))
    assert set(names) == {name for signature in SIGNATURES for name in signature.more_specific_than}
