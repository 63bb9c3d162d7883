"""The parts of each framework besides its folder and its grammar."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.reader import read_log
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.known import OF_FRAMEWORK
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.answers import FOLLOW, SEEN, accepted

ROOT = Path(__file__).resolve().parents[2]


def logs_of(framework: str) -> list[Path]:
    return sorted((ROOT / "tests/data/logs").glob(f"*{framework}_*.log"))


@pytest.mark.parametrize("framework", GRAMMARS)
def test_what_a_grammar_keeps_in_mind_is_taken_from_a_node(framework: str) -> None:
    assert logs_of(framework), f"no log in tests/data/logs is named after {framework}"
    for log in logs_of(framework):
        cursor = None
        for _part in range(4):
            news = read_log(str(log), framework, cursor, max_bytes=log.stat().st_size // 3)
            cursor = news["cursor"]
            assert json.loads(json.dumps(cursor)) == cursor
            accepted(FOLLOW, followed(news))


def followed(news: dict) -> dict:
    """Return the answer of a node that follows a log."""
    nothing = ("exit_status", "started_at", "ended_at", "log_run_id")
    return {
        "failed": False,
        "changed": False,
        "status": "running",
        "oom_killed": False,
        "has_ended": False,
        "now": 1.0,
        "log_bytes": 0,
        "blocks": news["rows"].blocks(),
        **dict.fromkeys(nothing),
        **{name: news[name] for name in ("failures", "survived", "starts", "cursor", *SEEN)},
    }


@pytest.mark.parametrize("framework", OF_FRAMEWORK)
def test_a_framework_has_an_example_and_is_told_to_users(framework: str) -> None:
    assert list((ROOT / "examples" / framework).glob("*")), f"examples/{framework} holds no training config"
    for page in ("README.md", "docs/log_formats.md"):
        assert OF_FRAMEWORK[framework].title.lower() in (ROOT / page).read_text().lower(), f"{page} does not name it"
