from __future__ import annotations

import random

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece, finder


@pytest.mark.parametrize("zero", [b"", b"\0"])
def test_a_finder_finds_what_bytes_find_does(zero: bytes) -> None:
    chance = random.Random(1)
    for _ in range(300):
        text = bytes(chance.choices(b"ab\n\xff", k=chance.randrange(40))) + zero
        find = finder(text)
        for needle in (b"a", b"ab", b"b\n", b"\xff", b"aab", b"ba\nb"):
            for start in range(len(text) + 1):
                assert find(needle, start) == text.find(needle, start), (text, needle, start)


def test_a_finder_keeps_its_text_alive() -> None:
    finders = [finder(b"%d needle" % number) for number in range(1000)]
    assert {find(b"needle", 0) for find in finders} == {2, 3, 4}


@pytest.mark.parametrize("zero", [b"", b"\0"])
def test_positions_of_several_needles_stand_in_the_order_of_the_text(zero: bytes) -> None:
    assert list(Piece(b"b a \x1b[0mab" + zero).positions((b"a", b"b"))) == [0, 2, 4, 5]


@pytest.mark.parametrize("zero", [b"", b"\0"])
def test_what_lies_over_another_of_the_same_is_left_out_of_the_positions(zero: bytes) -> None:
    assert list(Piece(b"a.aaaaa" + zero).positions((b"a.", b"aa"))) == [0, 2, 4]
