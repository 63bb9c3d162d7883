from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.text import line_end, line_start, plain


def test_plain_takes_out_colours_and_cursor_movements() -> None:
    assert plain(b"a\x1b[0mb\x1b[1;32mc\x1b[?25ld\x1b[Ae\x1b[2K\xff") == b"abcde\xff"


@pytest.mark.parametrize(
    ("position", "start", "end"), [(0, 0, 2), (2, 0, 2), (3, 3, 5), (5, 3, 5), (6, 6, 8), (8, 6, 8)]
)
def test_lines_end_with_a_newline_or_a_carriage_return(position: int, start: int, end: int) -> None:
    text = b"ab\ncd\ref"
    assert (line_start(text, position), line_end(text, position)) == (start, end)
