# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_compare: see the module of that name for its documentation."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleActionFail

from ..plugin_utils.controller_action import ControllerAction, needed_packages, reason_of, show, write_index_of

with needed_packages(__name__):
    from ..plugin_utils.report.compare import comparison_of
    from ..plugin_utils.report.compare_write import PAGE, comparison_lines, folder_of, write_comparison


class ActionModule(ControllerAction):
    """Holds two runs or two periods side by side, on the controller."""

    def act(self) -> dict[str, t.Any]:
        """Show the comparison, and write it unless in check mode."""
        self.refuse_unknown()
        arguments = self.arguments()
        names = [name.strip() for name in arguments["names"] if name.strip()]
        output_dir = os.path.abspath(arguments["output_dir"])
        folder = folder_of(output_dir, names)
        try:
            comparison = comparison_of(names, output_dir, os.path.abspath(arguments["history_dir"]))
            changed = False if self._task.check_mode else write_comparison(folder, comparison)
        except (ValueError, OSError) as error:
            raise AnsibleActionFail(f"The comparison failed: {reason_of(error)}.") from None
        if not self._task.check_mode:
            changed = write_index_of(output_dir) or changed
        page = str(folder / PAGE)
        written = "Not written (check mode)" if self._task.check_mode else "Comparison"
        show("\n".join(["", *comparison_lines(comparison), f"{written}: {page}", ""]))
        return {"changed": changed, "report": page, "kind": comparison["kind"]}
