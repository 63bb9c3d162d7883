from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.plain_text import PlainLog, one_line, plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("größe → ∞\tand\nmore", "größe → ∞\tand\nmore"),
        ("\x1b[31mred\x1b[0m \x9b1mbold", "red bold"),
        ("\x1b]0;owned\x07title", "title"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9d52;c;cGFzdGU=\x9cclipboard", "clipboard"),
        ("\x1bP1$r\x1b\\device \x1b_application\x1b\\", "device "),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
        ("\x1bcreset \x1b(0charset", "reset charset"),
        ("bell\x07 back\x08 nul\x00 del\x7f c1\x85\x90 lone\x1b", "bell back nul del c1"),
        ("10%\r20%\r\n30%", "10%\n20%\n30%"),
        ("half \ud800 of two", "half  of two"),
        ("PASS\u202e LIAF\u202c", "PASS\ufffd LIAF\ufffd"),
        (
            "\u2066a\u2069 \u200bb \u200dc \ufeffd \u00ade \u2028f \U000e0041",
            "\ufffda\ufffd \ufffdb \ufffdc \ufffdd \ufffde \ufffdf \ufffd",
        ),
        ("訓練 обучение été תוצאה 🔥 ⚠\ufe0f é", "訓練 обучение été תוצאה 🔥 ⚠\ufe0f é"),
        ("\x1b[31mred\x1b[0m\u200e", "red\ufffd"),
    ],
)
def test_nothing_is_left_that_a_terminal_would_obey(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_what_is_one_line_cannot_look_like_two_and_is_bounded() -> None:
    assert one_line("harmless\nPASS  run-1\r\x1b[2Kx") == "harmless PASS  run-1 x"
    assert len(one_line("x" * 10**6)) == 16 << 10


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_log_in_parts_is_the_same_wherever_it_is_torn(size: int) -> None:
    log = "größe \x1b]0;owned\x07→\r\n\x1b[31m10%\r20%\n\xe2\nthe end".encode() + b"\xff\x9b"
    plain = PlainLog()
    parts = [plain.add(log[place : place + size]) for place in range(0, len(log), size)]
    assert "".join([*parts, plain.add(b"", final=True)]) == "größe →\n10%\n20%\nâ\nthe end��"


def test_a_line_that_never_ends_is_not_held_for_ever() -> None:
    plain = PlainLog()
    assert len("".join(plain.add(b"x" * 500_000) for _ in range(8))) > 2_000_000
