"""One run at a time on a node, also while the first one is being staged."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.lock import LOCK_FOLDER, give_back, holding, take


@pytest.fixture
def node(tmp_path: Path):
    name = f"test-{uuid.uuid4().hex}"
    yield {"node": name, "run_folder": str(tmp_path / "run")}
    Path(LOCK_FOLDER, f"{name}.lock").unlink(missing_ok=True)


def test_a_run_that_is_being_staged_holds_the_node_before_it_has_a_state(node):
    assert take(node, "first") is None
    assert take(node, "second") == "first"
    assert take(node, "first") is None


def test_a_node_that_was_given_back_is_free(node):
    take(node, "first")
    give_back(node, "second")
    assert holding(node) == "first"
    give_back(node, "first")
    assert take(node, "second") is None


def test_a_lock_whose_run_never_came_to_a_state_holds_nobody_off_for_long(node):
    take(node, "first")
    an_hour_ago = time.time() - 3600
    os.utime(Path(LOCK_FOLDER, f"{node['node']}.lock"), (an_hour_ago, an_hour_ago))
    assert take(node, "second") is None
