# SPDX-License-Identifier: GPL-3.0-or-later
"""Who writes modules, what their attributes mean, and what most support; a module says where it differs."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that modules share."""

    DOCUMENTATION = r"""
author:
  - The trainops.cluster maintainers (@trainops)
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description:
      - Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
    support: none
  idempotent:
    description:
      - When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
    support: full
  action_group:
    description: Use C(group/trainops.cluster.training) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - trainops.cluster.training
"""
