# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action plugins have in common that are done on the controller and ask nothing of a node."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase


class ControllerAction(ActionBase):
    """An action without a connection. A package that it lacks is told when it runs, not when Ansible loads it."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def arguments(
        self, specification: dict[str, t.Any], missing: ImportError | None = None, **rules: t.Any
    ) -> dict[str, t.Any]:
        """Return the arguments of the task; fail where they are not as specified, or where a package is missing.

        ``rules`` are those between arguments, such as ``required_if``.
        """
        if missing:
            raise AnsibleActionFail(
                f"{missing}. Install what requirements.txt names, for the Python that runs ansible-playbook."
            )
        _validated, arguments = self.validate_argument_spec(argument_spec=specification, **rules)
        return t.cast("dict[str, t.Any]", arguments)
