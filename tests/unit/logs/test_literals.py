from __future__ import annotations

import pytest
from regex_texts import examples, parsed

from ansible_collections.trainops.cluster.plugins.module_utils.logs.literals import literals_of
from ansible_collections.trainops.cluster.plugins.module_utils.logs.signatures.known import SIGNATURES
from ansible_collections.trainops.cluster.plugins.module_utils.logs.text import without_digits


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (rb"GPU Hang", {b"gpu hang"}),
        (rb"bad|worse|worst of all", {b"bad", b"worse", b"worst of all"}),
        (rb"a longer text\b[^\r\n]{0,99}short", {b"a longer text"}),
        (rb"\[Errno 5\] I/O\.", {b"[errno 0] i/o."}),
        (rb"(?i)Stale (?:NFS )?file (?i:Handle)", {b"stale "}),
        (rb"(?P<rank>\d{1,9}) (?:of|in) the (?!first)job", {b" the "}),
        (rb"(?:of|in) (?:(?:red|green) light|lamp)s{1,2}", {b" light", b"lamp"}),
        (rb"colou?r{2}|grey+s?", {b"colo", b"gre"}),
        (rb"(?:there|here){0,3} (?:here){2} (?:it){0}", {b"here"}),
        (rb"rank (?=\d{1,9} was (?<=was )started)", {b"started"}),
        (rb"Error: \w{1,9} \(x\)", {b" (x)"}),
        (rb"failed \[Errno 13\] \w", {b"failed [errno 00] "}),
        (rb"(?:any|)\d+", set()),
        (rb"known|\w{3}", set()),
    ],
)
def test_each_match_holds_one_of_the_literals(pattern: bytes, literals: set[bytes]) -> None:
    assert set(literals_of(pattern)) == literals


def test_no_signature_is_looked_for_by_less_than_three_characters() -> None:
    assert [
        one for one in SIGNATURES if not literals_of(one.pattern) or min(map(len, literals_of(one.pattern))) < 3
    ] == []


def test_every_example_of_a_signature_holds_one_of_its_literals() -> None:
    for signature in SIGNATURES:
        for text in examples(parsed(signature.pattern)):
            assert any(
                one in without_digits(text.lower().encode("latin-1")) for one in literals_of(signature.pattern)
            ), text
