# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_phase: see the module of that name for its documentation."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Iterator, Mapping
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail

try:
    # ansible-core 2.22 masks registered secrets in all its output.
    from ansible.module_utils.secrets import register_secret
except ImportError:

    def register_secret(value: str) -> str:
        """Return the value: earlier versions have nothing to register it with."""
        return value


from ..plugin_utils.controller_action import (
    ControllerAction,
    is_shown_by_callback,
    needed_packages,
    playbook_command,
    show,
)

with needed_packages(__name__):
    from ..module_utils.node.accelerators import required_gpu
    from ..module_utils.node.contracts import PhaseNeeds
    from ..module_utils.node.phase import NodeError
    from ..plugin_utils.asked_nodes import AskedNodes
    from ..plugin_utils.node_links import ENVIRONMENT, end_with_the_controller, environment_of
    from ..plugin_utils.plan.job.rehearsal import FOLDER_NAME
    from ..plugin_utils.run.asking import refusing
    from ..plugin_utils.run.blame import blame_of_errors
    from ..plugin_utils.run.board import Board
    from ..plugin_utils.run.follow import SILENT_SECONDS, Patience, interval_for
    from ..plugin_utils.run.open_files import allow_open_files
    from ..plugin_utils.run.phases import Outcome, Phases
    from ..plugin_utils.run.progress import ProgressReader
    from ..plugin_utils.run.token import FILE, VALUE, given_token
    from ..plugin_utils.run.whole_file import NotWrittenError
    from ..plugin_utils.text.nodes import folded

if t.TYPE_CHECKING:
    from ..plugin_utils.slurm.launch import Needs

PROGRESS_SECONDS = 3.0
_TRAINER = Path(__file__).parents[2] / "roles" / "training" / "files" / "trainer"


class ActionModule(ControllerAction):
    """Does one phase of a run on all of its nodes at once, through each host's own connection."""

    BYPASS_HOST_LOOP = True

    def act(self) -> dict[str, t.Any]:
        """Run the phase that the task asks for, and fail with every node's errors."""
        arguments = self.arguments()
        phase = arguments["phase"]
        if self._task.check_mode and phase != "stage":
            return {"changed": phase == "train", "skipped": phase != "train", "msg": "not run in check mode"}
        self._board = Board(arguments["run_dir"])
        try:
            self._plan = self._board.plan()
        except ValueError as error:
            raise AnsibleActionFail(f"{error}.") from None
        end_with_the_controller()
        self._asked: AskedNodes | None = None
        try:
            if "slurm" in self._plan:
                outcome = self._with_slurm(phase, arguments)
            else:
                asked = self._asked = self._connected(phase, arguments["lost_timeout"])
                # A node that has finished is asked nothing more.
                asks = {**dict.fromkeys(self._nodes, refusing(NodeError("it has finished"))), **asked.asks}
                outcome = self._do(phase, arguments, asks, asked.late)
        except NodeError as error:
            raise AnsibleActionFail(f"{error}.") from None
        except NotWrittenError as error:
            return self._left_alone(error)
        finally:
            if self._asked:
                self._asked.close(lambda name: phase == "finish" or self._board.has_finished(name))
        run_dir = str(self._board.run_dir)
        result: dict[str, t.Any] = {"changed": outcome.changed, "warnings": outcome.warnings, "run_dir": run_dir}
        if not self._task.check_mode:
            states: dict[str, list[str]] = {}
            for name in self._nodes:
                states.setdefault(self._board.status(name)["status"], []).append(name)
            result["nodes"] = {state: folded(names) for state, names in states.items()}
        result["hosts"] = blame_of_errors(outcome.errors)
        # In a run of Slurm the nodes need not be hosts.
        of_hosts = set(result["hosts"]) <= set(self.variables["ansible_play_hosts_all"])
        if outcome.problems and (arguments["require_nodes"] or not result["hosts"] or not of_hosts):
            result |= {"failed": True, "msg": "\n".join(f"{problem}." for problem in outcome.problems)}
        return result

    def _left_alone(self, error: NotWrittenError) -> dict[str, t.Any]:
        """Fail because of the controller's own disk; that is not a reason to stop a training."""
        room = self._board.room_needed() >> 20
        needed = f"Free about {room:,} MiB there" if error.needs_room else "Make it writable"
        message = (
            f"{error.filename} cannot be written on this machine: {error.strerror}. Nothing was stopped: the training "
            f"continues, and the nodes keep its log. {needed}, then follow the run again: "
            f"{playbook_command('attach', self._board.run_dir)}"
        )
        return {"changed": False, "failed": True, "left_alone": True, "msg": message}

    def _connected(self, phase: str, lost: float) -> AskedNodes:
        """Return the nodes of the run that are among the hosts of the play, and that the phase has to ask."""
        hosts = set(self.variables["ansible_play_hosts_all"])
        self._nodes = {node["node"]: node for node in self._plan["nodes"] if node["node"] in hosts}
        if not self._nodes:
            raise AnsibleActionFail(f"None of the play's hosts is a node of the run {self._plan['run_id']}.")
        if too_few := allow_open_files(len(self._nodes)):
            self._display.warning(f"{too_few}.")
        parts = [part for name, part in self._nodes.items() if phase != "finish" or not self._board.has_finished(name)]
        programs = {name: self._board.status(name)["following"]["program"] for name in self._nodes}
        return AskedNodes(self, self._plan, parts, self._board.nonce(), lost, programs)

    def _with_slurm(self, phase: str, arguments: dict[str, t.Any]) -> Outcome:
        """Run a phase through the run's job; submit the job first if there is none yet."""
        # Most runs have no job.
        from ..plugin_utils.slurm import journal
        from ..plugin_utils.slurm.phases import JobPhases

        job = JobPhases(self._board, show)
        if phase == "stage" and not self._task.check_mode:
            job.begin(self._needs_of_job())
        # It lists the nodes once Slurm has chosen them.
        self._plan = self._board.plan()
        self._nodes = {node["node"]: node for node in self._plan["nodes"]}
        if self._task.check_mode:
            return Outcome(changed=not job.is_submitted)
        outcome = self._do(phase, arguments, job.asks(phase), silent=journal.SILENT_SECONDS)
        if phase == "finish":
            outcome.warnings += job.note_end(self._nodes)
        return outcome

    def _do(
        self,
        phase: str,
        arguments: dict[str, t.Any],
        asks: dict[str, t.Any],
        late: t.Callable[[], Mapping[str, NodeError]] = dict,
        silent: float | None = None,
    ) -> Outcome:
        phases = Phases(self._plan, self._board, asks, context.CLIARGS["forks"], late)
        if phase == "stage":
            needs = self._needs()
            return (phases.look if self._task.check_mode else phases.stage)(needs.__getitem__)
        if phase == "train":
            patience = Patience(
                interval=interval_for(len(self._nodes)),
                lost=arguments["lost_timeout"],
                stall=arguments["stall_timeout"],
                silent=silent or SILENT_SECONDS,
            )
            with self._shown():
                return phases.train(patience, arguments["grace_seconds"])
        return phases.finish(arguments["grace_seconds"])

    @contextlib.contextmanager
    def _shown(self) -> Iterator[None]:
        """Show the training's progress if the callback is not there to do it."""
        if is_shown_by_callback():
            yield
            return
        reader = ProgressReader(str(self._board.run_dir), PROGRESS_SECONDS, show)
        reader.start()
        try:
            yield
        finally:
            reader.end()

    def _needs(self) -> dict[str, PhaseNeeds]:
        """Return the staging data of each node."""
        trainer = _trainer() if self._plan["rehearsal"] else {}
        return {
            name: {
                "secrets": _secrets(node),
                "given_secrets": self._given_secrets(name),
                "files": node["files"] | trainer,
                "keep": self._plan.get("keep"),
                "gpu": required_gpu(self._plan),
            }
            for name, node in self._nodes.items()
        }

    def _given_secrets(self, name: str) -> dict[str, str]:
        asked = self._asked
        return _given_secrets(asked.variable(name, VALUE), asked.variable(name, FILE)) if asked else {}

    def _needs_of_job(self) -> Needs:
        """Return the settings for a job's tasks, from the variables of the host that submits it."""
        given = {name: self._templar.template(self.variables.get(name)) for name in (VALUE, FILE, ENVIRONMENT)}
        return {
            "environment": environment_of(given[ENVIRONMENT]),
            "files": _trainer() if self._plan["rehearsal"] else {},
            "secrets": {str(node["node_rank"]): _secrets(node) for node in self._plan["nodes"]},
            "given_secrets": _given_secrets(given[VALUE], given[FILE]),
        }


def _trainer() -> dict[str, str]:
    """Return the files of the embedded trainer by their paths in the run's folder on a node."""
    return {
        f"{FOLDER_NAME}/{path.relative_to(_TRAINER)}": path.read_text(encoding="utf-8")
        for path in sorted(_TRAINER.rglob("*"))
        if path.suffix in (".py", ".sh")
    }


def _secrets(node: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the secrets of a node that lie on the controller. They travel over standard input only."""
    found = {}
    for secret in node["secrets"]:
        try:
            with open(secret["source"], encoding="utf-8") as stream:
                found[secret["name"]] = register_secret(stream.read())
        except OSError:
            continue
        except UnicodeDecodeError:
            raise AnsibleActionFail(f"{secret['source']} cannot be read: it is not UTF-8 text.") from None
    return found


def _given_secrets(value: t.Any, path: t.Any) -> dict[str, str]:
    """Return the secrets that the user gives for the run; they win over secrets in the plan's files."""
    try:
        token = given_token(str(value or ""), str(path or ""))
    except ValueError as error:
        raise AnsibleActionFail(f"{FILE}: {error}.") from None
    return {"hf_token": register_secret(token)} if token else {}
