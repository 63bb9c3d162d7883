# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action plugins have in common that are done on the controller and ask nothing of a node."""

from __future__ import annotations

import json
import os
import typing as t
from collections.abc import Mapping

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.json import get_encoder
from ansible.plugins.action import ActionBase

from .plan.config.budget import text_of


def plain(value: t.Any) -> t.Any:
    """Return a value from Ansible without its tags: ansible-core's own types, which not every library takes."""
    return json.loads(json.dumps(value, cls=get_encoder("tagless")))


class ControllerAction(ActionBase):
    """An action without a connection. A package that it lacks is told when it runs, not when Ansible loads it."""

    TRANSFERS_FILES = False
    _requires_connection = False
    missing: ImportError | None = None

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Fail where a package is missing; actions do the rest."""
        if self.missing:
            raise AnsibleActionFail(
                f"{self.missing}. Install what requirements.txt names, for the Python that runs ansible-playbook."
            )
        return t.cast("dict[str, t.Any]", super().run(tmp, task_vars))

    def arguments(self, specification: dict[str, t.Any], **rules: t.Any) -> dict[str, t.Any]:
        """Return the task's arguments as plain data; fail where they are not as specified.

        ``rules`` are those between arguments, such as ``required_if``.
        """
        _validated, arguments = self.validate_argument_spec(argument_spec=specification, **rules)
        return t.cast("dict[str, t.Any]", plain(arguments))

    def options(
        self, arguments: Mapping[str, str], given: Mapping[str, t.Any], variables: Mapping[str, t.Any]
    ) -> dict[str, t.Any]:
        """Return the variables of a plan that are given: each by its argument of the task, or else by the host.

        ``arguments`` names the argument of each variable. A survey gives an empty text for what was not answered.
        """
        told = {name: given[argument] for name, argument in arguments.items() if given[argument] is not None}
        wanted = {name: variables[name] for name in arguments if name in variables and name not in told}
        options = {**plain(self._templar.template(wanted)), **told}
        return {name: value for name, value in options.items() if value not in (None, "")}

    def file(self, named: str) -> tuple[str, str, str | None]:
        """Return the path of a file, seen from here or from the playbook, its text, and why it cannot be read."""
        given = os.path.expanduser(named)
        paths = (given, os.path.join(self._loader.get_basedir(), given)) if given else ()
        path = next((path for path in paths if os.path.exists(path)), named)
        try:
            return path, text_of(path), None
        except (OSError, ValueError) as error:
            return path, "", getattr(error, "strerror", None) or str(error)
