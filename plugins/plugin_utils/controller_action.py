# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action plugins have in common that are done on the controller and ask nothing of a node."""

from __future__ import annotations

import json
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.json import get_encoder
from ansible.plugins.action import ActionBase


def plain(value: t.Any) -> t.Any:
    """Return a value from Ansible without its tags: ansible-core's own types, which not every library takes."""
    return json.loads(json.dumps(value, cls=get_encoder("tagless")))


class ControllerAction(ActionBase):
    """An action without a connection. A package that it lacks is told when it runs, not when Ansible loads it."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def arguments(
        self, specification: dict[str, t.Any], missing: ImportError | None = None, **rules: t.Any
    ) -> dict[str, t.Any]:
        """Return the task's arguments as plain data; fail where they are not as specified, or a package is missing.

        ``rules`` are those between arguments, such as ``required_if``.
        """
        if missing:
            raise AnsibleActionFail(
                f"{missing}. Install what requirements.txt names, for the Python that runs ansible-playbook."
            )
        _validated, arguments = self.validate_argument_spec(argument_spec=specification, **rules)
        return t.cast("dict[str, t.Any]", plain(arguments))
