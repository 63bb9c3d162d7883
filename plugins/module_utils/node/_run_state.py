# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a run on a node: a file in the run's folder, so that the controller may go and come back.

``status`` is ``staged``, ``running``, ``exited`` (with ``exit_status``), ``killed`` (gone without an exit status) or
``stopped`` (by us). Times are seconds since the epoch by the node's clock.
"""

from __future__ import annotations

import os
import time
import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.node._engines import engine_of
from ansible_collections.trainops.cluster.plugins.module_utils.node._files import read_json, read_text, write_json
from ansible_collections.trainops.cluster.plugins.module_utils.node._launch import EXIT_STATUS_NAME

STATE_NAME = "state.json"
State = t.Dict[str, t.Any]


def read_state(run_folder: str) -> State | None:
    """Return the state as it is now, brought up to date with what became of the training."""
    state = read_json(os.path.join(run_folder, STATE_NAME))
    if state is None or state["status"] != "running":
        return state
    # Asked before the exit status is read: a training that ends in between is seen with its status next time.
    running = engine_of(state["engine"]).is_running(state["handle"])
    exit_status = read_text(os.path.join(run_folder, EXIT_STATUS_NAME))
    if exit_status is not None:
        return write_state(run_folder, dict(state, status="exited", exit_status=int(exit_status), ended_at=time.time()))
    if not running:
        return write_state(run_folder, dict(state, status="killed", ended_at=time.time()))
    return state


def write_state(run_folder: str, state: State) -> State:
    """Keep the state in the run's folder, and return it."""
    write_json(os.path.join(run_folder, STATE_NAME), state)
    return state
