# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_phase: see the module of that name for its documentation."""

from __future__ import annotations

import shlex
import time
import typing as t
from collections.abc import Mapping
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..plugin_utils.controller_action import missing_packages

try:
    # ansible-core 2.22 masks what is registered in all that it shows.
    from ansible.module_utils.secrets import register_secret
except ImportError:

    def register_secret(value: str) -> str:
        """Return the value: earlier versions have nothing to register it with."""
        return value


try:
    from ..plugin_utils.plan.job.rehearsal import FOLDER_NAME
    from ..plugin_utils.run.answers import BadAnswerError, checked_answer
    from ..plugin_utils.run.board import Board
    from ..plugin_utils.run.collect import collect_log
    from ..plugin_utils.run.follow import NodeLostError, Patience, follow_node, interval_for
    from ..plugin_utils.run.plain_text import one_line, plain_text
    from ..plugin_utils.run.program import STARTER, NoAnswerError, answer_in, standard_input
    from ..plugin_utils.run.token import FILE, VALUE, given_token
except ImportError as error:
    MISSING: ImportError | None = error
else:
    MISSING = None

_TRAINER = Path(__file__).parents[2] / "roles" / "training" / "files" / "trainer"
_AUTOMATIC_INTERPRETERS = ("auto", "auto_silent", "auto_legacy", "auto_legacy_silent")


class ActionModule(ActionBase):
    """Does one phase of a run on one node, in one round trip through the task's own connection."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Do the phase that the task asks for."""
        super().run(tmp, task_vars)
        if MISSING:
            raise missing_packages(MISSING)
        _validated, self._arguments = self.validate_argument_spec(
            argument_spec={
                "phase": {
                    "type": "str",
                    "required": True,
                    "choices": ["stage", "start", "follow", "stop", "collect"],
                },
                "run_dir": {"type": "path", "required": True},
                "grace_seconds": {"type": "float", "default": 3.0},
                "lost_timeout": {"type": "float", "default": 60.0},
                "stall_timeout": {"type": "float", "default": 1800.0},
            }
        )
        self._variables = task_vars or {}
        self._board = Board(self._arguments["run_dir"])
        try:
            self._plan = self._board.plan()
        except ValueError as error:
            raise AnsibleActionFail(f"{error}.") from None
        self._node = self._node_of(self._variables["inventory_hostname"])
        phase = self._arguments["phase"]
        if self._task.check_mode and phase != "stage":
            return {"changed": phase == "start", "skipped": phase != "start", "msg": "not done in check mode"}
        phases = {
            "stage": self._stage,
            "start": self._start,
            "follow": self._follow,
            "stop": self._stop,
            "collect": self._collect,
        }
        try:
            return phases[phase]()
        except BadAnswerError as error:
            self._note(message=str(error))
            raise AnsibleActionFail(f"{self._node['node']}: {error}.") from None

    def _node_of(self, name: str) -> dict[str, t.Any]:
        for node in self._plan["nodes"]:
            if node["node"] == name:
                return t.cast("dict[str, t.Any]", node)
        raise AnsibleActionFail(f"{name} is no node of the run {self._plan['run_id']}.")

    def _stage(self) -> dict[str, t.Any]:
        forks, nodes = context.CLIARGS["forks"], len(self._plan["nodes"])
        if forks < nodes:
            raise AnsibleActionFail(
                f"The run has {nodes} nodes, which are followed at the same time, but Ansible talks to {forks} at "
                f"once. Say --forks {nodes}, or set forks in ansible.cfg (or ANSIBLE_FORKS)."
            )
        needs = {"secrets": self._secrets(), "given_secrets": self._given_secrets(), "files": self._files()}
        return self._towards("stage", needs)

    def _files(self) -> dict[str, str]:
        """Return the node's files by their paths in the run's folder there, and in a rehearsal the embedded trainer."""
        files: dict[str, str] = self._node["files"]
        if not self._plan["rehearsal"]:
            return files
        return files | {
            f"{FOLDER_NAME}/{path.relative_to(_TRAINER)}": path.read_text(encoding="utf-8")
            for path in sorted(_TRAINER.rglob("*"))
            if path.suffix in (".py", ".sh")
        }

    def _secrets(self) -> dict[str, str]:
        """Return the secrets of the node that lie on the controller. They travel over standard input only."""
        found = {}
        for secret in self._node["secrets"]:
            try:
                with open(secret["source"], encoding="utf-8") as stream:
                    found[secret["name"]] = register_secret(stream.read())
            except OSError:
                continue
        return found

    def _given_secrets(self) -> dict[str, str]:
        """Return the secrets that the user gives for the run, which go before those of the plan's files."""
        value, path = (str(self._templar.template(self._variables.get(name)) or "") for name in (VALUE, FILE))
        try:
            token = given_token(value, path)
        except ValueError as error:
            raise AnsibleActionFail(f"{FILE}: {error}.") from None
        return {"hf_token": register_secret(token)} if token else {}

    def _start(self) -> dict[str, t.Any]:
        images: dict[str, list[str]] = {}
        for node in self._plan["nodes"]:
            images.setdefault(self._board.status(node["node"]).get("image_id") or "none", []).append(node["node"])
        if len(images) > 1:
            told = "; ".join(f"{', '.join(nodes)} has {image}" for image, nodes in images.items())
            raise AnsibleActionFail(f"The nodes do not have the same image: {told}. Name it by its digest.")
        return self._towards("start", {})

    def _towards(self, phase: str, needs: dict[str, t.Any]) -> dict[str, t.Any]:
        """Do a phase on the way to a running training, and note on the board what became of it."""
        try:
            answer = self._ask(phase, needs)
        except AnsibleConnectionFailure as error:
            self._note(status="unreachable", message=str(error))
            raise
        except AnsibleActionFail as error:
            self._note(message=str(error))
            raise
        self._note(**{name: answer[name] for name in ("status", "image_id", "hardware") if name in answer})
        return answer

    def _follow(self) -> dict[str, t.Any]:
        patience = Patience(
            interval=interval_for(len(self._plan["nodes"])),
            lost=self._arguments["lost_timeout"],
            stall=self._arguments["stall_timeout"],
        )

        def ask(request: dict[str, t.Any]) -> dict[str, t.Any]:
            try:
                return self._ask("follow", request)
            except (AnsibleConnectionFailure, AnsibleActionFail) as error:
                raise NodeLostError(str(error)) from error

        status = follow_node(ask, self._board, self._plan, self._node["node"], patience)
        told = ("status", "exit_status", "message", "last_step", "steps_total")
        return {"changed": False, **{name: value for name, value in status.items() if name in told}}

    def _stop(self) -> dict[str, t.Any]:
        answer = self._ask("stop", {"grace_seconds": self._arguments["grace_seconds"]})
        if self._board.status(self._node["node"])["status"] in ("running", "staged"):
            self._note(status=answer["status"], ended_at=time.time())
        return answer

    def _collect(self) -> dict[str, t.Any]:
        path = self._board.log_path(self._node["node"])
        size, left_out = collect_log(lambda offset: self._ask("collect", {"offset": offset}), path)
        result = {"changed": False, "log": str(path), "size": size}
        if left_out:
            result["warnings"] = [f"{self._node['node']}: {left_out:,} bytes of its log of {size:,} are not kept"]
        return result

    def _note(self, **changes: t.Any) -> None:
        if not self._task.check_mode:
            self._board.update(self._node["node"], **changes)

    def _ask(self, phase: str, needs: dict[str, t.Any]) -> dict[str, t.Any]:
        """Send the program with a request to the node, and return its answer."""
        request = {
            "phase": phase,
            "check_mode": self._task.check_mode,
            "run_id": self._plan["run_id"],
            "framework": self._plan.get("log_framework", self._plan["framework"]),
            "container_engine": self._plan["container_engine"],
            "tokens_per_step_per_gpu": self._plan["tokens_per_step_per_gpu"],
            "tokens_per_sequence_per_gpu": self._plan["tokens_per_sequence_per_gpu"],
            "node": self._node,
            "environment": self._environment(),
            **needs,
        }
        try:
            output = self._run_program(standard_input(request))
        except AnsibleConnectionFailure as error:
            raise AnsibleConnectionFailure(plain_text(str(error))) from None
        try:
            answer = checked_answer(phase, answer_in(output["stdout"]))
        except NoAnswerError:
            said = [one_line(line) for line in (output["stderr"] or output["stdout"]).strip().splitlines()[-5:]]
            raise AnsibleActionFail(
                f"{self._python()} on {self._node['node']} did not run the program of phase {phase} (exit status "
                f"{output['rc']}): {' / '.join(said) or 'no output'}. Python 3.8 or newer is needed there; "
                "ansible_python_interpreter names it."
            ) from None
        if answer.pop("failed"):
            raise AnsibleActionFail(f"{self._node['node']}: {answer['message']}.")
        if answer.get("warnings"):
            answer["warnings"] = [f"{self._node['node']}: {warning}" for warning in answer["warnings"]]
        return answer

    def _environment(self) -> dict[str, str]:
        """Return the variables of all that runs on the node itself; a container has its own."""
        given = self._templar.template(self._variables.get("training_node_environment") or {})
        if not isinstance(given, Mapping):
            raise AnsibleActionFail(
                f"{self._node['node']}: training_node_environment is {given!r}. Give a mapping of variables, for "
                "example {'PATH': '/opt/rocm/bin:$PATH'}."
            )
        return {str(name): str(value) for name, value in given.items()}

    def _run_program(self, program: bytes) -> dict[str, t.Any]:
        command = f"{shlex.quote(self._python())} -c {shlex.quote(STARTER)}"
        become = self._connection.become
        if self._connection.has_pipelining and (become is None or become.name != "su"):
            return self._execute(command, in_data=program)
        folder = self._make_tmp_path()
        try:
            path = self._connection._shell.join_path(folder, "program")
            self._transfer_data(path, program)
            self._fixup_perms2((folder, path), execute=False)
            return self._execute(f"{command} <{shlex.quote(path)}")
        finally:
            self._remove_tmp_path(folder)

    def _execute(self, command: str, in_data: bytes | None = None) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", self._low_level_execute_command(command, in_data=in_data))

    def _python(self) -> str:
        interpreter = self._variables.get("ansible_python_interpreter")
        if not interpreter or interpreter in _AUTOMATIC_INTERPRETERS:
            return "python3"
        return str(self._templar.template(interpreter))
