# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_isolation_stop: see the module of that name for its documentation."""

from __future__ import annotations

import contextlib
import os
import typing as t
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail

from ..plugin_utils.controller_action import ControllerAction, needed_packages, show

with needed_packages(__name__):
    from ..module_utils.node.phase import NodeError
    from ..plugin_utils.asked_nodes import LOST_SECONDS, AskedNodes
    from ..plugin_utils.report.files import ISOLATIONS
    from ..plugin_utils.run.board import Board
    from ..plugin_utils.slurm.job import SlurmJob
    from ..plugin_utils.text.words import counted


class ActionModule(ControllerAction):
    """Stops an isolation and frees its nodes, no matter who started it or on which machine."""

    BYPASS_HOST_LOOP = True

    def act(self) -> dict[str, t.Any]:
        """Return the nodes that were freed; fail if some do not answer, or if the isolation is unknown."""
        from ..plugin_utils.isolate.options import held_by, not_in_play

        self.refuse_unknown()
        arguments = self.arguments()
        name = arguments["name"]
        board = Board(Path(os.path.abspath(arguments["output_dir"])) / ISOLATIONS / name)
        try:
            plan: t.Any = board.plan()
            nodes, folder = held_by(plan)
        except ValueError as error:
            raise AnsibleActionFail(f"{error}. Set isolate_name to the name of an isolation.") from None
        if "slurm" in plan:
            return self._cancelled(name, board, nodes)
        hosts = set(self.variables["ansible_play_hosts_all"])
        held = [node for node in nodes if node in hosts]
        wrong = not_in_play(name, nodes, hosts)
        if not self._task.check_mode:
            wrong += self._freed(name, held, folder, board)
        if wrong:
            raise AnsibleActionFail("\n".join(f"{one}." for one in wrong))
        if not self._task.check_mode:
            show(f"Isolation {name} is stopped, and {counted(len(held), 'node')} free.")
        return {"changed": True, "stopped": held}

    def _cancelled(self, name: str, board: Board, nodes: list[str]) -> dict[str, t.Any]:
        """End the Slurm step through which an isolation talks to its nodes, or the job made for that step."""
        if not self._task.check_mode:
            board.request_stop()
            job = SlurmJob(board.run_dir)
            try:
                if job.id and not job.is_over():
                    job.cancel()
            except NodeError as error:
                raise AnsibleActionFail(f"{error}.") from None
            show(f"Isolation {name} is stopped{f': Slurm ends {job.name}' if job.id else ''}.")
        return {"changed": True, "stopped": nodes}

    def _freed(self, name: str, held: list[str], folder: str, board: Board) -> list[str]:
        """Free the nodes whose isolation folder this is, and return why some could not be reached."""
        from ..plugin_utils.isolate.holding import held_nodes
        from ..plugin_utils.isolate.prober import ProbedNode, Prober

        # The stop is requested first, so that a freed node does not look like a broken one.
        board.request_stop()
        plan, parts = held_nodes(name, dict.fromkeys(held, ""), folder, 0)
        with contextlib.closing(AskedNodes(self, plan, parts, board.nonce(), LOST_SECONDS)) as asked:
            nodes = {node: ProbedNode("") for node in held}
            prober = Prober(nodes=nodes, ask=asked.asks, at_once=context.CLIARGS["forks"], port=0, late=asked.late)
            errors = prober.let_go()
        return [f"{node}: {error}" for node, error in errors.items()]
