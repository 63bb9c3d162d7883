# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_node_result: see the module of that name for its documentation."""

from __future__ import annotations

import typing as t

from ..plugin_utils.controller_action import ControllerAction


class ActionModule(ControllerAction):
    """Fails a host because of a run's verdict on it, or counts it as unreachable."""

    def act(self) -> dict[str, t.Any]:
        """Return the host's result."""
        arguments = self.arguments()
        return {"changed": False, arguments["state"]: True, "msg": arguments["reason"], "cause": arguments["cause"]}
