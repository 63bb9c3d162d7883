from __future__ import annotations

import re

import pytest
from failure_texts import HARMLESS, TEXTS

from ansible_collections.trainops.cluster.plugins.module_utils.logs.failures import find_failures
from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures import (
    NEEDLES,
    PYTHON_ERROR,
    SIGNATURES,
    Signature,
)

CASES = [
    (name, *(entry if isinstance(entry, tuple) else (entry, None, None)))
    for name, texts in TEXTS.items()
    for entry in texts
]


@pytest.mark.parametrize(("name", "text", "rank", "exit_code"), CASES)
def test_each_text_is_of_its_class_alone(name: str, text: str, rank: int | None, exit_code: int | None) -> None:
    [found] = find_failures(Piece(f"noise\r\n\x1b[31m{text}\x1b[0m\r\nnoise\r\n".encode()))
    assert (found["class"], found["rank"], found["exit_code"]) == (name, rank, exit_code)
    assert found["line"] in " ".join(text.split())


def test_every_signature_has_a_text_here() -> None:
    assert {signature.failure for signature in SIGNATURES} == set(TEXTS)


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


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda signature: signature.failure)
def test_every_match_begins_on_a_line_with_a_mark_and_a_needle(signature: Signature) -> None:
    """Which is what the search relies on; the texts hold every alternative of the patterns."""
    for name, text, _, _ in CASES:
        match = re.search(signature.pattern, text.encode())
        if match and name == signature.failure:
            start = text.encode().rfind(b"\n", 0, match.start()) + 1
            line = text.encode()[start:].split(b"\n")[0]
            assert any(mark in line for mark in signature.marks), line
            assert any(needle in line for needle in NEEDLES), line


def test_every_needle_stands_in_a_text() -> None:
    texts = [*(text.encode() for _, text, _, _ in CASES), *PYTHON_ERROR.marks]
    assert [needle for needle in NEEDLES if not any(needle in text for text in texts)] == []


def test_every_class_has_a_remedy_and_a_sentence_of_its_own() -> None:
    remedies = [signature.remedy for signature in (*SIGNATURES, PYTHON_ERROR)]
    assert all(remedy.endswith(".") for remedy in remedies)
    assert len(set(remedies)) == len(remedies)
