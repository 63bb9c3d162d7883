# SPDX-License-Identifier: GPL-3.0-or-later
"""The connections of one task to many hosts, each as Ansible itself makes it for that host.

If Ansible runs a task on each host, every host costs a waiting process of some 15 MB and 50 ms. Here one task, run
once, keeps all connections, and uses them from threads: each host has its own connection plugin, become, shell and
options. Keywords of the task (``become_user`` and the like) are templated once; variables of hosts are each host's own.
Templating is not safe in threads, so all of it is done when a link is made.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import threading
import time
import typing as t
from collections.abc import Callable, Mapping

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.executor.process import worker
from ansible.executor.task_executor import TaskExecutor
from ansible.plugins.action import ActionBase
from ansible.template import Templar

from ..module_utils.node.phase import NodeError
from . import bounded_output
from .plain_text import plain_text
from .run.answers import BadAnswerError
from .run.asking import Output
from .run.become import become_problem
from .run.node_errors import lost, refused
from .ssh.kept_connections import KeptConnections
from .unreachable import unreachable

if t.TYPE_CHECKING:
    from ansible.playbook.play_context import PlayContext

ENVIRONMENT = "training_node_environment"
_AUTOMATIC_INTERPRETERS = ("auto", "auto_silent", "auto_legacy", "auto_legacy_silent")


class _Executor(TaskExecutor):
    """The part of Ansible's executor that makes a host's connection and sets its options."""

    _task: t.Any = None  # in ansible-core 2.21 a property that cannot be set

    def __init__(self, action: ActionBase, context: PlayContext) -> None:
        self._task = action._task
        self._play_context = context
        self._shared_loader_obj = action._shared_loader_obj
        self._connection = None

    def connect(self, variables: dict[str, t.Any], templar: Templar) -> t.Any:
        name = variables.get("ansible_connection")
        self._connection = self._get_connection(variables, templar, templar.template(name or self._task.connection))
        self._set_connection_options(variables, templar)
        return self._connection


class NodeLink(ActionBase):
    """Runs commands on a host; `variable` gives a variable of the host, templated, while no thread runs."""

    def __init__(self, action: ActionBase, host: t.Any, kept: KeptConnections) -> None:
        """Make the connection of a host for an action's task; AnsibleError if its variables are wrong."""
        task = action._task
        manager = task.get_variable_manager()
        self._variables = manager.get_vars(play=task.get_play(), host=host, task=task)
        templar = Templar(loader=action._loader, variables=self._variables)
        # The worker's own: the first host's variables have not changed it.
        context = getattr(worker.current_worker, "_play_context", action._play_context)
        context = context.set_task_and_variable_override(task=task, variables=self._variables, templar=templar)
        context.post_validate(templar=templar)
        context.remote_addr = context.remote_addr or host.address
        context.update_vars(self._variables)
        connection = _Executor(action, context).connect(self._variables, templar)
        bounded_output.bind(connection)
        kept.use_for(connection)
        self._kept = kept
        super().__init__(task, connection, context, action._loader, templar, action._shared_loader_obj)

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Nobody runs a link: it sends."""
        raise NotImplementedError

    def variable(self, name: str) -> t.Any:
        """Return a variable of the host, or None."""
        return self._templar.template(self._variables.get(name))

    def send(self, command: str, program: bytes) -> Output:
        """Run a command with a standard input; `NodeLostError` where the host does not answer."""
        try:
            done = self._run(command, program)
        except (AnsibleConnectionFailure, ConnectionError) as error:
            said = str(error)
            # The connection ended while the request was written, before Ansible has read why.
            ended = isinstance(error, ConnectionError) or os.strerror(errno.EPIPE) in said
            told = (ended and self._why_lost()) or plain_text(said)
            raise lost(unreachable(told)) from None
        except bounded_output.TooLongError as error:
            raise BadAnswerError(str(error)) from None
        except (AnsibleError, OSError) as error:
            problem = become_problem(str(error))
            raise (refused(problem) if problem else NodeError(plain_text(str(error)))) from None
        return Output(done["rc"], done["stdout"], done["stderr"])

    def _why_lost(self) -> str:
        """Return the connection's own error for a command without input; empty if it works."""
        try:
            self._execute("exit 0")
        except (AnsibleError, OSError) as error:
            return plain_text(str(error))
        return ""

    def close(self, *, for_good: bool) -> None:
        """Close the connection; ``for_good`` where the run has no more to ask the host."""
        self._connection.close()
        if for_good:
            self._kept.let_go(self._connection)

    def _run(self, command: str, program: bytes) -> dict[str, t.Any]:
        become = self._connection.become
        if self._connection.has_pipelining and (become is None or become.name != "su"):
            return self._execute(command, program)
        folder = self._make_tmp_path()
        try:
            path = self._connection._shell.join_path(folder, "program")
            self._transfer_data(path, program)
            self._fixup_perms2((folder, path), execute=False)
            return self._execute(f"{command} <{self._connection._shell.quote(path)}")
        finally:
            self._remove_tmp_path(folder)

    def _execute(self, command: str, in_data: bytes | None = None) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", self._low_level_execute_command(command, in_data=in_data))


def end_with_the_controller(last_words: Callable[[], str] = str) -> None:
    """End this process and its children once the controller that it works for was killed or interrupted.

    ``last_words`` go to the controller's standard error before that.
    """
    controller = os.getppid()
    terminal = None
    # Ansible shows nothing more of an interrupted worker, and may itself be gone by then.
    with contextlib.suppress(OSError):
        terminal = os.open(f"/proc/{controller}/fd/2", os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)

    def end(*_: object) -> None:
        if terminal is not None:
            with contextlib.suppress(OSError):
                os.write(terminal, last_words().encode())
        os.killpg(0, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == controller:
            time.sleep(1)
        end()

    # After Ctrl-C Ansible passes SIGINT on to its workers, and mostly terminates them then; this one would wait for its
    # threads, which follow the training.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    threading.Thread(target=watch, daemon=True).start()


def environment_of(given: t.Any) -> dict[str, str]:
    """Return the variables of all that runs on the node itself; a container has its own."""
    given = given or {}
    if not isinstance(given, Mapping):
        raise ValueError(
            f"{ENVIRONMENT} is {given!r}, but must be a mapping of variables, such as {{'PATH': '/opt/rocm/bin:$PATH'}}"
        )
    return {str(name): str(value) for name, value in given.items()}


def python_of(link: NodeLink) -> str:
    """Return the Python of a host."""
    interpreter = link.variable("ansible_python_interpreter")
    return "python3" if not interpreter or interpreter in _AUTOMATIC_INTERPRETERS else str(interpreter)
