# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action plugins have in common that are done on the controller and ask nothing of a node."""

from __future__ import annotations

import abc
import contextlib
import gc
import getpass
import importlib
import json
import os
import re
import shlex
import sys
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from ansible import constants as C  # noqa: N812
from ansible import context
from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.json import get_encoder
from ansible.module_utils.common.yaml import yaml_load
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from .kept_bytecode import keep_bytecode

keep_bytecode()

from .plan.config.budget import text_of  # noqa: E402
from .run.live_output import flush_output  # noqa: E402

if t.TYPE_CHECKING:
    from .contracts import Call, Finding
    from .plan.job.ranks import Node

_REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements.txt"


def missing_packages(error: ImportError) -> AnsibleActionFail:
    """Return the failure that lists all missing Python packages, with the command that installs them."""
    wanted = re.findall(r"^[\w-]+", _REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE)
    installed = {str(found.metadata["Name"]).lower().replace("_", "-") for found in metadata.distributions()}
    missing = [name for name in wanted if name.lower().replace("_", "-") not in installed]
    named = ", ".join(missing) or str(error)
    command = shlex.join([sys.executable, "-m", "pip", "install", "-r", str(_REQUIREMENTS)])
    return AnsibleActionFail(f"The Python of ansible-playbook lacks packages: {named}. Run: {command}")


def plain(value: t.Any) -> t.Any:
    """Return a value from Ansible without its tags: ansible-core's own types, which not every library takes."""
    return json.loads(json.dumps(value, cls=get_encoder("tagless")))


def show(text: str, color: str | None = None) -> None:
    """Show people a text now: on standard output, or on standard error if a callback writes JSON to the former."""
    Display().display(text, color=color, stderr="json" in C.DEFAULT_STDOUT_CALLBACK)
    flush_output()


def is_shown_by_callback() -> bool:
    """Return whether Ansible has loaded the callback that shows a run's progress and result.

    It comes with our playbooks; if a role is used in another playbook, the tasks show this themselves.
    """
    # Other threads may import meanwhile.
    return any(name.endswith(".callback.training_progress") for name in tuple(sys.modules))


def reason_of(error: Exception, path: str | Path = "") -> str:
    """Return an error's reason for use in a sentence: the file's own path, or else ``path``, and the fault."""
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(str(part) for part in (error.filename or path, error.strerror) if part)
    return str(error)


def inventory_name() -> str:
    """Return this call's inventory sources, which are files or lists of hosts."""
    sources = context.CLIARGS.get("inventory") or C.DEFAULT_HOST_LIST
    return ",".join(str(source) if "," in source else os.path.abspath(source) for source in sources)


def playbook_command(name: str, run_dir: str | Path, variables: str = "training_run_id={run}") -> str:
    """Return the command that plays a playbook of ours for the run in a folder, with the inventory of this call.

    ``variables`` are more settings, separated by blanks. In them ``{run}`` stands for the name of the run.
    """
    run = Path(run_dir)
    call = own_call(run.parent)
    words = [word for one in variables.format(run=run.name).split() for word in ("-e", one)]
    called = f"ansible-playbook {call['playbooks']}/{name}.yml{call['inventory']}{call['output_dir']}"
    return f"{called} {shlex.join(words)}" if words else called


def own_call(output_dir: str | Path) -> Call:
    """Return how the user of this call plays our playbooks for runs in a folder, quoted for a shell."""
    folder = Path(__file__).resolve().parents[2] / "playbooks"
    sources = context.CLIARGS.get("inventory") or ()
    runs = Path(output_dir).absolute()
    is_elsewhere = runs.resolve() != Path("runs").resolve()
    return {
        "output_dir": f" -e {shlex.quote(f'training_output_dir={_from_here(runs)}')}" if is_elsewhere else "",
        "playbooks": shlex.quote(_from_here(folder)),
        "inventory": "".join(f" -i {shlex.quote(str(source))}" for source in sources),
    }


def _from_here(path: Path) -> str:
    """Return a path relative to the current folder if that is shorter."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def write_index_of(folder: str | Path) -> bool:
    """Write the index of a folder of runs and return whether it changed; warn where it cannot be written."""
    from .report.runs_index import write_index  # noqa: PLC0415 - needs packages

    try:
        return write_index(Path(folder))
    except (OSError, ValueError) as error:
        show(f"The index of all runs was not written: {error}.", "yellow")
        return False


def node_from(name: str, variables: Mapping[str, t.Any], user: str) -> Node:
    """Return a host as a node of a run, given its variables, and the user who connects where they name none."""
    from .plan.job.ranks import Node  # noqa: PLC0415 - needs packages

    return Node(
        name=name,
        address=str(variables.get("training_address") or variables.get("ansible_host") or name),
        user=str(variables.get("ansible_user") or variables.get("ansible_ssh_user") or user),
        local=variables.get("ansible_connection") in ("local", "ansible.builtin.local"),
        topology=str(variables.get("training_topology") or ""),
        gpus=str(variables.get("training_gpus_per_node") or "").strip(),
    )


_MISSING: dict[str, ImportError] = {}


@contextlib.contextmanager
def needed_packages(plugin: str) -> Iterator[None]:
    """Import here what needs packages; a plugin that lacks one says so when it runs, not when Ansible loads it."""
    try:
        yield
    except ImportError as error:
        _MISSING[plugin] = error


@contextlib.contextmanager
def late_imports() -> Iterator[None]:
    """Import the modules that a filter needs when it is called; `AnsibleError` if a package is missing.

    To find one filter of a collection, Ansible imports the files of all filters, in each of its processes.
    """
    try:
        yield
    except ImportError as error:
        raise missing_packages(error) from None


def refuse_missing(plugin: str) -> None:
    """Fail if a plugin lacks packages."""
    if plugin in _MISSING:
        raise missing_packages(_MISSING[plugin])


class ControllerAction(ActionBase):
    """An action without a connection; each does its work in `act`."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Do the work of the action; fail if it lacks a package."""
        # What this process shares with Ansible's own would be copied page by page as it is searched for garbage.
        gc.freeze()
        refuse_missing(type(self).__module__)
        super().run(tmp, task_vars)
        self.variables = task_vars or {}
        try:
            return self.act()
        except ImportError as error:
            raise missing_packages(error) from None

    @abc.abstractmethod
    def act(self) -> dict[str, t.Any]:
        """Return the result of the task, whose variables are `variables`.

        What takes a second and 100 MB is imported here: Ansible loads an action where it forks all of its processes
        from.
        """

    def arguments(self, raw: Iterable[str] = (), secret: Iterable[str] = (), **rules: t.Any) -> dict[str, t.Any]:
        """Return the task's arguments as plain data; fail where they are not as the module of this name documents them.

        ``raw`` names those that are taken as they are, ``secret`` those that no log may show; ``rules`` are between
        arguments, such as ``required_if``.
        """
        module = importlib.import_module(type(self).__module__.replace(".action.", ".modules."))
        documented = yaml_load(module.DOCUMENTATION)["options"]
        specification = {
            name: {key: value for key, value in option.items() if key != "description"} | {"no_log": name in secret}
            for name, option in documented.items()
        }
        specification |= {name: {"type": "raw", "default": documented.get(name, {}).get("default")} for name in raw}
        _validated, arguments = self.validate_argument_spec(argument_spec=specification, **rules)
        return t.cast("dict[str, t.Any]", plain(arguments))

    def own(self) -> dict[str, Mapping[str, t.Any]]:
        """Return the variables of the task by its host."""
        return {str(self.variables["inventory_hostname"]): self.variables}

    def refuse_unknown(self, more: Iterable[Finding] = ()) -> None:
        """Fail where the task sees variables of this collection that are misspelled, or ``more`` is wrong with them."""
        from .inventory.unknown_variables import unknown_variables  # noqa: PLC0415 - needs packages

        found = [*unknown_variables(self.own()), *more]
        if found:
            unknown = " ".join(f"{finding['key']}: {finding['message']} {finding['remedy']}" for finding in found)
            raise AnsibleActionFail(f"{unknown} Nothing has been done.")

    def options(self, arguments: Mapping[str, str], given: Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Return the variables of a plan that are given: each by its argument of the task, or else by the host.

        ``arguments`` maps each variable to its argument. A survey gives an empty text for an unanswered question.
        """
        set_here = {name: given[argument] for name, argument in arguments.items() if given[argument] is not None}
        wanted = {name: self.variables[name] for name in arguments if name in self.variables and name not in set_here}
        options = {**plain(self._templar.template(wanted)), **set_here}
        return {name: value for name, value in options.items() if value not in (None, "")}

    def node(self, name: str) -> Node:
        """Return a host of the play as a node of a run."""
        return node_from(name, self.variables["hostvars"][name], self._play_context.remote_user or getpass.getuser())

    def file(self, named: str) -> tuple[str, str, str | None]:
        """Return the path of a file, seen from here or from the playbook, its text, and why it cannot be read."""
        given = os.path.expanduser(named)
        paths = (given, os.path.join(self._loader.get_basedir(), given)) if given else ()
        path = next((path for path in paths if os.path.exists(path)), named)
        try:
            return path, text_of(path), None
        except (OSError, ValueError) as error:
            return path, "", getattr(error, "strerror", None) or str(error)
