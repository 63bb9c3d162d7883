from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.tokens import FORMS, HIDDEN, Form, without_tokens
from ansible_collections.trainops.cluster.plugins.plugin_utils.plain_text import PlainLog, one_line

TOKEN = "hf_" + "CanaryInTheMine0123456789abcdefgh"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.begin)
def test_each_form_hides_its_sample_and_keeps_the_text_around_it(form: Form) -> None:
    shown = without_tokens(f"before {form.sample} after")
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert HIDDEN in shown
    assert "Sample" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "HF_HUB_ENABLE_HF_TRANSFER=1 needs hf_transfer, and hf_checkpointconverter",
        "tokens_per_sec_per_gpu: 8123.45678901234567890",
        "HF_TOKEN_PATH=/run/secrets/of/a/training/token",
        "training.hf_assets_path = ./assets/hf/Llama-3.1-8B",
        "loaded weights_Optimizer0123456789abcdefg",
        "TOKENIZER_MODEL=NousResearch/Llama-2-7b-chat-hf",
    ],
)
def test_what_is_no_token_stays(text: str) -> None:
    assert without_tokens(text) == text


def test_a_line_of_a_node_is_kept_without_its_token() -> None:
    assert one_line(f"login with {TOKEN}\n") == f"login with hf_{HIDDEN} "
    assert one_line(f"login with hf_\x1b[0m{TOKEN[3:]}") == f"login with hf_{HIDDEN}"


@pytest.mark.parametrize("size", [1, 5, 64, 1000])
def test_a_log_in_parts_is_kept_without_its_token(size: int) -> None:
    log = f"one\nHF_TOKEN={TOKEN}\r\nlogin with {TOKEN}".encode()
    plain = PlainLog()
    parts = [plain.add(log[place : place + size]) for place in range(0, len(log), size)]
    assert "".join([*parts, plain.add(b"", final=True)]) == f"one\nHF_TOKEN=hf_{HIDDEN}\nlogin with hf_{HIDDEN}"
