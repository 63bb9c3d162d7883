# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.node_inspect: runs the module, and bounds how wrong the node's clock is."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ..module_utils.node.problems import Problem
from ..plugin_utils.preflight.clock import with_offset
from ..plugin_utils.run.become import become_problem
from ..plugin_utils.text.problems import in_words
from ..plugin_utils.unreachable import told_by_a_command

_NEEDED = "It needs Python 3.8 or newer; set ansible_python_interpreter to it."


class ActionModule(ActionBase):
    """Runs the module of this name on the node, and adds how far the node's clock is from the controller's."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return the module's result, with ``offset_seconds`` added to the node's ``clock``."""
        super().run(tmp, task_vars)
        sent = time.time()
        try:
            result = self._execute_module(module_name="trainops.cluster.node_inspect", task_vars=task_vars)
        except AnsibleConnectionFailure:
            raise
        except AnsibleError as error:
            problem = become_problem(str(error))
            if not problem:
                raise
            return {"failed": True, "msg": _sentence(problem)}
        received = time.time()
        if "node" not in result and result.get("failed"):
            result |= self._not_run(result)
        if "node" in result:
            try:
                result["node"] = with_offset(result["node"], sent, received)
            except ValueError as error:
                return {"failed": True, "msg": f"The node was not inspected: {error}."}
        return t.cast("dict[str, t.Any]", result)

    def _not_run(self, result: dict[str, t.Any]) -> dict[str, t.Any]:
        """Report why a module did not run at all: Ansible only says that it found no JSON."""
        said = "\n".join(str(result.get(name) or "") for name in ("module_stderr", "module_stdout")).strip()
        if not said or ("exception" not in result and "rc" not in result):
            return {}
        problem = become_problem(said)
        if problem:
            return {"msg": _sentence(problem)}
        lines = told_by_a_command(said)
        # The last line of a traceback has the error; otherwise the first line has it.
        reason = lines[-1 if lines[0].startswith("Traceback") else 0][:200].rstrip(".")
        return {"msg": f"Ansible cannot run a module on the node (exit status {result.get('rc')}): {reason}. {_NEEDED}"}


def _sentence(problem: Problem) -> str:
    said = in_words([problem])
    return f"{said[0].upper()}{said[1:]}."
