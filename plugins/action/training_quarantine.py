# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_quarantine: see the module of that name for its documentation."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..plugin_utils.controller_action import ControllerAction, inventory_name, needed_packages, show

with needed_packages(__name__):
    from ..plugin_utils.report.files import ISOLATIONS
    from ..plugin_utils.run.quarantine import Quarantine


class ActionModule(ControllerAction):
    """Keeps the nodes that an isolation found to be bad out of runs, in the inventory of this call."""

    BYPASS_HOST_LOOP = True

    def act(self) -> dict[str, t.Any]:
        """Return the nodes that are left out; fail if there are none, or if the isolation is unknown."""
        from ..plugin_utils.isolate.options import wrong_quarantine
        from ..plugin_utils.isolate.outcome import failing_nodes
        from ..plugin_utils.report.isolation_after import isolation_in, quarantine_bad_nodes

        self.refuse_unknown()
        arguments = self.arguments()
        name, days = arguments["name"], arguments["days"]
        runs = Path(os.path.abspath(arguments["output_dir"]))
        try:
            isolation = isolation_in(runs / ISOLATIONS, name)
        except ValueError as error:
            raise AnsibleActionFail(f"{error}. Set isolate_name to the name of an isolation.") from None
        bad = failing_nodes(isolation)
        if wrong := wrong_quarantine(name, days, bad, set(self.variables["hostvars"])):
            raise AnsibleActionFail("\n".join(f"{one}." for one in wrong))
        if isolation["rehearsal"]:
            show(f"Isolation {name} was a rehearsal, so nothing has been changed.")
            return {"changed": False, "quarantined": []}
        if not self._task.check_mode:
            try:
                quarantine = Quarantine(runs / "quarantine.json", inventory_name())
                show(f"{quarantine_bad_nodes(quarantine, name, isolation, days)}.")
            except (ValueError, OSError) as error:
                raise AnsibleActionFail(f"{error}.") from None
        return {"changed": True, "quarantined": bad}
