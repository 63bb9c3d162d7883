# SPDX-License-Identifier: GPL-3.0-or-later
"""A process's reports about its training."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece, Printed
from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.settings import add_settings


def test_of_the_times_of_saves_the_longest_is_kept() -> None:
    printed = Printed(b"saved in ", rb"saved in (?P<save_seconds>\d+)")
    before = add_settings({}, [printed], Piece(b"saved in 3\nsaved in 9\n"))
    assert before == {"save_seconds": [9.0]}
    after = add_settings(before, [printed], Piece(b"".join(b"saved in %d\n" % seconds for seconds in range(12))))
    assert (before, after) == ({"save_seconds": [9.0]}, {"save_seconds": [11.0]})


@pytest.mark.parametrize(
    ("framework", "line", "setting"),
    [
        # core/timers.py of Megatron-LM, whose option --timing-log-option decides between the two.
        ("megatron", "    save-checkpoint ................................: (1950.20, 2000.50)", ("save_ms", 2000.5)),
        ("megatron", "    save-checkpoint ................................: 2000.50", ("save_ms", 2000.5)),
        ("megatron_bridge", "    save-checkpoint ................................: (1.20, 2.50)", ("save_ms", 2.5)),
        ("megatron", "    save-checkpoint-non-persistent .................: (1.20, 2.50)", None),
        ("megatron", "    load-checkpoint ................................: (1.20, 2.50)", None),
        # checkpoint.py of TorchTitan: 0.1, 0.2 and today, and its last step.
        ("torchtitan", "Finished saving the checkpoint in 0.60 seconds.", ("save_seconds", 0.6)),
        (
            "torchtitan",
            "Finished saving the checkpoint (or staging if async is enabled)in 5.53 seconds.",
            ("save_seconds", 5.53),
        ),
        (
            "torchtitan",
            "Finished saving the checkpoint (or staging if async is enabled) in 5.53 seconds.",
            ("save_seconds", 5.53),
        ),
        ("torchtitan", "Last step checkpoint completed in 0.12s", ("save_seconds", 0.12)),
        ("torchtitan", "Finished staging the checkpoint in 0.60 seconds.", None),
        ("torchtitan", "Finished loading the checkpoint in 0.60 seconds.", None),
        # Orbax's event_tracking.py, and async_checkpointer.py.
        ("maxtext", "[process=0] [sync] Finished save in 2.91 seconds @ /checkpoints/0", ("save_seconds", 2.91)),
        (
            "maxtext",
            "[process=0] [sync] Finished blocking save in 2.90 seconds. Continuing save @ /checkpoints/0.",
            None,
        ),
        (
            "maxtext",
            "Finished async_save (blocking + background). Time taken: 124.161461s. directory=/checkpoints/50",
            ("save_seconds", 124.161461),
        ),
    ],
)
def test_a_trainer_says_how_long_a_save_took(framework: str, line: str, setting: tuple[str, float] | None) -> None:
    found = add_settings({}, GRAMMARS[framework].settings, Piece(f"{line}\n".encode()))
    assert found == ({setting[0]: [setting[1]]} if setting else {})


@pytest.mark.parametrize("factors", ["16", "2,8", "2, 8", "pp=2, dp_shard=8, tp=1", "2.0 x 8.0"])
def test_a_setting_is_the_product_of_all_its_numbers(factors: str) -> None:
    printed = Printed(b"mesh: ", rb"mesh: (?P<gpus>[^\n]*)\n")
    assert add_settings({}, [printed], Piece(f"mesh: {factors}\n".encode())) == {"gpus": [16.0]}


def straggler(rank: int) -> bytes:
    """Return the line of megatron/core/README_STRAGGLER.md, with another rank as the slowest."""
    return (
        b" 0: INFO:megatron.core.utils:[2024-03-14 23:07:56] | MnRtt/Rnk: 3453.08ms/8 | MxRtt/Rnk: 3468.20ms/%d "
        b"| MnPwr/Rnk: 601796W/8 | MxPwr/Rnk: 683801W/18 | MnTmp/Rnk: 52C/0 | MxTmp/Rnk: 65C/21 | MnUtl/Rnk: 97%%/8 "
        b"| MxUtl/Rnk: 100%%/6 | MnClk/Rnk: 1950MHz/28 | MxClk/Rnk: 1980MHz/0 | MnDRtt/Rnk: 14.27ms/23 "
        b"| MxDRtt/Rnk: 34.65ms/3 | MnEtpt/Rnk: 296.02TF/0 | MxEtpt/Rnk: 297.32TF/8\n" % rank
    )


@pytest.mark.parametrize(
    ("ranks", "voted"),
    [
        ([13], [13.0, 1.0, 1.0]),
        ([0, 13, 13, 13, 5, 13], [13.0, 2.0, 6.0]),
        # Each in turn: none leads.
        ([0, 1, 2, 3] * 5, [2.0, 0.0, 20.0]),
    ],
)
@pytest.mark.parametrize("framework", ["megatron", "megatron_bridge"])
def test_of_the_slowest_ranks_the_one_that_most_lines_name_is_kept(
    framework: str, ranks: list[int], voted: list[float]
) -> None:
    lines = list(map(straggler, ranks))
    grammar = GRAMMARS[framework]
    assert add_settings({}, grammar.settings, Piece(b"".join(lines)))["slowest_rank"][1:] == voted[1:]
    found: dict[str, list[float]] = {}
    for line in lines:
        found = add_settings(found, grammar.settings, Piece(line))
    assert found["slowest_rank"][1:] == voted[1:]
    assert not voted[1] or found["slowest_rank"][0] == voted[0]
