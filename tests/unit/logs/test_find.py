from __future__ import annotations

import random

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece, finder

# The C library looks at large texts only, and not at those with a zero.
ENDS = {"small": b"", "with a zero": b"\0", "large": b"." * 9000, "large with a zero": b"." * 9000 + b"\0"}
of_each_size = pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)


@of_each_size
def test_a_finder_finds_what_bytes_find_does(end: bytes) -> None:
    chance = random.Random(1)
    for _ in range(300):
        begin = bytes(chance.choices(b"ab\n\xff", k=chance.randrange(40)))
        text = begin + end
        find = finder(text)
        for needle in (b"a", b"ab", b"b\n", b"\xff", b"aab", b"ba\nb"):
            for start in (*range(len(begin) + 1), len(text)):
                assert find(needle, start) == text.find(needle, start), (text, needle, start)


@of_each_size
def test_a_finder_keeps_its_text_alive(end: bytes) -> None:
    finders = [finder(b"%d needle" % number + end) for number in range(1000)]
    assert {find(b"needle", 0) for find in finders} == {2, 3, 4}


@of_each_size
def test_positions_of_several_needles_stand_in_the_order_of_the_text(end: bytes) -> None:
    assert list(Piece(b"b a \x1b[0mab" + end).positions((b"a", b"b"))) == [0, 2, 4, 5]


@of_each_size
def test_what_lies_over_another_of_the_same_is_left_out_of_the_positions(end: bytes) -> None:
    assert list(Piece(b"a_aaaaa" + end).positions((b"a_", b"aa"))) == [0, 2, 4]
