# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.node_inspect: runs the module, and bounds how wrong the node's clock is."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

from ..module_utils.node.problems import Problem
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
        except AnsibleConnectionFailure as error:
            if not boolean(self._task.args.get("report_unreachable", False), strict=False):
                raise
            return {"failed": True, "msg": str(error)}
        except AnsibleError as error:
            problem = become_problem(str(error))
            if not problem:
                raise
            return {"failed": True, **_answer(problem)}
        received = time.time()
        if "node" not in result and result.get("failed"):
            result |= self._not_run(result)
        if "node" in result:
            try:
                clock = result["node"]["clock"]
                # The inspection lies between sending and receiving, whatever the way there and back took.
                clock["offset_seconds"] = [clock["time"] - received, clock["began"] - sent]
            except (KeyError, TypeError):
                return {"failed": True, "msg": "The node's answer is invalid: it has no clock."}
        return t.cast("dict[str, t.Any]", result)

    def _not_run(self, result: dict[str, t.Any]) -> dict[str, t.Any]:
        """Report why a module did not run at all: Ansible only says that it found no JSON."""
        said = "\n".join(str(result.get(name) or "") for name in ("module_stderr", "module_stdout")).strip()
        if not said or ("exception" not in result and "rc" not in result):
            return {}
        problem = become_problem(said)
        if problem:
            return _answer(problem)
        lines = told_by_a_command(said)
        # The last line of a traceback has the error; otherwise the first line has it.
        reason = lines[-1 if lines[0].startswith("Traceback") else 0][:200].rstrip(".")
        return {"msg": f"Ansible cannot run a module on the node (exit status {result.get('rc')}): {reason}. {_NEEDED}"}


def _answer(problem: Problem) -> dict[str, t.Any]:
    said = in_words([problem])
    return {"msg": f"{said[0].upper()}{said[1:]}.", "problem": problem}
